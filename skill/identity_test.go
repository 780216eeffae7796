package skill

import (
	"strings"
	"testing"
)

func TestNameKeyHandle(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name, dir         string // as in the header; "" is no name
		want, key, handle string
	}{
		{"mailer", "mailer", "mailer", "mailer", "mailer"},
		{"", "folder", "folder", "folder", "folder"},
		{"'  a  '", "a", "a", "a", "a"},
		{"4711", "4711", "4711", "4711", "4711"},
		{"Café", "x", "Café", "café", "café"},
		{"cafe\u0301", "x", "café", "café", "café"},
		{"My Skill!", "x", "My Skill!", "my skill!", "my-skill"},
		{"数据分析", "数据分析", "数据分析", "数据分析", "数据分析"},
		{"мой-навык", "мой-навык", "мой-навык", "мой-навык", "мой-навык"},
		{"plug:tool", "x", "plug:tool", "plug:tool", "plug:tool"},
		{"'!!!'", "the dir", "!!!", "!!!", "the-dir"},
		{"../up", "dir", "dir", "dir", "dir"},
		{"a\\b", "dir", "dir", "dir", "dir"},
		{"'.'", "dir", "dir", "dir", "dir"},
		{"\"a\\u202eb\"", "dir", "dir", "dir", "dir"},
		{"\"a\\u0007b\"", "dir", "dir", "dir", "dir"},
	} {
		lines := "description: d"
		if c.name != "" {
			lines = "name: " + c.name + "\n" + lines
		}
		s := Parse([]byte(header(lines)), ParseOptions{DirName: c.dir})
		if s.Name != c.want || s.Key != c.key || s.Handle != c.handle {
			t.Errorf("%q in %q: name %q, key %q, handle %q", c.name, c.dir, s.Name, s.Key, s.Handle)
		}
	}
	s := Parse([]byte(header("name: '!!!'")), ParseOptions{DirName: "???"})
	if want := "skill-" + string(s.File)[7:15]; s.Handle != want {
		t.Errorf("handle %q, want %q", s.Handle, want)
	}
}

func TestNamesThatAreFineHaveNoFinding(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"a", "release-notes", "café-menu", "数据分析", "мой-навык", "v2", "a1-b2"} {
		if s := Parse([]byte(header("name: "+name+"\ndescription: d")), ParseOptions{DirName: name}); len(s.Diagnostics) > 0 {
			t.Errorf("%s: %s", name, codesOf(s))
		}
	}
	if s := Parse([]byte(header("name: mailer\ndescription: d")), ParseOptions{DirName: "Mailer"}); len(s.Diagnostics) > 0 {
		t.Errorf("name and directory differ in case only: %s", codesOf(s))
	}
}

func TestNameByDialect(t *testing.T) {
	t.Parallel()
	src := []byte(header("name: My Label\ndescription: d"))
	s := Parse(src, ParseOptions{Dialect: ClaudeCode, DirName: "command"})
	if s.Name != "command" || s.Meta.DisplayName != "My Label" {
		t.Errorf("claude-code: %q, label %q", s.Name, s.Meta.DisplayName)
	}
	s = Parse(src, ParseOptions{Dialect: MiniMax, DirName: "link"})
	if s.Name != "My Label" || s.Key != "My Label" || strings.Contains(codesOf(s), "name_") {
		t.Errorf("minimax: %q, key %q, %s", s.Name, s.Key, codesOf(s))
	}
	s = Parse([]byte(header("name: 12")), ParseOptions{Dialect: MiniMax, DirName: "link", TargetDirName: "real"})
	if s.Name != "real" {
		t.Errorf("minimax, number as name: %q", s.Name)
	}
	s = Parse([]byte(header("description: d")), ParseOptions{DirName: "link", TargetDirName: "real"})
	if s.Name != "link" {
		t.Errorf("deft: %q", s.Name)
	}
}

func TestTitle(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name, header, body string
		dialect            Dialect
		want               string
	}{
		{"declared", "title: T", "# H", Deft, "T"},
		{"heading", "name: a", "text\n\n# H #\n", Deft, "H"},
		{"underlined heading", "name: a", "H h\n===\n", Deft, "H h"},
		{"level two", "name: a", "## H\n", Deft, "a"},
		{"hash without blank", "name: a", "#H\n", Deft, "a"},
		{"inside a fence", "name: a", "```\n# no\n```\n# yes\n", Deft, "yes"},
		{"inside a long fence", "name: a", "~~~~\n# no\n~~~\n# no\n~~~~\n# yes\n", Deft, "yes"},
		{"inside an unclosed fence", "name: a", "```\n# no\n", Deft, "a"},
		{"indented code", "name: a", "    # no\n", Deft, "a"},
		{"CRLF", "name: a", "# H\r\n", Deft, "H"},
		{"minimax takes it from a fence", "name: a", "```\n# yes\n```\n", MiniMax, "yes"},
	} {
		s := Parse([]byte("---\n"+c.header+"\n---\n"+c.body), ParseOptions{DirName: "a", Dialect: c.dialect})
		if s.Title != c.want {
			t.Errorf("%s: %q, want %q", c.name, s.Title, c.want)
		}
	}
}

func TestDescriptionFromTheFirstParagraph(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name, body, want string
		line             int
	}{
		{"after heading, comment and code", "# H\n<!-- c\nd -->\n```\ncode\n```\n\nTurns a sketch\n  into a plan.\n\nMore.\n", "Turns a sketch into a plan.", 11},
		{"list item", "- First thing\n- Second\n", "First thing", 4},
		{"numbered item", "1. First thing\n", "First thing", 4},
		{"quote", "> Said so.\n", "Said so.", 4},
		{"rules", "***\n---\n\nText.\n", "Text.", 7},
		{"indented code", "    code\n\nText.\n", "Text.", 6},
		{"underlined heading", "Head\n====\n\nText.\n", "Text.", 7},
		{"paragraph ends at a heading", "Text\n# H\n", "Text", 4},
		{"one-line comment", "<!-- c -->\nText\n", "Text", 5},
		{"CRLF", "Text\r\nmore\r\n", "Text more", 4},
		{"nothing", "# H\n", "", 1},
	} {
		s := Parse([]byte("---\nname: a\n---\n"+c.body), ParseOptions{DirName: "a"})
		if s.Description != c.want {
			t.Errorf("%s: %q, want %q", c.name, s.Description, c.want)
		}
		if d := s.Diagnostics[len(s.Diagnostics)-1]; d.Line != c.line {
			t.Errorf("%s: line %d, want %d (%s)", c.name, d.Line, c.line, d.Code)
		}
	}
	s := Parse([]byte("# H\nline one \n line two\n# x\n"), ParseOptions{DirName: "a", Dialect: MiniMax})
	if s.Description != "line one\nline two" {
		t.Errorf("minimax: %q", s.Description)
	}
	s = Parse([]byte("Only prose.\n"), ParseOptions{DirName: "only-body"})
	if !s.Valid || s.Name != "only-body" || s.Description != "Only prose." || codesOf(s) != "header_missing@1:1 description_derived@1:1" {
		t.Errorf("without a header: %+v", s)
	}
}

func TestDescriptionLimitCountsCodePoints(t *testing.T) {
	t.Parallel()
	just := Parse([]byte(header("name: a\ndescription: "+strings.Repeat("é", 1024))), ParseOptions{DirName: "a"})
	if len(just.Diagnostics) > 0 {
		t.Errorf("1024: %s", codesOf(just))
	}
}
