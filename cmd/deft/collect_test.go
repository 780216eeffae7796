//go:build unix

package main

import (
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path"
	"path/filepath"
	"sync"

	"github.com/rogpeppe/go-internal/testscript"
)

// collect starts a receiver of spans and figures, which adds each document as a line to
// otlp/traces and otlp/metrics, and names it to the program.
func collect(ts *testscript.TestScript, neg bool, args []string) {
	want(ts, !neg && len(args) == 0, "collect")
	dir := ts.MkAbs("otlp")
	ts.Check(os.MkdirAll(dir, 0o755))
	var mu sync.Mutex
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		defer mu.Unlock()
		body, err := io.ReadAll(r.Body)
		if err == nil {
			var f *os.File
			if f, err = os.OpenFile(filepath.Join(dir, path.Base(r.URL.Path)), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644); err == nil {
				_, _ = f.Write(append(body, '\n'))
				err = f.Close()
			}
		}
		if err != nil {
			http.Error(w, err.Error(), http.StatusInternalServerError)
		}
	}))
	ts.Defer(s.Close)
	ts.Setenv("OTEL_EXPORTER_OTLP_ENDPOINT", s.URL)
}
