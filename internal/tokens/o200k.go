//go:build !notiktoken

package tokens

import (
	"sync"
	"unicode"

	"github.com/tiktoken-go/tokenizer/codec"
)

// longestRun is the longest stretch of one kind of character, in UTF-16 code
// units, that is tokenised: merging pairs costs the square of it.
const longestRun = 4096

// O200k returns the exact counter of the o200k_base encoding, tables compiled in.
// They are loaded by the first Count, which takes some tens of milliseconds, once a
// process. Literals of special tokens count as the ordinary text they are. Text
// with a run of letters, of blanks or of signs longer than 4,096 UTF-16 code units
// counts as its bytes; CountChecked tells.
//
// A program built with the tag notiktoken leaves the tables out and gets Estimate.
func O200k() Counter {
	return &o200k{load: sync.OnceValue(codec.NewO200kBase)}
}

type o200k struct{ load func() *codec.Codec }

func (*o200k) Name() string { return "o200k_base" }

func (c *o200k) Count(text string) int {
	n, _ := c.CountChecked(text)
	return n
}

func (c *o200k) CountChecked(text string) (n int, fallback bool) {
	if len(text) > longestRun && runTooLong(text) {
		return len(text), true
	}
	n, err := c.load().Count(text)
	if err != nil || n < 0 {
		return len(text), true
	}
	return n, false
}

// runTooLong reports whether text has a run of one class that is longer than
// longestRun. The classes are the ones that the encoding never splits by itself.
func runTooLong(text string) bool {
	run, class := 0, 0
	for _, r := range text {
		now := 1
		switch {
		case unicode.IsLetter(r) || unicode.IsNumber(r) || unicode.IsMark(r):
			now = 2
		case unicode.IsSpace(r):
			now = 3
		}
		if now != class {
			run, class = 0, now
		}
		run++
		if r > 0xFFFF {
			run++
		}
		if run > longestRun {
			return true
		}
	}
	return false
}
