package blobs

import (
	"os"
	"path/filepath"
	"time"

	"github.com/deftskills/deft/internal/atomicfile"
)

// Sweep removes what processes that were killed had only begun to write, if it was last
// written before a time.
func (s *Dir) Sweep(before time.Time) {
	heads, _ := os.ReadDir(filepath.Join(s.Path, "sha256")) // what can't be read stays for the next time
	for _, head := range heads {
		atomicfile.Sweep(filepath.Join(s.Path, "sha256", head.Name()), before)
	}
}
