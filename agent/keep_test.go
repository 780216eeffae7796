package agent

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/deftskills/deft/agent/model"
	"github.com/deftskills/deft/agent/model/scripted"
	"github.com/deftskills/deft/gate"
)

// kept is a transcript in memory.
type kept struct {
	entries []Entry
	syncs   int
}

func (k *kept) Append(entries ...Entry) error {
	k.entries = append(k.entries, entries...)
	return nil
}

func (k *kept) Sync() error { k.syncs++; return nil }

// read reads the transcript and checks what holds for every one: each call has one result.
func (k *kept) read(t testing.TB) *Transcript {
	t.Helper()
	out, err := ReadTranscript(func(yield func(Entry, error) bool) {
		for _, e := range k.entries {
			if !json.Valid(e.Data) || strings.Contains(string(e.Data), "\n") {
				t.Errorf("%s is not one line of JSON: %s", e.Kind, e.Data)
			}
			if !yield(e, nil) {
				return
			}
		}
	})
	if err != nil {
		t.Fatal(err)
	}
	var open []string
	for _, m := range out.Talk {
		if m.Role != model.ToolRole && len(open) > 0 {
			t.Errorf("calls without a result: %v", open)
		}
		for i, r := range m.Results {
			if i >= len(open) || open[i] != r.CallID {
				t.Errorf("result %d is of %s, calls are %v", i, r.CallID, open)
			}
		}
		open = nil
		for _, c := range m.Calls {
			open = append(open, c.ID)
		}
	}
	if len(open) > 0 {
		t.Errorf("calls without a result at the end: %v", open)
	}
	return out
}

// What is read back is the conversation that the next request is made of, whatever the
// model wrote for arguments.
func TestTheTranscriptIsTheConversation(t *testing.T) {
	t.Parallel()
	raw := func(text string) scripted.Step {
		return scripted.Step{Text: "<&> \u2028", Calls: []scripted.Call{{Name: "look", Raw: json.RawMessage(text)}}}
	}
	steps := []scripted.Step{
		raw(`{"text": "of`), raw("{ \"text\" :\n\"a\" }"), raw(`{"text":"\u00e9<>\/"}`), raw(`"x"`), raw(``),
		raw(`{"\u0000raw":"y"}`), called("bytes", nil), called("boom", nil), {Text: "Done."},
	}
	k := &kept{}
	f := newFixture(t, steps, func(d *Deps, _ *gate.Options) { d.Keeper = k })
	if _, err := f.run(t, t.Context(), Input{Text: "one  <&>\n\ttwo"}); err != nil {
		t.Fatal(err)
	}
	former := k.read(t)
	if diff := cmp.Diff(f.history("s"), former.Talk); diff != "" {
		t.Error(diff)
	}
	if k.syncs != 1 || former.Cut || former.Turns != 1 || former.Usage == (model.Usage{}) {
		t.Errorf("%d syncs, %+v", k.syncs, former)
	}
}

func TestATurnThatDidNotReachTheModelIsNoConversation(t *testing.T) {
	t.Parallel()
	k := &kept{}
	f := newFixture(t, nil, func(d *Deps, _ *gate.Options) { d.Keeper = k })
	if _, err := f.run(t, t.Context(), Input{Text: strings.Repeat("a", MaxInput+1)}); !errors.Is(err, ErrInputTooLarge) {
		t.Fatal(err)
	}
	if len(k.entries) != 0 || k.syncs != 0 {
		t.Errorf("%d entries", len(k.entries))
	}
}

func TestADamagedTranscriptServesWhatIsBefore(t *testing.T) {
	t.Parallel()
	k := &kept{}
	f := newFixture(t, []scripted.Step{called("look", nil), {Text: "Seen."}}, func(d *Deps, _ *gate.Options) { d.Keeper = k })
	if _, err := f.run(t, t.Context(), Input{Text: "go"}); err != nil {
		t.Fatal(err)
	}
	broken := errors.New("damaged")
	for n := range len(k.entries) {
		former, err := ReadTranscript(func(yield func(Entry, error) bool) {
			for _, e := range k.entries[:n] {
				if !yield(e, nil) {
					return
				}
			}
			yield(Entry{}, broken)
		})
		if !errors.Is(err, broken) || former == nil {
			t.Errorf("after %d entries: %v", n, err)
		}
	}
	for _, kind := range []string{EntryTurn, EntryRequest, EntryCompacted, EntryState, EntryEnd} {
		if _, err := ReadTranscript(func(yield func(Entry, error) bool) { yield(Entry{Kind: kind, Data: json.RawMessage(`[`)}, nil) }); err == nil {
			t.Errorf("%s that is no JSON was read", kind)
		}
	}
}

// FuzzTranscript reads any entries without a panic; calls and results are paired.
func FuzzTranscript(f *testing.F) {
	f.Add("turn", `{"text":"a"}`, "message", `{"role":"assistant","calls":[{"id":"1","name":"x","input":{}}]}`, "result", `{"call":"1","text":"r"}`)
	f.Add("request", `"a"`, "compacted", `{"text":"s","kept":-3}`, "state", `{"session":{"schema":1}}`)
	f.Fuzz(func(t *testing.T, k1, d1, k2, d2, k3, d3 string) {
		out, err := ReadTranscript(func(yield func(Entry, error) bool) {
			for _, e := range []Entry{
				{Kind: EntryTurn, Data: json.RawMessage(`{"text":"t"}`)}, {Kind: EntryRequest, Data: json.RawMessage(`"t"`)},
				{Kind: k1, Data: json.RawMessage(d1)}, {Kind: k2, Data: json.RawMessage(d2)}, {Kind: k3, Data: json.RawMessage(d3)},
			} {
				if !yield(e, nil) {
					return
				}
			}
		})
		if out == nil {
			t.Fatal("nothing is read")
		}
		if err != nil {
			return
		}
		calls, results := 0, 0
		for _, m := range out.Talk {
			calls, results = calls+len(m.Calls), results+len(m.Results)
		}
		if calls != results {
			t.Errorf("%d calls, %d results", calls, results)
		}
	})
}
