package search

import (
	"math"
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

func TestACompoundOfARequestIsOneWord(t *testing.T) {
	t.Parallel()
	x := indexOf(t, doc("split", "Plans for each sub-team of a team", ""), doc("group", "Plans for a team", ""))
	points := func(text string) map[string]float64 {
		m := map[string]float64{}
		for _, row := range find(t, x, Query{Text: text, Plain: true, Explain: true}).Hits[0].Explain {
			m[row.Term] = float64(row.Contribution)
		}
		return m
	}
	alone := points("subteam sub team plans")
	for text, weights := range map[string]map[string]float64{
		"sub-team":               {"subteam": 0.5, "sub": 0.5, "team": 0.5},
		"sub-team of a team":     {"subteam": 0.5, "sub": 0.5, "team": 1 + math.Ln2}, // it is also said alone
		"team-plans, subteam":    {"team": 1, "plan": 1, "subteam": 1},               // no skill says the whole
		"the-subteam":            {"subteam": 1},                                     // the other is a stop word
		"sub_team":               {"subteam": 1, "sub": 1, "team": 1},                // an identifier
		"sub-team and sub-plans": {"subteam": 0.5, "sub": 1 + math.Ln2, "team": 0.5, "plan": 1},
	} {
		got := points(text)
		for term, weight := range weights {
			if math.Abs(got[term]-weight*alone[term]) > 1 {
				t.Errorf("%q: %s counts %v, want %v of %v", text, term, got[term], weight, alone[term])
			}
		}
		if len(got) != len(weights) {
			t.Errorf("%q: %v", text, got)
		}
	}
}

func TestPairsThatBeginWithGrammarAreNotAskedFor(t *testing.T) {
	t.Parallel()
	an := usualAnalyzer()
	for text, want := range map[string][]string{
		"議事録を要約して":   {"议事", "事録", "録を", "要约", "约し"},
		"チームの目標を教えて": {"チー", "ーム", "ムの", "目标", "标を", "教え"},
		"ありがとう":      {"あり", "りが", "がと", "とう"}, // there is nothing else
	} {
		var got []string
		for _, a := range an.parse(Query{Text: text, Plain: true}).terms {
			if a.also == 0 {
				got = append(got, a.term)
			}
		}
		if !slices.Equal(got, want) {
			t.Errorf("%s: %q, want %q", text, got, want)
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
