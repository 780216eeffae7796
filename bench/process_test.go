package bench

import (
	"bytes"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"testing"
	"time"
)

// build makes one program of a module for the measurements.
func build(b *testing.B, module, pkg string) string {
	b.Helper()
	program := filepath.Join(b.TempDir(), filepath.Base(pkg))
	c := exec.Command("go", "build", "-o", program, pkg)
	c.Dir = module
	if out, err := c.CombinedOutput(); err != nil {
		b.Fatalf("go build %s: %v\n%s", pkg, err, out)
	}
	return program
}

// counter counts what a program writes, and keeps its end.
type counter struct {
	n    int
	last []byte
}

func (c *counter) Write(p []byte) (int, error) {
	c.n += len(p)
	c.last = append(c.last, p...)
	c.last = c.last[max(0, len(c.last)-1<<10):]
	return len(p), nil
}

// spent runs a program, reads all that it writes, and returns its processor time, user
// and system.
func spent(b *testing.B, out io.Writer, home, program string, args ...string) time.Duration {
	b.Helper()
	c := exec.Command(program, args...)
	c.Dir, c.Env, c.Stdout = home, []string{"HOME=" + home, "PATH=" + os.Getenv("PATH")}, out
	if err := c.Run(); err != nil {
		b.Fatalf("%s: %v", program, err)
	}
	return c.ProcessState.UserTime() + c.ProcessState.SystemTime()
}

// BenchmarkProcess10k is a whole "deft list --json" over a home of 10,000 skills, cold
// (no index on disk), warm, and beside both a program that does nothing but list them
// with the kit. They take turns; the figures are medians of processor time.
func BenchmarkProcess10k(b *testing.B) {
	home := b.TempDir()
	root := filepath.Join(home, ".claude", "skills")
	if err := os.MkdirAll(filepath.Dir(root), 0o755); err != nil {
		b.Fatal(err)
	}
	if err := os.Rename(library(b, 10_000), root); err != nil {
		b.Fatal(err)
	}
	deft, kit := build(b, "..", "./cmd/deft"), build(b, ".", "./kitlist")
	list := func() (time.Duration, *counter) {
		var out counter
		t := spent(b, &out, home, deft, "list", "--json")
		return t, &out
	}
	unread := func(out *counter) bool { // but for the few that come with the program
		_, rest, _ := bytes.Cut(out.last, []byte(`"files_read": `))
		return len(rest) > 2 && bytes.IndexByte(rest[:3], ',') > 0
	}
	for { // files that are too young to be trusted by their times are read again
		if _, out := list(); unread(out) {
			break
		}
	}
	var cold, warm, beside []time.Duration
	for b.Loop() {
		if err := os.RemoveAll(filepath.Join(home, ".cache")); err != nil {
			b.Fatal(err)
		}
		t, out := list()
		if unread(out) {
			b.Fatal("the index was there still")
		}
		cold = append(cold, t)
		if t, out = list(); !unread(out) {
			b.Fatalf("files were read: %s", out.last)
		}
		warm = append(warm, t)
		var listed counter
		beside = append(beside, spent(b, &listed, home, kit, root))
		if listed.n < 100*10_000 {
			b.Fatalf("the kit wrote %d bytes", listed.n)
		}
	}
	ms := func(list []time.Duration) float64 {
		slices.Sort(list)
		return float64(list[len(list)/2].Microseconds()) / 1000
	}
	b.ReportMetric(ms(cold), "cold-cpu-ms")
	b.ReportMetric(ms(warm), "warm-cpu-ms")
	b.ReportMetric(ms(beside), "adk-cpu-ms")
	b.ReportMetric(ms(cold)/ms(beside), "cold/adk")
	b.ReportMetric(ms(warm)/ms(beside), "warm/adk")
}
