//go:build unix

package skill

import (
	"context"
	"errors"
	"path/filepath"
	"testing"

	"golang.org/x/sys/unix"
)

func TestTreeRefusesFIFOWithoutOpeningIt(t *testing.T) {
	t.Parallel()
	dir, fsys := onDisk(t, map[string]string{"SKILL.md": "s"})
	if err := unix.Mkfifo(filepath.Join(dir, "pipe"), 0o644); err != nil {
		t.Fatal(err)
	}
	_, _, err := TreeDigest(context.Background(), fsys)
	var te *TreeError
	if !errors.As(err, &te) || te.Diagnostic.Code != "tree_special" {
		t.Fatal(err)
	}
}
