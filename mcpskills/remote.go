package mcpskills

import (
	"errors"
	"net/http"
	"net/url"
	"path/filepath"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// remote reaches a server over Streamable HTTP; nil = by the usual transport.
func remote(s Server, by http.RoundTripper) mcp.Transport {
	if by == nil {
		by = http.DefaultTransport
	}
	return &mcp.StreamableClientTransport{
		Endpoint:     s.URL,
		MaxEventSize: maxMessage,
		HTTPClient: &http.Client{
			Transport: headed{s.Headers, originOf(s.URL), by},
			CheckRedirect: func(r *http.Request, _ []*http.Request) error {
				if origin(r.URL) != originOf(s.URL) {
					return errors.New("it redirects to another host or to one without TLS, which nobody approved")
				}
				return nil
			},
		},
	}
}

// origin is what a person approved of an address: the host, and whether TLS leads there.
func origin(u *url.URL) string { return u.Scheme + "://" + u.Host }

func originOf(address string) string {
	u, err := url.Parse(address)
	if err != nil {
		return ""
	}
	return origin(u)
}

// headed adds the headers of a server to the requests to it.
type headed struct {
	headers map[string]string
	origin  string
	next    http.RoundTripper
}

// RoundTrip implements http.RoundTripper.
func (h headed) RoundTrip(r *http.Request) (*http.Response, error) {
	if len(h.headers) > 0 && origin(r.URL) == h.origin {
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
