package route

import (
	"bytes"
	"embed"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
)

//go:embed triggers/*.json triggers/*/*.json
var triggerFiles embed.FS

// Triggers are the words that show a stage, by language. Every language is always
// active. A Triggers is immutable.
type Triggers struct {
	langs []triggerTable // sorted by language
}

type triggerTable struct {
	lang  string
	words [stageCount][]string
}

// triggerFile is the form of triggers/<lang>.json.
type triggerFile struct {
	Version int                 `json:"version"`
	Lang    string              `json:"lang"`
	Stages  map[string][]string `json:"stages"`
}

// DefaultTriggers returns the built-in tables.
func DefaultTriggers() *Triggers { return builtinTriggers("triggers/") }

// builtinTriggers reads the tables of one folder.
func builtinTriggers(dir string) *Triggers {
	t := &Triggers{}
	for _, lang := range []string{"en", "zh"} {
		name := dir + lang + ".json"
		src, err := triggerFiles.ReadFile(name)
		if err == nil {
			t, err = t.With(name, src)
		}
		if err != nil {
			panic(err) // built in, and a test reads them
		}
	}
	return t
}

// With returns t with the table in src, which replaces that of the same language.
// The error names file and line.
func (t *Triggers) With(file string, src []byte) (*Triggers, error) {
	var f triggerFile
	dec := json.NewDecoder(bytes.NewReader(src))
	dec.DisallowUnknownFields()
	if err := dec.Decode(&f); err != nil {
		at := int(dec.InputOffset())
		var syntax *json.SyntaxError
		if errors.As(err, &syntax) {
			at = int(syntax.Offset)
		}
		return nil, fmt.Errorf("%s:%d: trigger table: %w", file, lineOf(src, at), err)
	}
	if f.Version != 1 {
		return nil, fmt.Errorf("%s:%d: trigger table has version %d, want 1", file, lineOf(src, bytes.Index(src, []byte(`"version"`))), f.Version)
	}
	table := triggerTable{lang: f.Lang}
	for name, words := range f.Stages {
		s, ok := ParseStage(name)
		if !ok {
			at := bytes.Index(src, []byte(`"`+name+`"`))
			return nil, fmt.Errorf("%s:%d: trigger table has unknown stage %q", file, lineOf(src, at), name)
		}
		table.words[s] = words
	}
	next := &Triggers{langs: slices.DeleteFunc(slices.Clone(t.langs), func(o triggerTable) bool { return o.lang == f.Lang })}
	next.langs = append(next.langs, table)
	slices.SortFunc(next.langs, func(a, b triggerTable) int { return bytes.Compare([]byte(a.lang), []byte(b.lang)) })
	return next, nil
}

func lineOf(src []byte, at int) int {
	return 1 + bytes.Count(src[:min(max(at, 0), len(src))], []byte("\n"))
}
