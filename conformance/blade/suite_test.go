package blade

import (
	"cmp"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"github.com/deftskills/deft/internal/suitetest"
	"github.com/deftskills/deft/registry"
	"github.com/deftskills/deft/skill"
	"github.com/deftskills/deft/source"
	"github.com/deftskills/deft/toolset"
)

// dialect is the one that the rows are held against. The list of rows that another one
// does not keep is made by a run with the variable set.
var dialect = skill.Dialect(cmp.Or(os.Getenv("SUITE_DIALECT"), string(skill.Blade)))

// groups are the rows of the suite that concern discovery, the tool, paths and patches,
// with their number.
var groups = map[string]int{"A": 44, "B": 20, "C": 13, "D": 15, "E": 19, "F": 13, "G": 26, "H": 15, "I": 8, "J": 29, "K": 11, "Z": 20}

// left are the rows without a test here, each with its reason.
var left = map[string]string{}

func TestEveryRowIsATest(t *testing.T) {
	t.Parallel()
	found, slugs := map[string]int{}, map[string]bool{}
	for name, n := range suitetest.Functions(t) {
		if rest, ok := strings.CutPrefix(name, "TestBlade_"); ok {
			found[rest[:3]] += n
			slugs[plain(rest)] = true
		}
	}
	for _, row := range listedRows(t) {
		if _, skipped := left[row[:3]]; !skipped && !slugs[plain(row)] {
			t.Errorf("row %s has no test of its name", row)
		}
	}
	tests := 0
	for group, n := range groups {
		for i := 1; i <= n; i++ {
			id := fmt.Sprintf("%s%02d", group, i)
			if _, skipped := left[id]; skipped == (found[id] > 0) || found[id] > 1 {
				t.Errorf("row %s has %d tests; left out: %v", id, found[id], skipped)
			}
			tests += found[id]
		}
	}
	t.Logf("%d rows have a test, %d are left out", tests, len(left))
}

// loader and finder are the names of the dialect's tools that load skills and find tools.
func loader() string { return toolset.Options{Dialect: dialect}.LoaderName() }

func finder() string { return toolset.Options{Dialect: dialect}.Name(toolset.NameToolSearch) }

// plain is the name of a row without what is only spelling.
func plain(row string) string { return strings.ToLower(strings.ReplaceAll(row, "_", "")) }

var rowLine = regexp.MustCompile(`(?m)^\| ([A-Z][0-9]{2}) \| ([a-z0-9_]+) \|`)

// listedRows are the rows of the suite's document, where it is at hand.
func listedRows(t *testing.T) []string {
	t.Helper()
	dir := os.Getenv("DEFT_TESTDATA")
	if dir == "" {
		return nil
	}
	text, err := os.ReadFile(filepath.Join(dir, "conformance", "blade.md"))
	if err != nil {
		t.Fatal(err)
	}
	var out []string
	for _, m := range rowLine.FindAllStringSubmatch(string(text), -1) {
		out = append(out, m[1]+"_"+m[2])
	}
	if len(out) < 200 {
		t.Errorf("only %d rows", len(out))
	}
	return out
}

func want(t *testing.T, what string, got, want any) {
	t.Helper()
	if fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("%s = %v, want %v", what, got, want)
	}
}

func parse(text string) *skill.Skill {
	return skill.Parse([]byte(text), skill.ParseOptions{Dialect: dialect, DirName: "x", Path: "S/x/SKILL.md"})
}

// head parses a skill called x with more header lines.
func head(lines ...string) *skill.Skill {
	return parse("---\nname: x\ndescription: d\n" + strings.Join(lines, "\n") + "\n---\nBody.\n")
}

// loads is head for a skill that must load.
func loads(t *testing.T, lines ...string) *skill.Skill {
	t.Helper()
	s := head(lines...)
	if !s.Valid {
		t.Fatalf("%q: %v", lines, s.Diagnostics)
	}
	return s
}

// fails wants a file that does not load and whose verdict holds a message.
func fails(t *testing.T, src, message string) {
	t.Helper()
	profile := map[skill.Dialect]skill.Profile{skill.Blade: skill.ProfileBlade}[dialect]
	verdict := skill.Validate(skill.Input{Source: []byte(src), DirName: "x"}, profile)
	for _, d := range verdict.Diagnostics {
		if d.Level == skill.LevelError && strings.Contains(d.Message, message) && !parse(src).Valid {
			return
		}
	}
	t.Errorf("valid %v, no error holds %q: %v", parse(src).Valid, message, verdict.Diagnostics)
}

func codes(ds []skill.Diagnostic) string {
	var out []string
	for _, d := range ds {
		out = append(out, d.Code)
	}
	return strings.Join(out, " ")
}

func text(name string) string {
	return "---\nname: " + name + "\ndescription: d\n---\nBody of " + name + ".\n"
}

// project is a folder P with these skills below S.
func project(t *testing.T, dirs ...string) string {
	t.Helper()
	p, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	for _, d := range dirs {
		put(t, filepath.Join(p, d, "SKILL.md"), text(filepath.Base(d)))
	}
	return p
}

func put(t *testing.T, path, content string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(content), 0o644); err != nil {
		t.Fatal(err)
	}
}

func env(p string) source.Env {
	return source.Env{
		Workspace: p, Home: filepath.Join(p, "home"), OS: "linux", External: true,
		Format: source.Format{Dialect: dialect}, Now: func() time.Time { return time.Now().Add(time.Hour) },
	}
}

// local is a registry of profile local: the project's own folder and more sources.
func local(t *testing.T, p string, more ...source.Source) *registry.Registry {
	t.Helper()
	roots, _ := source.Roots(t.Context(), env(p))
	named, _ := source.Expand(t.Context(), elsewhere(p), env(p))
	return of(t, append(append(roots, named...), more...)...)
}

// elsewhere names the project's own folder for dialects that do not look there: where
// skills are found is not what their rows are about.
func elsewhere(p string) []string {
	if dialect == skill.Blade {
		return nil
	}
	return []string{filepath.Join(p, "skills")}
}

func of(t *testing.T, sources ...source.Source) *registry.Registry {
	t.Helper()
	r, err := registry.Open(t.Context(), registry.Config{Dialect: dialect, Sources: sources, Trust: registry.ProjectAlways})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { r.Close() })
	return r
}

func names(s *registry.Snapshot) []string {
	var out []string
	for _, r := range s.Winners {
		out = append(out, r.Skill.Name)
	}
	return out
}

func record(t *testing.T, s *registry.Snapshot, name string) *registry.Record {
	t.Helper()
	r, err := s.Lookup(name)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// kept is a source of one kind in memory that holds the skill x.
func kept(i source.Info) source.Source {
	if i.Trust == "" {
		i.Trust = source.DefaultTrust(i.Kind)
	}
	tree := fstest.MapFS{"x/SKILL.md": {Data: []byte(text("x"))}}
	return source.FS(tree, source.DirOptions{Info: i, Format: source.Format{Dialect: dialect}})
}

func data(defs ...source.Definition) source.Source {
	return source.Data(defs, source.DataOptions{Format: source.Format{Dialect: dialect}})
}

func define(name string) source.Definition {
	return source.Definition{Name: name, Description: "d", Content: "Body of " + name + "."}
}
