package cli

import (
	"regexp"
	"strings"
	"testing"

	"github.com/deftskills/deft/internal/cli/text"
)

// The scanner has no words for a tree that it found nothing in: neither its messages, in
// both languages, nor its help.
func TestNoMessageOfTheScannerSaysThatASkillIsHarmless(t *testing.T) {
	t.Parallel()
	verdict := regexp.MustCompile(`(?i)\b(?:un)?(?:safe(?:ly|ty)?|clean|harmless|trustworthy|benign|verified|no (?:threat|risk|danger)s?)\b|安全|无害|干净|可信|放心|无风险`)
	seen := 0
	for _, language := range []string{"en", "zh"} {
		for key, words := range text.Load(language) {
			if !strings.HasPrefix(key, "scan.") && key != "hint.accept" && key != "add.ask" {
				continue
			}
			seen++
			if m := verdict.FindString(words); m != "" {
				t.Errorf("%s, %s: %q says %q", language, key, words, m)
			}
		}
	}
	v := scanVerb()
	if m := verdict.FindString(v.short + v.long); m != "" || seen < 10 {
		t.Errorf("help says %q; %d messages", m, seen)
	}
}
