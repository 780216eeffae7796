package fetch

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"strings"

	"github.com/go-git/go-git/v5/plumbing/format/pktline"
	"github.com/go-git/go-git/v5/plumbing/protocol/packp"
)

const uploadPack = "git-upload-pack"

// overHTTP talks to a server over https, with the rules of HTTP, and follows no redirect.
type overHTTP struct {
	client *http.Client
	base   string
	header string // of authorization; "" = none
	limits Limits
}

func (g *Git) overHTTP(u *url.URL, p pinned, l Limits) (wire, error) {
	h := &HTTP{Private: g.Private, Proxy: g.Proxy}
	if g.CA != "" {
		pem, err := os.ReadFile(g.CA)
		if err != nil {
			return nil, fmt.Errorf("git: %w", err)
		}
		if h.CA, err = Roots(pem); err != nil {
			return nil, fmt.Errorf("git: %s: %w", g.CA, err)
		}
	}
	t := h.transport()
	client := &http.Client{Transport: t, CheckRedirect: func(*http.Request, []*http.Request) error {
		return fmt.Errorf("%w: the server leads elsewhere, which is not followed", ErrUnreachable)
	}}
	if len(p.addrs) > 0 {
		dial := t.DialContext
		t.DialContext = func(ctx context.Context, network, _ string) (net.Conn, error) { return p.dial(ctx, network, dial) }
	}
	_, header := g.authorization(u.String())
	return &overHTTP{client, strings.TrimSuffix(u.String(), "/"), header, l}, nil
}

// dial dials what was looked at, in turn, whatever the name says by now.
func (p pinned) dial(ctx context.Context, network string, dial func(context.Context, string, string) (net.Conn, error)) (net.Conn, error) {
	var failed error
	for _, a := range p.addrs {
		c, err := dial(ctx, network, net.JoinHostPort(a.String(), p.port))
		if err == nil {
			return c, nil
		}
		failed = errors.Join(failed, err)
	}
	return nil, failed
}

func (w *overHTTP) close() { w.client.CloseIdleConnections() }

// do makes one request whose answer has the kind that git servers give it.
func (w *overHTTP) do(ctx context.Context, method, path, kind string, body io.Reader, most int64, read func(io.Reader) error) error {
	req, err := http.NewRequestWithContext(ctx, method, w.base+path, body)
	if err != nil {
		return fmt.Errorf("%w: %w", ErrUnreachable, err)
	}
	req.Header.Set("User-Agent", "git/deft") // some servers answer git programs alone
	if w.header != "" {
		req.Header.Set("Authorization", w.header)
	}
	if body != nil {
		req.Header.Set("Content-Type", "application/x-"+uploadPack+"-request")
	}
	res, err := w.client.Do(req)
	if err != nil {
		return err
	}
	defer res.Body.Close()
	if res.StatusCode != http.StatusOK {
		return fmt.Errorf("%w: %s answers %s", ErrUnreachable, req.URL.Host, res.Status)
	}
	if got := res.Header.Get("Content-Type"); got != "application/x-"+uploadPack+"-"+kind {
		return fmt.Errorf("%w: %s answers with %q, as no git server does", ErrUnreachable, req.URL.Host, got)
	}
	return read(&bounded{res.Body, most})
}

// bounded refuses what is more than may come.
type bounded struct {
	r    io.Reader
	left int64
}

func (b *bounded) Read(p []byte) (int, error) {
	n, err := b.r.Read(p)
	if b.left -= int64(n); b.left < 0 {
		return 0, fmt.Errorf("%w: the server sends too much", ErrLimit)
	}
	return n, err
}

func (w *overHTTP) advertised(ctx context.Context) (*packp.AdvRefs, error) {
	ar := packp.NewAdvRefs()
	return ar, w.do(ctx, http.MethodGet, "/info/refs?service="+uploadPack, "advertisement", nil, maxListing, func(r io.Reader) error {
		return emptied(ar.Decode(r))
	})
}

// emptied passes a repository that has nothing yet.
func emptied(err error) error {
	if errors.Is(err, packp.ErrEmptyAdvRefs) {
		return nil
	}
	return err
}

func (w *overHTTP) pack(ctx context.Context, r *packp.UploadPackRequest, read func(*packp.UploadPackResponse) error) error {
	var ask bytes.Buffer
	if err := encode(&ask, r); err != nil {
		return err
	}
	return w.do(ctx, http.MethodPost, "/"+uploadPack, "result", &ask, w.limits.bytes(gitBytes), func(in io.Reader) error {
		return decode(in, r, read)
	})
}

// encode writes what is wanted, and that nothing is there yet.
func encode(w io.Writer, r *packp.UploadPackRequest) error {
	if err := r.UploadRequest.Encode(w); err != nil {
		return fmt.Errorf("git: %w", err)
	}
	return pktline.NewEncoder(w).EncodeString("done\n")
}

func decode(in io.Reader, r *packp.UploadPackRequest, read func(*packp.UploadPackResponse) error) error {
	res := packp.NewUploadPackResponse(r)
	if err := res.Decode(io.NopCloser(in)); err != nil {
		return err
	}
	return read(res)
}
