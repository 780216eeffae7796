package command

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/deftskills/deft/skill"
)

func texts(list []Inline) []string {
	out := []string{}
	for _, c := range list {
		out = append(out, c.Text)
	}
	return out
}

func TestScanFindsCommandsAndNothingElse(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name, body string
		dialect    skill.Dialect
		want       []string
	}{
		{"at the start", "!`a b`", "", []string{"a b"}},
		{"indented by three", "   !`a`", "", []string{"a"}},
		{"after a blank", "Now: !`a`, then\t!`b`", "", []string{"a", "b"}},
		{"in a list and a quote", "- !`a`\n> !`b`\n", "", []string{"a", "b"}},
		{"in a table", "| x | !`a` |\n", "", []string{"a"}},
		{"in a heading", "# !`a`\n", "", []string{"a"}},
		{"no blank before", "Nice!`a` as!`b` (!`c`)", "", []string{}},
		{"another blank before", "运行：!`a`\u3000!`b`\u00a0!`c`", "", []string{}},
		{"escaped", "\\!`a`", "", []string{}},
		{"blank between", "! `a`", "", []string{}},
		{"two backquotes", "!``a``", "", []string{}},
		{"empty", "!`` and !` ` and !`", "", []string{}},
		{"line end inside", "!`a\nb`", "", []string{}},
		{"carriage return inside", "!`a\rb`", "", []string{}},
		{"windows lines", "!`a`\r\n!`b`\r\n", "", []string{"a", "b"}},
		{"in a span", "- `!` after `as!` and `try !` and `` !`a` ``", "", []string{}},
		{"in fences", "```\n!`a`\n```\n~~~\n!`b`\n~~~\n````\n```\n!`c`\n```\n````\n!`d`\n", "", []string{"d"}},
		{"fence never closed", "!`a`\n```\n!`b`\n", "", []string{"a"}},
		{"in a fence of a list", "- x\n\n  ```\n  !`a`\n  ```\n", "", []string{}},
		{"indented code", "x\n\n    !`a`\n\ty\n", "", []string{}},
		{"deep in a list item", "- x\n\n    !`a`\n\n  !`b`\n", "", []string{"b"}},
		{"in the line of a fence", "~~~ !`a`\n~~~\n", "", []string{}},
		{"in a comment", "<!-- !`a`\n !`b` --> !`c`\n", "", []string{"c"}},
		{"comment never closed", "!`a`\n<!-- !`b`\n", "", []string{"a"}},
		{"comment in code", "`<!--` !`a`\n", "", []string{"a"}},
		{"a fence that runs elsewhere", "```!\na\n```\n", "", []string{}},

		{"block", "x\n```!\na\nb\n```\n!`c`\n", skill.ClaudeCode, []string{"a\nb\n", "c"}},
		{"block of another kind", "```!x\na\n```\n", skill.ClaudeCode, []string{}},
		{"block never closed", "```!\na\n", skill.ClaudeCode, []string{}},
		{"block in a list", "- x\n\n  ```!\n  a\n  ```\n", skill.ClaudeCode, []string{}},
		{"block in a comment", "<!--\n```!\na\n```\n-->\n", skill.ClaudeCode, []string{}},

		{"anywhere", "x!`a`y", skill.Blade, []string{"a"}},
		{"after a full-width colon", "运行测试：!`a`", skill.Blade, []string{"a"}},
		{"lines", "!`a\nb`", skill.Blade, []string{"a\nb"}},
		{"span is text", "``  !`a` ``", skill.Blade, []string{"a"}},
		{"fences only, one without an end too", "```\n!`a`\n```\n  ~~~\n  !`b`\n  ~~~\n!`c`\n```\n!`d`\n", skill.Blade, []string{"c"}},

		{"none here", "!`a`", skill.MiniMax, []string{}},
		{"none there", "!`a`", skill.Codex, []string{}},
		{"unknown dialect", "!`a`", "no-such", []string{}},
	} {
		if got := texts(Scan(tt.body, ScanOptions{Dialect: tt.dialect})); !slices.Equal(got, tt.want) {
			t.Errorf("%s: %q: commands %q, want %q", tt.name, tt.body, got, tt.want)
		}
	}
}

func TestScanNamesThePlace(t *testing.T) {
	t.Parallel()
	got := Scan("é !`a` !`b`\n\n  !`c`", ScanOptions{Line: 7})
	want := []Inline{
		{Start: 3, End: 7, Text: "a", Line: 7, Col: 3},
		{Start: 8, End: 12, Text: "b", Line: 7, Col: 8},
		{Start: 16, End: 20, Text: "c", Line: 9, Col: 3},
	}
	if !slices.Equal(got, want) {
		t.Errorf("places %+v, want %+v", got, want)
	}
	block := Scan("x\n```!\nls\n```\ny", ScanOptions{Dialect: skill.ClaudeCode})
	if len(block) != 1 || block[0].Start != 2 || block[0].End != 13 || block[0].Line != 2 || !block[0].Block {
		t.Errorf("block %+v", block)
	}
}

func TestAFenceThatIsNoCommandHereIsNamed(t *testing.T) {
	t.Parallel()
	body := "x\n```!\nls\n```\n"
	got := ignoredBlocks(body, ScanOptions{Line: 5})
	if len(got) != 1 || got[0].Code != "inline_block_ignored" || got[0].Line != 6 {
		t.Errorf("diagnostics %+v", got)
	}
	if got := ignoredBlocks(body, ScanOptions{Dialect: skill.ClaudeCode}); got != nil {
		t.Errorf("where it is a command: %+v", got)
	}
}

func TestExamplesOfCommandsAreNotCommands(t *testing.T) {
	t.Parallel()
	for file, want := range map[string][]string{
		"049-examples-are-not-commands/tree/project/.claude/skills/command-authoring/SKILL.md": {"echo live"},
		"050-exclamation-in-code-spans/tree/project/.claude/skills/swift-review/SKILL.md":      {},
	} {
		body := caseBody(t, file)
		if got := texts(Scan(body, ScanOptions{})); !slices.Equal(got, want) {
			t.Errorf("%s: commands %q, want %q", file, got, want)
		}
		if got := texts(Scan(body, ScanOptions{Dialect: skill.ClaudeCode})); len(want) > 0 && !slices.Equal(got, []string{"echo live", "echo block\n"}) {
			t.Errorf("%s in claude-code: commands %q", file, got)
		}
	}
}

// caseBody is the body of a file of the shared cases.
func caseBody(t *testing.T, file string) string {
	t.Helper()
	base := os.Getenv("DEFT_TESTDATA")
	if base == "" {
		t.Skip("DEFT_TESTDATA is not set: the shared cases are not here")
	}
	src, err := os.ReadFile(filepath.Join(base, "cases", filepath.FromSlash(file)))
	if err != nil {
		t.Fatal(err)
	}
	_, body, _ := strings.Cut(strings.TrimPrefix(string(src), "---\n"), "\n---\n")
	return body
}

func FuzzScan(f *testing.F) {
	for _, s := range []string{"a !`b` c", "```!\nx\n```\n", "~~~ !`x`\n", "<!-- !`x` -->", "- `!` !`x`", "> ```\n> !`x`\n", "!`a`!`b` \\!`c`"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, body string) {
		for _, d := range []skill.Dialect{skill.Deft, skill.ClaudeCode, skill.Blade} {
			list := Scan(body, ScanOptions{Dialect: d})
			regions := skill.CodeRegions([]byte(body))
			at := 0
			for _, c := range list {
				if c.Start < at || c.End > len(body) || c.End <= c.Start {
					t.Fatalf("%s: pieces overlap: %+v", d, list)
				}
				at = c.End
				if strings.TrimSpace(c.Text) == "" || !c.Block && body[c.Start:c.End] != "!`"+c.Text+"`" {
					t.Fatalf("%s: %+v is not what stands there", d, c)
				}
				for _, r := range regions {
					if d != skill.Blade && !c.Block && r.Start <= c.Start && c.Start < r.End {
						t.Fatalf("%s: %+v starts in code %+v", d, c, r)
					}
				}
			}
		}
	})
}

func BenchmarkScanWithoutCommands(b *testing.B) {
	body := strings.Repeat("A line of text with `code` and a number, 42.\n", 1<<12)
	b.SetBytes(int64(len(body)))
	for b.Loop() {
		Scan(body, ScanOptions{})
	}
}
