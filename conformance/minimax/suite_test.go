package minimax

import (
	"context"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/deftskills/deft/internal/config"
	"github.com/deftskills/deft/internal/suitetest"
	"github.com/deftskills/deft/registry"
	"github.com/deftskills/deft/skill"
	"github.com/deftskills/deft/source"
)

// later are the lines that no test proves yet: what menus and panels of a full-screen program
// show, and the pages behind them.
var later = map[string]string{
	"U": "01-03 12-22 26-26 28-28",
}

// isLater reports whether a line is one of those.
func isLater(group string, n int) bool {
	for _, word := range strings.Fields(later[group]) {
		from, to := 0, 0
		if _, err := fmt.Sscanf(word, "%d-%d", &from, &to); err == nil && n >= from && n <= to {
			return true
		}
	}
	return false
}

func TestEveryLineIsATest(t *testing.T) {
	t.Parallel()
	found := suitetest.Functions(t)
	elsewhere := suitetest.Elsewhere(t, "minimax", "../../registry")
	want := map[string]int{"S": 22, "W": 12, "L": 20, "P": 34, "A": 15, "B": 21, "C": 28, "T": 17, "U": 28, "X": 9}
	here, all := 0, 0
	for group, names := range lines {
		list := strings.Fields(names)
		all += len(list)
		if len(list) != want[group] {
			t.Errorf("group %s has %d lines, want %d", group, len(list), want[group])
		}
		for i, line := range list {
			test := fmt.Sprintf("Test%s%02d%s", group, i+1, camel(line))
			switch {
			case found[test]+elsewhere[fmt.Sprintf("%s%02d", group, i+1)] > 0:
				here++
			case !isLater(group, i+1):
				t.Errorf("no %s for line %q", test, line)
			}
		}
	}
	if all != 206 || here < 190 {
		t.Errorf("%d lines, %d tests", all, here)
	}
	for _, odd := range []string{"A03", "A12", "W04", "W10", "S12", "B03", "X06", "T06", "U09"} {
		if !slices.ContainsFunc(slices.Collect(maps.Keys(found)), func(name string) bool {
			return strings.HasPrefix(name, "Test"+odd) && strings.HasSuffix(name, "Deft")
		}) {
			t.Errorf("no test says what deft does instead of %s", odd)
		}
	}
}

func camel(line string) string {
	var b strings.Builder
	for word := range strings.SplitSeq(line, "-") {
		b.WriteString(strings.ToUpper(word[:1]) + word[1:])
	}
	return b.String()
}

// world is a machine of its own: home, data directory, workspace.
type world struct {
	t                    testing.TB
	root, home, data, ws string
	env                  source.Env
	config               registry.Config
}

func newWorld(t testing.TB) *world {
	t.Helper()
	root, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	w := &world{t: t, root: root, home: filepath.Join(root, "home"), data: filepath.Join(root, "data"), ws: filepath.Join(root, "repo")}
	for _, dir := range []string{w.home, w.data, w.ws} {
		w.mkdir(dir)
	}
	vars := map[string]string{"MINIMAX_DATA_DIR": w.data}
	w.env = source.Env{
		Workspace: w.ws, Home: w.home, External: true, Getenv: func(name string) string { return vars[name] }, OS: "linux",
		Format: source.Format{Dialect: skill.MiniMax}, Now: func() time.Time { return time.Now().Add(time.Hour) },
		Bundled: []string{filepath.Join(root, "bundle")},
	}
	w.config = registry.Config{Trust: registry.ProjectAlways, Workspace: w.ws}
	return w
}

func (w *world) mkdir(parts ...string) string {
	w.t.Helper()
	dir := filepath.Join(parts...)
	if err := os.MkdirAll(dir, 0o755); err != nil {
		w.t.Fatal(err)
	}
	return dir
}

func (w *world) write(path, text string) string {
	w.t.Helper()
	w.mkdir(filepath.Dir(path))
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		w.t.Fatal(err)
	}
	return path
}

func (w *world) link(target, path string) {
	w.t.Helper()
	w.mkdir(filepath.Dir(path))
	if err := os.Symlink(target, path); err != nil {
		w.t.Fatal(err)
	}
}

// skill writes a skill with these further header lines and returns its directory.
func (w *world) skill(dir string, lines ...string) string {
	w.t.Helper()
	w.write(filepath.Join(dir, "SKILL.md"), text(filepath.Base(dir), lines...))
	return dir
}

func text(name string, lines ...string) string {
	return "---\n" + strings.Join(append([]string{"name: " + name, "title: T", "description: From here."}, lines...), "\n") + "\n---\nDo it.\n"
}

// settings writes the data directory's config.yaml and lays it over the environment.
func (w *world) settings(yaml string) {
	w.t.Helper()
	w.write(filepath.Join(w.data, "config.yaml"), yaml)
	c := config.New()
	config.MiniMax(c, openFile, filepath.Join(source.DataDir(w.env), "config.yaml"))
	w.env.External, w.env.NoWalkUp, w.config.QuietCopies = c.External, !c.WalkUp, !c.DuplicateWarn
	w.env.Overrides = map[string]source.Override{}
	for id, s := range c.Roots {
		w.env.Overrides[id] = source.Override{Off: s.Enabled != nil && !*s.Enabled, Priority: s.Priority}
	}
}

func (w *world) roots() []source.Source {
	out, _ := source.Roots(context.Background(), w.env)
	return out
}

// rootIDs lists the ids of the roots, paths of this machine cut to start with $.
func (w *world) rootIDs() []string {
	var out []string
	for _, s := range w.roots() {
		out = append(out, strings.ReplaceAll(s.Info().ID, w.root, "$"))
	}
	return out
}

func (w *world) open(more ...source.Source) *registry.Registry {
	w.t.Helper()
	c := w.config
	c.Sources, c.Dialect = append(w.roots(), more...), w.env.Format.Dialect
	r, err := registry.Open(context.Background(), c)
	if err != nil {
		w.t.Fatal(err)
	}
	return r
}

func (w *world) snapshot(more ...source.Source) *registry.Snapshot {
	w.t.Helper()
	return w.open(more...).Snapshot()
}

// available returns the winner of a name as a model sees it, nil if it sees none.
func available(s *registry.Snapshot, name string) *registry.Record {
	r, err := s.LookupForModel(name)
	if err != nil {
		return nil
	}
	return r
}

// codes lists the codes of a Snapshot and its skills but for absent roots, sorted.
func codes(s *registry.Snapshot) []string {
	var out []string
	for _, d := range s.Shape().Diagnostics {
		if d.Code != "root_unreadable" {
			out = append(out, d.Code)
		}
	}
	slices.Sort(out)
	return out
}

// names lists what a model sees.
func names(s *registry.Snapshot) []string {
	var out []string
	for _, r := range s.Winners {
		if r.ForModel() {
			out = append(out, r.Address)
		}
	}
	return out
}

func equal[T comparable](t testing.TB, what string, got, want []T) {
	t.Helper()
	if !slices.Equal(got, want) {
		t.Errorf("%s: %v, want %v", what, got, want)
	}
}

// wins wants a name to belong to the copy in a directory.
func wins(t testing.TB, s *registry.Snapshot, name, dir string) *registry.Record {
	t.Helper()
	r := available(s, name)
	switch {
	case r == nil:
		t.Errorf("%s is not there, want %s", name, dir)
	case r.Dir != dir:
		t.Errorf("%s is %s, want %s", name, r.Dir, dir)
	}
	return r
}
