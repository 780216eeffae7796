package fetch

import (
	"context"
	"crypto/tls"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"sync"
	"sync/atomic"
	"syscall"

	"github.com/deftskills/deft/internal/dialled"
)

// transport dials only what may be dialled: what is looked at is the address that a name
// has come to, at the moment of dialling, so that a second answer of a name server changes
// nothing.
func (h *HTTP) transport() *http.Transport {
	var proxies sync.Map // host:port of those that a person chose and that are in use
	return &http.Transport{
		DialContext: func(ctx context.Context, network, address string) (net.Conn, error) {
			d := net.Dialer{Timeout: headTime, Resolver: h.Resolver}
			_, chosen := proxies.Load(address)
			if !chosen && !dialled.Listed(h.Private, address) {
				d.Control = func(_, to string, _ syscall.RawConn) error { return public(address, to) }
			}
			return d.DialContext(ctx, network, address)
		},
		Proxy: func(req *http.Request) (*url.URL, error) {
			p, err := h.proxyFor(req.Context(), req.URL)
			if p != nil {
				proxies.Store(hostPort(p), true)
			}
			return p, err
		},
		TLSClientConfig:     &tls.Config{RootCAs: h.CA, MinVersion: tls.VersionTLS12},
		TLSHandshakeTimeout: headTime, ResponseHeaderTimeout: headTime, ForceAttemptHTTP2: true, MaxResponseHeaderBytes: 64 << 10,
	}
}

// public refuses to dial an address that is not one of the open web. address is what was
// asked for, to what it has come to.
func public(address, to string) error {
	if dialled.Check(to) == nil {
		return nil
	}
	host, _, _ := net.SplitHostPort(address)
	at, _, _ := net.SplitHostPort(to)
	return fmt.Errorf("%w: %s resolves to %s", ErrPrivate, host, at)
}

// proxyFor is the proxy of an address. The proxy dials, so what it would come to is looked
// at here as far as this machine can tell; a name that only the proxy knows passes.
func (h *HTTP) proxyFor(ctx context.Context, u *url.URL) (*url.URL, error) {
	if h.Proxy == nil {
		return nil, nil
	}
	p, err := h.Proxy(u)
	if err != nil || p == nil || dialled.Listed(h.Private, hostPort(u)) {
		return p, err
	}
	var addrs []netip.Addr
	if a, err := netip.ParseAddr(u.Hostname()); err == nil {
		addrs = append(addrs, a)
	} else {
		r := h.Resolver
		if r == nil {
			r = net.DefaultResolver
		}
		addrs, _ = r.LookupNetIP(ctx, "ip", u.Hostname()) // none: the proxy may know more
	}
	for _, a := range addrs {
		if !dialled.Public(a) {
			return nil, fmt.Errorf("%w: %s resolves to %s", ErrPrivate, u.Hostname(), a.Unmap())
		}
	}
	return p, nil
}

// hostPort is the host of an address with its port.
func hostPort(u *url.URL) string {
	port := u.Port()
	if port == "" {
		port = map[string]string{"https": "443", "http": "80", "socks5": "1080", "socks5h": "1080"}[u.Scheme]
	}
	return net.JoinHostPort(u.Hostname(), port)
}

// Guarded carries requests of a protocol that another room speaks, under the rules of h:
// what is dialled, TLS, and at most as many bytes in all answers as an archive may have.
// Whoever speaks it follows no redirect to another host. end closes its connections.
func (h *HTTP) Guarded() (t http.RoundTripper, end func()) {
	by := h.transport()
	left := &atomic.Int64{}
	left.Store(h.Limits.bytes(archiveBytes))
	return guarded{by, left, h}, by.CloseIdleConnections
}

// guarded counts what all answers bring.
type guarded struct {
	next http.RoundTripper
	left *atomic.Int64
	h    *HTTP
}

// RoundTrip implements http.RoundTripper.
func (b guarded) RoundTrip(req *http.Request) (*http.Response, error) {
	if err := b.h.admits(req.URL, ask{}); err != nil {
		return nil, err
	}
	res, err := b.next.RoundTrip(req)
	if err == nil {
		res.Body = &counted{res.Body, b.left}
	}
	return res, err
}

type counted struct {
	io.ReadCloser
	left *atomic.Int64
}

// Read implements io.Reader.
func (c *counted) Read(p []byte) (int, error) {
	n, err := c.ReadCloser.Read(p)
	if c.left.Add(int64(-n)) < 0 {
		return 0, fmt.Errorf("%w: the server sends more than may be fetched at once", ErrLimit)
	}
	return n, err
}
