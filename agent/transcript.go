package agent

import (
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"maps"
	"slices"

	"github.com/deftskills/deft/agent/model"
	"github.com/deftskills/deft/session"
	"github.com/deftskills/deft/toolset"
)

// Entry is one record of a session's transcript.
type Entry struct {
	Kind string          // an EntryKind, or a kind of Deps.Aside's
	Turn int             // 0 = of no turn
	Data json.RawMessage // on one line
}

// The kinds of entries that the loop writes.
const (
	EntryTurn      = "turn"      // a turn begins: TurnEntry
	EntryRequest   = "request"   // its request as the model gets it; what follows is kept
	EntryMessage   = "message"   // of the person, the model or the runtime
	EntryResult    = "result"    // of one tool call; a later one of the same call takes its place
	EntryCompacted = "compacted" // a summary took the place of all but the last messages
	EntryState     = "state"     // what is active, and what tools keep
	EntryText      = "text"      // a text that states name by its digest
	EntryEnd       = "end"       // the turn is over: EndEntry
)

// Keeper keeps the transcript of one session, for ReadTranscript in another process. It is
// called by one goroutine at a time. After an error nothing more is given to it.
type Keeper interface {
	// Append outlives the process when it returns.
	Append(entries ...Entry) error
	// Sync brings what was appended to disk; it is called at each turn's end.
	Sync() error
}

// TurnEntry is the beginning of a turn.
type TurnEntry struct {
	Trace     string `json:"trace"`
	Origin    string `json:"origin,omitempty"`
	Principal string `json:"principal,omitempty"`
	Model     string `json:"model,omitempty"`
	Placement string `json:"placement,omitempty"`
	Text      string `json:"text"`
}

// EndEntry is the end of a turn.
type EndEntry struct {
	Stop  Stop        `json:"stop"`
	Code  string      `json:"code,omitempty"`
	Steps int         `json:"steps"`
	Calls int         `json:"calls"`
	Usage model.Usage `json:"usage"`
}

type messageEntry struct {
	Role  model.Role   `json:"role"`
	Text  string       `json:"text,omitempty"`
	Calls []model.Call `json:"calls,omitempty"`
}

type resultEntry struct {
	Call    string `json:"call"`
	Text    string `json:"text"`
	IsError bool   `json:"is_error,omitempty"`
}

type compactedEntry struct {
	Text string `json:"text"`
	Kept int    `json:"kept"` // messages of the turn that stay
}

type textEntry struct {
	Digest string `json:"digest"`
	Text   string `json:"text"`
}

type stateEntry struct {
	Session session.State              `json:"session"`
	Tools   map[string]json.RawMessage `json:"tools,omitempty"`
}

// Transcript is what a session goes on with.
type Transcript struct {
	Talk  []model.Message            // the conversation so far
	State *session.State             // nil = none was kept
	Tools map[string]json.RawMessage // by name, of those that are Stateful
	Aside map[string]json.RawMessage // the last entry of each kind of Deps.Aside's
	Files []json.RawMessage          // every EntryFile

	First     TurnEntry // of the first turn
	Last      TurnEntry
	Turns     int
	Usage     model.Usage
	Cut       bool     // the last turn did not come to its end: the process was killed
	Cancelled []string // ids of calls whose outcome nobody knows

	texts map[string]string // by digest, all that were written
}

// Placement is where the tools of the session run: it is fixed with the first turn. "" = it
// has not begun.
func (t *Transcript) Placement() string {
	if t == nil {
		return ""
	}
	return t.First.Placement
}

// EntryFile is a kind of Deps.Aside's of which every entry is kept.
const EntryFile = "file"

// codeUnknown marks the result of a call that ran when its process was killed.
const codeUnknown = "unknown_outcome"

var unknownResult = errorText(codeUnknown, "The program was ended while this ran; what it did is not known.", "Look before you call it again.")

// ReadTranscript puts a transcript together. The error is the sequence's, or of an entry
// that cannot be read; what came before it is returned with it.
func ReadTranscript(entries iter.Seq2[Entry, error]) (*Transcript, error) {
	r := reading{t: &Transcript{Aside: map[string]json.RawMessage{}}}
	var failed error
	for e, err := range entries {
		if err == nil {
			err = r.take(e)
		}
		if err != nil {
			failed = err
			break
		}
	}
	if r.open {
		r.t.Cut = true
		r.close()
	}
	if err := r.finish(); err != nil {
		return r.t, err
	}
	return r.t, failed
}

// reading puts entries together. Messages stay encoded until the end: of a conversation
// that was shortened most is never read.
type reading struct {
	t       *Transcript
	talk    []piece // of the turns before
	open    bool    // a turn has begun and not ended
	kept    bool    // its request has reached the model
	request piece
	now     []piece // of the open turn
	state   json.RawMessage
	texts   []json.RawMessage
}

// piece is a message that is still encoded, with the results of its calls.
type piece struct {
	data    json.RawMessage
	text    *string // instead of data: what the person said
	results []json.RawMessage
}

func (r *reading) take(e Entry) error {
	var err error
	switch e.Kind {
	case EntryTurn:
		if r.open {
			r.close() // its process was killed, and another went on
		}
		var turn TurnEntry
		if err = json.Unmarshal(e.Data, &turn); err == nil {
			if r.t.Turns++; r.t.Turns == 1 {
				r.t.First = turn
			}
			r.t.Last, r.open, r.kept, r.request = turn, true, false, piece{text: &turn.Text}
		}
	case EntryRequest:
		var text string
		if err = json.Unmarshal(e.Data, &text); err == nil {
			r.request, r.kept = piece{text: &text}, true
		}
	case EntryMessage:
		r.now = append(r.now, piece{data: e.Data})
	case EntryResult:
		if n := len(r.now) - 1; n >= 0 {
			r.now[n].results = append(r.now[n].results, e.Data)
		}
	case EntryCompacted:
		var c compactedEntry
		if err = json.Unmarshal(e.Data, &c); err == nil {
			r.talk = []piece{{text: &c.Text}}
			r.now = r.now[len(r.now)-min(len(r.now), max(0, c.Kept)):]
		}
	case EntryState:
		r.state = e.Data
	case EntryText:
		r.texts = append(r.texts, e.Data)
	case EntryEnd:
		var end EndEntry
		if err = json.Unmarshal(e.Data, &end); err == nil {
			r.t.Usage = r.t.Usage.Add(end.Usage)
			r.close()
		}
	case EntryFile:
		r.t.Files = append(r.t.Files, e.Data)
	default:
		r.t.Aside[e.Kind] = e.Data
	}
	if err != nil {
		return fmt.Errorf("transcript: an entry %q of turn %d: %w", e.Kind, e.Turn, err)
	}
	return nil
}

// close ends the open turn: what reached the model is part of the conversation.
func (r *reading) close() {
	if r.kept {
		if *r.request.text != "" {
			r.talk = append(r.talk, r.request)
		}
		r.talk = append(r.talk, r.now...)
	}
	r.open, r.kept, r.now = false, false, nil
}

// finish decodes what is left.
func (r *reading) finish() error {
	if r.state != nil {
		var s stateEntry
		if err := json.Unmarshal(r.state, &s); err != nil {
			return fmt.Errorf("transcript: its state: %w", err)
		}
		r.t.State, r.t.Tools = &s.Session, s.Tools
		if err := r.restoreTexts(s.Session.Patches); err != nil {
			return err
		}
	}
	for _, p := range r.talk {
		if p.text != nil {
			r.t.Talk = append(r.t.Talk, model.Message{Role: model.User, Text: *p.text})
			continue
		}
		var m messageEntry
		if err := json.Unmarshal(p.data, &m); err != nil {
			return fmt.Errorf("transcript: a message: %w", err)
		}
		for i, c := range m.Calls {
			m.Calls[i].Input = verbatim(c.Input)
		}
		r.t.Talk = append(r.t.Talk, model.Message{Role: m.Role, Text: m.Text, Calls: m.Calls})
		if len(m.Calls) == 0 {
			continue
		}
		answers, err := r.answers(m.Calls, p.results)
		if err != nil {
			return err
		}
		r.t.Talk = append(r.t.Talk, model.Message{Role: model.ToolRole, Results: answers})
	}
	return nil
}

// restoreTexts puts texts where the state has their digests.
func (r *reading) restoreTexts(patches []session.Saved) error {
	known := map[string]string{"": ""}
	for _, src := range r.texts {
		var e textEntry
		if err := json.Unmarshal(src, &e); err != nil {
			return fmt.Errorf("transcript: a text: %w", err)
		}
		known[e.Digest] = e.Text
	}
	r.t.texts = known
	for i := range patches {
		if k := patches[i].Skill; k != nil {
			k.Text, k.Again = known[k.Text], known[k.Again]
		}
	}
	return nil
}

func (r *reading) answers(calls []model.Call, results []json.RawMessage) ([]model.Result, error) {
	known := map[string]resultEntry{}
	for _, src := range results {
		var a resultEntry
		if err := json.Unmarshal(src, &a); err != nil {
			return nil, fmt.Errorf("transcript: a result: %w", err)
		}
		known[a.Call] = a
	}
	out := make([]model.Result, 0, len(calls))
	for _, c := range calls {
		a, ok := known[c.ID]
		if !ok {
			r.t.Cancelled = append(r.t.Cancelled, c.ID)
			a = resultEntry{Text: unknownResult, IsError: true}
		}
		out = append(out, model.Result{CallID: c.ID, Text: a.Text, IsError: a.IsError})
	}
	return out, nil
}

// Resume has a session go on with a conversation of another process. It is called before
// the session's first turn here; see session.Resume for what is active. A turn that the
// former process was killed in is over with it.
func (r *Runner) Resume(session string, t *Transcript) error {
	if t.Cut && r.d.Keeper != nil {
		src, err := oneLine(EndEntry{Stop: StopInterrupted})
		if err == nil {
			err = r.d.Keeper.Append(Entry{Kind: EntryEnd, Turn: t.Turns, Data: src})
		}
		if err != nil {
			return fmt.Errorf("%w: %w", ErrPersist, err)
		}
	}
	r.mu.Lock()
	r.talks[session] = slices.Clip(t.Talk)
	if r.begun == nil {
		r.begun = map[string]bool{}
	}
	r.begun[session] = t.Turns > 0 // the hooks of its beginning have run
	r.kept.last, r.kept.texts, r.kept.revision = map[string]string{}, map[string]bool{}, ^uint64(0)
	for digest := range t.texts {
		r.kept.texts[digest] = true
	}
	r.mu.Unlock()
	var bad []error
	for _, name := range slices.Sorted(maps.Keys(t.Tools)) {
		if tool, ok := r.tools[name].(toolset.Stateful); ok {
			if err := tool.Restore(t.Tools[name]); err != nil {
				bad = append(bad, err)
			}
		}
	}
	return errors.Join(bad...)
}
