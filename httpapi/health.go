package httpapi

import (
	"context"
	"fmt"
	"net/http"
	"sort"
	"strings"
	"sync"
	"time"
)

// checkTime bounds all checks of one /readyz.
const checkTime = 2 * time.Second

func (s *Server) healthz(w http.ResponseWriter, _ *http.Request) {
	answer(w, http.StatusOK, map[string]string{"status": "ok"})
}

// readiness is the body of /readyz.
type readiness struct {
	Ready  bool        `json:"ready"`
	Checks []checkJSON `json:"checks"`
}

type checkJSON struct {
	Name string `json:"name"`
	OK   bool   `json:"ok"`
}

// readyz says whether work may be sent here. Why a check fails is in the log: anybody may
// ask here.
func (s *Server) readyz(w http.ResponseWriter, r *http.Request) {
	ctx, cancel := context.WithTimeout(r.Context(), checkTime)
	defer cancel()
	out := readiness{Ready: !s.draining.Load(), Checks: []checkJSON{{"draining", !s.draining.Load()}}}
	for _, c := range s.o.Checks {
		err := c.Run(ctx)
		if err != nil {
			s.o.Log.Warn("not ready", "category", "http", "event", "readyz", "check", c.Name, "error", err.Error())
			out.Ready = false
		}
		out.Checks = append(out.Checks, checkJSON{c.Name, err == nil})
	}
	status := http.StatusOK
	if !out.Ready {
		status = http.StatusServiceUnavailable
	}
	answer(w, status, out)
}

func (s *Server) version(w http.ResponseWriter, _ *http.Request) {
	answer(w, http.StatusOK, s.o.Version)
}

// metrics writes the figures in the text form that scrapers read.
func (s *Server) metrics(w http.ResponseWriter, r *http.Request) {
	var out strings.Builder
	gauge := func(name, help string, v float64) {
		fmt.Fprintf(&out, "# HELP %s %s\n# TYPE %s gauge\n%s %g\n", name, help, name, name, v)
	}
	ctx, cancel := context.WithTimeout(r.Context(), checkTime)
	defer cancel()
	d, err := s.o.Queue.Depth(ctx)
	up := 1.0
	if err != nil {
		up = 0
		s.o.Log.Warn("the queue was not counted", "category", "http", "event", "metrics", "error", err.Error())
	}
	gauge("deft_store_up", "Whether the database answers.", up)
	if err == nil {
		gauge("deft_queue_depth", "Firings that wait, in all processes.", float64(d.Queued))
		gauge("deft_queue_running", "Firings that run, in all processes.", float64(d.Running))
		gauge("deft_queue_oldest_seconds", "How long the oldest waiting firing waits.", d.Oldest.Seconds())
	}
	gauge("deft_http_inflight", "Requests under way.", float64(s.inFlight.Load()))
	s.requests.write(&out)
	w.Header().Set("Content-Type", "text/plain; version=0.0.4; charset=utf-8")
	_, _ = w.Write([]byte(out.String()))
	if s.o.Metrics != nil {
		s.o.Metrics.ServeHTTP(body{w}, r)
	}
}

// body is a writer whose header is written already.
type body struct{ http.ResponseWriter }

// WriteHeader implements http.ResponseWriter: the answer has begun.
func (body) WriteHeader(int) {}

// Header implements http.ResponseWriter.
func (body) Header() http.Header { return http.Header{} }

// counters counts answers by route and status.
type counters struct {
	mu  sync.Mutex
	all map[string]int64
}

func (c *counters) add(route string, status int) {
	if route == "" {
		route = "none"
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.all == nil {
		c.all = map[string]int64{}
	}
	c.all[fmt.Sprintf("route=%q,status=\"%d\"", route, status)]++
}

func (c *counters) write(out *strings.Builder) {
	c.mu.Lock()
	defer c.mu.Unlock()
	labels := make([]string, 0, len(c.all))
	for l := range c.all {
		labels = append(labels, l)
	}
	sort.Strings(labels)
	out.WriteString("# HELP deft_http_requests_total Answered requests.\n# TYPE deft_http_requests_total counter\n")
	for _, l := range labels {
		fmt.Fprintf(out, "deft_http_requests_total{%s} %d\n", l, c.all[l])
	}
}
