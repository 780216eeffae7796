package agentskills

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/deftskills/deft/catalog"
	"github.com/deftskills/deft/registry"
	"github.com/deftskills/deft/skill"
	"github.com/deftskills/deft/source"
)

// machine is a home and a project with the standard's roots.
type machine struct {
	home, project string
	filter        func(*source.Entry) bool // what a host leaves out
}

func newMachine(t *testing.T) machine {
	t.Helper()
	root, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	m := machine{home: filepath.Join(root, "home"), project: filepath.Join(root, "home", "src", "project")}
	m.write(t, filepath.Join(m.project, ".git", "HEAD"), "ref: refs/heads/main\n")
	return m
}

func (m machine) write(t *testing.T, path, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

func (m machine) user(t *testing.T, dir, text string) {
	m.write(t, filepath.Join(m.home, ".agents", "skills", filepath.FromSlash(dir), "SKILL.md"), text)
}

func (m machine) own(t *testing.T, dir, text string) {
	m.write(t, filepath.Join(m.project, ".agents", "skills", filepath.FromSlash(dir), "SKILL.md"), text)
}

// open discovers by the standard's rules, in a project that a person trusted.
func (m machine) open(t *testing.T) *registry.Snapshot {
	t.Helper()
	e := source.Env{
		Workspace: m.project, Home: m.home, OS: "linux", External: true,
		Format: source.Format{Dialect: skill.AgentSkills},
		Now:    func() time.Time { return time.Now().Add(time.Hour) },
	}
	roots, diags := source.Roots(context.Background(), e)
	if m.filter != nil {
		for i := range roots {
			roots[i] = source.Filter(roots[i], m.filter)
		}
	}
	r, err := registry.Open(context.Background(), registry.Config{
		Sources: roots, Diagnostics: diags, Dialect: skill.AgentSkills, Trust: registry.ProjectAlways, Workspace: m.project,
	})
	if err != nil {
		t.Fatal(err)
	}
	return r.Snapshot()
}

func block(t *testing.T, s *registry.Snapshot) catalog.Catalog {
	t.Helper()
	c, err := catalog.New(catalog.Config{}).Render(context.Background(), catalog.Input{Snapshot: s, Dialect: skill.AgentSkills})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func listed(s *registry.Snapshot) []string {
	var names []string
	for _, r := range s.Winners {
		if r.ForModel() {
			names = append(names, r.Address)
		}
	}
	return names
}

// diagnosed returns every diagnostic of a snapshot and its records.
func diagnosed(s *registry.Snapshot) []skill.Diagnostic {
	all := slices.Clone(s.Diagnostics)
	for _, r := range s.All {
		all = append(all, r.Skill.Diagnostics...)
	}
	return all
}

func count(ds []skill.Diagnostic, level skill.Level, code string) int {
	n := 0
	for _, d := range ds {
		if (level == "" || d.Level == level) && (code == "" || d.Code == code) {
			n++
		}
	}
	return n
}

func TestDiscoveryProjectAndUserRoots(t *testing.T) {
	t.Parallel()
	m := newMachine(t)
	m.user(t, "a", named("a"))
	m.user(t, "both", header("name: both", "description: The user's."))
	m.own(t, "b", named("b"))
	m.own(t, "both", header("name: both", "description: The project's."))
	s := m.open(t)
	if got := listed(s); !slices.Equal(got, []string{"a", "b", "both"}) {
		t.Errorf("listed %q", got)
	}
	r, err := s.LookupForModel("both")
	if err != nil || r.Skill.Description != "The project's." {
		t.Errorf("winner %+v, %v", r, err)
	}
	if n := count(s.Diagnostics, skill.LevelWarning, ""); n != 1 {
		t.Errorf("%d warnings: %+v", n, s.Diagnostics)
	}
}

func TestDiscoverySkipsGitAndNodeModules(t *testing.T) {
	t.Parallel()
	m := newMachine(t)
	m.user(t, "a", named("a"))
	m.user(t, ".git/b", named("b"))
	m.user(t, "node_modules/c", "\x00 not even text")
	s := m.open(t)
	if got := listed(s); !slices.Equal(got, []string{"a"}) || len(s.All) != 1 || s.Metrics.FilesRead != 1 {
		t.Errorf("listed %q, %d records, %d files read", got, len(s.All), s.Metrics.FilesRead)
	}
}

func TestDiscoveryBoundedWalk(t *testing.T) {
	t.Parallel()
	m := newMachine(t)
	m.user(t, "1/2/3/4/5/deep", named("deep"))
	m.user(t, "1/2/3/4/5/6/deeper", named("deeper"))
	for i := range 2001 {
		if err := os.MkdirAll(filepath.Join(m.home, ".agents", "skills", fmt.Sprintf("g%04d", i)), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	m.user(t, "g2000/last", named("last"))
	s := m.open(t)
	if got := listed(s); !slices.Equal(got, []string{"deep", "last"}) {
		t.Errorf("listed %q", got)
	}
	if count(s.Diagnostics, "", "too_deep") == 0 {
		t.Errorf("no depth diagnostic: %+v", s.Diagnostics)
	}
}

func TestDiscoveryNameMismatchLoads(t *testing.T) {
	t.Parallel()
	m := newMachine(t)
	m.user(t, "folder", named("other"))
	s := m.open(t)
	if got := listed(s); !slices.Equal(got, []string{"other"}) {
		t.Errorf("listed %q", got)
	}
	if n := count(diagnosed(s), skill.LevelWarning, "name_directory"); n != 1 {
		t.Errorf("%d warnings: %+v", n, diagnosed(s))
	}
}

func TestDiscoveryDescriptionMissingSkipped(t *testing.T) {
	t.Parallel()
	m := newMachine(t)
	m.user(t, "a", header("name: a"))
	m.user(t, "b", named("b"))
	s := m.open(t)
	if text := block(t, s).Stable.Text; strings.Contains(text, "\na\n") || !strings.Contains(text, "\nb\n") {
		t.Error(text)
	}
	if n := count(diagnosed(s), skill.LevelError, "description_missing"); n != 1 {
		t.Errorf("%d errors: %+v", n, diagnosed(s))
	}
}

func TestDiscoveryNoSkillsNoBlock(t *testing.T) {
	t.Parallel()
	c := block(t, newMachine(t).open(t))
	if got := c.Prefix(); got != "" {
		t.Errorf("prompt %q", got)
	}
	if got := strings.TrimSuffix(c.Stable.Text, "\n"); got != "<available_skills>\n</available_skills>" {
		t.Errorf("block %q", got)
	}
}

func TestDiscoveryDisabledIsAbsent(t *testing.T) {
	t.Parallel()
	m := newMachine(t)
	m.user(t, "deploy-app", named("deploy-app"))
	m.user(t, "b", named("b"))
	m.filter = func(e *source.Entry) bool { return e.Skill.Name != "deploy-app" }
	s := m.open(t)
	if got := listed(s); !slices.Equal(got, []string{"b"}) {
		t.Errorf("listed %q", got)
	}
	for _, name := range []string{"deploy-app", "deploy-ap"} {
		if r, err := s.LookupForModel(name); err == nil || strings.Contains(strings.TrimPrefix(err.Error(), fmt.Sprintf("skill %q", name)), "deploy-app") {
			t.Errorf("%v, %v", r, err)
		}
	}
	// A switch leaves the record in the Snapshot: the catalog does not show it either.
	m.filter = nil
	s = m.open(t)
	for _, r := range s.All {
		if r.Skill.Name == "deploy-app" {
			r.State = registry.Disabled
		}
	}
	if text := block(t, s).Stable.Text; strings.Contains(text, "deploy-app") {
		t.Error(text)
	}
	if r, err := s.LookupForModel("deploy-app"); err == nil || r != nil {
		t.Errorf("%v, %v", r, err)
	}
	if r, err := s.LookupForModel("deploy-ap"); err == nil || strings.Contains(err.Error(), "deploy-app") {
		t.Errorf("%v, %v", r, err)
	}
}
