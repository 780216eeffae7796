package mcpskills

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/deftskills/deft/internal/safetext"
	"github.com/deftskills/deft/toolset"
)

// A server that could not be had is not asked again at once: the pause doubles with each
// failure, so that a dead one does not cost every turn ten seconds.
const (
	firstPause = 30 * time.Second
	lastPause  = 10 * time.Minute
)

// provider is one server. It implements toolset.Provider.
type provider struct {
	h *Host
	s Server

	mu       sync.Mutex // guards what follows
	live     *link
	flight   *flight // connecting or listing now
	tools    []*tool
	marks    map[string]string // of each tool that was ever listed, by its name here
	told     map[string]bool   // findings about single tools
	stale    bool              // the server says that its list is another
	asked    bool
	failed   error
	failures int
	again    time.Time // not before
	changes  int

	ending sync.WaitGroup // of connections that were lost

	calls  int // numbers progress tokens
	timers map[string]func()
}

// flight is one attempt, shared by all who wait for it.
type flight struct {
	done   chan struct{}
	cancel context.CancelCauseFunc
}

// link is one connection.
type link struct {
	session *mcp.ClientSession
	child   *child // nil = it is remote
	gone    chan struct{}
	why     error // set before gone is closed
}

// end ends the connection, and the process with all that it started, and waits for that.
func (l *link) end() {
	if l.child != nil {
		l.child.stop()
	}
	if l.session != nil {
		go func() { _ = l.session.Close() }() // may wait for a person's answer that nobody needs
	}
}

func newProvider(h *Host, s Server) *provider {
	return &provider{h: h, s: s, marks: map[string]string{}, told: map[string]bool{}, timers: map[string]func(){}}
}

// Name implements toolset.Provider.
func (p *provider) Name() string { return p.s.Name }

// Provide implements toolset.Provider.
func (p *provider) Provide(ctx context.Context) toolset.Provided {
	f := p.begin()
	if f != nil {
		select {
		case <-f.done:
		case <-ctx.Done():
			return toolset.Provided{Away: p.away(ctx.Err())}
		}
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.live == nil {
		return toolset.Provided{Away: p.away(p.failed)}
	}
	out := toolset.Provided{Tools: make([]toolset.Tool, 0, len(p.tools))}
	for _, t := range p.tools {
		out.Tools = append(out.Tools, t)
	}
	return out
}

func (p *provider) away(why error) string {
	return fmt.Sprintf("The tools of the MCP server %q are away (%s): %s", p.s.Name, codeUnavailable, reason(why))
}

// reason is one line of an error, which may hold a stranger's words.
func reason(err error) string {
	if err == nil {
		return "it has not been reached"
	}
	text, _ := safetext.Field(err.Error())
	return safetext.Clip(text, 300)
}

// begin returns the attempt to wait for, nil where there is none: what is there is good, or
// it is too early to ask again.
func (p *provider) begin() *flight {
	p.mu.Lock()
	defer p.mu.Unlock()
	switch {
	case p.flight != nil:
		return p.flight
	case p.h.isClosed(): // asked under mu: close waits for every attempt that began before
		return nil
	case p.live != nil && !p.stale:
		return nil
	case p.live == nil && p.failed != nil && p.h.o.Now().Before(p.again):
		return nil
	}
	late := fmt.Errorf("it did not answer within %s", initTime)
	limited, stop := context.WithTimeoutCause(context.Background(), initTime, late)
	ctx, cancel := context.WithCancelCause(limited)
	f := &flight{make(chan struct{}), cancel}
	p.flight, p.asked, p.stale = f, true, false
	on := p.live
	go func() { // ends within initTime and the end of a process
		defer close(f.done)
		defer stop()
		p.attempt(ctx, on)
	}()
	return f
}

// attempt connects, unless there is a connection, and lists the tools.
func (p *provider) attempt(ctx context.Context, on *link) {
	var err error
	if on == nil {
		on, err = p.connect(ctx, false)
	}
	var list []*mcp.Tool
	cut := ""
	if err == nil {
		list, cut, err = on.list(ctx)
	}
	if err != nil && ctx.Err() != nil {
		err = context.Cause(ctx)
	}
	if err != nil && on != nil {
		select {
		case <-on.gone:
			err = on.why
		default:
		}
		on.end()
	}
	p.settle(on, list, cut, err)
}

// settle notes how an attempt ended.
func (p *provider) settle(on *link, list []*mcp.Tool, cut string, err error) {
	if closed := p.h.isClosed(); closed && err == nil {
		on.end()
		err = errClosed
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.flight = nil
	p.changes++
	if err != nil {
		p.fail(err)
		return
	}
	if on.isGone() {
		p.ending.Go(on.end)
		p.fail(on.why)
		return
	}
	if cut != "" {
		p.h.report(codeCut, p.s.Name, "the MCP server %q has %s; the rest is left out", p.s.Name, cut)
	}
	p.live, p.failed, p.failures = on, nil, 0
	p.take(list)
}

// fail notes why there is no connection. The caller holds mu.
func (p *provider) fail(err error) {
	p.live, p.failed, p.tools = nil, err, nil
	pause := min(firstPause<<min(p.failures, 10), lastPause)
	p.failures++
	p.again = p.h.o.Now().Add(pause)
	if !errors.Is(err, errClosed) {
		p.h.report(codeUnavailable, p.s.Name, "the MCP server %q cannot be used: %s", p.s.Name, reason(err))
	}
}

// lost notes that a connection ended by itself, and ends what is left of it. What it had is
// asked for again at the next turn, once.
func (p *provider) lost(on *link, why error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.live != on {
		return
	}
	p.ending.Go(on.end)
	p.changes++
	p.fail(why)
	p.again = p.h.o.Now()
}

// changed notes that the list of tools is another.
func (p *provider) changed() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.stale = true
}

// connect starts the server or calls its address, and shakes hands; skills says that it is
// for those that it serves.
func (p *provider) connect(ctx context.Context, skills bool) (*link, error) {
	on := &link{gone: make(chan struct{})}
	var transport mcp.Transport
	if p.s.URL != "" {
		transport = remote(p.s, p.h.o.Transport)
	} else {
		var err error
		if on.child, err = p.h.start(p.s); err != nil {
			return nil, err
		}
		transport = on.child.transport()
	}
	client, err := p.client(skills)
	if err != nil {
		on.end()
		return nil, err
	}
	session, err := client.Connect(ctx, transport, nil)
	if err != nil {
		on.end()
		return nil, on.spoken(err)
	}
	on.session = session
	go func() { // ends with the connection
		on.why = on.spoken(ended(session.Wait()))
		close(on.gone)
		p.lost(on, on.why)
	}()
	return on, nil
}

// spoken adds to an error what the process said last on standard error.
func (l *link) spoken(err error) error {
	if l.child == nil {
		return err
	}
	if said := l.child.said(); said != "" {
		return fmt.Errorf("%w; it said: %s", err, said)
	}
	return err
}

// ended is why a connection that worked is over.
func ended(err error) error {
	if err == nil {
		return errors.New("it ended the connection")
	}
	return fmt.Errorf("the connection broke: %w", err)
}

func (l *link) isGone() bool {
	select {
	case <-l.gone:
		return true
	default:
		return false
	}
}

// client is what speaks to the server. It offers no sampling; roots and questions only
// where they are allowed.
func (p *provider) client(skills bool) (*mcp.Client, error) {
	o := &mcp.ClientOptions{
		Logger:                      p.h.o.Log,
		Capabilities:                &mcp.ClientCapabilities{},
		ToolListChangedHandler:      func(context.Context, *mcp.ToolListChangedRequest) { p.changed() },
		ProgressNotificationHandler: p.progressed,
	}
	if p.h.o.Ask != nil {
		o.ElicitationHandler = p.question
	}
	who := &mcp.Implementation{Name: p.h.o.Name, Version: p.h.o.Version}
	if skills {
		o.Capabilities.AddExtension(extension, nil)
		c := mcp.NewClient(who, o)
		return c, mcp.AddSendingCustomMethod[*listSkills, *listedSkills](c, methodSkills)
	}
	if p.s.Roots {
		return rooted(who, o, p.h.o.Workspace), nil
	}
	return mcp.NewClient(who, o), nil
}

// Bounds of a list: more tools than any host can use.
const (
	maxPages = 100
	maxTools = 500
)

// list reads the server's tools, all pages of them. cut says what was left out, "" for
// nothing.
func (l *link) list(ctx context.Context) (list []*mcp.Tool, cut string, err error) {
	if r := l.session.InitializeResult(); r != nil && r.Capabilities != nil && r.Capabilities.Tools == nil {
		return nil, "", nil
	}
	cursor := ""
	for range maxPages {
		page, err := l.session.ListTools(ctx, &mcp.ListToolsParams{Cursor: cursor})
		if err != nil {
			return nil, "", fmt.Errorf("its tools cannot be listed: %w", err)
		}
		list = append(list, page.Tools...)
		if len(list) > maxTools {
			return list[:maxTools], fmt.Sprintf("more than %d tools", maxTools), nil
		}
		if page.NextCursor == "" || page.NextCursor == cursor {
			return list, "", nil
		}
		cursor = page.NextCursor
	}
	return list, fmt.Sprintf("more than %d pages of tools", maxPages), nil
}

// Knows implements toolset.Provider.
func (p *provider) Knows(name string) bool {
	stem, any := strings.CutSuffix(name, "*")
	own := "mcp__" + p.s.Name + "__"
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.asked {
		return strings.HasPrefix(stem, own) || any && strings.HasPrefix(own, stem)
	}
	return slices.ContainsFunc(p.tools, func(t *tool) bool {
		return t.spec.Name == name || any && strings.HasPrefix(t.spec.Name, stem)
	})
}

// Lost implements toolset.Provider.
func (p *provider) Lost() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.failed != nil
}

// State implements toolset.Provider.
func (p *provider) State() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return strconv.Itoa(p.changes)
}

// close ends the connection, and an attempt at one.
func (p *provider) close() {
	p.mu.Lock()
	f := p.flight
	p.mu.Unlock()
	if f != nil {
		f.cancel(errClosed)
		<-f.done
	}
	p.mu.Lock()
	on := p.live
	p.live, p.failed, p.tools = nil, errClosed, nil
	p.mu.Unlock()
	if on != nil {
		on.end()
	}
	p.ending.Wait()
}
