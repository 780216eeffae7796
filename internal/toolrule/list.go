package toolrule

import (
	"path"
	"slices"
	"strings"

	"github.com/bmatcuk/doublestar/v4"

	"github.com/deftskills/deft/internal/fold"
)

// List is a parsed tool list. An entry that cannot be read matches every tool in the
// deny sense and none in the allow sense: a typo must not open a door.
type List []Entry

// Entry is one pattern of a List, or the error that it is.
type Entry struct {
	Pattern
	Err error
}

// ParseList parses every entry.
func ParseList(entries []string) List {
	if len(entries) == 0 {
		return nil
	}
	out := make(List, len(entries))
	for i, text := range entries {
		out[i].Pattern, out[i].Err = Parse(text)
	}
	return out
}

// Covers returns the first rule that permits the call, in the allow sense: the spec
// has to cover every simple command, or every form of the path.
func (l List) Covers(c Call) (rule string, ok bool) {
	for _, e := range l {
		if e.Err == nil && e.name != "*" && e.Covers(c) {
			return e.literal, true
		}
	}
	return "", l.coversTogether(c)
}

// coversTogether lets the simple commands of one parsed line be covered by several rules.
func (l List) coversTogether(c Call) bool {
	if len(c.Commands) < 2 {
		return false
	}
	for _, command := range c.Commands {
		one := c
		one.Commands = [][]string{command}
		if _, ok := l.Covers(one); !ok {
			return false
		}
	}
	return true
}

// Denies returns the first rule that refuses the call: one simple command or one
// form of the path is enough, and so is an entry that cannot be read.
func (l List) Denies(c Call) (rule string, ok bool) {
	for _, e := range l {
		if e.Err != nil || e.Denies(c) {
			return e.literal, true
		}
	}
	return "", false
}

// Mentions reports whether some rule permits the tool at least in part, so that it
// is worth showing to a model.
func (l List) Mentions(tool string) bool {
	for _, e := range l {
		if e.Err == nil && e.name != "*" && e.named(tool) {
			return true
		}
	}
	return false
}

// DeniesTool reports whether some rule refuses the tool whatever its arguments.
func (l List) DeniesTool(tool string) bool {
	for _, e := range l {
		if e.Err != nil || e.spec == "" && e.named(tool) {
			return true
		}
	}
	return false
}

// Covers reports whether the pattern permits the call, in the allow sense: its words
// cover every simple command, its glob every form of the path.
func (p Pattern) Covers(c Call) bool { return p.named(c.Tool) && (p.spec == "" || p.covers(c)) }

// Denies reports whether the pattern refuses the call, in the deny sense: one simple
// command or one form of the path is enough.
func (p Pattern) Denies(c Call) bool { return p.named(c.Tool) && (p.spec == "" || p.denies(c)) }

// Names reports whether the pattern speaks of the tool, under any of its names.
func (p Pattern) Names(tool string) bool { return p.named(tool) }

// Name is the tool's name as the pattern spells it; it may end in "*".
func (p Pattern) Name() string { return p.name }

// Bare reports a pattern that holds whatever the arguments are.
func (p Pattern) Bare() bool { return p.spec == "" }

// Spec is what stands in the parentheses, "" for a bare pattern.
func (p Pattern) Spec() string { return p.spec }

// Everything reports a pattern that is bare, or whose words are stars alone.
func (p Pattern) Everything() bool {
	return !slices.ContainsFunc(p.words, func(w word) bool {
		return len(w.text) == 0 || slices.Contains(w.quoted, true) || slices.ContainsFunc(w.text, func(c rune) bool { return c != '*' })
	})
}

// Program is the first word of the spec, "" where it is none or holds a wildcard.
func (p Pattern) Program() string {
	if len(p.words) == 0 {
		return ""
	}
	for i, c := range p.words[0].text {
		if c == '*' && !p.words[0].quoted[i] {
			return ""
		}
	}
	return p.words[0].String()
}

// named reports whether the pattern's name part is the tool's, under any of its names.
func (p Pattern) named(tool string) bool {
	if p.name == "*" || p.name == tool {
		return true
	}
	if !strings.Contains(p.name, "*") {
		return Canonical(p.name) == Canonical(tool)
	}
	name := []rune(p.name)
	glob := word{text: name, quoted: make([]bool, len(name))}
	return globRunes(glob, []rune(tool)) || globRunes(glob, []rune(Canonical(tool)))
}

func (p Pattern) covers(c Call) bool {
	switch Canonical(c.Tool) {
	case "bash":
		if c.Unproved {
			return false
		}
		for _, command := range c.Commands {
			if !matchWords(p.words, command) {
				return false
			}
		}
		return len(c.Commands) > 0
	case "web_fetch":
		return p.host(c.Host)
	case "skill":
		return len(c.Skills) > 0 && !slices.ContainsFunc(c.Skills, func(name string) bool { return !p.skill(name) })
	}
	for _, form := range c.Paths {
		if !p.path(form, c) {
			return false
		}
	}
	return len(c.Paths) > 0
}

func (p Pattern) denies(c Call) bool {
	switch Canonical(c.Tool) {
	case "bash":
		for _, command := range c.Commands {
			if matchWords(p.words, command) {
				return true
			}
		}
		return false
	case "web_fetch":
		return p.host(c.Host)
	case "skill":
		return slices.ContainsFunc(c.Skills, p.skill)
	}
	if c.Paths == nil {
		return true // a spec for a tool whose arguments nobody can read: refuse
	}
	for _, form := range c.Paths {
		if p.path(form, c) {
			return true
		}
	}
	return false
}

func (p Pattern) host(host string) bool {
	want, ok := strings.CutPrefix(strings.ToLower(p.spec), "domain:")
	if !ok || host == "" {
		return false
	}
	if sub, wild := strings.CutPrefix(want, "*."); wild {
		return strings.HasSuffix(host, "."+sub)
	}
	return host == want
}

// skill matches the name of a skill, however it is spelled and whatever source is named
// with it.
func (p Pattern) skill(name string) bool {
	bare, _, _ := strings.Cut(name, "@")
	for _, form := range [...]string{name, bare} {
		if ok, err := doublestar.Match(fold.Key(p.spec), fold.Key(form)); err == nil && ok {
			return true
		}
	}
	return false
}

// path matches a path glob: "//abs", "~/" or relative to the workspace. A glob that
// names a folder by a trailing slash means everything below it.
func (p Pattern) path(form string, c Call) bool {
	parts := make([]string, len(p.words))
	for i, w := range p.words {
		parts[i] = w.glob()
	}
	glob := strings.Join(parts, " ")
	if strings.HasSuffix(glob, "/") {
		glob += "**"
	}
	switch {
	case strings.HasPrefix(glob, "//"):
		glob = glob[1:]
	case strings.HasPrefix(glob, "~/"):
		if c.Home == "" {
			return false
		}
		return below(form, c.Home, glob[2:])
	case strings.HasPrefix(glob, "/"):
		// Written as an absolute path, or as one anchored at the workspace: both.
		if ok, err := doublestar.Match(path.Clean(glob), form); err == nil && ok {
			return true
		}
		glob = glob[1:]
		return below(form, c.Dir, glob)
	default:
		return below(form, c.Dir, strings.TrimPrefix(glob, "./"))
	}
	ok, err := doublestar.Match(glob, form)
	return err == nil && ok
}

// below matches the part of form under root, whose own characters are no wildcards.
func below(form, root, glob string) bool {
	if root == "" {
		return false
	}
	rest, ok := strings.CutPrefix(form, strings.TrimSuffix(root, "/")+"/")
	if !ok {
		return false
	}
	match, err := doublestar.Match(glob, rest)
	return err == nil && match
}
