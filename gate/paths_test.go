package gate

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"
)

func TestPathTiers(t *testing.T) {
	t.Parallel()
	root, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	at := func(p string) string { return filepath.Join(root, p) }
	for _, d := range []string{"w/sub", "w/tool", "home/.ssh", "home/docs", "skills/pdf", "state", "w/.git"} {
		if err := os.MkdirAll(at(d), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	for _, f := range []string{"w/tool/SKILL.md", "home/.ssh/id", "w/a.txt"} {
		if err := os.WriteFile(at(f), nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for link, to := range map[string]string{"w/out": "home/docs", "w/keys": "home/.ssh", "w/dangling": "nowhere/at/all"} {
		if err := os.Symlink(at(to), at(link)); err != nil {
			t.Fatal(err)
		}
	}
	g, _ := testGate(t, func(o *Options) {
		o.Paths = PathPolicy{Workspace: at("w"), Home: at("home"), Readable: []string{at("skills")}, State: []string{at("state")}}
	})
	tests := []struct {
		tool, path string
		tier       Tier
		code       string
	}{
		{"read", "a.txt", ReadOnly, CodeReadOnly},
		{"read", "sub/../a.txt", ReadOnly, CodeReadOnly},
		{"read", at("skills/pdf/SKILL.md"), ReadOnly, CodeReadOnly},
		{"read", at("home/docs/x"), ConfirmOnce, CodeFirstUse},
		{"read", "~/docs/x", ConfirmOnce, CodeFirstUse},
		{"read", "../home/docs/x", ConfirmOnce, CodeFirstUse},
		{"read", "out/x", ConfirmOnce, CodeFirstUse},
		{"read", "~/.ssh/id", 0, CodePathDenied},
		{"read", "keys/id", 0, CodePathDenied},
		{"read", at("home/.SSH/id"), 0, CodePathDenied},
		{"read", at("state/gate.jsonl"), 0, CodePathDenied},
		{"read", "/proc/self/environ", 0, CodePathDenied},
		{"read", "a\x00b", 0, CodeBadPath},
		{"read", "dangling", 0, CodeBadPath},
		{"write", "b.txt", ConfirmOnce, CodeFirstUse},
		{"write", "new/deep/b.txt", ConfirmOnce, CodeFirstUse},
		{"write", at("home/docs/x"), AlwaysConfirm, CodeEachCall},
		{"write", "out/x", AlwaysConfirm, CodeEachCall},
		{"write", "dangling", 0, CodeBadPath},
		{"write", ".git/hooks/pre-commit", AlwaysConfirm, CodeEachCall},
		{"write", ".GIT/config", AlwaysConfirm, CodeEachCall},
		{"write", ".github/workflows/ci.yml", AlwaysConfirm, CodeEachCall},
		{"write", ".claude/settings.json", AlwaysConfirm, CodeEachCall},
		{"write", ".env.local", AlwaysConfirm, CodeEachCall},
		{"write", ".bashrc", AlwaysConfirm, CodeEachCall},
		{"write", "tool/run.sh", AlwaysConfirm, CodeEachCall},
		{"write", "other/SKILL.md", AlwaysConfirm, CodeEachCall},
		{"glob", "sub", ReadOnly, CodeReadOnly},
	}
	for _, tt := range tests {
		c := call(tt.tool, fmt.Sprintf(`{"path":%q}`, tt.path))
		if tt.path == "a\x00b" {
			c = call(tt.tool, `{"path":"a\u0000b"}`)
		}
		c.Dir = at("w")
		d := g.Explain(c)
		if d.Code != tt.code || tt.tier != 0 && d.Tier != tt.tier {
			t.Errorf("%s %s: %s %s (%s), want %s %s", tt.tool, tt.path, d.Tier, d.Code, d.Reason, tt.tier, tt.code)
		}
	}
	confined, _ := testGate(t, func(o *Options) {
		o.Paths = PathPolicy{Workspace: at("w"), Readable: []string{at("skills")}, Confined: true}
	})
	for path, want := range map[string]string{
		"a.txt": CodeReadOnly, at("skills/pdf/x"): CodeReadOnly, "/etc/passwd": CodeOutside, "../x": CodeOutside, "out/x": CodeOutside,
	} {
		c := call("read", fmt.Sprintf(`{"path":%q}`, path))
		c.Dir = at("w")
		if d := confined.Explain(c); d.Code != want {
			t.Errorf("confined read %s: %s, want %s", path, d.Code, want)
		}
	}
	for pattern, want := range map[string]Tier{"**/*.go": ReadOnly, "sub/*": ReadOnly, "/etc/*": ConfirmOnce, "../*": ConfirmOnce} {
		c := call("glob", fmt.Sprintf(`{"pattern":%q}`, pattern))
		c.Dir = at("w")
		if d := g.Explain(c); d.Tier != want {
			t.Errorf("glob %s: %s, want %s", pattern, d.Tier, want)
		}
	}
}
