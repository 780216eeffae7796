package skill

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestExtensionBlocks(t *testing.T) {
	t.Parallel()
	s := read(`name: a
metadata:
  minara:
    id: market.watch
    priority: 7
    tool_names: [a_b, c]
    requires_env: [KEY]
    kind: external
    conditions:
      requiresTools: [t]
      any_bins: x y
    routing:
      keywords: [buy now, sell]
      negative_keywords: "never, not this"
      stages: [decide, unknown]
      asset_classes: [btc]
      signal_sources: [s]
    co_activate: [other.skill]
`, Deft)
	m := s.Meta
	want := Meta{
		ID: "market.watch", Priority: 7, ToolNames: []string{"a_b", "c"}, Kind: "external",
		Conditions: &Conditions{RequiresEnv: []string{"KEY"}, RequiresTools: []string{"t"}, AnyBins: []string{"x", "y"}},
		Routing: &Routing{
			Keywords: []string{"buy now", "sell"}, NegativeKeywords: []string{"never", "not this"}, Stages: []string{"decide"},
			AssetClasses: []string{"btc"}, SignalSources: []string{"s"}, CoActivate: []string{"other.skill"},
		},
		UserInvocable: true, Listed: true, DefaultEnabled: true, Background: true,
	}
	if diff := cmp.Diff(want, m); diff != "" {
		t.Error(diff)
	}
	if s.ID() != "market.watch" || !strings.Contains(codesOf(s), "value_enum") {
		t.Errorf("id %q, %s", s.ID(), codesOf(s))
	}
}

func TestStrongerBlocksWin(t *testing.T) {
	t.Parallel()
	lines := "name: a\nscope: session\nmetadata:\n  deft:\n    scope: turn\n    priority: 2\n    conditions:\n      requires_env: [D]\n  minara:\n    priority: 3\n    tool_names: [m]\n    conditions:\n      requires_env: [M]\n      requires_bins: [m]"
	side := map[string][]byte{SidecarConfig: []byte(`{"priority": 1, "conditions": {"requires_env": ["S"]}}`)}
	s := Parse([]byte(header(lines)), ParseOptions{DirName: "a", Sidecars: side})
	m := s.Meta
	if m.Priority != 1 || m.Scope != "turn" || m.ToolNames[0] != "m" {
		t.Errorf("%+v", m)
	}
	if diff := cmp.Diff(&Conditions{RequiresEnv: []string{"S"}, RequiresBins: []string{"m"}}, m.Conditions); diff != "" {
		t.Error(diff)
	}
	for code, n := range map[string]int{"sidecar_conflict": 4, "block_conflict": 1} {
		if got := strings.Count(codesOf(s), code); got != n {
			t.Errorf("%d of %s: %s", got, code, codesOf(s))
		}
	}
}

func TestExportedKeysComeBack(t *testing.T) {
	t.Parallel()
	s := read("name: a\nmetadata:\n  deft.scope: turn\n  deft.routing: '{\"keywords\":[\"a\"]}'\n  deft.argument-hint: '[x]'\n  deft.paths: '[\"a/**\",\"b\"]'\n  deft.when_to_use: '[not json'", Deft)
	m := s.Meta
	if m.Scope != "turn" || m.Routing == nil || m.Routing.Keywords[0] != "a" || len(m.Paths) != 2 || m.WhenToUse != "[not json" || m.ArgumentHint != "[x]" {
		t.Errorf("%+v", m)
	}
}

func TestSidecarFaultsCostOnlyTheSidecar(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ name, text, at string }{
		{"no JSON", "{\n  \"a\" 1}", "2:"},
		{"list", "[1]", "1:1"},
		{"cut off", "{\"priority\": 1", "1:"},
		{"two values", "{} {}", "1:"},
		{"doubled key", "{\"kind\": \"a\",\n\"kind\": \"b\"}", "2:1"},
		{"not UTF-8", "{\"a\": \"\xff\"}", "1:1"},
		{"too long", "{\"a\": \"" + strings.Repeat("x", 64<<10) + "\"}", "1:1"},
		{"too deep", strings.Repeat("{\"a\":", 100), "1:"},
		{"empty", "", "1:1"},
	} {
		s := Parse([]byte(header(good+"metadata:\n  minara:\n    priority: 3")), ParseOptions{Path: "x/SKILL.md", DirName: "a", Sidecars: map[string][]byte{SidecarConfig: []byte(c.text)}})
		if !s.Valid || s.Meta.Priority != 3 || !strings.Contains(codesOf(s), "sidecar_invalid@"+c.at) {
			t.Errorf("%s: %s, priority %d", c.name, codesOf(s), s.Meta.Priority)
			continue
		}
		for _, d := range s.Diagnostics {
			if d.Code == "sidecar_invalid" && d.File != "x/SKILL.config.json" {
				t.Errorf("%s: file %q", c.name, d.File)
			}
		}
	}
}

func TestOpenAISidecar(t *testing.T) {
	t.Parallel()
	yaml := "interface:\n  display_name: Nice Name\npolicy:\n  allow_implicit_invocation: false\ndependencies:\n  tools:\n    - type: mcp\n      value: github\n    - type: other\n      value: shell\n"
	parse := func(text string) *Skill {
		return Parse([]byte(header(good)), ParseOptions{DirName: "a", Path: "x/SKILL.md", Sidecars: map[string][]byte{SidecarOpenAI: []byte(text)}})
	}
	s := parse(yaml)
	if s.Title != "Nice Name" || !s.Meta.DisableModelInvocation {
		t.Errorf("title %q, %+v", s.Title, s.Meta)
	}
	if diff := cmp.Diff(&Conditions{RequiresMCP: []string{"github"}, RequiresTools: []string{"shell"}}, s.Meta.Conditions); diff != "" {
		t.Error(diff)
	}
	if o := s.Origin("disable-model-invocation"); o.File != SidecarOpenAI || o.Line != 4 {
		t.Errorf("origin %+v", o)
	}
	for _, bad := range []string{"a: [", "- x", "a: \xff", strings.Repeat("a", 64<<10+1)} {
		if s := parse(bad); !s.Valid || !strings.Contains(codesOf(s), "sidecar_invalid") {
			t.Errorf("%s: %s", clip(bad, 20), codesOf(s))
		}
	}
}

func TestForeignBlocks(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name, lines string
		want        *Conditions
	}{
		{
			"openclaw", "metadata:\n  openclaw:\n    requires:\n      bins: [git]\n      anyBins: [a, b]\n      env: [K]\n    os: [macos, linux]\n    always: true",
			&Conditions{RequiresBins: []string{"git"}, AnyBins: []string{"a", "b"}, RequiresEnv: []string{"K"}, Platforms: []string{"darwin", "linux"}, Always: true},
		},
		{"openclaw as JSON", `metadata: {openclaw: '{"requires": {"bins": ["git"]}}'}`, &Conditions{RequiresBins: []string{"git"}}},
		{
			"hermes", "metadata:\n  hermes:\n    requires_tools: [a]\n    requires_toolsets: [b]\n    fallback_for_tools: [c]\n    fallback_for_toolsets: [d]\n    category: dev\n    tags: [x]",
			&Conditions{RequiresTools: []string{"a"}, RequiresToolsets: []string{"b"}, FallbackForTools: []string{"c"}, FallbackForToolsets: []string{"d"}},
		},
		{
			"variables and commands", "required_environment_variables:\n  - name: A\n    prompt: x\n  - B\nprerequisites:\n  env_vars: [C]\n  commands: [git]",
			&Conditions{RequiresEnv: []string{"A", "B", "C"}, RequiresBins: []string{"git"}},
		},
		{"platforms", "platforms: [macos, win32, beos]", &Conditions{Platforms: []string{"darwin", "windows"}}},
		{"only unknown platforms", "platforms: [beos]", nil},
		{
			"conditions at the top", "conditions:\n  requires_env: [A]\n  requires_mcp: b\n  requires_skills: c\n  platforms: [linux]",
			&Conditions{RequiresEnv: []string{"A"}, RequiresMCP: []string{"b"}, RequiresSkills: []string{"c"}, Platforms: []string{"linux"}},
		},
		{
			"short form is united", "metadata:\n  minara:\n    requires_env: [A]\n    conditions:\n      requires_env: [B]",
			&Conditions{RequiresEnv: []string{"B", "A"}},
		},
		{"nothing", "name: a", nil},
	} {
		s := read(c.lines, Deft)
		if diff := cmp.Diff(c.want, s.Meta.Conditions); diff != "" {
			t.Errorf("%s: %s", c.name, diff)
		}
		if c.name == "hermes" && (s.Meta.Group != "dev" || s.Meta.Tags[0] != "x") {
			t.Errorf("hermes: %+v", s.Meta)
		}
	}
}

func TestDependencies(t *testing.T) {
	t.Parallel()
	s := read("metadata:\n  deft:\n    dependencies:\n      all:\n        - {skill: a, version: '>=1', source: s}\n        - {tool: t}\n        - {all: [{bin: git}], any: [[{env: A}, {env: B}], [{mcp: m}]]}\n        - {tool: x, bin: y}\n        - nothing\n      any: [[{os: macos}]]", Deft)
	want := &Group{
		All: []Atom{
			{Skill: "a", Version: ">=1", Source: "s"}, {Tool: "t"},
			{Group: &Group{All: []Atom{{Bin: "git"}}, Any: [][]Atom{{{Env: "A"}, {Env: "B"}}, {{MCP: "m"}}}}},
		},
		Any: [][]Atom{{{OS: "darwin"}}},
	}
	if s.Meta.Conditions == nil {
		t.Fatal(codesOf(s))
	}
	if diff := cmp.Diff(want, s.Meta.Conditions.Dependencies); diff != "" {
		t.Error(diff)
	}
	if n := strings.Count(codesOf(s), "type_mismatch"); n != 2 {
		t.Errorf("%d findings: %s", n, codesOf(s))
	}
	deep := read("metadata:\n  deft:\n    dependencies: {all: [{all: [{all: [{all: [{all: []}]}]}]}]}", Deft)
	if !strings.Contains(codesOf(deep), "value_range") {
		t.Error("five levels pass")
	}
	if in := read("metadata:\n  minara:\n    dependencies: {all: []}", Deft); !strings.Contains(codesOf(in), "key_unknown") {
		t.Error("dependencies below minara are read")
	}
}

func TestKeywordLimits(t *testing.T) {
	t.Parallel()
	many := "metadata:\n  minara:\n    routing:\n      keywords: [" + strings.Repeat("k, ", 299) + strings.Repeat("x", 129) + "]"
	s := read(many, Deft)
	if n := len(s.Meta.Routing.Keywords); n != 256 || strings.Count(codesOf(s), "value_range") != 2 {
		t.Errorf("%d keywords, %s", n, codesOf(s))
	}
}
