package skill

import (
	"errors"
	"io/fs"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/deftskills/deft/internal/race"
)

// lintOf lints a file with these header lines and body.
func lintOf(t *testing.T, lines, body string, o LintOptions) []Diagnostic {
	t.Helper()
	src := []byte(body)
	if lines != "" {
		src = []byte("---\n" + lines + "\n---\n" + body)
	}
	s := Parse(src, ParseOptions{DirName: "a-skill"})
	if !s.Valid {
		t.Fatalf("not valid: %+v", s.Diagnostics)
	}
	return Lint(s, src[s.Body.Start:s.Body.End], o)
}

const lintHeader = "name: a-skill\ndescription: Drafts the notes of a release from merged changes."

func TestLintFindings(t *testing.T) {
	t.Parallel()
	minara := lintHeader + "\nmetadata:\n  minara:\n    "
	words := func(n int) LintOptions {
		return LintOptions{Tokens: func(string) int { return n }}
	}
	many := strings.TrimSuffix(strings.Repeat("t, ", lintTools), ", ")
	dir := fstest.MapFS{
		"SKILL.md": {}, "references/Guide.md": {}, "references/deep/er.md": {}, "scripts/run.sh": {}, "a b.md": {},
		"sub/SKILL.md": {}, ".git/SKILL.md": {},
	}
	in := LintOptions{FS: dir}
	cases := []struct {
		name        string
		lines, body string
		o           LintOptions
		code        string
		level       Level
		line, col   int
		text        string
	}{
		{"long body", lintHeader, "x", words(801), "prompt_long", LevelWarning, 5, 1, "801 tokens, more than 800"},
		{"long body, minara", lintHeader, strings.Repeat("x", 3073), LintOptions{Dialect: Minara}, "prompt_long", LevelWarning, 5, 1, "3073 bytes"},
		{"body over the standard", lintHeader, "x", words(5001), "body_over_standard", LevelWarning, 5, 1, "5001"},
		{"file of 501 lines", lintHeader, strings.Repeat("\n", 497), LintOptions{}, "body_over_standard", LevelWarning, 5, 1, "501 lines"},
		{"81 code points", "description: Drafts notes of " + strings.Repeat("x", 66), "x", LintOptions{}, "description_long", LevelInfo, 2, 14, "82"},
		{"builtin", "description: Drafts notes of " + strings.Repeat("x", 200), "x", LintOptions{Builtin: true}, "description_long", LevelError, 2, 14, "limit 200"},
		{"over the standard", "description: Drafts notes of " + strings.Repeat("x", 1024), "x", LintOptions{}, "description_long", LevelError, 2, 14, "limit is 1024"},
		{"short description", "description: Drafts notes.", "x", LintOptions{}, "description_vague", LevelWarning, 2, 14, "20 code points"},
		{"empty words", "description: A skill that helps with various useful things and tasks.", "x", LintOptions{}, "description_vague", LevelWarning, 2, 14, "no action"},
		{"angle", "description: Drafts notes of <PROJECT> changes.", "x", LintOptions{}, "description_angle", LevelInfo, 2, 14, "<"},
		{"markup", "description: Drafts </b> notes of changes.", "x", LintOptions{}, "description_markup", LevelWarning, 2, 14, "markup"},
		{"line break", "description: |\n  Drafts notes\n  of merged changes.", "x", LintOptions{}, "description_markup", LevelWarning, 2, 14, "line break"},
		{"control", `description: "Drafts notes \e of merged changes."`, "x", LintOptions{}, "description_markup", LevelWarning, 2, 14, "control"},
		{"many tools", minara + "tool_names: [" + many + "]", "t", LintOptions{}, "tools_many", LevelWarning, 6, 5, "20"},
		{"unused tool", minara + "tool_names: [get_price]", "get_prices", LintOptions{}, "tool_unused", LevelInfo, 6, 5, "get_price"},
		{"tier", lintHeader + "\npermission-tier: X", "x", LintOptions{}, "tier_on_skill", LevelError, 4, 1, "permission-tier"},
		{"risk in a block", minara + "risk: high", "x", LintOptions{}, "tier_on_skill", LevelError, 6, 5, "risk"},
		{"environment", minara + "requires_env: [api_key]", "x", LintOptions{}, "env_name", LevelWarning, 6, 5, "api_key"},
		{"secret name", lintHeader + "\nmetadata:\n  requires-env: [api-key]", "x", LintOptions{}, "env_name", LevelWarning, 5, 3, "api-key"},
		{"one letter", minara + "routing: {keywords: [a]}", "x", LintOptions{}, "keyword_single", LevelWarning, 6, 5, `"a"`},
		{"no letter", minara + "routing: {keywords: ['?!']}", "x", LintOptions{}, "keyword_empty", LevelWarning, 6, 5, "?!"},
		{"negated", minara + "routing: {keywords: [Deploy], negative_keywords: [deploy]}", "x", LintOptions{}, "keyword_negated", LevelError, 6, 5, "Deploy"},
		{"no such tool", minara + "tool_names: [get_price]", "get_price", LintOptions{Tools: NewNameSet("other")}, "tool_unresolved", LevelWarning, 6, 5, "get_price"},
		{"no such tool, builtin", minara + "tool_names: [get_price]", "get_price", LintOptions{Tools: NewNameSet("other"), Builtin: true}, "tool_unresolved", LevelError, 6, 5, "get_price"},
		{"no such id", minara + "co_activate: [b]", "x", LintOptions{IDs: NewNameSet("a")}, "co_activate_unknown", LevelError, 6, 5, `"b"`},
		{"key not asked for", minara + "tool_names: [glass_a, glass_b]", "glass_a glass_b", LintOptions{Keys: map[string]string{"glass": "GLASS_KEY"}}, "provider_without_env", LevelWarning, 6, 5, "GLASS_KEY"},
		{"no request reaches it", lintHeader, "x", LintOptions{Dialect: Minara}, "unroutable", LevelWarning, 1, 1, "no request"},
		{"unreachable", "name: a-skill", "# Title", LintOptions{}, "unreachable", LevelError, 1, 1, ""},
		{"file name", lintHeader, "x", LintOptions{FileName: "skill.md"}, "file_name", LevelWarning, 1, 1, "skill.md"},
		{"secret", lintHeader, "Key:\n sk-ant-" + "api03-Zq8Lm2Vx7Rt4Ks9Pw1Nd", LintOptions{}, "secret_in_text", LevelError, 6, 2, "Anthropic"},
		{"secret in the header", lintHeader + "\nlicense: ghp_" + "Zq8Lm2Vx7Rt4Ks9Pw1NdZq8Lm2Vx7Rt4Ks9Pw1Nd", "x", LintOptions{}, "secret_in_text", LevelError, 4, 1, "GitHub"},
		{"undeclared", lintHeader, "Run $1 now.", LintOptions{}, "arguments_undeclared", LevelInfo, 5, 5, "$1"},
		{"amount", lintHeader + "\narguments: [file]", "It costs $5.50.", LintOptions{}, "args_position", LevelWarning, 6, 10, "$5"},
		{"amount a month", lintHeader + "\nargument-hint: '[x]'", "It costs $20/month, $0.", LintOptions{}, "args_position", LevelWarning, 6, 10, "$20"},
		{"base", lintHeader + "\narguments: [file]", "Read $1.", LintOptions{}, "args_base", LevelInfo, 6, 6, "$0"},
		{"missing link", lintHeader, "See [x](references/none.md).", in, "link_missing", LevelWarning, 5, 9, "references/none.md"},
		{"missing code path", lintHeader, "Run `scripts/none.sh`.", in, "link_missing", LevelWarning, 5, 6, "scripts/none.sh"},
		{"missing in a fence", lintHeader, "```sh\npython scripts/none.py --x\n```\n", in, "link_missing", LevelWarning, 6, 8, "scripts/none.py"},
		{"missing definition", lintHeader, "[x]: none.md \"T\"\n", in, "link_missing", LevelWarning, 5, 6, "none.md"},
		{"case differs", lintHeader, "See [x](references/guide.md#top).", in, "link_missing", LevelError, 5, 9, "references/Guide.md"},
		{"link leaves", lintHeader, "See [x](../other/SKILL.md).", in, "link_missing", LevelWarning, 5, 9, "leaves"},
		{"deep", lintHeader, "See [x](references/deep/er.md).", in, "link_deep", LevelInfo, 5, 9, "2 levels"},
		{"nested", lintHeader, "x", in, "nested_skill", LevelInfo, 1, 1, "sub/SKILL.md"},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			got := lintOf(t, c.lines, c.body, c.o)
			if _, ok := LookupCode(c.code); !ok {
				t.Errorf("code %q is not in the table", c.code)
			}
			for _, d := range got {
				if d.Code == c.code && d.Level == c.level && strings.Contains(d.Message, c.text) &&
					(c.line == 0 || d.Line == c.line && d.Column == c.col) && d.Fix != "" && d.File == "SKILL.md" {
					return
				}
			}
			t.Errorf("no %s %s at %d:%d with %q in %+v", c.code, c.level, c.line, c.col, c.text, got)
		})
	}
}

func TestLintFindsNothing(t *testing.T) {
	t.Parallel()
	dir := fstest.MapFS{"SKILL.md": {}, "references/Guide.md": {}, "scripts/run.sh": {}, "a b.md": {}}
	cases := []struct{ name, lines, body string }{
		{"plain", lintHeader, "Do it.\n"},
		{"chinese description", "description: 把合并的改动整理成发布说明，并起草一份摘要。", "做。"},
		{"declared arguments", lintHeader + "\narguments: [a, b]", "Use $0 and $1.\n"},
		{"escaped, code and fences", lintHeader, "Pay \\$1 or `$1`.\n\n```sh\necho $1\n```\n"},
		{"price without arguments", lintHeader, "It costs $5.00, $100 or $20/month.\n"},
		{"links that are there", lintHeader, "[a](references/Guide.md#x) [b](<a%20b.md>) ![c](./scripts/run.sh?x \"t\") `scripts/run.sh`\n"},
		{"links that are no files", lintHeader, "[a](https://x.y/z.md) [b](#top) [c](mailto:a@b.c) [d](/abs) [e]({baseDir}/x.md) `references/*.md` `src/none.go`\n"},
		{"link in code", lintHeader, "```md\n[x](none.md)\n```\n"},
		{"made-up keys", lintHeader, "sk-ant-xxxxxxxxxxxxxxxxxxxxxxxxxxxx AKIAIOSFODNN7EXAMPLE sk-your-key-here-your-key-here-your-key\n"},
		{"tool used", lintHeader + "\nmetadata: {minara: {tool_names: [get_price], routing: {keywords: [价, deploy]}}}", "Call `get_price`.\n"},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			if got := lintOf(t, c.lines, c.body, LintOptions{FS: dir}); len(got) > 0 {
				t.Errorf("%+v", got)
			}
		})
	}
}

func TestLintSaysNothingOfInvalidSkills(t *testing.T) {
	t.Parallel()
	s := Parse([]byte("---\nname: [\n---\n"), ParseOptions{})
	if got := Lint(s, nil, LintOptions{}); got != nil {
		t.Errorf("%+v", got)
	}
}

// brokenFS fails wherever it is read.
type brokenFS struct{}

func (brokenFS) Open(string) (fs.File, error) { return nil, errors.New("broken") }

func TestLintSurvivesABrokenDirectory(t *testing.T) {
	t.Parallel()
	lintOf(t, lintHeader, "[x](a.md)\n", LintOptions{FS: brokenFS{}})
}

func TestSecretIsNeverRepeated(t *testing.T) {
	t.Parallel()
	key := "AKIA" + "QZ8LM2VX7RT4KS9P"
	got := lintOf(t, lintHeader, "key "+key+"\n", LintOptions{})
	if len(got) != 1 || strings.Contains(got[0].Message+got[0].Fix, "QZ8") {
		t.Errorf("%+v", got)
	}
}

func FuzzLint(f *testing.F) {
	f.Add([]byte("---\n"+lintHeader+"\narguments: [a]\n---\n$1 [x](y) `scripts/a.sh`\n"), true)
	f.Add([]byte("\xef\xbb\xbf# x\r\n\r\n$5.5 ](](<>)\n[a]: b\n"), false)
	f.Fuzz(func(t *testing.T, src []byte, deep bool) {
		s := Parse(src, ParseOptions{DirName: "x"})
		for _, d := range Lint(s, src[s.Body.Start:s.Body.End], LintOptions{Builtin: deep, FS: fstest.MapFS{"SKILL.md": {}}}) {
			if d.Line < 1 || d.Column < 1 || d.Message == "" || d.Code == "" {
				t.Errorf("%+v", d)
			}
		}
	})
}

// A megabyte of findings on one line is told of by its first hundred.
func TestLintOfManyFindingsIsBounded(t *testing.T) {
	t.Parallel()
	for _, body := range []string{strings.Repeat("$1 ", 80_000), strings.Repeat("[x](a) ", 25_000), strings.Repeat("](", 100_000), strings.Repeat("`scripts/a.sh`", 15_000)} {
		if race.Enabled {
			body = body[:len(body)/8]
		}
		if got := lintOf(t, lintHeader, body, LintOptions{FS: fstest.MapFS{}}); len(got) == 0 || len(got) > 100 {
			t.Errorf("%d findings in %.20q", len(got), body)
		}
	}
}

func TestLintOfALibrary(t *testing.T) {
	t.Parallel()
	var list []Linted
	for i, lines := range []string{
		"description: Drafts the notes of a release from merged changes.",
		"description: Drafts notes of THE release, from merged changes.",
		"description: 把合并的改动整理成发布说明。", "description: 把合并的改动整理成发布说明！", "description: Waters ferns.",
	} {
		src := "---\n" + lines + "\nmetadata: {deft: {routing: {keywords: [Notes, notes, k" + string(rune('0'+i)) + "]}}}\n---\nx\n"
		s := Parse([]byte(src), ParseOptions{DirName: "s" + string(rune('0'+i))})
		list = append(list, Linted{s.Name, s})
	}
	list = append(list, Linted{"broken", Parse([]byte("---\nname: [\n---\n"), ParseOptions{})})
	var got []string
	for _, d := range LintLibrary(list) {
		got = append(got, d.File+" "+d.Code)
	}
	want := "s0 keyword_collision, s1 keyword_collision, s2 keyword_collision, s3 description_duplicate, s3 keyword_collision, s4 keyword_collision"
	if strings.Join(got, ", ") != want {
		t.Errorf("got  %s\nwant %s", strings.Join(got, ", "), want)
	}
	if got := LintLibrary(list[:3]); len(got) != 0 {
		t.Errorf("three may share a keyword: %+v", got)
	}
}
