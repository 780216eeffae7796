package atomicfile

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/deftskills/deft/internal/fault"
)

// Swap puts the folder fresh in the place of the folder target, in one step where the
// system can exchange two names. What was at target is at old afterwards; where nothing
// was, nothing is. All three lie in one folder. Where two renames are needed, a crash
// between them leaves old and fresh and no target.
func Swap(fresh, target, old string) error {
	_, err := os.Lstat(target)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		err = os.Rename(fresh, target)
	case err == nil:
		err = exchange(fresh, target)
		switch {
		case err == nil:
			if err = fault.Err("swap.between"); err == nil {
				err = os.Rename(fresh, old)
			}
		case errors.Is(err, errors.ErrUnsupported):
			if err = os.Rename(target, old); err == nil {
				err = os.Rename(fresh, target)
			}
		}
	}
	if err != nil {
		return fmt.Errorf("%s: %w", target, err)
	}
	return SyncDir(filepath.Dir(target))
}

// Move renames a file or folder and brings the folders of both names to disk.
func Move(from, to string) error {
	if err := os.Rename(from, to); err != nil {
		return err
	}
	return errors.Join(SyncDir(filepath.Dir(from)), SyncDir(filepath.Dir(to)))
}

// SyncDir brings the names in a folder to disk. A system that cannot do it is no failure.
func SyncDir(dir string) error { return syncDir(system{}, dir) }
