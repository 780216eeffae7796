//go:build unix

package command

import (
	"fmt"
	"net"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/deftskills/deft/command/sandbox"
)

func TestSkillFoldersCannotBeWritten(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	real, err := filepath.EvalSymlinks(p.work)
	if err != nil {
		t.Fatal(err)
	}
	in := func(name string) string { return filepath.Join(real, name) }
	if err := os.Mkdir(in("shared"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(in("shared"), in("skills")); err != nil {
		t.Fatal(err)
	}
	r := p.runner(t, func(o *Options, _ *sandbox.Options) {
		o.Keep = []string{in("skills"), in(".agents/skills"), in("more"), filepath.Join(p.home, "skills")}
	})
	got := r.policy(SkillRef{Dir: in("deep/one")})
	for _, want := range []string{"skills", "shared", "more", "deep/one", ".agents"} {
		if !slices.Contains(got.Protected, in(want)) {
			t.Errorf("%s can be written: %q", want, got.Protected)
		}
	}
	for _, none := range []string{in(".agents/skills"), filepath.Join(p.home, "skills")} {
		if slices.Contains(got.Protected, none) {
			t.Errorf("%s is held twice, or lies where nothing is written", none)
		}
	}
	if !slices.Equal(got.Write, []string{real}) {
		t.Errorf("write %q", got.Write)
	}
}

// The level full gives a run a /tmp of its own, which would hide them.
func TestSkillsBelowTheTemporaryFolderAreSeen(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	skills, err := os.MkdirTemp("/tmp", "deft-skills-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(skills) })
	if err := os.WriteFile(filepath.Join(skills, "words"), []byte("seen\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	r, _ := p.confined(t)
	if r.Level(t.Context()) < sandbox.Files {
		t.Log("nothing here holds a path")
		return
	}
	r.o.Keep = []string{skills, filepath.Join(skills, "gone")}
	res, err := r.Run(t.Context(), Request{Kind: KindScript, Shell: "sh", Script: "cat '" + skills + "/words'; echo > '" + skills + "/words' || echo held", Dir: p.work})
	if err != nil || string(res.Stdout) != "seen\nheld\n" {
		t.Errorf("%v %s %s", err, res.Stdout, res.Stderr)
	}
}

func TestAWorkspaceInsideASkillIsReadOnly(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	r := p.runner(t, func(o *Options, _ *sandbox.Options) { o.Write = []string{p.home} })
	got := r.policy(SkillRef{Dir: filepath.Dir(r.o.Roots[0])})
	if !slices.Contains(got.Read, r.o.Roots[0]) || len(got.Write) != 0 {
		t.Errorf("read %q, write %q", got.Read, got.Write)
	}
}

func TestARunReachesTheNetworkOnlyWhereItIsLet(t *testing.T) {
	t.Parallel()
	listener, err := net.Listen("tcp4", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	go func() {
		for {
			c, err := listener.Accept()
			if err != nil {
				return
			}
			c.Close()
		}
	}()
	p := newPlace(t)
	r, _ := p.confined(t)
	script := fmt.Sprintf("exec 3<>/dev/tcp/127.0.0.1/%d", listener.Addr().(*net.TCPAddr).Port)
	for _, network := range []bool{true, false} {
		res, err := r.Run(t.Context(), Request{Kind: KindScript, Shell: "bash", Script: script, Dir: p.work, Network: network})
		if err != nil {
			t.Fatal(err)
		}
		if reached := res.Exit == 0; reached != network && (network || res.Level >= sandbox.Files) {
			t.Errorf("let %v, reached %v: %s", network, reached, res.Stderr)
		}
	}
}
