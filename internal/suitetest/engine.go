package suitetest

import (
	"io"
	"testing"

	"github.com/deftskills/deft"
	"github.com/deftskills/deft/gate"
)

// Engine opens an engine for the length of a test.
func Engine(t *testing.T, o deft.Options) *deft.Engine {
	t.Helper()
	e, err := deft.Open(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { closed(t, e) })
	return e
}

// Session opens a session for the length of a test.
func Session(t *testing.T, e *deft.Engine) *deft.Session {
	t.Helper()
	s, err := e.NewSession(t.Context(), deft.SessionOptions{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { closed(t, s) })
	return s
}

// Turn begins the turn of a person's message, in a session of its own; the loop is the
// test's. The turn ends with the test at the latest.
func Turn(t *testing.T, e *deft.Engine, text string) *deft.Turn {
	t.Helper()
	turn, err := Session(t, e).Begin(t.Context(), deft.Input{Text: text, Origin: gate.Interactive, Principal: "user"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { turn.End() })
	return turn
}

func closed(t *testing.T, c io.Closer) {
	t.Helper()
	if err := c.Close(); err != nil {
		t.Error(err)
	}
}
