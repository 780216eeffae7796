package gate

import (
	"path"
	"strings"

	"github.com/deftskills/deft/internal/shellcmd"
)

// wrapper is a program that runs the command in its own arguments.
type wrapper struct {
	Transparent bool     // an allow may look through it
	Values      []string // options that take the next word
	Flags       []string // further options that an allow knows
	Operands    int      // words in front of the command
	Assigns     bool     // NAME=value may stand in front of the command
	Appends     bool     // adds words that nobody knows
	Inner       string   // what it runs when no command is given
	Script      string   // the option whose value is a script
	Joined      bool     // its words are joined and read as a script
}

// unwrapForAllow returns the command that a transparent wrapper runs. wraps is false
// for other programs; ok is false where an option is not known, so that nobody can
// say where the command begins.
func unwrapForAllow(words []shellcmd.Word) (inner []shellcmd.Word, ok, wraps bool) {
	w, wraps := shellTables().Wrappers[words[0].Text]
	if !wraps {
		return nil, false, false
	}
	rest := words[1:]
	for len(rest) > 0 && rest[0].Fixed && strings.HasPrefix(rest[0].Text, "-") && rest[0].Text != "-" {
		text := rest[0].Text
		if w.Appends { // options of xargs change what runs
			return nil, false, true
		}
		rest = rest[1:]
		if text == "--" {
			break
		}
		switch known := w.option(text); {
		case known == optionUnknown:
			return nil, false, true
		case known == optionTakesNext && len(rest) > 0:
			if !rest[0].Fixed {
				return nil, false, true
			}
			rest = rest[1:]
		}
	}
	for range w.Operands {
		if len(rest) > 0 {
			if !rest[0].Fixed {
				return nil, false, true
			}
			rest = rest[1:]
		}
	}
	switch {
	case len(rest) == 0:
		return nil, true, true
	case !w.Transparent:
		return nil, false, true
	case w.Appends:
		rest = append(append([]shellcmd.Word{}, rest...), shellcmd.Word{Split: true})
	}
	return rest, true, true
}

type optionKind int

const (
	optionUnknown optionKind = iota
	optionAlone
	optionTakesNext
)

// option says what an option of a wrapper does with the word after it.
func (w wrapper) option(text string) optionKind {
	for _, f := range w.Flags {
		if text == f {
			return optionAlone
		}
	}
	for _, v := range w.Values {
		switch {
		case text == v:
			return optionTakesNext
		case strings.HasPrefix(v, "--") && strings.HasPrefix(text, v+"="), !strings.HasPrefix(v, "--") && strings.HasPrefix(text, v):
			return optionAlone
		}
	}
	if isNumber(strings.TrimPrefix(text, "-")) { // nice -5
		return optionAlone
	}
	return optionUnknown
}

func isNumber(s string) bool {
	return s != "" && strings.Trim(s, "0123456789") == ""
}

// maxReparse is how many scripts inside scripts a deny looks through.
const maxReparse = 3

// views returns every way in which a deny or ask rule may see the commands of a
// script: as written, by the program's base name, and what wrappers and literal
// scripts run. Too many views cost a question; too few would miss a command.
func (e *shellEval) views(script *shellcmd.Script, level int) [][]string {
	var out [][]string
	for _, c := range script.Commands {
		out = e.viewsOf(out, c.Words, level, 0)
	}
	return out
}

// maxWraps bounds wrappers around wrappers.
const maxWraps = 16

func (e *shellEval) viewsOf(out [][]string, words []shellcmd.Word, level, depth int) [][]string {
	if len(words) == 0 || depth > maxWraps {
		return out
	}
	plain := make([]string, len(words))
	for i, w := range words {
		plain[i] = w.Text
		if !w.Fixed {
			plain[i] += unknownWord
		}
	}
	out = append(out, plain)
	name := path.Base(plain[0])
	if name != plain[0] {
		out = append(out, append([]string{name}, plain[1:]...))
	}
	if name == "find" || name == "fd" {
		for i, w := range plain {
			switch w {
			case "-exec", "-execdir", "-ok", "-okdir", "-x", "-X", "--exec", "--exec-batch":
				out = e.viewsOf(out, words[i+1:], level, depth+1)
			}
		}
	}
	w, wraps := shellTables().Wrappers[name]
	if !wraps {
		return out
	}
	for _, text := range w.scripts(plain) {
		if level == maxReparse {
			break
		}
		if inner, err := shellcmd.Parse(text); err == nil {
			out = append(out, e.views(inner, level+1)...)
		}
	}
	for _, i := range w.starts(plain) {
		out = e.viewsOf(out, words[i:], level, depth+1)
	}
	return out
}

// scripts returns the literal scripts that a shell or its kind is given.
func (w wrapper) scripts(words []string) []string {
	var out []string
	if w.Script != "" {
		for i := 1; i+1 < len(words); i++ {
			// Letters may be joined: "-xc".
			if strings.HasPrefix(words[i], "-") && !strings.HasPrefix(words[i], "--") && strings.HasSuffix(words[i], w.Script[1:]) {
				out = append(out, words[i+1])
			}
		}
	}
	if w.Joined && len(words) > 1 {
		from := 1
		for from < len(words) && strings.HasPrefix(words[from], "-") {
			from++
		}
		out = append(out, strings.Join(words[from:], " "))
	}
	return out
}

// starts returns every index at which the wrapped command may begin. An option that is not
// known may stand alone or take the next word: both are followed.
func (w wrapper) starts(words []string) []int {
	var out []int
	seen := map[[2]int]bool{}
	var follow func(i, operands int)
	follow = func(i, operands int) {
		for ; i < len(words) && !seen[[2]int{i, operands}]; i++ {
			seen[[2]int{i, operands}] = true
			text := words[i]
			switch {
			case text == "--":
			case strings.HasPrefix(text, "-") && len(text) > 1:
				switch w.option(text) {
				case optionTakesNext:
					i++
				case optionUnknown:
					if i+1 < len(words) && !strings.HasPrefix(words[i+1], "-") && !strings.Contains(text, "=") {
						follow(i+2, operands)
					}
				}
			case w.Assigns && strings.Contains(text, "="):
			case operands > 0:
				operands--
			default:
				out = append(out, i)
				return
			}
		}
	}
	follow(1, w.Operands)
	return out
}
