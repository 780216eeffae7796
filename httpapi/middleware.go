package httpapi

import (
	"encoding/hex"
	"io"
	"net"
	"net/http"
	"runtime/debug"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/deftskills/deft/internal/safetext"
)

const requestID = "X-Request-Id"

// Bounds of requests.
const (
	maxInFlight = 1000
	maxURL      = 8 << 10
	// handlerTime is how long a request may be read and answered.
	handlerTime = 60 * time.Second
)

// seen remembers the status of an answer.
type seen struct {
	http.ResponseWriter
	status int
}

// WriteHeader implements http.ResponseWriter.
func (s *seen) WriteHeader(status int) {
	if s.status == 0 {
		s.status = status
	}
	s.ResponseWriter.WriteHeader(status)
}

// Write implements http.ResponseWriter.
func (s *seen) Write(p []byte) (int, error) {
	if s.status == 0 {
		s.status = http.StatusOK
	}
	return s.ResponseWriter.Write(p)
}

// Unwrap serves http.ResponseController.
func (s *seen) Unwrap() http.ResponseWriter { return s.ResponseWriter }

// around is what every request passes, outermost first.
func (s *Server) around(mux *http.ServeMux) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		began := s.o.Now()
		out := &seen{ResponseWriter: w}
		id := s.newRequestID()
		h := out.Header()
		h.Set(requestID, id)
		h.Set("X-Content-Type-Options", "nosniff")
		h.Set("Cache-Control", "no-store")
		_, route := mux.Handler(r)
		defer func() {
			if fault := recover(); fault != nil {
				s.o.Log.Error("a request panicked", "category", "http", "event", "panic", "request", id, "error", fault, "stack", string(debug.Stack()))
				if out.status == 0 {
					refuse(out, http.StatusInternalServerError, "internal", "")
				}
			}
			s.requests.add(route, out.status)
			path, _ := safetext.Field(r.URL.Path)
			s.o.Log.Info("request", "category", "http", "event", "request", "request", id, "method", r.Method, "path", safetext.Clip(path, 200),
				"status", out.status, "elapsed_ms", s.o.Now().Sub(began).Milliseconds())
		}()
		if s.inFlight.Add(1) > maxInFlight {
			s.inFlight.Add(-1)
			answerProblem(out, problem{Status: http.StatusServiceUnavailable, Code: "busy", retry: 1})
			return
		}
		defer s.inFlight.Add(-1)
		control := http.NewResponseController(w)
		_ = control.SetReadDeadline(time.Now().Add(handlerTime)) // not every writer has deadlines
		_ = control.SetWriteDeadline(time.Now().Add(handlerTime))
		if !s.admitted(out, r) {
			return
		}
		s.route(mux, route, out, r)
	})
}

// admitted checks what is said before the body.
func (s *Server) admitted(w http.ResponseWriter, r *http.Request) bool {
	switch {
	case !s.hostKnown(r.Host):
		refuse(w, http.StatusForbidden, "http_host_refused", "the Host header names no host of this server")
	case !s.originKnown(r):
		refuse(w, http.StatusForbidden, "http_origin_refused", "the Origin header is not one of those that may call")
	case len(r.RequestURI) > maxURL:
		refuse(w, http.StatusRequestURITooLong, "request_uri_too_long", "the address has more than 8192 bytes")
	case r.URL.RawQuery != "":
		name, _, _ := strings.Cut(r.URL.RawQuery, "=")
		answerProblem(w, problem{Status: http.StatusBadRequest, Code: "request_unknown_field", Detail: "there are no query parameters here",
			Errors: []fault{{Parameter: name, Code: "request_unknown_field", Message: "unknown parameter"}}})
	default:
		return true
	}
	return false
}

// hostKnown guards against names that are pointed at this machine by others.
func (s *Server) hostKnown(host string) bool {
	name := host
	if h, _, err := net.SplitHostPort(host); err == nil {
		name = h
	}
	name = strings.ToLower(strings.TrimSuffix(strings.Trim(name, "[]"), "."))
	if ip := net.ParseIP(name); ip != nil && ip.IsLoopback() {
		return true
	}
	return name == "localhost" || slices.ContainsFunc(s.o.AllowedHosts, func(h string) bool { return strings.EqualFold(h, name) })
}

func (s *Server) originKnown(r *http.Request) bool {
	origins := r.Header.Values("Origin")
	return len(origins) == 0 || len(origins) == 1 && slices.Contains(s.o.AllowedOrigins, origins[0])
}

// route answers what no handler is for in the form of every refusal.
func (s *Server) route(mux *http.ServeMux, pattern string, w http.ResponseWriter, r *http.Request) {
	if pattern != "" {
		mux.ServeHTTP(w, r)
		return
	}
	var allowed []string
	for _, method := range []string{http.MethodGet, http.MethodPost} {
		probe := r.Clone(r.Context())
		probe.Method = method
		if _, p := mux.Handler(probe); p != "" {
			allowed = append(allowed, method)
		}
	}
	if len(allowed) > 0 {
		w.Header().Set("Allow", strings.Join(allowed, ", "))
		refuse(w, http.StatusMethodNotAllowed, "request_method", "want "+strings.Join(allowed, " or "))
		return
	}
	refuse(w, http.StatusNotFound, "not_found", "there is nothing at this address")
}

func (s *Server) newRequestID() string {
	var b [12]byte
	if _, err := io.ReadFull(s.o.Rand, b[:]); err != nil {
		return "r_" + strconv.FormatInt(s.o.Now().UnixNano(), 36)
	}
	return "r_" + hex.EncodeToString(b[:])
}
