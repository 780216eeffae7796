package skill

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func read(lines string, d Dialect) *Skill {
	return Parse([]byte(header(lines)), ParseOptions{DirName: "a", Dialect: d})
}

func TestTextsAreTheSource(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ value, want string }{
		{"4711", "4711"},
		{"007", "007"},
		{"yes", "yes"},
		{"2026-01-05", "2026-01-05"},
		{"1.10", "1.10"},
		{"0x1F", "0x1F"},
		{"null", ""},
		{"~", ""},
		{"", ""},
		{"\"null\"", "null"},
		{"'  a  '", "a"},
		{"\"a\\tb\"", "a\tb"},
		{">-\n  Draft a plan.\n  Use it.", "Draft a plan. Use it."},
		{"|\n  one\n  two", "one\ntwo"},
		{"Explain a failing\n  build.", "Explain a failing build."},
		{">\n  Sort.\n  Shortcut: /sort", "Sort. Shortcut: /sort"},
		{"https://x.org/a#b", "https://x.org/a#b"},
		{"[a]", ""},
		{"{a: b}", ""},
	} {
		if got := read("name: a\nlicense: "+c.value, Deft).Meta.License; got != c.want {
			t.Errorf("license: %q is %q, want %q", c.value, got, c.want)
		}
	}
}

func TestBooleans(t *testing.T) {
	t.Parallel()
	for _, word := range []string{"true", "yes", "on", "1", "y", "TRUE", "Yes", "\"yes\"", "'on'"} {
		if s := read("disable-model-invocation: "+word, Deft); !s.Meta.DisableModelInvocation || strings.Contains(codesOf(s), "bool_invalid") {
			t.Errorf("%s is read as false", word)
		}
	}
	for _, word := range []string{"false", "no", "off", "0", "n", "NO", "\"false\""} {
		if s := read("disable-model-invocation: "+word+"\nuser-invocable: "+word, Deft); s.Meta.DisableModelInvocation || s.Meta.UserInvocable {
			t.Errorf("%s is read as true", word)
		}
	}
	s := read("disable-model-invocation: ture\nuser-invocable: maybe\nlisted: [x]\nretired: 2\ndefault-enabled: x", Deft)
	m := s.Meta
	if !m.DisableModelInvocation || !m.UserInvocable || !m.Listed || m.Retired || !m.DefaultEnabled {
		t.Errorf("unreadable values are read as %+v", m)
	}
	if n := strings.Count(codesOf(s), "bool_invalid"); n != 5 {
		t.Errorf("%d findings: %s", n, codesOf(s))
	}
	if s := read("disable-model-invocation:", Deft); s.Meta.DisableModelInvocation {
		t.Error("an empty value is the default")
	}
}

func TestDefaultsOfSwitches(t *testing.T) {
	t.Parallel()
	m := read("name: a", Deft).Meta
	if !m.UserInvocable || !m.Listed || !m.DefaultEnabled || !m.Background || m.Retired || m.DisableModelInvocation || m.Priority != 50 {
		t.Errorf("%+v", m)
	}
	if read(good, Blade).Meta.UserInvocable {
		t.Error("blade offers to people by default")
	}
	for _, c := range []struct {
		value  string
		listed bool
	}{{"false", false}, {"\"false\"", true}, {"no", true}, {"False", false}, {"true", true}} {
		if got := read("listed: "+c.value, MiniMax).Meta.Listed; got != c.listed {
			t.Errorf("minimax: listed: %s is %v", c.value, got)
		}
	}
}

func TestLists(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		value string
		want  []string
	}{
		{"", []string{}},
		{"[]", []string{}},
		{"a", []string{"a"}},
		{"a, b,c", []string{"a", "b", "c"}},
		{"a b  c", []string{"a", "b", "c"}},
		{"a b, c", []string{"a b", "c"}},
		{"[a, ' b ', '']", []string{"a", "b"}},
		{"\n  - a b\n  - 7", []string{"a b", "7"}},
		{"src/**/*.{ts,tsx}", []string{"src/**/*.{ts,tsx}"}},
		{"src/*.{ts,tsx}, b", []string{"src/*.{ts,tsx}", "b"}},
	} {
		if diff := cmp.Diff(c.want, read("paths: "+c.value, Deft).Meta.Paths); diff != "" {
			t.Errorf("paths: %s: %s", c.value, diff)
		}
	}
	if got := read("name: a", Deft).Meta.Paths; got != nil {
		t.Errorf("an absent list is %v", got)
	}
}

func TestToolLists(t *testing.T) {
	t.Parallel()
	three := []string{"Read", "Bash(git add *)", "Bash(make:*, ninja:*)"}
	for _, c := range []struct {
		value string
		want  ToolList
	}{
		{"Read Bash(git add *) Bash(make:*, ninja:*)", ToolList{true, three}},
		{"Read, Bash(git add *), Bash(make:*, ninja:*)", ToolList{true, three}},
		{"\n  - Read\n  - Bash(git add *)\n  - Bash(make:*, ninja:*)", ToolList{true, three}},
		{"\"Read, Bash(git add *), Bash(make:*, ninja:*)\"", ToolList{true, three}},
		{"", ToolList{true, []string{}}},
		{"Read, Bash(git add", ToolList{true, []string{"Read", "Bash(git add"}}},
		{"${SKILL_DIR}/x, Bash(${CLAUDE_SKILL_DIR}/run *)", ToolList{true, []string{"${SKILL_DIR}/x", "Bash(${CLAUDE_SKILL_DIR}/run *)"}}},
		{"{a: b}", ToolList{}},
		{"Read Grep, Glob", ToolList{true, []string{"Read", "Grep", "Glob"}}},
		{"Bash (git *), Read", ToolList{true, []string{"Bash (git *)", "Read"}}},
		{"Read Bash (git *)", ToolList{true, []string{"Read", "Bash (git *)"}}},
	} {
		if diff := cmp.Diff(c.want, read("allowed-tools: "+c.value, Deft).Meta.AllowedTools); diff != "" {
			t.Errorf("allowed-tools: %s: %s", c.value, diff)
		}
	}
	if read("name: a", Deft).Meta.AllowedTools.Declared {
		t.Error("an absent list is declared")
	}
	if read("name: a\ndescription: d\nallowed-tools: ''", Blade).Meta.AllowedTools.Declared {
		t.Error("blade: empty text is no list")
	}
	if got := read("name: a\ndescription: d\nallowed-tools: Read Grep, Glob", Blade).Meta.AllowedTools.Entries; len(got) != 2 {
		t.Errorf("blade: a comma anywhere cuts at commas only: %q", got)
	}
	many := read("name: a\nallowed-tools: "+strings.Repeat("T ", 300), Deft)
	if n := len(many.Meta.AllowedTools.Entries); n != 256 || !strings.Contains(codesOf(many), "value_range@3:16") {
		t.Errorf("%d entries, %s", n, codesOf(many))
	}
}

func TestIntegers(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		value string
		want  uint8
		bad   bool
	}{
		{"0", 0, false}, {"100", 100, false}, {"7", 7, false}, {"\"7\"", 7, false}, {"", 50, false},
		{"-1", 50, true}, {"101", 50, true}, {"x", 50, true}, {"1.5", 50, true}, {"[1]", 50, true},
	} {
		s := read("metadata:\n  minara:\n    priority: "+c.value, Deft)
		if s.Meta.Priority != c.want || strings.Contains(codesOf(s), "value_range") != c.bad {
			t.Errorf("priority: %s is %d, %s", c.value, s.Meta.Priority, codesOf(s))
		}
	}
}

func TestLocaleMaps(t *testing.T) {
	t.Parallel()
	s := read("displayNames:\n  zh: 名\n  zh-Hant: 名稱\n  de: 7\n  fr: [x]\n  it: ' '", Deft)
	if diff := cmp.Diff(map[string]string{"zh": "名", "zh-Hant": "名稱", "de": "7"}, s.Meta.DisplayNames); diff != "" {
		t.Error(diff)
	}
	if n := strings.Count(codesOf(s), "locale_value"); n != 2 {
		t.Errorf("%d findings: %s", n, codesOf(s))
	}
	for tag, want := range map[string]string{"zh-Hant-TW": "名稱", "zh-TW": "名", "zh_hant": "名稱", "de-AT": "7", "en": "plain", "": "plain"} {
		if got := Localised(s.Meta.DisplayNames, tag, "plain"); got != want {
			t.Errorf("Localised(%q) = %q, want %q", tag, got, want)
		}
	}
	if m := read("displayNames:\n  de: 7\n  fr: ' '", MiniMax).Meta.DisplayNames; m != nil {
		t.Errorf("minimax keeps %v", m)
	}
}

func TestKeysInEverySpelling(t *testing.T) {
	t.Parallel()
	for _, key := range []string{"allowed-tools", "allowed_tools", "allowedTools"} {
		if !read(key+": Read", Deft).Meta.AllowedTools.Declared {
			t.Errorf("%s is not read", key)
		}
	}
	for _, key := range []string{"Allowed-Tools", "allowed tools", "ALLOWED_TOOLS"} {
		if read(key+": Read", Deft).Meta.AllowedTools.Declared {
			t.Errorf("%s is read", key)
		}
	}
	for _, c := range []struct{ lines, want string }{
		{"when_to_use: printed\nwhen-to-use: kebab\nwhenToUse: camel", "printed"},
		{"whenToUse: camel\nwhen-to-use: kebab", "kebab"},
		{"requiresBeta: b\nrequires-beta: a", "a"},
		{"requiresBeta: b\nrequires_beta: a", "a"},
	} {
		s := read(c.lines, Deft)
		if got := s.Meta.WhenToUse + s.Meta.RequiresBeta; got != c.want || !strings.Contains(codesOf(s), "key_alias_conflict") {
			t.Errorf("%q is %q, %s", c.lines, got, codesOf(s))
		}
	}
	if s := read("requiresBeta: a\nrequires_beta: a", Deft); strings.Contains(codesOf(s), "key_alias_conflict") {
		t.Error("equal values are no conflict")
	}
	if printed, ok := KeyName("allowedTools"); !ok || printed != "allowed-tools" {
		t.Errorf("KeyName = %q, %v", printed, ok)
	}
}

func TestNothingIsDropped(t *testing.T) {
	t.Parallel()
	raw := read("name: a\nzz: [1, {b: c}]\nmetadata:\n  x: {y: [z]}", Deft).Raw()
	if raw.Get("zz").Source != "[1, {b: c}]" || raw.Path("metadata", "x", "y").Source != "[z]" {
		t.Errorf("%+v", raw)
	}
}

func TestTypingErrors(t *testing.T) {
	t.Parallel()
	for key, want := range map[string]string{
		"descriptoin": "description", "allowed-tool": "allowed-tools", "allowed_tols": "allowed-tools",
		"user-invokable": "user-invocable", "disable-model-invokation": "disable-model-invocation", "licence": "license",
	} {
		if got, _ := typoOf(key, atTop); got != want {
			t.Errorf("%s is taken for %q, want %q", key, got, want)
		}
	}
	for _, key := range []string{"author", "tags", "tools", "homepage", "nam", "category"} {
		if got, ok := typoOf(key, atTop); ok {
			t.Errorf("%s is taken for %q", key, got)
		}
	}
	s := read("descriptoin: x", Deft)
	if s.Description == "x" {
		t.Error("a typing error is applied")
	}
}

func TestModelFields(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		lines string
		want  any
		get   func(m *Meta) any
	}{
		{"display-name: Nice", "Nice", func(m *Meta) any { return m.DisplayName }},
		{"when_to_use: now", "now", func(m *Meta) any { return m.WhenToUse }},
		{"compatibility: any", "any", func(m *Meta) any { return m.Compatibility }},
		{"version: 1.10", "1.10", func(m *Meta) any { return m.Version }},
		{"metadata:\n  version: 2.0", "2.0", func(m *Meta) any { return m.Version }},
		{"requiresBeta: flag", "flag", func(m *Meta) any { return m.RequiresBeta }},
		{"retired: yes", true, func(m *Meta) any { return m.Retired }},
		{"default-enabled: no", false, func(m *Meta) any { return m.DefaultEnabled }},
		{"listed: off", false, func(m *Meta) any { return m.Listed }},
		{"argument-hint: \"<file>\"", "<file>", func(m *Meta) any { return m.ArgumentHint }},
		{"argument-hint: [query]", "[query]", func(m *Meta) any { return m.ArgumentHint }},
		{"argument-hint: [url, depth]", "[url, depth]", func(m *Meta) any { return m.ArgumentHint }},
		{"argument-hint: [--fast] [--deep]", "[--fast] [--deep]", func(m *Meta) any { return m.ArgumentHint }},
		{"arguments: from to", []Argument{{Name: "from"}, {Name: "to"}}, func(m *Meta) any { return m.Arguments }},
		{"arguments: [from, to]", []Argument{{Name: "from"}, {Name: "to"}}, func(m *Meta) any { return m.Arguments }},
		{
			"arguments:\n  - name: from\n    description: where\n    required: yes\n    default: x\n  - to",
			[]Argument{{"from", "where", true, "x"}, {Name: "to"}}, func(m *Meta) any { return m.Arguments },
		},
		{"scope: turn", "turn", func(m *Meta) any { return m.Scope }},
		{"scope: forever", "turn", func(m *Meta) any { return m.Scope }},
		{"model: inherit", "inherit", func(m *Meta) any { return m.Model }},
		{"effort: high", "high", func(m *Meta) any { return m.Effort }},
		{"effort: 3", "3", func(m *Meta) any { return m.Effort }},
		{"effort: huge", "", func(m *Meta) any { return m.Effort }},
		{"context: fork\nagent: helper\nbackground: no", "fork helper false", func(m *Meta) any {
			return fmt.Sprint(m.Context, " ", m.Agent, " ", m.Background)
		}},
		{"shell: all", true, func(m *Meta) any { return m.HasShell }},
		{"hooks:\n  a: []", true, func(m *Meta) any { return m.HasHooks }},
		{"on_error: abort", "abort", func(m *Meta) any { return m.OnError }},
		{"onError: x", "placeholder", func(m *Meta) any { return m.OnError }},
		{"modeSlugs: [a, b]", []string{"a", "b"}, func(m *Meta) any { return m.ModeSlugs }},
		{"metadata:\n  requires-env: A B", []string{"A", "B"}, func(m *Meta) any { return m.Secrets }},
		{"metadata:\n  one-shot: yes", true, func(m *Meta) any { return m.OneShot }},
		{"metadata:\n  deft:\n    one-shot: yes", true, func(m *Meta) any { return m.OneShot }},
		{"metadata:\n  internal: true", "true false", func(m *Meta) any { return fmt.Sprint(m.Internal, " ", m.Listed) }},
		{"descriptions:\n  de: d", map[string]string{"de": "d"}, func(m *Meta) any { return m.Descriptions }},
	} {
		for _, prefix := range []string{"", "# the library reads this\n"} {
			s := read("name: a\n"+prefix+c.lines, Deft)
			if diff := cmp.Diff(c.want, c.get(&s.Meta)); diff != "" {
				t.Errorf("%q: %s", prefix+c.lines, diff)
			}
		}
	}
}
