package evals

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path"
	"slices"

	"github.com/deftskills/deft/registry"
	"github.com/deftskills/deft/route"
	"github.com/deftskills/deft/skill"
)

// The files of a skill that hold its trigger cases: one JSON object a line, or one
// array of the same objects.
const (
	triggerLines = "evals/triggers.jsonl"
	triggerArray = "evals/trigger-eval.json"
)

// TriggerCase is one request that should, or should not, start a skill.
type TriggerCase struct {
	Query  string   `json:"query"`
	Should *bool    `json:"should_trigger"`
	Skill  string   `json:"skill"` // of a file for many skills: an address, an id or a name
	Lang   string   `json:"lang"`
	Stages []string `json:"stages"` // instead of those that the request shows
	Note   string   `json:"note"`

	file string
	line int
}

func checkCase(c TriggerCase) string {
	switch {
	case c.Query == "":
		return "query is missing"
	case c.Should == nil:
		return "should_trigger is missing"
	}
	for _, s := range c.Stages {
		if _, ok := route.ParseStage(s); !ok {
			return fmt.Sprintf("stage %q is unknown", s)
		}
	}
	return ""
}

// parseCases reads a file of either form. What cannot be read is named with its line,
// and the rest counts.
func parseCases(file string, src []byte) (cases []TriggerCase, bad []skill.Diagnostic) {
	take := func(line int, raw []byte) {
		c := TriggerCase{file: file, line: line}
		why := ""
		if len(raw) > maxLine {
			why = fmt.Sprintf("case is longer than %d bytes", maxLine)
		} else if err := json.Unmarshal(raw, &c); err != nil {
			why = err.Error()
		} else {
			why = checkCase(c)
		}
		if why == "" {
			cases = append(cases, c)
		} else {
			bad = append(bad, badCase(file, line, why))
		}
	}
	if text := bytes.TrimSpace(src); len(text) > 0 && text[0] == '[' {
		if line, why := elements(src, take); why != "" {
			bad = append(bad, badCase(file, line, why))
		}
		return cases, bad
	}
	line := 0
	for raw := range bytes.SplitSeq(src, []byte("\n")) {
		if line++; len(bytes.TrimSpace(raw)) > 0 {
			take(line, raw)
		}
	}
	return cases, bad
}

// elements hands on each element of a JSON array; where the array cannot be read
// further it says so.
func elements(src []byte, take func(line int, raw []byte)) (line int, why string) {
	dec := json.NewDecoder(bytes.NewReader(src))
	at := func() int { return 1 + bytes.Count(src[:dec.InputOffset()], []byte("\n")) }
	if _, err := dec.Token(); err != nil {
		return at(), err.Error()
	}
	for dec.More() {
		var raw json.RawMessage
		if err := dec.Decode(&raw); err != nil {
			return at(), err.Error()
		}
		before := src[:int(dec.InputOffset())-len(raw)]
		take(1+bytes.Count(before, []byte("\n")), raw)
	}
	if _, err := dec.Token(); err != nil {
		return at(), err.Error()
	}
	return 0, ""
}

// casesOf reads the cases that a skill brings; none is no error.
func casesOf(ctx context.Context, rec *registry.Record) (cases []TriggerCase, bad []skill.Diagnostic) {
	for _, name := range []string{triggerLines, triggerArray} {
		shown := rec.Address + "/" + name
		raw, err := readOf(ctx, rec, name)
		switch {
		case errors.Is(err, fs.ErrNotExist):
			continue
		case err != nil:
			bad = append(bad, badCase(shown, 1, err.Error()))
			continue
		}
		more, faults := parseCases(shown, raw)
		for i := range more {
			more[i].Skill = rec.Address
		}
		cases, bad = append(cases, more...), append(bad, faults...)
	}
	return cases, bad
}

func readOf(ctx context.Context, rec *registry.Record, name string) ([]byte, error) {
	if rec.From == nil {
		return nil, fs.ErrNotExist
	}
	f, err := rec.From.Open(ctx, rec.Entry, name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	raw, err := io.ReadAll(io.LimitReader(f, maxCorpusFile+1))
	if err == nil && len(raw) > maxCorpusFile {
		err = fmt.Errorf("file has more than %d bytes", maxCorpusFile)
	}
	return raw, err
}

// pool finds skills by address, id or name.
type pool struct {
	snap *registry.Snapshot
	by   map[string]*registry.Record
}

func newPool(snap *registry.Snapshot) pool {
	p := pool{snap, map[string]*registry.Record{}}
	for _, key := range []func(*registry.Record) string{
		func(r *registry.Record) string { return r.Address },
		func(r *registry.Record) string { return string(r.Skill.ID()) },
		func(r *registry.Record) string { return r.Skill.Name },
	} {
		for _, r := range snap.Winners {
			if _, taken := p.by[key(r)]; !taken {
				p.by[key(r)] = r
			}
		}
	}
	return p
}

// cases collects the cases of the file, of the named skills, or of every skill.
func (p pool) cases(ctx context.Context, o TriggerOptions) (cases []TriggerCase, bad []skill.Diagnostic, err error) {
	if o.File != "" {
		cases, bad = parseCases(o.File, o.Source)
		cases = slices.DeleteFunc(cases, func(c TriggerCase) bool {
			_, ok := p.by[c.Skill]
			if !ok {
				bad = append(bad, badCase(c.file, c.line, fmt.Sprintf("skill %q is not in the pool", c.Skill)))
			}
			return !ok
		})
	} else {
		records := p.snap.Winners
		if len(o.Skills) > 0 {
			records = nil
			for _, name := range o.Skills {
				rec, ok := p.by[name]
				if !ok {
					return nil, nil, &UnknownSkillError{name}
				}
				records = append(records, rec)
			}
		}
		for _, rec := range records {
			more, faults := casesOf(ctx, rec)
			cases, bad = append(cases, more...), append(bad, faults...)
		}
	}
	if len(cases)+len(bad) == 0 {
		return nil, nil, ErrNoCases
	}
	return cases, bad, nil
}

// UnknownSkillError says that a skill that was asked for is not in the pool.
type UnknownSkillError struct{ Name string }

// Error names the skill.
func (e *UnknownSkillError) Error() string { return fmt.Sprintf("skill %q is not in the pool", e.Name) }

// ErrNoCases says that no skill of the pool has trigger cases.
var ErrNoCases = errors.New("no skill has trigger cases")

// LintTriggers gives advice on the trigger cases of the skill in fsys: cases that
// cannot be read, and too few of those that should not start it to measure anything.
// dir is what diagnostics put before the file's path.
func LintTriggers(fsys fs.FS, dir string) (out []skill.Diagnostic) {
	should, not, first := 0, 0, ""
	for _, name := range []string{triggerLines, triggerArray} {
		f, err := fsys.Open(name)
		if err != nil {
			continue
		}
		raw, err := io.ReadAll(io.LimitReader(f, maxCorpusFile))
		f.Close()
		if err != nil {
			continue
		}
		file := path.Join(dir, name)
		cases, bad := parseCases(file, raw)
		out = append(out, bad...)
		for _, c := range cases {
			if first == "" {
				first = file
			}
			if *c.Should {
				should++
			} else {
				not++
			}
		}
	}
	if 3*not < should {
		out = append(out, skill.Diagnostic{
			Code: "evals_unbalanced", Level: skill.LevelWarning, File: first, Line: 1, Column: 1, Offset: -1,
			Message: fmt.Sprintf("%d cases should trigger and only %d should not: fewer than a third", should, not),
			Fix:     "add requests that look alike and need something else",
		})
	}
	return out
}
