package minimax

import (
	"path/filepath"
	"testing"

	"github.com/deftskills/deft/skill"
	"github.com/deftskills/deft/source"
)

// levels lists the collected levels, nearest first, relative to the world.
func (w *world) levels() []string {
	var out []string
	for _, l := range source.Levels(w.env) {
		rel, err := filepath.Rel(w.root, l)
		if err != nil {
			w.t.Fatal(err)
		}
		out = append(out, filepath.ToSlash(rel))
	}
	return out
}

func TestW01UpToGitDirectory(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.mkdir(w.ws, ".git")
	w.env.Workspace = w.mkdir(w.ws, "a/b/c")
	equal(t, "levels", w.levels(), []string{"repo/a/b/c", "repo/a/b", "repo/a", "repo"})
}

func TestW02GitFileStops(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.mkdir(w.ws, ".git")
	w.write(filepath.Join(w.ws, "a/.git"), "gitdir: /elsewhere\n")
	w.env.Workspace = w.mkdir(w.ws, "a/b")
	equal(t, "levels", w.levels(), []string{"repo/a/b", "repo/a"})
}

func TestW03GitByExistenceOnly(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.mkdir(w.ws, ".git")
	w.env.Workspace = w.mkdir(w.ws, "a/b")
	equal(t, "an empty directory", w.levels(), []string{"repo/a/b", "repo/a", "repo"})
	w.write(filepath.Join(w.ws, "a/.git"), "")
	equal(t, "an empty file", w.levels(), []string{"repo/a/b", "repo/a"})
}

func TestW04NoGitDiscardsAncestors(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.env.Workspace = w.mkdir(w.ws, "a/b")
	equal(t, "levels", w.levels(), []string{"repo/a/b"})
}

func TestW04NoGitDiscardsAncestorsDeft(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.env.Format.Dialect = skill.Deft
	w.env.Workspace = w.mkdir(w.ws, "a/b")
	equal(t, "deft does the same", w.levels(), []string{"repo/a/b"})
	w.mkdir(w.ws, ".git")
	w.env.Ceilings = []string{w.ws}
	equal(t, "and knows ceilings", w.levels(), []string{"repo/a/b"})
}

func TestW05WalkUpOff(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.mkdir(w.ws, ".git")
	w.env.Workspace = w.mkdir(w.ws, "a")
	w.settings("skills: {external: {walkUp: false}}")
	equal(t, "levels", w.levels(), []string{"repo/a"})
}

func TestW06StartNotResolved(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.mkdir(w.ws, ".git")
	w.mkdir(w.ws, "a")
	w.mkdir(w.root, "other", ".git")
	w.link(filepath.Join(w.ws, "a"), filepath.Join(w.root, "other/sub/link"))
	w.env.Workspace = filepath.Join(w.root, "other/sub/link")
	equal(t, "levels", w.levels(), []string{"other/sub/link", "other/sub", "other"})
}

func TestW07HomeIsNoStop(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.mkdir(w.root, ".git")
	w.env.Workspace = w.mkdir(w.home, "project")
	equal(t, "levels", w.levels(), []string{"home/project", "home", "."})
	w.env.Format.Dialect = skill.Deft
	equal(t, "deft stops below home", w.levels(), []string{"home/project"})
}

func TestW08BonusThousandths(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.mkdir(w.ws, ".git")
	w.env.Workspace = w.mkdir(w.ws, "a/b/c/d")
	base := "external:workspace-minimax:"
	if near, far := w.priorityOf(base+w.env.Workspace), w.priorityOf(base+w.ws); near != 65.005 || far != 65.001 {
		t.Errorf("nearest %v, root %v", near, far)
	}
}

// nearAndFar makes a workspace one level below a git root.
func nearAndFar(t *testing.T) *world {
	w := newWorld(t)
	w.mkdir(w.ws, ".git")
	w.env.Workspace = w.mkdir(w.ws, "a")
	return w
}

func TestW09NearnessWithinOneSource(t *testing.T) {
	t.Parallel()
	w := nearAndFar(t)
	w.skill(filepath.Join(w.ws, ".claude/skills/x"))
	near := w.skill(filepath.Join(w.ws, "a/.claude/skills/x"))
	wins(t, w.snapshot(), "x", near)
}

func TestW10FarMinimaxBeatsNearClaude(t *testing.T) {
	t.Parallel()
	w := nearAndFar(t)
	far := w.skill(filepath.Join(w.ws, ".minimax/skills/x"))
	w.skill(filepath.Join(w.ws, "a/.claude/skills/x"))
	wins(t, w.snapshot(), "x", far)
}

func TestW10FarMinimaxBeatsNearClaudeDeft(t *testing.T) {
	t.Parallel()
	w := nearAndFar(t)
	w.env.Format.Dialect = skill.Deft
	w.skill(filepath.Join(w.ws, ".minimax/skills/x"))
	near := w.skill(filepath.Join(w.ws, "a/.claude/skills/x"))
	wins(t, w.snapshot(), "x", near)
}

func TestW11NearWinsOnEqualPriorities(t *testing.T) {
	t.Parallel()
	w := nearAndFar(t)
	w.settings("skills: {external: {sources: {workspace-minimax: {priority: 50}, workspace-cc: {priority: 50}}}}")
	w.skill(filepath.Join(w.ws, ".minimax/skills/x"))
	near := w.skill(filepath.Join(w.ws, "a/.claude/skills/x"))
	wins(t, w.snapshot(), "x", near)
}

func TestW12HomeAsWorkspace(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.env.Workspace = w.home
	dir := w.skill(filepath.Join(w.home, ".claude/skills/a"))
	r := wins(t, w.snapshot(), "a", dir)
	if r.Source.Kind != source.WorkspaceK || len(r.Losers) != 1 || r.Losers[0].Source.Kind != source.User || r.Losers[0].Dir != dir {
		t.Errorf("winner of kind %s, losers %v", r.Source.Kind, r.Losers)
	}
}
