package mcpskills

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/deftskills/deft/gate"
	"github.com/deftskills/deft/internal/mcptest"
	"github.com/deftskills/deft/skill"
	"github.com/deftskills/deft/toolset"
)

// serveAs makes this program the server that a test starts as a process of its own.
const serveAs = "DEFT_TEST_SERVE"

func TestMain(m *testing.M) {
	if kind := os.Getenv(serveAs); kind != "" {
		if err := mcptest.Serve(kind, os.Args[1:], mcptest.Ends{In: os.Stdin, Out: os.Stdout, Err: os.Stderr}); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// house is a host with one server, and what it reported.
type house struct {
	t    *testing.T
	host *Host
	dir  string

	mu    sync.Mutex
	now   time.Time
	found []skill.Diagnostic
}

// process is the server of a kind as a process.
func process(t *testing.T, kind string, args ...string) Server {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	return Server{Name: "srv", Command: self, Args: args, Env: map[string]string{serveAs: kind}}
}

func newHouse(t *testing.T, s Server, change ...func(*Options)) *house {
	t.Helper()
	h := &house{t: t, dir: t.TempDir(), now: time.Unix(1_700_000_000, 0)}
	o := Options{
		Servers: []Server{s}, Workspace: h.dir, Environ: []string{"PATH=" + os.Getenv("PATH"), "HOME=/nowhere", "API_KEY=sesame"},
		Report: func(d skill.Diagnostic) {
			h.mu.Lock()
			defer h.mu.Unlock()
			h.found = append(h.found, d)
		},
		Now: func() time.Time {
			h.mu.Lock()
			defer h.mu.Unlock()
			return h.now
		},
	}
	for _, c := range change {
		c(&o)
	}
	var err error
	if h.host, err = NewHost(o); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { h.host.Close() })
	return h
}

func (h *house) pass(d time.Duration) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.now = h.now.Add(d)
}

func (h *house) codes() string {
	h.mu.Lock()
	defer h.mu.Unlock()
	var codes []string
	for _, d := range h.found {
		codes = append(codes, d.Code)
	}
	return strings.Join(codes, " ")
}

func (h *house) provider() toolset.Provider { return h.host.Providers()[0] }

// provide is a turn that begins.
func (h *house) provide() map[string]toolset.Tool {
	h.t.Helper()
	got := h.provider().Provide(h.t.Context())
	if got.Away != "" {
		h.t.Fatal(got.Away)
	}
	tools := map[string]toolset.Tool{}
	for _, t := range got.Tools {
		tools[t.Spec().Name] = t
	}
	return tools
}

func (h *house) call(name, args string) toolset.Result {
	h.t.Helper()
	tool := h.provide()["mcp__srv__"+name]
	if tool == nil {
		h.t.Fatalf("no tool %s", name)
	}
	res, err := tool.Call(h.t.Context(), toolset.Call{ID: "1", Input: json.RawMessage(args)})
	if err != nil {
		h.t.Fatal(err)
	}
	return res
}

// over serves the working server over HTTP and counts the requests that bring the header.
func over(t *testing.T) (Server, *atomic.Int64) {
	t.Helper()
	seen := new(atomic.Int64)
	s := mcptest.Good(io.Discard)
	handler := mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return s }, nil)
	web := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Authorization") == "Bearer sesame" {
			seen.Add(1)
		}
		handler.ServeHTTP(w, r)
	}))
	t.Cleanup(func() {
		web.CloseClientConnections()
		web.Close()
	})
	return Server{Name: "srv", URL: web.URL, Headers: map[string]string{"Authorization": "Bearer sesame"}}, seen
}

func TestAToolOfAServerIsCalled(t *testing.T) {
	t.Parallel()
	remote, seen := over(t)
	for name, s := range map[string]Server{"process": process(t, "good"), "http": remote} {
		t.Run(name, func(t *testing.T) {
			h := newHouse(t, s)
			if got := h.call("echo", `{"text":"hello"}`); got.Text != "echo: hello" || got.IsError {
				t.Errorf("got %+v", got)
			}
			if got := h.call("fails", `{}`); !got.IsError || got.Code != "mcp_tool_error" || !strings.Contains(got.Text, "cannot be done") {
				t.Errorf("got %+v", got)
			}
			if got := h.call("echo", `{"text":7}`); !got.IsError {
				t.Errorf("arguments of another type: %+v", got)
			}
			if got := h.codes(); got != "" {
				t.Errorf("findings %s", got)
			}
		})
	}
	if seen.Load() == 0 {
		t.Error("no request had the header")
	}
}

func TestNothingIsStartedBeforeATurnNeedsIt(t *testing.T) {
	t.Parallel()
	pids := filepath.Join(t.TempDir(), "pids")
	h := newHouse(t, process(t, "good", pids))
	p := h.provider()
	if !p.Knows("mcp__srv__anything") || !p.Knows("mcp__srv__*") || p.Knows("mcp__other__x") || p.Knows("read") || p.Lost() {
		t.Error("before it was asked a server may have any tool of its own, and no other")
	}
	if _, err := os.Stat(pids); err == nil {
		t.Error("the server was started")
	}
	h.provide()
	if _, err := os.Stat(pids); err != nil {
		t.Error("the server was not started")
	}
	if p.Knows("mcp__srv__anything") || !p.Knows("mcp__srv__echo") || !p.Knows("mcp__srv__ec*") {
		t.Error("once it was asked a server has what it lists")
	}
}

func TestAProcessIsToldLittle(t *testing.T) {
	t.Parallel()
	h := newHouse(t, process(t, "good"))
	got := h.call("env", `{}`).Text
	dir, err := filepath.EvalSymlinks(h.dir)
	if err != nil {
		t.Fatal(err)
	}
	if !strings.HasPrefix(got, dir+"\n") || !strings.Contains(got, "HOME=/nowhere") || strings.Contains(got, "sesame") {
		t.Errorf("got %s", got)
	}
}

// What a server's settings say of a variable goes before what every process gets.
func TestAServersOwnVariablesWin(t *testing.T) {
	t.Parallel()
	for _, own := range []string{"/a", "/z"} {
		s := process(t, "good")
		s.Env["HOME"] = own
		if got := newHouse(t, s).call("env", `{}`).Text; !strings.Contains(got, "HOME="+own) || strings.Contains(got, "HOME=/nowhere") {
			t.Errorf("%s: %s", own, got)
		}
	}
}

// A header may hold a secret.
func TestNoRedirectLeadsToAnotherHostOrOutOfTLS(t *testing.T) {
	t.Parallel()
	client := remote(Server{Name: "srv", URL: "https://a.example/mcp", Headers: map[string]string{"A": "sesame"}}, nil).(*mcp.StreamableClientTransport).HTTPClient
	sent := ""
	door := client.Transport.(headed)
	door.next = roundTrip(func(r *http.Request) { sent = r.Header.Get("A") })
	for address, same := range map[string]bool{
		"https://a.example/other": true, "http://a.example/mcp": false, "https://b.example/mcp": false, "https://a.example:8443/mcp": false,
	} {
		r := httptest.NewRequest(http.MethodPost, address, nil)
		if err := client.CheckRedirect(r, nil); (err == nil) != same {
			t.Errorf("%s: %v", address, err)
		}
		if _, err := door.RoundTrip(r); err == nil || (sent != "") != same {
			t.Errorf("%s: sent %q, %v", address, sent, err)
		}
	}
}

// roundTrip sees a request and sends nothing.
type roundTrip func(*http.Request)

func (see roundTrip) RoundTrip(r *http.Request) (*http.Response, error) {
	see(r)
	return nil, http.ErrAbortHandler
}

func TestPartsOfAResultAreTold(t *testing.T) {
	t.Parallel()
	h := newHouse(t, process(t, "good"))
	got := h.call("parts", `{}`).Text
	for _, part := range []string{"one\n[image: image/png, 3 bytes, sha256 ", "[link, not opened: link file:///etc/passwd ]", "[resource mem://a]\ninside\n", "[resource mem://b: application/zip, 3 bytes, sha256 "} {
		if !strings.Contains(got, part) {
			t.Errorf("%q is not in\n%s", part, got)
		}
	}
	if got := h.call("big", `{}`); len(got.Text) != 2<<20 {
		t.Errorf("%d bytes", len(got.Text))
	}
}

func TestAServerThatCannotBeHadIsAway(t *testing.T) {
	t.Parallel()
	for kind, why := range map[string]string{"exit": "no licence found", "garbage": "invalid", "none": "not found"} {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			s := process(t, kind)
			if kind == "none" {
				s.Command = "no-such-program-anywhere"
			}
			h := newHouse(t, s)
			got := h.provider().Provide(t.Context())
			if len(got.Tools) > 0 || !strings.Contains(got.Away, why) || !strings.Contains(got.Away, "mcp_server_unavailable") || strings.Contains(got.Away, "\x1b") {
				t.Errorf("away: %q, want %q in it", got.Away, why)
			}
			if !h.provider().Lost() || h.provider().Knows("mcp__srv__echo") {
				t.Error("it is not lost")
			}
			h.provider().Provide(t.Context())
			if got := h.codes(); got != "mcp_server_unavailable" {
				t.Errorf("it is asked again at once: %s", got)
			}
			h.pass(firstPause)
			h.provider().Provide(t.Context())
			if got := h.codes(); got != "mcp_server_unavailable mcp_server_unavailable" {
				t.Errorf("it is never asked again: %s", got)
			}
		})
	}
}

func TestAServerThatNeverAnswersIsGivenUp(t *testing.T) {
	t.Parallel()
	h := newHouse(t, process(t, "hang"))
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if got := h.provider().Provide(ctx); !strings.Contains(got.Away, "canceled") {
		t.Errorf("a turn that ends waits: %+v", got)
	}
	if got := h.provider().Provide(t.Context()); !strings.Contains(got.Away, "did not answer within 10s") {
		t.Errorf("away: %q", got.Away)
	}
}

func TestCloseEndsAnAttempt(t *testing.T) {
	t.Parallel()
	h := newHouse(t, process(t, "hang"))
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	h.provider().Provide(ctx)
	h.host.Close()
	if got := h.provider().Provide(t.Context()); got.Away == "" {
		t.Error("a closed host starts servers")
	}
	if got := h.codes(); got != "" {
		t.Errorf("the attempt went on to its own end: %s", got)
	}
}

func TestAServerThatDiesInMidCallIsStartedOnce(t *testing.T) {
	t.Parallel()
	h := newHouse(t, process(t, "good"))
	got := h.call("die", `{}`)
	if got.Code != "mcp_server_unavailable" || !got.IsError || !strings.Contains(got.Text, "not known") {
		t.Errorf("got %+v", got)
	}
	if got := h.call("echo", `{"text":"again"}`); got.Text != "echo: again" {
		t.Errorf("the next turn has %+v", got)
	}
}

func TestASilentCallEnds(t *testing.T) {
	t.Parallel()
	s := process(t, "good")
	s.Timeout = 50 * time.Millisecond
	h := newHouse(t, s)
	if got := h.call("stuck", `{}`); got.Code != "timeout" {
		t.Errorf("got %+v", got)
	}
	p := h.host.providers[0]
	beats := 0
	p.listen("deft-x", func() { beats++ })
	for _, token := range []any{"deft-x", "deft-y", 7.0} {
		p.progressed(t.Context(), &mcp.ProgressNotificationClientRequest{Params: &mcp.ProgressNotificationParams{ProgressToken: token}})
	}
	if p.listen("deft-x", nil); beats != 1 || len(p.timers) != 0 {
		t.Errorf("%d beats, %d calls", beats, len(p.timers))
	}
	if got := h.call("slow", `{"text":""}`); got.Text != "at last" && got.Code != "timeout" {
		t.Errorf("got %+v", got)
	}
}

func TestACallEndsWithItsTurn(t *testing.T) {
	t.Parallel()
	h := newHouse(t, process(t, "good"))
	tool := h.provide()["mcp__srv__stuck"]
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := tool.Call(ctx, toolset.Call{}); err == nil {
		t.Error("no error")
	}
}

func TestAChangedListCountsAtTheNextTurn(t *testing.T) {
	t.Parallel()
	h := newHouse(t, process(t, "good"))
	state := h.provider().State()
	mark := h.provide()["mcp__srv__echo"].Spec().Mark
	h.call("grow", `{}`)
	h.await(func() bool { return h.provide()["mcp__srv__grown"] != nil })
	if h.provider().State() == state {
		t.Error("the state is what it was")
	}
	h.call("alter", `{}`)
	h.await(func() bool { return h.provide()["mcp__srv__echo"].Spec().Mark != mark })
	if got := h.codes(); got != "mcp_tool_changed" {
		t.Errorf("findings %q", got)
	}
}

// await waits for what a server tells in its own time.
func (h *house) await(there func() bool) {
	h.t.Helper()
	for end := time.Now().Add(time.Minute); !there(); {
		if time.Now().After(end) {
			h.t.Fatal("it never came")
		}
		time.Sleep(time.Millisecond)
	}
}

func TestWhatAHostileServerListsIsBounded(t *testing.T) {
	t.Parallel()
	h := newHouse(t, process(t, "hostile"))
	tools := h.provide()
	for _, gone := range []string{"remote", "large", "array", "deep", ""} {
		if tools["mcp__srv__"+gone] != nil {
			t.Errorf("%q is taken", gone)
		}
	}
	if got := tools["mcp__srv__plain"].Spec().Description; !strings.HasPrefix(got, "first") {
		t.Errorf("of two tools of one name there is %q", got)
	}
	if tools["mcp__srv__a_b"] != nil {
		t.Error("one of two names that are mapped to one has it")
	}
	for _, name := range []string{"bomb", "recursive", "lookahead"} {
		if got := string(tools["mcp__srv__"+name].(*tool).Accepts()); got != shallow {
			t.Errorf("arguments of %s are held against %s", name, got)
		}
	}
	hidden := tools["mcp__srv__hidden"].Spec()
	if text := hidden.Description + string(hidden.Input); strings.ContainsAny(text, "\x1b\u202e\u200b\x07") || strings.Contains(text, "unseen") || len(hidden.Description) > longestAbout+100 {
		t.Errorf("%d bytes: %.300q %s", len(text), text, hidden.Input)
	}
	long := 0
	for name := range tools {
		if strings.Contains(name, "longlong") {
			long++
		}
		if len(name) > 64 {
			t.Errorf("%s is too long", name)
		}
	}
	if long != 2 || len(tools) != 9 {
		t.Errorf("%d long names, %d tools", long, len(tools))
	}
	if _, err := gate.NewTable(gateTools(tools)...); err != nil {
		t.Errorf("the gate: %v", err)
	}
}

func gateTools(tools map[string]toolset.Tool) []gate.Tool {
	var out []gate.Tool
	for name, t := range tools {
		out = append(out, gate.Tool{Name: name, Schema: t.(*tool).Accepts(), Tier: t.Spec().Tier})
	}
	return out
}

func TestALongListIsCut(t *testing.T) {
	t.Parallel()
	h := newHouse(t, process(t, "many"))
	if n := len(h.provide()); n != maxTools {
		t.Errorf("%d tools", n)
	}
	if got := h.codes(); got != "mcp_tools_cut" {
		t.Errorf("findings %q", got)
	}
}

func TestAServerAsksThePerson(t *testing.T) {
	t.Parallel()
	for _, kind := range []string{"good", "older"} {
		var asked []Question
		ask := func(_ context.Context, q Question) (map[string]any, bool, error) {
			asked = append(asked, q)
			return map[string]any{"city": "Bern"}, true, nil
		}
		h := newHouse(t, process(t, kind), func(o *Options) { o.Ask = ask })
		if got := h.call("ask", `{}`); got.Text != "accept Bern" {
			t.Errorf("%s: got %+v", kind, got)
		}
		if got := h.call("secret", `{}`); !strings.HasPrefix(got.Text, "decline") {
			t.Errorf("%s: got %+v", kind, got)
		}
		if len(asked) != 1 || asked[0].Server != "srv" || asked[0].Message != "Where to?" || len(asked[0].Fields) != 1 {
			t.Errorf("%s: asked %+v", kind, asked)
		}
		nobody := newHouse(t, process(t, kind))
		if got := nobody.call("ask", `{}`); !got.IsError {
			t.Errorf("%s: nobody is there: %+v", kind, got)
		}
	}
}

func TestAServerGetsNoModelAndNoRoots(t *testing.T) {
	t.Parallel()
	for _, kind := range []string{"good", "older"} {
		h := newHouse(t, process(t, kind))
		if got := h.call("sample", `{}`); !got.IsError {
			t.Errorf("%s: sampling: %+v", kind, got)
		}
		if got := h.call("roots", `{}`); strings.Contains(got.Text, h.dir) {
			t.Errorf("%s: roots: %+v", kind, got)
		}
		s := process(t, kind)
		s.Roots = true
		h = newHouse(t, s)
		if got := h.call("roots", `{}`).Text; got != "1 file://"+filepath.ToSlash(h.dir) {
			t.Errorf("%s: the workspace is allowed and not told: %s", kind, got)
		}
	}
}

func TestCloseEndsTheProcessAndAllItStarted(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "pids")
	h := newHouse(t, process(t, "good", file))
	h.provide()
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	var pid, below int
	if _, err := fmt.Fscan(bytes.NewReader(data), &pid, &below); err != nil {
		t.Fatal(err)
	}
	h.host.Close()
	if alive(pid) {
		t.Error("the server lives on")
	}
	h.await(func() bool { return !alive(below) })

	stubborn := newHouse(t, process(t, "stubborn"))
	stubborn.provide()
	child := stubborn.host.providers[0].live.child
	stubborn.host.Close()
	if alive(child.cmd.Process.Pid) {
		t.Error("a server that does not want to end lives on")
	}
}
