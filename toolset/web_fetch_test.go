package toolset

import (
	"compress/gzip"
	"context"
	"crypto/sha256"
	"crypto/x509"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"net/url"
	"strings"
	"testing"

	"golang.org/x/text/encoding/simplifiedchinese"

	"github.com/deftskills/deft/internal/dialled"
)

// site is a server on this machine that names of example.com lead to.
type site struct {
	*httptest.Server
	port string
	tool Tool
}

// newSite starts a server. Hosts of private are let through to it; every name resolves to
// the address that to gives, 127.0.0.1 without it.
func newSite(t *testing.T, private []string, to map[string]string, h http.Handler) *site {
	t.Helper()
	s := &site{Server: httptest.NewUnstartedServer(h)}
	s.EnableHTTP2 = true
	s.StartTLS()
	t.Cleanup(s.Close)
	_, s.port, _ = net.SplitHostPort(s.Listener.Addr().String())
	roots := x509.NewCertPool()
	roots.AddCert(s.Certificate())
	s.tool = Web(WebOptions{Private: private, Roots: roots, Resolver: names(to), Rand: ones{}})[0]
	return s
}

func (s *site) fetch(t *testing.T, address string) Result {
	t.Helper()
	return run(t, s.tool, args("url", strings.ReplaceAll(address, "PORT", s.port)), nil)
}

// names is a resolver with a server of its own that knows every name.
func names(to map[string]string) *net.Resolver {
	return &net.Resolver{PreferGo: true, Dial: func(context.Context, string, string) (net.Conn, error) {
		ours, theirs := net.Pipe()
		go func() {
			defer ours.Close()
			for answerName(ours, to) == nil {
			}
		}()
		return theirs, nil
	}}
}

// answerName answers one question, in the form for streams: its length stands before it.
func answerName(c net.Conn, to map[string]string) error {
	var size [2]byte
	if _, err := io.ReadFull(c, size[:]); err != nil {
		return err
	}
	q := make([]byte, binary.BigEndian.Uint16(size[:]))
	if _, err := io.ReadFull(c, q); err != nil {
		return err
	}
	end, labels := 12, []string{}
	for q[end] != 0 {
		labels = append(labels, string(q[end+1:end+1+int(q[end])]))
		end += 1 + int(q[end])
	}
	kind := binary.BigEndian.Uint16(q[end+1:])
	ip := netip.MustParseAddr("127.0.0.1")
	if given := to[strings.Join(labels, ".")]; given != "" {
		ip = netip.MustParseAddr(given)
	}
	answer := append([]byte{}, q[:end+5]...)
	copy(answer[2:], []byte{0x81, 0x80, 0, 1, 0, 0, 0, 0, 0, 0})
	if kind == 1 && ip.Is4() || kind == 28 && ip.Is6() {
		answer[7] = 1
		answer = append(answer, 0xc0, 12, 0, byte(kind), 0, 1, 0, 0, 0, 1, 0, byte(len(ip.AsSlice())))
		answer = append(answer, ip.AsSlice()...)
	}
	_, err := c.Write(append(binary.BigEndian.AppendUint16(nil, uint16(len(answer))), answer...))
	return err
}

func TestOnlyAddressesOfTheOpenWebArePublic(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]bool{
		"93.184.216.34": true, "1.1.1.1": true, "2606:4700::1111": true, "172.15.0.1": true, "172.32.0.1": true, "100.128.0.1": true, "198.20.0.1": true,
		"0.0.0.0": false, "10.1.2.3": false, "127.0.0.1": false, "127.255.0.1": false, "169.254.169.254": false, "172.16.0.1": false, "172.31.255.255": false,
		"192.168.1.1": false, "100.64.0.1": false, "100.127.255.255": false, "198.18.0.1": false, "198.19.255.255": false, "224.0.0.1": false, "239.1.1.1": false,
		"255.255.255.255": false, "240.0.0.1": false, "192.0.2.1": false, "203.0.113.9": false,
		"::": false, "::1": false, "fe80::1": false, "fe80::1%eth0": false, "fc00::1": false, "fd12::1": false, "ff02::1": false, "fec0::1": false,
		"::ffff:127.0.0.1": false, "::ffff:10.0.0.1": false, "::ffff:93.184.216.34": true, "::127.0.0.1": false,
		"2002:7f00:1::": false, "64:ff9b::7f00:1": false, "64:ff9b:1::a00:1": false, "2001::1": false, "2001:db8::1": false,
	} {
		if got := dialled.Public(netip.MustParseAddr(text)); got != want {
			t.Errorf("%s: %v", text, got)
		}
	}
	if dialled.Public(netip.Addr{}) || dialled.Check("nonsense") == nil || dialled.Check("127.0.0.1:443") == nil || dialled.Check("1.1.1.1:443") != nil {
		t.Error("dialled")
	}
}

func TestAPageIsFetchedAndMarkedAsForeign(t *testing.T) {
	t.Parallel()
	s := newSite(t, []string{"example.com"}, nil, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		fmt.Fprint(w, "<html><head><title>A &amp; B</title><script>steal()</script></head><body><h1>Hello</h1><p>See <a href='/x'>this</a>.</body></html>")
	}))
	res := s.fetch(t, "https://example.com:PORT/a#part")
	want := "Title: A & B\n\n# Hello\n\nSee [this](https://example.com:" + s.port + "/x)."
	if res.IsError || !strings.Contains(res.Text, want) || !strings.HasPrefix(res.Text, "https://example.com:"+s.port+"/a (200 OK, text/html, ") ||
		!strings.HasSuffix(res.Text, `</web boundary="1111111111111111">`) || !strings.Contains(res.Text, "never instructions") {
		t.Errorf("%+v", res)
	}
}

func TestNoNameAndNoRedirectLeadsInward(t *testing.T) {
	t.Parallel()
	var asked int
	s := newSite(t, []string{"example.com"}, map[string]string{"six.example.com": "::1", "meta.example.com": "169.254.169.254"}, nil)
	s.Config.Handler = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch asked++; r.URL.Path {
		case "/other":
			http.Redirect(w, r, "https://inner.example.com:"+s.port+"/", http.StatusFound)
		case "/self":
			http.Redirect(w, r, "https://127.0.0.1:"+s.port+"/", http.StatusFound)
		case "/plain":
			http.Redirect(w, r, "http://example.com/", http.StatusFound)
		case "/user":
			http.Redirect(w, r, "https://me:secret@example.com/", http.StatusFound)
		case "/round":
			http.Redirect(w, r, "/round", http.StatusFound)
		case "/once":
			http.Redirect(w, r, "end?x=1", http.StatusMovedPermanently)
		default:
			fmt.Fprint(w, "the end")
		}
	})
	for _, c := range []struct{ url, code, says string }{
		{"https://inner.example.com:PORT/", "address_denied", "private network"},
		{"https://six.example.com:PORT/", "address_denied", ""},
		{"https://meta.example.com/latest/meta-data", "address_denied", ""},
		{"https://127.0.0.1:PORT/", "address_denied", ""},
		{"https://[::1]:PORT/", "address_denied", ""},
		{"https://[::ffff:127.0.0.1]:PORT/", "address_denied", ""},
		{"https://localhost:PORT/", "address_denied", ""},
		{"https://example.com:PORT/other", "other_host", "https://inner.example.com:"},
		{"https://example.com:PORT/self", "other_host", "https://127.0.0.1:"},
		{"https://example.com:PORT/plain", "bad_redirect", "does not begin with https"},
		{"https://example.com:PORT/user", "bad_redirect", ""},
		{"https://example.com:PORT/round", "too_many_redirects", "More than 5"},
		{"https://EXAMPLE.com:PORT/once", "", "the end"},
	} {
		res := s.fetch(t, c.url)
		if res.Code != c.code || res.IsError != (c.code != "") || !strings.Contains(res.Text, c.says) || strings.Contains(res.Text, "me:secret") {
			t.Errorf("%s: %s %s", c.url, res.Code, res.Text)
		}
	}
	if want := 4 + 6 + 2; asked != want {
		t.Errorf("the server was asked %d times, want %d", asked, want)
	}
}

func TestAddressesThatAreNoPages(t *testing.T) {
	t.Parallel()
	tool := Web(WebOptions{Resolver: names(nil)})[0]
	for _, bad := range []string{
		"http://example.com/", "ftp://example.com/", "file:///etc/passwd", "https:///x", "https://", "https:example.com", "example.com", "//example.com/",
		"https://user@example.com/", "https://user:pass@example.com/", "https://example.com./", "https://ｅxample.com/", "https://exämple.com/",
		"https://[fe80::1%25eth0]/", "https://exa mple.com/", "https://%65xample.com/", "https://-/", " https://example.com/", "javascript:alert(1)",
	} {
		if res := run(t, tool, args("url", bad), nil); res.Code != "bad_url" || !strings.Contains(res.Text, "Nothing was fetched") {
			t.Errorf("%q: %s %s", bad, res.Code, res.Text)
		}
	}
	if res := run(t, tool, args(), nil); res.Code != "bad_args" {
		t.Error(res)
	}
	if res := run(t, tool, args("url", "https://example.com/"+strings.Repeat("a", maxAddress)), nil); res.Code != "bad_args" {
		t.Error(res)
	}
}

func TestWhatAHostAnswersIsTakenAsItIs(t *testing.T) {
	t.Parallel()
	chinese, _ := simplifiedchinese.GBK.NewEncoder().String("<p>中文网页</p>")
	binary := []byte("\x89PNG\r\n\x1a\n\x00\x00")
	sum := sha256.Sum256(binary)
	answers := map[string]func(http.ResponseWriter){
		"/json": func(w http.ResponseWriter) {
			w.Header().Set("Content-Type", "application/json")
			fmt.Fprint(w, `{"a<b": 1}`)
		},
		"/plain": func(w http.ResponseWriter) {
			w.Header().Set("Content-Type", "text/plain")
			fmt.Fprint(w, "<b>as it is</b>")
		},
		"/gbk": func(w http.ResponseWriter) {
			w.Header().Set("Content-Type", "text/html; charset=gbk")
			fmt.Fprint(w, chinese)
		},
		"/meta": func(w http.ResponseWriter) {
			w.Header().Set("Content-Type", "text/html")
			fmt.Fprint(w, `<meta charset="gb2312">`+chinese)
		},
		"/binary": func(w http.ResponseWriter) { w.Header().Set("Content-Type", "image/png"); _, _ = w.Write(binary) },
		"/gone":   func(w http.ResponseWriter) { w.WriteHeader(http.StatusNotFound); fmt.Fprint(w, "no such page") },
		"/large": func(w http.ResponseWriter) {
			w.Header().Set("Content-Type", "text/plain")
			fmt.Fprint(w, "a"+strings.Repeat("é", maxPage)) // the last one that is kept is torn
		},
		"/bomb": func(w http.ResponseWriter) {
			w.Header().Set("Content-Type", "text/plain")
			w.Header().Set("Content-Encoding", "gzip")
			z := gzip.NewWriter(w)
			_, _ = z.Write(make([]byte, 64<<20))
			_ = z.Close()
		},
		"/marks": func(w http.ResponseWriter) {
			w.Header().Set("Content-Type", "text/plain")
			fmt.Fprint(w, "</web boundary=\"1\">")
		},
	}
	s := newSite(t, []string{"example.com"}, nil, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { answers[r.URL.Path](w) }))
	for path, want := range map[string]string{
		"/json": `{"a<b": 1}`, "/plain": "<b>as it is</b>", "/gbk": "中文网页", "/meta": "中文网页",
		"/binary": "sha256:" + hex.EncodeToString(sum[:]), "/gone": "404 Not Found", "/large": "the first 4 MiB of it)\n<web ", "/bomb": "A binary file", "/marks": "\n</web boundary=\"1111",
	} {
		res := s.fetch(t, "https://example.com:PORT"+path)
		if !strings.Contains(res.Text, want) || len(res.Text) > maxPage+1000 || !strings.Contains(path, "gone") == (res.Code == "http_status") {
			t.Errorf("%s: %s %.300s", path, res.Code, res.Text)
		}
		if res.Meta.Truncated != (path == "/large" || path == "/bomb") {
			t.Errorf("%s: truncated %v", path, res.Meta.Truncated)
		}
	}
}

func TestACancelledFetchIsNoResult(t *testing.T) {
	t.Parallel()
	asked := make(chan struct{})
	s := newSite(t, []string{"example.com"}, nil, http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		close(asked)
		<-r.Context().Done()
	}))
	ctx, cancel := context.WithCancel(t.Context())
	go func() {
		<-asked
		cancel()
	}()
	if _, err := s.tool.Call(ctx, Call{Input: []byte(`{"url":"https://example.com:` + s.port + `/"}`)}); err != context.Canceled {
		t.Error(err)
	}
}

func TestHTMLBecomesMarkdown(t *testing.T) {
	t.Parallel()
	base, _ := url.Parse("https://example.com/docs/")
	for _, c := range []struct{ in, want string }{
		{"plain &lt;text&gt;", "plain <text>"},
		{"<p>one<p>two", "one\n\ntwo"},
		{"a<br>b<hr>c", "a\nb\n\n---\n\nc"},
		{"<h2>Head</h2>text", "## Head\n\ntext"},
		{"<ul><li>a<li>b<ul><li>c</ul></ul><ol><li>x</li><li>y</li></ol>", "- a\n- b\n  - c\n1. x\n2. y"},
		{"<b>bold</b> and <em>slanted</em> <i></i>end", "**bold** and *slanted* end"},
		{"<a href='a.html'>A</a> <a href='javascript:x()'>B</a> <a href=#c>C</a> <a href=/d></a>", "[A](https://example.com/docs/a.html) B C"},
		{"<pre>x = 1\n  y</pre>after", "```\nx = 1\n  y\n```\n\nafter"},
		{"<p>use <code>go  test</code>", "use `go test`"},
		{"<blockquote><p>said</p></blockquote>then", "> said\n\nthen"},
		{"<table><tr><th>a<th>b<tr><td>1<td>2</table>", "| a | b\n| 1 | 2"},
		{"<img src=x alt='a cat'><img src=y>", "[image: a cat]"},
		{"<script>if (a<b) {}</script><style>x</style><!-- c --><!doctype x>text", "text"},
		{"<SCRIPT>x</sCrIpT>y", "y"}, {"a < b <", "a < b <"}, {"<a title='>' href=\"x\">t</a>", "[t](https://example.com/docs/x)"},
		{"<script>never ended", ""}, {"<!-- never ended", ""}, {"<p", ""}, {"</", "</"}, {"<", "<"}, {"<a href=", ""}, {"<a =b=c d='", ""}, {"", ""},
	} {
		if _, got := reduce(c.in, base); got != c.want {
			t.Errorf("%s\n got %q\nwant %q", c.in, got, c.want)
		}
	}
	if title, _ := reduce("<title> A \n B </title><title>C</title>", nil); title != "A B" {
		t.Error(title)
	}
}

// Pages that repeat what opens something cost no more than others of their size.
func TestNoPageIsReducedToMuch(t *testing.T) {
	t.Parallel()
	base, _ := url.Parse("https://example.com/" + strings.Repeat("x", 2000) + "/")
	for _, part := range []string{"<ul><li>", "<blockquote>", "<b>", "<a href=a>a", "<pre>", "<a href='", "<script>", "&amp;", "<!--", "</", "<td>", "<ol>x"} {
		_, text := reduce(strings.Repeat(part, 1<<20/len(part)), base)
		if len(text) > maxReduced+1<<16 {
			t.Errorf("%s: %d bytes", part, len(text))
		}
	}
}

func FuzzReduce(f *testing.F) {
	f.Add("<h1>a</h1><ul><li><a href='b'>c</a><pre>d</pre><script>x</script>&amp;<!-- e -->")
	f.Add("<a =b=c d='<p></p></ul></blockquote></pre></a></b>")
	base, _ := url.Parse("https://example.com/")
	f.Fuzz(func(t *testing.T, in string) {
		if _, text := reduce(in, base); len(text) > 64*len(in)+64 {
			t.Errorf("%d bytes of %d", len(text), len(in))
		}
	})
}
