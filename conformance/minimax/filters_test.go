package minimax

import (
	"database/sql"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/deftskills/deft/builtin"
	"github.com/deftskills/deft/registry"
	"github.com/deftskills/deft/skill"
	"github.com/deftskills/deft/source"
)

// blocked is a gate that lets nothing through, for one reason.
type blocked string

func (b blocked) Blocks(string) (code, need string) { return string(b), "nothing" }

func TestC01FilterOrder(t *testing.T) {
	t.Parallel()
	// Every filter hides the skill; one after the other is lifted, in the order.
	w := newWorld(t)
	w.env.Legacy = []string{"old", "older"}
	for _, agent := range []string{"old", "older"} {
		w.skill(filepath.Join(w.data, "agents", agent, "skills/mcp-x"), "listed: false", "requiresBeta: b")
	}
	f, off := &w.config.Filters, newCabinet(t)
	*f = registry.Filters{Agent: "other", Selected: []string{}, Extension: []string{}, Gate: blocked("region"), Disabled: off}
	w.config.Environment.Servers = skill.NewNameSet("x")
	at := "files://" + filepath.Join(w.data, "agents/old/skills/mcp-x/SKILL.md")
	off.turn(t, at, true)
	steps := []struct {
		code string
		lift func()
	}{
		{"region", func() { f.Gate = blocked("gate") }},
		{"agent_scope", func() { f.Agent = "" }},
		{"ambiguous", func() {
			w.env.Legacy = []string{"old"}
			if err := os.RemoveAll(filepath.Join(w.data, "agents/older")); err != nil {
				t.Fatal(err)
			}
		}},
		{"unlisted", func() { w.skill(filepath.Join(w.data, "agents/old/skills/mcp-x"), "requiresBeta: b") }},
		{"mcp_duplicate", func() { w.config.Environment.Servers = nil }},
		{"allow_only", func() { f.Selected = nil }},
		{"allow_only", func() { f.Extension = nil }},
		{"unmet", func() { f.Gate = nil }},
		{"beta", func() { w.config.Beta = func(flag string) bool { return flag == "b" } }},
		{"off", func() { f.Disabled = nil }},
	}
	for i, step := range steps {
		s := w.snapshot()
		r := s.Winners[0]
		if r.ForModel() || len(r.Reasons) != 1 || r.Reasons[0].Code != step.code {
			t.Fatalf("step %d: %s %v, want %s", i, r.State, r.Reasons, step.code)
		}
		if i == 5 && !strings.Contains(r.Reasons[0].Message, "agent") || i == 6 && !strings.Contains(r.Reasons[0].Message, "extension") {
			t.Errorf("step %d: %v", i, r.Reasons)
		}
		step.lift()
	}
	equal(t, "at the end", names(w.snapshot()), []string{"mcp-x"})
}

func TestC02McpDuplicateHidden(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.skill(filepath.Join(w.global(), "mcp-github"))
	equal(t, "not configured", names(w.snapshot()), []string{"mcp-github"})
	w.config.Environment.Servers = skill.NewNameSet("github")
	equal(t, "configured", names(w.snapshot()), nil)
}

func TestC03SelectorComparison(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.skill(filepath.Join(w.global(), "docx"))
	w.skill(filepath.Join(w.global(), "other"))
	for _, spelt := range []string{" Docx ", "ｄｏｃｘ", "DOCX"} {
		w.config.Filters.Selected = []string{spelt}
		equal(t, spelt, names(w.snapshot()), []string{"docx"})
	}
}

func TestC04ExtensionSelectorSparesBuiltins(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.skill(filepath.Join(w.root, "bundle/skills/init"))
	w.skill(filepath.Join(w.global(), "mine"))
	w.config.Filters.Extension = []string{"other"}
	equal(t, "names", names(w.snapshot()), []string{"init"})
}

func TestC05BetaFlag(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.skill(filepath.Join(w.global(), "x"), "requiresBeta: b")
	for _, row := range []struct {
		flags map[string]any
		want  bool
	}{{map[string]any{"b": true}, true}, {map[string]any{"b": "true"}, false}, {nil, false}} {
		w.config.Beta = func(flag string) bool { return row.flags[flag] == true }
		if got := available(w.snapshot(), "x") != nil; got != row.want {
			t.Errorf("%v: shown %v", row.flags, got)
		}
	}
}

func TestC06PluginsAppendedAfterFiltering(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	dir := w.mkdir(w.root, "plugins/plug/skills")
	w.skill(filepath.Join(dir, "skill"))
	w.skill(filepath.Join(w.global(), "skill"))
	// The host hands the plugin's skills over beside the filtered ones.
	plug := source.Namespaced(source.Dir(dir, source.DirOptions{
		Info: source.Info{ID: "plugin:plug", Kind: source.PluginK}, Format: w.env.Format,
	}), "plug")
	s := w.snapshot(plug)
	equal(t, "names", names(s), []string{"plug:skill", "skill"})
	wins(t, s, "plug:skill", filepath.Join(dir, "skill"))
	w.config.Filters = registry.Filters{Selected: []string{}, Extension: []string{}, Gate: builtin.Gate{Host: builtin.Host{Tools: []string{}}}}
	equal(t, "selectors", names(w.snapshot(plug)), []string{"plug:skill"})
}

const stateKey = "standalone-skill-disabled-state"

// saved reads the value of the state as it lies in the file; "" is none.
func (c cabinet) saved(t *testing.T) (value string) {
	t.Helper()
	db, err := sql.Open("sqlite", c.file)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	err = db.QueryRowContext(t.Context(), "SELECT value FROM meta WHERE key LIKE '%' || ?", stateKey).Scan(&value)
	if err != nil && !errors.Is(err, sql.ErrNoRows) {
		t.Fatal(err)
	}
	return value
}

// spoil writes a value that no program of ours writes.
func (c cabinet) spoil(t *testing.T, value string) {
	t.Helper()
	db, err := sql.Open("sqlite", c.file)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	if _, err := db.ExecContext(t.Context(), "UPDATE meta SET value = ? WHERE key LIKE '%' || ?", value, stateKey); err != nil {
		t.Fatal(err)
	}
}

func TestU23DisabledStateFormat(t *testing.T) {
	t.Parallel()
	c := newCabinet(t)
	for _, location := range []string{"files:///b/SKILL.md", "files:///a/SKILL.md", "files:///b/SKILL.md"} {
		c.turn(t, location, true)
	}
	is(t, "value", c.saved(t), `{"version":1,"disabledLocationUris":["files:///a/SKILL.md","files:///b/SKILL.md"]}`)
	for _, location := range []string{"files:///a/SKILL.md", "files:///b/SKILL.md", "files:///c/SKILL.md"} {
		c.turn(t, location, false)
	}
	is(t, "empty", c.saved(t), "")
}

func TestU24DisabledStateMalformed(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.skill(filepath.Join(w.global(), "x"))
	at := "files://" + w.global() + "/x/SKILL.md"
	for _, value := range []string{
		"{", "null", `{"version":2,"disabledLocationUris":["` + at + `"]}`, `{"version":1,"disabledLocationUris":"` + at + `"}`,
	} {
		c := newCabinet(t)
		c.turn(t, at, true)
		w.config.Filters.Disabled = c
		equal(t, "off", names(w.snapshot()), nil)
		c.spoil(t, value)
		equal(t, value, names(w.snapshot()), []string{"x"})
	}
}

func TestU25DisabledByLocation(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	target := w.skill(filepath.Join(w.root, "target"))
	w.link(target, filepath.Join(w.global(), "one"))
	w.link(target, filepath.Join(w.home, ".claude/skills/two"))
	off := newCabinet(t)
	w.config.Filters.Disabled = off
	s := w.snapshot()
	if len(s.All) != 2 || s.All[0].Location != s.All[1].Location {
		t.Fatalf("two links do not share a location: %v", s.All)
	}
	off.turn(t, s.All[0].Location, true)
	equal(t, "off", names(w.snapshot()), nil)
	if err := os.Remove(filepath.Join(w.home, ".claude/skills/two")); err != nil {
		t.Fatal(err)
	}
	equal(t, "off by the other link too", names(w.snapshot()), nil)
	if err := os.Rename(target, target+"2"); err != nil {
		t.Fatal(err)
	}
	w.link(target+"2", filepath.Join(w.global(), "new"))
	equal(t, "renamed", names(w.snapshot()), []string{"target"})
}
