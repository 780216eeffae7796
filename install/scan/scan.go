package scan

import (
	"context"
	"fmt"
	"io/fs"
	"slices"
	"strings"

	"github.com/deftskills/deft/internal/limits"
)

// Options say which rules a Scanner has. The zero value means those that deft ships.
type Options struct {
	Rules   []fs.FS  // folders of more rules, *.yaml
	Disable []string // ids of rules that are left out; an unknown one is an error
	// Release is that of the program. Some rules are code: it is part of their digest.
	Release string
}

// Scanner holds compiled rules. It is safe for concurrent use.
type Scanner struct {
	set   *ruleSet
	built []builtRule

	disabled []string
}

// New reads and compiles the rules. A rule that breaks the form is an error that names
// the file and the rule.
func New(o Options) (*Scanner, error) {
	l := loader{words: map[string]string{}, indexes: map[string]int{}}
	own, err := fs.Sub(shipped, "rules")
	if err != nil {
		return nil, err
	}
	for i, fsys := range append([]fs.FS{own}, o.Rules...) {
		if err := l.read(fsys, i > 0); err != nil {
			return nil, err
		}
	}
	disable := slices.Compact(slices.Sorted(slices.Values(o.Disable)))
	l.sum = append(l.sum, o.Release...)
	s := &Scanner{disabled: disable}
	if s.set, err = l.build(disable); err != nil {
		return nil, err
	}
	s.built = slices.DeleteFunc(built(), func(b builtRule) bool { return slices.Contains(disable, b.id) })
	for i := range s.set.rules {
		if r := &s.set.rules[i]; r.added {
			if err := s.proves(r); err != nil {
				return nil, err
			}
		}
	}
	return s, nil
}

// proves holds a rule to its own texts.
func (s *Scanner) proves(r *rule) error {
	for _, text := range r.Match {
		if !s.speaks(r.ID, text) {
			return fmt.Errorf("rule %q: it does not find its own text %q", r.ID, text)
		}
	}
	for _, text := range r.NoMatch {
		if s.speaks(r.ID, text) {
			return fmt.Errorf("rule %q: it finds %q, which it must not", r.ID, text)
		}
	}
	return nil
}

// speaks reports whether the rule has a finding in a text that stands in one of the
// places that rules speak of.
func (s *Scanner) speaks(id, text string) bool {
	for _, in := range []struct{ name, text string }{
		{"SKILL.md", text}, {"page.md", "```\n" + text + "\n```\n"}, {"note.md", "<!--\n" + text + "\n-->\n"},
		{"run.sh", text}, {"run.py", text}, {"a.json", text},
	} {
		found, _ := s.text(in.name, in.text)
		if slices.ContainsFunc(found, func(f Finding) bool { return f.Rule == id }) {
			return true
		}
	}
	return false
}

// Rules returns the digest of all rules, "sha256:" and hex: a Result holds for a tree
// digest and this.
func (s *Scanner) Rules() string { return s.set.digest }

// Disabled returns the ids of the rules that are left out, sorted.
func (s *Scanner) Disabled() []string { return slices.Clone(s.disabled) }

// ScanOptions bound one scan.
type ScanOptions struct {
	Leave  []string       // paths below the tree that are not part of it
	Only   string         // the one name at the top that is looked at; "" = all
	Part   Part           // which files are looked at
	Limits limits.Hazards // zero = defaults
}

// Part says which files of a tree are looked at. A result that is kept by a tree's digest
// holds for the files that the digest covers and for no others.
type Part int

// The parts. Covered and Uncovered together are Whole.
const (
	Whole     Part = iota
	Covered        // the files that a tree digest covers
	Uncovered      // those that it leaves out; see skill.LeftOut
)

// Result is what was found in one tree. It is no verdict: a tree without findings is one
// in which these rules found nothing, in the files that were read.
type Result struct {
	Complete     bool      // everything was read, within all bounds
	FilesRead    int       // as text, or known by their first bytes
	FilesSkipped int       // not read, or not whole
	Findings     []Finding // by file, line, rule
	Blocking     int       // findings of level block
	Rules        string    // as Scanner.Rules
}

// Scan reads the regular files of fsys and reports what the rules find. Links are not
// followed, special files are not opened, archives are looked into. A file that can't
// be read makes the result partial and is no error; the error is that of ctx.
func (s *Scanner) Scan(ctx context.Context, fsys fs.FS, o ScanOptions) (Result, error) {
	t := &tree{scan: s, fsys: fsys, limits: o.Limits.WithDefaults(), leave: o.Leave, only: o.Only, part: o.Part, folded: map[string]string{}}
	t.result = Result{Complete: true, Rules: s.set.digest, Findings: []Finding{}}
	within, cancel := context.WithTimeout(ctx, t.limits.Time)
	defer cancel()
	t.ctx = within
	t.dir(".", 0)
	if err := ctx.Err(); err != nil {
		return Result{}, err
	}
	if within.Err() != nil {
		t.partial(t.at("."), "ST107", fmt.Sprintf("more than %s", t.limits.Time))
	}
	t.undeclared()
	t.result.finish()
	return t.result, nil
}

// With returns what two parts of one tree gave, by the same rules.
func (r Result) With(s Result) Result {
	r.Complete = r.Complete && s.Complete
	r.FilesRead += s.FilesRead
	r.FilesSkipped += s.FilesSkipped
	r.Findings = append(slices.Clip(r.Findings), s.Findings...)
	r.finish()
	r.Findings = slices.CompactFunc(r.Findings, func(a, b Finding) bool { // of a folder that both parts went through
		return a.File == b.File && a.Line == b.Line && a.Rule == b.Rule && a.Evidence == b.Evidence
	})
	r.finish()
	return r
}

// finish orders the findings and counts.
func (r *Result) finish() {
	r.Blocking = 0
	slices.SortStableFunc(r.Findings, func(a, b Finding) int {
		if c := strings.Compare(a.File, b.File); c != 0 {
			return c
		}
		if a.Line != b.Line {
			return a.Line - b.Line
		}
		return strings.Compare(a.Rule, b.Rule)
	})
	for _, f := range r.Findings {
		if f.Level == Block {
			r.Blocking++
		}
	}
}
