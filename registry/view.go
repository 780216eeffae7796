package registry

import (
	"container/list"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io/fs"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/deftskills/deft/internal/limits"
	"github.com/deftskills/deft/skill"
	"github.com/deftskills/deft/source"
)

// Views says how the views of a registry are made. The zero value makes views of the
// registry's own sources.
type Views struct {
	// Env is where path forms start and what project roots of touched packages depend
	// on; a Scope changes its workspace, agent and dialect.
	Env source.Env
	// Forms are path forms of every view.
	Forms []string
	// Paths returns more path forms for one request; nil = none. The same request calls
	// it once, calls without a request each time; an error is that of View and is not kept.
	Paths func(ctx context.Context, c RequestContext) ([]string, error)
	// Data returns skills given in code for one request, under the rules of Paths.
	Data func(ctx context.Context, c RequestContext) ([]source.Definition, error)
	// Reads answers for every path form, before FS and the disk; nil = those. What is
	// missing there is missing.
	Reads fs.FS
	// FS returns the file system that path forms of one request are read from; nil = the
	// local disk. One that returns nil makes View fail with ErrNoFilesystem: the disk is
	// never read in its place.
	FS func(ctx context.Context, c RequestContext) (fs.FS, error)
	// Sources returns what a view searches beside its path forms; nil = the sources of
	// the registry, which then do not follow the scope.
	Sources func(ctx context.Context, s Scope, e source.Env) ([]source.Source, []skill.Diagnostic)
	// Adjust changes the configuration of a view that is made, after its scope; nil =
	// nothing. It must depend on the scope alone.
	Adjust func(s Scope, c *Config)
	// Max is how many views are kept, those in use counted; 0 = 16, less is an error.
	Max int
	// Evicted is told the ID of each view that is forgotten, so that what was made from it
	// can go too; nil = nobody. It must not call the registry.
	Evicted func(id string)
}

// Scope says whose skills a view holds. Empty fields are those of the registry.
type Scope struct {
	Workspace string // absolute
	Agent     string
	Request   RequestContext
	Dialect   skill.Dialect
	Profile   string
}

// View is an isolated set of skills: it finds, counts and ranks nothing of any other
// view. Views of equal sources share what was read. Every View must be closed; it is
// busy until then. Safe for concurrent use.
type View struct {
	c   *core
	r   *Registry // the one that made it
	env source.Env

	once  sync.Once
	child atomic.Pointer[Registry] // of the view's sources and those of its packages; nil = none yet
	// serial tells views with touched packages apart; 0 = it has none.
	serial atomic.Uint64

	mu sync.Mutex // guards what follows; one Touch or turn at a time
	touched
}

// core is what views of one key share.
type core struct {
	key   [32]byte
	ready chan struct{} // closed when reg or err is set
	reg   *Registry
	err   error

	users int           // guarded by views.mu
	idle  *list.Element // in views.idle while users is 0
}

// views are the cores of one registry.
type views struct {
	mu     sync.Mutex
	byKey  map[[32]byte]*core
	idle   list.List // of *core, the one used last in front
	closed bool
	serial atomic.Uint64
}

// max returns how many cores are kept.
func (v *Views) max() int {
	if v.Max == 0 {
		return limits.Views
	}
	return v.Max
}

// View returns the view of a scope, made or kept from before. The error is that of the
// host's functions, ErrNoFilesystem, or the context's.
func (r *Registry) View(ctx context.Context, s Scope) (*View, error) {
	e := r.c.Views.Env
	if s.Workspace == "" {
		s.Workspace = r.c.Workspace
	}
	if s.Dialect == "" {
		s.Dialect = r.c.Dialect
	}
	e.Workspace = s.Workspace
	if s.Agent != "" {
		e.Agent = s.Agent
	}
	if s.Dialect != "" {
		e.Format.Dialect = s.Dialect
	}
	got, err := r.resolve(ctx, s.Request)
	if err != nil {
		if err == ErrNoFilesystem {
			return nil, &FilesystemError{Dialect: s.Dialect}
		}
		return nil, fmt.Errorf("view: %w", err)
	}
	sources, diags := r.viewSources(ctx, s, e, got)
	c := r.c
	c.Sources, c.Diagnostics, c.Dialect, c.Workspace = sources, diags, s.Dialect, s.Workspace
	c.Views = Views{Env: e, Reads: got.fsys}
	if r.c.Views.Sources != nil {
		c.Arrivals = nil // the view's sources are made anew, these among them
	}
	if adjust := r.c.Views.Adjust; adjust != nil {
		adjust(s, &c)
	}
	shared, err := r.core(ctx, keyOfView(s, e, c), c)
	if err != nil {
		return nil, err
	}
	return &View{c: shared, r: r, env: e}, nil
}

// Own returns a view of the registry's own skills. It costs nothing until a package is
// touched, and follows what the registry finds. It must be closed.
func (r *Registry) Own() *View {
	return &View{c: &core{reg: r, users: 1}, r: r, env: r.c.Views.Env}
}

// viewSources makes the sources of a view: what the request says, then what the host
// gives.
func (r *Registry) viewSources(ctx context.Context, s Scope, e source.Env, got resolved) ([]source.Source, []skill.Diagnostic) {
	v := &r.c.Views
	var out []source.Source
	var diags []skill.Diagnostic
	if len(got.data) > 0 {
		out = append(out, source.Data(got.data, source.DataOptions{Info: source.Info{ID: "data:request"}, Format: e.Format}))
	}
	forms := slices.Concat(v.Forms, got.paths)
	expand := func() ([]source.Source, []skill.Diagnostic) { return source.Expand(ctx, forms, e) }
	if got.fsys != nil {
		expand = func() ([]source.Source, []skill.Diagnostic) { return source.ExpandFS(ctx, got.fsys, forms, e) }
	}
	more, found := expand()
	out, diags = append(out, more...), append(diags, found...)
	if v.Sources == nil {
		more, found = r.c.Sources, r.c.Diagnostics
	} else {
		more, found = v.Sources(ctx, s, e)
	}
	seen := map[string]bool{}
	for _, src := range out {
		seen[src.Info().ID] = true
	}
	for _, src := range more { // a path that is named twice counts once, at its first place
		if id := src.Info().ID; !seen[id] {
			seen[id] = true
			out = append(out, src)
		}
	}
	return out, append(diags, found...)
}

// keyOfView digests all that a view depends on. No text that a caller chose as a name
// for the request is part of it.
func keyOfView(s Scope, e source.Env, c Config) [32]byte {
	ids := make([][32]byte, len(c.Sources))
	for i, src := range c.Sources {
		ids[i] = source.Identity(src)
	}
	if s.Dialect == skill.Mastra { // a set there
		slices.SortFunc(ids, func(a, b [32]byte) int { return slices.Compare(a[:], b[:]) })
		ids = slices.Compact(ids)
	}
	j, _ := json.Marshal(struct { // plain texts and numbers
		Workspace, Agent, Dialect, Profile string
		QuietCopies                        bool
		Found                              []skill.Diagnostic
		Sources                            [][32]byte
	}{s.Workspace, e.Agent, string(s.Dialect), s.Profile, c.QuietCopies, c.Diagnostics, ids})
	return sha256.Sum256(j)
}

// core returns the shared part of a key, in use by one more. Callers that need the same
// one at once share its making; a failure is not kept.
func (r *Registry) core(ctx context.Context, key [32]byte, c Config) (*core, error) {
	vs := &r.views
	for {
		vs.mu.Lock()
		if vs.closed {
			vs.mu.Unlock()
			return nil, errClosed
		}
		shared, ok := vs.byKey[key]
		if !ok {
			shared = &core{key: key, ready: make(chan struct{})}
			if vs.byKey == nil {
				vs.byKey = map[[32]byte]*core{}
			}
			vs.byKey[key] = shared
		}
		shared.users++
		if shared.idle != nil {
			vs.idle.Remove(shared.idle)
			shared.idle = nil
		}
		vs.mu.Unlock()
		if !ok {
			shared.reg, shared.err = Open(ctx, c)
			if shared.err != nil {
				vs.mu.Lock()
				delete(vs.byKey, key)
				vs.mu.Unlock()
			}
			close(shared.ready)
			r.evict()
			return shared, shared.err
		}
		select {
		case <-shared.ready:
			if shared.err == nil {
				return shared, nil
			} // the one that made it had left, or failed: once more
		case <-ctx.Done():
			r.release(shared)
			return nil, ctx.Err()
		}
	}
}

// release ends one use of a core.
func (r *Registry) release(c *core) {
	vs := &r.views
	vs.mu.Lock()
	if c.users--; c.users == 0 && vs.byKey[c.key] == c {
		c.idle = vs.idle.PushFront(c)
	}
	vs.mu.Unlock()
	r.evict()
}

// evict forgets idle cores, the one that was used longest ago first, until no more than
// allowed are kept. Busy ones stay.
func (r *Registry) evict() {
	vs := &r.views
	var gone []*core
	vs.mu.Lock()
	for (len(vs.byKey) > r.c.Views.max() || vs.closed) && vs.idle.Len() > 0 {
		c := vs.idle.Remove(vs.idle.Back()).(*core)
		delete(vs.byKey, c.key)
		gone = append(gone, c)
	}
	vs.mu.Unlock()
	for _, c := range gone {
		if c.reg != nil {
			_ = c.reg.Close() // it has no error to tell
		}
		if tell := r.c.Views.Evicted; tell != nil {
			tell(c.id())
		}
	}
}

// closeViews forgets the views that nobody uses, and each of the others when it is closed.
func (r *Registry) closeViews() {
	r.views.mu.Lock()
	r.views.closed = true
	r.views.mu.Unlock()
	r.evict()
}

func (c *core) id() string { return hex.EncodeToString(c.key[:12]) }

// ID names the view's skills among those of the registry's views: 24 hex digits, equal
// for views that share everything; a view with touched packages has one of its own. That
// of the registry's own skills is "" before.
func (v *View) ID() string {
	id := ""
	if v.c.reg != v.r {
		id = v.c.id()
	}
	if n := v.serial.Load(); n != 0 {
		id = fmt.Sprintf("%s.%d", id, n)
	}
	return id
}

// registry is the view's own: that of its touched packages once there are some.
func (v *View) registry() *Registry {
	if child := v.child.Load(); child != nil {
		return child
	}
	return v.c.reg
}

// Snapshot returns the view's skills. It is never nil.
func (v *View) Snapshot() *Snapshot { return v.registry().Snapshot() }

// Refresh looks at every place of the view again; see Registry.Refresh.
func (v *View) Refresh(ctx context.Context, o RefreshOptions) (*Snapshot, error) {
	for {
		r := v.registry()
		snap, err := r.Refresh(ctx, o)
		if err == nil || v.registry() == r {
			return snap, err
		} // a Touch closed it meanwhile
	}
}

// Registry returns what holds the view's skills, for watching and subscribing. It is
// shared with other views and closed by the one that made the view. Skills of touched
// packages are in Snapshot alone.
func (v *View) Registry() *Registry { return v.c.reg }

// Close ends the use of the view. Its Snapshot stays readable. It may be called twice.
func (v *View) Close() {
	v.once.Do(func() {
		v.mu.Lock()
		if child := v.child.Load(); child != nil {
			_ = child.Close() // it has no error to tell
			if tell := v.r.c.Views.Evicted; tell != nil {
				tell(v.ID())
			}
		}
		v.mu.Unlock()
		v.r.release(v.c)
	})
}
