package minara

import (
	"strconv"
	"testing"

	"github.com/deftskills/deft/route"
)

// hits wants a skill with these keywords to have so many points in each message.
func hits(t *testing.T, words string, points int, messages ...string) {
	t.Helper()
	for _, m := range messages {
		res := says(t, one(keywords(words)), m)
		score := 0
		for _, h := range res.Hits {
			score = h.Score
		}
		want(t, words+" in "+strconv.Quote(m), score, points)
	}
}

func TestMinara_KW01_ShortIsNotInShortly(t *testing.T) {
	t.Parallel()
	hits(t, "short", 0, "see you shortly", "short_term")
}

func TestMinara_KW02_CaseAndPunctuationDoNotMatter(t *testing.T) {
	t.Parallel()
	hits(t, "short", 30, "go SHORT!")
}

func TestMinara_KW03_RiskIsNotInAsterisk(t *testing.T) {
	t.Parallel()
	hits(t, "risk", 0, "asterisk")
}

func TestMinara_KW04_ALatinWordBesideHanHits(t *testing.T) {
	t.Parallel()
	hits(t, "btc", 30, "买BTC", "BTC涨了吗")
}

func TestMinara_KW05_FullWidthLettersHit(t *testing.T) {
	t.Parallel()
	hits(t, "btc", 30, "ＢＴＣ")
}

func TestMinara_KW06_HanNeedsNoBoundary(t *testing.T) {
	t.Parallel()
	hits(t, "地板价", 30, "看看地板价吧")
}

func TestMinara_KW07_TheLatinEndOfAMixedKeywordNeedsABoundary(t *testing.T) {
	t.Parallel()
	hits(t, "NFT估值", 0, "做xNFT估值")
	hits(t, "NFT估值", 30, "做NFT估值分析")
}

func TestMinara_KW08_HyphensAndBlanksAreAlike(t *testing.T) {
	t.Parallel()
	hits(t, "stop loss", 30, "stop-loss", "stop  loss", "Stop\u2011Loss")
}

func TestMinara_KW09_CurlyQuotesAreStraight(t *testing.T) {
	t.Parallel()
	hits(t, `"what's trending"`, 30, "What’s trending")
}

func TestMinara_KW10_ADigitBeforeIsPartOfTheWord(t *testing.T) {
	t.Parallel()
	hits(t, "5x", 0, "15x")
	hits(t, "5x", 30, "5x")
}

func TestMinara_KW11_ASignIsItsOwnBoundary(t *testing.T) {
	t.Parallel()
	hits(t, "$BTC", 30, "long $BTC")
	hits(t, "c++", 30, "c++17")
}

func TestMinara_KW12_InvisibleCharactersAreNotThere(t *testing.T) {
	t.Parallel()
	hits(t, "swap", 30, "sw\u200bap", "s\u00adwap")
}

func TestMinara_KW13_AKeywordInsideALongerOneCountsToo(t *testing.T) {
	t.Parallel()
	hits(t, "swap, token swap", 60, "token swap")
}

// Case folding has no locale: the dotted and the dotless i are what Unicode says, whatever
// the process is told.
func TestMinara_KW14_TheLocaleHasNoInfluence(t *testing.T) {
	for _, locale := range []string{"C", "tr_TR.UTF-8"} {
		t.Setenv("LANG", locale)
		t.Setenv("LC_ALL", locale)
		hits(t, "İstanbul", 30, "İSTANBUL", "i̇stanbul")
		hits(t, "risk", 30, "RISK")
		hits(t, "risk", 0, "rısk")
	}
}

func TestMinara_KW15_BytesThatAreNoTextHitNothingElse(t *testing.T) {
	t.Parallel()
	hits(t, "swap", 30, "\xff\xc3 swap \x80")
	hits(t, "swap", 0, "\xff\xc3\x80")
}

func TestMinara_KW16_OneListInTwoLanguages(t *testing.T) {
	t.Parallel()
	s := one(keywords("swap, 兑换"))
	want(t, "english", at(says(t, s, "swap it"), "a"), "30 kw:swap")
	want(t, "chinese", at(says(t, s, "帮我兑换"), "a"), "30 kw:兑换")
	want(t, "both", at(turn(t, s, route.TurnRoutingContext{Message: "swap 兑换"}), "a"), "60 kw:swap kw:兑换")
}
