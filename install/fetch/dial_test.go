package fetch_test

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"net/url"
	"strings"
	"sync/atomic"
	"testing"

	"golang.org/x/net/dns/dnsmessage"

	"github.com/deftskills/deft/install/fetch"
)

// nameServer is a name server that answers each question for an address with the next of a list,
// and the last one from then on.
func nameServer(t *testing.T, answers ...string) *net.Resolver {
	t.Helper()
	var asked atomic.Int32
	server, err := net.ListenPacket("udp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = server.Close() })
	go func() { // ends with the server
		buf := make([]byte, 1500)
		for {
			n, from, err := server.ReadFrom(buf)
			if err != nil {
				return
			}
			var m dnsmessage.Message
			if m.Unpack(buf[:n]) != nil || len(m.Questions) != 1 {
				continue
			}
			m.Response, m.Additionals = true, nil
			if q := m.Questions[0]; q.Type == dnsmessage.TypeA {
				at := min(int(asked.Add(1)), len(answers)) - 1
				m.Answers = []dnsmessage.Resource{{
					Header: dnsmessage.ResourceHeader{Name: q.Name, Type: q.Type, Class: q.Class},
					Body:   &dnsmessage.AResource{A: netip.MustParseAddr(answers[at]).As4()},
				}}
			}
			if out, err := m.Pack(); err == nil {
				_, _ = server.WriteTo(out, from)
			}
		}
	}()
	return &net.Resolver{PreferGo: true, Dial: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return (&net.Dialer{}).DialContext(ctx, "udp", server.LocalAddr().String())
	}}
}

// What a name comes to when it is dialled is what counts: another answer to the next
// question, or the name of a host that may be private, opens no way in.
func TestANameThatComesToAPrivateAddressIsNotDialled(t *testing.T) {
	t.Parallel()
	s, host, w := newSite(t)
	s.has("/a", []byte("text"))
	port := host[strings.LastIndex(host, ":"):]
	s.mux.HandleFunc("/to", func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, r.URL.Query().Get("u"), http.StatusFound)
	})
	h := w.HTTP
	h.Resolver = nameServer(t, "10.0.0.7", "169.254.169.254", "127.0.0.1")
	h.Private = []string{host, "example.com" + port}
	for range 3 {
		if _, err := h.Document(t.Context(), "https://other.example.com"+port+"/a"); !errors.Is(err, fetch.ErrPrivate) || !strings.Contains(err.Error(), "other.example.com resolves to ") {
			t.Errorf("%v", err)
		}
	}
	if n := s.asked.Load(); n != 0 {
		t.Fatalf("the server was asked %d times", n)
	}
	if b, err := h.Document(t.Context(), "https://example.com"+port+"/a"); err != nil || string(b.Data) != "text" {
		t.Errorf("a name that may be private: %v", err)
	}
	for _, to := range []string{
		"https://other.example.com" + port + "/a", "https://[::ffff:127.0.0.1]" + port + "/a", "https://[::1]" + port + "/a", "https://2130706433" + port + "/a",
		"https://localhost" + port + "/a", "https://0.0.0.0" + port + "/a", "https://[64:ff9b::7f00:1]" + port + "/a", "https://169.254.169.254/latest",
	} {
		if _, err := h.Document(t.Context(), "https://"+host+"/to?u="+url.QueryEscape(to)); !errors.Is(err, fetch.ErrPrivate) && !errors.Is(err, fetch.ErrUnreachable) {
			t.Errorf("%s: %v", to, err)
		}
	}
	for _, to := range []string{"http://" + host + "/a", "file:///etc/passwd", "ftp://" + host + "/a", "javascript:0", "gopher://" + host} {
		if b, err := h.Document(t.Context(), "https://"+host+"/to?u="+url.QueryEscape(to)); err == nil {
			t.Errorf("%s: %q", to, b.Data)
		}
	}
	h.Plain = true // also where http may be asked, https does not lead to it
	if _, err := h.Document(t.Context(), "https://"+host+"/to?u="+url.QueryEscape("http://"+host+"/a")); !errors.Is(err, fetch.ErrUnreachable) {
		t.Errorf("down to http: %v", err)
	}
}

func TestAProxyIsUsedWhereAPersonAskedForIt(t *testing.T) {
	t.Parallel()
	s, host, w := newSite(t)
	s.has("/a", []byte("text"))
	port := host[strings.LastIndex(host, ":"):]
	var asked atomic.Int32
	proxy := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked.Add(1)
		to, err := net.Dial("tcp", host) // whatever is asked for
		if err != nil || r.Method != http.MethodConnect {
			w.WriteHeader(http.StatusBadGateway)
			return
		}
		w.WriteHeader(http.StatusOK)
		from, _, err := http.NewResponseController(w).Hijack()
		if err != nil {
			return
		}
		go func() { _, _ = io.Copy(to, from); _ = to.Close() }() // end with the connections
		go func() { _, _ = io.Copy(from, to); _ = from.Close() }()
	}))
	t.Cleanup(proxy.Close)
	h := w.HTTP
	h.Private = nil
	h.Proxy = fetch.ProxyOf(func(name string) string {
		return map[string]string{"https_proxy": proxy.URL, "NO_PROXY": "direct.example.com"}[name]
	})
	h.Resolver = nameServer(t, "93.184.215.14", "10.0.0.7", "127.0.0.1")
	if b, err := h.Document(t.Context(), "https://a.example.com"+port+"/a"); err != nil || string(b.Data) != "text" || asked.Load() != 1 {
		t.Errorf("%v, the proxy was asked %d times", err, asked.Load())
	}
	for _, at := range []string{"https://b.example.com" + port + "/a", "https://10.1.2.3/a", "https://direct.example.com" + port + "/a", "https://127.0.0.1" + port + "/a"} {
		if _, err := h.Document(t.Context(), at); !errors.Is(err, fetch.ErrPrivate) {
			t.Errorf("%s: %v", at, err)
		}
	}
	if asked.Load() != 1 {
		t.Errorf("the proxy was asked %d times", asked.Load())
	}
	if p, err := fetch.ProxyOf(func(string) string { return "" })(&url.URL{Scheme: "https", Host: "example.com"}); p != nil || err != nil {
		t.Errorf("no proxy is named: %v %v", p, err)
	}
}

func TestAProtocolOfAnotherRoomIsHeldToTheSameRules(t *testing.T) {
	t.Parallel()
	s, host, w := newSite(t)
	s.has("/a", make([]byte, 600))
	get := func(h *fetch.HTTP, address string) (int, error) {
		by, end := h.Guarded()
		defer end()
		client := &http.Client{Transport: by}
		total := 0
		for range 2 {
			res, err := client.Get(address)
			if err != nil {
				return total, err
			}
			data, err := io.ReadAll(res.Body)
			total += len(data)
			if err = errors.Join(err, res.Body.Close()); err != nil {
				return total, err
			}
		}
		return total, nil
	}
	if n, err := get(w.HTTP, "https://"+host+"/a"); n != 1200 || err != nil {
		t.Errorf("%d %v", n, err)
	}
	if _, err := get(w.HTTP, "http://"+host+"/a"); !errors.Is(err, fetch.ErrUnreachable) {
		t.Errorf("without TLS: %v", err)
	}
	w.HTTP.Limits.Bytes = 1000
	if _, err := get(w.HTTP, "https://"+host+"/a"); !errors.Is(err, fetch.ErrLimit) {
		t.Errorf("too much: %v", err)
	}
	w.HTTP.Private = nil
	if _, err := get(w.HTTP, "https://"+host+"/a"); !errors.Is(err, fetch.ErrPrivate) {
		t.Errorf("private: %v", err)
	}
}
