package mcpskills

import (
	"errors"
	"net/http"
	"net/url"
	"path/filepath"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// remote reaches a server over Streamable HTTP.
func remote(s Server) mcp.Transport {
	return &mcp.StreamableClientTransport{
		Endpoint:     s.URL,
		MaxEventSize: maxMessage,
		HTTPClient: &http.Client{
			Transport: headed{s.Headers, hostOf(s.URL), http.DefaultTransport},
			CheckRedirect: func(r *http.Request, _ []*http.Request) error {
				if r.URL.Host != hostOf(s.URL) {
					return errors.New("it redirects to another host, which nobody approved")
				}
				return nil
			},
		},
	}
}

func hostOf(address string) string {
	u, err := url.Parse(address)
	if err != nil {
		return ""
	}
	return u.Host
}

// headed adds the headers of a server to the requests to its host.
type headed struct {
	headers map[string]string
	host    string
	next    http.RoundTripper
}

// RoundTrip implements http.RoundTripper.
func (h headed) RoundTrip(r *http.Request) (*http.Response, error) {
	if len(h.headers) > 0 && r.URL.Host == h.host {
		r = r.Clone(r.Context())
		for name, value := range h.headers {
			r.Header.Set(name, value)
		}
	}
	return h.next.RoundTrip(r)
}

// fileURI is the address of a folder.
func fileURI(path string) string {
	slashed := filepath.ToSlash(path)
	if !strings.HasPrefix(slashed, "/") {
		slashed = "/" + slashed
	}
	return (&url.URL{Scheme: "file", Path: slashed}).String()
}
