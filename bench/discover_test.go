package bench

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/deftskills/deft/registry"
	"github.com/deftskills/deft/source"
	"google.golang.org/adk/v2/tool/skilltoolset/skill"
)

// library makes n skills of about 3 KB in one root, the shape of a large home.
func library(tb testing.TB, n int) string {
	tb.Helper()
	root := tb.TempDir()
	words := strings.Fields("review deploy measure translate summarise migrate audit label render compress schedule archive")
	for i := range n {
		name := fmt.Sprintf("%s-%s-%05d", words[i%len(words)], words[(i/7)%len(words)], i)
		var b strings.Builder
		fmt.Fprintf(&b, "---\nname: %s\ndescription: %s the %s of project %d and report what changed. Use when asked to %s.\nlicense: MIT\nmetadata:\n  author: team-%d\n---\n\n# %s\n\n", name, words[i%len(words)], words[(i+3)%len(words)], i, words[i%len(words)], i%40, name)
		for b.Len() < 3000 {
			fmt.Fprintf(&b, "%d. %s the %s, then check the %s against the %s before going on.\n", b.Len(), words[(i+b.Len())%len(words)], words[(i*3+b.Len())%len(words)], words[(i*5)%len(words)], words[(b.Len()/7)%len(words)])
		}
		dir := filepath.Join(root, name)
		if err := os.Mkdir(dir, 0o755); err != nil {
			tb.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, "SKILL.md"), []byte(b.String()), 0o644); err != nil {
			tb.Fatal(err)
		}
	}
	return root
}

// cpu is the processor time of this process, user and system.
func cpu() time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		return 0
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

func measure(b *testing.B, run func()) time.Duration {
	runtime.GC()
	start := cpu()
	run()
	return cpu() - start
}

// against measures ours and the kit's listing in turns and reports both processor times
// and their ratio.
func against(b *testing.B, ours, theirs func()) {
	b.Helper()
	ours()
	theirs()
	var deft, adk time.Duration
	for b.Loop() {
		deft += measure(b, ours)
		adk += measure(b, theirs)
	}
	b.ReportMetric(float64(deft.Milliseconds())/float64(b.N), "deft-cpu-ms")
	b.ReportMetric(float64(adk.Milliseconds())/float64(b.N), "adk-cpu-ms")
	b.ReportMetric(float64(deft)/float64(adk), "deft/adk")
}

// kit lists the skills of root with the Agent Development Kit's file system source.
func kit(b *testing.B, root string) func() {
	return func() {
		list, err := skill.NewFileSystemSource(os.DirFS(root)).ListFrontmatters(b.Context())
		if err != nil {
			b.Fatal(err)
		}
		if len(list) != 10_000 {
			b.Fatalf("%d skills", len(list))
		}
	}
}

// BenchmarkStart10k is a start over 10,000 unchanged skills with deft's index on disk,
// beside the kit, which keeps nothing.
func BenchmarkStart10k(b *testing.B) {
	root, c := library(b, 10_000), registry.Config{Index: b.TempDir()}
	later := func() time.Time { return time.Now().Add(time.Hour) } // no file is too young to be trusted
	start := func() *registry.Registry {
		c.Sources = []source.Source{source.Dir(root, source.DirOptions{Info: source.Info{ID: "bench"}, Now: later})}
		r, err := registry.Open(b.Context(), c)
		if err != nil {
			b.Fatal(err)
		}
		return r
	}
	if err := start().Close(); err != nil {
		b.Fatal(err)
	}
	against(b, func() {
		if m := start().Snapshot().Metrics; m.Skills != 10_000 || m.FilesRead != 0 {
			b.Fatalf("%+v", m)
		}
	}, kit(b, root))
}

// BenchmarkRefresh10k looks at 10,000 unchanged skills again in one process.
func BenchmarkRefresh10k(b *testing.B) {
	root := library(b, 10_000)
	later := func() time.Time { return time.Now().Add(time.Hour) }
	src := source.Dir(root, source.DirOptions{Info: source.Info{ID: "bench"}, Now: later})
	r, err := registry.Open(b.Context(), registry.Config{Sources: []source.Source{src}})
	if err != nil {
		b.Fatal(err)
	}
	against(b, func() {
		if _, err := r.Refresh(b.Context(), registry.RefreshOptions{}); err != nil {
			b.Fatal(err)
		}
	}, kit(b, root))
}

// BenchmarkDiscover10k lists 10,000 skills cold: deft with arbitration and diagnostics,
// beside the Agent Development Kit's file system source. The two take turns, and the
// ratio is that of their processor times in one run.
func BenchmarkDiscover10k(b *testing.B) {
	root := library(b, 10_000)
	ours := func() {
		src := source.Dir(root, source.DirOptions{Info: source.Info{ID: "bench", Kind: source.User, Trust: source.Trusted}})
		r, err := registry.Open(b.Context(), registry.Config{Sources: []source.Source{src}})
		if err != nil {
			b.Fatal(err)
		}
		if n := len(r.Snapshot().Winners); n != 10_000 {
			b.Fatalf("%d skills", n)
		}
	}
	against(b, ours, kit(b, root))
}
