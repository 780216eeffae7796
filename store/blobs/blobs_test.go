package blobs_test

import (
	"bytes"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/deftskills/deft/skill"
	"github.com/deftskills/deft/source"
	"github.com/deftskills/deft/store/blobs"
)

func each(t *testing.T, f func(t *testing.T, s blobs.Store)) {
	t.Run("folder", func(t *testing.T) { t.Parallel(); f(t, &blobs.Dir{Path: t.TempDir()}) })
	t.Run("memory", func(t *testing.T) { t.Parallel(); f(t, blobs.NewMemory()) })
}

func TestContentsComeBackByTheirDigest(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, s blobs.Store) {
		ctx := t.Context()
		for _, b := range [][]byte{nil, []byte("a"), []byte("\x00\xff\r\n"), bytes.Repeat([]byte("x"), 1<<20)} {
			d, err := s.Put(ctx, b)
			if err != nil || d != skill.FileDigest(b) {
				t.Fatalf("%s %v", d, err)
			}
			if again, err := s.Put(ctx, b); err != nil || again != d {
				t.Errorf("a second time: %s %v", again, err)
			}
			got, err := s.Get(ctx, d)
			if err != nil || !bytes.Equal(got, b) {
				t.Errorf("%d bytes, %v", len(got), err)
			}
			if ok, err := s.Has(ctx, d); !ok || err != nil {
				t.Errorf("has: %v %v", ok, err)
			}
		}
		list, err := s.List(ctx, "", 10)
		if err != nil || len(list) != 4 || list[0].Digest > list[1].Digest {
			t.Fatalf("%v %v", list, err)
		}
		if rest, err := s.List(ctx, list[1].Digest, 1); err != nil || len(rest) != 1 || rest[0].Digest != list[2].Digest {
			t.Errorf("the next: %v %v", rest, err)
		}
		if ok, err := s.Delete(ctx, list[0].Digest); !ok || err != nil {
			t.Errorf("delete: %v %v", ok, err)
		}
		if ok, err := s.Delete(ctx, list[0].Digest); ok || err != nil {
			t.Errorf("delete what is gone: %v %v", ok, err)
		}
		if _, err := s.Get(ctx, list[0].Digest); !errors.Is(err, blobs.ErrMissing) || !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("missing: %v", err)
		}
		for _, bad := range []skill.Digest{"", "sha256:", "md5:00", "sha256:" + skill.Digest(strings.Repeat("A", 64)), "sha256:../../etc"} {
			if _, err := s.Get(ctx, bad); !errors.Is(err, blobs.ErrDigest) {
				t.Errorf("%q: %v", bad, err)
			}
		}
		if _, err := s.Put(ctx, make([]byte, blobs.MaxSize+1)); !errors.Is(err, blobs.ErrTooLarge) {
			t.Errorf("too large: %v", err)
		}
	})
}

func TestManyAreKeptOnlyIfEachIsWhatItsKeySays(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, s blobs.Store) {
		good := []byte("good")
		d, other := skill.FileDigest(good), skill.FileDigest([]byte("other"))
		if err := blobs.PutMany(t.Context(), s, map[skill.Digest][]byte{d: good, other: []byte("wrong")}); !errors.Is(err, blobs.ErrDamaged) {
			t.Errorf("%v", err)
		}
		if ok, err := s.Has(t.Context(), d); ok || err != nil {
			t.Errorf("one of them was kept: %v %v", ok, err)
		}
		if err := blobs.PutMany(t.Context(), s, map[skill.Digest][]byte{d: good}); err != nil {
			t.Fatal(err)
		}
		got, err := blobs.GetMany(t.Context(), s, []skill.Digest{d, other})
		if err != nil || len(got) != 1 || string(got[d]) != "good" {
			t.Errorf("%v %v", got, err)
		}
	})
}

func TestDamagedBytesAreNeverServed(t *testing.T) {
	t.Parallel()
	s := &blobs.Dir{Path: t.TempDir(), Aside: filepath.Join(t.TempDir(), "damaged")}
	d, err := s.Put(t.Context(), []byte("good"))
	if err != nil {
		t.Fatal(err)
	}
	hex := strings.TrimPrefix(string(d), "sha256:")
	file := filepath.Join(s.Path, "sha256", hex[:2], hex[2:])
	if info, err := os.Stat(file); err != nil || info.Mode().Perm() != 0o444 {
		t.Fatalf("%v %v", info, err)
	}
	spoil := func() {
		t.Helper()
		if err := os.Remove(file); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte("goof"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	spoil()
	if _, err := s.Put(t.Context(), []byte("good")); err != nil {
		t.Fatal(err)
	}
	if b, err := s.Get(t.Context(), d); err != nil || string(b) != "good" {
		t.Errorf("after it was put again: %q %v", b, err)
	}
	spoil()
	if b, err := s.Get(t.Context(), d); !errors.Is(err, blobs.ErrDamaged) || !errors.Is(err, source.ErrDamaged) || b != nil {
		t.Errorf("%q %v", b, err)
	}
	if _, err := os.Stat(filepath.Join(s.Aside, "blob-"+hex)); err != nil {
		t.Errorf("set aside: %v", err)
	}
}

func TestATreeComesBackByItsDigest(t *testing.T) {
	t.Parallel()
	trees := blobs.Trees{Path: filepath.Join(t.TempDir(), "trees")}
	tree := skill.Tree{{Path: "SKILL.md", Blob: skill.FileDigest([]byte("s")), Size: 1}, {Path: "run.sh", Blob: skill.FileDigest(nil), Exec: true}}
	d, err := trees.Put(t.Context(), tree)
	if err != nil {
		t.Fatal(err)
	}
	got, err := trees.Get(t.Context(), d)
	if err != nil || len(got) != 2 || got[1] != tree[1] {
		t.Errorf("%v %v", got, err)
	}
	if _, err := trees.Get(t.Context(), skill.FileDigest([]byte("none"))); !errors.Is(err, blobs.ErrMissing) {
		t.Errorf("missing: %v", err)
	}
	file := filepath.Join(trees.Path, strings.TrimPrefix(string(d), "sha256:")+".json")
	if err := os.Remove(file); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, []byte(`[{"Path":"other"}]`), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := trees.Get(t.Context(), d); !errors.Is(err, blobs.ErrDamaged) {
		t.Errorf("damaged: %v", err)
	}
}
