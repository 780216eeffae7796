package cli

import (
	"bufio"
	"io"
	"strings"

	"github.com/deftskills/deft/internal/safetext"
)

// person returns the printer that reaches the person who can answer at standard
// input, nil when nobody is there. Where standard error leads elsewhere, the
// question goes to the terminal itself: an answer to an unseen question is none.
func (a *app) person() *safetext.Printer {
	switch {
	case !a.proc.StdinTerminal:
		return nil
	case a.proc.StderrTerminal:
		return a.err
	case a.tty == nil && a.proc.OpenTerminal != nil:
		w, err := a.proc.OpenTerminal()
		if err != nil {
			return nil
		}
		a.tty = safetext.NewPrinter(w, safetext.Policy{Terminal: true, Width: a.proc.Width})
	}
	return a.tty
}

// maxLine bounds one line of standard input, in bytes; what is longer ends there.
const maxLine = 1 << 20

// readLine reads one line of standard input.
func (a *app) readLine() (string, error) {
	if a.in == nil {
		a.limit = &io.LimitedReader{R: a.proc.Stdin}
		a.in = bufio.NewReader(a.limit)
	}
	a.limit.N = maxLine
	line, err := a.in.ReadString('\n')
	if line != "" {
		err = nil
	}
	return strings.TrimSpace(line), err
}

// spoken is one line of standard input, or why there is none.
type spoken struct {
	line string
	err  error
}

// nextSaid returns the channel that the next line comes on, and when it was taken from
// there calls taken. A line that nobody waits for any more, since a turn was cancelled while
// it asked, is there for whoever waits next: only one reader is ever at work.
func (a *app) nextSaid() (line <-chan spoken, taken func()) {
	a.awaiting.Lock()
	defer a.awaiting.Unlock()
	if a.awaited == nil {
		c := make(chan spoken, 1)
		a.awaited = c
		go func() { // ends with its line; one that never comes ends with the process
			line, err := a.readLine()
			c <- spoken{line, err}
		}()
	}
	return a.awaited, func() {
		a.awaiting.Lock()
		a.awaited = nil
		a.awaiting.Unlock()
	}
}

// confirm asks a question of the verb's own, by its key. Without a person and without --yes the
// answer is a refusal.
func (r *run) confirm(key string) error {
	if r.writing.yes || r.writing.dryRun {
		return nil
	}
	p := r.person()
	if p == nil {
		return fail(Refused, "no_answer", "%s nobody is here to answer", r.docWords().Say(key)).hinted("hint.yes")
	}
	p.Printf("%s [y/N] ", r.words.Say(key))
	answer, err := r.readLine()
	if err != nil || answer != "y" && answer != "yes" {
		return fail(Refused, "refused", "%s answered no", r.docWords().Say(key))
	}
	return nil
}
