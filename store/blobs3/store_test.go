package blobs3_test

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/deftskills/deft/internal/s3test"
	"github.com/deftskills/deft/skill"
	"github.com/deftskills/deft/store/blobs"
	"github.com/deftskills/deft/store/blobs/blobstest"
	"github.com/deftskills/deft/store/blobs3"
)

// open waits as long as a loaded machine may need, and hardly between tries.
func open(t testing.TB, b *s3test.Bucket, patience time.Duration) *blobs3.Store {
	t.Helper()
	s, err := blobs3.Open(b.Address, blobs3.Options{Env: b.Env, Patience: patience, Backoff: time.Millisecond})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	return s
}

func key(d skill.Digest) string {
	hex := strings.TrimPrefix(string(d), "sha256:")
	return "sha256/" + hex[:2] + "/" + hex[2:]
}

func TestBucketsKeepTheContract(t *testing.T) {
	t.Parallel()
	s3test.Each(t, func(t *testing.T, bucket func(testing.TB) *s3test.Bucket) {
		blobstest.Run(t, func(t *testing.T) blobstest.Subject {
			b := bucket(t)
			return blobstest.Subject{Store: open(t, b, time.Minute), Spoil: func(t *testing.T, d skill.Digest, with []byte) { b.Write(t, key(d), with) }}
		})
	})
}

func TestObjectsHaveThePrefixOfTheAddressAndTheNameOfTheirDigest(t *testing.T) {
	t.Parallel()
	s3test.Each(t, func(t *testing.T, bucket func(testing.TB) *s3test.Bucket) {
		b := bucket(t)
		s := open(t, b, time.Minute)
		d, err := s.Put(t.Context(), []byte("a"))
		if err != nil {
			t.Fatal(err)
		}
		// What others keep beside it is not listed.
		b.Write(t, "sha256/zz/none", nil)
		b.Write(t, "sha256/short", nil)
		b.Write(t, "other", nil)
		if keys := b.Keys(t); len(keys) != 4 || keys[1] != key(d) {
			t.Errorf("%q, want %q", keys, key(d))
		}
		if list, err := s.List(t.Context(), "", 10); err != nil || len(list) != 1 || list[0].Digest != d || list[0].Size != 1 || list[0].At == 0 {
			t.Errorf("%v %v", list, err)
		}
	})
}

func TestAPutOfWhatIsThereSendsItOnceAndReadsIt(t *testing.T) {
	t.Parallel()
	s3test.Each(t, func(t *testing.T, bucket func(testing.TB) *s3test.Bucket) {
		b := bucket(t)
		if b.Proxy == nil {
			return
		}
		s := open(t, b, time.Minute)
		var served []string
		for range 2 {
			d, err := s.Put(t.Context(), []byte("a"))
			if err != nil {
				t.Fatal(err)
			}
			for _, request := range b.Proxy.Served() {
				served = append(served, strings.TrimSuffix(request, key(d)))
			}
		}
		a, err := blobs3.ParseAddress(b.Address)
		if want := []string{"PUT /" + a.Bucket + "/" + a.Prefix, "PUT /" + a.Bucket + "/" + a.Prefix, "GET /" + a.Bucket + "/" + a.Prefix}; err != nil || !slices.Equal(served, want) {
			t.Errorf("%q, want %q; %v", served, want, err)
		}
	})
}

func TestARefusalThatEndsTheConnectionIsSeen(t *testing.T) {
	t.Parallel()
	s3test.Each(t, func(t *testing.T, bucket func(testing.TB) *s3test.Bucket) {
		b := bucket(t)
		if b.Proxy == nil {
			return
		}
		s := open(t, b, time.Minute)
		text := make([]byte, 1<<20)
		if _, err := s.Put(t.Context(), text); err != nil {
			t.Fatal(err)
		}
		// What is there the server refuses at once; the sender, still sending, sees only the end.
		b.Proxy.Fail(func(w http.ResponseWriter, r *http.Request, next http.Handler) {
			if r.Method == http.MethodPut {
				s3test.Cut(w, r, 1<<10)
				return
			}
			next.ServeHTTP(w, r)
		})
		if d, err := s.Put(t.Context(), text); err != nil || d != skill.FileDigest(text) {
			t.Errorf("%s %v", d, err)
		}
		if _, err := s.Put(t.Context(), []byte("not there")); !errors.Is(err, blobs.ErrUnavailable) {
			t.Errorf("what is not there: %v", err)
		}
	})
}

func TestAListIsLongerThanAPageOfTheServer(t *testing.T) {
	t.Parallel()
	b := s3test.InProcess(t)
	s := open(t, b, time.Minute)
	all := map[skill.Digest][]byte{}
	for i := range 1005 {
		text := fmt.Appendf(nil, "%d", i)
		all[skill.FileDigest(text)] = text
	}
	if err := blobs.PutMany(t.Context(), s, all); err != nil {
		t.Fatal(err)
	}
	list, err := s.List(t.Context(), "", 2000)
	if err != nil || len(list) != len(all) {
		t.Errorf("%d of %d, %v", len(list), len(all), err)
	}
}

// fault is what goes wrong with a request on its way.
type fault struct {
	name   string
	method string // of the requests that it meets
	least  int64  // requests that have to meet it, the one that succeeds among them
	does   func(w http.ResponseWriter, r *http.Request, next http.Handler)
}

func passingFaults() []fault {
	return []fault{
		{"upload cut in its middle", http.MethodPut, 3, func(w http.ResponseWriter, r *http.Request, _ http.Handler) { s3test.Cut(w, r, 1<<16) }},
		// It has been done: the next look finds it.
		{"connection cut before the answer", http.MethodPut, 1, func(w http.ResponseWriter, r *http.Request, next http.Handler) { s3test.CutAnswer(w, r, next, 0) }},
		{"busy server for a put", http.MethodPut, 3, func(w http.ResponseWriter, _ *http.Request, _ http.Handler) { s3test.Busy(w) }},
		{"busy server for a get", http.MethodGet, 3, func(w http.ResponseWriter, _ *http.Request, _ http.Handler) { s3test.Busy(w) }},
		{"download cut in its middle", http.MethodGet, 3, func(w http.ResponseWriter, r *http.Request, next http.Handler) {
			s3test.CutAnswer(w, r, next, 1<<16)
		}},
		{"bad gateway", http.MethodGet, 3, func(w http.ResponseWriter, _ *http.Request, _ http.Handler) { w.WriteHeader(http.StatusBadGateway) }},
	}
}

func TestWhatFailsForAWhileIsTriedAgain(t *testing.T) {
	t.Parallel()
	s3test.Each(t, func(t *testing.T, bucket func(testing.TB) *s3test.Bucket) {
		for _, f := range passingFaults() {
			t.Run(f.name, func(t *testing.T) {
				t.Parallel()
				b := bucket(t)
				if b.Proxy == nil {
					return // nothing stands before a bucket that was given
				}
				s := open(t, b, time.Minute)
				text := make([]byte, 1<<20)
				_, _ = rand.Read(text)
				var met atomic.Int64
				b.Proxy.Fail(func(w http.ResponseWriter, r *http.Request, next http.Handler) {
					if r.Method == f.method && met.Add(1) <= 2 {
						f.does(w, r, next)
						return
					}
					next.ServeHTTP(w, r)
				})
				d, err := s.Put(t.Context(), text)
				if err != nil {
					t.Fatal(err)
				}
				got, err := s.Get(t.Context(), d)
				if err != nil || skill.FileDigest(got) != d || met.Load() < f.least {
					t.Errorf("%d bytes after %d requests, %v", len(got), met.Load(), err)
				}
			})
		}
	})
}

func TestAnUploadThatIsCutLeavesNothing(t *testing.T) {
	t.Parallel()
	s3test.Each(t, func(t *testing.T, bucket func(testing.TB) *s3test.Bucket) {
		b := bucket(t)
		if b.Proxy == nil {
			return
		}
		s := open(t, b, time.Minute)
		b.Proxy.Fail(func(w http.ResponseWriter, r *http.Request, next http.Handler) {
			// The server sees the begin, and then the end of the connection.
			begin := r.Clone(r.Context())
			begin.Body = io.NopCloser(io.MultiReader(io.LimitReader(r.Body, 1<<16), broken{}))
			next.ServeHTTP(discard{}, begin)
			s3test.Cut(w, r, 0)
		})
		if _, err := s.Put(t.Context(), make([]byte, 1<<20)); !errors.Is(err, blobs.ErrUnavailable) {
			t.Errorf("%v", err)
		}
		b.Proxy.Fail(nil)
		if list, err := s.List(t.Context(), "", 10); err != nil || len(list) != 0 {
			t.Errorf("left: %v, %v", list, err)
		}
	})
}

type broken struct{}

func (broken) Read([]byte) (int, error) { return 0, io.ErrUnexpectedEOF }

type discard struct{}

func (discard) Header() http.Header         { return http.Header{} }
func (discard) Write(b []byte) (int, error) { return len(b), nil }
func (discard) WriteHeader(int)             {}

func TestOtherBytesOnTheWayAreNeverServed(t *testing.T) {
	t.Parallel()
	s3test.Each(t, func(t *testing.T, bucket func(testing.TB) *s3test.Bucket) {
		b := bucket(t)
		if b.Proxy == nil {
			return
		}
		s := open(t, b, time.Minute)
		d, err := s.Put(t.Context(), []byte("good"))
		if err != nil {
			t.Fatal(err)
		}
		b.Proxy.Fail(s3test.Change)
		if got, err := s.Get(t.Context(), d); !errors.Is(err, blobs.ErrDamaged) || got != nil || !strings.Contains(err.Error(), string(d)) {
			t.Errorf("%q %v", got, err)
		}
		b.Proxy.Fail(nil)
		if got, err := s.Get(t.Context(), d); err != nil || string(got) != "good" {
			t.Errorf("the bucket's own: %q %v", got, err)
		}
	})
}

func TestWhatWasChangedOnItsWayUpIsNotKept(t *testing.T) {
	t.Parallel()
	b := s3test.Gateway(t) // the one in process believes what comes
	s := open(t, b, time.Minute)
	b.Proxy.Fail(func(w http.ResponseWriter, r *http.Request, next http.Handler) {
		if r.Method == http.MethodPut {
			text, _ := io.ReadAll(r.Body)
			text[0] ^= 1
			r.Body = io.NopCloser(strings.NewReader(string(text)))
		}
		next.ServeHTTP(w, r)
	})
	if _, err := s.Put(t.Context(), []byte("good")); err == nil {
		t.Error("no error")
	}
	if keys := b.Keys(t); len(keys) != 0 {
		t.Errorf("kept: %q", keys)
	}
}

func TestAServerThatStaysBusyIsAskedFourTimesAndNamed(t *testing.T) {
	t.Parallel()
	b := s3test.InProcess(t)
	s := open(t, b, time.Minute)
	b.Proxy.Fail(func(w http.ResponseWriter, _ *http.Request, _ http.Handler) { s3test.Busy(w) })
	_, err := s.Get(t.Context(), skill.FileDigest(nil))
	if n := len(b.Proxy.Served()); n != 4 || !errors.Is(err, blobs.ErrUnavailable) || !strings.Contains(err.Error(), "s3://") || !strings.Contains(err.Error(), "SlowDown") {
		t.Errorf("%d requests, %v", n, err)
	}
	if strings.Contains(err.Error(), b.Env("AWS_SECRET_ACCESS_KEY")) {
		t.Errorf("it tells the secret: %v", err)
	}
}

func TestAServerThatRefusesIsAskedOnce(t *testing.T) {
	t.Parallel()
	b := s3test.Gateway(t)
	env := func(name string) string {
		if name == "AWS_SECRET_ACCESS_KEY" {
			return "wrong"
		}
		return b.Env(name)
	}
	s, err := blobs3.Open(b.Address, blobs3.Options{Env: env, Patience: time.Minute, Backoff: time.Millisecond})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	_, err = s.Put(t.Context(), []byte("a"))
	if n := len(b.Proxy.Served()); n != 1 || !errors.Is(err, blobs.ErrUnavailable) || !strings.Contains(err.Error(), "SignatureDoesNotMatch") {
		t.Errorf("%d requests, %v", n, err)
	}
}

func TestAServerThatSaysNothingIsGivenUp(t *testing.T) {
	t.Parallel()
	b := s3test.InProcess(t)
	s := open(t, b, 50*time.Millisecond)
	stalled := make(chan struct{})
	b.Proxy.Fail(func(w http.ResponseWriter, r *http.Request, _ http.Handler) { <-stalled })
	defer close(stalled)
	if _, err := s.Get(t.Context(), skill.FileDigest(nil)); !errors.Is(err, blobs.ErrUnavailable) {
		t.Errorf("%v", err)
	}
	if n := len(b.Proxy.Served()); n != 1 {
		t.Errorf("it was asked %d times", n)
	}
}

func TestADownloadThatStopsIsGivenUp(t *testing.T) {
	t.Parallel()
	b := s3test.InProcess(t)
	d, err := open(t, b, time.Minute).Put(t.Context(), make([]byte, 1000))
	if err != nil {
		t.Fatal(err)
	}
	stalled := make(chan struct{})
	defer close(stalled)
	b.Proxy.Fail(func(w http.ResponseWriter, _ *http.Request, _ http.Handler) {
		w.Header().Set("Content-Length", "1000")
		w.Header().Set("Last-Modified", time.Unix(0, 0).UTC().Format(http.TimeFormat))
		_, _ = w.Write(make([]byte, 10))
		_ = http.NewResponseController(w).Flush()
		<-stalled
	})
	if _, err := open(t, b, 50*time.Millisecond).Get(t.Context(), d); !errors.Is(err, blobs.ErrUnavailable) {
		t.Errorf("%v", err)
	}
}

func TestASlowAnswerThatGoesOnIsWaitedFor(t *testing.T) {
	t.Parallel()
	b := s3test.InProcess(t)
	s := open(t, b, time.Minute)
	d, err := s.Put(t.Context(), make([]byte, 1000))
	if err != nil {
		t.Fatal(err)
	}
	b.Proxy.Fail(func(w http.ResponseWriter, r *http.Request, next http.Handler) {
		next.ServeHTTP(&slow{ResponseWriter: w}, r)
	})
	if got, err := s.Get(t.Context(), d); err != nil || len(got) != 1000 {
		t.Errorf("%d bytes, %v", len(got), err)
	}
}

// slow sends an answer in small pieces, each on its own.
type slow struct{ http.ResponseWriter }

func (s *slow) Write(b []byte) (n int, err error) {
	for n < len(b) && err == nil {
		var m int
		m, err = s.ResponseWriter.Write(b[n:min(n+10, len(b))])
		n += m
		_ = http.NewResponseController(s.ResponseWriter).Flush()
	}
	return n, err
}

func TestACancelledCallDoesNotWait(t *testing.T) {
	t.Parallel()
	b := s3test.InProcess(t)
	s := open(t, b, time.Minute)
	ctx, cancel := context.WithCancel(t.Context())
	stalled := make(chan struct{})
	defer close(stalled)
	b.Proxy.Fail(func(http.ResponseWriter, *http.Request, http.Handler) { cancel(); <-stalled })
	if _, err := s.Put(ctx, []byte("a")); !errors.Is(err, context.Canceled) {
		t.Errorf("%v", err)
	}
}

func TestABucketThatIsNotThereIsNamed(t *testing.T) {
	t.Parallel()
	s3test.Each(t, func(t *testing.T, bucket func(testing.TB) *s3test.Bucket) {
		b := bucket(t)
		if b.Proxy == nil {
			return
		}
		a, err := blobs3.ParseAddress(b.Address)
		if err != nil {
			t.Fatal(err)
		}
		a.Bucket = "none"
		s, err := blobs3.Open(a.String(), blobs3.Options{Env: b.Env, Patience: time.Minute, Backoff: time.Millisecond})
		if err != nil {
			t.Fatal(err)
		}
		defer s.Close()
		_, put := s.Put(t.Context(), []byte("a"))
		_, get := s.Get(t.Context(), skill.FileDigest([]byte("a")))
		_, list := s.List(t.Context(), "", 1)
		for _, err := range []error{put, get, list} {
			if !errors.Is(err, blobs.ErrUnavailable) || !strings.Contains(err.Error(), "NoSuchBucket") {
				t.Errorf("%v", err)
			}
		}
	})
}

func TestAServerWithoutConditionsGetsAPlainPut(t *testing.T) {
	t.Parallel()
	b := s3test.InProcess(t)
	s := open(t, b, time.Minute)
	b.Proxy.Fail(func(w http.ResponseWriter, r *http.Request, next http.Handler) {
		if r.Header.Get("If-None-Match") != "" {
			w.WriteHeader(http.StatusNotImplemented)
			return
		}
		next.ServeHTTP(w, r)
	})
	for range 2 {
		if _, err := s.Put(t.Context(), []byte("a")); err != nil {
			t.Fatal(err)
		}
	}
	if keys := b.Keys(t); len(keys) != 1 {
		t.Errorf("%q", keys)
	}
}

func TestAnAddressOfABucket(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]blobs3.Address{
		"s3://skills":                                {Bucket: "skills"},
		"s3://skills/":                               {Bucket: "skills"},
		"s3://skills?region=eu-central-1":            {Bucket: "skills", Region: "eu-central-1"},
		"s3://my.bucket?endpoint=minio.local:9000":   {Bucket: "my.bucket", Endpoint: "minio.local:9000"},
		"s3://b-1?endpoint=http://[::1]:1&prefix=a/": {Bucket: "b-1", Endpoint: "http://[::1]:1", Prefix: "a/"},
	} {
		got, err := blobs3.ParseAddress(text)
		if err != nil || got != want {
			t.Errorf("%s: %+v, %v", text, got, err)
		}
		if again, err := blobs3.ParseAddress(got.String()); err != nil || again != got {
			t.Errorf("%s: its own words %s are read as %+v, %v", text, got, again, err)
		}
	}
	for _, text := range []string{
		"", "s3:", "s3://", "skills", "file:/x", "s3://UPPER", "s3://a", "s3://key:hush@skills", "s3://hush@skills", "s3://skills/folder", "s3://skills:80",
		"s3://skills#x", "s3://skills?secret=hush", "s3://skills?region=a&region=b", "s3://skills?prefix=/a", "s3://skills?prefix=a/../b/",
		"s3://skills?prefix=a%00", "s3://skills?endpoint=ftp://x", "s3://skills?endpoint=https://key:hush@x", "s3://skills?endpoint=https://x/path",
		"s3://skills?endpoint=https://x?hush", "s3://skills?%zz", "s3://192.168.1.1",
	} {
		_, err := blobs3.ParseAddress(text)
		if !errors.Is(err, blobs.ErrDSN) {
			t.Errorf("%q: %v", text, err)
		}
		if strings.Contains(fmt.Sprint(err), "hush") {
			t.Errorf("%q: the error tells a secret: %v", text, err)
		}
	}
	half := func(name string) string { return map[string]string{"AWS_ACCESS_KEY_ID": "id"}[name] }
	if _, err := blobs3.Open("s3://skills", blobs3.Options{Env: half}); !errors.Is(err, blobs.ErrDSN) || !strings.Contains(err.Error(), "AWS_SECRET_ACCESS_KEY") {
		t.Errorf("%v", err)
	}
}

func TestTheAddressGoesBeforeTheEnvironment(t *testing.T) {
	t.Parallel()
	env := func(name string) string {
		return map[string]string{"AWS_REGION": "eu-west-1", "AWS_ENDPOINT_URL": "https://general.example", "AWS_ENDPOINT_URL_S3": "https://s3.example"}[name]
	}
	for text, want := range map[string]string{
		"s3://skills": "s3://skills?endpoint=https%3A%2F%2Fs3.example&region=eu-west-1",
		"s3://skills?region=us-west-2&endpoint=own.example": "s3://skills?endpoint=own.example&region=us-west-2",
	} {
		s, err := blobs3.Open(text, blobs3.Options{Env: env})
		if err != nil || s.String() != want {
			t.Errorf("%s: %s, %v", text, s, err)
		}
	}
}
