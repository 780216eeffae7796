package minara

import (
	"strings"
	"testing"

	"github.com/deftskills/deft"
)

// A negative keyword takes a skill out of every block of its turn, and of no other.
func TestASkillOfANegativeKeywordLeavesThePromptForOneTurn(t *testing.T) {
	t.Parallel()
	e := engine(t, folder(t, abc("routing: {keywords: [buy], negative_keywords: [paper]}", keywords("buy"), "")))
	prompt := func(text string) (stable, tail string) {
		in := request(text)
		c, err := e.Catalog(t.Context(), deft.CatalogOptions{For: &in})
		if err != nil {
			t.Fatal(err)
		}
		return c.Stable.Text, c.Tail.Text
	}
	before, tail := prompt("buy")
	if !strings.HasSuffix(tail, "a: Does a. [kw:buy]\nb: Does b. [kw:buy]\nc: Does c.") {
		t.Errorf("tail is %q", tail)
	}
	stable, tail := prompt("buy on paper")
	if strings.Contains(stable+tail, "Does a.") || !strings.Contains(stable, "Does c.") {
		t.Errorf("stable %q, tail %q", stable, tail)
	}
	if after, _ := prompt("buy"); after != before {
		t.Errorf("stable is %q, was %q", after, before)
	}
}
