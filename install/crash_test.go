package install_test

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/deftskills/deft/install"
	"github.com/deftskills/deft/internal/fault"
	"github.com/deftskills/deft/internal/race"
	"github.com/deftskills/deft/store/blobs"
)

// machine is a home with one agent and a source of two skills.
type machine struct {
	t       *testing.T
	dir     string
	scope   install.Scope
	agents  []install.Agent
	fetcher *install.Fetcher
	record  recorder
	wait    time.Duration                   // for locks
	choice  install.Choice                  // beside where and for whom
	store   func(s blobs.Store) blobs.Store // what stands between an install and its store
}

func newMachine(t *testing.T) *machine {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	m := &machine{
		t: t, dir: dir, scope: install.User(filepath.Join(dir, "home"), filepath.Join(dir, "data"), filepath.Join(dir, "home", ".agents")),
		agents:  []install.Agent{{ID: "agent", User: filepath.Join(dir, "home", ".agent", "skills")}},
		fetcher: &install.Fetcher{Home: filepath.Join(dir, "home"), Dir: dir},
	}
	if err := os.Mkdir(filepath.Join(dir, "home"), 0o755); err != nil {
		t.Fatal(err)
	}
	m.source("first")
	return m
}

func (m *machine) source(text string) {
	m.t.Helper()
	for _, name := range []string{"one", "two"} {
		m.write("source/"+name+"/SKILL.md", fmt.Sprintf("---\nname: %s\ndescription: Does %[1]s things when asked.\n---\n\n%s\n", name, text))
		m.write("source/"+name+"/data.txt", text)
	}
}

func (m *machine) write(name, text string) {
	m.t.Helper()
	at := filepath.Join(m.dir, name)
	if err := os.MkdirAll(filepath.Dir(at), 0o755); err != nil {
		m.t.Fatal(err)
	}
	if err := os.WriteFile(at, []byte(text), 0o644); err != nil {
		m.t.Fatal(err)
	}
}

func (m *machine) installer() *install.Installer {
	var kept blobs.Store = &blobs.Dir{Path: filepath.Join(m.dir, "data", "blobs")}
	if m.store != nil {
		kept = m.store(kept)
	}
	return install.New(install.Options{
		Blobs: kept, Trees: blobs.Trees{Path: filepath.Join(m.dir, "data", "trees")},
		State: filepath.Join(m.dir, "state"), Program: "test", Recorder: &m.record, LockWait: m.wait, Now: func() time.Time { return time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC) },
	})
}

// add installs what the source has now.
func (m *machine) add(ctx context.Context, names ...string) error {
	i := m.installer()
	ref, err := install.ParseSource(filepath.Join(m.dir, "source"), install.ParseOptions{})
	if err != nil {
		return err
	}
	f, err := m.fetcher.Fetch(ctx, ref)
	if err != nil {
		return err
	}
	all, err := install.Find(ctx, f, install.FindOptions{})
	if err != nil {
		return err
	}
	var packs []install.Package
	for _, p := range all {
		for _, name := range names {
			if p.Skill.Name == name {
				packs = append(packs, p)
			}
		}
	}
	choice := m.choice
	choice.Scope, choice.Agents = m.scope, m.agents
	plan, err := i.Plan(ctx, f, packs, choice)
	if err != nil {
		return err
	}
	done, err := i.Apply(ctx, plan, install.Answers{})
	for _, d := range done {
		if d.Refused != nil {
			return errors.New(d.Refused.Code + ": " + d.Refused.Message)
		}
	}
	return err
}

func (m *machine) remove(ctx context.Context, names ...string) error {
	i := m.installer()
	list, err := i.PlanRemove(ctx, m.scope, m.agents, names)
	if err != nil {
		return err
	}
	_, err = i.Remove(ctx, m.scope, m.agents, list)
	return err
}

// state is everything that a person sees of one skill: what its folder and its record
// say, and where its link leads.
func (m *machine) state(name string) string {
	m.t.Helper()
	text := func(at string) string {
		b, err := os.ReadFile(at)
		if errors.Is(err, fs.ErrNotExist) {
			return "-"
		}
		if err != nil {
			m.t.Fatal(err)
		}
		return strings.TrimSpace(string(b))
	}
	lock, err := install.ReadLock(m.scope.Lock, false)
	if err != nil {
		m.t.Fatal(err)
	}
	recorded := "-"
	if e, ok := lock.Skills[name]; ok {
		recorded = string(e.Tree)
	}
	return fmt.Sprintf("folder %s, record %s, link %s%s", text(filepath.Join(m.scope.Skills, name, "data.txt")), recorded,
		text(filepath.Join(m.agents[0].User, name, "data.txt")), m.plugins(lock))
}

// leftovers names what a change that stopped has left anywhere.
func (m *machine) leftovers() (out []string) {
	m.t.Helper()
	err := filepath.WalkDir(m.dir, func(path string, d fs.DirEntry, err error) error {
		if err == nil && (strings.Contains(d.Name(), ".deft-new-") || strings.Contains(d.Name(), ".deft-old-") || strings.HasSuffix(d.Name(), ".tmp") ||
			filepath.Base(filepath.Dir(path)) == "journal") {
			out = append(out, path)
		}
		return err
	})
	if err != nil {
		m.t.Fatal(err)
	}
	return out
}

// changes are the operations that write, each with what has to be there before.
var changes = []struct {
	name   string
	before func(context.Context, *machine) error
	change func(context.Context, *machine) error
}{
	{"add", func(context.Context, *machine) error { return nil }, func(ctx context.Context, m *machine) error { return m.add(ctx, "one") }},
	{"replace", func(ctx context.Context, m *machine) error {
		if err := m.add(ctx, "one"); err != nil {
			return err
		}
		m.source("second")
		return nil
	}, func(ctx context.Context, m *machine) error { return m.add(ctx, "one") }},
	{"remove", func(ctx context.Context, m *machine) error { return m.add(ctx, "one", "two") }, func(ctx context.Context, m *machine) error { return m.remove(ctx, "one") }},
	{"plugin", func(ctx context.Context, m *machine) error { return m.bundle(ctx, "1.0") }, func(ctx context.Context, m *machine) error { return m.bundle(ctx, "2.0") }},
	{"plugin removed", func(ctx context.Context, m *machine) error { return m.bundle(ctx, "1.0") }, func(ctx context.Context, m *machine) error { return m.unbundle(ctx, "1.0") }},
}

// interrupted runs a change that a fault stops at its n-th point, and reports whether it
// was stopped.
func (m *machine) interrupted(ctx context.Context, change func(context.Context, *machine) error, spec string) (stopped bool, err error) {
	disarm, err := fault.Arm(spec)
	if err != nil {
		m.t.Fatal(err)
	}
	defer disarm()
	defer func() {
		if recover() != nil {
			stopped, err = true, nil
		}
	}()
	err = change(ctx, m)
	return err != nil, err
}

// Whatever stops a change, and wherever: the next one finds the state of before or of
// after, whole, and leaves no rest; and where it was an error, the state is so at once, and
// the error names a place. Every point is tried where DEFT_TEST_FULL is set, else each
// fault at some. These tests arm faults of the whole process, so none of them is parallel.
func TestR01R02AStoppedInstallLeavesOldOrNew(t *testing.T) {
	faults := []string{"panic", "err:ENOSPC", "err:EIO", "err:EACCES"}
	all, whole := 0, 0
	for k, c := range changes {
		old, after := newMachine(t), newMachine(t)
		for _, m := range []*machine{old, after} {
			if err := c.before(t.Context(), m); err != nil {
				t.Fatal(err)
			}
		}
		if err := c.change(t.Context(), after); err != nil {
			t.Fatal(err)
		}
		s := stop{t: t, what: c.name, old: old.state("one"), new: after.state("one"), before: c.before, change: c.change}
		runs := 0
		for f, how := range faults {
			first, step := 1+(k+f)%4, 4
			if os.Getenv("DEFT_TEST_FULL") != "" {
				first, step = 1, 1
			} else if race.Enabled {
				step = 12 // one goroutine: there is no race to see
			}
			for n := first; ; n += step {
				stopped, fine := s.at(how, n)
				if !stopped {
					break
				}
				runs, all = runs+1, all+1
				if fine {
					whole++
				}
			}
		}
		if runs < 3 {
			t.Errorf("%s: only %d points", c.name, runs)
		}
	}
	t.Logf("R01, R02: %d/%d", whole, all)
}

// stop is one change that is to be stopped.
type stop struct {
	t              *testing.T
	what, old, new string
	before, change func(context.Context, *machine) error
}

// at stops the change at its n-th point, and looks at what is left.
func (s stop) at(how string, n int) (stopped, fine bool) {
	t, m := s.t, newMachine(s.t)
	if err := s.before(t.Context(), m); err != nil {
		t.Fatal(err)
	}
	before := len(m.record.list())
	stopped, err := m.interrupted(t.Context(), s.change, fmt.Sprintf("*=%s@%d", how, n))
	if !stopped {
		return false, true
	}
	fine = true
	wrong := func(format string, args ...any) {
		fine = false
		t.Errorf("%s, %s at point %d (%v): %s", s.what, how, n, err, fmt.Sprintf(format, args...))
	}
	if how != "panic" {
		if got := m.state("one"); got != s.old && got != s.new {
			wrong("at once:\n got %s\nwant %s\n  or %s", got, s.old, s.new)
		}
		if !strings.Contains(err.Error(), m.dir) {
			wrong("it names no place")
		}
	}
	// The next change of any kind ends what was begun.
	if err := m.installer().Repair(t.Context(), m.scope, m.agents, nil); err != nil {
		wrong("the next one: %v", err)
	}
	if got := m.state("one"); got != s.old && got != s.new {
		wrong("\n got %s\nwant %s\n  or %s", got, s.old, s.new)
	}
	if rows := len(m.record.list()) - before; (rows == 1) != (m.state("one") == s.new) || rows > 1 {
		wrong("recorded %d times", rows)
	}
	rest := m.leftovers()
	if how == "panic" { // temporary files go when they are an hour old
		rest = slices.DeleteFunc(rest, func(p string) bool { return strings.HasSuffix(p, ".tmp") })
	}
	if len(rest) > 0 {
		wrong("left behind: %q", rest)
	}
	if err := s.change(t.Context(), m); err != nil || m.state("one") != s.new {
		wrong("again: %v, %s", err, m.state("one"))
	}
	return true, fine
}

// Many that add, replace and remove at once end in what some order of them gives: each
// skill is there as a whole, or not at all, and records, folders and links agree.
func TestR05ManyAtOnceEndInSomeOrder(t *testing.T) {
	t.Parallel()
	m := newMachine(t)
	const workers, each = 6, 8
	var wg sync.WaitGroup
	for w := range workers {
		wg.Go(func() {
			for n := range each {
				var err error
				switch name := []string{"one", "two"}[(w+n)%2]; n % 3 {
				case 0, 1:
					err = m.add(t.Context(), name)
				case 2:
					err = m.remove(t.Context(), name)
				}
				// Between plan and lock another one may have been faster.
				if err != nil && !strings.Contains(err.Error(), "install_occupied") {
					t.Errorf("worker %d, %d: %v", w, n, err)
				}
			}
		})
	}
	wg.Wait()
	if rest := m.leftovers(); len(rest) > 0 {
		t.Errorf("left behind: %q", rest)
	}
	list, err := m.installer().Verify(t.Context(), m.scope, m.agents, nil)
	if err != nil {
		t.Fatal(err)
	}
	lock, err := install.ReadLock(m.scope.Lock, false)
	if err != nil {
		t.Fatal(err)
	}
	for _, st := range list {
		if st.State != install.OK {
			t.Errorf("%+v", st)
		}
	}
	for _, name := range []string{"one", "two"} {
		_, recorded := lock.Skills[name]
		_, folder := os.Lstat(filepath.Join(m.scope.Skills, name))
		_, link := os.Lstat(filepath.Join(m.agents[0].User, name))
		if recorded != (folder == nil) || recorded != (link == nil) {
			t.Errorf("%s: record %v, folder %v, link %v", name, recorded, folder, link)
		}
	}
}
