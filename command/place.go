package command

import (
	"fmt"
	"strings"
)

// Text is the body with what became of its commands in their places.
func (e *Expanded) Text() string { return e.Place(func(text string) string { return text }) }

// Place lets substitute put values into the body outside of commands, then puts what
// became of the commands into their places. substitute never sees what a command printed,
// so no form that stands in it is replaced.
func (e *Expanded) Place(substitute func(text string) string) string {
	if len(e.Commands) == 0 {
		return substitute(e.body)
	}
	for try := 0; ; try++ {
		text, ok := e.place(fmt.Sprintf("commandoutput%dx", try), substitute)
		if ok || try == maxTries {
			return text
		}
	}
}

// maxTries bounds the words that are tried: a substitute that makes every one of them
// anew is no placing of values.
const maxTries = 100

// place uses words that begin with prefix for the commands. ok is false where the prefix
// stands somewhere else too, also once all values are in.
func (e *Expanded) place(prefix string, substitute func(string) string) (string, bool) {
	var b strings.Builder
	var pairs []string
	at := 0
	for i, f := range e.found {
		word := fmt.Sprintf("%s%dx", prefix, i)
		pairs = append(pairs, word, e.Commands[i].Text)
		b.WriteString(e.body[at:f.Start])
		b.WriteString(word)
		at = f.End
	}
	b.WriteString(e.body[at:])
	text := substitute(b.String())
	return strings.NewReplacer(pairs...).Replace(text), strings.Count(text, prefix) == len(e.found)
}
