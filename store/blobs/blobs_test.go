package blobs_test

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/deftskills/deft/skill"
	"github.com/deftskills/deft/store/blobs"
	"github.com/deftskills/deft/store/blobs/blobstest"
)

func TestFoldersKeepTheContract(t *testing.T) {
	t.Parallel()
	blobstest.Run(t, func(t *testing.T) blobstest.Subject {
		s := &blobs.Dir{Path: filepath.Join(t.TempDir(), "blobs")}
		return blobstest.Subject{Store: s, Spoil: func(t *testing.T, d skill.Digest, with []byte) { spoil(t, s, d, with) }}
	})
}

func TestMemoryKeepsTheContract(t *testing.T) {
	t.Parallel()
	blobstest.Run(t, func(*testing.T) blobstest.Subject { return blobstest.Subject{Store: blobs.NewMemory()} })
}

func file(s *blobs.Dir, d skill.Digest) string {
	hex := strings.TrimPrefix(string(d), "sha256:")
	return filepath.Join(s.Path, "sha256", hex[:2], hex[2:])
}

// spoil has the file of d hold other bytes.
func spoil(t *testing.T, s *blobs.Dir, d skill.Digest, with []byte) {
	t.Helper()
	if err := os.Remove(file(s, d)); err != nil && !errors.Is(err, fs.ErrNotExist) {
		t.Fatal(err)
	}
	if err := os.WriteFile(file(s, d), with, 0o600); err != nil {
		t.Fatal(err)
	}
}

func TestADamagedFileIsSetAside(t *testing.T) {
	t.Parallel()
	s := &blobs.Dir{Path: t.TempDir(), Aside: filepath.Join(t.TempDir(), "damaged")}
	d, err := s.Put(t.Context(), []byte("good"))
	if err != nil {
		t.Fatal(err)
	}
	if info, err := os.Stat(file(s, d)); err != nil || info.Mode().Perm() != 0o444 {
		t.Fatalf("%v %v", info, err)
	}
	spoil(t, s, d, []byte("goof"))
	if b, err := s.Get(t.Context(), d); !errors.Is(err, blobs.ErrDamaged) || b != nil {
		t.Errorf("%q %v", b, err)
	}
	if b, err := os.ReadFile(filepath.Join(s.Aside, "blob-"+strings.TrimPrefix(string(d), "sha256:"))); err != nil || string(b) != "goof" {
		t.Errorf("set aside: %q %v", b, err)
	}
	if _, err := s.Get(t.Context(), d); !errors.Is(err, blobs.ErrMissing) {
		t.Errorf("%v", err)
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
