package evals

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/deftskills/deft/skill"
)

// query is one line of a query file.
type query struct {
	ID     string   `json:"id"`
	Query  string   `json:"query"`
	Gold   []string `json:"gold"`
	Aux    []string `json:"aux"`
	Source string   `json:"source"`
	Kind   string   `json:"kind"`
	Lang   string   `json:"lang"`
}

func (q query) negative() bool { return len(q.Gold) == 0 }

// triggerCase is one line of a trigger file.
type triggerCase struct {
	ID     string `json:"id"`
	Query  string `json:"query"`
	Skill  string `json:"skill"`
	Should *bool  `json:"should_trigger"`
	Lang   string `json:"lang"`
}

const maxLine = 4 << 20

// readLines decodes a file of JSON lines; check names what a case lacks. A bad line
// is a diagnostic with its place.
func readLines[T any](file string, check func(T) string) (cases []T, bad []skill.Diagnostic, err error) {
	f, err := os.Open(file)
	if err != nil {
		return nil, nil, err
	}
	defer f.Close()
	r := bufio.NewReaderSize(f, 64<<10)
	for line := 1; ; line++ {
		raw, err := r.ReadBytes('\n')
		if text := bytes.TrimSpace(raw); len(text) > 0 {
			var c T
			why := ""
			if len(text) > maxLine {
				why = fmt.Sprintf("line is longer than %d bytes", maxLine)
			} else if err := json.Unmarshal(text, &c); err != nil {
				why = err.Error()
			} else {
				why = check(c)
			}
			if why == "" {
				cases = append(cases, c)
			} else {
				bad = append(bad, badCase(file, line, why))
			}
		}
		if errors.Is(err, io.EOF) {
			return cases, bad, nil
		}
		if err != nil {
			return cases, bad, err
		}
	}
}

func badCase(file string, line int, why string) skill.Diagnostic {
	return skill.Diagnostic{
		Code: "eval_bad_case", Level: skill.LevelError, File: file, Line: line, Offset: -1,
		Message: "case is unreadable: " + why, Fix: "write one JSON object a line",
	}
}

func checkQuery(q query) string {
	switch {
	case q.Query == "":
		return "query is missing"
	case q.ID == "":
		return "id is missing"
	}
	return ""
}

func checkTrigger(c triggerCase) string {
	switch {
	case c.Query == "" || c.Skill == "":
		return "query or skill is missing"
	case c.Should == nil:
		return "should_trigger is missing"
	}
	return ""
}

// readEquiv reads the near-copies of each query's gold.
func readEquiv(file string) (map[string][]string, []skill.Diagnostic, error) {
	if file == "" {
		return nil, nil, nil
	}
	raw, err := os.ReadFile(file)
	if err != nil {
		return nil, nil, err
	}
	var m map[string][]string
	if err := json.Unmarshal(raw, &m); err != nil {
		line := 1
		var syntax *json.SyntaxError
		if errors.As(err, &syntax) {
			line += bytes.Count(raw[:min(int(syntax.Offset), len(raw))], []byte("\n"))
		}
		return nil, []skill.Diagnostic{badCase(file, line, err.Error())}, nil
	}
	return m, nil, nil
}
