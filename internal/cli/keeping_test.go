package cli

import (
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/deftskills/deft/agent"
	"github.com/deftskills/deft/agent/model"
	"github.com/deftskills/deft/store"
)

// long writes a conversation of turns, each with a call whose result has size bytes.
func long(tb testing.TB, s *store.Store, turns, size int) {
	tb.Helper()
	w, err := s.Events().Open(tb.Context(), "one")
	if err != nil {
		tb.Fatal(err)
	}
	text := strings.Repeat("a line of <output> with \"quotes\"\n", size/33+1)[:size]
	for turn := 1; turn <= turns; turn++ {
		id := fmt.Sprintf("call_%d", turn)
		var events []store.Event
		for _, e := range []struct {
			kind string
			data any
		}{
			{agent.EntryTurn, agent.TurnEntry{Trace: "t", Text: fmt.Sprint("request ", turn)}},
			{agent.EntryRequest, fmt.Sprint("request ", turn)},
			{agent.EntryMessage, map[string]any{"role": model.Assistant, "calls": []model.Call{{ID: id, Name: "read", Input: json.RawMessage(`{"path":"a"}`)}}}},
			{agent.EntryResult, map[string]any{"call": id, "text": text}},
			{agent.EntryMessage, map[string]any{"role": model.Assistant, "text": "done"}},
			{agent.EntryEnd, agent.EndEntry{Stop: agent.StopEnd, Steps: 2, Calls: 1, Usage: model.Usage{Input: 1, Output: 1}}},
		} {
			src, err := json.Marshal(e.data)
			if err != nil {
				tb.Fatal(err)
			}
			events = append(events, store.Event{Turn: turn, Kind: e.kind, Payload: src})
		}
		if err := w.Append(tb.Context(), events...); err != nil {
			tb.Fatal(err)
		}
	}
	if err := errors.Join(w.Sync(), w.Close()); err != nil {
		tb.Fatal(err)
	}
}

func openTestStore(tb testing.TB) *store.Store {
	tb.Helper()
	s, err := store.Open(tb.Context(), store.Options{DB: filepath.Join(tb.TempDir(), "state", "deft.db")})
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { _ = s.Close() })
	return s
}

func TestALongConversationComesBackWhole(t *testing.T) {
	t.Parallel()
	s := openTestStore(t)
	long(t, s, 200, 3000)
	got, err := agent.ReadTranscript(entriesOf(s.Events().Read(t.Context(), "one", 1)))
	if err != nil || got.Turns != 200 || len(got.Talk) != 800 || got.Usage.Input != 200 || got.Cut {
		t.Errorf("%d turns, %d messages, %+v: %v", got.Turns, len(got.Talk), got.Usage, err)
	}
	if m := got.Talk[798]; len(m.Results) != 1 || len(m.Results[0].Text) != 3000 || got.Talk[796].Text != "request 200" {
		t.Errorf("%+v", m)
	}
}

// BenchmarkResume50MiB is a conversation of two thousand turns and 50 MiB, none of it
// shortened away, from the file to the messages of the next request: as a resumed session
// does it, which opens it for writing and reads it.
func BenchmarkResume50MiB(b *testing.B) {
	s := openTestStore(b)
	long(b, s, 2000, 26<<10)
	var worst time.Duration
	for b.Loop() {
		from := time.Now()
		w, err := s.Events().Open(b.Context(), "one")
		if err != nil {
			b.Fatal(err)
		}
		got, err := agent.ReadTranscript(entriesOf(s.Events().Read(b.Context(), "one", 1)))
		if err != nil || len(got.Talk) != 8000 {
			b.Fatal(err)
		}
		worst = max(worst, time.Since(from))
		if err := w.Close(); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(worst.Milliseconds()), "worst-ms")
}
