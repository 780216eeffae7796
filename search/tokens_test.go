package search

import (
	"slices"
	"strings"
	"testing"
	"unicode/utf8"
)

func terms(text string) []string {
	var out []string
	Tokens(text, func(t Token) bool { out = append(out, t.Term); return true })
	return out
}

func TestTokensOfEveryScript(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ text, want string }{
		{"", ""},
		{"Deploying the services", "deploy servic"},
		{"getUserName", "get user name getusernam"},
		{"HTTPServer", "http server httpserver"},
		{"snake_case kebab-case", "snak case snakecas kebab case kebabcas"},
		{"v2beta", "beta v2beta"},
		{"node.js and C++, F#, .NET", "node.js node js c++ f# .net net"},
		{"src/main.go", "src main go"},
		{"résumé", "résumé resum"},
		{"ＢＴＣ涨了吗", "btc 涨了 了吗"},
		{"用GitHub管理", "用 git hub github 管理"},
		{"週報を書く", "周报 报を を书 书く"},
		{"문서를 번역", "문서 서를 번역"},
		{"ไทยนี้", "ไท ทย ยนี้"},
		{"猫", "猫"},
		{"h中", "中"},
		{"what is it", ""},
		{strings.Repeat("9", 21) + " 2026", "2026"},
		{strings.Repeat("x", 65) + " ok", "ok"},
		{"mapping planned caching queries boxes", "map plan cach query box"},
	} {
		want := strings.Fields(tt.want)
		if got := terms(tt.text); !slices.Equal(got, want) {
			t.Errorf("Tokens(%q) = %q, want %q", tt.text, got, want)
		}
	}
}

func TestTokensKnowTheirPlace(t *testing.T) {
	t.Parallel()
	text := "first line\n\nthird 中文字\n"
	var got []Token
	Tokens(text, func(t Token) bool { got = append(got, t); return true })
	for _, tk := range got {
		if tk.Term == "文字" && (tk.Line != 3 || !strings.HasPrefix(text[tk.Start:], "文字")) {
			t.Errorf("文字 is at line %d, byte %d", tk.Line, tk.Start)
		}
	}
	if n := len(got); n == 0 || got[n-1].Term != "文字" {
		t.Errorf("tokens are %v", got)
	}
}

func TestTokensStopWhenTold(t *testing.T) {
	t.Parallel()
	n := 0
	Tokens("alpha beta gamma 中文字", func(Token) bool { n++; return n < 2 })
	if n != 2 {
		t.Errorf("yield was called %d times, want 2", n)
	}
}

func FuzzTokens(f *testing.F) {
	for _, s := range []string{"", "HTTPServer v2", "中文h中", "a\xffb", "ภาษา\u200bไทย", "C++ .NET e\u0301", "-_./", "ﬀ ＢＴＣ"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		last := 0
		Tokens(s, func(tk Token) bool {
			if tk.Term == "" || !utf8.ValidString(tk.Term) || utf8.RuneCountInString(tk.Term) > 3*maxTerm {
				t.Fatalf("term %q of %q", tk.Term, s)
			}
			if tk.Start < 0 || tk.Start >= len(s) || tk.Line < 1 {
				t.Fatalf("term %q is at byte %d, line %d of %q", tk.Term, tk.Start, tk.Line, s)
			}
			last = max(last, tk.Start)
			return true
		})
	})
}
