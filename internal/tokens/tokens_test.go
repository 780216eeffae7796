package tokens

import (
	"fmt"
	"strings"
	"testing"
	"time"
)

func TestCountsAreThoseOfTheEncoding(t *testing.T) {
	t.Parallel()
	// Reference numbers of the o200k_base encoding.
	for text, want := range map[string]int{
		"":                   0,
		"hello world":        2,
		"Hello, world!":      4,
		"日本語":                2,
		"tiktoken is great!": 6,
	} {
		if got := O200k().Count(text); got != want {
			t.Errorf("%q: %d tokens, want %d", text, got, want)
		}
	}
}

func TestSpecialTokenLiteralsAreOrdinaryText(t *testing.T) {
	t.Parallel()
	for _, text := range []string{"<|endoftext|>", "<|endofprompt|>"} {
		if got := O200k().Count(text); got < 4 {
			t.Errorf("%s counts %d, as if it were one special token", text, got)
		}
	}
}

func TestLongRunsCountAsBytesAndSaySo(t *testing.T) {
	t.Parallel()
	c := O200k().(Checked)
	for name, tt := range map[string]struct {
		text     string
		fallback bool
	}{
		"letters at the bound":  {strings.Repeat("a", 4096), false},
		"letters above it":      {strings.Repeat("a", 4097), true},
		"signs":                 {strings.Repeat("=", 5000), true},
		"blanks":                {strings.Repeat(" ", 5000), true},
		"two units a letter":    {strings.Repeat("𠀀", 2049), true},
		"long but ordinary":     {strings.Repeat("a b ", 3000), false},
		"digits":                {strings.Repeat("7", 5000), true},
		"a million of the same": {strings.Repeat("x", 1<<20), true},
	} {
		n, fallback := c.CountChecked(tt.text)
		if fallback != tt.fallback || fallback && n != len(tt.text) || n <= 0 {
			t.Errorf("%s: %d, fallback %v", name, n, fallback)
		}
	}
}

func TestInvalidTextIsCounted(t *testing.T) {
	t.Parallel()
	if n := O200k().Count("a\xff\xfeb"); n <= 0 {
		t.Errorf("%d tokens", n)
	}
}

func TestEstimateRoundsUp(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]int{"": 0, "a": 1, "abc": 1, "abcd": 2} {
		if got := Estimate().Count(text); got != want {
			t.Errorf("%q: %d, want %d", text, got, want)
		}
	}
}

func TestLinesCountAsTheirSum(t *testing.T) {
	t.Parallel()
	c := O200k()
	lines := []string{"- pdf: Read PDF files.\n", "- x's: it's\n", "- 日本: 語\n", "- z: ends in blank! \n", "<a>\n"}
	sum := 0
	for _, l := range lines {
		sum += c.Count(l)
	}
	if whole := c.Count(strings.Join(lines, "")); whole != sum {
		t.Errorf("whole %d, sum of lines %d", whole, sum)
	}
}

func BenchmarkCountDescriptions(b *testing.B) {
	c := O200k()
	c.Count("warm")
	lines := make([]string, 1000)
	for i := range lines {
		lines[i] = fmt.Sprintf("- task-%05d: Handles chore number %d. Use when the request mentions chore %d, its inputs, its outputs, or the report.\n", i, i, i)
	}
	start := time.Now()
	for b.Loop() {
		for _, l := range lines {
			c.Count(l)
		}
	}
	b.ReportMetric(float64(time.Since(start).Microseconds())/float64(b.N)/1000, "µs/line")
}
