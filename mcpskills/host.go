package mcpskills

import (
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"slices"
	"sync"
	"time"

	"github.com/deftskills/deft/skill"
	"github.com/deftskills/deft/toolset"
)

// Options is what a Host works with.
type Options struct {
	Servers   []Server // all of them may be started: a person configured or approved each
	Workspace string   // absolute; where processes run that name no folder of their own
	Environ   []string // NAME=value; a process gets the few of them that every one needs
	Name      string   // what servers are told who connects; "" = deft
	Version   string
	// Ask puts a question of a server to a person; nil = nobody is there, and each is
	// declined.
	Ask Asker
	// Report is told what is wrong with a server or one of its tools, once each time it
	// becomes so. It is called by several goroutines; nil = nobody is told.
	Report func(skill.Diagnostic)
	Now    func() time.Time // nil = time.Now
	// Transport reaches servers over HTTP; nil = http.DefaultTransport.
	Transport http.RoundTripper
	Log       *slog.Logger // nil = nothing is logged
}

// Host holds the servers of a program and the connections to them, which all sessions
// share. Safe for concurrent use.
type Host struct {
	o         Options
	providers []*provider

	mu     sync.Mutex
	closed bool
}

// errClosed is why nothing is started any more.
var errClosed = errors.New("the program ends")

// NewHost checks the servers and starts none. It fails for two servers of one name and for
// one that cannot be started.
func NewHost(o Options) (*Host, error) {
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	if o.Name == "" {
		o.Name = "deft"
	}
	h := &Host{o: o}
	for _, s := range o.Servers {
		if err := s.Check(); err != nil {
			return nil, err
		}
		if slices.ContainsFunc(h.providers, func(p *provider) bool { return p.s.Name == s.Name }) {
			return nil, fmt.Errorf("server %q: two have the name", s.Name)
		}
		h.providers = append(h.providers, newProvider(h, s))
	}
	return h, nil
}

// Providers returns the servers in their order.
func (h *Host) Providers() []toolset.Provider {
	out := make([]toolset.Provider, 0, len(h.providers))
	for _, p := range h.providers {
		out = append(out, p)
	}
	return out
}

// Close ends every connection and every process that was started, with all that they
// started, and waits for them: at most a few seconds. Calls in flight fail. It is
// idempotent.
func (h *Host) Close() error {
	h.mu.Lock()
	h.closed = true
	h.mu.Unlock()
	var all sync.WaitGroup
	for _, p := range h.providers {
		all.Go(p.close)
	}
	all.Wait()
	return nil
}

func (h *Host) isClosed() bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.closed
}

// report tells a finding about a server.
func (h *Host) report(code, server, format string, args ...any) {
	if h.o.Report != nil {
		h.o.Report(skill.Finding(code, "mcp:"+server, format, args...))
	}
}
