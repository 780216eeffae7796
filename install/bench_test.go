package install_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/deftskills/deft/install"
	"github.com/deftskills/deft/install/fetch"
)

// many makes a source of n skills of three files.
func (m *bench) many(n int) {
	m.t.Helper()
	for i := range n {
		dir := fmt.Sprintf("many/skill-%04d/", i)
		m.write(dir+"SKILL.md", fmt.Sprintf("---\nname: skill-%04d\ndescription: Does the thing of number %[1]d when asked.\n---\n\nDo thing %[1]d.\n", i))
		m.write(dir+"references/more.md", fmt.Sprintf("More of %d.\n", i))
		m.write(dir+"scripts/run.sh", fmt.Sprintf("#!/bin/sh\necho %d\n", i))
	}
}

// bench is a machine of a benchmark.
type bench struct {
	t       testing.TB
	dir     string
	scope   install.Scope
	agents  []install.Agent
	machine machine
}

func newBench(b *testing.B) *bench {
	b.Helper()
	dir, err := filepath.EvalSymlinks(b.TempDir())
	if err != nil {
		b.Fatal(err)
	}
	home := filepath.Join(dir, "home")
	m := &bench{t: b, dir: dir, scope: install.User(home, filepath.Join(dir, "data"), filepath.Join(home, ".agents"))}
	m.agents = []install.Agent{{ID: "agent", User: filepath.Join(home, ".agent", "skills")}}
	m.machine = machine{dir: dir, scope: m.scope, agents: m.agents}
	if err := os.Mkdir(home, 0o755); err != nil {
		b.Fatal(err)
	}
	return m
}

func (m *bench) write(name, text string) {
	m.t.Helper()
	at := filepath.Join(m.dir, name)
	if err := os.MkdirAll(filepath.Dir(at), 0o755); err != nil {
		m.t.Fatal(err)
	}
	if err := os.WriteFile(at, []byte(text), 0o644); err != nil {
		m.t.Fatal(err)
	}
}

// install brings in every skill of the source.
func (m *bench) install(source string) {
	m.t.Helper()
	ref, err := install.ParseSource(source, install.ParseOptions{Exists: func(string) bool { return true }})
	if err != nil {
		m.t.Fatal(err)
	}
	fetcher := &install.Fetcher{Home: m.scope.Root, Dir: m.dir}
	if git, err := exec.LookPath("git"); err == nil {
		fetcher.Git = &fetch.Git{Program: git, Env: os.Getenv, Temp: m.t.TempDir()}
	}
	f, err := fetcher.Fetch(m.t.Context(), ref)
	if err != nil {
		m.t.Fatal(err)
	}
	packs, err := install.Find(m.t.Context(), f, install.FindOptions{})
	if err != nil {
		m.t.Fatal(err)
	}
	i := m.machine.installer()
	plan, err := i.Plan(m.t.Context(), f, packs, install.Choice{Scope: m.scope, Agents: m.agents})
	if err != nil {
		m.t.Fatal(err)
	}
	done, err := i.Apply(m.t.Context(), plan, install.Answers{})
	if err != nil || len(done) != len(packs) || !done[0].Written {
		m.t.Fatalf("%d of %d: %v", len(done), len(packs), err)
	}
}

// BenchmarkInstall100 brings in 100 skills of a git repository; every file is synced.
func BenchmarkInstall100(b *testing.B) {
	for b.Loop() {
		b.StopTimer()
		m := newBench(b)
		m.many(100)
		for _, args := range [][]string{{"init", "-q", "-b", "main"}, {"add", "-A"}, {"-c", "user.name=t", "-c", "user.email=t@example.org", "commit", "-qm", "x"}} {
			cmd := exec.Command("git", args...)
			cmd.Dir = filepath.Join(m.dir, "many")
			if out, err := cmd.CombinedOutput(); err != nil {
				b.Fatalf("git: %v\n%s", err, out)
			}
		}
		b.StartTimer()
		m.install(filepath.Join(m.dir, "many") + "#HEAD")
	}
}

// BenchmarkVerify1000 compares 1,000 installed skills with lock file, records, links and
// store, every byte read.
func BenchmarkVerify1000(b *testing.B) {
	m := newBench(b)
	m.many(1000)
	m.install(filepath.Join(m.dir, "many"))
	i := m.machine.installer()
	for b.Loop() {
		list, err := i.Verify(b.Context(), m.scope, m.agents, nil)
		if err != nil || len(list) != 1000 || list[0].State != install.OK {
			b.Fatalf("%d, %v", len(list), err)
		}
	}
}
