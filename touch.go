package deft

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"github.com/deftskills/deft/agent"
	"github.com/deftskills/deft/registry"
	"github.com/deftskills/deft/session"
	"github.com/deftskills/deft/source"
	"github.com/deftskills/deft/toolset"
)

// work is what a session works on: the files that its newest turn touched. The skills of
// their packages join the session's own view at the turn after.
type work struct {
	view  *registry.View
	env   source.Env
	inner *session.Session   // set before the first turn
	lent  bool               // the view is another session's
	runs  *runs              // runs what its skills want to have run
	spill *spill             // keeps what is too long for the model
	place place              // where its tools run
	todo  *toolset.Todo      // what the model means to do
	kinds []agent.Definition // of sub-agents that the session may run; nil = the built-in ones
	depth int                // how many sub-agents it lies below
	notes toolset.Memories   // that outlive the session where the host keeps them

	mu   sync.Mutex
	now  []string // touched since the last turn began
	last []string // by the turns before, the newest that touched any
}

// maxTouched bounds how many files of one turn are remembered: the packages of a thousand
// files are more than a session takes anyway.
const maxTouched = 1000

// newWork is what a session begins with; a sub-agent's looks at the view of its caller.
func (e *Engine) newWork(up *upper) (*work, error) {
	w := &work{env: source.Env{Workspace: e.o.Workspace}, lent: up.nested(), todo: &toolset.Todo{}}
	w.runs = &runs{e: e, w: w}
	var err error
	if w.spill, err = newSpill(e.o.Commands.TempRoot, e.o.Rand); err != nil {
		return nil, err
	}
	switch {
	case w.lent:
		w.view, w.notes = up.of.work.view, up.of.work.notes
		return w, nil
	case e.o.Memories != nil:
		w.notes = e.o.Memories
	default:
		w.notes = toolset.NewMemories()
	}
	w.view = e.registry.Own()
	return w, nil
}

// close lets go of what the session has beside its layers.
func (w *work) close() error {
	if !w.lent {
		w.view.Close()
	}
	if w.spill == nil {
		return nil
	}
	return w.spill.close()
}

func (w *work) touch(paths ...string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, p := range paths {
		if !slices.Contains(w.now, p) && len(w.now) < maxTouched {
			w.now = append(w.now, p)
		}
	}
}

// touched are the files that the next turn goes on with; restore gives them to another
// process.
func (w *work) touched() []string {
	w.mu.Lock()
	defer w.mu.Unlock()
	if len(w.now) > 0 {
		return slices.Clone(w.now)
	}
	return slices.Clone(w.last)
}

func (w *work) restore(files []string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.last = files[:min(len(files), maxTouched)]
}

// Snapshot implements session.Snapshots: a turn that touched nothing goes on where the
// one before it worked.
func (w *work) Snapshot() *registry.Snapshot {
	w.mu.Lock()
	if len(w.now) > 0 {
		w.last, w.now = w.now, nil
	}
	files := w.last
	w.mu.Unlock()
	s, err := w.view.ForTurn(context.Background(), files...)
	if err != nil { // the packages cannot be looked at now: what is known holds
		return w.view.Snapshot()
	}
	return s
}

// maxNamed bounds how many words of a request are looked at as paths.
const maxNamed = 200

// named notes the files that a request names: words with a separator that exist below
// the workspace.
func (w *work) named(text string) {
	for i, word := range strings.Fields(text) {
		if i == maxNamed {
			return
		}
		word = strings.Trim(word, "`'\"()[]{}<>,;:!?")
		word = strings.TrimRight(word, ".")
		if strings.HasPrefix(word, "/") || !strings.ContainsAny(word, `/\`) {
			continue // /name starts a skill
		}
		rel, ok := source.Below(w.env, filepath.ToSlash(word))
		if !ok {
			continue
		}
		if _, err := os.Lstat(filepath.Join(w.env.Workspace, filepath.FromSlash(rel))); err == nil {
			w.touch(rel)
		}
	}
}

// Touch says that files of the workspace were read or written by other means than deft's
// own tools, which say so themselves: the skills of their packages, folders below the
// workspace that have skills of their own, count from the session's next turn on, and
// skills whose path conditions match from now on. Paths are absolute or relative to the
// workspace; others are ignored.
func (s *Session) Touch(paths ...string) {
	s.work.touch(paths...)
	s.inner.Touch(paths...)
}

// Snapshot returns the skills as the session's newest turn sees them: the engine's, and
// those of the packages that it touched.
func (s *Session) Snapshot() *registry.Snapshot { return s.work.view.Snapshot() }
