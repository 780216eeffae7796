package registry

import (
	"context"
	"sync"
	"time"

	"github.com/fsnotify/fsnotify"

	"github.com/deftskills/deft/source"
)

// The pace of a watcher. A save is a handful of events within a few milliseconds; a
// person waits for nothing that takes less than a second.
const (
	defaultDebounce = 200 * time.Millisecond
	defaultMaxWait  = time.Second
	defaultPoll     = 5 * time.Second
)

// WatchOptions configures watching; zero fields mean the defaults.
type WatchOptions struct {
	Debounce time.Duration // how long it must be quiet before a check; 200 ms
	MaxWait  time.Duration // from the first event to a check at most; 1 s
	Poll     time.Duration // between looks at what cannot be watched; 5 s

	notifier func() (notifier, error) // tests; nil = the system's
}

// WatchStatus says how changes are noticed.
type WatchStatus struct {
	Mode    string // "off", "events", or "polling" where some or all places cannot be watched
	Watches int    // directories that the system reports about
	Polled  int    // places that are looked at every few seconds
	Why     string // what could not be watched and why; "" with mode events
}

// notifier is what a watcher needs from the system.
type notifier interface {
	Add(dir string) error
	Remove(dir string) error
	Events() <-chan fsnotify.Event
	Errors() <-chan error
	Close() error
}

type systemNotifier struct{ *fsnotify.Watcher }

func (n systemNotifier) Events() <-chan fsnotify.Event { return n.Watcher.Events }
func (n systemNotifier) Errors() <-chan error          { return n.Watcher.Errors }

func newSystemNotifier() (notifier, error) {
	w, err := fsnotify.NewWatcher()
	if err != nil {
		return nil, err
	}
	return systemNotifier{w}, nil
}

// watcher turns what the system says of directories into checks. Its loop is one
// goroutine; a check runs beside it, never two at once.
type watcher struct {
	r     *Registry
	o     WatchOptions
	n     notifier // nil: everything is polled
	users int      // guarded by Registry.mu

	ctx    context.Context
	cancel context.CancelFunc
	ready  chan struct{} // closed when everything that is there is watched
	done   chan struct{}
	poke   chan string // reasons of things noticed elsewhere
	stops  []func()    // of sources that notice themselves

	mu       sync.Mutex // guards what follows
	wants    map[string]*want
	absent   map[string]bool      // wanted and not there when that was looked at
	armed    map[string][2]uint64 // watched directories and which inode that was
	polled   map[string]*spot     // of what cannot be watched
	failed   int                  // how many of them should be
	degraded bool
	why      string // of the last time
}

// Watch notices changes of the disk and refreshes when it has been quiet for a moment:
// new, changed and removed skills, roots that appear, links that lead elsewhere. It
// watches roots, group folders and the skills' own directories, nothing below a
// skill. What cannot be watched is reported once as watch_degraded and looked at
// every few seconds. Watch returns when everything that is there is watched and has
// been checked; it makes no Change by itself. A second call shares the watcher of the
// first, whose options count. stop ends it, as Close does, and returns when its
// handles are free; ctx bounds this call only.
func (r *Registry) Watch(ctx context.Context, o WatchOptions) (stop func(), err error) {
	r.mu.Lock()
	if r.closed {
		r.mu.Unlock()
		return nil, errClosed
	}
	w := r.watcher
	if w == nil {
		w = newWatcher(r, o)
		r.watcher = w
		go w.run() // ends with close, which Close waits for
	}
	w.users++
	r.mu.Unlock()
	stop = sync.OnceFunc(func() { r.unwatch(w) })
	select {
	case <-w.ready:
		return stop, nil
	case <-ctx.Done():
		stop()
		return nil, ctx.Err()
	}
}

// WatchStatus says how changes are noticed now.
func (r *Registry) WatchStatus() WatchStatus {
	r.mu.Lock()
	w := r.watcher
	r.mu.Unlock()
	if w == nil {
		return WatchStatus{Mode: "off"}
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	s := WatchStatus{Mode: "events", Watches: len(w.armed), Polled: len(w.polled)}
	if w.failed > 0 {
		s.Mode, s.Why = "polling", w.why
	}
	return s
}

func (r *Registry) unwatch(w *watcher) {
	r.mu.Lock()
	w.users--
	last := w.users == 0 && r.watcher == w
	if last {
		r.watcher = nil
	}
	r.mu.Unlock()
	if last {
		w.close()
	}
}

func newWatcher(r *Registry, o WatchOptions) *watcher {
	for _, d := range [...]struct {
		at    *time.Duration
		value time.Duration
	}{{&o.Debounce, defaultDebounce}, {&o.MaxWait, defaultMaxWait}, {&o.Poll, defaultPoll}} {
		if *d.at <= 0 {
			*d.at = d.value
		}
	}
	if o.notifier == nil {
		o.notifier = newSystemNotifier
	}
	w := &watcher{
		r: r, o: o, ready: make(chan struct{}), done: make(chan struct{}), poke: make(chan string, 1),
		wants: map[string]*want{}, armed: map[string][2]uint64{}, polled: map[string]*spot{},
	}
	w.ctx, w.cancel = context.WithCancel(r.life)
	return w
}

// close ends the watcher and waits until its handles are free.
func (w *watcher) close() {
	w.cancel()
	<-w.done
}

func (w *watcher) run() {
	defer close(w.done)
	defer w.r.covered.Store(false)
	defer w.cancel()
	n, err := w.o.notifier()
	if err != nil {
		w.degrade("", err)
	} else {
		w.n = n
		defer n.Close()
	}
	w.listen()
	w.loop()
	for _, stop := range w.stops {
		stop()
	}
}

// listen asks the sources that notice changes themselves.
func (w *watcher) listen() {
	for _, s := range w.r.Sources() {
		s, ok := s.(source.Watchable)
		if !ok {
			continue
		}
		stop, err := s.Watch(w.ctx, func(source.Event) { w.notice("watch") })
		if err != nil {
			w.degrade("", err)
			continue
		}
		w.stops = append(w.stops, stop)
	}
}

// notice says that something may have changed, without waiting.
func (w *watcher) notice(reason string) {
	select {
	case w.poke <- reason:
	default: // one is waiting already
	}
}

// pace decides when a check begins: when it has been quiet for a moment, or when
// somebody has waited long enough, and never while another one runs.
type pace struct {
	w            *watcher
	checked      chan struct{} // hears of the end of each check
	quiet, limit *time.Timer   // since the last event, since the first
	gathering    bool
	busy, due    bool // a check is in flight; another one must follow
	reason       string
}

func (p *pace) noticed(why string) {
	if !p.gathering {
		p.gathering, p.reason = true, why
		p.limit.Reset(p.w.o.MaxWait)
	}
	p.quiet.Reset(p.w.o.Debounce)
}

func (p *pace) fire() {
	p.quiet.Stop()
	p.limit.Stop()
	p.gathering = false
	if p.due = p.busy; !p.busy {
		p.start()
	}
}

func (p *pace) start() {
	p.busy, p.due = true, false
	go p.w.check(p.reason, p.checked)
}

func (p *pace) ended() {
	if p.busy = false; p.due {
		p.start()
	}
}

// loop takes what happens until the watcher is closed.
func (w *watcher) loop() {
	var events <-chan fsnotify.Event
	var errs <-chan error
	if w.n != nil {
		events, errs = w.n.Events(), w.n.Errors()
	}
	p := &pace{w: w, checked: make(chan struct{}, 1), quiet: stopped(), limit: stopped(), reason: "watch"}
	defer p.quiet.Stop()
	defer p.limit.Stop()
	poll := time.NewTicker(w.o.Poll)
	defer poll.Stop()
	p.start() // watches what is there
	for {
		select {
		case e, open := <-events:
			if !open {
				events = nil
			} else if w.relevant(e) {
				p.noticed("watch")
			}
		case err, open := <-errs:
			if !open {
				errs = nil
			} else {
				w.trouble(err)
				p.noticed("watch")
			}
		case why := <-w.poke:
			p.noticed(why)
		case <-poll.C:
			if w.moved() {
				p.noticed("poll")
			}
		case <-p.quiet.C:
			p.fire()
		case <-p.limit.C:
			p.fire()
		case <-p.checked:
			p.ended()
		case <-w.ctx.Done():
			if p.busy {
				<-p.checked
			}
			return
		}
	}
}

// stopped returns a timer that is not running.
func stopped() *time.Timer {
	t := time.NewTimer(time.Hour)
	t.Stop()
	return t
}

// checkRounds bounds how often one check looks again because it has begun to watch
// places that may have changed before.
const checkRounds = 4

// check refreshes and watches what there is then. Directories that are watched for
// the first time may have changed in between: they are looked at once more.
func (w *watcher) check(reason string, checked chan<- struct{}) {
	defer func() { checked <- struct{}{} }()
	for round := range checkRounds {
		_, err := w.r.Refresh(w.ctx, RefreshOptions{After: true, reason: reason})
		if w.ctx.Err() != nil {
			return
		}
		if err != nil {
			w.r.report(finding("refresh_failed", "", "skills could not be checked for changes: %v", err))
		}
		if more := w.arm(); !more {
			break
		} else if round == checkRounds-1 {
			w.notice(reason)
		}
	}
	select {
	case <-w.ready:
	default:
		close(w.ready)
	}
}
