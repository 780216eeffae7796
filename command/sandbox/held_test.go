//go:build linux

package sandbox_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"testing"

	"github.com/deftskills/deft/command/sandbox"
)

// paths makes a folder with these files, each with its own text, and returns it resolved.
func paths(t *testing.T, files map[string]string) string {
	t.Helper()
	root, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	for name, text := range files {
		path := filepath.Join(root, name)
		if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, []byte(text), 0o644)); err != nil {
			t.Fatal(err)
		}
	}
	return root
}

func TestAPolicyThatContradictsItselfStartsNothing(t *testing.T) {
	t.Parallel()
	root := paths(t, map[string]string{"ws/file": "", "home/.ssh/id": ""})
	for i := range 4200 {
		if err := os.Mkdir(fmt.Sprintf("%s/home/%d", root, i), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	ws, home, denied := root+"/ws", root+"/home", root+"/home/.ssh"
	for name, p := range map[string]sandbox.Policy{
		"relative to write":        {Write: []string{"ws"}},
		"relative to deny":         {Write: []string{ws}, Denied: []string{"../home"}},
		"with a NUL":               {Write: []string{ws + "\x00/../home"}},
		"writes what is denied":    {Write: []string{denied}, Denied: []string{home}},
		"reads what is denied":     {Read: []string{denied}, Denied: []string{denied}},
		"writes what is protected": {Write: []string{ws}, Protected: []string{ws}},
		"writes in what is":        {Write: []string{ws + "/file"}, Protected: []string{ws}},
		"too many beside":          {Write: []string{ws}, Denied: []string{denied}},
		"too many to write beside": {Write: []string{home}, Protected: []string{denied}},
	} {
		box := sandbox.New(sandbox.Options{
			HelperPath: "/no/such/helper", TempRoot: root,
			Probe: func(context.Context) sandbox.Findings { return sandbox.Findings{Level: sandbox.Files} },
			Start: func(*exec.Cmd) error { t.Errorf("%s: started", name); return errors.New("started") },
		})
		_, err := box.Run(t.Context(), sandbox.Command{Argv: []string{"/bin/true"}, Dir: ws, Level: sandbox.Files, Policy: p})
		if !errors.Is(err, sandbox.ErrPolicy) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if left, _ := filepath.Glob(root + "/deft-run-*"); len(left) > 0 {
		t.Errorf("left: %v", left)
	}
}

func TestADirectoryThatIsNoneStartsNothing(t *testing.T) {
	t.Parallel()
	root := paths(t, map[string]string{"file": ""})
	box := sandbox.New(sandbox.Options{TempRoot: root, Start: func(*exec.Cmd) error {
		t.Error("started")
		return errors.New("started")
	}})
	for dir, policy := range map[string]bool{"relative": true, root + "/missing": false, root + "/file": false} {
		_, err := box.Run(t.Context(), sandbox.Command{Argv: []string{"/bin/true"}, Dir: dir})
		var start *sandbox.StartError
		if errors.Is(err, sandbox.ErrPolicy) != policy || errors.As(err, &start) == policy {
			t.Errorf("%s: %v", dir, err)
		}
	}
	for name, argv := range map[string][]string{"no program": nil, "empty": {""}, "with a NUL": {"/bin/true", "a\x00b"}} {
		_, err := box.Run(t.Context(), sandbox.Command{Argv: argv, Dir: root})
		var start *sandbox.StartError
		if !errors.As(err, &start) || start.Step != "exec" {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestProtectedHoldsEveryWayIntoARepository(t *testing.T) {
	t.Parallel()
	root := paths(t, map[string]string{
		"ws/.git/HEAD": "", "ws/.git/modules/a/b/HEAD": "", "ws/.git/modules/a/b/modules/c/HEAD": "", "ws/.git/modules/file": "",
		"ws/.git/worktrees/t/HEAD": "", "tree/.git": "gitdir: ../ws/.git/worktrees/t\n", "away/.git": "gitdir: /elsewhere/.git\n", "odd/.git": "nothing",
	})
	for _, c := range []struct {
		root, home string
		want, not  []string
	}{
		{"ws", "home", []string{
			".git/hooks", ".git/config", ".git/config.worktree", ".git/commondir", ".git/info", ".gitmodules", "AGENTS.md", ".claude", ".envrc",
			".git/modules/a/b/config", ".git/modules/a/b/hooks", ".git/modules/a/b/modules/c/hooks", ".git/worktrees/t/commondir", ".git/worktrees/t/config.worktree",
		}, []string{".git/modules/a/hooks", ".bashrc", "../home/.bashrc"}},
		{"tree", "home", []string{".git", "../ws/.git/worktrees/t"}, nil},
		{"away", "away/home", []string{".git", "/elsewhere/.git", "home/.bashrc", "home/.gitconfig"}, nil},
		{"odd", "home", []string{".git"}, nil},
	} {
		ws := filepath.Join(root, c.root)
		got := sandbox.Protected(ws, filepath.Join(root, c.home))
		for _, name := range c.want {
			if !filepath.IsAbs(name) {
				name = filepath.Join(ws, name)
			}
			if !slices.Contains(got, name) {
				t.Errorf("%s: no %s in %v", c.root, name, got)
			}
		}
		for _, name := range c.not {
			if slices.Contains(got, filepath.Join(ws, name)) {
				t.Errorf("%s: %s", c.root, name)
			}
		}
	}
}

func TestDeniedHoldsCredentialsAndOtherHomes(t *testing.T) {
	t.Parallel()
	got := sandbox.Denied("/srv/me", []string{"/srv/work"}, "/srv/me/.config/deft")
	for _, want := range []string{"/etc/shadow", "/srv/me/.ssh", "/srv/me/.config/gh", "/srv/me/.config/deft", "/root"} {
		if !slices.Contains(got, want) {
			t.Errorf("no %s in %v", want, got)
		}
	}
	for _, c := range []struct{ home, root string }{{"/root", "/srv/work"}, {"/srv/me", "/root/work"}} {
		if got := sandbox.Denied(c.home, []string{c.root}); slices.Contains(got, "/root") {
			t.Errorf("%v: the own home is denied", c)
		}
	}
}
