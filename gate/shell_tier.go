package gate

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/deftskills/deft/internal/shellcmd"
)

// proofs is the table of what is known to read only, and of what is severe.
type proofs struct {
	ReadOnly    []string              `json:"readonly"`
	Unproved    map[string][]string   `json:"unproved"` // options that end the proof
	Needed      map[string][]string   `json:"needed"`   // options without which there is none
	Subcommands map[string][][]string `json:"subcommands"`

	Severe         map[string][]string `json:"severe"` // options that make it so; null = always
	SeverePrefixes []string            `json:"severe_prefixes"`
	SevereCommands [][]string          `json:"severe_commands"`
	Interpreters   []string            `json:"interpreters"`
}

// ShellTier is the tier of a shell command with the reason: ReadOnly where every part
// is proved to read only, ConfirmOnce where every part has fixed words and nothing is
// severe, else AlwaysConfirm. env.Readable says which paths count as read.
func ShellTier(command string, env ShellEnv) (Tier, string) { return readShell(command, env).tier() }

func (e *shellEval) tier() (Tier, string) {
	if e.script == nil {
		return AlwaysConfirm, "the command cannot be read"
	}
	if len(e.script.Refused) > 0 {
		return AlwaysConfirm, "it holds " + e.script.Refused[0]
	}
	if len(e.script.Commands) == 0 {
		return AlwaysConfirm, "there is no command in it"
	}
	tier, reason := ReadOnly, "every part only reads"
	up := func(t Tier, why string) {
		if t > tier {
			tier, reason = t, why
		}
	}
	for _, r := range e.script.Redirects {
		up(e.redirectTier(r))
	}
	for _, view := range e.seen {
		if why := severe(view); why != "" {
			up(AlwaysConfirm, why)
		}
	}
	for _, c := range e.script.Commands {
		if c.Piped && len(c.Words) > 0 && slices.Contains(shellTables().Interpreters, c.Words[0].Text) {
			up(AlwaysConfirm, fmt.Sprintf("%s may read its program from a pipe", c.Words[0].Text))
		}
		up(e.partTier(c))
	}
	return tier, reason
}

// redirectTier is the tier of the file that a redirection opens.
func (e *shellEval) redirectTier(r shellcmd.Redirect) (Tier, string) {
	switch why := oddTarget(r); {
	case why != "":
		return AlwaysConfirm, why
	case r.Copies || r.Target.Text == "/dev/null":
		return ReadOnly, ""
	case !r.Writes && e.readable(r.Target):
		return ReadOnly, ""
	case !r.Writes:
		return ConfirmOnce, fmt.Sprintf("it reads %q", clip(r.Target.Text))
	}
	tier := AlwaysConfirm
	if call, ok := e.fileCall("write", r.Target); ok && e.env.Writing != nil {
		tier = ConfirmOnce
		for _, p := range call.Paths {
			tier = max(tier, e.env.Writing(filepath.FromSlash(p)))
		}
	}
	return tier, fmt.Sprintf("it writes %q", clip(r.Target.Text))
}

// readsOnly reports that no redirection opens anything but what may be read without a
// question: only then can a command be proved to read only.
func (e *shellEval) readsOnly() bool {
	return !slices.ContainsFunc(e.script.Redirects, func(r shellcmd.Redirect) bool {
		t, _ := e.redirectTier(r)
		return t > ReadOnly && !writesFile(r)
	})
}

// partTier is the tier of one simple command.
func (e *shellEval) partTier(c shellcmd.Command) (Tier, string) {
	words, assigns := c.Words, c.Assigns
	for {
		if why := e.unsafe(assigns, words); why != "" {
			return AlwaysConfirm, why
		}
		if len(words) == 0 {
			return ReadOnly, ""
		}
		inner, ok, wraps := unwrapForAllow(words)
		if wraps && !ok {
			return AlwaysConfirm, fmt.Sprintf("%s hides what runs", words[0].Text)
		}
		if !wraps || inner == nil {
			break
		}
		words, assigns = inner, nil
	}
	if e.readOnly(words) {
		return ReadOnly, ""
	}
	return ConfirmOnce, fmt.Sprintf("%q is not known to only read", clip(words[0].Text))
}

// readOnly reports a command of the proof set: a known program, known subcommand, no
// option that ends the proof, and every operand a path that may be read.
func (e *shellEval) readOnly(words []shellcmd.Word) bool {
	proved, known := e.harmless[&words[0]]
	if !known {
		proved = e.proved(words)
		if e.harmless == nil {
			e.harmless = map[*shellcmd.Word]bool{}
		}
		e.harmless[&words[0]] = proved
	}
	return proved
}

func (e *shellEval) proved(words []shellcmd.Word) bool {
	name := words[0].Text
	plain := make([]string, 0, len(words)-1)
	for _, w := range words[1:] {
		if w.Split || !w.Fixed && w.Text == "" && !w.Glob {
			return false
		}
		plain = append(plain, w.Text)
	}
	subs, bySub := shellTables().Subcommands[name]
	needed, needs := shellTables().Needed[name]
	switch {
	case bySub && !slices.ContainsFunc(subs, func(s []string) bool { return len(plain) >= len(s) && slices.Equal(plain[:len(s)], s) }):
		return false
	case needs && !slices.ContainsFunc(plain, func(w string) bool { return slices.Contains(needed, w) }):
		return false
	case !bySub && !needs && !slices.Contains(shellTables().ReadOnly, name):
		return false
	}
	s := optionScan{name: name, p: program{Values: shellTables().Programs[name].Values}}
	for i, w := range plain {
		if strings.HasPrefix(w, "-") {
			if s.match(w, shellTables().Unproved[name]) != "" {
				return false
			}
			continue
		}
		if bySub && i == 0 || !e.mayBePath(name, w) {
			continue
		}
		if !e.readable(words[i+1]) {
			return false
		}
	}
	return true
}

// mayBePath leaves out the words that are text for sure.
func (e *shellEval) mayBePath(name, word string) bool {
	switch name {
	case "echo", "printf", "true", "false", "pwd", "whoami", "uname", "which", "basename", "dirname", "date":
		return false
	}
	return word != "-"
}

func (e *shellEval) readable(w shellcmd.Word) bool {
	call, ok := e.fileCall("read", w)
	if !ok || e.env.Readable == nil {
		return false
	}
	for _, p := range call.Paths {
		if !e.env.Readable(filepath.FromSlash(p)) {
			return false
		}
	}
	return true
}

// severe names what a command does that cannot be taken back, "" = nothing known.
func severe(words []string) string {
	name := words[0]
	why := fmt.Sprintf("%q can do harm that cannot be undone", clip(strings.Join(words, " ")))
	if options, ok := shellTables().Severe[name]; ok {
		scan := optionScan{name: name}
		if options == nil || slices.ContainsFunc(words[1:], func(w string) bool { return strings.HasPrefix(w, "-") && scan.match(w, options) != "" }) {
			return why
		}
	}
	for _, prefix := range shellTables().SeverePrefixes {
		if strings.HasPrefix(name, prefix) {
			return why
		}
	}
	for _, command := range shellTables().SevereCommands {
		if holdsInOrder(words, command) {
			return why
		}
	}
	return ""
}

// holdsInOrder reports whether words begin with the program of command and hold its
// other words in this order.
func holdsInOrder(words, command []string) bool {
	if words[0] != command[0] {
		return false
	}
	next := 1
	for _, w := range words[1:] {
		if next < len(command) && matchesWord(w, command[next]) {
			next++
		}
	}
	return next == len(command)
}

// matchesWord reports a word that is want, want with a value, or letters that hold it.
func matchesWord(word, want string) bool {
	return word == want || strings.HasPrefix(word, want+"=") ||
		len(want) == 2 && want[0] == '-' && len(word) > 1 && word[0] == '-' && word[1] != '-' && strings.Contains(word[1:], want[1:])
}
