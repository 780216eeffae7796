package model

import (
	"fmt"
	"strings"
)

// Bounds on one step: what a server may send before it is cut off.
const (
	MaxStepText  = 8 << 20 // bytes of text and reasoning
	MaxStepCalls = 256     // tool calls
	MaxCallInput = 4 << 20 // bytes of one call's input
)

// Step is a finished step.
type Step struct {
	Text  string
	Calls []Call
	Usage Usage
	Stop  Stop
}

// Builder puts a step together from its deltas. The zero value is ready.
type Builder struct {
	text      strings.Builder
	reasoning int
	step      Step
}

// Add takes one delta. It fails with an *Error where a bound is passed.
func (b *Builder) Add(d Delta) error {
	b.text.WriteString(d.Text)
	b.reasoning += len(d.Reasoning)
	if d.Call != nil {
		if len(d.Call.Input) > MaxCallInput {
			return &Error{Kind: KindRequest, Message: fmt.Sprintf("a call of %s with %d bytes of input, at most %d", d.Call.Name, len(d.Call.Input), MaxCallInput)}
		}
		b.step.Calls = append(b.step.Calls, *d.Call)
	}
	if d.Usage != nil {
		b.step.Usage = *d.Usage
	}
	if d.Stop != "" {
		b.step.Stop = d.Stop
	}
	if b.text.Len()+b.reasoning > MaxStepText || len(b.step.Calls) > MaxStepCalls {
		return &Error{Kind: KindRequest, Message: "an answer without end"}
	}
	return nil
}

// Step returns the step and whether it is whole: a stream that ends without a stop
// was cut.
func (b *Builder) Step() (Step, bool) {
	s := b.step
	s.Text = b.text.String()
	if len(s.Calls) > 0 && s.Stop == StopEnd {
		// Some servers end a step of calls like one of text.
		s.Stop = StopTools
	}
	return s, s.Stop != ""
}
