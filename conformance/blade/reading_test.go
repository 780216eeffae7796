package blade

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/deftskills/deft/skill"
	"github.com/deftskills/deft/source"
)

func TestBlade_A01_ValidListTools(t *testing.T) {
	t.Parallel()
	src := "---\nname: x\ndescription: d\nallowed-tools: [Read, Grep]\nversion: \"1.0.0\"\n---\n\n\nBody.\n\n"
	s := parse(src)
	want(t, "fields", []any{s.Valid, s.Name, s.Description, s.Meta.AllowedTools.Entries, s.Meta.Version, s.Meta.Model},
		[]any{true, "x", "d", []string{"Read", "Grep"}, "1.0.0", ""})
	want(t, "body", strings.TrimSpace(src[s.Body.Start:s.Body.End]), "Body.")
}

func tools(t *testing.T, value string) string {
	t.Helper()
	return strings.Join(loads(t, "allowed-tools: "+value).Meta.AllowedTools.Entries, "|")
}

func TestBlade_A02_ToolsByComma(t *testing.T) {
	t.Parallel()
	want(t, "tools", tools(t, `"Read, Grep, Glob"`), "Read|Grep|Glob")
}

func TestBlade_A03_ToolsByBlank(t *testing.T) {
	t.Parallel()
	want(t, "tools", tools(t, `"Bash(git:*) Read Grep"`), "Bash(git:*)|Read|Grep")
}

func TestBlade_A04_ToolsCommaWins(t *testing.T) {
	t.Parallel()
	want(t, "tools", tools(t, `"Read Grep, Glob"`), "Read Grep|Glob")
}

func TestBlade_A05_ToolsListItems(t *testing.T) {
	t.Parallel()
	want(t, "tools", tools(t, `[" Read ", "", 7]`), "Read|7")
}

func TestBlade_A06_ToolsEmpty(t *testing.T) {
	t.Parallel()
	want(t, "text", tools(t, `""`), "")
	want(t, "list", tools(t, `[]`), "")
}

func TestBlade_A07_BooleansNative(t *testing.T) {
	t.Parallel()
	m := loads(t, "user-invocable: true", "disable-model-invocation: false").Meta
	want(t, "values", []bool{m.UserInvocable, m.DisableModelInvocation}, []bool{true, false})
}

func TestBlade_A08_BooleansText(t *testing.T) {
	t.Parallel()
	for value, is := range map[string]bool{`"yes"`: true, `"no"`: false, `"1"`: true, `"0"`: false, `"TRUE"`: true, `" false "`: false, `"on"`: false, `"maybe"`: false} {
		want(t, value, loads(t, "disable-model-invocation: "+value).Meta.DisableModelInvocation, is)
	}
}

func TestBlade_A09_UserInvocableDefault(t *testing.T) {
	t.Parallel()
	m := loads(t).Meta
	want(t, "in the user's list, withheld from the model", []bool{m.UserInvocable, m.DisableModelInvocation}, []bool{false, false})
}

func TestBlade_A10_HintTrimmed(t *testing.T) {
	t.Parallel()
	want(t, "hint", loads(t, `argument-hint: " <file_path> "`).Meta.ArgumentHint, "<file_path>")
}

func TestBlade_A11_WhenToUse(t *testing.T) {
	t.Parallel()
	want(t, "text", loads(t, `when_to_use: " text "`).Meta.WhenToUse, "text")
}

func TestBlade_A12_LicenseBlock(t *testing.T) {
	t.Parallel()
	s := loads(t, "license: MIT", "compatibility: any", "metadata:", "  a:", "    - 1", "    - b")
	want(t, "kept", []any{s.Meta.License, s.Meta.Compatibility, s.Raw() != nil}, []any{"MIT", "any", true})
	header, _ := s.HeaderText()
	want(t, "nested", strings.Contains(header, "    - b"), true)
	want(t, "absent", loads(t).Meta.License, "")
}

func TestBlade_A13_ModelNamed(t *testing.T) {
	t.Parallel()
	want(t, "model", loads(t, "model: gpt-4").Meta.Model, "gpt-4")
}

func TestBlade_A14_ModelInherit(t *testing.T) {
	t.Parallel()
	want(t, "model", loads(t, "model: inherit").Meta.Model, "inherit")
}

func TestBlade_A15_EffortForms(t *testing.T) {
	t.Parallel()
	want(t, "text", loads(t, "effort: high").Meta.Effort, "high")
	want(t, "number", loads(t, "effort: 3").Meta.Effort, "3")
}

func TestBlade_A16_ScopeDefault(t *testing.T) {
	t.Parallel()
	want(t, "turn", loads(t).Meta.Scope == "turn", false)
}

func TestBlade_A17_ScopeTurn(t *testing.T) {
	t.Parallel()
	want(t, "scope", loads(t, "scope: turn").Meta.Scope, "turn")
}

func TestBlade_A18_ScopeOther(t *testing.T) {
	t.Parallel()
	s := loads(t, "scope: forever")
	want(t, "turn", s.Meta.Scope == "turn", false)
	want(t, "said", strings.Contains(codes(s.Diagnostics), "value_enum"), true)
}

func TestBlade_A19_PathsForms(t *testing.T) {
	t.Parallel()
	for value, n := range map[string]int{"src/**": 1, `"a/*, b/*"`: 2, `"a/* b/*"`: 2, "[a/*, b/*, c/*]": 3} {
		want(t, value, len(loads(t, "paths: "+value).Meta.Paths), n)
	}
}

func TestBlade_A30_NoFrontmatter(t *testing.T) {
	t.Parallel()
	fails(t, "# Title\n\nText.\n", "missing YAML frontmatter")
}

func TestBlade_A31_NoName(t *testing.T) {
	t.Parallel()
	fails(t, "---\ndescription: d\n---\nb\n", "Missing required field: name")
}

func TestBlade_A32_NoDescription(t *testing.T) {
	t.Parallel()
	fails(t, "---\nname: x\n---\nb\n", "Missing required field: description")
}

func TestBlade_A33_BadName(t *testing.T) {
	t.Parallel()
	for _, n := range []string{"Invalid_Name_123", "-a", strings.Repeat("a", 65), "a b"} {
		fails(t, "---\nname: "+n+"\ndescription: d\n---\nb\n", `Invalid name "`+n+`"`)
	}
}

func TestBlade_A34_OddNamesPass(t *testing.T) {
	t.Parallel()
	for _, n := range []string{"a-", "a--b", `"9"`, "unlike-its-directory"} { // odd
		s := parse("---\nname: " + n + "\ndescription: d\n---\nb\n")
		want(t, n, s.Valid, true)
	}
}

func TestBlade_A35_DescriptionLimit(t *testing.T) {
	t.Parallel()
	with := func(d string) string { return "---\nname: x\ndescription: " + d + "\n---\nb\n" }
	want(t, "1,024", parse(with(strings.Repeat("a", 1024))).Valid, true)
	fails(t, with(strings.Repeat("a", 1025)), "Description too long: 1025 characters (max 1024)")
	fails(t, with(strings.Repeat("😀", 513)), "Description too long: 1026 characters (max 1024)")
}

func TestBlade_A36_LimitBeforeTrim(t *testing.T) {
	t.Parallel()
	fails(t, "---\nname: x\ndescription: \""+strings.Repeat("a", 1020)+strings.Repeat(" ", 10)+"\"\n---\nb\n", "Description too long: 1030")
}

func TestBlade_A37_BadYAML(t *testing.T) {
	t.Parallel()
	fails(t, "---\nname: x\ndescription: [unclosed\n---\nb\n", "parse YAML")
	p := project(t, "skills/good")
	put(t, filepath.Join(p, "skills/bad/SKILL.md"), "---\nname: bad\ndescription: [unclosed\n---\nb\n")
	want(t, "others", names(local(t, p).Snapshot()), []string{"good"})
}

func TestBlade_A38_MissingFile(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "gone", "SKILL.md")
	srcs, _ := source.Expand(t.Context(), []string{path}, env(filepath.Dir(path)))
	s := of(t, srcs...).Snapshot()
	want(t, "said", []any{s.Diagnostics[0].Code, s.Diagnostics[0].Message}, []any{"path_missing", "File not found: " + path})
}

func TestBlade_A39_CRLF(t *testing.T) {
	t.Parallel()
	lf := "---\nname: x\ndescription: d\nallowed-tools: [Read]\n---\nBody.\n"
	a, b := parse(lf), parse(strings.ReplaceAll(lf, "\n", "\r\n"))
	want(t, "record", []any{b.Valid, b.Name, b.Description, b.Meta.AllowedTools}, []any{a.Valid, a.Name, a.Description, a.Meta.AllowedTools})
}

func TestBlade_A40_FenceAtEOF(t *testing.T) {
	t.Parallel()
	s := parse("---\nname: x\ndescription: d\n---")
	want(t, "valid, body", []any{s.Valid, s.Body.End - s.Body.Start}, []any{true, 0})
}

func TestBlade_A41_BasePath(t *testing.T) {
	t.Parallel()
	p := project(t, "skills/x")
	want(t, "base path", record(t, local(t, p).Snapshot(), "x").Dir, filepath.Join(p, "skills/x"))
}

func TestBlade_A42_TagsUnsupported(t *testing.T) {
	t.Parallel()
	s := loads(t, "tags: [a]")
	want(t, "said", strings.Contains(codes(s.Diagnostics), "key_"), true)
}

func TestBlade_A43_DisallowedTools(t *testing.T) {
	t.Parallel()
	for value, n := range map[string]int{"disallowed-tools: [Bash]": 1, "disallowed-tools: Bash": 1, "version: 1": 0} {
		want(t, value, len(loads(t, value).Meta.DisallowedTools.Entries), n)
	}
}

func TestBlade_A44_CompatibilityLimit(t *testing.T) {
	t.Parallel()
	for n, warned := range map[int]bool{500: false, 501: true} {
		s := loads(t, "compatibility: "+strings.Repeat("a", n))
		want(t, "value", len(s.Meta.Compatibility), n)
		said := false
		for _, d := range s.Diagnostics {
			said = said || d.Level == skill.LevelWarning && strings.Contains(d.Message, "501") && strings.Contains(d.Message, "500")
		}
		want(t, "warned", said, warned)
	}
}
