package deft

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/deftskills/deft/command"
	"github.com/deftskills/deft/command/sandbox"
	"github.com/deftskills/deft/registry"
)

func sessionOf(t *testing.T, o Options) *Session {
	t.Helper()
	e, err := Open(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { e.Close() })
	s, err := e.NewSession(t.Context(), SessionOptions{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	return s
}

func TestAHostWithoutASandboxRunsNothing(t *testing.T) {
	t.Parallel()
	none := sandbox.None
	o := Options{Workspace: t.TempDir(), Home: t.TempDir(), Environ: []string{"PATH=" + os.Getenv("PATH")}, Commands: Commands{Least: &none}}
	s := sessionOf(t, o)
	for _, err := range []error{
		s.runs().Able(t.Context(), 0),
		second(s.runs().Run(t.Context(), command.Request{Kind: command.KindInline, Script: "echo x > f", Dir: o.Workspace})),
	} {
		var missing *sandbox.UnavailableError
		if !errors.As(err, &missing) || missing.Wanted != sandbox.Files {
			t.Errorf("error %v", err)
		}
	}
	if entries, err := os.ReadDir(o.Workspace); err != nil || len(entries) > 0 {
		t.Errorf("%v %v", entries, err)
	}
	o.Home = ""
	if err := sessionOf(t, o).runs().Able(t.Context(), 0); !errors.Is(err, errNoHome) {
		t.Errorf("without a home: %v", err)
	}
}

func second[T any](_ T, err error) error { return err }

func TestRunsOfASessionKnowItsWorkspaceAndItsSkills(t *testing.T) {
	t.Parallel()
	base := t.TempDir()
	for _, dir := range []string{"work/skills/tidy", "work/far"} {
		if err := os.MkdirAll(filepath.Join(base, dir), 0o755); err != nil {
			t.Fatal(err)
		}
		text := "---\nname: " + filepath.Base(dir) + "\ndescription: Tidies.\n---\nTidy.\n"
		if err := os.WriteFile(filepath.Join(base, dir, "SKILL.md"), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.MkdirAll(filepath.Join(base, "home", ".claude", "skills"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(filepath.Join(base, "work", "far"), filepath.Join(base, "home", ".claude", "skills", "far")); err != nil {
		t.Fatal(err)
	}
	none := sandbox.None
	s := sessionOf(t, Options{
		Workspace: filepath.Join(base, "work"), Home: filepath.Join(base, "home"), Environ: []string{"PATH=" + os.Getenv("PATH")},
		Sources:  []string{filepath.Join(base, "work", "skills")},
		Commands: Commands{Box: sandbox.New(sandbox.Options{TempRoot: t.TempDir()}), Least: &none},
	})
	res, err := s.runs().Run(context.WithoutCancel(t.Context()), command.Request{
		Kind: command.KindInline, Script: `printf %s "$DEFT_SESSION_ID"`, Dir: filepath.Join(base, "work"),
	})
	if err != nil || string(res.Stdout) != s.ID() {
		t.Errorf("%q %v", res.Stdout, err)
	}
	keep := skillFolders(s.Snapshot())
	for _, want := range []string{"work/skills", "work/far"} {
		if !slices.Contains(keep, filepath.Join(base, want)) {
			t.Errorf("%s is not kept: %q", want, keep)
		}
	}
}

func TestTheNetworkIsForASkillThatThePersonNamesAndWhoseCodeCounts(t *testing.T) {
	t.Parallel()
	base := t.TempDir()
	for _, dir := range []string{"home/.claude/skills/mine", "home/.claude/skills/other", "work/.claude/skills/theirs"} {
		if err := os.MkdirAll(filepath.Join(base, dir), 0o755); err != nil {
			t.Fatal(err)
		}
		text := "---\nname: " + filepath.Base(dir) + "\ndescription: Does it.\n---\nDo it.\n"
		if err := os.WriteFile(filepath.Join(base, dir, "SKILL.md"), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	e, err := Open(t.Context(), Options{
		Workspace: filepath.Join(base, "work"), Home: filepath.Join(base, "home"), Project: registry.ProjectAlways,
		State: registry.Decisions{Network: []string{"mine", "theirs"}},
	})
	if err != nil {
		t.Fatal(err)
	}
	defer e.Close()
	for name, want := range map[string]bool{"mine": true, "other": false, "theirs": false} {
		rec, err := e.Snapshot().Lookup(name)
		if err != nil {
			t.Fatal(err)
		}
		if got := e.Networked(t.Context(), rec); got != want {
			t.Errorf("%s: %v, want %v", name, got, want)
		}
	}
}
