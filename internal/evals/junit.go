package evals

import (
	"encoding/xml"
	"fmt"
	"strings"
)

type junitSuites struct {
	XMLName  xml.Name     `xml:"testsuites"`
	Name     string       `xml:"name,attr"`
	Tests    int          `xml:"tests,attr"`
	Failures int          `xml:"failures,attr"`
	Errors   int          `xml:"errors,attr"`
	Suites   []junitSuite `xml:"testsuite"`
}

type junitSuite struct {
	Name     string      `xml:"name,attr"`
	Tests    int         `xml:"tests,attr"`
	Failures int         `xml:"failures,attr"`
	Errors   int         `xml:"errors,attr"`
	Cases    []junitCase `xml:"testcase"`
}

type junitCase struct {
	Class   string        `xml:"classname,attr"`
	Name    string        `xml:"name,attr"`
	File    string        `xml:"file,attr,omitempty"`
	Line    int           `xml:"line,attr,omitempty"`
	Time    string        `xml:"time,attr,omitempty"`
	Failure *junitMessage `xml:"failure,omitempty"`
	Error   *junitMessage `xml:"error,omitempty"`
}

type junitMessage struct {
	Message string `xml:"message,attr"`
	Text    string `xml:",chardata"`
}

func (s *junitSuite) add(c junitCase) {
	s.Tests++
	if c.Failure != nil {
		s.Failures++
	}
	if c.Error != nil {
		s.Errors++
	}
	s.Cases = append(s.Cases, c)
}

// JUnit is the report as CI systems read it: a suite for each skill, and one each for
// the thresholds that were missed and the cases that could not be read, if there are
// any. Whether a failed case fails the run is for the thresholds to say.
func (rep TriggerReport) JUnit(missed []string) []byte {
	doc := junitSuites{Name: "deft eval triggers"}
	for _, s := range rep.Skills {
		suite := junitSuite{Name: s.Name}
		for _, out := range rep.Outcomes {
			if out.Skill == s.Name {
				suite.add(out.junit())
			}
		}
		doc.Suites = append(doc.Suites, suite)
	}
	limits := junitSuite{Name: "thresholds"}
	for _, m := range missed {
		limits.add(junitCase{Class: "thresholds", Name: m, Failure: &junitMessage{Message: m}})
	}
	unreadable := junitSuite{Name: "unreadable"}
	for _, d := range rep.Diagnostics {
		unreadable.add(junitCase{
			Class: "unreadable", Name: fmt.Sprintf("%s:%d", d.File, d.Line), File: d.File, Line: d.Line,
			Error: &junitMessage{Message: d.Message},
		})
	}
	for _, s := range []junitSuite{limits, unreadable} {
		if s.Tests > 0 {
			doc.Suites = append(doc.Suites, s)
		}
	}
	for _, s := range doc.Suites {
		doc.Tests, doc.Failures, doc.Errors = doc.Tests+s.Tests, doc.Failures+s.Failures, doc.Errors+s.Errors
	}
	text, err := xml.MarshalIndent(doc, "", "  ")
	if err != nil {
		panic(err) // plain values
	}
	return append(append([]byte(xml.Header), text...), '\n')
}

func (o TriggerOutcome) junit() junitCase {
	c := junitCase{Class: o.Skill, Name: o.Query, File: o.File, Line: o.Line}
	if o.US > 0 {
		c.Time = fmt.Sprintf("%.6f", float64(o.US)/1e6)
	}
	if !o.OK() {
		c.Failure = &junitMessage{Message: o.Why(), Text: o.Detail()}
	}
	return c
}

// Why says in one line what came out instead of what should.
func (o TriggerOutcome) Why() string {
	switch {
	case !o.Should:
		return "should not trigger, and did"
	case o.Abstained && o.Rank == 1:
		return "should trigger; it stands first, but not clearly"
	case o.Abstained:
		return "should trigger; nothing was clear enough"
	}
	return "should trigger; " + o.Winner + " did"
}

// Detail gives the reasons of the skill and of the first one.
func (o TriggerOutcome) Detail() string {
	line := func(name string, rank int, reasons []string) string {
		where := "not ranked"
		if rank > 0 {
			where = fmt.Sprintf("rank %d", rank)
		}
		return strings.TrimSuffix(fmt.Sprintf("%s, %s: %s", name, where, strings.Join(reasons, ", ")), ": ")
	}
	text := line(o.Skill, o.Rank, o.Reasons)
	if o.Winner != "" && o.Winner != o.Skill {
		text += "\n" + line(o.Winner, 1, o.WinnerFor)
	}
	return text
}
