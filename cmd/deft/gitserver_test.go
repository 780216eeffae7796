package main

import (
	"encoding/pem"
	"net/http/cgi"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/rogpeppe/go-internal/testscript"
)

// repositories serves the git repositories below a folder over https, by git's own
// server, and writes the settings with which deft may reach it. It sets $REPOS to the
// server's address.
func repositories(ts *testscript.TestScript, neg bool, args []string) {
	want(ts, !neg && len(args) == 1, "repositories DIR")
	git, err := exec.LookPath("git")
	ts.Check(err)
	dir := ts.MkAbs(args[0])
	server := httptest.NewTLSServer(&cgi.Handler{
		Path: git, Args: []string{"http-backend"}, Dir: dir,
		Env: []string{
			"GIT_PROJECT_ROOT=" + dir, "GIT_HTTP_EXPORT_ALL=1", "GIT_CONFIG_GLOBAL=" + os.DevNull,
			"GIT_CONFIG_COUNT=1", "GIT_CONFIG_KEY_0=safe.directory", "GIT_CONFIG_VALUE_0=*",
		},
	})
	ts.Defer(server.Close)
	host := strings.TrimPrefix(server.URL, "https://")
	home := ts.Getenv("HOME")
	ca := filepath.Join(home, "ca.pem")
	ts.Check(os.WriteFile(ca, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw}), 0o600))
	settings := filepath.Join(home, ".config", "deft")
	ts.Check(os.MkdirAll(settings, 0o700))
	ts.Check(os.WriteFile(filepath.Join(settings, "config.yaml"), []byte("install:\n  private_hosts: [\""+host+"\"]\n  ca_file: "+ca+"\n"), 0o600))
	ts.Setenv("REPOS", server.URL)
}
