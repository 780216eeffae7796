package registry_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/fsnotify/fsnotify"
	"go.uber.org/goleak"

	"github.com/deftskills/deft/internal/casetest"
	"github.com/deftskills/deft/registry"
	"github.com/deftskills/deft/skill"
	"github.com/deftskills/deft/source"
)

// eventually polls a condition: watchers are told by the system when it likes.
func eventually(t *testing.T, what string, ok func() bool) {
	t.Helper()
	deadline := time.Now().Add(time.Minute)
	for !ok() {
		if time.Now().After(deadline) {
			t.Fatalf("never: %s", what)
		}
		time.Sleep(5 * time.Millisecond)
	}
}

// log gathers what a subscriber hears.
type log struct {
	mu   sync.Mutex
	list []registry.Change
}

func (l *log) add(c registry.Change) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.list = append(l.list, c)
}

func (l *log) all() []registry.Change {
	l.mu.Lock()
	defer l.mu.Unlock()
	return slices.Clone(l.list)
}

func watching(t *testing.T, r *registry.Registry, o registry.WatchOptions) *log {
	t.Helper()
	l := &log{}
	r.Subscribe(l.add)
	stop, err := r.Watch(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(stop)
	return l
}

// quick is for tests that wait for real events: the pace itself is tested on its own.
var quick = registry.WatchOptions{Debounce: 20 * time.Millisecond, MaxWait: 200 * time.Millisecond, Poll: 100 * time.Millisecond}

func describes(r *registry.Registry, name, text string) func() bool {
	return func() bool {
		rec, err := r.Snapshot().Lookup(name)
		return err == nil && rec.State == registry.Available && rec.Skill.Description == text
	}
}

func gone(r *registry.Registry, name string) func() bool {
	return func() bool {
		_, err := r.Snapshot().Lookup(name)
		return err != nil
	}
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// fakeNotifier is a system whose events a test sends.
type fakeNotifier struct {
	mu     sync.Mutex
	added  map[string]bool
	limit  int
	events chan fsnotify.Event
	errs   chan error
}

func newFake(limit int) *fakeNotifier {
	return &fakeNotifier{added: map[string]bool{}, limit: limit, events: make(chan fsnotify.Event), errs: make(chan error)}
}

func (n *fakeNotifier) Add(dir string) error {
	n.mu.Lock()
	defer n.mu.Unlock()
	if len(n.added) >= n.limit {
		return syscall.ENOSPC
	}
	n.added[dir] = true
	return nil
}

func (n *fakeNotifier) Remove(dir string) error {
	n.mu.Lock()
	defer n.mu.Unlock()
	delete(n.added, dir)
	return nil
}

func (n *fakeNotifier) Events() <-chan fsnotify.Event { return n.events }
func (n *fakeNotifier) Errors() <-chan error          { return n.errs }
func (n *fakeNotifier) Close() error                  { return nil }

func (n *fakeNotifier) options(o registry.WatchOptions) registry.WatchOptions {
	return o.WithNotifier(func() (registry.Notifier, error) { return n, nil })
}

// paced is a watched root whose checks are counted.
func paced(t *testing.T, takes time.Duration) (src *countingSource, write func()) {
	t.Helper()
	root := t.TempDir()
	writeSkill(t, filepath.Join(root, "x"), "x", "One.")
	src = &countingSource{Source: source.Dir(root, source.DirOptions{}), takes: takes}
	r := opened(t, registry.Config{Sources: []source.Source{src}})
	n := newFake(100)
	stop, err := r.Watch(t.Context(), n.options(registry.WatchOptions{}))
	must(t, err)
	t.Cleanup(stop)
	synctest.Wait()
	src.scans.Store(0)
	return src, func() {
		n.events <- fsnotify.Event{Name: filepath.Join(root, "x", "SKILL.md"), Op: fsnotify.Write}
	}
}

// Conformance minimax X01 debounce-200.
func TestABurstOfWritesIsOneCheckWhenItIsQuiet(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		src, write := paced(t, 0)
		for range 20 {
			write()
			time.Sleep(150 * time.Millisecond / 20)
		}
		time.Sleep(190 * time.Millisecond)
		want(t, "before it was quiet for 200 ms", src.scans.Load(), int64(0))
		time.Sleep(time.Second)
		want(t, "after", src.scans.Load(), int64(1))
	})
}

// Conformance minimax X02 max-wait-1000.
func TestWritesThatNeverStopAreCheckedEverySecond(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		src, write := paced(t, 0)
		for i := range 30 {
			write()
			time.Sleep(100 * time.Millisecond)
			if i == 10 {
				want(t, "after 1.1 s", src.scans.Load(), int64(1))
			}
		}
		time.Sleep(time.Second)
		if n := src.scans.Load(); n < 3 || n > 4 {
			t.Errorf("%d checks in 3 s", n)
		}
	})
}

// Conformance minimax X03 one-in-flight.
func TestChangesDuringACheckMakeExactlyOneMore(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		src, write := paced(t, 3*time.Second)
		write()
		time.Sleep(time.Second) // the check is in flight
		for range 10 {
			write()
			time.Sleep(150 * time.Millisecond)
		}
		time.Sleep(time.Minute)
		want(t, "checks", src.scans.Load(), int64(2))
	})
}

func TestR10TenThousandEventsASecondAreAFewChecks(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		src, write := paced(t, 50*time.Millisecond)
		for range 20_000 {
			write()
			time.Sleep(100 * time.Microsecond)
		}
		time.Sleep(time.Second)
		if n := src.scans.Load(); n == 0 || n > 12 {
			t.Errorf("%d checks", n)
		}
	})
}

// Conformance minimax X07 watcher-error.
func TestR10AWatchThatFailsIsToldOnceAndPolled(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	for i := range 9 {
		writeSkill(t, filepath.Join(root, fmt.Sprint("s", i)), fmt.Sprint("s", i), "One.")
	}
	told := make(chan skill.Diagnostic, 100)
	r := opened(t, registry.Config{Sources: []source.Source{source.Dir(root, source.DirOptions{})}, Report: func(d skill.Diagnostic) { told <- d }})
	l := watching(t, r, newFake(3).options(quick))
	want(t, "told", len(told), 1)
	want(t, "code", (<-told).Code, "watch_degraded")
	if s := r.WatchStatus(); s.Mode != "polling" || s.Watches != 3 || s.Polled < 7 {
		t.Errorf("%+v", s)
	}
	for i := range 9 { // nobody sends events: those not watched are found by looking
		writeSkill(t, filepath.Join(root, fmt.Sprint("s", i)), fmt.Sprint("s", i), "Two.")
	}
	eventually(t, "the change is found", func() bool { return describes(r, "s0", "Two.")() && describes(r, "s8", "Two.")() })
	want(t, "told once", len(told), 0)
	eventually(t, "a change", func() bool { return len(l.all()) > 0 })
	want(t, "reason", l.all()[0].Reason, "poll")
}

func TestWithoutASystemWatcherEverythingIsPolled(t *testing.T) {
	t.Parallel()
	root := filepath.Join(t.TempDir(), "late", "skills")
	r := opened(t, registry.Config{Sources: []source.Source{source.Dir(root, source.DirOptions{})}})
	watching(t, r, quick.WithNotifier(func() (registry.Notifier, error) { return nil, errors.New("too many open files") }))
	want(t, "mode", r.WatchStatus().Mode, "polling")
	writeSkill(t, filepath.Join(root, "x"), "x", "One.")
	eventually(t, "a late root", describes(r, "x", "One."))
	writeSkill(t, filepath.Join(root, "x"), "x", "Two.")
	eventually(t, "an edit", describes(r, "x", "Two."))
}

// Case 057.
func TestARootThatAppearsGoesAndReturns(t *testing.T) {
	t.Parallel()
	home := filepath.Join(t.TempDir(), "home")
	must(t, os.MkdirAll(home, 0o755))
	from := casetest.Open(t, "057") // its make.sh has made the skill in a copy
	srcs, _ := source.Roots(t.Context(), source.Env{Home: home, DataDir: filepath.Join(home, ".deft"), OS: "linux", External: true})
	r := opened(t, registry.Config{Sources: srcs})
	l := watching(t, r, quick)
	want(t, "nothing at the start", len(r.Snapshot().All), 0)
	for range 2 {
		must(t, os.CopyFS(filepath.Join(home, ".agents"), os.DirFS(filepath.Join(from.Home, ".agents"))))
		eventually(t, "the first skill", describes(r, "first", "First skill."))
		must(t, os.RemoveAll(filepath.Join(home, ".agents")))
		eventually(t, "its end", gone(r, "first"))
	}
	eventually(t, "four changes", func() bool { return len(l.all()) >= 4 })
	var names []string
	for _, c := range l.all() {
		names = append(names, append(c.Added, c.Removed...)...)
	}
	want(t, "changes", names, []string{"first", "first", "first", "first"})
	if s := r.WatchStatus(); s.Watches > len(srcs)+8 || s.Mode != "events" {
		t.Errorf("%+v for %d roots", s, len(srcs))
	}
}

// Case 058.
func TestEditsInPlaceAndByRename(t *testing.T) {
	t.Parallel()
	c := casetest.Open(t, "058")
	r, _ := open(t, c, setup{})
	t.Cleanup(func() { r.Close() })
	l := watching(t, r, quick)
	dir := filepath.Join(c.Project, ".claude", "skills", "edited")
	file := filepath.Join(dir, "SKILL.md")
	text, err := os.ReadFile(file)
	must(t, err)
	version := func(v string) []byte { return []byte(strings.Replace(string(text), "AAAA", v, 1)) }
	digest := func() skill.Digest { return lookup(t, r.Snapshot(), "edited").Skill.Digest }

	was := digest()
	f, err := os.OpenFile(file, os.O_APPEND|os.O_WRONLY, 0)
	must(t, err)
	_, err = f.WriteString("\nAnd one more line.\n")
	must(t, errors.Join(err, f.Close()))
	eventually(t, "an appended line", func() bool { return digest() != was })

	must(t, os.WriteFile(filepath.Join(dir, ".new"), version("BBBB"), 0o644))
	must(t, os.Rename(filepath.Join(dir, ".new"), file))
	eventually(t, "saved by rename", describes(r, "edited", "Version BBBB."))

	must(t, os.WriteFile(file, version("CCCC"), 0o644)) // same size, same second
	eventually(t, "same size", describes(r, "edited", "Version CCCC."))

	snap := r.Snapshot()
	must(t, os.WriteFile(filepath.Join(dir, "references", "x.md"), []byte("two\n"), 0o644))
	res, err := lookup(t, snap, "edited").From.Open(t.Context(), lookup(t, snap, "edited").Entry, "references/x.md")
	must(t, err)
	buf := make([]byte, 4)
	_, err = res.Read(buf)
	must(t, errors.Join(err, res.Close()))
	want(t, "the resource", string(buf), "two\n")
	must(t, os.WriteFile(file, version("DDDD"), 0o644)) // a later event shows that the resource made none
	eventually(t, "one more", describes(r, "edited", "Version DDDD."))
	eventually(t, "four changes", func() bool { return len(l.all()) >= 4 })
	for i, c := range l.all() {
		want(t, "updated", c.Updated, []string{"edited"})
		if len(c.Added)+len(c.Removed) > 0 {
			t.Errorf("change %d: %+v", i, c)
		}
	}
	want(t, "a change a save, none for the resource", len(l.all()), 4)
}

func TestALoadDuringSavesByRenameGetsOneOfTheTexts(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	file := filepath.Join(root, "x", "SKILL.md")
	writeSkill(t, filepath.Join(root, "x"), "x", "Text.")
	r := opened(t, registry.Config{Sources: []source.Source{source.Dir(root, source.DirOptions{})}})
	rec := lookup(t, r.Snapshot(), "x")
	done := make(chan struct{})
	go func() {
		defer close(done)
		for i := range 200 {
			tmp := filepath.Join(root, "x", "new")
			text := fmt.Sprintf("---\nname: x\ndescription: Text.\n---\n%s", strings.Repeat(fmt.Sprint(i%10), 9000))
			if os.WriteFile(tmp, []byte(text), 0o644) != nil || os.Rename(tmp, file) != nil {
				return
			}
		}
	}()
	for {
		select {
		case <-done:
			return
		default:
		}
		got, err := source.Load(t.Context(), rec.Entry)
		must(t, err)
		if body := strings.TrimSpace(got.Body); len(body) > 8000 && body != strings.Repeat(body[:1], len(body)) {
			t.Fatalf("half of a file: %.40q", body)
		}
	}
}

// Case 059.
func TestNoiseBesideSkillsMakesNoChange(t *testing.T) {
	t.Parallel()
	c := casetest.Open(t, "059")
	r, _ := open(t, c, setup{})
	t.Cleanup(func() { r.Close() })
	l := watching(t, r, quick)
	watching(t, r, quick)
	root := filepath.Join(c.Project, ".claude", "skills")
	snap := r.Snapshot()
	for _, name := range []string{".DS_Store", "x.tmp~", "index.lock", "steady/.DS_Store", "notes.txt"} {
		must(t, os.WriteFile(filepath.Join(root, name), []byte("x"), 0o644))
		must(t, os.Remove(filepath.Join(root, name)))
	}
	now := time.Now()
	must(t, os.Chtimes(filepath.Join(root, "steady", "SKILL.md"), now, now))
	refreshed(t, r)
	if r.Snapshot() != snap || len(l.all()) != 0 {
		t.Errorf("noise made a change: %+v", l.all())
	}
	old := now.Add(-1000 * time.Hour)
	must(t, os.Chtimes(filepath.Join(root, "leaving", "SKILL.md"), old, old))
	must(t, os.RemoveAll(filepath.Join(root, "leaving")))
	eventually(t, "the removal", func() bool { return len(l.all()) > 0 })
	want(t, "removed", l.all()[0].Removed, []string{"leaving"})
}

// Case 060.
func TestWatchesAreBoundBySkillsNotByFolders(t *testing.T) {
	t.Parallel()
	c := casetest.Open(t, "060")
	r, e := open(t, c, setup{})
	stop, err := r.Watch(t.Context(), quick)
	must(t, err)
	srcs, _ := source.Roots(t.Context(), e)
	if s := r.WatchStatus(); s.Watches > len(srcs)+1+8 || s.Mode != "events" {
		t.Errorf("%+v for %d roots and one skill", s, len(srcs))
	}
	stop()
	must(t, r.Close())
}

// Conformance minimax X05 replaced-directory-re-armed.
func TestAFolderThatIsReplacedIsWatchedAgain(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	dir := filepath.Join(root, "x")
	writeSkill(t, dir, "x", "One.")
	r := opened(t, registry.Config{Sources: []source.Source{source.Dir(root, source.DirOptions{})}})
	watching(t, r, quick)
	must(t, os.RemoveAll(dir))
	writeSkill(t, dir, "x", "Two.")
	eventually(t, "the new folder", describes(r, "x", "Two."))
	writeSkill(t, dir, "x", "Three.")
	eventually(t, "an edit in it", describes(r, "x", "Three."))
	must(t, os.Rename(dir, filepath.Join(root, "y")))
	eventually(t, "the new place", func() bool {
		rec, err := r.Snapshot().Lookup("x")
		return err == nil && filepath.Base(rec.Dir) == "y"
	})
	writeSkill(t, filepath.Join(root, "y"), "x", "Four.")
	eventually(t, "an edit in the new place", describes(r, "x", "Four."))
}

// Conformance minimax X04 linked-directory-without-skill-watched.
func TestALinkedFolderIsWatchedWhereItLeads(t *testing.T) {
	t.Parallel()
	top, err := filepath.EvalSymlinks(t.TempDir())
	must(t, err)
	root := filepath.Join(top, "root")
	must(t, os.MkdirAll(root, 0o755))
	must(t, os.MkdirAll(filepath.Join(top, "one"), 0o755))
	must(t, os.Symlink(filepath.Join(top, "one"), filepath.Join(root, "x")))
	r := opened(t, registry.Config{Sources: []source.Source{source.Dir(root, source.DirOptions{})}})
	l := watching(t, r, quick)
	must(t, os.WriteFile(filepath.Join(top, "one", "other.txt"), nil, 0o644))
	writeSkill(t, filepath.Join(top, "one"), "x", "One.")
	eventually(t, "a skill in the target", describes(r, "x", "One."))
	eventually(t, "one change", func() bool { return len(l.all()) == 1 })
	writeSkill(t, filepath.Join(top, "one"), "x", "Edited.")
	eventually(t, "its edit", describes(r, "x", "Edited."))

	writeSkill(t, filepath.Join(top, "two"), "x", "Two.")
	must(t, os.Symlink(filepath.Join(top, "two"), filepath.Join(top, "link")))
	must(t, os.Rename(filepath.Join(top, "link"), filepath.Join(root, "x")))
	eventually(t, "the new target", describes(r, "x", "Two."))
	writeSkill(t, filepath.Join(top, "two"), "x", "Three.")
	eventually(t, "an edit of the new target", describes(r, "x", "Three."))
}

func TestALinkedSkillFileAndADanglingLinkAreWaitedFor(t *testing.T) {
	t.Parallel()
	top, err := filepath.EvalSymlinks(t.TempDir())
	must(t, err)
	root, away := filepath.Join(top, "root"), filepath.Join(top, "away")
	writeSkill(t, filepath.Join(away, "x"), "x", "One.")
	must(t, os.MkdirAll(filepath.Join(root, "x"), 0o755))
	must(t, os.Symlink(filepath.Join(away, "x", "SKILL.md"), filepath.Join(root, "x", "SKILL.md")))
	must(t, os.Symlink(filepath.Join(away, "deep", "y"), filepath.Join(root, "y")))
	r := opened(t, registry.Config{Sources: []source.Source{source.Dir(root, source.DirOptions{})}})
	watching(t, r, quick)
	writeSkill(t, filepath.Join(away, "x"), "x", "Two.")
	eventually(t, "the target's edit", describes(r, "x", "Two."))
	writeSkill(t, filepath.Join(away, "deep", "y"), "y", "Here.")
	eventually(t, "the target that came", describes(r, "y", "Here."))
}

func TestALinkedRootThatLeadsElsewhereIsFollowed(t *testing.T) {
	t.Parallel()
	top, err := filepath.EvalSymlinks(t.TempDir())
	must(t, err)
	for _, n := range []string{"one", "two"} {
		writeSkill(t, filepath.Join(top, n, "x"), "x", n)
	}
	root := filepath.Join(top, "root")
	must(t, os.Symlink(filepath.Join(top, "one"), root))
	r := opened(t, registry.Config{Sources: []source.Source{source.Dir(root, source.DirOptions{})}})
	watching(t, r, quick)
	must(t, os.Symlink(filepath.Join(top, "two"), filepath.Join(top, "link")))
	must(t, os.Rename(filepath.Join(top, "link"), root))
	eventually(t, "the other root", describes(r, "x", "two"))
	writeSkill(t, filepath.Join(top, "two", "x"), "x", "edited")
	eventually(t, "its edit", describes(r, "x", "edited"))
}

func TestTheParentOfARootIsExchanged(t *testing.T) {
	t.Parallel()
	top := t.TempDir()
	for _, n := range []string{"a", "b"} {
		writeSkill(t, filepath.Join(top, n, "skills", "x"), "x", n)
	}
	r := opened(t, registry.Config{Sources: []source.Source{source.Dir(filepath.Join(top, "a", "skills"), source.DirOptions{})}})
	watching(t, r, quick)
	must(t, os.Rename(filepath.Join(top, "a"), filepath.Join(top, "c")))
	must(t, os.Rename(filepath.Join(top, "b"), filepath.Join(top, "a")))
	eventually(t, "the other folder", describes(r, "x", "b"))
}

func TestR10AStormEndsWithTheTruthAndNothingIsLeft(t *testing.T) {
	n, err := registry.SystemNotifier() // the runtime opens its own handles with the first one
	must(t, err)
	must(t, n.Close())
	leaks := goleak.IgnoreCurrent()
	handles := openFiles(t)
	root, away := t.TempDir(), t.TempDir()
	for i := range 20 {
		writeSkill(t, filepath.Join(root, fmt.Sprint("s", i)), fmt.Sprint("s", i), "Start.")
	}
	lead := func(to string) { // a link is led elsewhere
		writeSkill(t, filepath.Join(away, to), "linked", "From "+to+".")
		must(t, os.Symlink(filepath.Join(away, to), filepath.Join(away, "next")))
		must(t, os.Rename(filepath.Join(away, "next"), filepath.Join(root, "linked")))
	}
	r, err := registry.Open(t.Context(), registry.Config{Sources: []source.Source{source.Dir(root, source.DirOptions{})}})
	must(t, err)
	_, err = r.Watch(t.Context(), registry.WatchOptions{})
	must(t, err)
	before := r.Snapshot().Version
	for round := range 100 {
		lead([]string{"one", "two"}[round%2])
		for i := range 20 {
			dir := filepath.Join(root, fmt.Sprint("s", i))
			switch (round + i) % 10 {
			case 0:
				must(t, os.RemoveAll(dir))
				writeSkill(t, dir, fmt.Sprint("s", i), "Made again.")
			case 1:
				must(t, os.Rename(dir, dir+"-moved"))
				must(t, os.Rename(dir+"-moved", dir))
			default:
				writeSkill(t, dir, fmt.Sprint("s", i), fmt.Sprint("Round ", round, "."))
			}
		}
	}
	for i := range 20 {
		writeSkill(t, filepath.Join(root, fmt.Sprint("s", i)), fmt.Sprint("s", i), "End.")
	}
	eventually(t, "the truth", func() bool {
		for i := range 20 {
			if !describes(r, fmt.Sprint("s", i), "End.")() {
				return false
			}
		}
		return describes(r, "linked", "From two.")()
	})
	if n := r.Snapshot().Version - before; n > 12 {
		t.Errorf("%d rebuilds", n)
	}
	must(t, r.Close())
	goleak.VerifyNone(t, leaks, goleak.IgnoreAnyFunction("testing.tRunner"))
	if n := openFiles(t); n > handles {
		t.Errorf("%d handles before, %d after", handles, n)
	}
}

// openFiles counts this process's handles where the system tells.
func openFiles(t *testing.T) int {
	if runtime.GOOS != "linux" {
		return 0
	}
	list, err := os.ReadDir("/proc/self/fd")
	must(t, err)
	return len(list)
}
