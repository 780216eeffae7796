package skill

import (
	"strings"
	"testing"
)

func TestSplit(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name, src    string
		dialect      Dialect
		header, body string
		has, open    bool
	}{
		{"plain", "---\na: b\n---\nbody\n", Deft, "a: b\n", "body\n", true, false},
		{"byte order mark is dropped", "\ufeff---\na: b\n---\nx", Deft, "a: b\n", "x", true, false},
		{"blanks and tabs after the fences", "--- \t\na: b\n---\t \nx", Deft, "a: b\n", "x", true, false},
		{"nothing stands before the fence", "\n---\na: b\n---\nx", Deft, "", "\n---\na: b\n---\nx", false, false},
		{"CRLF", "---\r\na: b\r\n---\r\nx\r\n", Deft, "a: b\r\n", "x\r\n", true, false},
		{"mixed line ends", "---\na: b\r\n---\nx\r\n", Deft, "a: b\r\n", "x\r\n", true, false},
		{"closing fence ends the file", "---\na: b\n---", Deft, "a: b\n", "", true, false},
		{"empty header", "---\n---\nx", Deft, "", "x", true, false},
		{"glued value is no fence", "---\nname: glued---\nx\n", Deft, "", "", false, true},
		{"other lines are no fence", "---\na: b\n---draft---\n----- cut\n...\n ---\n---\nx", Deft, "a: b\n---draft---\n----- cut\n...\n ---\n", "x", true, false},
		{"fence inside a block scalar closes", "---\na: |\n  b\n---\nc\n---\n", Deft, "a: |\n  b\n", "c\n---\n", true, false},
		{"later fences are rules", "---\na: b\n---\nx\n---\nname: no\n---\n", Deft, "a: b\n", "x\n---\nname: no\n---\n", true, false},
		{"lone CR is no line end", "---\rname: a\n---\n", Deft, "", "---\rname: a\n---\n", false, false},
		{"lone CR inside the header", "---\na: b\r---\n---\nx", Deft, "a: b\r---\n", "x", true, false},
		{"unclosed", "---\na: b\n", Deft, "", "", false, true},
		{"no header", "# Hi\n", Deft, "", "# Hi\n", false, false},
		{"fence alone", "---", Deft, "", "", false, true},

		{"minimax takes no byte order mark", "\ufeff---\na: b\n---\nx", MiniMax, "", "\ufeff---\na: b\n---\nx", false, false},
		{"minimax takes no blanks after the opening fence", "--- \na: b\n---\nx", MiniMax, "", "--- \na: b\n---\nx", false, false},
		{"minimax closes at an exact line only", "---\na: b\n--- \nc: d\n---\nx", MiniMax, "a: b\n--- \nc: d\n", "x", true, false},
		{"minimax reads CRLF", "---\r\na: b\r\n---\r\nx", MiniMax, "a: b\r\n", "x", true, false},

		{"agentskills cuts at the first dashes", "---\nname: a---b\n---\nx", AgentSkills, "\nname: a", "b\n---\nx", true, false},
		{"agentskills needs them first", "\ufeff---\na: b\n---\nx", AgentSkills, "", "\ufeff---\na: b\n---\nx", false, false},
		{"agentskills unclosed", "---\nname: a\n", AgentSkills, "", "", false, true},
		{"mastra reads marks and CRLF", "\ufeff---\r\na: b\r\n---\r\nx", Mastra, "a: b\r\n", "x", true, false},
		{"blade reads a mark", "\ufeff---\na: b\n---\nx", Blade, "a: b\n", "x", true, false},
	} {
		p := SplitDialect([]byte(c.src), c.dialect)
		header, body := c.src[p.Header.Start:p.Header.End], c.src[p.Body.Start:p.Body.End]
		if header != c.header || body != c.body || p.HasHeader != c.has || p.Unclosed != c.open {
			t.Errorf("%s: header %q, body %q, has %v, unclosed %v", c.name, header, body, p.HasHeader, p.Unclosed)
		}
	}
}

func TestMastraNamesTheHeaderLanguage(t *testing.T) {
	t.Parallel()
	s := Parse([]byte("---js\n{}\n---\n"), ParseOptions{Dialect: Mastra, DirName: "a"})
	if s.Valid || !strings.Contains(codesOf(s), "header_language@1:1") || s.Diagnostics[0].Message != "JavaScript frontmatter is not supported" {
		t.Errorf("valid %v, %+v", s.Valid, s.Diagnostics)
	}
}

func TestNormaliseBodyTurnsCRLFIntoLF(t *testing.T) {
	t.Parallel()
	if got := NormaliseBody("a\r\nb\rc\r\n"); got != "a\nb\rc\n" {
		t.Errorf("got %q", got)
	}
}
