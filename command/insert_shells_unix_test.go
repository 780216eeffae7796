//go:build unix

package command

import (
	"bytes"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/deftskills/deft/skill"
)

// executions is how many commands each real shell is given. The million of the promise
// takes minutes: go test ./command -run RealShells -executions 1000000
var executions = flag.Int("executions", 3000, "commands that each real shell is given")

// traced are commands with a value in them, and the words that the program stub has to
// receive, one line a call: V stands for the value.
var traced = []struct {
	text string
	want [][]string
}{
	{"stub $0", [][]string{{"V"}}},
	{`stub "$0"`, [][]string{{"V"}}},
	{"stub '$0'", [][]string{{"V"}}},
	{"stub x$0/y", [][]string{{"xV/y"}}},
	{`stub "x $0 y" z`, [][]string{{"x V y", "z"}}},
	{"stub 'x $0 y' z", [][]string{{"x V y", "z"}}},
	{`stub a"b$0"'c$0'd$0 e`, [][]string{{"abVcVdV", "e"}}},
	{`stub $0 "$0" $0`, [][]string{{"V", "V", "V"}}},
	{`v=$0; stub "$v" $0`, [][]string{{"V", "V"}}},
	{`for i in $0 "$0 b"; do stub "$i"; done`, [][]string{{"V"}, {"V b"}}},
	{"case $0 in *) stub $0;; esac", [][]string{{"V"}}},
	{"if stub $0; then stub b; fi", [][]string{{"V"}, {"b"}}},
	{"stub a && stub $0 || stub b", [][]string{{"a"}, {"V"}}},
	{"{ stub $0; }; (stub \"$0\")", [][]string{{"V"}, {"V"}}},
	{"! stub $0", [][]string{{"V"}}},
	{`stub --of=$0 -- "--of=$0"`, [][]string{{"--of=V", "--", "--of=V"}}},
	{`w=$(stub "$0"); stub b`, [][]string{{"b"}}},
}

// signs are what shells treat in a way of their own, and a few things that they do not.
// There is no slash: were a value ever read, it could name no file outside.
var signs = []string{
	"'", `"`, `\`, "`", "$", "(", ")", "{", "}", "[", "]", "<", ">", "|", "&", ";", "#", "!", "*", "?", "~", "=", "%", "^", ",", "-", "+", "@", ":",
	" ", "\t", "\n", "\\\n", "$(echo pwned)", "`echo pwned`", "${x}", "$0", "$1", "$@", "$$", "''", `""`, "\\'", "'\\''", "; echo pwned; ", "&& echo pwned", "%deft0Z", "%deft1Z",
	"a", "Z", "0", "é", "汉", "💡", "done", "fi", "esac", "EOF", "<<EOF", "{a,b}", "-n", "--",
}

func anyValue(r *rand.Rand) string {
	var b strings.Builder
	for range r.IntN(8) {
		b.WriteString(signs[r.IntN(len(signs))])
	}
	return b.String()
}

// trace is one command of a batch and what stub has to be told by it.
type trace struct {
	text, value, final string
	want               [][]string
}

// TestRealShellsSeeEachValueAsOneWord gives sh, bash and dash as many commands as asked
// for, many at once, and compares every word that a program receives.
func TestRealShellsSeeEachValueAsOneWord(t *testing.T) {
	t.Parallel()
	const batch = 1000
	for _, name := range []string{"sh", "bash", "dash"} {
		path, err := exec.LookPath(name)
		if err != nil {
			continue // sh is everywhere
		}
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			r := rand.New(rand.NewPCG(7, uint64(len(name))))
			ran := 0
			for ran < *executions && !t.Failed() {
				list := traces(t, r, min(batch, *executions-ran))
				told := runTraces(t, path, dir, list)
				for i, c := range list {
					if i >= len(told) || !slices.EqualFunc(told[i], c.want, slices.Equal) {
						got := "nothing"
						if i < len(told) {
							got = fmt.Sprintf("%q", told[i])
						}
						t.Fatalf("%s with %q: %s\ntold %s\nwant %q", c.text, c.value, c.final, got, c.want)
					}
				}
				ran += len(list)
			}
			left, err := os.ReadDir(dir)
			if err != nil || len(left) != 1 {
				t.Errorf("a value made files: %v %v", left, err)
			}
		})
	}
}

// traces makes n commands that are let through.
func traces(t *testing.T, r *rand.Rand, n int) []trace {
	t.Helper()
	var out []trace
	for len(out) < n {
		c, value := traced[r.IntN(len(traced))], anyValue(r)
		final, why := mark(c.text, skill.Deft, given(value)).shell()
		if why != "" {
			t.Fatalf("%s with %q is refused: %s", c.text, value, why)
		}
		if !readable(final) {
			continue
		}
		x := trace{text: c.text, value: value, final: final}
		for _, call := range c.want {
			var words []string
			for _, w := range call {
				words = append(words, strings.ReplaceAll(w, "V", value))
			}
			x.want = append(x.want, words)
		}
		out = append(out, x)
	}
	return out
}

// runTraces runs commands by one process of a shell and returns the calls of stub of each.
// No value holds the bytes that part them. There is no program on the path but what the
// shell brings itself.
func runTraces(t *testing.T, shell, dir string, list []trace) [][][]string {
	t.Helper()
	var script bytes.Buffer
	script.WriteString("stub() { for a in \"$@\"; do printf '%s\\000' \"$a\"; done; printf '\\001\\000'; }\n")
	for _, c := range list {
		fmt.Fprintf(&script, "%s\nprintf '\\002\\000'\n", c.final)
	}
	file := filepath.Join(dir, "script")
	if err := os.WriteFile(file, script.Bytes(), 0o600); err != nil {
		t.Fatal(err)
	}
	sh := exec.CommandContext(t.Context(), shell, file)
	sh.Dir, sh.Env = dir, []string{"PATH=" + filepath.Join(dir, "none"), "LC_ALL=C"}
	out, err := sh.Output()
	if err != nil {
		t.Logf("%s: %v", shell, err) // what it told until then is compared
	}
	told := [][][]string{{}}
	var words []string
	for _, w := range strings.Split(string(out), "\x00") {
		last := len(told) - 1
		switch w {
		case "\x01":
			told[last] = append(told[last], words)
			words = nil
		case "\x02":
			told, words = append(told, [][]string{}), nil
		default:
			words = append(words, w)
		}
	}
	return told[:len(told)-1]
}

// FuzzListMode holds that a command from words starts what the list admits, with each
// value inside its word.
func FuzzListMode(f *testing.F) {
	for _, v := range []string{"two words", "it's", "$(id)", "; id", "\n", "'", `"`, "--flag", "", "status", "*"} {
		f.Add("git $0", v)
		f.Add(`git log "$0" x$0y`, v)
		f.Add("git status; $0", v)
	}
	l := Prefixes("git log", "git status", "stub")
	f.Fuzz(func(t *testing.T, text, value string) {
		const plain = "plainWORD"
		if strings.Contains(text, plain) || strings.Contains(value, plain) {
			return
		}
		words, why := mark(text, skill.Deft, given(value)).words(l)
		other, otherWhy := mark(text, skill.Deft, given(plain)).words(l)
		if why != "" || otherWhy != "" {
			return
		}
		if !l.admits(words) {
			t.Fatalf("%q with %q starts %q", text, value, words)
		}
		for i := range other {
			other[i] = strings.ReplaceAll(other[i], plain, value)
		}
		if !slices.Equal(words, other) {
			t.Fatalf("%q with %q: %q, want %q", text, value, words, other)
		}
	})
}
