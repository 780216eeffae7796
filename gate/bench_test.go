package gate

import (
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"
)

// BenchmarkCheckFile is one call of a file tool, all of the gate but the record.
func BenchmarkCheckFile(b *testing.B) {
	dir := b.TempDir()
	for _, d := range []string{"w/a/b/c", "home", "state"} {
		if err := os.MkdirAll(filepath.Join(dir, d), 0o755); err != nil {
			b.Fatal(err)
		}
	}
	g, sink := testGate(b, func(o *Options) {
		o.Paths = PathPolicy{Workspace: filepath.Join(dir, "w"), Home: filepath.Join(dir, "home"), State: []string{filepath.Join(dir, "state")}}
	})
	c := call("read", `{"path":"a/b/c/file.txt"}`)
	c.Dir = filepath.Join(dir, "w")
	each(b, func() {
		sink.rows = sink.rows[:0]
		if d, err := g.Check(b.Context(), c); err != nil || d.Verdict != Allow {
			b.Fatal(d, err)
		}
	})
}

// BenchmarkCheckShell is one call of the shell with a command of 200 bytes under rules, all
// of the gate but the record.
func BenchmarkCheckShell(b *testing.B) {
	h := newRuleHouse(b, func(_ *ruleHouse, o *Options) {
		o.Rules.Rules = ParseRules("allow Bash(git:*) ; allow Bash(go test:*) ; deny Bash(git push --force:*) ; ask Bash(git commit:*) ; allow Write(src/**) ; deny Read(secret/**)")
	})
	c := h.bash("git fetch origin main && git log --oneline origin/main..HEAD -- src/a.go src/b.go | head -20 && go test ./gate ./session -run 'TestRules|TestTiers' && git diff --stat HEAD~3 -- docs | tail -5 > src/log")
	each(b, func() {
		h.sink.rows = h.sink.rows[:0]
		if d, err := h.gate.Check(b.Context(), c); err != nil || d.Code != CodeRule {
			b.Fatal(d, err)
		}
	})
}

// each times every run, and reports what 99 of 100 stay below.
func each(b *testing.B, run func()) {
	b.Helper()
	var took []time.Duration
	for b.Loop() {
		from := time.Now()
		run()
		took = append(took, time.Since(from))
	}
	slices.Sort(took)
	b.ReportMetric(float64(took[len(took)*99/100].Nanoseconds()), "p99-ns/op")
}
