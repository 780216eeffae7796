package safetext

import (
	"strings"

	"github.com/clipperhouse/uax29/v2/graphemes"
)

// Ellipsis ends every text that was cut.
const Ellipsis = "…"

// Clip returns s when it has at most max extended grapheme clusters, else its
// beginning and an ellipsis that counts as one of them. A cluster is what a person
// calls a character: an emoji family or a letter with its accents is never split.
// For max < 1 the result is empty.
func Clip(s string, max int) string {
	if len(s) <= max {
		return s
	}
	if max < 1 {
		return ""
	}
	it := graphemes.FromString(s)
	end, cut := 0, 0 // cut: the end of cluster max-1
	for n := 1; it.Next(); n++ {
		if n > max {
			return strings.TrimRight(s[:cut], " ") + Ellipsis
		}
		end += len(it.Value())
		if n == max-1 {
			cut = end
		}
	}
	return s
}

// Clusters returns the number of extended grapheme clusters of s.
func Clusters(s string) int {
	n := 0
	for it := graphemes.FromString(s); it.Next(); {
		n++
	}
	return n
}
