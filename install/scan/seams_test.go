package scan

import (
	"testing"

	"pgregory.net/rapid"
)

// Where the quick look finds no seam the pattern finds none.
func TestTheQuickLookForSeamsMissesNone(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		s := rapid.StringOfN(rapid.SampledFrom([]rune("ab\"'+.&|\\ \t$@{}ifs")), 0, 14, -1).Draw(t, "s")
		if seams.MatchString(s) && !seamed(s) {
			t.Fatalf("%q", s)
		}
	})
}
