package fetch_test

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/deftskills/deft/install/archive"
	"github.com/deftskills/deft/install/fetch"
)

func digest(data []byte) string {
	sum := sha256.Sum256(data)
	return "sha256:" + hex.EncodeToString(sum[:])
}

// packed is a gzipped tar of name, contents, name, contents…; a name with "→" is a link.
func packed(t testing.TB, files ...string) []byte {
	t.Helper()
	var b bytes.Buffer
	g := gzip.NewWriter(&b)
	w := tar.NewWriter(g)
	for i := 0; i < len(files); i += 2 {
		h := &tar.Header{Name: files[i], Mode: 0o644, Size: int64(len(files[i+1])), Format: tar.FormatPAX}
		if name, to, link := strings.Cut(files[i], "→"); link {
			h = &tar.Header{Name: name, Linkname: to, Typeflag: tar.TypeSymlink, Format: tar.FormatPAX}
			files[i+1] = ""
		}
		if err := w.WriteHeader(h); err != nil {
			t.Fatal(err)
		}
		if _, err := w.Write([]byte(files[i+1])); err != nil {
			t.Fatal(err)
		}
	}
	if err := errors.Join(w.Close(), g.Close()); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

const folder = "/.well-known/agent-skills/"

// site is a host with an index; extra are further keys of each entry.
type site struct {
	mux   *http.ServeMux
	asked atomic.Int32
}

func (s *site) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.asked.Add(1)
	s.mux.ServeHTTP(w, r)
}

func (s *site) has(at string, data []byte) {
	s.mux.HandleFunc(strings.ReplaceAll(at, " ", "%20"), func(w http.ResponseWriter, r *http.Request) {
		tag := `"` + digest(data) + `"`
		w.Header().Set("ETag", tag)
		if r.Header.Get("If-None-Match") == tag {
			w.WriteHeader(http.StatusNotModified)
			return
		}
		_, _ = w.Write(data)
	})
}

func (s *site) index(t *testing.T, entries ...map[string]any) {
	t.Helper()
	src, err := json.Marshal(map[string]any{"$schema": fetch.Schema, "skills": entries, "x": 1})
	if err != nil {
		t.Fatal(err)
	}
	s.has(folder+"index.json", src)
}

func newSite(t *testing.T) (*site, string, *fetch.WellKnown) {
	t.Helper()
	s := &site{mux: http.NewServeMux()}
	address, h := https(t, s)
	return s, strings.TrimPrefix(address, "https://"), &fetch.WellKnown{HTTP: h}
}

func TestAnIndexIsReadAndItsSkillsAreTheBytesThatItNames(t *testing.T) {
	t.Parallel()
	s, host, w := newSite(t)
	doc, zipped := []byte("---\nname: a\n---\n"), packed(t, "SKILL.md", "x", "refs/b.md", "y")
	s.has("/files/a.md", doc)
	s.has(folder+"b.tar.gz", zipped)
	s.index(
		t,
		map[string]any{"name": "a", "type": "skill-md", "description": "A.", "url": "/files/a.md", "digest": digest(doc)},
		map[string]any{"name": "b", "type": "archive", "url": "b.tar.gz", "digest": digest(zipped)},
		map[string]any{"name": "c", "type": "bundle", "url": "c", "digest": digest(doc)},
		map[string]any{"name": "lied", "type": "skill-md", "url": "/files/a.md", "digest": digest([]byte("other"))},
		map[string]any{"name": "none", "type": "skill-md", "url": "/files/a.md"},
		map[string]any{"name": "short", "type": "skill-md", "url": "/files/a.md", "digest": "sha256:abc"},
		map[string]any{"name": "gone", "type": "skill-md", "url": "/files/gone.md", "digest": digest([]byte("gone"))},
		map[string]any{"name": "user", "type": "skill-md", "url": "https://me@" + host + "/files/a.md", "digest": digest(doc)},
		map[string]any{"name": "a", "type": "skill-md", "url": "/files/a.md", "digest": digest(doc)},
		map[string]any{"name": "../up", "type": "skill-md", "url": "/files/a.md", "digest": digest(doc)},
		map[string]any{"name": "A", "type": "skill-md", "url": "/files/a.md", "digest": digest(doc)},
		map[string]any{"name": 7},
	)
	// The path has no index of its own: the host's counts.
	for _, at := range []string{host, host + "/team/x"} {
		x, err := w.Index(t.Context(), at)
		if err != nil || x.Unverified || len(x.Entries) != 7 || len(x.Notes) != 5 {
			t.Fatalf("%s: %+v %v", at, x, err)
		}
		files, failed := w.Skills(t.Context(), at, x.Entries)
		if len(files) != 2 || string(files["a"][0].Data) != string(doc) || len(files["b"]) != 2 {
			t.Errorf("files: %v", files)
		}
		for name, want := range map[string]error{"lied": fetch.ErrDigest, "none": fetch.ErrDigest, "short": fetch.ErrDigest, "gone": fetch.ErrStatus, "user": fetch.ErrUnreachable} {
			if !errors.Is(failed[name], want) {
				t.Errorf("%s: %v", name, failed[name])
			}
		}
	}
}

func TestWhatIsNoIndexOrOneOfAnotherForm(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		body string
		want error
	}{
		"a page":        {"<html>", fetch.ErrNoIndex},
		"another json":  {`{"a":1}`, fetch.ErrNoIndex},
		"a list":        {`[]`, fetch.ErrNoIndex},
		"cut off":       {`{"$schema":"` + fetch.Schema + `","skills":[`, fetch.ErrNoIndex},
		"a later form":  {`{"$schema":"https://schemas.agentskills.io/discovery/0.3.0/schema.json","skills":[{"name":"a"}]}`, fetch.ErrSchema},
		"no text":       {`{"$schema":7,"skills":[]}`, fetch.ErrSchema},
		"null":          {`{"$schema":null,"skills":[]}`, fetch.ErrSchema},
		"far too large": {`{"$schema":"` + fetch.Schema + `","skills":[` + strings.Repeat(`{},`, 10_000) + `{}]}`, fetch.ErrLimit},
		"endless":       {`{"skills":[` + strings.Repeat(" ", 5<<20) + `]}`, fetch.ErrLimit},
		"an empty list": {`{"$schema":"` + fetch.Schema + `","skills":[]}`, nil},
	} {
		s, host, w := newSite(t)
		s.has(folder+"index.json", []byte(c.body))
		if _, err := w.Index(t.Context(), host); !errors.Is(err, c.want) {
			t.Errorf("%s: %v", name, err)
		}
	}
	_, host, w := newSite(t)
	if _, err := w.Index(t.Context(), host); !errors.Is(err, fetch.ErrNoIndex) || !errors.Is(err, fetch.ErrStatus) {
		t.Errorf("nothing there: %v", err)
	}
}

func TestTheFirstFormOfAnIndexHasNothingToCompareWith(t *testing.T) {
	t.Parallel()
	s, host, w := newSite(t)
	former := "/.well-known/skills/"
	s.has(former+"index.json", []byte(`{"skills":[
		{"name":"old","description":"O.","files":["SKILL.md","refs/a b.md"]},
		{"name":"climbs","files":["SKILL.md","../../../secret"]},
		{"name":"encoded","files":["SKILL.md","..%2f..%2fsecret"]},
		{"name":"absolute","files":["SKILL.md","/etc/passwd"]},
		{"name":"elsewhere","files":["SKILL.md","https://example.com/x"]},
		{"name":"none","files":["README.md"]},
		{"name":"twice","files":["SKILL.md","skill.md"]}]}`))
	s.has(former+"old/SKILL.md", []byte("one"))
	s.has(former+"old/refs/a b.md", []byte("two"))
	s.has("/secret", []byte("secret"))
	x, err := w.Index(t.Context(), host)
	if err != nil || !x.Unverified || len(x.Entries) != 7 {
		t.Fatalf("%+v %v", x, err)
	}
	files, failed := w.Skills(t.Context(), host, x.Entries)
	if len(files) != 1 || len(files["old"]) != 2 || string(files["old"][1].Data) != "two" {
		t.Errorf("files: %v", files)
	}
	for name, want := range map[string]error{
		"climbs": archive.ErrBadEntry, "absolute": archive.ErrBadEntry, "elsewhere": archive.ErrBadEntry, "twice": archive.ErrBadEntry,
		"none": archive.ErrFormat, "encoded": fetch.ErrStatus,
	} {
		if !errors.Is(failed[name], want) {
			t.Errorf("%s: %v", name, failed[name])
		}
	}
}

func TestAllOfAnIndexLiesOnItsHostOrOnOneThatWasAllowed(t *testing.T) {
	t.Parallel()
	doc := []byte("text")
	other, far, _ := newSite(t)
	other.has("/a.md", doc)
	other.index(t)
	s, host, w := newSite(t)
	w.HTTP.Private = append(w.HTTP.Private, far)
	s.mux.Handle("/away", http.RedirectHandler("https://"+far+"/a.md", http.StatusFound))
	s.index(
		t,
		map[string]any{"name": "far", "type": "skill-md", "url": "https://" + far + "/a.md", "digest": digest(doc)},
		map[string]any{"name": "away", "type": "skill-md", "url": "/away", "digest": digest(doc)},
		map[string]any{"name": "plain", "type": "skill-md", "url": "http://" + host + "/a.md", "digest": digest(doc)},
		map[string]any{"name": "file", "type": "skill-md", "url": "file:///etc/passwd", "digest": digest(doc)},
		map[string]any{"name": "data", "type": "skill-md", "url": "data:,text", "digest": digest(doc)},
	)
	x, err := w.Index(t.Context(), host)
	if err != nil {
		t.Fatal(err)
	}
	files, failed := w.Skills(t.Context(), host, x.Entries)
	if len(files) != 0 || len(failed) != 5 || !errors.Is(failed["far"], fetch.ErrOrigin) || !errors.Is(failed["away"], fetch.ErrOrigin) || other.asked.Load() != 0 {
		t.Errorf("%v %v, the other host was asked %d times", files, failed, other.asked.Load())
	}
	w.Origins = []string{far}
	files, failed = w.Skills(t.Context(), host, x.Entries)
	if len(files) != 2 || len(failed) != 3 {
		t.Errorf("allowed: %v %v", files, failed)
	}

	// An index that has moved to another host is that host's.
	moved, from, w2 := newSite(t)
	w2.HTTP.Private = append(w2.HTTP.Private, far)
	moved.mux.Handle(folder+"index.json", http.RedirectHandler("https://"+far+folder+"index.json", http.StatusFound))
	if _, err := w2.Index(t.Context(), from); !errors.Is(err, fetch.ErrOrigin) {
		t.Errorf("moved: %v", err)
	}
	w2.Origins = []string{far}
	if x, err := w2.Index(t.Context(), from); err != nil || x.URL != "https://"+far+folder+"index.json" {
		t.Errorf("moved to where it may: %+v %v", x, err)
	}
}

func TestAnArchiveOfAnIndexIsHeldToTheRulesOfArchives(t *testing.T) {
	t.Parallel()
	s, host, w := newSite(t)
	var entries []map[string]any
	cases := map[string]struct {
		data []byte
		want error
	}{
		"link":   {packed(t, "SKILL.md", "x", "out→../../etc/passwd", ""), archive.ErrBadEntry},
		"climbs": {packed(t, "SKILL.md", "x", "../evil.txt", "y"), archive.ErrBadEntry},
		"bomb":   {packed(t, "SKILL.md", "x", "zeros", strings.Repeat("\x00", 8<<20)), archive.ErrLimit},
		"below":  {packed(t, "a/SKILL.md", "x", "a/b.md", "y", "README.md", "z"), archive.ErrFormat},
		"text":   {[]byte("no archive"), archive.ErrFormat},
	}
	for name, c := range cases {
		s.has(folder+name, c.data)
		entries = append(entries, map[string]any{"name": name, "type": "archive", "url": name, "digest": digest(c.data)})
	}
	s.index(t, entries...)
	x, err := w.Index(t.Context(), host)
	if err != nil {
		t.Fatal(err)
	}
	files, failed := w.Skills(t.Context(), host, x.Entries)
	if len(files) != 0 {
		t.Errorf("taken: %v", files)
	}
	for name, c := range cases {
		if !errors.Is(failed[name], c.want) {
			t.Errorf("%s: %v", name, failed[name])
		}
	}
}

func TestABodyThatNeverEndsIsGivenUp(t *testing.T) {
	t.Parallel()
	s, host, w := newSite(t)
	drip := func(w http.ResponseWriter, r *http.Request) {
		_, _ = w.Write([]byte("{"))
		_ = http.NewResponseController(w).Flush()
		<-r.Context().Done()
	}
	s.mux.HandleFunc(folder+"index.json", drip)
	w.HTTP.Limits.Time = 200 * time.Millisecond
	if _, err := w.Index(t.Context(), host); !errors.Is(err, fetch.ErrTimeout) {
		t.Errorf("a slow index: %v", err)
	}
	endless, at, v := newSite(t)
	endless.mux.HandleFunc(folder+"index.json", func(w http.ResponseWriter, _ *http.Request) {
		for {
			if _, err := w.Write(bytes.Repeat([]byte(" "), 64<<10)); err != nil {
				return
			}
		}
	})
	if _, err := v.Index(t.Context(), at); !errors.Is(err, fetch.ErrLimit) {
		t.Errorf("an endless index: %v", err)
	}
}

func TestWhatWasFetchedBeforeIsNotFetchedAgain(t *testing.T) {
	t.Parallel()
	s, host, w := newSite(t)
	dir := t.TempDir()
	w.HTTP.Cache = &fetch.Cache{Dir: dir}
	doc := []byte("text")
	bodies := atomic.Int32{}
	s.mux.HandleFunc("/a.md", func(w http.ResponseWriter, _ *http.Request) { bodies.Add(1); _, _ = w.Write(doc) })
	s.index(t, map[string]any{"name": "a", "type": "skill-md", "url": "/a.md", "digest": digest(doc)})
	for range 3 {
		x, err := w.Index(t.Context(), host)
		if err != nil {
			t.Fatal(err)
		}
		if files, failed := w.Skills(t.Context(), host, x.Entries); len(files) != 1 {
			t.Fatal(failed)
		}
	}
	if bodies.Load() != 1 {
		t.Errorf("the file was fetched %d times", bodies.Load())
	}
	// What does not fit its name is no answer, and what takes too much room goes.
	if _, ok := w.HTTP.Cache.Contents(digest(doc)); !ok {
		t.Fatal("it is not kept")
	}
	if err := damage(dir, digest(doc)); err != nil {
		t.Fatal(err)
	}
	if data, ok := w.HTTP.Cache.Contents(digest(doc)); ok {
		t.Errorf("damaged contents: %q", data)
	}
	w.HTTP.Cache.Most = 10
	x, err := w.Index(t.Context(), host)
	if err != nil {
		t.Fatal(err)
	}
	if files, failed := w.Skills(t.Context(), host, x.Entries); len(files) != 1 || bodies.Load() != 2 {
		t.Errorf("%v %v, fetched %d times", files, failed, bodies.Load())
	}
	if n := size(t, dir); n > 10 {
		t.Errorf("%d bytes are kept", n)
	}
}

func FuzzIndex(f *testing.F) {
	f.Add([]byte(`{"$schema":"`+fetch.Schema+`","skills":[{"name":"a","type":"skill-md","url":"../a","digest":"sha256:`+strings.Repeat("0", 64)+`"}]}`), "https://h/x/index.json")
	f.Add([]byte(`{"skills":[{"name":"a","files":["SKILL.md"]},{"name":7},null]}`), "https://h/")
	f.Add([]byte(`{"$schema":null}`), ":")
	f.Fuzz(func(t *testing.T, src []byte, from string) {
		x, err := fetch.ReadIndex(src, from)
		if (x == nil) == (err == nil) {
			t.Fatalf("%v %v", x, err)
		}
		if err != nil {
			return
		}
		seen := map[string]bool{}
		for _, e := range x.Entries {
			if e.Name == "" || strings.ContainsAny(e.Name, "/\\") || e.Name == ".." || seen[e.Name] {
				t.Fatalf("the name %q", e.Name)
			}
			seen[e.Name] = true
			if e.Err == nil && !x.Unverified && len(e.Digest) != len("sha256:")+64 {
				t.Fatalf("the digest %q", fmt.Sprint(e))
			}
		}
	})
}
