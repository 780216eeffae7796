package skill

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"pgregory.net/rapid"
)

// fieldsOf is what a round trip has to bring back: every field, without the places
// where they were written. A missing display name is the title.
func fieldsOf(s *Skill) map[string]any {
	m := s.Meta
	if m.DisplayName == "" {
		m.DisplayName = s.Title
	}
	b, err := json.Marshal(m)
	if err != nil {
		panic(err)
	}
	return map[string]any{"name": s.Name, "title": s.Title, "description": s.Description, "meta": string(b), "full": m}
}

func sameFields(t interface{ Errorf(string, ...any) }, what string, x, y *Skill) {
	got, want := fieldsOf(y), fieldsOf(x)
	delete(got, "meta")
	delete(want, "meta")
	if diff := cmp.Diff(want, got, cmpopts.EquateEmpty(), cmp.AllowUnexported(Meta{}), cmpopts.IgnoreUnexported(Meta{})); diff != "" {
		t.Errorf("%s: fields differ after a round trip (-before +after):\n%s", what, diff)
	}
}

// headerLines draws a header that holds fields of every kind in every place, with the
// spellings and styles that files have.
func headerLines(t *rapid.T) string {
	text := rapid.SampledFrom([]string{
		"plain words", `"quoted: text"`, "'it''s'", "yes", "007", "4711", "1.0", "true", `"[1, 2]"`, `'{"a": 1}'`, `"\"x\""`,
		"a --- b", "技能 描述", "Use: this", "x # y", "''", "~", "null", `"a\nb"`, ">-\n  folded\n  text", "|\n  two\n  lines", "2026-01-05",
	})
	list := rapid.SampledFrom([]string{
		"[a, b]", "a, b", "a b", "[]", "", "\n  - a\n  - b c", `["x, y", z]`, "Bash(git add *), Read", `["Bash(git"]`, "[Read, 7]", "Bash(git add *)",
	})
	yes := rapid.SampledFrom([]string{"true", "false", "yes", "off", `"no"`, "ture", ""})
	line := func(key string, g *rapid.Generator[string]) func() string {
		return func() string { return key + ": " + g.Draw(t, key) }
	}
	conditions := "{requires_env: [A_B], requires_bins: [git], platforms: [macos], fallback_for_tools: []}"
	all := []func() string{
		line("title", text), line("display-name", text), line("when_to_use", text), line("license", text),
		line("compatibility", text), line("version", text), line("argument-hint", text), line("model", text),
		line("agent", text), line("requires_beta", text), line("unknown_key", text),
		line("allowed-tools", list), line("disallowed_tools", list), line("paths", list), line("modeSlugs", list), line("arguments", list),
		line("disable-model-invocation", yes), line("userInvocable", yes), line("listed", yes), line("default-enabled", yes),
		line("retired", yes), line("background", yes), line("once", yes),
		func() string { return "scope: turn" }, func() string { return "effort: 3" }, func() string { return "context: fork" },
		func() string { return "shell: {enabled: true, allowlist: [git status]}" },
		func() string { return "hooks:\n  Stop:\n    - {hooks: []}" },
		func() string { return "on_error: abort" }, func() string { return "platforms: [linux, win32]" },
		func() string { return "conditions: " + conditions },
		func() string { return "displayNames: {zh-Hans: 技能, de: 'Fähigkeit'}" },
		func() string { return "descriptions:\n  zh: 描述" },
		func() string {
			return "id: top\nrequires_env: [TOP]\narguments_: x\nrequired_environment_variables:\n  - name: TOKEN\nprerequisites: {commands: [jq]}"
		},
	}
	var lines []string
	used := map[string]bool{}
	add := func(s string) {
		if key, _, _ := strings.Cut(s, ":"); !used[key] {
			used[key] = true
			lines = append(lines, s)
		}
	}
	if rapid.Bool().Draw(t, "named") {
		add("name: " + rapid.SampledFrom([]string{"a-skill", "My Skill", "4711", `"x: y"`, "技能", "a--b"}).Draw(t, "name"))
	}
	if rapid.Bool().Draw(t, "described") {
		add("description: " + text.Draw(t, "description"))
	}
	for range rapid.IntRange(0, 12).Draw(t, "n") {
		add(rapid.SampledFrom(all).Draw(t, "line")())
	}
	meta := []string{
		"author: Me", "version: 2.0", "code: 007", "internal: true", "requires-env: [TOKEN, KEY]", "requires-env: []", "one-shot: yes",
		"deft: {id: a.b, priority: 3, tool_names: [x, y], routing: {keywords: [deploy, ship it], stages: []}, scope: turn}",
		"deft:\n    conditions: {requires_tools: [t]}\n    listed: null\n    dependencies: {all: [{bin: git}], any: [[{env: X}, {os: macos}]]}",
		"deft.priority: '7'", `deft.conditions: '{"requires_tools":["q"]}'`, `deft.paths: '["a","b"]'`,
		"minara: {id: m.n, priority: 90, requires_env: [M], conditions: {requires_env: [N], requires_bins: []}, routing: {keywords: [m], negative_keywords: [x]}, co_activate: [z], odd: 1}",
		"minara:\n    kind: external\n    one-shot: true",
		"openclaw: {requires: {bins: [jq], anyBins: [], env: [E]}, os: [darwin], always: true}",
		`openclaw: '{"requires":{"bins":["rg"]}}'`,
		"hermes: {category: ops, tags: [a, b], requires_tools: [], fallback_for_tools: [f]}",
		"other: {deep: [1, {x: []}]}",
	}
	if rapid.Bool().Draw(t, "metadata") {
		block := "metadata:"
		keys := map[string]bool{}
		for range rapid.IntRange(1, 5).Draw(t, "m") {
			m := rapid.SampledFrom(meta).Draw(t, "meta")
			if key, _, _ := strings.Cut(m, ":"); !keys[key] {
				keys[key] = true
				block += "\n  " + m
			}
		}
		add(block)
	}
	return strings.Join(lines, "\n")
}

func TestExportAndImportBringBackEveryField(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		src := []byte("---\n" + headerLines(t) + "\n---\n# Heading\n\nA paragraph.\r\n---\nEnd")
		sides := map[string][]byte{}
		if rapid.Bool().Draw(t, "config") {
			sides[SidecarConfig] = []byte(`{"priority": 5, "conditions": {"requires_env": ["S"]}, "tool_names": []}`)
		}
		if rapid.Bool().Draw(t, "openai") {
			sides[SidecarOpenAI] = []byte("interface:\n  display_name: Shown\npolicy:\n  products: [a]\n")
		}
		x := Parse(src, ParseOptions{DirName: "a-skill", Sidecars: sides})
		if !x.Valid {
			t.Skip("not valid")
		}
		p := rapid.SampledFrom(Profiles()).Draw(t, "profile")
		out, files, loss, err := ExportWith(x, src, p, ExportOptions{Sidecars: sides})
		if err != nil {
			t.Fatal(err)
		}
		after := maps.Clone(sides)
		maps.Copy(after, files)
		y := Parse(out, ParseOptions{DirName: "a-skill", Sidecars: after})
		sameFields(t, fmt.Sprintf("%s:\n%s\n→\n%s", p, src, out), x, y)
		if !bytes.HasSuffix(out, []byte("# Heading\n\nA paragraph.\r\n---\nEnd")) {
			t.Errorf("body changed: %q", out)
		}
		for _, l := range loss {
			if l.Key == "" || l.Effect == "" || l.Action == "" {
				t.Errorf("loss without key, action or effect: %+v", l)
			}
		}
		// A second export has nothing left to do.
		if p != ProfileCodex {
			again, _, _, err := ExportWith(y, out, p, ExportOptions{Sidecars: after})
			if err != nil || !bytes.Equal(again, out) {
				t.Errorf("%s: a second export differs (%v):\n%s\n→\n%s", p, err, out, again)
			}
		}
	})
}

// What an export writes, the strict hosts can read, whatever the header held.
func TestExportWritesYAMLThatTheHostReads(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		src := []byte("---\n" + headerLines(t) + "\n---\nText.\n")
		x := Parse(src, ParseOptions{DirName: "a-skill"})
		if !x.Valid {
			t.Skip("not valid")
		}
		for _, p := range []Profile{ProfileAgentskills, ProfileClaudeAI, ProfileCodex, ProfileClaudeCode, ProfileMastra, ProfileBlade} {
			out, _, _, err := ExportWith(x, src, p, ExportOptions{Fix: true})
			if err != nil {
				t.Fatal(err)
			}
			r := Validate(Input{Source: out}, p)
			for _, d := range r.Diagnostics {
				if d.Level == LevelError && d.Code != "value_empty" && d.Code != "type_mismatch" && d.Code != "value_enum" && d.Code != "description_angle" &&
					!(d.Code == "name_chars" && strings.Contains(string(src), "技能")) {
					t.Errorf("%s: %s: %s\n%s\n→\n%s", p, d.Code, d.Message, src, out)
				}
			}
		}
	})
}
