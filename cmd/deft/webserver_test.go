package main

import (
	"encoding/pem"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"

	"github.com/rogpeppe/go-internal/testscript"
)

// web serves the files below a folder over https and writes the settings with which deft
// may reach it, and what repositories serves. It sets $WEB to host:port. Further arguments
// are lines of the settings.
func web(ts *testscript.TestScript, neg bool, args []string) {
	want(ts, !neg && len(args) >= 1, "web DIR [SETTING…]")
	server := httptest.NewTLSServer(http.FileServer(http.Dir(ts.MkAbs(args[0]))))
	ts.Defer(server.Close)
	ts.Setenv("WEB", strings.TrimPrefix(server.URL, "https://"))
	believe(ts, server, args[1:]...)
}

// settle writes the settings again, with other lines at the end.
func settle(ts *testscript.TestScript, neg bool, args []string) {
	want(ts, !neg, "settle [SETTING…]")
	believe(ts, nil, args...)
}

// believe has deft reach the story's servers: their certificate is one and the same.
func believe(ts *testscript.TestScript, server *httptest.Server, more ...string) {
	home := ts.Getenv("HOME")
	ca := filepath.Join(home, "ca.pem")
	if server != nil {
		ts.Check(os.WriteFile(ca, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw}), 0o600))
	}
	var hosts []string
	for _, name := range []string{"REPOS", "WEB"} {
		if v := strings.TrimPrefix(ts.Getenv(name), "https://"); v != "" {
			hosts = append(hosts, `"`+v+`"`)
		}
	}
	dir := filepath.Join(home, ".config", "deft")
	ts.Check(os.MkdirAll(dir, 0o700))
	text := "install:\n  private_hosts: [" + strings.Join(hosts, ", ") + "]\n  ca_file: " + ca + "\n" + strings.Join(more, "\n") + "\n"
	ts.Check(os.WriteFile(filepath.Join(dir, "config.yaml"), []byte(text), 0o600))
}
