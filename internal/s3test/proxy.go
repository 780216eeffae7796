package s3test

import (
	"context"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"sync"
	"testing"
)

// Proxy stands between a test and its server.
type Proxy struct {
	url string

	mu     sync.Mutex
	fault  func(w http.ResponseWriter, r *http.Request, next http.Handler)
	served []string
}

// newProxy hands requests on to a server that dial reaches.
func newProxy(t testing.TB, dial func(ctx context.Context) (net.Conn, error)) *Proxy {
	p := &Proxy{}
	transport := &http.Transport{
		DialContext:        func(ctx context.Context, _, _ string) (net.Conn, error) { return dial(ctx) },
		DisableCompression: true,
	}
	silent := slog.NewLogLogger(slog.DiscardHandler, slog.LevelDebug)
	next := &httputil.ReverseProxy{
		Rewrite: func(r *httputil.ProxyRequest) {
			r.Out.URL.Scheme, r.Out.URL.Host = "http", r.In.Host
			r.Out.Host = r.In.Host // it is signed
		},
		Transport: transport,
		// The client's end is the test's business.
		ErrorHandler: func(w http.ResponseWriter, _ *http.Request, _ error) { w.WriteHeader(http.StatusBadGateway) },
		ErrorLog:     silent,
	}
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		p.mu.Lock()
		fault := p.fault
		p.served = append(p.served, r.Method+" "+r.URL.Path)
		p.mu.Unlock()
		if fault != nil {
			fault(w, r, next)
			return
		}
		next.ServeHTTP(w, r)
	}))
	server.Config.ErrorLog = silent
	server.Start()
	t.Cleanup(func() {
		server.CloseClientConnections()
		server.Close()
		transport.CloseIdleConnections()
	})
	p.url = server.URL
	return p
}

// Fail has f answer every request from now on; next is the server. Nil = no fault.
func (p *Proxy) Fail(f func(w http.ResponseWriter, r *http.Request, next http.Handler)) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.fault = f
}

// Served are the requests so far, as METHOD PATH, and begins a new list.
func (p *Proxy) Served() []string {
	p.mu.Lock()
	defer p.mu.Unlock()
	defer func() { p.served = nil }()
	return p.served
}

// Cut reads n bytes of a request's body and ends the connection.
func Cut(w http.ResponseWriter, r *http.Request, n int64) {
	_, _ = io.CopyN(io.Discard, r.Body, n)
	drop(w)
}

// CutAnswer sends the first n bytes of the server's answer, and ends the connection; with
// 0 not even its header is sent.
func CutAnswer(w http.ResponseWriter, r *http.Request, next http.Handler, n int) {
	answer := httptest.NewRecorder()
	next.ServeHTTP(answer, r)
	if n == 0 {
		drop(w)
		return
	}
	for key, values := range answer.Header() {
		w.Header()[key] = values
	}
	w.WriteHeader(answer.Code)
	_, _ = w.Write(answer.Body.Bytes()[:min(n, answer.Body.Len())])
	_ = http.NewResponseController(w).Flush()
	drop(w)
}

// Change answers with other bytes of the same length.
func Change(w http.ResponseWriter, r *http.Request, next http.Handler) {
	answer := httptest.NewRecorder()
	next.ServeHTTP(answer, r)
	for key, values := range answer.Header() {
		w.Header()[key] = values
	}
	w.WriteHeader(answer.Code)
	b := answer.Body.Bytes()
	for i := range b {
		b[i] ^= 1
	}
	_, _ = w.Write(b)
}

// Busy answers as a server does that has too much to do.
func Busy(w http.ResponseWriter) {
	w.Header().Set("Content-Type", "application/xml")
	w.WriteHeader(http.StatusServiceUnavailable)
	_, _ = io.WriteString(w, `<?xml version="1.0"?><Error><Code>SlowDown</Code><Message>Please reduce your request rate.</Message></Error>`)
}

func drop(w http.ResponseWriter) {
	if conn, _, err := http.NewResponseController(w).Hijack(); err == nil {
		_ = conn.Close()
	}
}

func (p *Proxy) endpoint() string { return (&url.URL{Scheme: "http", Host: p.host()}).String() }

func (p *Proxy) host() string { return p.url[len("http://"):] }
