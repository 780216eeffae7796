package deft_test

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/deftskills/deft"
	"github.com/deftskills/deft/agent/model"
	"github.com/deftskills/deft/command/sandbox"
	"github.com/deftskills/deft/gate"
	"github.com/deftskills/deft/registry"
)

// bench is a session whose model is the test, with a sandbox as the machine has it.
type bench struct {
	t          *testing.T
	base, work string
	temp       string
	box        *sandbox.Box
	engine     *deft.Engine
	o          deft.Options
}

// ids tell the processes of one test from all others.
var ids atomic.Int64

// atEach runs a test at the level that the machine has, and at files.
func atEach(t *testing.T, files map[string]string, test func(t *testing.T, b *bench)) {
	for _, most := range []sandbox.Level{sandbox.Full, sandbox.Files} {
		t.Run(most.String(), func(t *testing.T) {
			t.Parallel()
			test(t, newBench(t, most, files))
		})
	}
}

func newBench(t *testing.T, most sandbox.Level, files map[string]string) *bench {
	t.Helper()
	base, err := os.MkdirTemp("/var/tmp", "deft-test-") // the folder for temporary files is a run's own
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(base) })
	b := &bench{t: t, base: base, work: filepath.Join(base, "work"), temp: filepath.Join(base, "temp")}
	write(t, base, files)
	for _, dir := range []string{b.work, b.temp, filepath.Join(base, "home")} {
		if err := os.MkdirAll(dir, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	real := sandbox.New(sandbox.Options{HelperPath: helper, TempRoot: b.temp})
	b.box = sandbox.New(sandbox.Options{HelperPath: helper, TempRoot: b.temp, Probe: func(ctx context.Context) sandbox.Findings {
		f := real.Probe(ctx)
		f.Level = min(f.Level, most)
		return f
	}})
	b.o = deft.Options{
		Workspace: b.work, Home: filepath.Join(base, "home"), Environ: []string{"PATH=" + os.Getenv("PATH"), "HOME=" + filepath.Join(base, "home")},
		NoBuiltin: true, Commands: deft.Commands{Box: b.box, TempRoot: b.temp},
	}
	return b
}

// begin starts a turn in which every question is answered with yes.
func (b *bench) begin(ctx context.Context) *deft.Turn {
	b.t.Helper()
	if b.engine == nil {
		b.engine = open(b.t, b.o)
	}
	s := newSession(b.t, b.engine, deft.SessionOptions{Auto: gate.AlwaysConfirm})
	turn, err := s.Begin(ctx, deft.Input{Text: "go", Origin: gate.Interactive, Principal: "user"})
	if err != nil {
		b.t.Fatal(err)
	}
	b.t.Cleanup(turn.End)
	return turn
}

// confined reports whether the machine confines a shell; where it does not, it makes sure
// that there is none.
func (b *bench) confined(turn *deft.Turn) bool {
	if b.box.Level(b.t.Context()) >= sandbox.Files {
		return true
	}
	for _, s := range turn.Tools() {
		if s.Runs {
			b.t.Errorf("%s is there, and nothing confines it", s.Name)
		}
	}
	return false
}

func call(t *testing.T, turn *deft.Turn, tool string, args map[string]any) model.Result {
	t.Helper()
	in, err := json.Marshal(args)
	if err != nil {
		t.Fatal(err)
	}
	return turn.Call(model.Call{ID: "1", Name: tool, Input: in})[0]
}

// running returns the processes whose command line holds text.
func running(text string) []string {
	var out []string
	lines, _ := filepath.Glob("/proc/[0-9]*/cmdline")
	for _, l := range lines {
		if cmd, err := os.ReadFile(l); err == nil && strings.Contains(string(cmd), text) && !strings.Contains(string(cmd), "-test.") {
			out = append(out, strings.ReplaceAll(string(cmd), "\x00", " "))
		}
	}
	return out
}

// Whatever a command does, it ends with its call, in its bounds, and what it started too;
// what would act later is as it was.
func TestACommandEndsWithItsCall(t *testing.T) {
	t.Parallel()
	const hook, skillText = "#!/bin/sh\necho mine\n", "---\nname: own\ndescription: Own.\n---\nOwn.\n"
	files := map[string]string{
		"work/.git/hooks/pre-commit": hook, "work/.git/config": "[core]\n", "work/.deft/skills/own/SKILL.md": skillText, "work/AGENTS.md": "Be kind.\n",
		"home/.ssh/id": "private key", "work/notes.txt": "notes\n",
	}
	atEach(t, files, func(t *testing.T, b *bench) { endsWithItsCall(t, b, hook, skillText) })
}

func endsWithItsCall(t *testing.T, b *bench, hook, skillText string) {
	turn := b.begin(t.Context())
	if !b.confined(turn) {
		return
	}
	nap := fmt.Sprintf("9%d.%d", os.Getpid(), ids.Add(1)) // seconds that only this test sleeps
	for name, c := range map[string]struct {
		command string
		seconds int
		want    string
	}{
		"endless output":         {"yes", 60, "it printed too much"},
		"endless errors":         {"yes >&2", 60, "it printed too much"},
		"ignores signals":        {"trap '' TERM INT HUP; while :; do sleep 0.05; done", 1, "it took longer than"},
		"waits for input":        {"read -r x || echo none", 60, "none"},
		"leaves processes":       {"nohup sleep " + nap + " >/dev/null 2>&1 & setsid sleep " + nap + " & (sleep " + nap + " &) ; echo left", 60, "left"},
		"many processes":         {"for i in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20; do sleep " + nap + " & done; wait", 1, "it took longer than"},
		"holds its output":       {"sleep " + nap + " & disown; echo gone", 60, "gone"},
		"a hook for later":       {"echo evil > .git/hooks/pre-commit", 60, "exited 1"},
		"another hook":           {"echo evil > .git/hooks/post-checkout", 60, "exited 1"},
		"a setting for later":    {"echo '[core] fsmonitor=evil' >> .git/config", 60, "exited 1"},
		"a skill for later":      {"echo evil >> .deft/skills/own/SKILL.md", 60, "exited 1"},
		"words for later":        {"echo evil >> AGENTS.md", 60, "exited 1"},
		"another place for .git": {"mv .git old", 60, "exited 1"},
		"a key":                  {"cat " + filepath.Join(b.base, "home", ".ssh", "id"), 60, "exited 1"},
		"a crash":                {"kill -SEGV $$", 60, "ended by signal SEGV"},
		"no shell":               {"if then", 60, "exited 2"},
	} {
		res := call(t, turn, "bash", map[string]any{"command": c.command, "timeout_s": c.seconds})
		if !strings.Contains(res.Text, c.want) || strings.Contains(res.Text, "private key") {
			t.Errorf("%s: %.300s", name, res.Text)
		}
	}
	for file, want := range map[string]string{".git/hooks/pre-commit": hook, ".git/config": "[core]\n", ".deft/skills/own/SKILL.md": skillText, "AGENTS.md": "Be kind.\n"} {
		if got, err := os.ReadFile(filepath.Join(b.work, filepath.FromSlash(file))); err != nil || string(got) != want {
			t.Errorf("%s: %q %v", file, got, err)
		}
	}
	if _, err := os.Stat(filepath.Join(b.work, ".git/hooks/post-checkout")); err == nil {
		t.Error("a hook was made")
	}
	if left := running(nap); len(left) > 0 {
		t.Errorf("still running: %q", left)
	}
	if left, err := filepath.Glob(filepath.Join(b.temp, "deft-run-*")); err != nil || len(left) > 0 {
		t.Errorf("left over: %v %v", left, err)
	}
}

// A turn that is cancelled ends its command, and nothing happens after.
func TestACancelledTurnEndsItsCommand(t *testing.T) {
	t.Parallel()
	atEach(t, map[string]string{"work/d/x": ""}, cancelled)
}

func cancelled(t *testing.T, b *bench) {
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	turn := b.begin(ctx)
	if !b.confined(turn) {
		return
	}
	nap := fmt.Sprintf("8%d.%d", os.Getpid(), ids.Add(1))
	done := make(chan model.Result, 1)
	go func() {
		in, _ := json.Marshal(map[string]any{"command": "touch d/begun; trap '' TERM; sleep " + nap + "; touch d/after"})
		done <- turn.Call(model.Call{ID: "1", Name: "bash", Input: in})[0]
	}()
	begun := filepath.Join(b.work, "d", "begun")
	for limit := time.Now().Add(time.Minute); ; time.Sleep(5 * time.Millisecond) {
		if _, err := os.Stat(begun); err == nil {
			break
		}
		if time.Now().After(limit) {
			t.Fatal("it never began")
		}
	}
	cancel()
	res := <-done
	if !res.IsError || !strings.Contains(res.Text, "cancelled") {
		t.Errorf("%+v", res)
	}
	if left := running(nap); len(left) > 0 {
		t.Errorf("still running: %q", left)
	}
	if _, err := os.Stat(filepath.Join(b.work, "d", "after")); err == nil {
		t.Error("it went on")
	}
}

// A script runs as it was granted: a change of any file of its skill stops it, also while
// the skill is active.
func TestAChangedScriptDoesNotRun(t *testing.T) {
	t.Parallel()
	const text = "---\nname: tool\ndescription: Runs.\n---\nRun scripts/x.sh.\n"
	b := newBench(t, sandbox.Full, map[string]string{"work/.deft/skills/tool/SKILL.md": text, "work/.deft/skills/tool/scripts/x.sh": "cat \"$(dirname \"$0\")/data.txt\"; echo $*\n", "work/.deft/skills/tool/scripts/data.txt": "data\n"})
	b.o.Project = registry.ProjectAlways
	first := open(t, b.o)
	rec, err := first.Snapshot().Lookup("tool")
	if err != nil {
		t.Fatal(err)
	}
	code, err := first.Code(t.Context(), rec)
	if err != nil {
		t.Fatal(err)
	}
	b.o.State = registry.Decisions{Grants: []registry.Grant{{Name: "tool", Source: rec.Source.ID, Tree: code.Tree}}}
	turn := b.begin(t.Context())
	if !b.confined(turn) {
		return
	}
	if res := call(t, turn, "skill_run", map[string]any{"name": "tool", "script": "scripts/x.sh"}); !res.IsError {
		t.Errorf("before it is loaded: %+v", res)
	}
	call(t, turn, "skill", map[string]any{"name": "tool"})
	if res := call(t, turn, "skill_run", map[string]any{"name": "tool", "script": "scripts/x.sh", "args": []string{"a b", "$(id)"}}); res.IsError || !strings.Contains(res.Text, "\ndata\na b $(id)") {
		t.Errorf("as granted: %+v", res)
	}
	write(t, b.work, map[string]string{".deft/skills/tool/scripts/data.txt": "other\n"})
	if res := call(t, turn, "skill_run", map[string]any{"name": "tool", "script": "scripts/x.sh"}); !res.IsError || !strings.Contains(res.Text, "not the ones that were approved") {
		t.Errorf("changed: %+v", res)
	}
	if left, err := filepath.Glob(filepath.Join(b.temp, "deft-*")); err != nil || len(left) > 0 {
		t.Errorf("left over: %v %v", left, err)
	}
}
