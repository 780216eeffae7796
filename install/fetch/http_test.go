package fetch_test

import (
	"crypto/x509"
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/deftskills/deft/install/fetch"
)

func https(t *testing.T, h http.Handler) (string, *fetch.HTTP) {
	t.Helper()
	server := httptest.NewTLSServer(h)
	t.Cleanup(server.Close)
	pool := x509.NewCertPool()
	pool.AddCert(server.Certificate())
	return server.URL, &fetch.HTTP{CA: pool, Private: []string{strings.TrimPrefix(server.URL, "https://")}}
}

func TestADocumentComesWithItsDigest(t *testing.T) {
	t.Parallel()
	mux := http.NewServeMux()
	mux.HandleFunc("/a", func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte("text")) })
	mux.Handle("/b", http.RedirectHandler("/a", http.StatusFound))
	mux.HandleFunc("/large", func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write(make([]byte, 200)) })
	mux.HandleFunc("/loop", func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, "/loop", http.StatusFound) })
	mux.Handle("/down", http.RedirectHandler("http://example.org/x", http.StatusFound))
	mux.Handle("/in", http.RedirectHandler("https://127.0.0.1:1/x", http.StatusFound))
	address, h := https(t, mux)
	for _, path := range []string{"/a", "/b"} {
		b, err := h.Document(t.Context(), address+path)
		if err != nil || string(b.Data) != "text" || b.Digest != "sha256:982d9e3eb996f559e633f4d194def3761d909f5a3b647d1a851fead67c32c9d1" || b.URL != address+"/a" {
			t.Errorf("%s: %+v %v", path, b, err)
		}
	}
	h.Limits.Document, h.Limits.Bytes = 100, 100
	for path, want := range map[string]error{
		"/large": fetch.ErrLimit, "/loop": fetch.ErrLimit, "/none": fetch.ErrStatus, "/down": fetch.ErrUnreachable, "/in": fetch.ErrPrivate,
	} {
		if _, err := h.Document(t.Context(), address+path+"?token=secret"); !errors.Is(err, want) || strings.Contains(err.Error(), "secret") {
			t.Errorf("%s: %v, not %v", path, err, want)
		}
	}
	if _, err := h.Archive(t.Context(), address+"/large"); !errors.Is(err, fetch.ErrLimit) {
		t.Errorf("an archive that is too large: %v", err)
	}
	h.Private = nil
	if _, err := h.Document(t.Context(), address+"/a"); !errors.Is(err, fetch.ErrPrivate) {
		t.Errorf("a private address that is not allowed: %v", err)
	}
	if _, err := h.Document(t.Context(), strings.Replace(address, "https", "http", 1)+"/a"); err == nil {
		t.Error("http was fetched")
	}
}

func TestAFileWithoutCertificatesIsSaid(t *testing.T) {
	t.Parallel()
	for _, text := range []string{"", "none", "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n"} {
		if pool, err := fetch.Roots([]byte(text)); err == nil || pool != nil {
			t.Errorf("%q: %v", text, err)
		}
	}
}
