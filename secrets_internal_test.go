package deft

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/deftskills/deft/command"
	"github.com/deftskills/deft/command/sandbox"
	"github.com/deftskills/deft/registry"
)

// fixedSecrets are values by key and name.
type fixedSecrets map[string]string

func (f fixedSecrets) Value(_ context.Context, key, name string) (string, error) {
	value, ok := f[key+" "+name]
	if !ok {
		return "", errors.New("locked")
	}
	return value, nil
}

// What is bound to one skill reaches no other, no shell, and nothing that nobody granted;
// without it nothing starts.
func TestVariablesReachTheSkillThatTheyAreBoundToAlone(t *testing.T) {
	t.Parallel()
	base := t.TempDir()
	for dir, header := range map[string]string{
		"home/.claude/skills/mail": "metadata: {requires-env: [KEY]}\n", "home/.claude/skills/other": "", "home/.claude/skills/bare": "metadata: {requires-env: [KEY, LANG]}\n",
		"home/.claude/skills/locked": "metadata: {requires-env: [KEY]}\n", "work/.deft/skills/stray": "metadata: {requires-env: [KEY]}\n",
		"work/.deft/skills/cond": "conditions: {requires_env: [KEY]}\n",
	} {
		text := "---\nname: " + filepath.Base(dir) + "\ndescription: Does it.\n" + header + "---\nDo.\n"
		if err := os.MkdirAll(filepath.Join(base, dir), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(base, dir, "SKILL.md"), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	var started atomic.Int64
	none := sandbox.None
	const value = "the-value-of-mail"
	o := Options{
		Workspace: filepath.Join(base, "work"), Home: filepath.Join(base, "home"), NoBuiltin: true, Project: registry.ProjectAlways,
		Environ: []string{"PATH=" + os.Getenv("PATH"), "KEY=of the host", "LANG=C", "HOME=" + filepath.Join(base, "home")},
		State:   registry.Decisions{Bound: registry.Bindings{"mail": {"KEY", "UNASKED"}, "locked": {"KEY"}, "stray": {"KEY"}, "cond": {"KEY"}}},
		Secrets: fixedSecrets{"mail KEY": value, "mail UNASKED": "unasked-value", "stray KEY": "stray-value"},
		Commands: Commands{Least: &none, Box: sandbox.New(sandbox.Options{TempRoot: t.TempDir(), Start: func(c *exec.Cmd) error {
			started.Add(1)
			return c.Start()
		}})},
	}
	s := sessionOf(t, o)
	for name, c := range map[string]struct{ out, code string }{
		"mail": {"[secret:KEY] ", ""}, "other": {" ", ""}, "bare": {"", "env_missing"}, "locked": {"", "env_unreadable"},
		"stray": {"", "env_untrusted"}, "cond": {"", "env_untrusted"}, "": {" ", ""},
	} {
		before := started.Load()
		q := command.Request{Kind: command.KindInline, Script: `printf '%s %s' "$KEY" "$UNASKED"`, Dir: o.Workspace}
		if name != "" {
			rec, err := s.Snapshot().Lookup(name)
			if err != nil {
				t.Fatal(err)
			}
			q.Skill = refOf(rec)
		}
		res, err := s.runs().Run(t.Context(), q)
		var told *command.ScriptError
		switch {
		case c.code == "" && (err != nil || string(res.Stdout) != c.out):
			t.Errorf("%q: %q %v", name, res.Stdout, err)
		case c.code != "" && (!errors.As(err, &told) || told.Code != c.code || strings.Contains(told.Message, "value")):
			t.Errorf("%q: %v", name, err)
		case (started.Load() > before) != (c.code == ""):
			t.Errorf("%q: %d started", name, started.Load()-before)
		}
	}
	rec, err := s.Snapshot().Lookup("bare")
	if err != nil || strings.Join(rec.NeedsSetup(), " ") != "KEY LANG" || rec.State != registry.Available {
		t.Errorf("%v %+v", err, rec)
	}
	if rec, err := s.Snapshot().Lookup("cond"); err != nil || rec.State != registry.Available {
		t.Errorf("a condition that is bound: %v %v", err, rec.State)
	}
}
