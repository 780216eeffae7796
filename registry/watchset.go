package registry

import (
	"errors"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/fsnotify/fsnotify"

	"github.com/deftskills/deft/source"
)

// want is what a watched directory is watched for.
type want struct {
	children bool     // names that come and go: a root or a group folder
	skill    bool     // the skill file and its sidecars
	names    []string // these names
}

// beyond says whether x is for something that old was not: such events were passed over.
func (x *want) beyond(old *want) bool {
	return old == nil || (x.children && !old.children) || (x.skill && !old.skill) ||
		slices.ContainsFunc(x.names, func(n string) bool { return !slices.Contains(old.names, n) })
}

// spot is something that is looked at instead of watched.
type spot struct {
	look func() any // comparable
	last any
}

// spareWatches is how many watches there may be beside one for each root, group folder
// and skill.
const spareWatches = 8

// noise is what editors and systems leave beside skills.
var noise = [...]string{".DS_Store", "Thumbs.db", "desktop.ini", "*~", "*.tmp", "*.swp", "*.swx", "*.lock", ".#*", "4913"}

func noisy(name string) bool {
	return slices.ContainsFunc(noise[:], func(pattern string) bool {
		ok, _ := filepath.Match(pattern, name)
		return ok
	})
}

// relevant says whether an event can change what is listed.
func (w *watcher) relevant(e fsnotify.Event) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	gone := e.Has(fsnotify.Remove) || e.Has(fsnotify.Rename)
	if _, mine := w.armed[e.Name]; mine {
		if gone { // what is made there next is another directory
			delete(w.armed, e.Name)
			if e.Has(fsnotify.Rename) {
				_ = w.n.Remove(e.Name) // the watch went along with the directory
			}
			return true
		}
		if e.Has(fsnotify.Chmod) {
			return true
		}
	}
	dir, name := filepath.Split(e.Name)
	x := w.wants[filepath.Clean(dir)]
	switch {
	case x == nil:
		return false
	case slices.Contains(x.names, name), x.skill && skillFile(name):
		return true
	case !x.children || noisy(name):
		return false
	case e.Has(fsnotify.Create):
		st, err := os.Lstat(e.Name)
		return err != nil || !st.Mode().IsRegular() || strings.EqualFold(name, source.SkillFile)
	}
	return gone
}

// skillFile says whether a name in a skill's directory is part of its header.
func skillFile(name string) bool {
	return strings.EqualFold(name, source.SkillFile) || name == "SKILL.config.json" || name == "agents"
}

// trouble takes an error of the system's watcher. After an overflow events are lost:
// every directory is compared again with what is there.
func (w *watcher) trouble(err error) {
	if errors.Is(err, fsnotify.ErrEventOverflow) {
		return // the check that follows looks at every stamp and every inode
	}
	w.degrade("", err)
}

// degrade reports once that something cannot be watched.
func (w *watcher) degrade(dir string, err error) {
	w.mu.Lock()
	first := !w.degraded
	w.degraded, w.why = true, err.Error()
	if dir != "" {
		w.why = dir + ": " + w.why
	}
	w.mu.Unlock()
	if first {
		w.r.report(finding("watch_degraded", dir, "changes are looked for every %s instead of watched: %v", w.o.Poll, err))
	}
}

// arm makes the watches fit what was listed last; more says that some are new, so that
// what happened there before was not seen.
func (w *watcher) arm() (more bool) {
	latest := w.r.latest.Load()
	watched := latest.listings
	if more := w.r.expected.Load(); more != nil {
		watched = append(slices.Clip(watched), more)
	}
	wants, budget := wantsOf(watched)
	ids, absent := make(map[string][2]uint64, len(wants)), map[string]bool{}
	for dir := range wants {
		if id, ok := source.DirID(dir); ok {
			ids[dir] = id
		} else {
			absent[dir] = true // gone since it was listed, and nobody tells of that any more
		}
	}
	more = w.expect(wants, absent)
	a := arming{w: w, budget: budget, count: w.disarm(ids)}
	polled := pollsOf(latest.sources, latest.listings)
	failed := 0
	for dir, id := range ids {
		switch err := a.add(dir, id); {
		case errors.Is(err, errArmed):
		case err == nil:
			more = true
		default:
			if _, there := source.DirID(dir); !there {
				more = true // gone since: the next check knows
				continue
			}
			failed++
			polled[dir] = &spot{look: lookAt(dir, wants[dir])}
		}
	}
	w.keepPolling(polled, failed)
	if failed > 0 {
		w.degrade(a.where, a.trouble)
	}
	w.r.covered.Store(failed == 0)
	return more
}

// expect says what events are about from now on, before anything is watched for it:
// the first event may come at once.
func (w *watcher) expect(wants map[string]*want, absent map[string]bool) (more bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	more = !maps.Equal(absent, w.absent) && len(absent) > 0
	w.absent = absent
	for dir, x := range wants {
		more = more || x.beyond(w.wants[dir])
	}
	w.wants = wants
	return more
}

// disarm drops the watches of directories that are not wanted or are others now, and
// returns how many are left.
func (w *watcher) disarm(ids map[string][2]uint64) int {
	w.mu.Lock()
	defer w.mu.Unlock()
	for dir, id := range w.armed {
		if now, wanted := ids[dir]; !wanted || now != id {
			delete(w.armed, dir)
			_ = w.n.Remove(dir) // one that is gone has no watch any more
		}
	}
	return len(w.armed)
}

var (
	errManyWatches = errors.New("more directories than watches are allowed")
	errNoWatcher   = errors.New("the system has no watcher to give")
	errArmed       = errors.New("watched already")
)

// arming adds watches until the system has no more to give.
type arming struct {
	w             *watcher
	budget, count int
	trouble       error // the first that was no errArmed
	where         string
}

func (a *arming) add(dir string, id [2]uint64) error {
	w := a.w
	w.mu.Lock()
	_, is := w.armed[dir]
	w.mu.Unlock()
	if is {
		return errArmed
	}
	var err error
	switch {
	case w.n == nil:
		err = errNoWatcher
	case a.count >= a.budget:
		err = errManyWatches
	case errors.Is(a.trouble, errFull):
		err = a.trouble // the next one would fail too
	default:
		_ = w.n.Remove(dir) // of a directory that was here before: its late end must not end this one
		err = full(w.n.Add(dir))
	}
	if err != nil {
		if a.trouble == nil {
			a.trouble, a.where = err, dir
		}
		return err
	}
	a.count++
	w.mu.Lock()
	w.armed[dir] = id
	w.mu.Unlock()
	return nil
}

// keepPolling exchanges what is polled; what was polled before keeps what it saw.
func (w *watcher) keepPolling(polled map[string]*spot, failed int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for path, p := range polled {
		if old := w.polled[path]; old != nil {
			p.last = old.last
		} else {
			p.last = p.look()
		}
	}
	w.polled, w.failed = polled, failed
}

// moved looks at what is not watched, and whether anything was decided.
func (w *watcher) moved() bool {
	any := w.r.decidedSince(w.ctx)
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, p := range w.polled {
		if now := p.look(); now != p.last {
			p.last, any = now, true
		}
	}
	return any
}

// wantsOf returns the directories to watch and how many watches that may cost.
func wantsOf(listings []*source.Listing) (wants map[string]*want, budget int) {
	wants = map[string]*want{}
	at := func(dir string) *want {
		x := wants[dir]
		if x == nil {
			x = &want{}
			wants[dir] = x
		}
		return x
	}
	budget = len(listings) + spareWatches
	for _, l := range listings {
		for _, dir := range l.Dirs {
			at(dir).children = true
			budget++
		}
		for _, e := range l.Entries {
			if e.RealDir == "" {
				continue
			}
			budget++
			at(e.RealDir).skill = true
			if e.RealFile != "" {
				x := at(filepath.Dir(e.RealFile))
				x.names = append(x.names, filepath.Base(e.RealFile))
			}
		}
		for _, path := range l.Awaited {
			if dir, name := anchor(path); name != "" {
				x := at(dir)
				x.names = append(x.names, name)
			}
		}
	}
	return wants, budget
}

// anchor returns the nearest directory above path that exists, resolved, and the name
// in it that path waits for.
func anchor(path string) (dir, name string) {
	for {
		dir, name = filepath.Dir(path), filepath.Base(path)
		if dir == path {
			return "", ""
		}
		if real, err := filepath.EvalSymlinks(dir); err == nil {
			if _, ok := source.DirID(real); ok {
				return real, name
			}
		}
		path = dir
	}
}

// pollsOf returns what no watch can see: that a parent of a root was exchanged, and the
// one sidecar that lies below a skill.
func pollsOf(sources []source.Source, listings []*source.Listing) map[string]*spot {
	polled := map[string]*spot{}
	for i, l := range listings {
		if root := sources[i].Info().Path; root != "" && len(l.Dirs) > 0 {
			polled[root] = &spot{look: func() any { id, _ := source.DirID(root); return id }}
		}
		for _, e := range l.Entries {
			if s := e.Stamp.Sidecars; s != nil && s[1] != (source.FileStamp{}) {
				file := filepath.Join(e.RealDir, "agents", "openai.yaml")
				polled[file] = &spot{look: func() any { return seen(file) }}
			}
		}
	}
	return polled
}

// glance is what a look at one file sees.
type glance struct {
	size  int64
	mtime int64
	mode  os.FileMode
}

func seen(path string) glance {
	st, err := os.Lstat(path)
	if err != nil {
		return glance{}
	}
	return glance{st.Size(), st.ModTime().UnixNano(), st.Mode()}
}

// lookAt returns what to compare of a directory that cannot be watched.
func lookAt(dir string, x *want) func() any {
	type sight struct {
		id    [2]uint64
		dir   glance
		files [2]glance
		names glance
	}
	return func() any {
		var s sight
		s.id, _ = source.DirID(dir)
		if x.children || x.skill {
			s.dir = seen(dir)
		}
		if x.skill {
			s.files = [2]glance{seen(filepath.Join(dir, source.SkillFile)), seen(filepath.Join(dir, "SKILL.config.json"))}
		}
		for _, n := range x.names {
			g := seen(filepath.Join(dir, n))
			s.names.size += g.size
			s.names.mtime += g.mtime // a sum is enough: one of them changing changes it
			s.names.mode ^= g.mode
		}
		return s
	}
}
