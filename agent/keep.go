package agent

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"strings"

	"github.com/deftskills/deft/agent/model"
	"github.com/deftskills/deft/session"
	"github.com/deftskills/deft/skill"
	"github.com/deftskills/deft/toolset"
)

// ErrPersist is wrapped by the error of a turn whose transcript could not be written. The
// turn itself went on to its end.
var ErrPersist = errors.New("the conversation could not be kept")

// keeping is what a Runner has written of its session.
type keeping struct {
	off      bool  // nothing is kept any more
	err      error // the write that failed, for the turn's end
	revision uint64
	tools    string
	last     map[string]string // of each kind of Deps.Aside's
	texts    map[string]bool   // digests of those that are written
}

// write appends one entry. After a failure nothing is written: what came later would seem
// to follow what came before.
func (t *turn) write(kind string, data any) {
	if t.r.d.Keeper == nil || t.own || t.r.kept.off {
		return
	}
	src, err := oneLine(data)
	if err == nil {
		err = t.r.d.Keeper.Append(Entry{Kind: kind, Turn: t.number(), Data: src})
	}
	t.unkept(err)
}

func (t *turn) unkept(err error) {
	if err == nil {
		return
	}
	t.r.kept.off, t.r.kept.err = true, fmt.Errorf("%w: %w", ErrPersist, err)
	t.log(slog.LevelError, "a transcript was not written", "store", "persist_failed", "err", err)
}

// oneLine encodes without escapes that a reader would have to undo.
func oneLine(data any) (json.RawMessage, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(data); err != nil {
		return nil, err
	}
	return bytes.TrimRight(b.Bytes(), "\n"), nil
}

// say adds messages to the conversation of the turn.
func (t *turn) say(m model.Message) {
	t.messages = append(t.messages, m)
	if m.Role != model.ToolRole { // whose results are written one by one
		calls := make([]model.Call, len(m.Calls))
		for i, c := range m.Calls {
			c.Input = asJSON(t.r.d.Redact(string(c.Input)))
			calls[i] = c
		}
		t.write(EntryMessage, messageEntry{m.Role, t.r.d.Redact(m.Text), calls})
	}
}

// writeResult writes the result of one call.
func (t *turn) writeResult(r model.Result) {
	t.write(EntryResult, resultEntry{r.CallID, r.Text, r.IsError})
}

// asJSON makes what a model wrote for arguments fit for an entry: text that is no JSON on
// one line, or that encoding would change, is kept as an object that verbatim knows.
func asJSON(input string) json.RawMessage {
	var b bytes.Buffer
	if json.Compact(&b, []byte(input)) == nil && b.String() == input && !strings.Contains(input, rawMark) {
		return json.RawMessage(input)
	}
	src, _ := oneLine(map[string]string{rawKey: input}) // a text: it cannot fail
	return src
}

// rawKey is no argument of any tool; rawMark is how an encoder writes it.
const (
	rawKey  = "\x00raw"
	rawMark = `\u0000raw`
)

// verbatim undoes asJSON.
func verbatim(input json.RawMessage) json.RawMessage {
	var raw map[string]string
	if bytes.Contains(input, []byte(rawMark)) && json.Unmarshal(input, &raw) == nil && len(raw) == 1 {
		if text, ok := raw[rawKey]; ok {
			return json.RawMessage(text)
		}
	}
	return input
}

// writeTurn writes that the turn begins.
func (t *turn) writeTurn() {
	if t.r.d.Keeper != nil { // else sessions share the runner
		t.r.kept.err = nil
	}
	e := TurnEntry{
		Trace: t.trace, Origin: string(t.in.Origin), Principal: t.in.Principal, Text: t.r.d.Redact(t.in.Text),
		Placement: t.r.d.Placement,
	}
	if t.r.d.Model != nil {
		e.Model = t.r.d.Model.Info().String()
	}
	t.write(EntryTurn, e)
}

// writeState writes what is active, and what tools and host add to it, where that has
// changed since it was written last.
func (t *turn) writeState() {
	k := &t.r.kept
	if t.r.d.Keeper == nil || t.own || k.off {
		return
	}
	if k.last == nil {
		k.last, k.texts = map[string]string{}, map[string]bool{}
		k.revision = ^uint64(0)
	}
	if t.r.d.Aside != nil {
		for _, e := range t.r.d.Aside(context.WithoutCancel(t.parent)) {
			if e.Kind == EntryFile || k.last[e.Kind] != string(e.Data) {
				k.last[e.Kind] = string(e.Data)
				t.write(e.Kind, e.Data)
			}
		}
	}
	tools := map[string]json.RawMessage{}
	for name, tool := range t.r.tools {
		if s, ok := tool.(toolset.Stateful); ok {
			if saved := s.State(); saved != nil {
				tools[name] = saved
			}
		}
	}
	src, err := oneLine(tools)
	if now := t.s.Revision(); err != nil || k.revision != now || k.tools != string(src) {
		k.revision, k.tools = now, string(src)
		t.write(EntryState, stateEntry{t.told(), tools})
	}
}

// told is the state of the session, whose texts are entries of their own: most of them stay
// as they are while the state changes.
func (t *turn) told() session.State {
	st := t.s.Told()
	text := func(text string) string {
		if text == "" {
			return ""
		}
		text = t.r.d.Redact(text)
		digest := string(skill.FileDigest([]byte(text)))
		if !t.r.kept.texts[digest] {
			t.r.kept.texts[digest] = true
			t.write(EntryText, textEntry{digest, text})
		}
		return digest
	}
	for i := range st.Patches {
		if k := st.Patches[i].Skill; k != nil {
			k.Text, k.Again, k.Args = text(k.Text), text(k.Again), t.r.d.Redact(k.Args)
		}
	}
	return st
}

// writeEnd writes that the turn is over and brings all of it to disk.
func (t *turn) writeEnd(end *End) {
	if t.r.d.Keeper == nil || t.own || t.turn == nil {
		return
	}
	t.writeState()
	t.write(EntryEnd, EndEntry{end.Stop, end.Code, end.Steps, end.Calls, end.Usage})
	if !t.r.kept.off {
		t.unkept(t.r.d.Keeper.Sync())
	}
}
