package tokens

// Counter counts tokens. Implementations are safe for concurrent use, return the
// same number for the same text, and never a negative one.
type Counter interface {
	// Name identifies the counter in reports and cache keys.
	Name() string
	// Count returns the tokens of text; 0 for the empty text only.
	Count(text string) int
}

// Checked is a Counter that says when a number is not exact.
type Checked interface {
	Counter
	// CountChecked is Count, and whether the number is the fallback: the bytes of text.
	CountChecked(text string) (n int, fallback bool)
}

// Estimate returns a counter without tables: a third of the bytes, rounded up. It
// is near enough for budgets of English text and on the safe side for most others.
func Estimate() Counter { return estimate{} }

type estimate struct{}

func (estimate) Name() string { return "estimate" }

func (estimate) Count(text string) int { return (len(text) + 2) / 3 }
