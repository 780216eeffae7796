//go:build unix

package command

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/deftskills/deft/command/sandbox"
	"github.com/deftskills/deft/skill"
)

func TestMain(m *testing.M) {
	sandbox.Helper(os.Args)
	os.Exit(m.Run())
}

// place is a workspace with a skill beside it.
type place struct {
	home, work, skill string
	started           atomic.Int64
	least             sandbox.Level
}

func newPlace(t *testing.T) *place {
	t.Helper()
	base := t.TempDir()
	p := &place{home: filepath.Join(base, "home"), work: filepath.Join(base, "project"), skill: filepath.Join(base, "skill")}
	for _, dir := range []string{p.home, p.work, filepath.Join(p.skill, "scripts")} {
		if err := os.MkdirAll(dir, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	return p
}

func (p *place) write(t *testing.T, name, text string, mode os.FileMode) {
	t.Helper()
	if err := os.WriteFile(filepath.Join(p.skill, name), []byte(text), mode); err != nil {
		t.Fatal(err)
	}
}

// runner runs at the level none, which every machine has; change may ask for more.
func (p *place) runner(t *testing.T, change func(*Options, *sandbox.Options)) *Runner {
	t.Helper()
	box := sandbox.Options{TempRoot: t.TempDir(), Start: func(c *exec.Cmd) error { p.started.Add(1); return c.Start() }}
	o := Options{
		Roots: []string{p.work}, Home: p.home, Host: []string{"PATH=" + os.Getenv("PATH"), "HOME=" + p.home}, Least: &p.least, TempRoot: t.TempDir(),
	}
	if change != nil {
		change(&o, &box)
	}
	o.Box = sandbox.New(box)
	r, err := New(o)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func (p *place) ref() SkillRef { return SkillRef{Name: "s", Dir: p.skill} }

func TestARunIsToldOnlyWhatItNeeds(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	r := p.runner(t, func(o *Options, _ *sandbox.Options) {
		for i := range 50 {
			o.Host = append(o.Host, fmt.Sprintf("SECRET_%d=planted", i))
		}
		o.Host = append(o.Host, "ENV=planted", "BASH_ENV=planted", "MORE=passed", "LC_ALL=C")
		o.PassEnv, o.Session = []string{"MORE"}, "id"
	})
	res, err := r.Run(t.Context(), Request{Kind: KindInline, Script: "env", Dir: p.work, Skill: p.ref(), Env: []string{"LAYER=x", "BASH_ENV=planted", "LD_PRELOAD=planted"}})
	if err != nil || res.Exit != 0 {
		t.Fatalf("%+v %v", res, err)
	}
	out := string(res.Stdout)
	if strings.Contains(out, "planted") {
		t.Errorf("environment:\n%s", out)
	}
	for _, want := range []string{"SKILL_DIR=" + p.skill, "CLAUDE_SKILL_DIR=" + p.skill, "SKILL_NAME=s", "DEFT_SESSION_ID=id", "MORE=passed", "LAYER=x", "LC_ALL=C", "CI=1", "TERM=dumb", "GIT_TERMINAL_PROMPT=0"} {
		if !slices.Contains(strings.Split(out, "\n"), want) {
			t.Errorf("%s is missing:\n%s", want, out)
		}
	}
}

func TestARunStartsInTheWorkspaceOrNotAtAll(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	if err := os.Symlink(p.home, filepath.Join(p.work, "out")); err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(filepath.Join(p.work, "in"), 0o755); err != nil {
		t.Fatal(err)
	}
	r := p.runner(t, nil)
	for dir, ok := range map[string]bool{
		p.work: true, filepath.Join(p.work, "in"): true, p.home: false, filepath.Join(p.work, "out"): false, filepath.Join(p.work, ".."): false,
		filepath.Join(p.work, "gone"): false, ".": false, "": false, p.work + "x": false,
	} {
		_, err := r.Run(t.Context(), Request{Kind: KindInline, Script: "pwd", Dir: dir})
		if (err == nil) != ok || !ok && !errors.Is(err, ErrDir) {
			t.Errorf("%s: %v", dir, err)
		}
	}
	if n := p.started.Load(); n != 2 {
		t.Errorf("%d processes were started", n)
	}
}

func TestMissingProgramsAreNamedAndNeverReplaced(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	r := p.runner(t, func(o *Options, _ *sandbox.Options) { o.Host = []string{"PATH=" + p.home} })
	for _, q := range []Request{{Script: "x", Shell: "bash"}, {Argv: []string{"no-such-program"}}} {
		q.Kind, q.Dir = KindInline, p.work
		_, err := r.Run(t.Context(), q)
		var missing *MissingError
		if !errors.As(err, &missing) || missing.Program != or(q.Shell, "no-such-program") {
			t.Errorf("%+v: %v", q, err)
		}
	}
	if p.started.Load() != 0 {
		t.Error("a process was started")
	}
}

func TestNoProgramOfTheWorkspaceIsTakenForAShell(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	if err := os.WriteFile(filepath.Join(p.work, "sh"), []byte("#!/bin/sh\necho trapped\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	r := p.runner(t, func(o *Options, _ *sandbox.Options) { o.Host = []string{"PATH=" + p.work + ":" + os.Getenv("PATH")} })
	res, err := r.Run(t.Context(), Request{Kind: KindInline, Script: "echo good", Dir: p.work})
	if string(res.Stdout) != "good\n" || err != nil {
		t.Errorf("%s %v", res.Stdout, err)
	}
}

func TestWhatCannotBeConfinedIsNotStarted(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	p.least = sandbox.Files
	p.write(t, "scripts/x.sh", "echo x", 0o644)
	r := p.runner(t, func(_ *Options, b *sandbox.Options) {
		b.Probe = func(context.Context) sandbox.Findings { return sandbox.Findings{Level: sandbox.Limits} }
	})
	for kind := range kinds {
		if _, err := r.Run(t.Context(), Request{Kind: kind, Script: "echo x", Dir: p.work}); !errors.Is(err, sandbox.ErrUnavailable) {
			t.Errorf("%s: %v", kind, err)
		}
	}
	var told *ScriptError
	if _, err := r.RunScript(t.Context(), ScriptRequest{Skill: p.ref(), Script: "scripts/x.sh", Dir: p.work}); !errors.As(err, &told) || told.Code != "sandbox_unavailable" {
		t.Errorf("script: %v", err)
	}
	got := expand(t, "!`echo x`", ExpandOptions{Rule: Rule{On: true}, Dir: p.work, Gate: &judge{}, Runs: r})
	if got.Text() != `(unavailable: sandbox "files" is not available)` {
		t.Errorf("text %q", got.Text())
	}
	if p.started.Load() != 0 {
		t.Error("a process was started")
	}
}

func TestACommandOfATextRunsConfined(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	p.least = sandbox.Files
	r := p.runner(t, func(_ *Options, b *sandbox.Options) { b.HelperPath = sandbox.Helper(os.Args) })
	o := ExpandOptions{Rule: Rule{On: true}, Dir: p.work, Gate: &judge{}, Runs: r, Skill: p.ref()}
	got := expand(t, "!`pwd; echo out > ../home/f || echo held` !`echo $0`", o)
	if r.Level(t.Context()) < sandbox.Files { // the machine has nothing that would hold it
		if strings.Count(got.Text(), "is not available") != 2 {
			t.Errorf("text %q", got.Text())
		}
		return
	}
	real, err := filepath.EvalSymlinks(p.work)
	if err != nil {
		t.Fatal(err)
	}
	if !strings.HasPrefix(got.Text(), real+"\nheld ") || got.Commands[0].Level < sandbox.Files {
		t.Errorf("text %q, %+v", got.Text(), got.Commands)
	}
	p.write(t, "scripts/x.sh", "#!/bin/sh\necho script; echo x > \"$0\" || echo x > \"$SKILL_DIR\"/y || echo held\n", 0o755)
	res, err := r.RunScript(t.Context(), ScriptRequest{Skill: p.ref(), Script: "scripts/x.sh", Dir: p.work})
	if err != nil || string(res.Stdout) != "script\nheld\n" || res.Level < sandbox.Files {
		t.Errorf("script %+v %v: %s%s", res, err, res.Stdout, res.Stderr)
	}
	if _, err := os.Stat(filepath.Join(p.home, "f")); err == nil {
		t.Error("a file was written outside of the workspace")
	}
}

func TestAScriptRunsFromTheContentThatWasApproved(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	p.write(t, "scripts/lib.sh", "word=sibling\n", 0o644)
	p.write(t, "scripts/x.sh", "#!/bin/sh\n. \"$(dirname \"$0\")/lib.sh\"\ncat; echo \"$word $1 $2\"; echo err >&2; exit 3\n", 0o755)
	digest, _, err := skill.TreeDigest(t.Context(), os.DirFS(p.skill))
	if err != nil {
		t.Fatal(err)
	}
	r := p.runner(t, nil)
	q := ScriptRequest{Skill: p.ref(), Tree: digest, Script: "scripts/x.sh", Args: []string{"a b", "$(id)"}, Stdin: []byte("in\n"), Dir: p.work}
	res, err := r.RunScript(t.Context(), q)
	if err != nil || string(res.Stdout) != "in\nsibling a b $(id)\n" || string(res.Stderr) != "err\n" || res.Exit != 3 {
		t.Errorf("%+v %v: %s%s", res, err, res.Stdout, res.Stderr)
	}
	p.write(t, "scripts/lib.sh", "word=changed\n", 0o644)
	var told *ScriptError
	if _, err := r.RunScript(t.Context(), q); !errors.As(err, &told) || told.Code != "script_drift" {
		t.Errorf("after a change beside it: %v", err)
	}
	if n := p.started.Load(); n != 1 {
		t.Errorf("%d processes were started", n)
	}
}

func TestScriptsOfSeveralSessionsRunSideBySide(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	p.write(t, "scripts/side", "#!/bin/sh\necho side\n", 0o755)
	r := p.runner(t, nil)
	var group sync.WaitGroup
	for range 8 {
		group.Go(func() {
			for range 8 {
				res, err := r.RunScript(t.Context(), ScriptRequest{Skill: p.ref(), Script: "scripts/side", Dir: p.work})
				if err != nil || string(res.Stdout) != "side\n" {
					t.Errorf("%q %v %v", res.Stdout, res.Reason, err)
					return
				}
			}
		})
	}
	group.Wait()
}

func TestScriptsAreStartedByTheirLineOrTheirSuffix(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	p.write(t, "scripts/line", "#!/bin/sh\necho line\n", 0o755)
	p.write(t, "scripts/suffix.SH", "echo suffix\n", 0o644)
	p.write(t, "scripts/gone", "#!/no/such/interpreter\n", 0o755)
	p.write(t, "scripts/data.txt", "text", 0o644)
	bin := filepath.Join(p.home, "bin")
	if err := os.Mkdir(bin, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(bin, "bash"), []byte("#!/bin/sh\nfor last; do :; done; . \"$last\"\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	r := p.runner(t, func(o *Options, _ *sandbox.Options) { o.Host = []string{"PATH=" + bin} })
	p.write(t, "scripts/x.py", "print(1)\n", 0o644)
	for script, want := range map[string]string{
		"scripts/line": "line\n", "scripts/suffix.SH": "suffix\n", "scripts/gone": "script_interpreter", "scripts/data.txt": "script_interpreter",
		"scripts/x.py": "script_interpreter", "scripts/none": "script_unknown", "../project/x": "script_unknown", "SKILL.md": "script_unknown",
	} {
		res, err := r.RunScript(t.Context(), ScriptRequest{Skill: p.ref(), Script: script, Dir: p.work})
		got := string(res.Stdout)
		var told *ScriptError
		if errors.As(err, &told) {
			got = told.Code
		}
		if got != want {
			t.Errorf("%s: %q (%v), want %q", script, got, err, want)
		}
	}
}

func TestACancelledRunStartsNothing(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	p.write(t, "scripts/x.sh", "echo x", 0o755)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	r := p.runner(t, nil)
	if _, err := r.Run(ctx, Request{Kind: KindInline, Script: "echo", Dir: p.work}); !errors.Is(err, context.Canceled) {
		t.Errorf("run: %v", err)
	}
	if _, err := r.RunScript(ctx, ScriptRequest{Skill: p.ref(), Script: "scripts/x.sh", Dir: p.work}); !errors.Is(err, context.Canceled) {
		t.Errorf("script: %v", err)
	}
	if p.started.Load() != 0 {
		t.Error("a process was started")
	}
}
