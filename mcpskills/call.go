package mcpskills

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/deftskills/deft/toolset"
)

// Why a call ends before its answer.
var (
	errSilent = errors.New("silent")
	errLong   = errors.New("too long")
)

// Call implements toolset.Tool. What a server does wrong is a Result; its connection that
// breaks in mid-call too: what the call did is then not known, and it is never repeated.
func (t *tool) Call(ctx context.Context, c toolset.Call) (toolset.Result, error) {
	t.p.mu.Lock()
	on := t.p.live
	why := t.p.failed
	t.p.calls++
	token := "deft-" + strconv.Itoa(t.p.calls)
	t.p.mu.Unlock()
	if on == nil {
		return t.refuse(codeUnavailable, "the MCP server %q is away: %s", t.p.s.Name, reason(why)), nil
	}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	silence := t.p.s.timeout()
	quiet := time.AfterFunc(silence, func() { cancel(errSilent) })
	defer quiet.Stop()
	long := time.AfterFunc(longestCall, func() { cancel(errLong) })
	defer long.Stop()
	t.p.listen(token, func() { quiet.Reset(silence) })
	defer t.p.listen(token, nil)
	args := c.Input
	if len(args) == 0 {
		args = []byte("{}")
	}
	res, err := on.session.CallTool(ctx, &mcp.CallToolParams{Meta: mcp.Meta{"progressToken": token}, Name: t.name, Arguments: args})
	if err == nil {
		return t.result(res), nil
	}
	return t.failed(ctx, on, err)
}

// listen has beat called at each progress of a call; nil ends that.
func (p *provider) listen(token string, beat func()) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if beat == nil {
		delete(p.timers, token)
	} else {
		p.timers[token] = beat
	}
}

func (p *provider) progressed(_ context.Context, r *mcp.ProgressNotificationClientRequest) {
	token, _ := r.Params.ProgressToken.(string)
	p.mu.Lock()
	beat := p.timers[token]
	p.mu.Unlock()
	if beat != nil {
		beat()
	}
}

// failed is what a model is told of a call without an answer. The Go error is for the end
// of the caller's context.
func (t *tool) failed(ctx context.Context, on *link, err error) (toolset.Result, error) {
	server := t.p.s.Name
	var wire *jsonrpc.Error
	switch cause := context.Cause(ctx); {
	case cause == errSilent:
		return t.refuse("timeout", "the MCP server %q was silent for %s; what the call did is not known", server, t.p.s.timeout()), nil
	case cause == errLong:
		return t.refuse("timeout", "the call took longer than %s; what it did is not known", longestCall), nil
	case ctx.Err() != nil:
		return toolset.Result{}, ctx.Err()
	case errors.As(err, &wire):
		return t.refuse("mcp_error", "the MCP server %q refused the call: %s", server, reason(err)), nil
	}
	if on.isGone() {
		err = on.why
	}
	// Whatever the words: the connection gave no answer, and the next turn must not find it.
	t.p.lost(on, err)
	return t.refuse(codeUnavailable, "the MCP server %q went away; what the call did is not known: %s", server, reason(err)), nil
}

func (t *tool) refuse(code, format string, args ...any) toolset.Result {
	return toolset.Result{Code: code, IsError: true, Text: fmt.Sprintf(format, args...)}
}
