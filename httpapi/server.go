package httpapi

import (
	"context"
	"crypto/rand"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"sync/atomic"
	"time"

	"github.com/deftskills/deft/store/jobs"
)

// Queue is what events go into; *jobs.Queue is one.
type Queue interface {
	Job(ctx context.Context, id string) (jobs.Job, error)
	Insert(ctx context.Context, f jobs.Firing) (jobs.Receipt, error)
	Depth(ctx context.Context) (jobs.Depth, error)
}

// Check is one thing that must hold before work is sent here.
type Check struct {
	Name string
	Run  func(ctx context.Context) error // bounded by the request
}

// Options says what is served. Queue is required.
type Options struct {
	Queue  Queue
	Checks []Check // of /readyz
	// Token lets programs post signals as "Authorization: Bearer TOKEN"; "" = none may.
	Token string
	// AllowedHosts are names of this server beside those of the loopback interface, without
	// port; AllowedOrigins are whole origins of web pages, such as https://example.org.
	AllowedHosts, AllowedOrigins []string
	Version                      any          // the answer of /v1/version
	Metrics                      http.Handler // is added to /metrics; nil = nothing

	Now  func() time.Time // nil = time.Now
	Rand io.Reader        // nil = crypto/rand
	Log  *slog.Logger     // nil = nothing is logged
}

// Server answers requests. Safe for concurrent use.
type Server struct {
	o        Options
	draining atomic.Bool
	inFlight atomic.Int64
	requests counters
	hooks    buckets // of each job
	strikes  buckets // of each address that failed to prove itself
}

// New returns a Server.
func New(o Options) (*Server, error) {
	if o.Queue == nil {
		return nil, errors.New("http: a queue is required")
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Rand == nil {
		o.Rand = rand.Reader
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	return &Server{
		o: o, hooks: buckets{rate: hookRate, burst: hookBurst}, strikes: buckets{rate: strikeRate, burst: strikeBurst},
	}, nil
}

// Handler serves everything but the figures.
func (s *Server) Handler() http.Handler {
	mux := http.NewServeMux()
	for pattern, h := range map[string]http.HandlerFunc{
		"GET /healthz": s.healthz, "GET /readyz": s.readyz, "GET /v1/version": s.version,
		"POST /v1/hooks/{job}": s.hook, "POST /v1/signals": s.signal,
	} {
		mux.HandleFunc(pattern, h)
	}
	return s.around(mux)
}

// Admin serves the figures, for an address of their own.
func (s *Server) Admin() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /metrics", s.metrics)
	mux.HandleFunc("GET /healthz", s.healthz)
	mux.HandleFunc("GET /readyz", s.readyz)
	return s.around(mux)
}

// Drain makes /readyz say that no more work is to be sent here. Events that still come
// are taken: they are as safe in the queue as any.
func (s *Server) Drain() { s.draining.Store(true) }

// Bounds that an http.Server around Handler should have.
const (
	HeaderTimeout = 5 * time.Second
	IdleTimeout   = 120 * time.Second
	MaxHeader     = 32 << 10
)
