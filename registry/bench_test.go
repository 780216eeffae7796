package registry_test

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/deftskills/deft/registry"
	"github.com/deftskills/deft/source"
)

// writeSkills makes n ordinary skills of about 3 KB.
func writeSkills(tb testing.TB, root string, n int) {
	tb.Helper()
	writeSkillsFrom(tb, root, 0, n)
}

// writeSkillsFrom numbers them from the first.
func writeSkillsFrom(tb testing.TB, root string, first, n int) {
	tb.Helper()
	body := strings.Repeat("Read the notes first, then write what changed since the last tag.\n", 42)
	for i := first; i < first+n; i++ {
		dir := filepath.Join(root, fmt.Sprintf("skill-%05d", i))
		text := fmt.Sprintf("---\nname: skill-%05d\ndescription: Collects the changes of part %d and writes them up for people who were away.\nlicense: Apache-2.0\nmetadata:\n  author: someone\n  version: \"1.%d\"\n---\n\n# Skill %d\n\n%s", i, i, i, i, body)
		if err := os.MkdirAll(dir, 0o755); err != nil {
			tb.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, "SKILL.md"), []byte(text), 0o644); err != nil {
			tb.Fatal(err)
		}
	}
}

func benchRegistry(b *testing.B, n int, now func() time.Time) (*registry.Registry, []source.Source) {
	b.Helper()
	root := b.TempDir()
	writeSkills(b, root, n)
	srcs := []source.Source{source.Dir(root, source.DirOptions{Now: now})}
	r, err := registry.Open(b.Context(), registry.Config{Sources: srcs})
	if err != nil {
		b.Fatal(err)
	}
	if got := len(r.Snapshot().Winners); got != n {
		b.Fatalf("%d winners of %d", got, n)
	}
	return r, srcs
}

func liveHeap() float64 {
	var m runtime.MemStats
	runtime.GC()
	runtime.GC()
	runtime.ReadMemStats(&m)
	return float64(m.HeapAlloc) / (1 << 20)
}

// BenchmarkDiscover10k is a cold discovery with arbitration and diagnostics from a
// warm page cache.
func BenchmarkDiscover10k(b *testing.B) {
	r, srcs := benchRegistry(b, 10_000, nil)
	runtime.KeepAlive(r)
	r = nil
	before := liveHeap()
	b.ReportAllocs()
	for b.Loop() {
		var err error
		if r, err = registry.Open(b.Context(), registry.Config{Sources: srcs}); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(liveHeap()-before, "live-MiB")
	runtime.KeepAlive(r)
}

func BenchmarkRescan10k(b *testing.B) {
	r, _ := benchRegistry(b, 10_000, laterClock())
	b.ReportAllocs()
	start := cpu()
	defer func() { b.ReportMetric((cpu()-start).Seconds()*1000/float64(b.N), "cpu-ms/op") }()
	for b.Loop() {
		s, err := r.Refresh(b.Context(), registry.RefreshOptions{})
		if err != nil || s.Metrics.FilesRead != 0 {
			b.Fatal(err, s.Metrics)
		}
	}
}

func BenchmarkLookup(b *testing.B) {
	r, _ := benchRegistry(b, 10_000, nil)
	s := r.Snapshot()
	b.ReportAllocs()
	for b.Loop() {
		if _, err := s.Lookup("skill-07654"); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkLoad(b *testing.B) {
	r, _ := benchRegistry(b, 100, nil)
	rec, err := r.Snapshot().Lookup("skill-00042")
	if err != nil {
		b.Fatal(err)
	}
	b.ReportAllocs()
	for b.Loop() {
		if _, err := source.Load(b.Context(), rec.Entry); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkStart10k is a process start over unchanged skills with the index on disk.
func BenchmarkStart10k(b *testing.B) {
	_, srcs := benchRegistry(b, 10_000, laterClock())
	c := registry.Config{Sources: srcs, Index: b.TempDir()}
	start := func() *registry.Registry {
		r, err := registry.Open(b.Context(), c)
		if err != nil {
			b.Fatal(err)
		}
		return r
	}
	if err := start().Close(); err != nil {
		b.Fatal(err)
	}
	before := liveHeap()
	var r *registry.Registry
	b.ReportAllocs()
	began := cpu()
	for b.Loop() {
		if r = start(); r.Snapshot().Metrics.FilesRead != 0 {
			b.Fatalf("%+v", r.Snapshot().Metrics)
		}
	}
	b.ReportMetric((cpu()-began).Seconds()*1000/float64(b.N), "cpu-ms/op")
	b.ReportMetric((liveHeap()-before)*(1<<20)/10_000, "live-bytes/skill")
	runtime.KeepAlive(r)
}

// BenchmarkOneChanged10k is how long after a write the change is visible, the debounce
// of 200 ms included.
func BenchmarkOneChanged10k(b *testing.B) {
	root := b.TempDir()
	writeSkills(b, root, 10_000)
	r, err := registry.Open(b.Context(), registry.Config{Sources: []source.Source{source.Dir(root, source.DirOptions{Now: laterClock()})}})
	if err != nil {
		b.Fatal(err)
	}
	defer r.Close()
	if _, err := r.Watch(b.Context(), registry.WatchOptions{}); err != nil {
		b.Fatal(err)
	}
	heard := make(chan registry.Change, 1)
	r.Subscribe(func(c registry.Change) { heard <- c })
	i := 0
	for b.Loop() {
		i++
		writeSkill(b, filepath.Join(root, "skill-05000"), "skill-05000", fmt.Sprint("Version ", i))
		<-heard
	}
}

// BenchmarkDiscover100k is a cold discovery of a fleet's worth of skills.
func BenchmarkDiscover100k(b *testing.B) {
	root := b.TempDir()
	for i := range 10 {
		writeSkillsFrom(b, filepath.Join(root, fmt.Sprint("group", i)), 10_000*i, 10_000)
	}
	before := liveHeap()
	var r *registry.Registry
	began := cpu()
	for b.Loop() {
		var err error
		if r, err = registry.Open(b.Context(), registry.Config{Sources: []source.Source{source.Dir(root, source.DirOptions{})}}); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric((cpu()-began).Seconds()*1000/float64(b.N), "cpu-ms/op")
	b.ReportMetric(liveHeap()-before, "live-MiB")
	b.ReportMetric(float64(len(r.Snapshot().All)), "skills")
	runtime.KeepAlive(r)
}
