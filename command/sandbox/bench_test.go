package sandbox_test

import (
	"os"
	"testing"
	"time"

	"github.com/deftskills/deft/command/sandbox"
)

// BenchmarkStart measures what a level adds to a program that does nothing.
func BenchmarkStart(b *testing.B) {
	for level := sandbox.None; level <= sandbox.Full; level++ {
		b.Run(level.String(), func(b *testing.B) {
			dir := b.TempDir()
			o := sandbox.Options{HelperPath: sandbox.Helper(os.Args)}
			if level == sandbox.None {
				o.HelperPath = ""
			}
			box := sandbox.New(o)
			if found := box.Probe(b.Context()); found.Level < level {
				b.Skip(found.Missing(level))
			}
			c := sandbox.Command{
				Argv: []string{"true"}, Dir: dir, Env: []string{"PATH=" + os.Getenv("PATH")}, Level: level, AtMost: level, Timeout: time.Minute,
				Policy: sandbox.Policy{Write: []string{dir}, Denied: sandbox.Denied("/root", []string{dir}), Protected: sandbox.Protected(dir, "/root")},
			}
			for b.Loop() {
				if res, err := box.Run(b.Context(), c); err != nil || res.Exit != 0 {
					b.Fatal(err, res)
				}
			}
		})
	}
}
