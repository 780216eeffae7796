package skill

import (
	"fmt"
	"io/fs"
	"sort"
	"strings"
	"unicode/utf8"

	"github.com/deftskills/deft/internal/limits"
)

// The thresholds of the lints, from the authoring advice of the standard and of the
// systems that deft stands in for.
const (
	lintPromptTokens   = 800
	lintMinaraBytes    = 3 << 10
	lintStandardTokens = 5000
	lintFileLines      = 500
	lintDescription    = 80
	lintBuiltin        = 200
	lintVague          = 20
	lintTools          = 20
)

// LintOptions is what Lint may look at beyond the skill and its body. The zero
// value lints the text alone.
type LintOptions struct {
	Path     string  // shown as the file of diagnostics; "" means SKILL.md
	FileName string  // the file's base name; "" means SKILL.md
	Dialect  Dialect // Minara has a lint of its own
	Builtin  bool    // the skill ships with deft: some advice becomes a rule
	// FS is the skill's directory; nil leaves out the lints that need it. Links in it
	// are not followed further than FS follows them.
	FS fs.FS
	// Tokens counts tokens of o200k_base; nil estimates one token for four bytes.
	Tokens func(text string) int
	// Tools are the registered tools and IDs the ids of all skills; nil leaves out the
	// lints that ask whether a name exists.
	Tools, IDs Names
	// Keys says which variable the tools of a provider need, by the part of their names
	// before the first "_".
	Keys   map[string]string
	Limits limits.Skill
}

func (l LintOptions) withDefaults() LintOptions {
	if l.Path == "" {
		l.Path = "SKILL.md"
	}
	if l.FileName == "" {
		l.FileName = "SKILL.md"
	}
	if l.Tokens == nil {
		l.Tokens = func(text string) int { return (len(text) + 3) / 4 }
	}
	l.Limits = l.Limits.WithDefaults()
	return l
}

// Lint gives authoring advice on s, whose body is body. Most of it is at level
// warning; nothing in it stops a load. A skill that is not valid has its diagnostics
// and gets no advice. Lint is a pure function of its arguments and of FS.
func Lint(s *Skill, body []byte, l LintOptions) []Diagnostic {
	if !s.Valid {
		return nil
	}
	r := &lintRun{s: s, o: l.withDefaults(), body: NormaliseBody(string(body)), raw: s.Raw(), base: 1}
	if header, line := s.HeaderText(); line > 0 {
		r.base = line + strings.Count(header, "\n") + 1
	}
	r.code = CodeRegions([]byte(r.body))
	for _, lint := range []func(*lintRun){
		lintFileName, lintTier, lintDescriptionText, lintUnreachable, lintEnv, lintKeywords, lintToolNames,
		lintKnown, lintUnroutable, lintLength, lintSecrets, lintArguments, lintLinks, lintNested,
	} {
		lint(r)
	}
	return r.out
}

// lintRun is one run of Lint.
type lintRun struct {
	s     *Skill
	o     LintOptions
	body  string
	base  int // line in the file of the body's first line
	raw   *Node
	code  []Region
	lines []int // offsets in body where lines begin; made when first asked for
	out   []Diagnostic
}

// full reports that no more is told of one file. Loops ask first: finding the place of
// each of a million findings on one line would take hours.
func (r *lintRun) full() bool { return len(r.out) >= r.o.Limits.Diagnostics }

func (r *lintRun) add(code string, level Level, line, col int, fix, format string, args ...any) {
	if r.full() {
		return
	}
	r.out = append(r.out, Diagnostic{
		Code: code, Level: level, File: r.o.Path, Line: line, Column: col, Offset: -1,
		Message: fmt.Sprintf(format, args...), Fix: fix,
	})
}

// place returns line and column in the file of an offset in the body.
func (r *lintRun) place(offset int) (line, col int) {
	if r.lines == nil {
		r.lines = []int{0}
		for i := range len(r.body) {
			if r.body[i] == '\n' {
				r.lines = append(r.lines, i+1)
			}
		}
	}
	n := sort.SearchInts(r.lines, offset+1) - 1
	return r.base + n, 1 + utf8.RuneCountInString(r.body[r.lines[n]:offset])
}

// at returns the place of a field's value, 1:1 when the header does not have it.
func (r *lintRun) at(keys ...string) (line, col int) {
	if n := r.raw.Path(keys...); n != nil {
		return n.Line, n.Column
	}
	return 1, 1
}

// field returns where the first of these fields of Meta that the file has is written.
func (r *lintRun) field(names ...string) (line, col int) {
	header, first := r.s.HeaderText()
	for _, name := range names {
		o := r.s.Origin(name)
		if o.Line < first || o.File != skillFile {
			continue
		}
		lines := strings.SplitN(header, "\n", o.Line-first+2)
		if i := o.Line - first; i < len(lines) {
			return o.Line, 1 + len(lines[i]) - len(strings.TrimLeft(lines[i], " "))
		}
	}
	return 1, 1
}

func lintFileName(r *lintRun) {
	if r.o.FileName != "SKILL.md" {
		r.add("file_name", LevelWarning, 1, 1, "rename to SKILL.md", "file is named %q", r.o.FileName)
	}
}

// lintTier looks for tiers where skills have none: permission is of tools.
func lintTier(r *lintRun) {
	for _, block := range [][]string{nil, {"metadata"}, {"metadata", "deft"}, {"metadata", "minara"}} {
		m := r.raw.Path(block...)
		if m == nil || m.Kind != MappingNode {
			continue
		}
		for i := range m.Len() {
			k, _ := m.Pair(i)
			switch strings.ReplaceAll(kebabCase(k.Value), "-", "_") {
			case "tier", "risk", "permission_tier":
				r.add("tier_on_skill", LevelError, k.Line, k.Column, "remove it: tiers live on tools", "key %q on a skill", clip(k.Value, 60))
			}
		}
	}
}

func lintLength(r *lintRun) {
	tokens := r.o.Tokens(r.body)
	lines := r.base - 1 + strings.Count(r.body, "\n")
	if !strings.HasSuffix(r.body, "\n") {
		lines++
	}
	const fix = "move detail to references/"
	switch {
	case tokens > lintPromptTokens:
		r.add("prompt_long", LevelWarning, r.base, 1, fix, "body of %d tokens, more than %d", tokens, lintPromptTokens)
	case r.o.Dialect == Minara && len(r.body) > lintMinaraBytes:
		r.add("prompt_long", LevelWarning, r.base, 1, fix, "body of %d bytes, more than %d", len(r.body), lintMinaraBytes)
	}
	switch {
	case tokens > lintStandardTokens:
		r.add("body_over_standard", LevelWarning, r.base, 1, fix, "body of %d tokens, more than %d", tokens, lintStandardTokens)
	case lines > lintFileLines:
		r.add("body_over_standard", LevelWarning, r.base, 1, fix, "file of %d lines, more than %d", lines, lintFileLines)
	}
}
