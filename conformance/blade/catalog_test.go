package blade

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/deftskills/deft/catalog"
	"github.com/deftskills/deft/registry"
)

// listing opens a project with one skill a file, "name: header lines".
func listing(t *testing.T, headers map[string]string) *registry.Snapshot {
	t.Helper()
	p := project(t)
	for name, lines := range headers {
		put(t, filepath.Join(p, "skills", name, "SKILL.md"), "---\nname: "+name+"\n"+lines+"\n---\nBody.\n")
	}
	return local(t, p).Snapshot()
}

// listedTo is what the dialect shows a model.
func listedTo(t *testing.T, s *registry.Snapshot, v catalog.View) string {
	t.Helper()
	c, err := catalog.New(catalog.Config{}).Render(t.Context(), catalog.Input{Snapshot: s, Dialect: dialect, View: v})
	if err != nil {
		t.Fatal(err)
	}
	return c.Stable.Text
}

func block(lines ...string) string {
	return strings.Join(append(append([]string{"<available_skills>"}, lines...), "</available_skills>"), "\n")
}

// menu lists what a person may start.
func menu(s *registry.Snapshot) []string {
	var out []string
	for _, r := range s.Winners {
		if r.Skill.Meta.UserInvocable {
			out = append(out, r.Skill.Name)
		}
	}
	return out
}

func TestBlade_E01_line(t *testing.T) {
	t.Parallel()
	s := listing(t, map[string]string{"a": "description: Does a.\nargument-hint: <f>", "b": "description: Does b."})
	want(t, "block", listedTo(t, s, catalog.View{}), block("- a <f>: Does a.", "- b: Does b."))
}

func TestBlade_E02_cut(t *testing.T) {
	t.Parallel()
	s := listing(t, map[string]string{"a": "description: " + strings.Repeat("d", 100), "b": "description: " + strings.Repeat("d", 101), "c": "description: " + strings.Repeat("😀", 50), "d": "description: " + strings.Repeat("😀", 51)})
	want(t, "block", listedTo(t, s, catalog.View{}), block("- a: "+strings.Repeat("d", 100), "- b: "+strings.Repeat("d", 97)+"...",
		"- c: "+strings.Repeat("😀", 50), "- d: "+strings.Repeat("😀", 48)+"..."))
}

func TestBlade_E04_none(t *testing.T) {
	t.Parallel()
	want(t, "block", listedTo(t, listing(t, nil), catalog.View{}), block())
}

func TestBlade_E05_manual_only_hidden(t *testing.T) {
	t.Parallel()
	s := listing(t, map[string]string{"a": "description: d\ndisable-model-invocation: true", "b": "description: d"})
	want(t, "block", listedTo(t, s, catalog.View{}), block("- b: d"))
}

func TestBlade_E06_user_list(t *testing.T) {
	t.Parallel()
	s := listing(t, map[string]string{"a": "description: d\nuser-invocable: true", "b": "description: d\nuser-invocable: false", "c": "description: d"})
	want(t, "menu", menu(s), []string{"a"})
	want(t, "block", listedTo(t, s, catalog.View{}), block("- a: d", "- b: d", "- c: d"))
}

func TestBlade_E07_manual_and_user(t *testing.T) {
	t.Parallel()
	s := listing(t, map[string]string{"a": "description: d\nuser-invocable: true\ndisable-model-invocation: true"})
	want(t, "menu", menu(s), []string{"a"})
	want(t, "block", listedTo(t, s, catalog.View{}), block())
}

func TestBlade_E08_path_filtered(t *testing.T) {
	t.Parallel()
	s := listing(t, map[string]string{"a": "description: d\npaths: [src/**]", "b": "description: d"})
	for touched, lines := range map[string]string{"src/index.ts": block("- a: d", "- b: d"), "docs/readme.md": block("- b: d"), "": block("- b: d")} {
		// A host says which skills a touched file matched.
		view := catalog.View{Touched: map[string]bool{}}
		if strings.HasPrefix(touched, "src/") {
			view.Touched["a"] = true
		}
		want(t, touched, listedTo(t, s, view), lines)
	}
}

func TestBlade_E19_description_plus_when(t *testing.T) {
	t.Parallel()
	s := listing(t, map[string]string{"a": "description: Does a.\nwhen_to_use: Use for a.", "b": "description: Does b\nwhen_to_use: " + strings.Repeat("w", 100)})
	want(t, "block", listedTo(t, s, catalog.View{}), block("- a: Does a. Use for a.", "- b: Does b. "+strings.Repeat("w", 97-len("Does b. "))+"..."))
}
