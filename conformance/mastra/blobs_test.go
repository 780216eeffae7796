package mastra

import (
	"errors"
	"io/fs"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/deftskills/deft/internal/s3test"
	"github.com/deftskills/deft/skill"
	"github.com/deftskills/deft/store/blobs"
	"github.com/deftskills/deft/store/blobs3"
)

// backend is one kind of store of blobs.
type backend struct {
	name   string
	open   func(t *testing.T) blobs.Store
	server bool // one for several machines, as its database is
}

// backends are those of this machine; a real gateway is one of them where it was built for
// the tests.
func backends() []backend {
	list := []backend{
		{"memory", func(*testing.T) blobs.Store { return blobs.NewMemory() }, false},
		{"folder", func(t *testing.T) blobs.Store { return &blobs.Dir{Path: t.TempDir()} }, false},
		{"bucket", func(t *testing.T) blobs.Store { return inBucket(t, s3test.InProcess(t)) }, true},
	}
	if os.Getenv("DEFT_TEST_VERSITYGW") != "" || os.Getenv("DEFT_TEST_FULL") != "" {
		list = append(list, backend{"gateway", func(t *testing.T) blobs.Store { return inBucket(t, s3test.Gateway(t)) }, true})
	}
	return list
}

func inBucket(t *testing.T, b *s3test.Bucket) blobs.Store {
	t.Helper()
	s, err := blobs3.Open(b.Address, blobs3.Options{Env: b.Env, Patience: time.Minute})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return s
}

// onEach runs a line on every store of blobs.
func onEach(t *testing.T, f func(t *testing.T, s blobs.Store)) {
	t.Helper()
	for _, p := range backends() {
		t.Run(p.name, func(t *testing.T) {
			t.Parallel()
			f(t, p.open(t))
		})
	}
}

func put(t *testing.T, s blobs.Store, content string) skill.Digest {
	t.Helper()
	d, err := s.Put(t.Context(), []byte(content))
	if err != nil {
		t.Fatal(err)
	}
	return d
}

// stored lists a store.
func stored(t *testing.T, s blobs.Store) []skill.Digest {
	t.Helper()
	list, err := s.List(t.Context(), "", 1000)
	if err != nil {
		t.Fatal(err)
	}
	var out []skill.Digest
	for _, i := range list {
		out = append(out, i.Digest)
	}
	return out
}

func TestB011_PutThenGet(t *testing.T) {
	t.Parallel()
	onEach(t, func(t *testing.T, s blobs.Store) {
		for _, content := range []string{"text", "", png} {
			got, err := s.Get(t.Context(), put(t, s, content))
			want(t, "content, error", []any{string(got) == content, err}, []any{true, nil})
		}
	})
}

func TestB012_TheFirstOfAHashStays(t *testing.T) {
	t.Parallel()
	onEach(t, func(t *testing.T, s blobs.Store) {
		first := put(t, s, "text")
		was, err := s.List(t.Context(), "", 10)
		again := put(t, s, "text")
		now, err2 := s.List(t.Context(), "", 10)
		want(t, "hash, list, errors", []any{again, now, err, err2}, []any{first, was, nil, nil})
	})
}

func TestB013_GetOfAMissingHash(t *testing.T) {
	t.Parallel()
	onEach(t, func(t *testing.T, s blobs.Store) {
		d := skill.FileDigest([]byte("gone"))
		got, err := s.Get(t.Context(), d)
		want(t, "content, not found, names it", []any{len(got), errors.Is(err, blobs.ErrMissing), errors.Is(err, fs.ErrNotExist), strings.Contains(err.Error(), string(d))}, []any{0, true, true, true})
	})
}

func TestB014_Has(t *testing.T) {
	t.Parallel()
	onEach(t, func(t *testing.T, s blobs.Store) {
		yes, err := s.Has(t.Context(), put(t, s, "text"))
		no, err2 := s.Has(t.Context(), skill.FileDigest([]byte("gone")))
		want(t, "has, errors", []any{yes, no, err, err2}, []any{true, false, nil, nil})
	})
}

func TestB015_DeleteOfAStoredHash(t *testing.T) {
	t.Parallel()
	onEach(t, func(t *testing.T, s blobs.Store) {
		d := put(t, s, "text")
		was, err := s.Delete(t.Context(), d)
		has, err2 := s.Has(t.Context(), d)
		want(t, "was there, is there, errors", []any{was, has, err, err2}, []any{true, false, nil, nil})
	})
}

func TestB016_DeleteOfAMissingHash(t *testing.T) {
	t.Parallel()
	onEach(t, func(t *testing.T, s blobs.Store) {
		was, err := s.Delete(t.Context(), skill.FileDigest([]byte("gone")))
		want(t, "was there, error", []any{was, err}, []any{false, nil})
	})
}

func TestB017_PutManyStoresAll(t *testing.T) {
	t.Parallel()
	onEach(t, func(t *testing.T, s blobs.Store) {
		all := map[skill.Digest][]byte{}
		for _, content := range []string{"a", "b", png} {
			all[skill.FileDigest([]byte(content))] = []byte(content)
		}
		err := blobs.PutMany(t.Context(), s, all)
		got, err2 := blobs.GetMany(t.Context(), s, stored(t, s))
		want(t, "contents, errors", []any{got, err, err2}, []any{all, nil, nil})
	})
}

func TestB018_GetManyLeavesOutMissingOnes(t *testing.T) {
	t.Parallel()
	onEach(t, func(t *testing.T, s blobs.Store) {
		d := put(t, s, "a")
		got, err := blobs.GetMany(t.Context(), s, []skill.Digest{skill.FileDigest([]byte("gone")), d})
		want(t, "contents, error", []any{got, err}, []any{map[skill.Digest][]byte{d: []byte("a")}, nil})
	})
}

func TestB019_ClearLeavesNothing(t *testing.T) {
	t.Parallel()
	onEach(t, func(t *testing.T, s blobs.Store) {
		for _, content := range []string{"a", "b", "c"} {
			put(t, s, content)
		}
		for _, d := range stored(t, s) {
			if ok, err := s.Delete(t.Context(), d); !ok || err != nil {
				t.Fatal(ok, err)
			}
		}
		want(t, "list", len(stored(t, s)), 0)
	})
}
