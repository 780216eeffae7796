package gate

import (
	"os"
	"path/filepath"
	"testing"
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
	for b.Loop() {
		sink.rows = sink.rows[:0]
		if d, err := g.Check(b.Context(), c); err != nil || d.Verdict != Allow {
			b.Fatal(d, err)
		}
	}
}
