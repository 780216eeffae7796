package command

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/deftskills/deft/command/sandbox"
	"github.com/deftskills/deft/internal/safetext"
)

// exitRefused is the exit code by which a command refuses.
const exitRefused = 2

// read reads how the command of a hook ended and what it printed.
func read(rule eventRule, h Registered, res Result) word {
	switch res.Reason {
	case sandbox.TimedOut:
		return word{failed: fmt.Sprintf("timeout %s", h.Timeout)}
	case sandbox.Cancelled:
		return word{failed: "cancelled"}
	case sandbox.Signalled:
		return word{failed: "signal " + safetext.Line(res.Signal)}
	case sandbox.Quota:
		return word{failed: "quota of " + safetext.Line(res.Why)}
	case sandbox.OutputCap: // stopped for its output, of which a part is here
	default:
		if res.Exit == exitRefused {
			return refused(rule, res)
		}
		if res.Exit != 0 {
			return word{failed: fmt.Sprintf("exit %d", res.Exit)}
		}
	}
	text := bytes.TrimSpace(res.Stdout)
	switch {
	case len(text) == 0:
		return word{}
	case text[0] == '{':
		return parseOutput(rule, text)
	}
	return appended(rule, word{}, string(res.Stdout), res.Truncated)
}

// refused reads an end with the code that refuses: the standard error says why.
func refused(rule eventRule, res Result) word {
	why := output(res.Stderr, maxHookText, res.Truncated)
	switch rule.errors {
	case errorsDeny:
		if why == "" {
			why = fmt.Sprintf("exit %d", exitRefused)
		}
		return word{verdict: Refuse, reason: why}
	case errorsAppend:
		return appended(rule, word{}, why, false)
	}
	return word{missed: why}
}

// appended adds a text to append, where the event has a place for one.
func appended(rule eventRule, w word, text string, cut bool) word {
	text = output([]byte(text), maxHookText, cut)
	switch {
	case text == "":
	case rule.append:
		w.append = text
	default:
		w.missed = "its text has no place here"
	}
	return w
}

// hookOutput is the object that a command may print.
type hookOutput struct {
	Decision *string         `json:"decision"`
	Reason   *string         `json:"reason"`
	Append   *string         `json:"append"`
	Input    json.RawMessage `json:"input"`
}

// parseOutput reads an object. One that is not understood whole is a failure: half of a
// word could leave out the half that refuses.
func parseOutput(rule eventRule, text []byte) word {
	var o hookOutput
	d := json.NewDecoder(bytes.NewReader(text))
	d.DisallowUnknownFields()
	if err := d.Decode(&o); err != nil {
		return word{failed: "its output is no object with decision, reason, append and input"}
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return word{failed: "its output goes on after the object"}
	}
	var w word
	if o.Append != nil {
		w = appended(rule, w, *o.Append, false)
	}
	if o.Reason != nil {
		w.reason = output([]byte(*o.Reason), maxHookText, false)
	}
	if o.Decision != nil {
		places := map[string]struct {
			verdict Verdict
			here    bool
		}{"deny": {Refuse, rule.deny}, "ask": {Ask, rule.ask}}
		p, known := places[*o.Decision]
		switch {
		case !known:
			return word{failed: fmt.Sprintf("its decision is %q, not deny or ask", safetext.Clip(safetext.Line(*o.Decision), 40))}
		case !p.here:
			return word{failed: fmt.Sprintf("its decision %q has no place here", *o.Decision)}
		}
		w.verdict = p.verdict
		if w.reason == "" {
			w.reason = "no reason given"
		}
	}
	input := bytes.TrimSpace(o.Input)
	switch {
	case len(input) == 0 || string(input) == "null":
	case !rule.rewrite:
		w.missed = strings.TrimPrefix(w.missed+"; its input has no place here", "; ")
	case input[0] != '{':
		return word{failed: "its input is no object"}
	default:
		w.input = json.RawMessage(input)
	}
	return w
}
