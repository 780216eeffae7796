package fetch_test

import (
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// damage changes what is kept under a digest.
func damage(dir, digest string) error {
	return os.WriteFile(filepath.Join(dir, strings.TrimPrefix(digest, "sha256:")), []byte("other"), 0o600)
}

func size(t *testing.T, dir string) (n int64) {
	t.Helper()
	err := filepath.WalkDir(dir, func(_ string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return err
		}
		info, err := e.Info()
		if err == nil {
			n += info.Size()
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return n
}
