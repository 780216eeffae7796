package main

import (
	"net/http/cgi"
	"net/http/httptest"
	"os"
	"os/exec"

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
	ts.Setenv("REPOS", server.URL)
	believe(ts, server)
}
