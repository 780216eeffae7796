package modeltest

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"time"
)

// Server is a model server. It is safe for concurrent use.
type Server struct {
	URL string // without a path

	http  *httptest.Server
	mux   *http.ServeMux
	asked chan struct{}
	done  chan struct{}
	once  sync.Once

	mu       sync.Mutex
	steps    []Step
	taken    int
	requests []Request
}

// Request is what a client sent.
type Request struct {
	Path   string
	Header http.Header
	Body   []byte
}

// NewServer starts a server that plays the steps, one a request. After the last it
// answers 400. The caller closes it.
func NewServer(steps ...Step) *Server {
	s := &Server{steps: steps, done: make(chan struct{}), asked: make(chan struct{}, 1)}
	mux := http.NewServeMux()
	mux.HandleFunc("POST /v1/messages", s.play(anthropicFormat))
	mux.HandleFunc("POST /v1/chat/completions", s.play(chatFormat))
	mux.HandleFunc("POST /v1/responses", s.play(responsesFormat))
	mux.HandleFunc("GET /v1/models", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		_, _ = io.WriteString(w, `{"object":"list","data":[{"id":"test-model","object":"model"}]}`)
	})
	s.mux, s.http = mux, httptest.NewServer(mux)
	s.URL = s.http.URL
	return s
}

// ServeHTTP answers as the server does, for a test that puts something before it.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) { s.mux.ServeHTTP(w, r) }

// Anthropic returns the base address for Anthropic's API.
func (s *Server) Anthropic() string { return s.URL + "/" }

// OpenAI returns the base address for both of OpenAI's APIs.
func (s *Server) OpenAI() string { return s.URL + "/v1/" }

// Add appends steps.
func (s *Server) Add(steps ...Step) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.steps = append(s.steps, steps...)
}

// Requests returns what was asked so far, also what was refused.
func (s *Server) Requests() []Request {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]Request(nil), s.requests...)
}

// Asked gives a signal after a request has come in and been recorded. Signals that
// nobody waits for are not kept up.
func (s *Server) Asked() <-chan struct{} { return s.asked }

// Left returns how many steps nobody has asked for.
func (s *Server) Left() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.steps) - s.taken
}

// Close ends hanging answers and stops the server.
func (s *Server) Close() {
	s.once.Do(func() { close(s.done) })
	s.http.Close()
}

// format is one provider's wire format.
type format struct {
	check func(body map[string]any, h http.Header) error
	fault func(status int, message string) any
	play  func(w *stream, model string, step Step)
}

func (s *Server) play(f format) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			return
		}
		s.mu.Lock()
		s.requests = append(s.requests, Request{Path: r.URL.Path, Header: r.Header.Clone(), Body: body})
		s.mu.Unlock()
		select {
		case s.asked <- struct{}{}:
		default:
		}
		var parsed map[string]any
		if err := json.Unmarshal(body, &parsed); err != nil {
			answer(w, http.StatusBadRequest, f.fault(http.StatusBadRequest, "the body is no JSON object"))
			return
		}
		if err := f.check(parsed, r.Header); err != nil {
			status := http.StatusBadRequest
			if err == errNoKey {
				status = http.StatusUnauthorized
			}
			answer(w, status, f.fault(status, err.Error()))
			return
		}
		step, ok := s.next()
		if !ok {
			answer(w, http.StatusBadRequest, f.fault(http.StatusBadRequest, "the script has no further step"))
			return
		}
		s.serve(w, r, f, step, fmt.Sprint(parsed["model"]))
	}
}

func (s *Server) next() (Step, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.taken == len(s.steps) {
		return Step{}, false
	}
	s.taken++
	step := s.steps[s.taken-1]
	step.Calls = append([]Call(nil), step.Calls...)
	for i := range step.Calls {
		if step.Calls[i].ID == "" {
			step.Calls[i].ID = fmt.Sprintf("call_%d_%d", s.taken, i+1)
		}
	}
	return step, true
}

func (s *Server) serve(w http.ResponseWriter, r *http.Request, f format, step Step, model string) {
	wait := func() {
		select {
		case <-r.Context().Done():
		case <-s.done:
		}
	}
	if step.Delay > 0 {
		timer := time.NewTimer(step.Delay)
		defer timer.Stop()
		select {
		case <-timer.C:
		case <-r.Context().Done():
			return
		case <-s.done:
			return
		}
	}
	switch {
	case step.Hang:
		wait()
		panic(http.ErrAbortHandler)
	case step.Status != 0:
		if step.RetryAfter != "" {
			w.Header().Set("Retry-After", step.RetryAfter)
		}
		answer(w, step.Status, f.fault(step.Status, step.Message))
		return
	}
	w.Header().Set("Content-Type", "text/event-stream; charset=utf-8")
	out := &stream{w: w, broken: step.Cut || step.Stall || step.Garbage}
	f.play(out, model, step)
	switch {
	case step.Garbage:
		out.raw("event: message_delta\ndata: {\"choices\":[{]]\n\n")
	case step.Stall:
		wait()
	}
	if step.Cut || step.Stall {
		panic(http.ErrAbortHandler) // the client sees the connection break
	}
}

func answer(w http.ResponseWriter, status int, body any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(body)
}

// stream writes server-sent events. In a broken one the format leaves its end out.
type stream struct {
	w      http.ResponseWriter
	broken bool
}

func (s *stream) raw(text string) {
	_, _ = io.WriteString(s.w, text)
	if f, ok := s.w.(http.Flusher); ok {
		f.Flush()
	}
}

// event sends one event; name "" = data alone.
func (s *stream) event(name string, data any) {
	src, err := json.Marshal(data)
	if err != nil {
		panic(err)
	}
	var b strings.Builder
	if name != "" {
		b.WriteString("event: " + name + "\n")
	}
	b.WriteString("data: " + string(src) + "\n\n")
	s.raw(b.String())
}
