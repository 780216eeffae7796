package deft_test

import (
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/deftskills/deft"
	"github.com/deftskills/deft/agent"
	"github.com/deftskills/deft/agent/model"
	"github.com/deftskills/deft/gate"
	"github.com/deftskills/deft/registry"
)

// library writes n skills of about 3 KB, each about something else.
func library(tb testing.TB, n int) string {
	tb.Helper()
	home := tb.TempDir()
	verbs := []string{"sorts", "mends", "counts", "draws", "checks", "signs", "ships", "tests", "sends", "reads"}
	nouns := []string{"invoices", "orchids", "timetables", "recipes", "violins", "tides", "stamps", "kites", "bridges", "maps", "clocks", "seeds"}
	files := map[string]string{}
	for i := range n {
		name := fmt.Sprintf("skill-%05d", i)
		about := fmt.Sprintf("%s %s and %s of shelf %d", verbs[i%len(verbs)], nouns[i%len(nouns)], nouns[(i/7)%len(nouns)], i)
		body := ""
		for line := range 40 {
			body += fmt.Sprintf("%d. First it %s, then line %d says where the %s are kept.\n", line, about, line*i, nouns[(i+line)%len(nouns)])
		}
		files[filepath.Join(".claude", "skills", name, "SKILL.md")] = fmt.Sprintf("---\nname: %s\ndescription: It %s.\n---\n\n%s", name, about, body)
	}
	write(tb, home, files)
	return home
}

// slow is a model that takes its time, as models do, and says how much that was.
type slow struct {
	*answering
	wait  time.Duration
	spent *atomic.Int64
}

func thinking(wait time.Duration, answer func(r model.Request) model.Step) *slow {
	s := &slow{wait: wait, spent: new(atomic.Int64)}
	s.answering = &answering{window: 200_000, answer: func(ctx context.Context, r model.Request) model.Step {
		from := time.Now()
		if s.wait > 0 {
			timer := time.NewTimer(s.wait)
			defer timer.Stop()
			select {
			case <-timer.C:
			case <-ctx.Done():
			}
		}
		step := answer(r)
		s.mu.Lock()
		s.requests = nil // a hundred sessions of requests are not the thing measured
		s.mu.Unlock()
		s.spent.Add(int64(time.Since(from)))
		return step
	}}
	return s
}

// lookThenSay is a turn of two steps: a file is read, then the answer.
func lookThenSay(r model.Request) model.Step {
	if m := r.Messages[len(r.Messages)-1]; m.Role == model.ToolRole {
		return says("It is blue.")
	}
	return calls("read", map[string]string{"path": "notes.txt"})
}

// timed runs one turn and returns how long it took.
func timed(tb testing.TB, s *deft.Session, text string) time.Duration {
	from := time.Now()
	for e, err := range s.Run(context.Background(), deft.Input{Text: text, Origin: gate.Interactive, Principal: "user"}) {
		if err != nil || e.Type == agent.TurnFinished && e.End.Stop != agent.StopEnd {
			tb.Errorf("%+v: %v", e, err)
		}
	}
	return time.Since(from)
}

var requests = []string{
	"what colour has the note", "mend the violins of shelf 12 please", "sort the invoices", "which tides are there today", "count kites and clocks",
}

// BenchmarkTurn10k is what a turn costs beside the model in a library of ten thousand
// skills: routing by the search, the catalog, two prompts, a tool call through the gate, and
// the transcript in memory. ms/turn is the mean, p99-ms the worst but one of a hundred.
func BenchmarkTurn10k(b *testing.B) {
	home, dir := library(b, 10_000), b.TempDir()
	write(b, dir, map[string]string{"notes.txt": "blue\n"})
	m := thinking(0, lookThenSay)
	e := open(b, deft.Options{Workspace: dir, Home: home, NoBuiltin: true, Cooldown: -1, Project: registry.ProjectAlways})
	s := newSession(b, e, deft.SessionOptions{Model: m, Keep: &shelf{}})
	timed(b, s, requests[0]) // the first search reads every skill
	var all []time.Duration
	m.spent.Store(0)
	for b.Loop() {
		model := m.spent.Load()
		took := timed(b, s, requests[len(all)%len(requests)])
		all = append(all, took-time.Duration(m.spent.Load()-model))
		if len(all)%50 == 0 { // a conversation is not without end
			_ = s.Close()
			s = newSession(b, e, deft.SessionOptions{Model: m, Keep: &shelf{}})
		}
	}
	report(b, all)
}

func report(b *testing.B, all []time.Duration) {
	slices.Sort(all)
	sum := time.Duration(0)
	for _, d := range all {
		sum += d
	}
	ms := func(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 }
	b.ReportMetric(ms(sum)/float64(len(all)), "ms/turn")
	b.ReportMetric(ms(all[len(all)/2]), "p50-ms")
	b.ReportMetric(ms(all[len(all)*99/100]), "p99-ms")
	b.ReportMetric(0, "ns/op")
}

// BenchmarkSessions200 is two hundred conversations at once, each with turns of two steps
// and a tool; the model takes three quarters of a second a step. What is measured is the time
// of a turn without the model's.
func BenchmarkSessions200(b *testing.B) {
	const sessions, turns, wait = 200, 5, 750 * time.Millisecond
	home, dir := library(b, 300), b.TempDir()
	write(b, dir, map[string]string{"notes.txt": "blue\n"})
	e := open(b, deft.Options{Workspace: dir, Home: home, NoBuiltin: true, Cooldown: -1, Project: registry.ProjectAlways})
	for b.Loop() {
		var mu sync.Mutex
		var all []time.Duration
		var group sync.WaitGroup
		for i := range sessions {
			m := thinking(0, lookThenSay)
			s := newSession(b, e, deft.SessionOptions{Model: m, Keep: &shelf{}})
			timed(b, s, requests[0])
			m.wait = wait
			group.Go(func() {
				// People do not press the key together.
				<-time.After(time.Duration(i) * 2 * wait / sessions)
				for n := range turns {
					model := m.spent.Load()
					took := timed(b, s, requests[n%len(requests)]) - time.Duration(m.spent.Load()-model)
					mu.Lock()
					all = append(all, took)
					mu.Unlock()
				}
			})
		}
		group.Wait()
		report(b, all)
	}
}
