package cli

import (
	"context"
	"io"
	"testing"

	"github.com/deftskills/deft/internal/cli/text"
)

// An interrupt is diverted once, to what was set last, and not after it was restored.
func TestAnInterruptIsDivertedOnce(t *testing.T) {
	t.Parallel()
	var i interrupts
	n := 0
	if i.take() != nil {
		t.Error("something to call though nothing was set")
	}
	restore := i.divert(func() { n++ })
	i.take()()
	if n != 1 || i.take() != nil {
		t.Errorf("%d calls, or one more to come", n)
	}
	restore()
	old := i.divert(func() { t.Error("the first one") })
	restore = i.divert(func() { n++ })
	old() // too late: another one is set
	i.take()()
	restore()
	i.divert(func() { t.Error("restored") })()
	if n != 2 || i.take() != nil {
		t.Errorf("%d calls", n)
	}
}

// A line that came after its question was given up is there for whoever asks next, and
// nothing is read by two at once.
func TestALineThatNobodyWaitsForIsTheNextOnes(t *testing.T) {
	t.Parallel()
	in, typed := io.Pipe()
	a := &app{proc: Process{Stdin: in}, words: text.Load("en")}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := (terminal{&run{app: a}}).line(ctx); err == nil {
		t.Fatal("an answer of nobody")
	}
	go func() {
		_, _ = io.WriteString(typed, "first\nsecond\n")
		_ = typed.Close()
	}()
	for _, want := range []string{"first", "second"} {
		line, taken := a.nextSaid()
		got := <-line
		taken()
		if got.line != want || got.err != nil {
			t.Errorf("%q, %v; want %q", got.line, got.err, want)
		}
	}
	line, taken := a.nextSaid()
	if got := <-line; got.err != io.EOF {
		t.Errorf("%+v", got)
	}
	taken()
}
