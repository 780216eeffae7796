package route

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"
)

// hits reports the keywords that the automaton finds in text.
func hits(keywords []string, text string) []string {
	norm := []string{}
	for _, k := range keywords {
		if n := Normalise(k); usable(n) {
			norm = append(norm, n)
		}
	}
	slices.Sort(norm)
	norm = slices.Compact(norm)
	text = Normalise(text)
	found := []string{}
	newAutomaton(norm).matches(text, func(p int32, from, to int) bool {
		if whole(text, from, to) && !slices.Contains(found, norm[p]) {
			found = append(found, norm[p])
		}
		return true
	})
	slices.Sort(found)
	return found
}

func naiveHits(keywords []string, text string) []string {
	text = Normalise(text)
	found := []string{}
	for _, k := range keywords {
		k = Normalise(k)
		if !usable(k) || slices.Contains(found, k) {
			continue
		}
		for i := 0; i+len(k) <= len(text); i++ {
			if strings.HasPrefix(text[i:], k) && whole(text, i, i+len(k)) {
				found = append(found, k)
				break
			}
		}
	}
	slices.Sort(found)
	return found
}

func TestKeywordsHitWholeWords(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		keyword, text string
		want          bool
	}{
		{"short", "shortly", false}, {"short", "short_term", false}, {"short", "go short!", true},
		{"risk", "asterisk", false}, {"close", "disclose", false},
		{"btc", "买BTC", true}, {"btc", "ＢＴＣ涨了吗", true},
		{"地板价", "看一下地板价吧", true},
		{"NFT估值", "做NFT估值分析", true}, {"NFT估值", "xNFT估值", false},
		{"stop loss", "my stop-loss", true}, {"stop loss", "Stop  Loss", true}, {"stop-loss", "stop\u2011loss", true},
		{"what's trending", "What’s trending", true},
		{"$BTC", "long $BTC", true}, {"c++", "c++17", true}, {"5x", "5x", true}, {"5x", "15x", false},
		{"비트코인", "비트코인을 사줘", true},
		{"word", "wo\u200brd", true}, {"straße", "STRASSE", true}, {"e", "e\u0301", false},
	} {
		if got := len(hits([]string{tt.keyword}, tt.text)) == 1; got != tt.want {
			t.Errorf("%q in %q: %v, want %v", tt.keyword, tt.text, got, tt.want)
		}
	}
}

func TestAKeywordInsideALongerOneCountsToo(t *testing.T) {
	t.Parallel()
	got := hits([]string{"swap", "token swap", "token", "swap fee"}, "a token swap")
	if fmt.Sprint(got) != "[swap token token swap]" {
		t.Errorf("hits are %q", got)
	}
}

func FuzzMatch(f *testing.F) {
	f.Add("a b", "ab", "bab", "abab a b")
	f.Add("地板价", "板", "nft估值", "看一下地板价吧 NFT估值")
	f.Add("he", "she", "hers", "ushers she-he hers")
	f.Add("c++", "$", "５x", "c++17 $5x 15x")
	f.Add("\xff", "ﬁ", "e\u0301", "\xfffi e\u0301 é")
	f.Fuzz(func(t *testing.T, a, b, c, text string) {
		keywords := []string{a, b, c, a + b, b + c}
		if got, want := hits(keywords, text), naiveHits(keywords, text); !slices.Equal(got, want) {
			t.Fatalf("%q in %q: automaton %q, naive %q", keywords, text, got, want)
		}
	})
}

func FuzzNormalise(f *testing.F) {
	for _, s := range []string{"", "Stop-Loss  now", "ＢＴＣ—ß", "a‐b−c", "\u00adx\u200by", "ǰ ŉ ΐ İ", "\xffa\xc3", "ﷺ ㌔ ½-½", "a-\u0301b", "“x”’s", "ᾳ \u0345", "K- Å"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		once := Normalise(s)
		if twice := Normalise(once); twice != once {
			t.Fatalf("%q gives %q, then %q", s, once, twice)
		}
		if !utf8.ValidString(once) || strings.Contains(once, "  ") || strings.TrimSpace(once) != once {
			t.Fatalf("%q gives %q", s, once)
		}
	})
}

func TestNormaliseIsIdempotentForEveryLetter(t *testing.T) {
	t.Parallel()
	for r := rune(0); r < 0x1FFFF; r++ {
		if s := "a-" + string(r) + "\u0301-b"; Normalise(Normalise(s)) != Normalise(s) {
			t.Errorf("U+%04X: %q gives %q, then %q", r, s, Normalise(s), Normalise(Normalise(s)))
		}
	}
}
