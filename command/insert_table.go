package command

import (
	"path"
	"slices"
	"strings"

	"github.com/deftskills/deft/internal/shellcmd"
)

// readers take text among their arguments for a program, a name that is evaluated, or a
// command to start. No argument of a skill may stand there.
var readers = []string{
	"sh", "bash", "dash", "zsh", "ksh", "ash", "mksh", "fish", "csh", "tcsh", "pwsh", "powershell", "cmd", "busybox",
	"eval", "source", ".", "trap", "alias", "ssh", "xargs", "env", "sudo", "doas", "su", "chroot", "flock", "watch", "parallel",
	"awk", "gawk", "mawk", "nawk", "sed", "gsed", "perl", "python", "ruby", "node", "nodejs", "php", "lua", "deno", "bun", "find",
	// Of bash: a name with an index is evaluated, and with it what stands in the index.
	"read", "unset", "let", "declare", "typeset", "local", "export", "readonly", "mapfile", "readarray", "getopts", "wait",
}

// operands are the readers whose first operand is the program: later ones are data, as
// long as no option has come before.
var operands = []string{"awk", "gawk", "mawk", "nawk", "sed", "gsed", "perl", "python", "ruby", "node", "find"}

// optionReaders look for options among their later operands too.
var optionReaders = []string{"awk", "gawk", "mawk", "nawk", "sed", "gsed", "find"}

// wrappers start the command that their arguments name.
var wrappers = []string{"timeout", "nice", "nohup", "time", "command", "builtin", "exec", "stdbuf", "setsid", "ionice"}

// evaluators have one option whose value is evaluated.
var evaluators = map[string]string{"printf": "-v", "test": "-v", "[": "-v", "git": "-c"}

// program is the name by which the tables know a program: without directory, version
// and suffix.
func program(word string) string {
	name := path.Base(strings.ReplaceAll(word, `\`, "/"))
	name = strings.TrimSuffix(strings.ToLower(name), ".exe")
	if short := strings.TrimRight(name, "0123456789.-"); short != "" {
		return short
	}
	return name
}

// dataAt reports whether word number k of a command is data for its program, so that an
// argument of a skill may be put there. alone says that the argument is the whole word.
func dataAt(words []shellcmd.Word, k int, alone bool, value string) bool {
	if k == 0 || !words[0].Fixed || words[0].Tilde {
		return false
	}
	name := program(words[0].Text)
	before := words[1:k]
	switch {
	case slices.Contains(wrappers, name):
		skip := 1
		if name == "timeout" && len(before) > 0 && before[0].Fixed && before[0].Text != "" && before[0].Text[0] >= '0' && before[0].Text[0] <= '9' {
			skip = 2
		}
		return k > skip && !option(words[skip]) && dataAt(words[skip:], k-skip, alone, value)
	case evaluators[name] != "":
		return !slices.ContainsFunc(before, func(w shellcmd.Word) bool { return !w.Fixed || strings.HasPrefix(w.Text, evaluators[name]) })
	case !slices.Contains(readers, name):
		return true
	case !slices.Contains(operands, name) || !alone || len(before) == 0 || option(before[0]):
		return false
	case !slices.Contains(optionReaders, name):
		return true
	}
	return !slices.ContainsFunc(before, option) && !strings.HasPrefix(value, "-") && !slices.Contains([]string{"(", ")", "!", ","}, value) ||
		name == "find" && named(before)
}

// named reports a word after a test of find that takes one: -name X.
func named(before []shellcmd.Word) bool {
	tests := []string{"-name", "-iname", "-path", "-ipath", "-type", "-mtime", "-size", "-maxdepth"}
	for _, w := range before {
		if !w.Fixed || option(w) && !slices.Contains(tests, w.Text) {
			return false
		}
	}
	return slices.Contains(tests, before[len(before)-1].Text)
}

// option reports a word that is an option, or may become one.
func option(w shellcmd.Word) bool {
	return !w.Fixed && w.Text == "" || strings.HasPrefix(w.Text, "-")
}
