package skill

import (
	"strings"
	"testing"
)

func tree(t *testing.T, text string) *Node {
	t.Helper()
	root, _, why := headerText{text: text, first: 2, limits: testLimits, mend: true}.tree()
	if why != nil {
		t.Fatalf("%q: %+v", text, why)
	}
	return root
}

func TestNodesKnowSourceAndPlace(t *testing.T) {
	t.Parallel()
	root := tree(t, strings.Join([]string{
		"plain: a b",                    // 2
		"é: 'it''s' # c",                // 3
		"double: \"x\\ty\"",             // 4
		"literal: |+",                   // 5
		"  one",                         // 6
		"",                              // 7
		"folded: >2-",                   // 8
		"    two",                       // 9
		"  three",                       // 10
		"wrapped: a",                    // 11
		"  b",                           // 12
		"flow: [a, {b: 'c]'}, \"d\", ]", // 13
		"list:",                         // 14
		"- - x",                         // 15
		"  - |",                         // 16
		"    deep",                      // 17
		"map: {a: [1,",                  // 18
		"  2], # ]",                     // 19
		"  b: }",                        // 20
		"empty:",                        // 21
		"\"quoted key\": z",             // 22
		"",
	}, "\n"))
	for _, c := range []struct {
		path           []string
		style          NodeStyle
		source, value  string
		line, col, end int
	}{
		{[]string{"plain"}, PlainStyle, "a b", "a b", 2, 8, 2},
		{[]string{"é"}, SingleQuotedStyle, "'it''s'", "it's", 3, 4, 3},
		{[]string{"double"}, DoubleQuotedStyle, `"x\ty"`, "x\ty", 4, 9, 4},
		{[]string{"literal"}, LiteralStyle, "|+\n  one", "one\n\n", 5, 10, 6},
		{[]string{"folded"}, FoldedStyle, ">2-\n    two\n  three", "  two\nthree", 8, 9, 10},
		{[]string{"wrapped"}, PlainStyle, "a\n  b", "a b", 11, 10, 12},
		{[]string{"flow"}, FlowStyle, "[a, {b: 'c]'}, \"d\", ]", "", 13, 7, 13},
		{[]string{"list"}, BlockStyle, "", "", 15, 1, 17},
		{[]string{"map"}, FlowStyle, "{a: [1,\n  2], # ]\n  b: }", "", 18, 6, 20},
		{[]string{"map", "a"}, FlowStyle, "[1,\n  2]", "", 18, 10, 19},
		{[]string{"empty"}, PlainStyle, "", "", 21, 7, 21},
		{[]string{"quoted key"}, PlainStyle, "z", "z", 22, 15, 22},
	} {
		n := root.Path(c.path...)
		if n == nil {
			t.Errorf("%v: no node", c.path)
			continue
		}
		if n.Style != c.style || n.Source != c.source || n.Value != c.value || n.Line != c.line || n.Column != c.col || n.EndLine != c.end {
			t.Errorf("%v: %+v", c.path, n)
		}
	}
	deep := root.Get("list").Content[0].Content[1]
	if deep.Source != "|\n    deep" || deep.Value != "deep\n" || deep.Line != 16 || deep.EndLine != 17 {
		t.Errorf("deep: %+v", deep)
	}
}

func TestCharactersThatAreNoLineEndsStayText(t *testing.T) {
	t.Parallel()
	for _, r := range []string{"\r", "\u0085", "\u2028", "\u2029", "\ufeff", "\ue000"} {
		root := tree(t, "a: x"+r+"y\nc: d\n")
		if got := root.Get("a"); root.Len() != 2 || got.Value != "x"+r+"y" || got.Source != got.Value {
			t.Fatalf("%q: %+v", r, root)
		}
	}
	s := Parse([]byte("---\nname: a\ndescription: one\rdisable-model-invocation: false\nuser-invocable: no\n---\nb"), ParseOptions{DirName: "a"})
	if s.Meta.UserInvocable || !strings.Contains(s.Description, "\rdisable") {
		t.Errorf("%q, %s", s.Description, codesOf(s))
	}
}

func TestRecovery(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name, line, key, want, code string // code "" means: the skill stays invalid
	}{
		{"R1", "description: Write notes: collect, group.", "description", "Write notes: collect, group.", "recovered_colon"},
		{"R1 with a colon at the end", "description: Usage:", "description", "Usage:", "recovered_colon"},
		{"R1 with quotes inside", "description: say 'x': y \"z\"", "description", "say 'x': y \"z\"", "recovered_colon"},
		{"R1 in another spelling", "whenToUse: a: b", "whenToUse", "a: b", "recovered_colon"},
		{"R2", "argument-hint: [--fast] [--deep]", "argument-hint", "[--fast] [--deep]", "recovered_brackets"},
		{"R2 is for hints only", "license: [a] [b]", "", "", ""},
		{"R2 needs balance", "argument-hint: [a] [b", "", "", ""},
		{"R3 at", "description: @team do", "description", "@team do", "recovered_indicator"},
		{"R3 percent", "description: %d", "description", "%d", "recovered_indicator"},
		{"R3 star", "description: *bold* x", "description", "*bold* x", "recovered_indicator"},
		{"R3 ampersand", "description: &a x", "description", "&a x", "recovered_indicator"},
		{"R3 exclamation", "description: !do it", "description", "!do it", "recovered_indicator"},
		{"R3 greater", "description: > text", "description", "> text", "recovered_indicator"},
		{"R3 bar", "description: | text", "description", "| text", "recovered_indicator"},
		{"R3 backquote", "description: `cmd` runs", "description", "`cmd` runs", "recovered_indicator"},
		{"R4", "description: \"Deploy\" the app", "description", "\"Deploy\" the app", "recovered_quotes"},
		{"R4 keeps all quotes", "description: 'a' and 'b'", "description", "'a' and 'b'", "recovered_quotes"},
		{"control key", "model: a: b", "", "", ""},
		{"nested key", "metadata:\n  description: a: b", "", "", ""},
		{"continuation", "description: a: b\n  more", "", "", ""},
		{"unclosed quote", "description: \"open", "", "", ""},
		{"two faults", "description: a: b\nmodel: [x", "", "", ""},
	} {
		s := Parse([]byte(header("name: a\n"+c.line)), ParseOptions{DirName: "a"})
		if c.code == "" {
			if s.Valid {
				t.Errorf("%s: loads", c.name)
			}
			continue
		}
		n := s.Raw().Get(c.key)
		if !s.Valid || n == nil || n.Value != c.want || n.Source != strings.TrimSpace(c.line[len(c.key)+1:]) || !strings.HasPrefix(codesOf(s), c.code+"@3:") {
			t.Errorf("%s: valid %v, %+v, %s", c.name, s.Valid, n, codesOf(s))
		}
	}
}

func TestRecoveryIsLimited(t *testing.T) {
	t.Parallel()
	lines := ""
	for _, k := range []string{"name", "title", "description", "when_to_use", "license", "compatibility", "version", "display-name"} {
		for _, form := range spellings(k) {
			if !strings.Contains(lines, "\n"+form+":") && !strings.HasPrefix(lines, form+":") {
				lines += form + ": a: b\n"
			}
		}
	}
	low := testLimits
	low.Recovered = 3
	if s := Parse([]byte(header(lines)), ParseOptions{Limits: low}); s.Valid {
		t.Error("more lines are recovered than the limit")
	}
	if s := Parse([]byte(header(lines)), ParseOptions{}); !s.Valid {
		t.Errorf("%s", codesOf(s))
	}
}

func TestEmptyHeaderIsAnEmptyMapping(t *testing.T) {
	t.Parallel()
	for _, src := range []string{"---\n---\nb\n", "---\n\n---\nb\n", "---\n# c\n---\nb\n"} {
		s := Parse([]byte(src), ParseOptions{DirName: "a"})
		if !s.Valid || s.Name != "a" || s.Raw().Len() != 0 || s.Raw().Kind != MappingNode {
			t.Errorf("%q: %s", src, codesOf(s))
		}
	}
}
