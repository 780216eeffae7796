package minimax

import (
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/deftskills/deft/registry"
	"github.com/deftskills/deft/skill"
	"github.com/deftskills/deft/source"
)

// plugin writes an installed plugin with one skill, whose file is raw, and returns the
// plugin's directory.
func (w *world) plugin(name, skillName, raw string) string {
	w.t.Helper()
	dir := filepath.Join(w.data, "plugins", name+"@market", "1.0.0")
	w.write(filepath.Join(dir, ".minimax-plugin", "plugin.json"), `{"name": "`+name+`", "version": "1.0.0"}`)
	w.write(filepath.Join(dir, "skills", skillName, "SKILL.md"), raw)
	return dir
}

// Lines P28 to P33, read from the disk as skills of an installed plugin.
func TestPluginsOfTheDataDirectoryAreReadStrictly(t *testing.T) {
	t.Parallel()
	const header = "---\nname: a\ndescription: d\n"
	aliases := func(n int) string { return header + "x: &x 1\ny: [" + strings.Repeat("*x, ", n) + "]\n---\nText.\n" }
	long := func(n int) string { return header + "compatibility: " + strings.Repeat("c", n) + "\n---\nText.\n" }
	for _, c := range []struct {
		line, what, raw string
		agentSkills     bool
		good            bool
	}{
		{"P28", "no header", "Text.\n", false, false},
		{"P28", "an unclosed header", header, false, false},
		{"P28", "a byte order mark", "\uFEFF" + header + "---\nText.\n", false, false},
		{"P28", "a list", "---\n- a\n---\nText.\n", false, false},
		{"P28", "duplicate keys", header + "name: a\n---\nText.\n", false, false},
		{"P28", "a plain header", header + "---\nText.\n", false, true},
		{"P29", "no description", "---\nname: a\n---\nText.\n", false, false},
		{"P30", "no name", "---\ndescription: d\n---\nText.\n", false, true},
		{"P30", "no name with agentSkills", "---\ndescription: d\n---\nText.\n", true, false},
		{"P31", "another name", "---\nname: b\ndescription: d\n---\nText.\n", false, false},
		{"P32", "a number as license", header + "license: 1\n---\nText.\n", true, false},
		{"P32", "a list of tools", header + "allowed-tools: [a]\n---\nText.\n", true, false},
		{"P32", "compatibility of 0", header + "compatibility: ''\n---\nText.\n", true, false},
		{"P32", "compatibility of 1", long(1), true, true},
		{"P32", "compatibility of 500", long(500), true, true},
		{"P32", "compatibility of 501", long(501), true, false},
		{"P32", "nested metadata", header + "metadata: {a: {b: c}}\n---\nText.\n", true, false},
		{"P33", "20 aliases", aliases(20), false, true},
		{"P33", "21 aliases", aliases(21), false, false},
	} {
		w := newWorld(t)
		dir := w.plugin("kit", "a", c.raw)
		w.skill(filepath.Join(dir, "skills", "good"))
		s := w.snapshot()
		if c.agentSkills { // an option of the host that hands the plugin over
			w.env.Getenv, w.env.Home = nil, ""
			s = w.snapshot(source.Plugin(dir, source.PluginOptions{Format: w.env.Format, AgentSkills: true}))
		}
		at := slices.IndexFunc(s.All, func(r *registry.Record) bool { return r.Dir == filepath.Join(dir, "skills", "a") })
		if at < 0 {
			t.Errorf("%s %s: not listed", c.line, c.what)
			continue
		}
		r := s.All[at]
		if got := r.ForModel(); got != c.good {
			t.Errorf("%s %s: loaded %v, %+v", c.line, c.what, got, r.Skill.Diagnostics)
		}
		if ds := r.Skill.Diagnostics; !c.good && (r.State != registry.Invalid || len(ds) == 0 || ds[0].Code != "SKILL_SCHEMA_INVALID" || ds[0].File == "" || ds[0].Message == "") {
			t.Errorf("%s %s: %s %+v", c.line, c.what, r.State, ds)
		}
		if available(s, "kit:good") == nil {
			t.Errorf("%s %s: its neighbour is gone", c.line, c.what)
		}
	}
}

func TestP31PluginExpectedNameOfTheHost(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	dir := w.plugin("kit", "a", "---\nname: b\ndescription: d\n---\nText.\n")
	src := source.Plugin(dir, source.PluginOptions{Format: w.env.Format, ExpectedNames: map[string]string{"a": "b"}})
	l, err := src.Scan(t.Context(), nil)
	if err != nil || len(l.Entries) != 1 || !l.Entries[0].Skill.Valid || l.Entries[0].Skill.Name != "b" {
		t.Errorf("%+v %v", l, err)
	}
}

func TestPluginsAreReadLenientlyDeft(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	dir := w.plugin("kit", "a", "Text.\n")
	src := source.Plugin(dir, source.PluginOptions{Format: source.Format{Dialect: skill.Deft}})
	r, err := registry.Open(t.Context(), registry.Config{Sources: []source.Source{src}})
	if err != nil {
		t.Fatal(err)
	}
	if got, err := r.Snapshot().Lookup("a"); err != nil || got.Address != "kit:a" || !got.Skill.Valid {
		t.Errorf("%+v %v", got, err)
	}
}

func TestC06InstalledPluginsSpareTheFilters(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.plugin("kit", "a", text("a"))
	w.skill(filepath.Join(w.data, "skills", "mine"))
	equal(t, "offered", names(w.snapshot()), []string{"kit:a", "mine"})
}

func TestT10PluginNormalised(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.plugin("plug", "skill", text("skill"))
	s := w.snapshot()
	for _, sel := range []string{"plug:skill", " Plug:Skill ", "PLUG:SKILL"} {
		if r := available(s, sel); r == nil || r.Address != "plug:skill" {
			t.Errorf("%q: %v", sel, r)
		}
	}
	for _, sel := range []string{"plug", "plug:", ":skill", "plug:skills", "/plug:skill"} {
		if r := available(s, sel); r != nil {
			t.Errorf("%q finds %s", sel, r.Address)
		}
	}
}

func TestT11StandaloneBeforePlugin(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.plugin("p", "s", text("s"))
	dir := w.write(filepath.Join(w.data, "skills", "x", "SKILL.md"), text("p:s"))
	s := w.snapshot()
	wins(t, s, "p:s", filepath.Dir(dir))
}

func TestBareNamesOfPluginsAreNobodys(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.plugin("kit", "a", text("a"))
	s := w.snapshot()
	if r := available(s, "a"); r != nil {
		t.Errorf("a finds %s: dialect minimax knows plugins by their prefix only", r.Address)
	}
}
