//go:build unix

package command

import (
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/deftskills/deft/command/sandbox"
	"github.com/deftskills/deft/gate"
)

// allowedLines is how many lines that the rules allow are run.
const allowedLines = 500

// coveredBy are the rules of the test and what each lets start: the first words of a
// program with its arguments.
var coveredBy = map[string][]string{
	"allow Bash(git:*)": {"git"}, "allow Bash(touch:*)": {"touch"}, "allow Bash(npm run:*)": {"npm", "run"}, "allow Bash(go test:*)": {"go", "test"},
	"allow Bash(deploy --dry-run*)": {"deploy"},
}

// onlyReaders are the programs whose use can be proved to only read.
var onlyReaders = []string{"ls", "cat", "head", "wc", "grep", "find", "sort", "sed", "cut", "tr", "uniq", "stat", "date", "basename", "dirname", "rg", "jq", "diff"}

// passOn run what they are given, which is what counts.
var passOn = []string{"time", "timeout", "nice", "nohup", "stdbuf", "xargs"}

// words are commands and pieces of them: covered ones, proved ones, others, and what hides
// a command from whoever reads the line otherwise than the shell does.
var words = []string{
	"git status", "git push origin x", "git log --oneline", "git commit -m \"it's done\"", "git \"push\"", "gi\\t pull", "'git' log", "git log -- $x", "git log -- \"$x\"", "git log *", "git -c core.pager=evil log",
	"git log --output=x", "git grep -Oevil x", "git bisect run evil", "git log {a,b}", "git log \"$(evil)\"", "git log `evil`", "git log $(git status)", "git log \"${x:-$(evil)}\"", "git log ${x:=y}", "git log -- <(evil)",
	"touch a", "touch a b", "touch $x", "touch \"$(git status)\"", "touch -- *", "touchy", "touch\\\nx", "touch a # evil", "touch a \\; evil", "touch 'a; evil'", "touch \"a\" & evil", "touch $'a\\nevil'", "touch a\tb",
	"npm run build", "npm install", "npm run build -- --x", "go test ./...", "go test -exec evil", "go run x", "deploy --dry-run", "deploy --dry-run=evil", "deploy", "deploy --dry-runs",
	"ls", "ls -la", "cat a", "head -n 3 a", "grep -r x .", "find . -name x", "find . -exec evil {} +", "find . -delete", "sort a", "sort -o a a", "sed -n 1p a", "sed 's/a/b/e' a", "rg x", "rg --pre evil x", "jq . a", "wc -l < a", "tr a b",
	"evil", "rm x", "./evil", "/bin/true", "$evil", "ev\"il\"", "e\\vil", "eval git status", "exec git status", "command git status", "sh -c evil", "bash evil", "source a", ". a", "env git status", "sudo git status",
	"timeout 5 git status", "timeout 5 evil", "timeout -k 1 5 git push", "nice git status", "nice -n 5 evil", "nohup touch a", "nohup evil", "time git status", "time evil", "stdbuf -o0 git status", "xargs touch", "xargs evil", "xargs -I{} evil {}",
	"LANG=C git status", "PATH=. git status", "LC_ALL=C touch a", "TZ=UTC date", "X=$(evil) git status", "x=1", "GIT_PAGER=evil git log", "git status > /dev/null", "git status 2>&1", "git status > a", "git status >> out/a", "git status > out/$x",
	"cat <<E\n$(evil)\nE", "cat <<'E'\n$(evil)\nE", "cat <<E\n$(git status)\nE", "git status <<< \"$(evil)\"", "[[ -n $(evil) ]]", "[[ -n x ]]", "[ -n x ]", "test -n \"$(git status)\"", "echo $((1+1))", "echo $((x[$(evil)]))", "echo \"${x@P}\"", "echo ${!x}",
	"git() { evil; }", "alias git=evil", "trap evil EXIT", "coproc evil", "export X=1", "cd out", "printf -v PATH x", "printf x", "true", "echo *", "enable -f x y", "hash -p /x git", "set -- x", "declare x=1", "let x=1", ": ${x:=$(evil)}", ":",
}

// joints are ways to put two commands into one line.
var joints = []string{
	"A; B", "A && B", "A || B", "A | B", "A |& B", "A\nB", "(A; B)", "{ A; B; }", "! A; B", "if A; then B; fi", "while A; do B; break; done", "for f in a b; do A; B; done", "case x in x) A;; *) B;; esac",
	"A & B", "git log \"$(A)\"; B", "touch `A`; B", "cat <(A) <(B)", "git log -- \"${x:-$(A)}\"; B", "until A; do B; break; done", "A; touch $(B)", "select f in a; do A; break; done; B", "time A; B",
}

func differentialLine(r *rand.Rand) string {
	line := words[r.IntN(len(words))]
	for range r.IntN(3) {
		joint := joints[r.IntN(len(joints))]
		other := words[r.IntN(len(words))]
		if strings.Contains(joint, "`") && strings.Contains(line+other, "`") || strings.Contains(line+other, "<<E") || strings.Contains(line+other, "<<'E") {
			continue // these do not nest without escapes
		}
		line = strings.NewReplacer("A", line, "B", other).Replace(joint)
	}
	return line
}

// differential is a folder in which nothing but stubs can be started by name: each notes
// its own name and arguments.
type differential struct{ dir string }

const noteScript = "#!/bin/sh\nr=${0##*/}\nfor a; do r=\"$r\x1f$a\"; done\nprintf %s \"$r\x1e\" >>\"$TRACE\"\necho x\n"

func newDifferential(t *testing.T, dir string) differential {
	t.Helper()
	d := differential{dir}
	for _, sub := range []string{"bin", "lines", "traces", "run/out"} {
		if err := os.MkdirAll(filepath.Join(dir, sub), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	names := append([]string{
		"git", "gi", "touch", "touchy", "npm", "go", "deploy", "evil", "rm", "sh", "bash", "dash", "env", "sudo", "python3", "command", "chmod", "curl", "pull",
	}, onlyReaders...)
	for _, name := range names {
		d.write(t, "bin/"+name, noteScript, 0o755)
	}
	for _, name := range passOn {
		if real, err := exec.LookPath(name); err == nil {
			if err := os.Symlink(real, filepath.Join(dir, "bin", name)); err != nil {
				t.Fatal(err)
			}
		}
	}
	for _, name := range []string{"evil", "a"} {
		d.write(t, "run/"+name, "evil\n", 0o755)
	}
	return d
}

func (d differential) write(t *testing.T, name, text string, mode os.FileMode) {
	t.Helper()
	if err := os.WriteFile(filepath.Join(d.dir, filepath.FromSlash(name)), []byte(text), mode); err != nil {
		t.Fatal(err)
	}
}

// script runs every line with the stubs on its PATH and a file of its own for the trace.
func (d differential) script() string {
	return fmt.Sprintf(`cd %[1]q/run || exit 9
command_not_found_handle() { printf '%%s\036' "$1" >>"$TRACE"; return 127; }
export HOME=/nowhere PATH=%[1]q/bin TRACE
for f in %[1]q/lines/*; do
  TRACE=%[1]q/traces/${f##*/}
  ( . "$f" ) </dev/null >/dev/null 2>&1
done
exit 0`, d.dir)
}

// started are the commands that a line started.
func (d differential) started(t *testing.T, i int) [][]string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(d.dir, "traces", fmt.Sprintf("%04d", i)))
	if err != nil && !os.IsNotExist(err) {
		t.Fatal(err)
	}
	var out [][]string
	for record := range strings.SplitSeq(string(text), "\x1e") {
		if record != "" {
			out = append(out, strings.Split(record, "\x1f"))
		}
	}
	return out
}

// TestAllowedLinesStartNothingThatNoRuleCovers runs lines that the rules allow, in the
// sandbox where there is one: what they start is named by a rule, or proved to only read.
func TestAllowedLinesStartNothingThatNoRuleCovers(t *testing.T) {
	t.Parallel()
	bash, err := exec.LookPath("bash")
	if err != nil {
		t.Log("there is no bash here: nothing is run")
		return
	}
	p := newPlace(t)
	p.least = sandbox.None
	runner, _ := p.confined(t)
	d := newDifferential(t, p.work)
	var rules []gate.Rule
	for text := range coveredBy {
		rules = append(rules, gate.ParseRule(text))
	}
	rules = append(rules, gate.ParseRule("allow Write(out/**)"))
	env := gate.ShellEnv{Dir: filepath.Join(d.dir, "run"), Home: "/nowhere", Proved: true, Readable: func(string) bool { return true }}
	r := rand.New(rand.NewPCG(5, 5))
	var lines []string
	tried := 0
	for seen := map[string]bool{}; len(lines) < allowedLines; tried++ {
		line := differentialLine(r)
		if seen[line] || gate.EvalBash(rules, line, env).Verdict != gate.Allow {
			continue
		}
		seen[line] = true
		d.write(t, fmt.Sprintf("lines/%04d", len(lines)), line+"\n", 0o644)
		lines = append(lines, line)
	}
	res, err := runner.Run(t.Context(), Request{Kind: KindTool, Argv: []string{bash, "-c", d.script()}, Dir: d.dir, Timeout: 10 * time.Minute})
	if err != nil || res.Exit != 0 {
		t.Fatalf("the lines were not run: %+v, %v", res, err)
	}
	count := 0
	for i, line := range lines {
		for _, argv := range d.started(t, i) {
			count++
			named := slices.Contains(onlyReaders, argv[0]) || slices.Contains(passOn, argv[0])
			for _, words := range coveredBy {
				named = named || len(argv) >= len(words) && slices.Equal(argv[:len(words)], words)
			}
			if !named {
				t.Errorf("%q started %q", line, argv)
			}
		}
	}
	t.Logf("%d lines tried, %d allowed and run at level %s, %d programs started", tried, len(lines), res.Level, count)
	if count < len(lines) {
		t.Errorf("only %d programs were started: the trace is not whole", count)
	}
}
