package minara

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/deftskills/deft/catalog"
	"github.com/deftskills/deft/internal/suitetest"
	"github.com/deftskills/deft/registry"
	"github.com/deftskills/deft/route"
	"github.com/deftskills/deft/skill"
	"github.com/deftskills/deft/source"
)

// groups are the lines of the suite that have a test here, with their number.
var groups = map[string]int{
	"SC": 26, "CO": 20, "RT": 43, "KW": 16, "ST": 26, "AC": 25, "TG": 34, "SG": 14, "PT": 5, "AG": 5, "SN": 4, "CD": 3, "TR": 7, "EX": 12,
}

// testName is how a test names its line.
var testName = regexp.MustCompile(`^TestMinara_([A-Z]{2}\d{2})_`)

func TestEveryLineIsATest(t *testing.T) {
	t.Parallel()
	found := map[string]int{}
	for name, n := range suitetest.Functions(t) {
		if m := testName.FindStringSubmatch(name); m != nil {
			found[m[1]] += n
		}
	}
	for group, n := range groups {
		for i := 1; i <= n; i++ {
			id := fmt.Sprintf("%s%02d", group, i)
			if found[id] != 1 {
				t.Errorf("line %s has %d tests", id, found[id])
			}
			delete(found, id)
		}
	}
	for id, n := range found {
		t.Errorf("%d tests for %s, which is no line of this suite", n, id)
	}
}

// The document is data outside the project; without it the counts above are all.
func TestTheListIsThatOfTheDocument(t *testing.T) {
	t.Parallel()
	root := os.Getenv("DEFT_TESTDATA")
	if root == "" {
		t.Skip("DEFT_TESTDATA is not set: the document is not part of the project")
	}
	text, err := os.ReadFile(filepath.Join(root, "conformance", "minara.md"))
	if err != nil {
		t.Fatal(err)
	}
	count := map[string]int{}
	for _, m := range regexp.MustCompile(`(?m)^- ([A-Z]{2})\d{2} [dc]:`).FindAllStringSubmatch(string(text), -1) {
		count[m[1]]++
	}
	for group, n := range count {
		if groups[group] != n {
			t.Errorf("group %s has %d lines in the document", group, n)
		}
	}
	if len(count) != len(groups) {
		t.Errorf("the document has %d groups", len(count))
	}
}

func want(t *testing.T, what string, got, want any) {
	t.Helper()
	if fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("%s = %v, want %v", what, got, want)
	}
}

// skills are SKILL.md texts by folder.
type skills map[string]string

// text is a skill with these lines below metadata.minara.
func text(name string, lines ...string) string {
	head := "---\nname: " + name + "\ndescription: Does " + name + ".\n"
	if len(lines) > 0 {
		head += "metadata:\n  minara:\n    " + strings.Join(lines, "\n    ") + "\n"
	}
	return head + "---\nBody of " + name + ".\n"
}

// abc are the skills a, b and c, each with these lines.
func abc(a, b, c string) skills {
	out := skills{}
	for name, lines := range map[string]string{"a": a, "b": b, "c": c} {
		if lines == "" {
			lines = "priority: 50"
		}
		out[name] = text(name, strings.Split(lines, "\n")...)
	}
	return out
}

// one is the skill a with these lines.
func one(lines ...string) skills { return skills{"a": text("a", lines...)} }

func keywords(words string) string { return "routing: {keywords: [" + words + "]}" }

func parse(src string) *skill.Skill {
	return skill.Parse([]byte(src), skill.ParseOptions{Dialect: skill.Minara, DirName: "a", Path: "a/SKILL.md"})
}

// everything is a set of names that has all of them.
type everything struct{}

func (everything) Has(string) bool       { return true }
func (everything) HasPrefix(string) bool { return true }
func (everything) Digest() [32]byte      { return [32]byte{1} }

// env is the common environment: all tools, on linux.
func env() skill.Environment { return skill.Environment{Tools: everything{}, OS: "linux"} }

// from is a source of these skills; kind "" means the user's.
func from(kind source.Kind, s skills) source.Source {
	tree := fstest.MapFS{}
	for dir, content := range s {
		name := dir
		if !strings.HasSuffix(dir, ".json") {
			name += "/SKILL.md"
		}
		tree[name] = &fstest.MapFile{Data: []byte(content)}
	}
	if kind == "" {
		kind = source.User
	}
	return source.FS(tree, source.DirOptions{
		Info: source.Info{Kind: kind, Trust: source.Trusted}, Format: source.Format{Dialect: skill.Minara},
	})
}

func snapshot(t testing.TB, e skill.Environment, sources ...source.Source) *registry.Snapshot {
	t.Helper()
	r, err := registry.Open(t.Context(), registry.Config{Dialect: skill.Minara, Sources: sources, Environment: e})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { r.Close() })
	return r.Snapshot()
}

func options() route.Options { return route.DialectOptions(skill.Minara) }

// turn routes one turn over these skills. A turn without an environment has the common
// one.
func turn(t testing.TB, s skills, in route.TurnRoutingContext) route.Result {
	t.Helper()
	return turnWith(t, s, in, options())
}

func turnWith(t testing.TB, s skills, in route.TurnRoutingContext, o route.Options) route.Result {
	t.Helper()
	if in.Env == (skill.Environment{}) {
		in.Env = env()
	}
	r, _ := route.Compile(snapshot(t, in.Env, from("", s)), o)
	res, err := r.Route(t.Context(), in)
	if err != nil {
		t.Fatal(err)
	}
	return res
}

// says routes a message alone.
func says(t testing.TB, s skills, message string) route.Result {
	t.Helper()
	return turn(t, s, route.TurnRoutingContext{Message: message})
}

// at is how a skill fares: its score with its reasons, or why it is removed.
func at(res route.Result, name string) string {
	for e := range res.All() {
		if e.Name == name {
			return strings.TrimSpace(fmt.Sprintf("%d %s", e.Score, strings.Join(e.Reasons, " ")))
		}
	}
	var why []string
	for h := range res.Hidden() {
		if h.Name == name {
			why = append(why, strings.TrimSpace(h.Code+" "+h.Detail))
		}
	}
	return "removed: " + strings.Join(why, "; ")
}

// order lists the names of All.
func order(res route.Result) string {
	var names []string
	for e := range res.All() {
		names = append(names, e.Name)
	}
	return strings.Join(names, " ")
}

// shown is the catalog of a turn in mode routed: both blocks.
func shown(t testing.TB, snap *registry.Snapshot, res route.Result) string {
	t.Helper()
	in := catalog.Input{Snapshot: snap, Dialect: skill.Minara, Mode: catalog.ModeRouted, Routing: true, Fit: string(res.Fit)}
	for h := range res.All() {
		in.Routed = append(in.Routed, catalog.Routed{Address: h.Address, Name: h.Name, Score: float64(h.Score), Reasons: h.Reasons})
	}
	c, err := catalog.New(catalog.Config{Counter: catalog.Estimate()}).Render(t.Context(), in)
	if err != nil {
		t.Fatal(err)
	}
	return c.Stable.Text + "\n" + c.Tail.Text
}

func lint(t testing.TB, src string, o skill.LintOptions) []skill.Diagnostic {
	t.Helper()
	s := parse(src)
	o.Dialect = skill.Minara
	return skill.Lint(s, []byte(src[s.Body.Start:s.Body.End]), o)
}

// finding returns the level of the first finding with the code, "" for none.
func finding(ds []skill.Diagnostic, code string) string {
	i := slices.IndexFunc(ds, func(d skill.Diagnostic) bool { return d.Code == code })
	if i < 0 {
		return ""
	}
	return string(ds[i].Level)
}
