package fetch

import (
	"context"
	"crypto/sha256"
	"crypto/x509"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
	"time"
)

// HTTP fetches documents and archives over https. Every address is looked at when it is
// dialled, on each redirect again.
type HTTP struct {
	Private []string       // hosts, or host:port, that may lie in a private network
	CA      *x509.CertPool // nil = the system's
	Plain   bool           // http addresses pass, where a person allowed them
	// Proxy says through which proxy an address is reached, nil = directly; a nil Proxy is
	// none for any. A person chose it, so it may lie in a private network.
	Proxy    func(*url.URL) (*url.URL, error)
	Resolver *net.Resolver // nil = the system's
	Cache    *Cache        // what was fetched before; nil = nothing is kept
	Limits   Limits

	live *http.Transport // shared by the requests of one source, see session
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
	return h.get(ctx, h.document(address))
}

// Archive gets one archive of at most 64 MiB, as it is stored.
func (h *HTTP) Archive(ctx context.Context, address string) (Body, error) {
	return h.get(ctx, h.archive(address))
}

// ask is one request, and what holds on each of its hops.
type ask struct {
	address string
	most    int64 // bytes of the answer
	stored  bool  // as it is stored, without an encoding for the way
	accept  string
	// admit says why an address is not asked; nil = any may be.
	admit func(*url.URL) error
	// credential is what an address is told of who asks, "" = nothing; nil = nothing for any.
	credential func(*url.URL) string
}

func (h *HTTP) document(address string) ask {
	return ask{address: address, most: h.Limits.withDefaults().Document}
}

func (h *HTTP) archive(address string) ask {
	return ask{address: address, most: h.Limits.bytes(archiveBytes), stored: true}
}

// session shares connections among the requests of one source; end closes them.
func (h *HTTP) session() (s *HTTP, end func()) {
	c := *h
	c.live = h.transport()
	return &c, c.live.CloseIdleConnections
}

func (h *HTTP) get(ctx context.Context, a ask) (Body, error) {
	ctx, cancel := context.WithTimeout(ctx, h.Limits.withDefaults().Time)
	defer cancel()
	u, err := url.Parse(a.address)
	if err != nil {
		return Body{}, fmt.Errorf("%w: %q is no address", ErrUnreachable, Redacted(a.address))
	}
	if err := h.admits(u, a); err != nil {
		return Body{}, err
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, u.String(), nil)
	if err != nil {
		return Body{}, fmt.Errorf("%w: %w", ErrUnreachable, err)
	}
	a.tell(req)
	before, kept := h.kept(a)
	if kept {
		req.Header.Set("If-None-Match", before.Tag)
	}
	client, end := h.client(a)
	defer end()
	res, err := client.Do(req)
	if err != nil {
		return Body{}, h.explain(ctx, u, err)
	}
	defer res.Body.Close()
	if kept && res.StatusCode == http.StatusNotModified {
		return before.body, nil
	}
	if res.StatusCode != http.StatusOK {
		return Body{}, &StatusError{u.Host, res.StatusCode}
	}
	return h.read(ctx, a, u, res)
}

// read takes an answer in, no more of it than was asked for.
func (h *HTTP) read(ctx context.Context, a ask, u *url.URL, res *http.Response) (Body, error) {
	if res.ContentLength > a.most {
		return Body{}, fmt.Errorf("%w: %s announces %d bytes, at most %d", ErrLimit, u.Host, res.ContentLength, a.most)
	}
	data, err := io.ReadAll(io.LimitReader(res.Body, a.most+1))
	if err != nil || ctx.Err() != nil { // a connection that is given up may end like a whole answer
		return Body{}, h.explain(ctx, u, err)
	}
	if int64(len(data)) > a.most {
		return Body{}, fmt.Errorf("%w: %s sends more than %d bytes", ErrLimit, u.Host, a.most)
	}
	b := Body{Data: data, Digest: digestOf(data), URL: res.Request.URL.String()}
	if h.Cache != nil && a.credential == nil {
		h.Cache.keep(a.key(), b, res.Header.Get("ETag"))
	}
	return b, nil
}

// Roots are the certificates of a file in PEM form. One that has none is an error: every
// server would be refused, and nobody would know why.
func Roots(pem []byte) (*x509.CertPool, error) {
	pool := x509.NewCertPool()
	if !pool.AppendCertsFromPEM(pem) {
		return nil, errors.New("no certificate in PEM form is in it")
	}
	return pool, nil
}

// Digest is sha256:hex of bytes, as indexes have it.
func Digest(data []byte) string { return digestOf(data) }

func digestOf(data []byte) string {
	sum := sha256.Sum256(data)
	return "sha256:" + hex.EncodeToString(sum[:])
}

// kept is the answer that the cache has, with the mark by which the server tells whether
// it still stands.
func (h *HTTP) kept(a ask) (held, bool) {
	if h.Cache == nil || a.credential != nil {
		return held{}, false
	}
	e, ok := h.Cache.entry(a.key())
	return e, ok && e.Tag != "" && int64(len(e.body.Data)) <= a.most
}

// key tells answers apart: an address has several, by what is accepted.
func (a ask) key() string { return a.accept + "\x00" + a.address }

// tell sets what a server is told. On a redirect what the one before was told goes.
func (a ask) tell(req *http.Request) {
	for _, name := range []string{"Authorization", "Cookie", "Referer"} {
		req.Header.Del(name)
	}
	if a.stored {
		req.Header.Set("Accept-Encoding", "identity")
	}
	if a.accept != "" {
		req.Header.Set("Accept", a.accept)
	}
	if a.credential != nil {
		if v := a.credential(req.URL); v != "" {
			req.Header.Set("Authorization", v)
		}
	}
}

func (h *HTTP) admits(u *url.URL, a ask) error {
	if u.Scheme != "https" && (u.Scheme != "http" || !h.Plain) {
		return fmt.Errorf("%w: %q is not fetched over %q", ErrUnreachable, u.Host, u.Scheme)
	}
	if a.admit != nil {
		return a.admit(u)
	}
	return nil
}

// client is made for one request. Without a session nothing is kept between two.
func (h *HTTP) client(a ask) (*http.Client, func()) {
	t, end := h.live, func() {}
	if t == nil {
		t = h.transport()
		end = t.CloseIdleConnections
	}
	return &http.Client{Transport: t, CheckRedirect: func(req *http.Request, via []*http.Request) error {
		if len(via) > maxRedirects {
			return fmt.Errorf("%w: more than %d redirects", ErrLimit, maxRedirects)
		}
		if via[len(via)-1].URL.Scheme == "https" && req.URL.Scheme != "https" {
			return fmt.Errorf("%w: %q redirects to %q", ErrUnreachable, via[0].URL.Host, req.URL.Scheme)
		}
		a.tell(req)
		return h.admits(req.URL, a)
	}}, end
}

func (h *HTTP) explain(ctx context.Context, u *url.URL, err error) error {
	if errors.Is(ctx.Err(), context.DeadlineExceeded) {
		return fmt.Errorf("%w: %s", ErrTimeout, u.Host)
	}
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	for _, kind := range []error{ErrPrivate, ErrLimit, ErrOrigin, ErrUnreachable} {
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

// StatusError is an answer of another status than 200. It wraps ErrStatus.
type StatusError struct {
	Host   string
	Status int
}

// Error implements error.
func (e *StatusError) Error() string {
	return fmt.Sprintf("%s: %s answers %d %s", ErrStatus, e.Host, e.Status, http.StatusText(e.Status))
}

// Unwrap is ErrStatus.
func (e *StatusError) Unwrap() error { return ErrStatus }
