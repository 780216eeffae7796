package toolset

import (
	"context"
	"encoding/json"
	"errors"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/deftskills/deft/command"
	"github.com/deftskills/deft/command/sandbox"
	"github.com/deftskills/deft/gate"
	"github.com/deftskills/deft/registry"
	"github.com/deftskills/deft/session"
	"github.com/deftskills/deft/skill"
	"github.com/deftskills/deft/source"
)

func TestEveryDialectHasAWholeTable(t *testing.T) {
	t.Parallel()
	known := map[string]bool{}
	for _, k := range kinds {
		known[k.base] = true
	}
	known[NameShell], known[NameWebFetch], known[NameTask] = true, true, true
	for _, k := range memoryKinds {
		known[k.name] = true
	}
	all := faces()
	for _, d := range skill.Dialects() {
		if len(all[string(d)]) == 0 {
			t.Errorf("%s has no tools", d)
		}
	}
	for d, tools := range all {
		for base, f := range tools {
			if !known[base] || moments[f.When] == nil || f.Input != nil && !json.Valid(f.Input) || f.Text != "" && description(f.Text) == "" {
				t.Errorf("%s, %s: %+v", d, base, f)
			}
		}
	}
	var loose map[string]map[string]map[string]any
	if err := json.Unmarshal(dialectsJSON, &loose); err != nil {
		t.Fatal(err)
	}
	for d, tools := range loose {
		for base, f := range tools {
			for key := range f {
				if !slices.Contains([]string{"as", "when", "styles", "alone", "text", "input", "discovers", "lists"}, key) {
					t.Errorf("%s, %s: nobody reads %q", d, base, key)
				}
			}
		}
	}
}

// Of a description and its schema: no file of text/ is without a tool.
func TestEveryTextIsSomebodys(t *testing.T) {
	t.Parallel()
	used := map[string]bool{}
	for _, tools := range faces() {
		for base, f := range tools {
			if f.Text == "" {
				f.Text = base
			}
			used[f.Text] = true
		}
	}
	for _, tool := range Files(FileOptions{Workspace: "/w"}) {
		used[tool.Spec().Name] = true
	}
	entries, err := texts.ReadDir("text")
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		if name := strings.TrimSuffix(e.Name(), ".md"); !used[name] {
			t.Errorf("nobody shows %s", name)
		}
	}
}

func TestWhichToolExistsInWhichDialect(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		o    Options
		n    int
		kind source.Kind
		v    View
		want string
	}{
		{Options{Dialect: skill.MiniMax}, 30, source.User, View{Active: 1, CatalogMentions: true, Deferred: true, Scripts: true}, "skill"},
		{Options{Dialect: skill.MiniMax, Style: StyleSet}, 1, source.User, View{}, "skill"},
		{Options{Dialect: skill.MiniMax}, 0, source.User, View{}, ""},
		{Options{Dialect: skill.Mastra}, 1, source.User, View{Active: 1, Deferred: true}, "skill skill_read skill_search"},
		{Options{Dialect: skill.Mastra, Search: SearchNever}, 1, source.User, View{}, "skill skill_read"},
		{Options{Dialect: skill.Mastra}, 0, source.User, View{}, ""},
		{Options{Dialect: skill.Mastra, OnDemand: OnDemandOnly}, 1, source.User, View{}, "load_skill skill_read search_skills"},
		{Options{Dialect: skill.Mastra, OnDemand: OnDemandBeside}, 1, source.User, View{}, "skill load_skill skill_read skill_search search_skills"},
		{Options{Dialect: skill.Deft, OnDemand: OnDemandOnly}, 1, source.User, View{}, "skill skill_read"},
		{Options{Dialect: skill.Blade}, 1, source.User, View{}, "Skill"},
		{Options{Dialect: skill.Blade}, 1, source.User, View{Deferred: true, Active: 2}, "Skill DiscoverTools"},
		{Options{Dialect: skill.Blade}, 0, source.User, View{}, ""},
		{Options{Dialect: skill.Minara}, 0, source.User, View{}, "activate_skills tool_search tool_invoke"},
		{Options{Dialect: skill.Minara}, 2, source.User, View{}, "read_skill_resource activate_skills tool_search tool_invoke"},
		{Options{Dialect: skill.Minara}, 2, source.DataDef, View{}, "activate_skills tool_search tool_invoke"},
		{Options{Dialect: skill.ClaudeCode}, 30, source.User, View{Deferred: true, Active: 1}, "Skill"},
		{Options{Dialect: skill.AgentSkills}, 1, source.User, View{}, "skill skill_read"},
		{Options{Dialect: skill.AgentSkills, HostFiles: true}, 1, source.User, View{}, "skill"},
		{Options{Dialect: skill.AgentSkills}, 30, source.User, View{CatalogMentions: true}, "skill skill_read"},
		{Options{Dialect: skill.Codex, Search: SearchAlways}, 1, source.User, View{Active: 3}, "skill skill_read skill_search"},
		{Options{Dialect: skill.Codex}, 0, source.User, View{}, ""},
		{Options{Scripts: NoSandbox{}}, 1, source.User, View{Active: 1}, "skill skill_read deactivate_skill"},
		{Options{Scripts: NoSandbox{}}, 1, source.User, View{Active: 1, Scripts: true}, "skill skill_read deactivate_skill skill_run"},
		{Options{}, 1, source.User, View{Active: 1, Scripts: true}, "skill skill_read deactivate_skill"},
		{Options{}, 0, source.User, View{Deferred: true}, "tool_search tool_invoke"},
	} {
		c.o.Searcher, c.v.Snapshot = noSearch{}, view(c.n, c.kind, false)
		if got := strings.Join(Exposed(c.o, c.v), " "); got != c.want {
			t.Errorf("%s %+v: %q, want %q", c.o.Dialect, c.v, got, c.want)
		}
	}
}

// far are deferred tools of a host.
func far() []Spec {
	long := `{"type":"object","properties":{"a":{"type":"object","properties":{"b":{"type":"string","description":"` + strings.Repeat("x", 5000) + `"}},"required":["b"]}},"required":["a"]}`
	return []Spec{
		{Name: "send_mail", Description: "Sends a letter.\nMore.", Tier: gate.AlwaysConfirm, Deferred: true, Input: json.RawMessage(`{"type":"object","properties":{"to":{"type":"string"}}}`)},
		{Name: "read_mail", Description: "Reads letters.", Tier: gate.ReadOnly, Deferred: true, Input: json.RawMessage(`{}`)},
		{Name: "huge", Description: "A huge tool for mail.", Tier: gate.ReadOnly, Deferred: true, Input: json.RawMessage(long)},
		{Name: "near_mail", Description: "In the list already.", Tier: gate.ReadOnly},
	}
}

// with returns a tool of options by its own name.
func with(t testing.TB, o Options, name string) Tool {
	t.Helper()
	for _, tool := range Skills(o) {
		if tool.Spec().Name == name {
			return tool
		}
	}
	t.Fatalf("no tool %s", name)
	return nil
}

func TestToolSearchFindsDeferredTools(t *testing.T) {
	t.Parallel()
	h := newHouse(t, t.TempDir())
	ask := func(o Options, name, input string) Result {
		res, err := with(t, o, name).Call(t.Context(), Call{Input: json.RawMessage(input), Turn: h.turn, Registered: far()})
		if err != nil {
			t.Fatal(err)
		}
		return res
	}
	got := ask(Options{}, NameToolSearch, `{"query":"mail to"}`).Text
	want := "send_mail (ALWAYS_CONFIRM)\nSends a letter.\n" + `{"type":"object","properties":{"to":{"type":"string"}}}` +
		"\n\nread_mail (READ_ONLY)\nReads letters.\n{}\n\nhuge (READ_ONLY)\nA huge tool for mail.\nThe schema is long; required: /a, /a/b\n\nCall one with tool_invoke(tool, input)."
	if got != want {
		t.Errorf("%s", got)
	}
	if got := ask(Options{}, NameToolSearch, `{"query":"MAIL","topK":"1"}`).Text; strings.Contains(got, "huge") || strings.Contains(got, "near_mail") {
		t.Errorf("%s", got)
	}
	if got := ask(Options{}, NameToolSearch, `{"query":"zebra"}`); got.IsError || got.Text != "No tool matches. 3 tools were searched; use other words or go on without." {
		t.Errorf("%+v", got)
	}
	if got := ask(Options{}, NameToolSearch, `{"query":" "}`); got.Code != "bad_args" {
		t.Errorf("%+v", got)
	}
	if d := h.s.Effective().Discovered; len(d) != 0 {
		t.Errorf("%v", d)
	}
	found := ask(Options{Dialect: skill.Blade}, "DiscoverTools", `{"query":"send"}`)
	if found.Patch == nil || !slices.Equal(found.Patch.Discovery.Discover, []string{"send_mail"}) {
		t.Errorf("%+v", found)
	}
}

func TestInvokeStandsForTheInnerCall(t *testing.T) {
	t.Parallel()
	tool := with(t, Options{Prefix: "deft_"}, "deft_tool_invoke")
	u, ok := tool.(Unwrapper)
	if !ok {
		t.Fatal("it cannot be unwrapped")
	}
	if name, args, refusal := u.Unwrap(json.RawMessage(`{"tool":"t","input":{"a":1}}`)); name != "t" || string(args) != `{"a":1}` || refusal != nil {
		t.Errorf("%s %s %v", name, args, refusal)
	}
	if _, args, _ := u.Unwrap(json.RawMessage(`{"tool":"t"}`)); string(args) != `{}` {
		t.Errorf("%s", args)
	}
	for in, code := range map[string]string{
		`{}`: "bad_args", `[`: "bad_args", `{"tool":7}`: "bad_args", `{"tool":"deft_tool_invoke"}`: "bad_args", `{"tool":"deft_tool_search"}`: "unknown_tool",
	} {
		if _, _, refusal := u.Unwrap(json.RawMessage(in)); refusal == nil || refusal.Code != code || !refusal.IsError {
			t.Errorf("%s: %+v", in, refusal)
		}
	}
	if _, err := tool.Call(t.Context(), Call{}); err == nil {
		t.Error("it ran without the gate")
	}
}

// scripts is a ScriptRunner that keeps what it was asked.
type scripts struct {
	asked  []ScriptCall
	result command.Result
	err    error
}

func (s *scripts) Run(_ context.Context, c ScriptCall) (command.Result, error) {
	s.asked = append(s.asked, c)
	return s.result, s.err
}

func TestScriptsOfActiveSkillsRun(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	write(t, root, map[string]string{
		"a/SKILL.md": md("a", "", "x\n"), "a/scripts/run.sh": "echo", "a/scripts/t.py": "print()", "a/scripts/data.txt": "no script", "a/other.sh": "not below scripts",
		"b/SKILL.md": md("b", "", "x\n"),
	})
	h := newHouse(t, root)
	r := &scripts{result: command.Result{Stdout: []byte("one\n"), Stderr: []byte("two\n"), Reason: sandbox.Exited, Duration: 7 * time.Millisecond, Level: sandbox.Files}}
	h.o.Scripts = r
	tool := with(t, h.o, NameSkillRun)
	there := func() bool { return tool.(Passing).Present(Now{Active: h.s.Active()}) }
	if there() || h.call(NameSkillRun, args("name", "a", "script", "scripts/run.sh")).Code != "skill_not_active" {
		t.Error("without an active skill")
	}
	h.call(NameSkill, args("name", "b"))
	if there() {
		t.Error("a skill without scripts")
	}
	h.call(NameSkill, args("name", "a"))
	if !there() || tool.Spec().Tier != gate.AlwaysConfirm {
		t.Error("not there, or below its tier")
	}
	res := h.call(NameSkillRun, args("name", "a", "script", "./scripts//run.sh", "args", []string{"x", "y z"}, "stdin", "in"))
	if res.IsError || res.Text != "scripts/run.sh exited 0 in 7 ms (sandbox: files)\none\nstderr:\ntwo" {
		t.Errorf("%+v", res)
	}
	got := r.asked[0]
	if got.Skill.Address != "a" || got.Script != "scripts/run.sh" || !slices.Equal(got.Args, []string{"x", "y z"}) || got.Stdin != "in" {
		t.Errorf("%+v", got)
	}
	for script, code := range map[string]string{
		"scripts/nope.sh": "script_unknown", "scripts/data.txt": "script_unknown", "other.sh": "script_unknown", "../b/SKILL.md": "path_outside", "/bin/sh": "path_outside",
	} {
		if res := h.call(NameSkillRun, args("name", "a", "script", script)); res.Code != code || !res.IsError {
			t.Errorf("%s: %+v", script, res)
		}
	}
	if res := h.call(NameSkillRun, args("name", "a", "script", "nope")); !strings.HasSuffix(res.Text, "Scripts: scripts/run.sh, scripts/t.py.") {
		t.Error(res.Text)
	}
	if len(r.asked) != 1 {
		t.Errorf("%d runs", len(r.asked))
	}
	r.result.Exit = 3
	if res := h.call(NameSkillRun, args("name", "a", "script", "scripts/t.py")); res.Code != "script_failed" || !res.IsError || res.Structured.(RunResult).Exit != 3 {
		t.Errorf("%+v", res)
	}
	h.o.Scripts = NoSandbox{}
	if res := h.call(NameSkillRun, args("name", "a", "script", "scripts/run.sh")); res.Code != "sandbox_unavailable" || res.Retry != RetryFinal || res.Text != "Not run: there is no sandbox here to run it in. Go on without it." {
		t.Errorf("%+v", res)
	}
	r.err = errors.New("broken")
	h.o.Scripts = r
	raw := json.RawMessage(`{"name":"a","script":"scripts/run.sh"}`)
	if _, err := with(t, h.o, NameSkillRun).Call(t.Context(), Call{Input: raw, Turn: h.turn}); err == nil {
		t.Error("a fault of the host is told to the model")
	}
}

// A skill that nobody trusts, or that its folder alone is trusted for, runs nothing.
func TestScriptsNeedAGrant(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	write(t, root, map[string]string{"a/SKILL.md": md("a", "", "x\n"), "a/scripts/run.sh": "echo"})
	for trust, there := range map[source.Trust]bool{source.Trusted: true, source.Workspace: false, source.Untrusted: false} {
		h := newHouse(t, t.TempDir(), source.Dir(root, source.DirOptions{Info: source.Info{ID: "x", Kind: source.User, Trust: trust}}))
		h.o.Scripts = &scripts{result: command.Result{Reason: sandbox.Exited}}
		h.call(NameSkill, args("name", "a"))
		if got := with(t, h.o, NameSkillRun).(Passing).Present(Now{Active: h.s.Active()}); got != there {
			t.Errorf("%s: there %v", trust, got)
		}
		if res := h.call(NameSkillRun, args("name", "a", "script", "scripts/run.sh")); (res.Code == "") != there {
			t.Errorf("%s: %+v", trust, res)
		}
	}
}

func TestNamesInTheSchemaAndListInTheDescription(t *testing.T) {
	t.Parallel()
	enum := func(s Spec) []string {
		var schema struct {
			Properties map[string]struct{ Enum []string }
		}
		if err := json.Unmarshal(s.Input, &schema); err != nil {
			t.Fatal(err)
		}
		return schema.Properties["name"].Enum
	}
	o := Options{Enum: true}
	spec := with(t, o, NameSkill).Spec()
	if got := enum(o.Dress(spec, view(3, source.User, false), "list", true)); !slices.Equal(got, []string{"s0", "s1", "s2"}) {
		t.Error(got)
	}
	for _, got := range [][]string{
		enum(o.Dress(spec, view(3, source.User, false), "list", false)), enum(o.Dress(spec, view(201, source.User, false), "list", true)),
		enum(o.Dress(spec, view(3, source.User, true), "list", true)), enum(Options{}.Dress(spec, view(3, source.User, false), "list", true)),
	} {
		if len(got) > 0 {
			t.Error(got)
		}
	}
	blade := Options{Dialect: skill.Blade}
	if got := blade.Dress(with(t, blade, "Skill").Spec(), view(1, source.User, false), "<l>", true); !strings.HasSuffix(got.Description, "\n\n<l>") || !blade.ListInTool() || o.ListInTool() {
		t.Error(got.Description)
	}
}

func TestUnknownArgumentsAreLetThroughUnlessStrict(t *testing.T) {
	t.Parallel()
	for strict, want := range map[bool]bool{false: false, true: true} {
		tool := with(t, Options{Strict: strict}, NameSkill)
		raw := tool.(interface{ Accepts() json.RawMessage }).Accepts()
		var schema map[string]any
		if err := json.Unmarshal(raw, &schema); err != nil {
			t.Fatal(err)
		}
		if _, closed := schema["additionalProperties"]; closed != want || schema["required"] == nil {
			t.Errorf("strict %v: %v", strict, schema)
		}
	}
}

// No description of a tool names a tool that its dialect does not have.
func TestDescriptionsNameOnlyToolsThatExist(t *testing.T) {
	t.Parallel()
	bases := map[string]bool{}
	for _, k := range kinds {
		bases[k.base] = true
	}
	for d, tools := range otherTools() {
		has := map[string]bool{}
		for _, tool := range tools {
			has[tool.Spec().Name] = true
		}
		for _, tool := range tools {
			for _, m := range coded.FindAllStringSubmatch(strings.ReplaceAll(tool.Spec().Description, "_", ""), -1) {
				for base := range maps.Keys(bases) {
					if m[1] == strings.ReplaceAll(base, "_", "") && base != NameSkill && !has[base] {
						t.Errorf("%s: %s names %s", d, tool.Spec().Name, base)
					}
				}
			}
		}
	}
}

func TestReadsOfDriftedSkillsSaySo(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	write(t, root, map[string]string{"a/SKILL.md": md("a", "", "x\n"), "a/n.md": "N"})
	h := newHouse(t, root)
	granted := true
	var err error
	if h.s, err = session.New(t.Context(), session.Options{Snapshots: h, Granted: func(*registry.Record) bool { return granted }}); err != nil {
		t.Fatal(err)
	}
	h.turn = nil
	h.next()
	h.call(NameSkill, args("name", "a"))
	read := func() string { return h.call(NameSkillRead, args("name", "a", "path", "n.md")).Text }
	if got := read(); strings.Contains(got, "untrusted") {
		t.Error(got)
	}
	granted = false
	if got := read(); !strings.HasPrefix(got, "untrusted: the files of this skill changed after it was trusted.\nn.md (lines 1-1 of 1)\nN") {
		t.Error(got)
	}
}

// What the strictest of the providers takes: plain names, objects at the top, and no
// keyword beyond these.
func TestSchemasKeepToWhatProvidersTake(t *testing.T) {
	t.Parallel()
	keywords := map[string]bool{}
	for _, k := range strings.Fields("type properties required items enum minLength maxLength minItems maxItems minimum maximum additionalProperties") {
		keywords[k] = true
	}
	var walk func(t *testing.T, name string, schema map[string]any)
	walk = func(t *testing.T, name string, schema map[string]any) {
		for k, v := range schema {
			if !keywords[k] {
				t.Errorf("%s uses %q", name, k)
			}
			if part, ok := v.(map[string]any); ok && k == "items" {
				walk(t, name, part)
			}
		}
		props, _ := schema["properties"].(map[string]any)
		for p, v := range props {
			part, ok := v.(map[string]any)
			if !ok || part["type"] == nil {
				t.Errorf("%s: %s has no type", name, p)
				continue
			}
			walk(t, name, part)
		}
	}
	for _, tool := range everyTool() {
		s := tool.Spec()
		var schema map[string]any
		if err := json.Unmarshal(s.Input, &schema); err != nil || schema["type"] != "object" {
			t.Errorf("%s: %v %v", s.Name, err, schema["type"])
		}
		if strings.Trim(s.Name, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_-0123456789") != "" || len(s.Name) > 64 {
			t.Errorf("name %q", s.Name)
		}
		walk(t, s.Name, schema)
	}
}
