package sandbox_test

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/deftskills/deft/command/sandbox"
)

// BenchmarkStart measures what a level adds to a program that does nothing, with deft's own
// program as the helper. Each run stands beside a bare start of the same program, so that
// a busy machine burdens both: over-ms is the difference of the medians.
func BenchmarkStart(b *testing.B) {
	deft := filepath.Join(b.TempDir(), "deft")
	if out, err := exec.Command("go", "build", "-trimpath", "-ldflags=-s -w", "-o", deft, "../../cmd/deft").CombinedOutput(); err != nil {
		b.Fatalf("%v\n%s", err, out)
	}
	program, err := exec.LookPath("true")
	if err != nil {
		b.Fatal(err)
	}
	for _, w := range []struct {
		name  string
		level sandbox.Level
		bwrap bool
	}{
		{"none", sandbox.None, false}, {"limits", sandbox.Limits, false}, {"files", sandbox.Files, false},
		{"full", sandbox.Full, false}, {"full-by-bwrap", sandbox.Full, true},
	} {
		b.Run(w.name, func(b *testing.B) {
			dir, level := b.TempDir(), w.level
			o := sandbox.Options{HelperPath: deft, OnlyBwrap: w.bwrap}
			if level == sandbox.None {
				o.HelperPath = ""
			}
			box := sandbox.New(o)
			if found := box.Probe(b.Context()); found.Level < level {
				b.Skip(found.Missing(level))
			}
			c := sandbox.Command{
				Argv: []string{program}, Dir: dir, Env: []string{"PATH=" + os.Getenv("PATH")}, Level: level, AtMost: level, Timeout: time.Minute,
				Policy: sandbox.Policy{Write: []string{dir}, Denied: sandbox.Denied("/root", []string{dir}), Protected: sandbox.Protected(dir, "/root")},
			}
			var bare, held []time.Duration
			for b.Loop() {
				began := time.Now()
				if err := bareStart(b.Context(), program, dir); err != nil {
					b.Fatal(err)
				}
				between := time.Now()
				if res, err := box.Run(b.Context(), c); err != nil || res.Exit != 0 {
					b.Fatal(err, res)
				}
				bare, held = append(bare, between.Sub(began)), append(held, time.Since(between))
			}
			b.ReportMetric(median(bare), "bare-ms")
			b.ReportMetric(median(held)-median(bare), "over-ms")
		})
	}
}

func bareStart(ctx context.Context, program, dir string) error {
	cmd := exec.CommandContext(ctx, program)
	cmd.Dir = dir
	return cmd.Run()
}

// median is in milliseconds.
func median(list []time.Duration) float64 {
	slices.Sort(list)
	return list[len(list)/2].Seconds() * 1000
}
