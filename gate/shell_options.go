package gate

import (
	_ "embed"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/deftskills/deft/internal/shellcmd"
)

//go:embed programs.json
var programsJSON []byte

//go:embed readonly.json
var readonlyJSON []byte

// tables is what is known of programs: which words of theirs start other programs or
// write files, and which of them are proved to read only.
type tables struct {
	Never    map[string]string // program → the option that makes it so, "" = always
	Wrappers map[string]wrapper
	Programs map[string]program
	proofs
}

// program is one row of the table of options. Everything in it makes a question.
type program struct {
	Same        string              // another row that holds for this one too
	Subcommands bool                // the first operand names a subcommand
	Abbreviates bool                // long options may be cut short
	Words       bool                // options are whole words: "-exec" is no cluster of letters
	Bare        bool                // options stand in front of all operands only
	Web         bool                // operands are addresses
	Names       bool                // operands are variables that get set
	Assigns     bool                // operands NAME=value set variables
	Values      []string            // options that take the next word
	Options     []string            // options that run programs or write files
	Before      []string            // the same, in front of the subcommand only
	Commands    [][]string          // subcommands that run programs or write files
	Subs        map[string]subentry // what more holds for one subcommand
	Texts       []string            // a word that holds one of these
	Script      string              // "sed", "awk": the first operand is a program
	OldDash     string              // letters of a first operand without a dash, as of tar
	Operands    int                 // more operands than these write; 0 = no bound
	Plus        string              // why an operand that begins with "+" makes a question
	Always      string              // why every use makes a question
}

type subentry struct {
	Options []string
	Needs   []string // one of these words makes it harmless
	Operand bool     // and so does a single operand
}

// shellTables are read at the first use from the two files in this folder, and never change.
var shellTables = sync.OnceValue(readTables)

// readTables panics for a file that is not what it should be: both are part of the
// program, and a test reads them.
func readTables() tables {
	var t tables
	for _, part := range []struct {
		src []byte
		to  any
	}{{programsJSON, &t}, {readonlyJSON, &t.proofs}} {
		if err := json.Unmarshal(part.src, part.to); err != nil {
			panic(err)
		}
	}
	for name, p := range t.Programs {
		if p.Same != "" {
			t.Programs[name] = t.Programs[p.Same]
		}
	}
	return t
}

// options says which word of a command runs another program or writes a file, or may
// become such a word once it is expanded; "" = none.
func (t tables) options(name string, words []shellcmd.Word) string {
	p, listed := t.Programs[name]
	if !listed {
		return ""
	}
	if p.Always != "" && len(words) > 0 {
		return fmt.Sprintf("%s %s", name, p.Always)
	}
	s := optionScan{name: name, p: p}
	for _, w := range words {
		if why := s.word(w); why != "" {
			return why
		}
	}
	return s.end()
}

// optionScan walks over the words of one command.
type optionScan struct {
	name     string
	p        program
	ended    bool   // behind "--"
	waiting  string // the option whose value comes next
	sub      string
	words    []string // fixed words, options included
	operands []string
	scripts  []string
}

func (s *optionScan) word(w shellcmd.Word) string {
	if !w.Fixed {
		return s.unknown(w)
	}
	if why := s.text(w.Text); why != "" {
		return why
	}
	s.words = append(s.words, w.Text)
	if s.waiting != "" {
		if s.p.Script != "" && (s.waiting == "-e" || s.waiting == "--expression") {
			s.scripts = append(s.scripts, w.Text)
		}
		s.waiting = ""
		return ""
	}
	switch {
	case s.ended || !strings.HasPrefix(w.Text, "-") || w.Text == "-":
		return s.operand(w.Text)
	case w.Text == "--":
		s.ended = true
		return ""
	case s.p.Bare && len(s.operands) > 0:
		return ""
	}
	return s.option(w.Text)
}

// unknown judges a word that the shell still has to expand.
func (s *optionScan) unknown(w shellcmd.Word) string {
	why := fmt.Sprintf("an argument of %s is not known before it runs, and some of its options run programs", s.name)
	value := s.waiting != ""
	s.waiting = ""
	switch {
	case s.p.Names || s.p.Script != "" && len(s.scripts)+len(s.operands) == 0 && !value:
		return why
	case w.Split && !s.ended:
		return why
	case s.ended || value:
		return ""
	case w.Text == "" || strings.HasPrefix(w.Text, "-") && !strings.Contains(w.Text, "="):
		return why
	}
	if strings.HasPrefix(w.Text, "-") {
		return s.option(w.Text)
	}
	if s.p.Subcommands && s.sub == "" {
		return why
	}
	s.operands = append(s.operands, w.Text)
	return s.text(w.Text)
}

func (s *optionScan) text(word string) string {
	for _, t := range s.p.Texts {
		if strings.Contains(word, t) {
			return fmt.Sprintf("%q in an argument of %s may run a program or read a file", t, s.name)
		}
	}
	return ""
}

func (s *optionScan) operand(word string) string {
	first := len(s.operands) == 0
	s.operands = append(s.operands, word)
	switch {
	case s.p.Plus != "" && strings.HasPrefix(word, "+"):
		return fmt.Sprintf("%q of %s %s", clip(word), s.name, s.p.Plus)
	case s.p.Names && !shellcmd.HarmlessName(word):
		return fmt.Sprintf("%s may set %q", s.name, clip(word))
	case s.p.Assigns && strings.Contains(word, "="):
		return fmt.Sprintf("%s is given a variable", s.name)
	case s.p.OldDash != "" && first && strings.ContainsAny(word, s.p.OldDash):
		return fmt.Sprintf("letters of %q may name a program", clip(word))
	case s.p.Web && !strings.HasPrefix(strings.ToLower(word), "https://"):
		return fmt.Sprintf("%q is no https address", clip(word))
	case s.p.Operands > 0 && len(s.operands) > s.p.Operands:
		return fmt.Sprintf("%s writes its operand %q", s.name, clip(word))
	case s.p.Subcommands && first:
		s.sub = word
	}
	return ""
}

// option judges one option of the program.
func (s *optionScan) option(word string) string {
	asks := s.p.Options
	if s.sub == "" && s.p.Subcommands {
		asks = slices.Concat(asks, s.p.Before)
	}
	asks = slices.Concat(asks, s.p.Subs[s.sub].Options)
	if hit := s.match(word, asks); hit != "" {
		return fmt.Sprintf("%s of %s runs a program or writes a file", hit, s.name)
	}
	if v := s.match(word, s.p.Values); v != "" && word == v {
		s.waiting = v
	} else if v != "" && s.p.Script != "" && (v == "-e" || v == "--expression") {
		s.scripts = append(s.scripts, strings.TrimPrefix(strings.TrimPrefix(word, v), "="))
	}
	return ""
}

// match returns the option of a list that a word is: whole, cut short where the
// program allows that, with "=value", or as a letter of a cluster.
func (s *optionScan) match(word string, list []string) string {
	name, _, hasValue := strings.Cut(word, "=")
	for _, o := range list {
		long := strings.HasPrefix(o, "--")
		switch {
		case strings.HasSuffix(o, "="):
			if hasValue && name+"=" == o {
				return o
			}
		case s.p.Words:
			// Programs with whole words take one dash or two.
			if name == o || name == "-"+o {
				return o
			}
		case name == o:
			return o
		case long && s.p.Abbreviates && len(name) > 2 && strings.HasPrefix(o, name):
			return o
		case !long && !strings.HasPrefix(word, "--") && s.cluster(word, o):
			return o
		}
	}
	return ""
}

// cluster reports whether a one-letter option stands among the letters of a word;
// a letter that takes a value ends them.
func (s *optionScan) cluster(word, option string) bool {
	for _, c := range word[1:] {
		letter := "-" + string(c)
		if letter == option {
			return true
		}
		if slices.Contains(s.p.Values, letter) {
			return false
		}
	}
	return false
}

// end judges what only the whole command shows.
func (s *optionScan) end() string {
	for _, command := range s.p.Commands {
		if len(s.operands) >= len(command) && slices.Equal(s.operands[:len(command)], command) {
			return fmt.Sprintf("%s %s runs programs or writes files", s.name, strings.Join(command, " "))
		}
	}
	if sub, ok := s.p.Subs[s.sub]; ok && len(sub.Needs) > 0 {
		needed := slices.ContainsFunc(s.words, func(w string) bool { return slices.Contains(sub.Needs, w) })
		one := sub.Operand && len(s.operands) == 2 && !slices.ContainsFunc(s.words, func(w string) bool {
			return strings.HasPrefix(w, "-") && w != "--global" && w != "--local" && w != "--system"
		})
		if !needed && !one {
			return fmt.Sprintf("%s %s may change what runs later", s.name, s.sub)
		}
	}
	if s.p.Script == "" {
		return ""
	}
	if len(s.scripts) == 0 && len(s.operands) > 0 {
		s.scripts = s.operands[:1]
	}
	for _, script := range s.scripts {
		if s.p.Script == "sed" && !sedReads(script) || s.p.Script == "awk" && !awkReads(script) {
			return fmt.Sprintf("the %s script may run a program or write a file", s.name)
		}
	}
	return ""
}

// awkReads reports a script without anything that starts a program, writes a file or
// calls a function by a computed name.
func awkReads(script string) bool {
	for _, word := range []string{"system", "getline", "|", ">", "@"} {
		if strings.Contains(script, word) {
			return false
		}
	}
	return true
}

// sedReads reads the small part of sed that only prints and changes text: addresses,
// commands without a file or a program, and s and y whose flags are harmless.
func sedReads(script string) bool {
	r := sedReader{rest: script}
	for r.rest != "" {
		r.rest = strings.TrimLeft(r.rest, " \t\n;{}")
		if r.rest == "" {
			break
		}
		if !r.address() || !r.command() {
			return false
		}
	}
	return true
}

type sedReader struct{ rest string }

// until cuts at the next unescaped delimiter.
func (r *sedReader) until(delimiter byte) bool {
	for i := 0; i < len(r.rest); i++ {
		switch r.rest[i] {
		case '\\':
			i++
		case '[', '\n':
			return false // a bracket may hold the delimiter: nobody counts here
		case delimiter:
			r.rest = r.rest[i+1:]
			return true
		}
	}
	return false
}

func (r *sedReader) address() bool {
	for r.rest != "" {
		switch c := r.rest[0]; {
		case c >= '0' && c <= '9', strings.IndexByte("$,!~+ ", c) >= 0:
			r.rest = r.rest[1:]
		case c == '/':
			r.rest = r.rest[1:]
			if !r.until('/') {
				return false
			}
		default:
			return true
		}
	}
	return false
}

func (r *sedReader) command() bool {
	c := r.rest[0]
	r.rest = r.rest[1:]
	switch {
	case strings.IndexByte("pdPDnNgGhHxlq=", c) >= 0:
	case (c == 's' || c == 'y') && r.rest != "":
		delimiter := r.rest[0]
		r.rest = r.rest[1:]
		if delimiter == '\\' || delimiter == '\n' || !r.until(delimiter) || !r.until(delimiter) {
			return false
		}
		flags := strings.TrimLeft(r.rest, "gpiI0123456789")
		r.rest = flags
	default:
		return false
	}
	r.rest = strings.TrimLeft(r.rest, " \t")
	return r.rest == "" || strings.IndexByte(";}\n", r.rest[0]) >= 0
}
