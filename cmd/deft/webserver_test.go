package main

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"crypto/rand"
	"crypto/sha512"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"errors"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"

	"aead.dev/minisign"
	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/rogpeppe/go-internal/testscript"

	"github.com/deftskills/deft/internal/mcptest"
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

// shelved serves the skills below a folder over MCP and https, and sets $WEB as web does.
func shelved(ts *testscript.TestScript, neg bool, args []string) {
	want(ts, !neg && len(args) == 1, "served DIR")
	dir := ts.MkAbs(args[0])
	server := httptest.NewTLSServer(mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server {
		s, err := mcptest.Skills(dir, true) // at each connection what lies there then
		if err != nil {
			return nil
		}
		return s
	}, nil))
	ts.Defer(func() {
		server.CloseClientConnections()
		server.Close()
	})
	ts.Setenv("WEB", strings.TrimPrefix(server.URL, "https://"))
	believe(ts, server)
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

// npmPublish makes a tarball of a folder and adds it, as a version of a package, to the
// registry npm below the folder that web serves.
func npmPublish(ts *testscript.TestScript, neg bool, args []string) {
	want(ts, !neg && len(args) == 4, "npmpublish SITE DIR NAME VERSION")
	site, dir, name, version := ts.MkAbs(args[0]), ts.MkAbs(args[1]), args[2], args[3]
	var tarball bytes.Buffer
	g := gzip.NewWriter(&tarball)
	w := tar.NewWriter(g)
	ts.Check(fs.WalkDir(os.DirFS(dir), ".", func(at string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return err
		}
		data, err := os.ReadFile(filepath.Join(dir, at))
		if err == nil {
			err = w.WriteHeader(&tar.Header{Name: "package/" + at, Mode: 0o644, Size: int64(len(data))})
		}
		if err == nil {
			_, err = w.Write(data)
		}
		return err
	}))
	ts.Check(errors.Join(w.Close(), g.Close()))
	record := filepath.Join(site, "npm", filepath.FromSlash(name))
	ts.Check(os.MkdirAll(filepath.Dir(record), 0o755))
	ts.Check(os.WriteFile(record+"-"+version+".tgz", tarball.Bytes(), 0o600))
	doc := struct {
		Tags     map[string]string `json:"dist-tags"`
		Versions map[string]any    `json:"versions"`
	}{map[string]string{}, map[string]any{}}
	if src, err := os.ReadFile(record); err == nil {
		ts.Check(json.Unmarshal(src, &doc))
	}
	sum := sha512.Sum512(tarball.Bytes())
	doc.Tags["latest"] = version
	doc.Versions[version] = map[string]any{"dist": map[string]string{
		"tarball": "https://" + ts.Getenv("WEB") + "/npm/" + name + "-" + version + ".tgz", "integrity": "sha512-" + base64.StdEncoding.EncodeToString(sum[:]),
	}}
	src, err := json.Marshal(doc)
	ts.Check(err)
	ts.Check(os.WriteFile(record, src, 0o600))
}

// sign signs a file as deft.sig beside it, with a key of the story's own, and sets $KEY to
// the public one.
func sign(ts *testscript.TestScript, neg bool, args []string) {
	want(ts, !neg && len(args) == 1, "sign FILE")
	public, private, err := minisign.GenerateKey(rand.Reader)
	ts.Check(err)
	text, err := public.MarshalText()
	ts.Check(err)
	lines := strings.Split(strings.TrimSpace(string(text)), "\n")
	ts.Setenv("KEY", lines[len(lines)-1])
	at := ts.MkAbs(args[0])
	data, err := os.ReadFile(at)
	ts.Check(err)
	ts.Check(os.WriteFile(filepath.Join(filepath.Dir(at), "deft.sig"), minisign.Sign(private, data), 0o600))
}
