package agent

import (
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/deftskills/deft/gate"
	"github.com/deftskills/deft/toolset"
)

const (
	maxOutput    = 256 << 10 // bytes of one result for the model
	maxEventArgs = 64 << 10  // bytes of arguments in an event
)

// hints say what to do about a refusal, by its code.
var hints = map[string]string{
	gate.CodeUnknownTool:  "Call a tool from the list by its exact name.",
	gate.CodeBadArgs:      "Correct the arguments and call again.",
	gate.CodeBadPath:      "Give a plain path.",
	gate.CodePathDenied:   "Go on without this file; there is no way around it.",
	gate.CodeOutside:      "Work with files of the workspace.",
	gate.CodeSkillRefuses: "The active skill limits the tools. Work with those it allows, or end it first.",
	gate.CodeHookDeny:     "Do not try it another way; go on without, or say why it is needed.",
	gate.CodeHookFailed:   "Go on without, and say that the check before it failed.",
	gate.CodeRefused:      "The person said no. Do not try it another way; ask, or go on without.",
	gate.CodeNoAnswerer:   "Nobody can be asked in this run. Go on without, and say what was left undone.",
	gate.CodeDontAsk:      "Nobody is asked in this run. Go on without, and say what was left undone.",
	gate.CodePlanMode:     "Only reading is possible now. Say what you would do.",
	gate.CodeTooMany:      "Wait for the open questions to be answered.",
}

// errorText is how the model is told that a call did not do what it was to do.
func errorText(code, message, hint string) string {
	type fault struct {
		Code    string `json:"code"`
		Message string `json:"message"`
		Hint    string `json:"hint,omitempty"`
	}
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	_ = e.Encode(map[string]fault{"error": {code, message, hint}}) // strings only: it cannot fail
	return strings.TrimSpace(b.String())
}

// fit makes a tool's output fit for the model: valid text of bounded length, with
// what was left out told.
func (t *turn) fit(tool, text string) string {
	if strings.ContainsRune(text, 0) {
		sum := sha256.Sum256([]byte(text))
		return fmt.Sprintf("[binary output: %d bytes, sha256 %x]", len(text), sum)
	}
	if !utf8.ValidString(text) {
		text = visible(text)
	}
	if len(text) <= maxOutput {
		return text
	}
	rest := "the rest is not kept"
	if t.r.d.Spill != nil {
		if path, err := t.r.d.Spill(t.ctx, tool, text); err == nil {
			rest = "all of it is in " + path
		}
	}
	head := strings.ToValidUTF8(text[:maxOutput*3/4], "")
	last := strings.ToValidUTF8(text[len(text)-maxOutput/4:], "")
	return fmt.Sprintf("%s\n[… %d of %d bytes left out; %s …]\n%s", head, len(text)-len(head)-len(last), len(text), rest, last)
}

// visible writes bytes that are no text as \x and two digits.
func visible(text string) string {
	var b strings.Builder
	for len(text) > 0 {
		r, n := utf8.DecodeRuneInString(text)
		if r == utf8.RuneError && n == 1 {
			fmt.Fprintf(&b, `\x%02x`, text[0])
		} else {
			b.WriteString(text[:n])
		}
		text = text[n:]
	}
	return b.String()
}

// event describes the call. Arguments that are no JSON, or long, stand as text that
// is cut, so that an event can always be encoded.
func (p *pending) event() *CallEvent {
	args := p.args
	if args == nil {
		args = p.call.Input
	}
	if len(args) > maxEventArgs || !json.Valid(args) {
		text := string(args[:min(len(args), maxEventArgs)])
		args, _ = json.Marshal(strings.ToValidUTF8(text, "\uFFFD"))
	}
	return &CallEvent{ID: p.call.ID, Tool: p.call.Name, Args: args}
}

// decided adds a decision.
func (p *pending) decided(d gate.Decision) *CallEvent {
	e := p.event()
	e.Decision, e.Verdict, e.Tier, e.Code, e.Reason = &d, d.Verdict, d.Tier.String(), d.Code, d.Reason
	return e
}

// Raiser is a Tool that looks at a call and may raise its tier; see gate.Tool.
type Raiser interface {
	Raise(c gate.Call) (gate.Tier, string)
}

// PathNamer is a Tool whose arguments name files; see gate.Tool.
type PathNamer interface {
	Paths() []gate.PathArg
}

// Commander is a Tool whose calls count as shell commands; see gate.Tool.
type Commander interface {
	Commands(c gate.Call) [][]string
}

// Accepter is a Tool whose handler takes more arguments than its schema tells the
// model; the gate holds arguments against the wider schema.
type Accepter interface {
	Accepts() json.RawMessage
}

// GateTable makes the gate's table of the same tools that a Runner gets, and the shell
// tool where it is not among them: commands of texts are calls of it. No model sees it by
// that, and the gate knows no name that a turn does not show.
func GateTable(tools []toolset.Tool) (*gate.Table, error) {
	return GateTableOf(new(gate.Schemas), tools)
}

// GateTableOf is GateTable for many sessions, which share compiled schemas.
func GateTableOf(known *gate.Schemas, tools []toolset.Tool) (*gate.Table, error) {
	list := make([]gate.Tool, 0, len(tools))
	for _, tool := range tools {
		spec := tool.Spec()
		g := gate.Tool{Name: spec.Name, Tier: spec.Tier, Schema: spec.Input, Steers: spec.Steers, Shell: spec.Shell, Mark: spec.Mark}
		if a, ok := tool.(Accepter); ok {
			g.Schema = a.Accepts()
		}
		if r, ok := tool.(Raiser); ok {
			g.Raise = r.Raise
		}
		if p, ok := tool.(PathNamer); ok {
			g.Paths = p.Paths()
		}
		if c, ok := tool.(Commander); ok {
			g.Commands = c.Commands
		}
		list = append(list, g)
	}
	if !slices.ContainsFunc(tools, func(t toolset.Tool) bool { return t.Spec().Shell != "" }) {
		list = append(list, gate.Tool{Name: shellTool, Tier: gate.ReadOnly, Schema: json.RawMessage(textSchema), Shell: shellArg})
	}
	return known.NewTable(list...)
}
