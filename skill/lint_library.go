package skill

import (
	"fmt"
	"slices"
	"strings"
	"unicode"

	"github.com/deftskills/deft/internal/fold"
)

// Bounds of the advice on several skills at once.
const (
	lintCollision = 3   // skills that may share a keyword
	lintAlike     = 0.9 // shared part of the words of two descriptions
)

// lintKnown compares what the skill names with what there is.
func lintKnown(r *lintRun) {
	m := &r.s.Meta
	if r.o.Tools != nil {
		level := LevelWarning
		if r.o.Builtin {
			level = LevelError
		}
		line, col := r.field("tool_names")
		for _, name := range m.ToolNames {
			if !hasTool(r.o.Tools, name) {
				r.add("tool_unresolved", level, line, col, "correct the name", "no tool %q is registered", clip(name, 60))
			}
		}
	}
	if r.o.IDs != nil && m.Routing != nil {
		line, col := r.field("co_activate")
		for _, id := range m.Routing.CoActivate {
			if !r.o.IDs.Has(id) {
				r.add("co_activate_unknown", LevelError, line, col, "correct the id", "co_activate names %q, which no skill has as its id", clip(id, 60))
			}
		}
	}
	lintProviders(r)
}

// lintProviders looks for tools of a provider that needs a key which the skill does not
// ask for.
func lintProviders(r *lintRun) {
	var env []string
	if c := r.s.Meta.Conditions; c != nil {
		env = c.RequiresEnv
	}
	line, col := r.field("tool_names")
	var told []string
	for _, name := range r.s.Meta.ToolNames {
		provider, _, _ := strings.Cut(name, "_")
		key := r.o.Keys[provider]
		if key == "" || slices.Contains(env, key) || slices.Contains(told, key) {
			continue
		}
		told = append(told, key)
		r.add("provider_without_env", LevelWarning, line, col, "declare it", "tool %q needs %s, which requires_env does not name", clip(name, 60), key)
	}
}

// lintUnroutable says that no request can give the skill points, in a dialect whose
// router knows nothing but what is declared.
func lintUnroutable(r *lintRun) {
	t := r.s.Meta.Routing
	if r.o.Dialect != Minara || t != nil && len(t.Keywords)+len(t.Stages)+len(t.SignalSources)+len(t.AssetClasses) > 0 {
		return
	}
	r.add("unroutable", LevelWarning, 1, 1, "add keywords, stages or signal_sources", "skill without keyword, stage, asset class or signal: no request gives it points")
}

// Linted is one skill of a library, with the path that its diagnostics show.
type Linted struct {
	Path  string
	Skill *Skill
}

// LintLibrary gives advice on skills that stand beside each other: a keyword that more
// than three of them share, and descriptions that tell two of them hardly apart. The
// findings are in the order of the list. It is a pure function.
func LintLibrary(list []Linted) []Diagnostic {
	shared := map[string][]int{}
	words := make([]map[string]bool, len(list))
	for i, l := range list {
		if !l.Skill.Valid {
			continue
		}
		words[i] = descriptionWords(l.Skill.Description)
		if t := l.Skill.Meta.Routing; t != nil {
			for _, k := range t.Keywords {
				form := keywordForm(k)
				if n := len(shared[form]); n == 0 || shared[form][n-1] != i {
					shared[form] = append(shared[form], i)
				}
			}
		}
	}
	var out []Diagnostic
	for i, l := range list {
		if words[i] == nil {
			continue
		}
		for j := range i {
			if alike(words[i], words[j]) {
				d := newDiagnostic("description_duplicate", l.Path, 1, 1, fmt.Sprintf("description says the same as that of %q", clip(list[j].Skill.Name, 60)))
				out = append(out, d)
				break
			}
		}
		if l.Skill.Meta.Routing == nil {
			continue
		}
		var told []string
		for _, k := range l.Skill.Meta.Routing.Keywords {
			form := keywordForm(k)
			if n := len(shared[form]); form != "" && n > lintCollision && !slices.Contains(told, form) {
				told = append(told, form)
				out = append(out, newDiagnostic("keyword_collision", l.Path, 1, 1, fmt.Sprintf("keyword %q stands in %d skills", clip(k, 60), n)))
			}
		}
	}
	return out
}

// descriptionWords is the set of words of a text; a letter of a script without blanks
// is a word.
func descriptionWords(text string) map[string]bool {
	set := map[string]bool{}
	for _, w := range strings.FieldsFunc(fold.Key(text), func(c rune) bool {
		return !unicode.IsLetter(c) && !unicode.IsNumber(c) && !unicode.IsMark(c)
	}) {
		if strings.IndexFunc(w, func(c rune) bool { return unicode.In(c, unicode.Han, unicode.Hiragana, unicode.Katakana, unicode.Thai) }) < 0 {
			set[w] = true
			continue
		}
		for _, c := range w {
			set[string(c)] = true
		}
	}
	return set
}

// alike reports whether two sets share nearly all of their words.
func alike(a, b map[string]bool) bool {
	if len(a) > len(b) {
		a, b = b, a
	}
	if len(a) == 0 || float64(len(a)) < lintAlike*float64(len(b)) {
		return false
	}
	both := 0
	for w := range a {
		if b[w] {
			both++
		}
	}
	return float64(both) >= lintAlike*float64(len(a)+len(b)-both)
}
