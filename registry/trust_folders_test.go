package registry_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/deftskills/deft/registry"
	"github.com/deftskills/deft/source"
)

func TestSavedFolderTrustIsForExactlyOneRoot(t *testing.T) {
	t.Parallel()
	top, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	repo := filepath.Join(top, "repo")
	for _, dir := range []string{"repo/.git", "repo/lib/.git", "repo/.claude/skills/cloned/.git", "plain", "other/.git"} {
		if err := os.MkdirAll(filepath.Join(top, dir), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	writeSkill(t, filepath.Join(repo, ".claude/skills/own"), "own", "Own.")
	writeSkill(t, filepath.Join(repo, ".claude/skills/cloned"), "cloned", "A repository of its own.")
	writeSkill(t, filepath.Join(repo, "lib/.claude/skills/inner"), "inner", "Of a nested repository.")
	writeSkill(t, filepath.Join(top, "plain/.claude/skills/p"), "p", "No repository.")
	if err := os.Symlink(repo, filepath.Join(top, "link")); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(filepath.Join(repo, ".claude"), filepath.Join(top, "other/.claude")); err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		at    string
		mode  registry.ProjectTrust
		saved []registry.Folder
		want  map[string]registry.State
	}{
		"nobody decided":           {"repo", "", nil, map[string]registry.State{"own": registry.Untrusted, "cloned": registry.Untrusted}},
		"trusted":                  {"repo", "", []registry.Folder{{Root: repo}}, map[string]registry.State{"own": registry.Available, "cloned": registry.Untrusted}},
		"trusted, through a link":  {"link", "", []registry.Folder{{Root: repo}}, map[string]registry.State{"own": registry.Available}},
		"both are trusted":         {"repo", "", []registry.Folder{{Root: repo}, {Root: filepath.Join(repo, ".claude/skills/cloned")}}, map[string]registry.State{"cloned": registry.Available}},
		"a nested repository":      {"repo/lib", "", []registry.Folder{{Root: repo}}, map[string]registry.State{"inner": registry.Untrusted}},
		"refused":                  {"repo", registry.ProjectAlways, []registry.Folder{{Root: repo, Refused: true}}, map[string]registry.State{"own": registry.Untrusted}},
		"never":                    {"repo", registry.ProjectNever, []registry.Folder{{Root: repo}}, map[string]registry.State{"own": registry.Untrusted}},
		"always":                   {"repo", registry.ProjectAlways, nil, map[string]registry.State{"own": registry.Available, "cloned": registry.Available}},
		"a folder above it":        {"repo", "", []registry.Folder{{Root: top}}, map[string]registry.State{"own": registry.Untrusted}},
		"no repository":            {"plain", "", []registry.Folder{{Root: filepath.Join(top, "plain")}}, map[string]registry.State{"p": registry.Available}},
		"a link to trusted skills": {"other", "", []registry.Folder{{Root: filepath.Join(top, "other")}}, map[string]registry.State{}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			env := source.Env{Workspace: filepath.Join(top, c.at), Home: top, External: true, OS: "linux"}
			srcs, _ := source.Roots(t.Context(), env)
			s := snapshot(t, registry.Config{Sources: srcs, Trust: registry.SavedTrust{
				Undecided: c.mode, Folders: c.saved, Roots: source.NewTrustRoots(env),
			}})
			for name, state := range c.want {
				r := lookup(t, s, name)
				want(t, name, r.State, state)
				if state == registry.Untrusted && (r.Reasons[0].Code != "untrusted" || r.Reasons[0].Path == "" || r.Reasons[0].Fix == "") {
					t.Errorf("%s: %+v", name, r.Reasons)
				}
			}
			if len(c.want) == 0 {
				want(t, "skills", len(s.Winners), 0)
			}
		})
	}
}
