package fetch

import (
	"context"
	"crypto/sha256"
	"crypto/tls"
	"crypto/x509"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
	"syscall"
	"time"

	"github.com/deftskills/deft/internal/dialled"
)

// HTTP fetches documents and archives over https. Every address is looked at when it is
// dialled, on each redirect again.
type HTTP struct {
	Private []string       // hosts, or host:port, that may lie in a private network
	CA      *x509.CertPool // nil = the system's
	Plain   bool           // http addresses pass, where a person allowed them
	Limits  Limits
}

const (
	archiveBytes = 64 << 20
	maxRedirects = 5
	headTime     = 30 * time.Second // to connect, and to the first byte of an answer
)

// Body is an answer.
type Body struct {
	Data   []byte
	Digest string // sha256:hex of Data
	URL    string // after redirects
}

// Document gets one document of at most 4 MiB.
func (h *HTTP) Document(ctx context.Context, address string) (Body, error) {
	return h.get(ctx, address, h.Limits.withDefaults().Document, "")
}

// Archive gets one archive of at most 64 MiB, as it is stored.
func (h *HTTP) Archive(ctx context.Context, address string) (Body, error) {
	return h.get(ctx, address, h.Limits.bytes(archiveBytes), "identity")
}

func (h *HTTP) get(ctx context.Context, address string, most int64, encoding string) (Body, error) {
	ctx, cancel := context.WithTimeout(ctx, h.Limits.withDefaults().Time)
	defer cancel()
	u, err := url.Parse(address)
	if err != nil {
		return Body{}, fmt.Errorf("%w: %q is no address", ErrUnreachable, address)
	}
	if err := h.admits(u); err != nil {
		return Body{}, err
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, u.String(), nil)
	if err != nil {
		return Body{}, fmt.Errorf("%w: %w", ErrUnreachable, err)
	}
	if encoding != "" {
		req.Header.Set("Accept-Encoding", encoding)
	}
	client := h.client()
	defer client.CloseIdleConnections()
	res, err := client.Do(req)
	if err != nil {
		return Body{}, h.explain(ctx, u, err)
	}
	defer res.Body.Close()
	if res.StatusCode != http.StatusOK {
		return Body{}, fmt.Errorf("%w: %s answers %s", ErrStatus, u.Host, res.Status)
	}
	if res.ContentLength > most {
		return Body{}, fmt.Errorf("%w: %s announces %d bytes, at most %d", ErrLimit, u.Host, res.ContentLength, most)
	}
	data, err := io.ReadAll(io.LimitReader(res.Body, most+1))
	if err != nil {
		return Body{}, h.explain(ctx, u, err)
	}
	if int64(len(data)) > most {
		return Body{}, fmt.Errorf("%w: %s sends more than %d bytes", ErrLimit, u.Host, most)
	}
	sum := sha256.Sum256(data)
	return Body{Data: data, Digest: "sha256:" + hex.EncodeToString(sum[:]), URL: res.Request.URL.String()}, nil
}

func (h *HTTP) admits(u *url.URL) error {
	if u.Scheme != "https" && (u.Scheme != "http" || !h.Plain) {
		return fmt.Errorf("%w: %q is not fetched over %q", ErrUnreachable, u.Host, u.Scheme)
	}
	return nil
}

// client is made for one fetch: nothing is kept between two sources.
func (h *HTTP) client() *http.Client {
	dial := func(ctx context.Context, network, address string) (net.Conn, error) {
		d := net.Dialer{Timeout: headTime}
		if !dialled.Listed(h.Private, address) {
			d.Control = func(_, to string, _ syscall.RawConn) error {
				if err := dialled.Check(to); err != nil {
					host, _, _ := net.SplitHostPort(address)
					at, _, _ := net.SplitHostPort(to)
					return fmt.Errorf("%w: %s resolves to %s", ErrPrivate, host, at)
				}
				return nil
			}
		}
		return d.DialContext(ctx, network, address)
	}
	return &http.Client{
		Transport: &http.Transport{
			DialContext: dial, TLSClientConfig: &tls.Config{RootCAs: h.CA, MinVersion: tls.VersionTLS12},
			TLSHandshakeTimeout: headTime, ResponseHeaderTimeout: headTime, ForceAttemptHTTP2: true, MaxResponseHeaderBytes: 64 << 10,
		},
		// Credentials are never given, so that none can be carried to another host.
		CheckRedirect: func(req *http.Request, via []*http.Request) error {
			if len(via) > maxRedirects {
				return fmt.Errorf("%w: more than %d redirects", ErrLimit, maxRedirects)
			}
			return h.admits(req.URL)
		},
	}
}

func (h *HTTP) explain(ctx context.Context, u *url.URL, err error) error {
	if errors.Is(ctx.Err(), context.DeadlineExceeded) {
		return fmt.Errorf("%w: %s", ErrTimeout, u.Host)
	}
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	for _, kind := range []error{ErrPrivate, ErrLimit, ErrUnreachable} {
		if errors.Is(err, kind) {
			return unwrapURL(err)
		}
	}
	return fmt.Errorf("%w: %s: %s", ErrUnreachable, u.Host, unwrapURL(err))
}

// unwrapURL drops the address that net/http repeats in front of a cause: its query may
// hold a token.
func unwrapURL(err error) error {
	var of *url.Error
	if errors.As(err, &of) {
		return of.Err
	}
	return err
}

// Redacted is an address without its query, for records and messages.
func Redacted(address string) string {
	before, _, cut := strings.Cut(address, "?")
	if cut {
		return before + "?…"
	}
	return before
}
