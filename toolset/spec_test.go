package toolset

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/jsonschema-go/jsonschema"

	"github.com/deftskills/deft/gate"
	"github.com/deftskills/deft/internal/tokens"
	"github.com/deftskills/deft/registry"
	"github.com/deftskills/deft/skill"
	"github.com/deftskills/deft/source"
)

var update = flag.Bool("update", false, "write the golden files anew")

// noSearch is a Searcher that finds nothing.
type noSearch struct{}

func (noSearch) Search(context.Context, *registry.Snapshot, string, []string, int) (Found, error) {
	return Found{}, nil
}

// noScripts is a ScriptRunner that runs nothing.
var noScripts = NoSandbox{}

var someKinds = []Kind{{"general", "Does what it is told."}, {"explorer", "Reads and reports."}}

func allTools() []Tool {
	tools := append(Skills(Options{Style: StyleBoth, Searcher: noSearch{}, Scripts: noScripts}), Files(FileOptions{Workspace: "/w"})...)
	tools = append(append(tools, Web(WebOptions{})...), Memory(MemoryOptions{Notes: NewMemories()})...)
	tools = append(tools, Task(TaskOptions{Kinds: someKinds})...)
	return append(tools, Shell(ShellOptions{Runs: &shellRuns{}, Dir: "/w"})...)
}

// otherTools are the tools of every dialect but deft.
func otherTools() map[string][]Tool {
	out := map[string][]Tool{}
	for _, d := range skill.Dialects() {
		if d != skill.Deft {
			out[string(d)] = append(Skills(Options{Dialect: d, Style: StyleBoth, Searcher: noSearch{}, Scripts: noScripts}), Shell(ShellOptions{Dialect: d, Runs: &shellRuns{}})...)
			out[string(d)] = append(append(out[string(d)], Web(WebOptions{Dialect: d})...), Memory(MemoryOptions{Dialect: d, Notes: NewMemories()})...)
			out[string(d)] = append(out[string(d)], Task(TaskOptions{Dialect: d, Kinds: someKinds})...)
		}
	}
	out["mastra on demand"] = Skills(Options{Dialect: skill.Mastra, OnDemand: OnDemandOnly, Searcher: noSearch{}})
	return out
}

// everyTool is each tool in each dialect.
func everyTool() []Tool {
	out := allTools()
	for _, name := range slices.Sorted(maps.Keys(otherTools())) {
		out = append(out, otherTools()[name]...)
	}
	return out
}

func golden(t *testing.T, name, got string) {
	t.Helper()
	file := filepath.Join("testdata", name+".golden")
	if *update {
		if err := os.WriteFile(file, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), got); diff != "" {
		t.Errorf("-golden +now; run with -update if it is meant\n%s", diff)
	}
}

func TestDescriptionsAndSchemasAreGolden(t *testing.T) {
	t.Parallel()
	write := func(b *strings.Builder, tools []Tool) {
		for _, tool := range tools {
			s := tool.Spec()
			fmt.Fprintf(b, "## %s (%s, %s)\n\n%s\n\n%s\n\n", s.Name, s.Tier, s.Mode, s.Description, s.Input)
		}
	}
	var deft, others strings.Builder
	write(&deft, allTools())
	golden(t, "tools", deft.String())
	all := otherTools()
	for _, name := range slices.Sorted(maps.Keys(all)) {
		fmt.Fprintf(&others, "# %s\n\n", name)
		write(&others, all[name])
	}
	golden(t, "dialects", others.String())
}

var (
	placeholder = regexp.MustCompile(`\{[a-z_]+\}`)
	coded       = regexp.MustCompile("`([A-Za-z_]+)`")
)

// TestDescriptionsNameTheParametersOfTheirSchema keeps text and schema together: a
// model calls exactly as the text says.
func TestDescriptionsNameTheParametersOfTheirSchema(t *testing.T) {
	t.Parallel()
	for _, tool := range everyTool() {
		s := tool.Spec()
		if n := tokens.O200k().Count(s.Description); n == 0 || n > 220 {
			t.Errorf("%s: description of %d tokens, want 1 to 220", s.Name, n)
		}
		if p := placeholder.FindString(s.Description); p != "" && p != "{a,b}" {
			t.Errorf("%s: placeholder %s is left", s.Name, p)
		}
		var schema struct {
			Properties map[string]any
			Required   []string
		}
		if err := json.Unmarshal(s.Input, &schema); err != nil {
			t.Fatal(err)
		}
		named := map[string]bool{}
		for _, line := range regexp.MustCompile("(?m)^- .*$").FindAllString(s.Description, -1) {
			head, rest, _ := strings.Cut(line, ":")
			for _, m := range coded.FindAllStringSubmatch(head, -1) {
				named[m[1]] = true
			}
			for _, m := range regexp.MustCompile("`([A-Za-z_]+)`:").FindAllStringSubmatch(rest, -1) {
				named[m[1]] = true
			}
		}
		if got, want := slices.Sorted(maps.Keys(named)), slices.Sorted(maps.Keys(schema.Properties)); !slices.Equal(got, want) {
			t.Errorf("%s: the text names %v, the schema %v", s.Name, got, want)
		}
		for _, r := range schema.Required {
			if !named[r] {
				t.Errorf("%s: required %s is not in the text", s.Name, r)
			}
		}
	}
}

func TestSchemasAreValidAndAcceptWhatTheyShould(t *testing.T) {
	t.Parallel()
	good := map[string]string{
		"skill": `{"name":"a","arguments":"x"}`, "skill_read": `{"name":"a","path":"b","startLine":1}`, "skill_search": `{"query":"q","topK":3}`,
		"activate_skills": `{"ids":[]}`, "deactivate_skill": `{"name":"a"}`, "read": `{"path":"a"}`, "write": `{"path":"a","content":""}`,
		"edit": `{"path":"a","edits":[{"old":"a","new":""}]}`, "glob": `{"pattern":"*"}`, "grep": `{"pattern":"x"}`, "todo": `{"items":[{"text":"a","status":"done"}]}`,
		"bash":      `{"command":"ls","timeout_s":3,"dir":"a"}`,
		"web_fetch": `{"url":"https://example.com/"}`, "memory_read": `{"name":"a"}`, "memory_search": `{"query":"q","topK":2}`,
		"memory_write": `{"name":"a","text":"b"}`, "memory_delete": `{"name":"a"}`, "task": `{"agent":"general","prompt":"do"}`,
		"skill_run": `{"name":"a","script":"scripts/x.sh","args":["a"]}`, "tool_search": `{"query":"q"}`, "tool_invoke": `{"tool":"t","input":{"any":1}}`,
	}
	for _, tool := range allTools() {
		s := tool.Spec()
		var schema jsonschema.Schema
		if err := json.Unmarshal(s.Input, &schema); err != nil {
			t.Fatalf("%s: %v", s.Name, err)
		}
		resolved, err := schema.Resolve(nil)
		if err != nil {
			t.Fatalf("%s: %v", s.Name, err)
		}
		var v any
		if err := json.Unmarshal([]byte(good[s.Name]), &v); err != nil {
			t.Fatalf("%s: %v", s.Name, err)
		}
		if err := resolved.Validate(v); err != nil {
			t.Errorf("%s: %v", s.Name, err)
		}
		if err := resolved.Validate(map[string]any{"nobody": 1.0}); err == nil {
			t.Errorf("%s accepts anything", s.Name)
		}
		if s.Tier != gate.ReadOnly && s.Tier != gate.ConfirmOnce && (s.Name != NameSkillRun || s.Tier != gate.AlwaysConfirm) {
			t.Errorf("%s: tier %s", s.Name, s.Tier)
		}
	}
}

func TestNamesArePutIntoEveryText(t *testing.T) {
	t.Parallel()
	o := Options{Prefix: "deft_", Names: map[string]string{NameSkill: "load"}, Searcher: noSearch{}}
	var names []string
	for _, tool := range Skills(o) {
		names = append(names, tool.Spec().Name)
	}
	if !slices.Equal(names, []string{"load", "deft_skill_read", "deft_deactivate_skill", "deft_skill_search", "deft_tool_search", "deft_tool_invoke"}) {
		t.Error(names)
	}
	if d := o.describe(NameSkillSearch); !strings.Contains(d, "`load`") {
		t.Error(d)
	}
	if o.SearchName() != "deft_skill_search" {
		t.Error(o.SearchName())
	}
}

// view makes a Snapshot of n skills of a kind.
func view(n int, kind source.Kind, manual bool) *registry.Snapshot {
	s := &registry.Snapshot{}
	for i := range n {
		s.Winners = append(s.Winners, &registry.Record{
			Entry: &source.Entry{
				Skill:  &skill.Skill{Name: fmt.Sprint("s", i), Meta: skill.Meta{DisableModelInvocation: manual}},
				Source: source.Info{Kind: kind}, From: source.Data(nil, source.DataOptions{}),
			},
			State: registry.Available, Address: fmt.Sprint("s", i),
		})
	}
	return s
}

func TestWhichToolExistsWhen(t *testing.T) {
	t.Parallel()
	with := Options{Searcher: noSearch{}}
	opt := func(style Style, search SearchMode) Options {
		return Options{Searcher: noSearch{}, Style: style, Search: search}
	}
	for _, c := range []struct {
		o        Options
		skills   int
		kind     source.Kind
		manual   bool
		mentions bool
		active   int
		want     string
	}{
		{with, 0, source.User, false, false, 0, ""},
		{with, 0, source.User, false, true, 0, ""},
		{with, 0, source.User, false, false, 1, "skill_read deactivate_skill"},
		{with, 3, source.User, true, false, 0, ""},
		{with, 3, source.User, true, true, 0, ""},
		{with, 3, source.User, true, false, 1, "skill_read deactivate_skill"},
		{with, 1, source.User, false, false, 0, "skill skill_read"},
		{with, 1, source.User, false, true, 0, "skill skill_read skill_search"},
		{with, 1, source.User, false, false, 1, "skill skill_read deactivate_skill"},
		{with, 1, source.User, false, true, 2, "skill skill_read deactivate_skill skill_search"},
		{with, 20, source.User, false, false, 0, "skill skill_read"},
		{with, 21, source.User, false, false, 0, "skill skill_read skill_search"},
		{with, 21, source.User, true, false, 0, ""},
		{with, 21, source.Builtin, false, false, 0, "skill skill_read skill_search"},
		{with, 1, source.DataDef, false, false, 0, "skill"},
		{with, 1, source.DataDef, false, true, 0, "skill skill_search"},
		{with, 1, source.DataDef, false, false, 1, "skill skill_read deactivate_skill"},
		{with, 30, source.DataDef, false, false, 0, "skill skill_search"},
		{Options{}, 30, source.User, false, true, 0, "skill skill_read"},
		{Options{Search: SearchAlways}, 30, source.User, false, true, 0, "skill skill_read"},
		{opt("", SearchAlways), 0, source.User, false, false, 0, ""},
		{opt("", SearchAlways), 1, source.User, false, false, 0, "skill skill_read skill_search"},
		{opt("", SearchNever), 30, source.User, false, true, 0, "skill skill_read"},
		{opt("", SearchAuto), 30, source.User, false, false, 0, "skill skill_read skill_search"},
		{opt(StyleSkill, SearchNever), 1, source.User, false, false, 0, "skill skill_read"},
		{opt(StyleSet, ""), 0, source.User, false, false, 0, ""},
		{opt(StyleSet, ""), 1, source.User, false, false, 0, "skill_read activate_skills"},
		{opt(StyleSet, ""), 1, source.User, false, false, 1, "skill_read activate_skills deactivate_skill"},
		{opt(StyleSet, ""), 1, source.User, false, true, 0, "skill_read activate_skills skill_search"},
		{opt(StyleSet, ""), 21, source.User, false, false, 1, "skill_read activate_skills deactivate_skill skill_search"},
		{opt(StyleSet, SearchNever), 21, source.User, false, true, 0, "skill_read activate_skills"},
		{opt(StyleSet, SearchAlways), 1, source.User, false, false, 0, "skill_read activate_skills skill_search"},
		{opt(StyleSet, ""), 1, source.DataDef, false, false, 0, "activate_skills"},
		{opt(StyleSet, ""), 2, source.User, true, false, 0, ""},
		{opt(StyleBoth, ""), 0, source.User, false, false, 0, ""},
		{opt(StyleBoth, ""), 1, source.User, false, false, 0, "skill skill_read activate_skills"},
		{opt(StyleBoth, ""), 1, source.User, false, true, 1, "skill skill_read activate_skills deactivate_skill skill_search"},
		{opt(StyleBoth, SearchNever), 50, source.User, false, true, 0, "skill skill_read activate_skills"},
		{opt(StyleBoth, SearchAlways), 1, source.DataDef, false, false, 0, "skill activate_skills skill_search"},
		{opt(StyleBoth, ""), 0, source.User, false, false, 3, "skill_read deactivate_skill"},
	} {
		got := Exposed(c.o, View{Snapshot: view(c.skills, c.kind, c.manual), CatalogMentions: c.mentions, Active: c.active})
		if strings.Join(got, " ") != c.want {
			t.Errorf("%+v: %v", c, got)
		}
	}
}

func TestSetIsImmutableAndRefusesDoubles(t *testing.T) {
	t.Parallel()
	tools := Files(FileOptions{Workspace: "/w"})
	s, err := NewSet(tools...)
	if err != nil {
		t.Fatal(err)
	}
	if got := strings.Join(s.Names(), " "); got != "edit glob grep read todo write" {
		t.Error(got)
	}
	if _, err := NewSet(append(tools, tools[0])...); err == nil {
		t.Error("two tools of one name")
	}
	few := s.Only(func(n string) bool { return n == "read" })
	if _, ok := few.Get("write"); ok || len(few.All()) != 1 || len(s.All()) != 6 {
		t.Error("Only")
	}
}

func TestArgumentsAreBroughtIntoTheFormOfTheSchema(t *testing.T) {
	t.Parallel()
	tools := map[string]Tool{}
	for _, tool := range allTools() {
		tools[tool.Spec().Name] = tool
	}
	for _, c := range []struct{ tool, in, want string }{
		{"skill", `{"skill_name":"a","args":"x"}`, `{"arguments":"x","name":"a"}`},
		{"skill", `{"name":"a","skill":"b"}`, `{"name":"a","skill":"b"}`},
		{"skill", `{"other":1}`, `{"other":1}`},
		{"skill", `[1]`, `[1]`}, {"skill", `{`, `{`}, {"skill", `null`, `null`},
		{"skill_read", `{"skillName":"a","path":"b","startLine":" 2 ","endLine":"x"}`, `{"endLine":"x","name":"a","path":"b","startLine":2}`},
		{"skill_search", `{"query":"q","names":"a","topK":"3"}`, `{"names":["a"],"query":"q","topK":3}`},
		{"activate_skills", `{"ids":"a"}`, `{"ids":["a"]}`},
		{"read", `{"file_path":"a"}`, `{"path":"a"}`},
		{"write", `{"filePath":"a","content":"7"}`, `{"content":"7","path":"a"}`},
	} {
		n, ok := tools[c.tool].(interface {
			Normalize(json.RawMessage) json.RawMessage
		})
		if !ok {
			t.Fatalf("%s does not normalize", c.tool)
		}
		if got := string(n.Normalize(json.RawMessage(c.in))); got != c.want {
			t.Errorf("%s %s: %s", c.tool, c.in, got)
		}
	}
}
