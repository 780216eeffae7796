package agent

import (
	"context"
	"encoding/json"

	"github.com/deftskills/deft/gate"
	"github.com/deftskills/deft/toolset"
)

const (
	codePreview = "preview_first"
	maxPreviews = 64 // of one session that wait; more than a conversation comes back to
)

// handler is what runs for an allowed call. A tool with a preview acts only on what it has
// shown in an earlier turn, so that a person has had the word in between; in this turn a
// model would be confirming to itself. The gate was asked before, whatever this says.
func (t *turn) handler(p *pending) func(context.Context, toolset.Call) (toolset.Result, error) {
	tool, ok := p.tool.(toolset.Previewer)
	if !ok {
		return p.tool.Call
	}
	key, confirmed := previewed(p.spec.Name, p.args)
	if !confirmed {
		return func(ctx context.Context, c toolset.Call) (toolset.Result, error) {
			res, err := tool.Preview(ctx, c)
			if err == nil && !res.IsError {
				t.r.keepPreview(t.s.ID(), key, t.number())
			}
			return res, err
		}
	}
	if t.r.takePreview(t.s.ID(), key, t.number()) {
		return p.tool.Call
	}
	return func(context.Context, toolset.Call) (toolset.Result, error) {
		const text = "Nothing was done: confirm counts only for what was shown in an earlier turn. Call without confirm and let the person see it."
		return toolset.Result{Text: errorText(codePreview, text, ""), Code: codePreview, IsError: true}, nil
	}
}

// difference is what a call that changes a file would change, for the question about it; ""
// where the tool cannot say, or not all of it.
func (t *turn) difference(p *pending, call gate.Call) (text string) {
	tool, ok := p.tool.(toolset.Differ)
	if !ok {
		return ""
	}
	defer func() {
		if recover() != nil {
			text = "" // the call itself will say what is the matter
		}
	}()
	res, err := tool.Diff(t.ctx, toolset.Call{ID: call.ID, Input: call.Args, Turn: t.turn, Snapshot: t.turn.Snapshot()})
	if err != nil || res.IsError || res.Code != "" || res.Meta.Truncated || t.r.d.Redact(res.Text) != res.Text {
		return ""
	}
	return res.Text
}

// previewed is what a preview and its confirmation have in common, and whether the call is
// the confirmation.
func previewed(tool string, args json.RawMessage) (key string, confirmed bool) {
	var object map[string]json.RawMessage
	_ = json.Unmarshal(args, &object) // the gate has read it
	confirmed = string(object["confirm"]) == "true"
	delete(object, "confirm")
	rest, _ := json.Marshal(object) // JSON that was read: it cannot fail
	return tool + "\x00" + string(rest), confirmed
}

// keepPreview notes what a session was shown. The turn in which it was first shown counts.
func (r *Runner) keepPreview(session, key string, turn int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	shown := r.previews[session]
	if shown == nil || len(shown) >= maxPreviews {
		shown = map[string]int{}
	}
	if _, had := shown[key]; !had {
		shown[key] = turn
	}
	if r.previews == nil {
		r.previews = map[string]map[string]int{}
	}
	r.previews[session] = shown
}

// takePreview reports whether a session was shown this before a turn, and forgets it: one
// preview is good for one action.
func (r *Runner) takePreview(session, key string, turn int) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	at, shown := r.previews[session][key]
	if !shown || at >= turn {
		return false
	}
	delete(r.previews[session], key)
	return true
}
