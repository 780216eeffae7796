package deft_test

import (
	"context"
	"runtime"
	"testing"

	"github.com/deftskills/deft"
	"github.com/deftskills/deft/gate"
	"github.com/deftskills/deft/source"
)

// heap is what is alive, in bytes.
func heap() int64 {
	var m runtime.MemStats
	for range 3 { // what has a finalizer goes in the second round
		runtime.GC()
	}
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}

var eightSkills = func() (out []source.Definition) {
	for _, name := range []string{"ash", "birch", "cedar", "elm", "fir", "hazel", "larch", "oak"} {
		out = append(out, source.Definition{Name: name, Description: "Works with " + name + ".", Content: "Work with " + name + ": $ARGUMENTS", AllowedTools: []string{"read", "glob"}})
	}
	return out
}()

// conversation opens a session and runs a turn of it that starts two skills.
func conversation(ctx context.Context, t testing.TB, e *deft.Engine, m *answering) *deft.Session {
	t.Helper()
	s, err := e.NewSession(ctx, deft.SessionOptions{Model: m})
	if err != nil {
		t.Fatal(err)
	}
	for e, err := range s.Run(ctx, deft.Input{Text: "/oak /elm in the garden", Origin: gate.Interactive}) {
		if err != nil {
			t.Fatal(e, err)
		}
	}
	m.mu.Lock()
	m.requests = nil
	m.mu.Unlock()
	if len(s.Active()) != 2 {
		t.Fatal("the skills are not active")
	}
	return s
}

// After a thousand sessions the heap is within 5 % of the one before.
func TestAThousandClosedSessionsKeepNothing(t *testing.T) {
	e := open(t, deft.Options{Workspace: t.TempDir(), OnlySources: true, Data: eightSkills})
	m := &answering{answer: func(context.Context, modelRequest) modelStep { return says("done") }}
	round := func(n int) {
		for range n {
			if err := conversation(t.Context(), t, e, m).Close(); err != nil {
				t.Fatal(err)
			}
		}
	}
	round(50) // what is made once
	before := heap()
	round(1000)
	if after := heap(); after > before+before/20 {
		t.Errorf("%d bytes before, %d after", before, after)
	}
}

// BenchmarkSessions1000 is what a thousand open sessions hold, each with two active skills
// and a turn of conversation.
func BenchmarkSessions1000(b *testing.B) {
	e := open(b, deft.Options{Workspace: b.TempDir(), OnlySources: true, Data: eightSkills})
	m := &answering{answer: func(context.Context, modelRequest) modelStep { return says("done") }}
	ctx := context.Background()
	_ = conversation(ctx, b, e, m).Close()
	for b.Loop() {
		before := heap()
		open := make([]*deft.Session, 1000)
		for i := range open {
			open[i] = conversation(ctx, b, e, m)
		}
		b.ReportMetric(float64(heap()-before)/1e6, "MB")
		for _, s := range open {
			_ = s.Close()
		}
	}
}
