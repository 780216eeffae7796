//go:build unix

package blade

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/deftskills/deft"
	"github.com/deftskills/deft/command"
	"github.com/deftskills/deft/command/sandbox"
	"github.com/deftskills/deft/gate"
	"github.com/deftskills/deft/internal/suitetest"
)

// shop runs the commands of a body in a workspace, at the level that every machine has.
type shop struct {
	t       *testing.T
	work    string
	o       command.ExpandOptions
	asked   []command.Call
	told    []command.Outcome
	options command.Options
}

// shopOf is a shop whose programs stand in for git, whatever the machine has.
func shopOf(t *testing.T) *shop {
	t.Helper()
	base, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	s := &shop{t: t, work: filepath.Join(base, "project")}
	put(t, filepath.Join(s.work, "README.md"), "x")
	put(t, filepath.Join(base, "bin/git"), "#!/bin/sh\necho \"git ran $*\"\n")
	if err := os.Chmod(filepath.Join(base, "bin/git"), 0o755); err != nil {
		t.Fatal(err)
	}
	none := sandbox.None
	s.options = command.Options{
		Box: sandbox.New(sandbox.Options{TempRoot: t.TempDir()}), Roots: []string{s.work}, Home: base, Least: &none,
		Host: []string{"PATH=" + filepath.Join(base, "bin") + ":/usr/bin:/bin", "HOME=" + base, "SECRET=planted"},
	}
	s.o = command.ExpandOptions{
		Dialect: dialect, Dir: s.work, Skill: command.SkillRef{Name: "x"}, Gate: s,
		// A busy machine is no failure of a command: where time is not what is tested there is enough.
		Rule:  command.Rule{On: true, Program: "sh", Timeout: time.Minute},
		Audit: func(_ context.Context, o command.Outcome) error { s.told = append(s.told, o); return nil },
	}
	return s
}

// Decide permits all, and notes what it was asked.
func (s *shop) Decide(_ context.Context, calls []command.Call) ([]command.Decision, error) {
	s.asked = append(s.asked, calls...)
	out := make([]command.Decision, len(calls))
	for i := range out {
		out[i].Verdict = command.Permit
	}
	return out, nil
}

func (s *shop) expand(ctx context.Context, body string) (string, error) {
	s.t.Helper()
	if s.o.Runs == nil {
		r, err := command.New(s.options)
		if err != nil {
			s.t.Fatal(err)
		}
		s.o.Runs = r
	}
	e, err := command.Expand(ctx, body, s.o)
	if err != nil {
		return "", err
	}
	return e.Text(), nil
}

// gives wants what becomes of a body.
func (s *shop) gives(body, text string) {
	s.t.Helper()
	got, err := s.expand(s.t.Context(), body)
	if err != nil {
		s.t.Fatal(err)
	}
	want(s.t, body, got, text)
}

// only limits the commands to these prefixes.
func (s *shop) only(prefixes ...string) *shop {
	s.o.Rule.List = command.Prefixes(prefixes...)
	return s
}

func TestBlade_G01_replace(t *testing.T) {
	t.Parallel()
	shopOf(t).gives("Result: !`echo hello`", "Result: hello")
}

func TestBlade_G02_cwd(t *testing.T) {
	t.Parallel()
	s := shopOf(t)
	s.o.Skill.Dir = s.options.Home
	s.gives("!`pwd`", s.work)
}

func TestBlade_G03_no_cwd(t *testing.T) {
	t.Parallel()
	s := shopOf(t)
	s.o.Dir = ""
	s.gives("Run !`echo x`.", "Run !`echo x`.")
	want(t, "asked", len(s.asked), 0)
}

func TestBlade_G04_none(t *testing.T) {
	t.Parallel()
	for _, text := range []string{"", "No command here.\n", "!`` and `x`"} {
		shopOf(t).gives(text, text)
	}
}

func TestBlade_G05_order(t *testing.T) {
	t.Parallel()
	shopOf(t).gives("a !`echo 1` b !`echo 2` c", "a 1 b 2 c")
}

func TestBlade_G06_exit(t *testing.T) {
	t.Parallel()
	s := shopOf(t)
	s.gives("a !`exit 1` b !`echo 2`", "a (unavailable) b 2")
	want(t, "told", []any{s.told[0].Reason, s.told[0].Exit, s.told[1].Reason}, []any{command.ReasonExit, 1, ""})
}

func TestBlade_G07_not_found(t *testing.T) {
	t.Parallel()
	s := shopOf(t)
	s.gives("!`no-such-program-here x`", "(unavailable)")
	want(t, "told", s.told[0].Reason != "", true)
	s = shopOf(t).only("no-such-program-here")
	s.gives("!`no-such-program-here x`", "(unavailable)")
	want(t, "told", s.told[0].Reason, command.ReasonMissing)
}

func TestBlade_G08_logged(t *testing.T) {
	t.Parallel()
	s := shopOf(t)
	s.gives("!`echo a`", "a")
	want(t, "row", []any{len(s.told), s.told[0].Command, s.asked[0].Skill.Name}, []any{1, "echo a", "x"})
}

func TestBlade_G09_prefix(t *testing.T) {
	t.Parallel()
	shopOf(t).only("git ").gives("!`git log` !`rm -rf /tmp/test`", "git ran log (unavailable)")
}

func TestBlade_G10_meta(t *testing.T) {
	t.Parallel()
	s := shopOf(t).only("git ")
	for _, c := range []string{"git log; echo I", "git log | cat f", "git log & echo I", "git log $HOME", "git log $(echo I)", "(git log)", "git log {a,b", "{ git log; }"} {
		s.gives("!`"+c+"`", "(unavailable)")
	}
	for _, told := range s.told {
		want(t, told.Command, told.Ran, false)
	}
}

func TestBlade_G11_list_all(t *testing.T) {
	t.Parallel()
	s := shopOf(t)
	s.o.Rule.List = command.List{All: true}
	s.gives("!`echo a; echo b`", "a\nb")
}

func TestBlade_G12_exact_prefix(t *testing.T) {
	t.Parallel()
	shopOf(t).only("git status ").gives("!`git status`", "git ran status")
}

func TestBlade_G13_fence(t *testing.T) {
	t.Parallel()
	for _, fenced := range []string{"```\n!`echo x`\n```\n", "  ```sh\n  !`echo x`\n  ```\n", "~~~\n!`echo x`\n~~~\n"} {
		shopOf(t).gives(fenced+"!`echo y`", fenced+"y")
	}
}

func TestBlade_G14_mid_word(t *testing.T) {
	t.Parallel()
	shopOf(t).gives("x!`echo y`", "xy") // odd
}

func TestBlade_G15_multi_line(t *testing.T) {
	t.Parallel()
	shopOf(t).gives("!`echo a\necho b`", "a\nb") // odd
}

func TestBlade_G16_parallel(t *testing.T) {
	t.Parallel()
	// Each waits until all three have begun.
	wait := func(name string) string {
		return "!`touch " + name + "; until test -e a && test -e b && test -e c; do sleep 0.01; done; echo " + name + "`"
	}
	shopOf(t).gives(wait("a")+wait("b")+wait("c"), "abc")
}

// family is a command with a child that notes both process ids and waits for long.
const family = "!`sleep 600 & echo $! > child; echo $$ > own; mv own pid; wait`"

// gone waits until the processes that a family noted are no more.
func gone(t *testing.T, work string) {
	t.Helper()
	for _, name := range []string{"pid", "child"} {
		raw, err := os.ReadFile(filepath.Join(work, name))
		if err != nil {
			t.Logf("%s: it ended before it noted itself", name)
			continue
		}
		pid, err := strconv.Atoi(strings.TrimSpace(string(raw)))
		if err != nil {
			t.Fatal(err)
		}
		within(t, name+" is gone", func() bool { return errors.Is(syscall.Kill(pid, 0), syscall.ESRCH) })
	}
}

// within waits for something that happens, for as long as a busy machine may need.
func within(t *testing.T, what string, ok func() bool) {
	t.Helper()
	for end := time.Now().Add(2 * time.Minute); !ok(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("%s: not in two minutes", what)
		}
	}
}

func TestBlade_G17_timeout(t *testing.T) {
	t.Parallel()
	s, n := shopOf(t), &noted{}
	s.o.Rule.Timeout, s.o.Runs = 0, n
	s.gives("!`sleep 60`", "")
	want(t, "bound", n.asked[0].Timeout, 10*time.Second)

	s = shopOf(t)
	s.o.Rule.Timeout = 2 * time.Second
	s.gives(family, "(unavailable)")
	want(t, "told", s.told[0].Reason, command.ReasonTimeout)
	gone(t, s.work)
}

func TestBlade_G18_cap(t *testing.T) {
	t.Parallel()
	s := shopOf(t)
	text, err := s.expand(t.Context(), "!`head -c 614400 /dev/zero | tr '\\0' x`")
	if err != nil {
		t.Fatal(err)
	}
	want(t, "kept, told", []any{strings.Count(text, "x"), s.told[0].Cut, s.told[0].Reason}, []any{512 << 10, true, ""})
}

func TestBlade_G19_trimmed(t *testing.T) {
	t.Parallel()
	shopOf(t).gives("[!`printf '\\n\\n a \\n\\n'`]", "[a]")
}

func TestBlade_G20_stderr(t *testing.T) {
	t.Parallel()
	s := shopOf(t)
	s.gives("!`echo out; echo err >&2`", "out")
	want(t, "told", strings.TrimSpace(s.told[0].Stderr), "err")
}

func TestBlade_G21_once(t *testing.T) {
	t.Parallel()
	s := shopOf(t)
	put(t, filepath.Join(s.work, "text"), "!`echo x`")
	s.gives("!`cat text`", "!`echo x`")
	want(t, "commands", len(s.asked), 1)
}

func TestBlade_G22_deny_source(t *testing.T) {
	t.Parallel()
	s := shopOf(t)
	s.o.Rule = ruled(t, "shell: {enabled: true, allowlist: all}", command.Deny)
	s.gives("!`echo x`", "!`echo x`")
	want(t, "asked", len(s.asked), 0)
}

func TestBlade_G23_abort_running(t *testing.T) {
	t.Parallel()
	s := shopOf(t)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	done := make(chan error, 1)
	go func() {
		_, err := s.expand(ctx, "!`echo $$ > own; cp own pid; mv own child; sleep 600 && echo yes > m`")
		done <- err
	}()
	within(t, "it runs", func() bool { _, err := os.Stat(filepath.Join(s.work, "child")); return err == nil })
	cancel()
	want(t, "error", <-done, context.Canceled)
	gone(t, s.work)
	_, err := os.Stat(filepath.Join(s.work, "m"))
	want(t, "m is there", err == nil, false)
}

func TestBlade_G24_abort_before(t *testing.T) {
	t.Parallel()
	s, n := shopOf(t), &noted{}
	s.o.Runs = n
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err := s.expand(ctx, "!`echo x`")
	want(t, "started, error", []any{len(n.asked), err}, []any{0, context.Canceled})
	want(t, "text", s.told[0].Text, "(unavailable: cancelled)")
}

func TestBlade_G25_inherit_host(t *testing.T) {
	t.Parallel()
	d, _ := command.ParseShell(nil, dialect)
	listed := command.Policy{Mode: command.Allow, List: command.Prefixes("git ")}
	for trusted, texts := range map[bool][2]string{true: {"git ran log", "(unavailable)"}, false: {"!`git log`", "!`echo x`"}} {
		s := shopOf(t)
		s.o.Rule = command.Effective(listed, command.Policy{Mode: command.Inherit, Trusted: trusted}, d)
		s.gives("!`git log` !`echo x`", texts[0]+" "+texts[1])
	}
	s := shopOf(t)
	s.o.Rule = command.Effective(command.Policy{Mode: command.Allow}, command.Policy{Mode: command.Inherit, Trusted: true}, d)
	s.gives("!`echo x`", "x")
}

func TestBlade_G26_after_full_width_colon(t *testing.T) {
	t.Parallel()
	shopOf(t).gives("运行测试：!`echo ok`", "运行测试：ok") // odd
}

// Not reproduced: with nothing declared everything ran, and a skill's own "all" counted.
func TestBlade_Z06_inherit_is_all(t *testing.T) {
	t.Parallel()
	open := command.Policy{Mode: command.Allow}
	for trust, on := range map[string]bool{"trusted": true, "workspace": false, "untrusted": false, "remote": false} {
		for _, line := range []string{"license: MIT", "shell: all"} {
			d, _ := command.ParseShell(field(t, "shell", line), dialect)
			want(t, trust+", "+line, command.Effective(open, command.SourcePolicy(command.Origin{Kind: "project", Trust: trust}), d).On, on)
		}
	}
	d, _ := command.ParseShell("all", dialect)
	r := command.Effective(command.Policy{Mode: command.Allow, List: command.Prefixes("git ")}, command.Policy{Mode: command.Allow}, d)
	want(t, "the host's list stays", r.List.Prefixes, []string{"git "})
}

// Not reproduced: commands saw the whole environment of the process.
func TestBlade_Z07_full_environment(t *testing.T) {
	t.Parallel()
	text, err := shopOf(t).expand(t.Context(), "!`env`")
	if err != nil {
		t.Fatal(err)
	}
	want(t, "secret, home", []bool{strings.Contains(text, "planted"), strings.Contains(text, "HOME=")}, []bool{false, true})
}

// Not reproduced: only the direct child was stopped. The command leaves its child behind.
func TestBlade_Z08_only_child_killed(t *testing.T) {
	t.Parallel()
	s := shopOf(t)
	s.o.Rule.Timeout = 2 * time.Second
	s.gives("!`(sleep 600 & echo $! > child; cp child pid); sleep 600`", "(unavailable)")
	gone(t, s.work)
}

// Not reproduced: a prefix was text, so that it passed for another word, and line ends and
// redirections passed.
func TestBlade_Z09_list_prefix_text(t *testing.T) {
	t.Parallel()
	s := shopOf(t).only("git status")
	for _, c := range []string{"git statusx", "git status\necho I", "git status > f", "git status < README.md"} {
		s.gives("!`"+c+"`", "(unavailable)")
	}
	s.gives("!`git status --short`", "git ran status --short")
}

// Not reproduced: the text "true" became a prefix.
func TestBlade_Z10_truthy_text_prefix(t *testing.T) {
	t.Parallel()
	r := ruled(t, `shell: "true"`, command.Allow)
	want(t, "on, limited", []bool{r.On, r.List.Limited}, []bool{true, false})
}

// Not reproduced: a fence without an end was none.
func TestBlade_Z13_unclosed_fence(t *testing.T) {
	t.Parallel()
	shopOf(t).gives("!`echo a`\n```\n!`echo b`\n", "a\n```\n!`echo b`\n")
}

// The whole way: the tool loads a skill that a person trusts, its commands are judged and
// run, and then its arguments are put in. What a command printed is not read again.
func TestCommandsRunWhenTheToolLoadsASkill(t *testing.T) {
	t.Parallel()
	s := shopOf(t)
	put(t, filepath.Join(s.options.Home, "own/x/SKILL.md"), "---\nname: x\ndescription: d\n---\nOn {{args}}: !`touch made && echo one` !`echo {{args}}` !`exit 3`\n")
	e := suitetest.Engine(t, deft.Options{
		Workspace: s.work, Home: s.options.Home, Environ: s.options.Host, Dialect: dialect, NoBuiltin: true, NoFiles: true,
		Sources:  []string{filepath.Join(s.options.Home, "own")},
		Commands: deft.Commands{Box: s.options.Box, Least: s.options.Least},
	})
	for auto, body := range map[gate.Tier]string{
		gate.AlwaysConfirm: "On !`echo no`: one {{args}} (unavailable)", gate.ReadOnly: "On !`echo no`: (unavailable) {{args}} (unavailable)",
	} {
		session, err := e.NewSession(t.Context(), deft.SessionOptions{Auto: auto})
		if err != nil {
			t.Fatal(err)
		}
		turn, err := session.Begin(t.Context(), deft.Input{Text: "go", Origin: gate.Interactive, Principal: "user"})
		if err != nil {
			t.Fatal(err)
		}
		r := called(turn, loader(), "{\"skill\":\"x\",\"args\":\"!`echo no`\"}")
		if r.IsError || !strings.Contains(r.Text, "\n\n---\n\n"+body+"\n\n---\n\n") {
			t.Errorf("%s: %s", auto, r.Text)
		}
		made := os.Remove(filepath.Join(s.work, "made")) == nil
		want(t, auto.String()+" ran what changes something", made, auto == gate.AlwaysConfirm)
		turn.End()
		if err := session.Close(); err != nil {
			t.Error(err)
		}
	}
}
