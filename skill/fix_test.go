package skill

import (
	"bytes"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

func TestFixChangesOnlyWhatWasReported(t *testing.T) {
	t.Parallel()
	cases := []struct {
		name, in, out string
		applied       string
	}{
		{
			"colon", "name: a-skill\r\ndescription: Write notes: collect \"all\".  \r\nlicense: MIT\r\n",
			"name: a-skill\r\ndescription: \"Write notes: collect \\\"all\\\".\"  \r\nlicense: MIT\r\n", "recovered_colon",
		},
		{
			"brackets", "name: a-skill\nargument-hint: [--fast] [--deep]\n",
			"name: a-skill\nargument-hint: \"[--fast] [--deep]\"\n", "recovered_brackets",
		},
		{
			"indicator", "name: a-skill\ndescription: @me and others\n",
			"name: a-skill\ndescription: \"@me and others\"\n", "recovered_indicator",
		},
		{
			"text after a quote", "name: a-skill\ndescription: \"Deploy\" the app\n",
			"name: a-skill\ndescription: \"\\\"Deploy\\\" the app\"\n", "recovered_quotes",
		},
		{
			"comment", "name: a-skill\ndescription: Handles C # and F #2\nlicense: MIT # really\n",
			"name: a-skill\ndescription: \"Handles C # and F #2\"\nlicense: \"MIT # really\"\n", "comment_in_value comment_in_value",
		},
		{
			"hint", "name: a-skill\nargument-hint: [url, depth]   # two\n",
			"name: a-skill\nargument-hint: \"[url, depth]\"   # two\n", "hint_brackets",
		},
		{"typo", "name: a-skill\ndescriptoin: x\n", "name: a-skill\ndescription: x\n", "key_typo"},
		{"typo beside the right key", "name: a-skill\ndescriptoin: x\ndescription: y\n", "name: a-skill\ndescriptoin: x\ndescription: y\n", ""},
		{"near miss", "name: a-skill\ndisable-model-invocation: ture\n", "name: a-skill\ndisable-model-invocation: true\n", "bool_invalid"},
		{"far miss", "name: a-skill\ndisable-model-invocation: maybe\n", "name: a-skill\ndisable-model-invocation: maybe\n", ""},
		{"no name", "description: x\n", "name: a-skill\ndescription: x\n", "name_missing"},
		{"no name, crlf", "description: x\r\n", "name: a-skill\r\ndescription: x\r\n", "name_missing"},
		{"name", "name: 'My Skill' # mine\ndescription: x\n", "name: my-skill # mine\ndescription: x\n", "name_case name_chars"},
		{"nested typo", "name: a-skill\nmetadata:\n  deft:\n    priorty: 3\n", "name: a-skill\nmetadata:\n  deft:\n    priority: 3\n", "key_typo"},
		{"several", "descriptoin: a: b\nlisted: flase\n", "name: a-skill\ndescription: a: b\nlisted: false\n", "key_typo bool_invalid name_missing"},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			eol := "\n"
			if strings.Contains(c.in, "\r\n") {
				eol = "\r\n"
			}
			const body = "# Body: é\r\n\n  text \t\n"
			in := []byte("---" + eol + c.in + "---" + eol + body)
			if c.name == "several" { // a typo on a line that is no YAML: the whole header is refused
				in = []byte("---\nlisted: flase\ndescriptoin: a b\n---\n" + body)
				c.out = "name: a-skill\nlisted: false\ndescription: a b\n"
			}
			want := "---" + eol + c.out + "---" + eol + body
			diags := Parse(in, ParseOptions{DirName: "a-skill"}).Diagnostics
			out, applied := Fix(in, diags)
			if string(out) != want {
				t.Errorf("got\n%q\nwant\n%q\nfor %+v", out, want, diags)
			}
			seen := map[string]int{}
			for _, d := range applied {
				seen[d.Code]++
			}
			for _, code := range strings.Fields(c.applied) {
				seen[code]--
			}
			for code, n := range seen {
				if n != 0 {
					t.Errorf("applied %+v, want %q (%s)", applied, c.applied, code)
				}
			}
		})
	}
}

// Whatever the header, a repair keeps what the reader took from it, leaves the body
// alone, and has nothing left to do the second time.
func TestFixIsIdempotentAndKeepsFields(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		header := headerLines(t)
		for _, more := range []string{"descriptoin: x", "compatibility: a: b", "license: \"x\" y", "version: 1 # 2", "title: @x"} {
			key, _, _ := strings.Cut(more, ":")
			if rapid.Bool().Draw(t, key) && !strings.Contains("\n"+header, "\n"+key+":") {
				header += "\n" + more
			}
		}
		src := []byte("---\n" + header + "\n---\nText: é\r\n")
		o := ParseOptions{DirName: "a-skill", Path: "SKILL.md"}
		x := Parse(src, o)
		out, applied := Fix(src, x.Diagnostics)
		if len(applied) == 0 && !bytes.Equal(out, src) {
			t.Fatalf("changed without a repair:\n%s", out)
		}
		y := Parse(out, o)
		if x.Valid != y.Valid {
			t.Fatalf("valid %t → %t\n%s\n→\n%s\n%+v", x.Valid, y.Valid, src, out, y.Diagnostics)
		}
		again, more := Fix(out, y.Diagnostics)
		if len(more) > 0 || !bytes.Equal(again, out) {
			t.Errorf("a second repair changes\n%s\n→\n%s\n%+v", out, again, more)
		}
		if !bytes.HasSuffix(out, []byte("\n---\nText: é\r\n")) {
			t.Errorf("body changed: %q", out)
		}
		quotesOnly := true
		for _, d := range applied {
			if !strings.HasPrefix(d.Code, "recovered_") && d.Code != "hint_brackets" {
				quotesOnly = false
			}
		}
		if quotesOnly && x.Valid {
			sameFields(t, string(src)+"\n→\n"+string(out), x, y)
		}
	})
}

func FuzzFix(f *testing.F) {
	f.Add([]byte("---\nname: My Skill\ndescriptoin: a: b\nlisted: flase\nargument-hint: [a]\n---\nx\n"))
	f.Add([]byte("\xef\xbb\xbf---\r\ntitle: é # x\r\n---\r\n"))
	f.Fuzz(func(t *testing.T, src []byte) {
		s := Parse(src, ParseOptions{DirName: "x"})
		out, applied := Fix(src, s.Diagnostics)
		if s.Valid && !Parse(out, ParseOptions{DirName: "x"}).Valid {
			t.Errorf("a repair made the skill invalid: %+v\n%q\n→\n%q", applied, src, out)
		}
		if body := src[s.Body.Start:s.Body.End]; s.Valid && !bytes.HasSuffix(out, body) {
			t.Error("body changed")
		}
		if s.Valid {
			if _, _, _, err := Export(s, src, ProfileAgentskills); err != nil {
				t.Error(err)
			}
		}
	})
}
