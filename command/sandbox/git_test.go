//go:build linux

package sandbox_test

import (
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/deftskills/deft/command/sandbox"
)

// repository makes one in base/ws with a commit, and a linked worktree in base/tree.
func repository(t *testing.T, base string) {
	t.Helper()
	write(t, base+"/ws/file", "text\n")
	for _, line := range []string{
		"init -q", "add file", "-c user.email=t@example.com -c user.name=t commit -qm one", "worktree add -q " + base + "/tree",
	} {
		c := exec.CommandContext(t.Context(), "git", append([]string{"-C", base + "/ws"}, strings.Fields(line)...)...)
		c.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + base, "GIT_CONFIG_NOSYSTEM=1"}
		if out, err := c.CombinedOutput(); err != nil {
			t.Fatalf("git %s: %v\n%s", line, err, out)
		}
	}
}

func entries(t *testing.T, dir string) string {
	t.Helper()
	list, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, e := range list {
		names = append(names, e.Name())
	}
	return strings.Join(names, " ")
}

// What is held of a repository must not keep git from its work, nor stay behind.
func TestGitWorksInARun(t *testing.T) {
	t.Parallel()
	atEach(t, walls, func(t *testing.T, w wall) {
		for name, c := range map[string]struct{ dir, script string }{
			"repository": {"/ws", "git status --short && git log --oneline && git branch --list"},
			"commit":     {"/ws", "echo more >> file && git -c user.email=t@example.com -c user.name=t commit -qam two && git log --oneline"},
			"worktree":   {"/tree", "git status --short && git log --oneline"},
		} {
			if name == "commit" && w.level < sandbox.Full {
				continue // it needs new files beside those that are protected
			}
			base := public(t)
			repository(t, base)
			box := w.box(t, public(t))
			before := entries(t, base+"/ws/.git") + entries(t, base+c.dir)
			res, err := box.Run(t.Context(), sandbox.Command{
				Argv: []string{"sh", "-c", c.script}, Dir: base + c.dir, Env: []string{"PATH=" + os.Getenv("PATH"), "HOME=" + base, "GIT_CONFIG_NOSYSTEM=1", "GIT_OPTIONAL_LOCKS=0"},
				Level: w.level, AtMost: w.level, Timeout: time.Minute,
				Policy: sandbox.Policy{Read: []string{base + "/ws"}, Write: []string{base + c.dir}, Protected: sandbox.Protected(base+c.dir, base+"/home")},
			})
			if err != nil || res.Exit != 0 || !strings.Contains(string(res.Stdout), "one") {
				t.Errorf("%s: %v %s %s %+v", name, err, res.Stdout, res.Stderr, res.Reason)
			}
			after := entries(t, base+"/ws/.git") + entries(t, base+c.dir)
			if after != before {
				t.Errorf("%s: left %s, before %s", name, after, before)
			}
		}
	})
}

// Names that are held for a while stay held by the runs beside.
func TestRunsShareWhatHoldsANameThatIsNotThere(t *testing.T) {
	t.Parallel()
	atEach(t, walls[1:], func(t *testing.T, w wall) {
		base := public(t)
		repository(t, base)
		box := w.box(t, public(t))
		before := entries(t, base+"/ws/.git")
		done := make(chan error)
		const beside = 4
		for range beside {
			go func() {
				var err error
				for range 3 {
					var res sandbox.Result
					res, err = box.Run(t.Context(), sandbox.Command{
						Argv: []string{"sh", "-c", "git status >/dev/null && ! (echo ../x > .git/commondir) 2>/dev/null"},
						Dir:  base + "/ws", Env: []string{"PATH=" + os.Getenv("PATH"), "HOME=" + base, "GIT_OPTIONAL_LOCKS=0"},
						Level: w.level, AtMost: w.level, Timeout: time.Minute,
						Policy: sandbox.Policy{Write: []string{base + "/ws"}, Protected: sandbox.Protected(base+"/ws", base+"/home")},
					})
					if err == nil && res.Exit != 0 {
						err = &sandbox.StartError{Step: string(res.Stderr), Err: os.ErrInvalid}
					}
					if err != nil {
						break
					}
				}
				done <- err
			}()
		}
		for range beside {
			if err := <-done; err != nil {
				t.Error(err)
			}
		}
		if after := entries(t, base+"/ws/.git"); after != before {
			t.Errorf("left %s, before %s", after, before)
		}
	})
}
