package mastra

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/deftskills/deft/registry"
)

// pair is a workspace on the disk where zeta/x is a link to alpha/x.
func pair(t *testing.T, dirs ...string) string {
	t.Helper()
	ws := onDisk(t, skillsAt(append(dirs, "alpha/x")...))
	if err := os.MkdirAll(filepath.Join(ws, "zeta"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(filepath.Join(ws, "alpha/x"), filepath.Join(ws, "zeta/x")); err != nil {
		t.Fatal(err)
	}
	return ws
}

func snapshot(t *testing.T, ws string, forms ...string) *registry.Snapshot {
	t.Helper()
	return open(t, setup{workspace: ws, forms: forms}).view().Snapshot()
}

func TestW078_TwoPathsOfOneFolderAreListedOnce(t *testing.T) {
	t.Parallel()
	ws := pair(t)
	s := snapshot(t, ws, "zeta", "alpha")
	want(t, "list", paths(s), []string{ws + "/alpha/x"})
	need(t, s, "x")
}

func TestW079_TwoLocalSkillsOfOneNameNeedTheirPaths(t *testing.T) {
	t.Parallel()
	ws := pair(t, "other/x")
	s := snapshot(t, ws, "zeta", "alpha", "other")
	want(t, "list", paths(s), []string{ws + "/alpha/x", ws + "/other/x"})
	_, err := s.Lookup("x")
	if err == nil || !strings.HasPrefix(err.Error(), `Cannot resolve skill "x": multiple local skills found at "`+ws+`/alpha/x", "`+ws+`/other/x".`) {
		t.Errorf("by name: %v", err)
	}
	for _, p := range []string{"alpha/x", "other/x", "zeta/x", ws + "/zeta/x/SKILL.md"} {
		need(t, s, p)
	}
}

func TestW080_LocalBeatsExternal(t *testing.T) {
	t.Parallel()
	ws := onDisk(t, skillsAt("skills/x", "node_modules/p/skills/x"))
	s := snapshot(t, ws, "skills", "node_modules/p/skills")
	want(t, "list", len(s.Winners), 2)
	want(t, "by name", need(t, s, "x").Path(), ws+"/skills/x")
	want(t, "by path", typeOf(need(t, s, "node_modules/p/skills/x")), "external")
}

func TestW081_AliasPairAcrossTypesKeepsTheStrongerPath(t *testing.T) {
	t.Parallel()
	ws := onDisk(t, skillsAt("node_modules/p/skills/x"))
	if err := os.MkdirAll(filepath.Join(ws, "zeta"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(filepath.Join(ws, "node_modules/p/skills/x"), filepath.Join(ws, "zeta/x")); err != nil {
		t.Fatal(err)
	}
	want(t, "list", paths(snapshot(t, ws, "node_modules/p/skills", "zeta")), []string{ws + "/zeta/x"})
}

func TestW082_TieByTypeIsOneWarning(t *testing.T) {
	t.Parallel()
	ws := onDisk(t, skillsAt("skills/x", "node_modules/p/skills/x", "node_modules/q/skills/x"))
	s := snapshot(t, ws, "skills", "node_modules/p/skills", "node_modules/q/skills")
	if len(s.Diagnostics) != 1 {
		t.Fatalf("findings: %v", s.Diagnostics)
	}
	for _, p := range []string{"skills/x", "node_modules/p/skills/x", "node_modules/q/skills/x"} {
		want(t, p, strings.Contains(s.Diagnostics[0].Message, filepath.Join(ws, p)), true)
	}
}

func TestW083_PathOfTheFile(t *testing.T) {
	t.Parallel()
	ws := onDisk(t, skillsAt("one/x", "two/x"))
	want(t, "found", need(t, snapshot(t, ws, "one", "two"), "two/x/SKILL.md").Path(), ws+"/two/x")
}

func TestW084_EntryIsASkillFolder(t *testing.T) {
	t.Parallel()
	listed(t, []string{"one/a"}, []string{"one/a", "one/a/inner", "one/b"}, []string{"one/a"})
}

func TestW085_EntryIsASkillFile(t *testing.T) {
	t.Parallel()
	listed(t, []string{"one/a/SKILL.md"}, []string{"one/a", "one/b"}, []string{"one/a"})
}

func TestW086_DirectEntriesAndRoots(t *testing.T) {
	t.Parallel()
	listed(t, []string{"one/a", "two", "three/c/SKILL.md"}, []string{"one/a", "one/z", "two/b", "three/c"}, []string{"one/a", "three/c", "two/b"})
}

func TestW087_MissingFileIsEmpty(t *testing.T) {
	t.Parallel()
	listed(t, []string{"one/b/SKILL.md"}, []string{"one/a"}, nil)
}

func TestW088_MissingFolderIsEmpty(t *testing.T) {
	t.Parallel()
	listed(t, []string{"nowhere"}, []string{"one/a"}, nil)
}

func TestW089_OtherFoldersAreScannedOneLevel(t *testing.T) {
	t.Parallel()
	listed(t, []string{"one"}, []string{"one/a", "one/group/b"}, []string{"one/a"})
}

func TestW090_FilesOfADirectSkill(t *testing.T) {
	t.Parallel()
	r := need(t, open(t, setup{fsys: rich(), forms: []string{"skills/test-skill"}}).view().Snapshot(), "test-skill")
	got, err := read(t, r, "references/doc.md")
	want(t, "text, error", []any{got, err}, []any{"the doc", nil})
}

func TestW091_CheckOfADirectFile(t *testing.T) {
	t.Parallel()
	m := inMemory("x")
	h := open(t, setup{fsys: m, forms: []string{"skills/x/SKILL.md"}})
	v := h.view()
	m.put("skills/x/SKILL.md", strings.Replace(text("x"), "Does x.", "Something else.", 1))
	h.pass(31 * time.Second)
	want(t, "description", need(t, check(t, v), "x").Skill.Description, "Something else.")
}

func add(t *testing.T, v *registry.View, path string) *registry.Snapshot {
	t.Helper()
	s, err := v.Registry().Add(t.Context(), path)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func TestW092_AddListsWithoutARefresh(t *testing.T) {
	t.Parallel()
	m := inMemory("a")
	v := open(t, setup{fsys: m}).view()
	m.put("skills/b/SKILL.md", text("b"))
	m.put("skills/c/SKILL.md", text("c"))
	want(t, "list", names(add(t, v, "skills/b")), []string{"a", "b"})
	want(t, "of the view", names(v.Snapshot()), []string{"a", "b"})
}

func TestW093_AddReplacesAKnownPath(t *testing.T) {
	t.Parallel()
	m := inMemory("a")
	v := open(t, setup{fsys: m}).view()
	m.put("skills/a/SKILL.md", strings.Replace(text("a"), "Does a.", "Something else.", 1))
	s := add(t, v, "skills/a")
	want(t, "list", names(s), []string{"a"})
	want(t, "description", need(t, s, "a").Skill.Description, "Something else.")
}

func TestW094_AddOfAFileIsItsFolder(t *testing.T) {
	t.Parallel()
	m := inMemory("a")
	v := open(t, setup{fsys: m}).view()
	m.put("skills/b/SKILL.md", text("b"))
	want(t, "path", need(t, add(t, v, "skills/b/SKILL.md"), "b").Path(), "skills/b")
}

// later makes a change half a cooldown after the first look, and wants no check when the
// cooldown of that look is over, but one when that of the change is.
func later(t *testing.T, change func(*registry.View)) {
	t.Helper()
	m := inMemory("a", "b")
	h := open(t, setup{fsys: m})
	v := h.view()
	h.pass(20 * time.Second)
	change(v)
	h.pass(20 * time.Second)
	ops, _ := m.counts()
	check(t, v)
	now, _ := m.counts()
	want(t, "operations within its cooldown", now-ops, 0)
	h.pass(20 * time.Second)
	check(t, v)
	now, _ = m.counts()
	want(t, "checked after it", now > ops, true)
}

func TestW095_AddMovesTheTimeOfDiscovery(t *testing.T) {
	t.Parallel()
	later(t, func(v *registry.View) { add(t, v, "skills/a") })
}

func remove(t *testing.T, v *registry.View, selector string) *registry.Snapshot {
	t.Helper()
	s, err := v.Registry().Remove(t.Context(), selector)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func TestW096_RemoveByNameOrPath(t *testing.T) {
	t.Parallel()
	v := open(t, setup{fsys: inMemory("a", "b", "c")}).view()
	want(t, "by name", names(remove(t, v, "a")), []string{"b", "c"})
	want(t, "by path", names(remove(t, v, "skills/b")), []string{"c"})
}

func TestW097_RemoveOfUnknownIsNothing(t *testing.T) {
	t.Parallel()
	v := open(t, setup{fsys: inMemory("a")}).view()
	before := v.Snapshot()
	want(t, "same", remove(t, v, "nobody") == before, true)
}

func TestW098_RemoveMovesTheTimeOfDiscovery(t *testing.T) {
	t.Parallel()
	later(t, func(v *registry.View) { remove(t, v, "a") })
}
