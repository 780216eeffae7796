package source

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

// What a scan judged may have been exchanged since: a directory for a link that leads
// out, or one above it. A path that a scan resolved holds no link; whatever is opened
// there is used only if that is still so, and if it is what lies there now.

// openRoot opens the real directory of a skill.
func openRoot(real string) (*os.Root, error) {
	root, err := os.OpenRoot(real)
	if err != nil {
		return nil, err
	}
	st, err := root.Stat(".")
	if err == nil {
		err = unmoved(real, st)
	}
	if err != nil {
		root.Close()
		return nil, err
	}
	return root, nil
}

// openReal opens the file that a linked SKILL.md led to.
func openReal(real string) (*os.File, error) {
	f, err := openRegular(real)
	if err != nil {
		return nil, err
	}
	st, err := f.Stat()
	if err == nil {
		err = unmoved(real, st)
	}
	if err != nil {
		f.Close()
		return nil, err
	}
	return f, nil
}

// unmoved refuses what was opened at a resolved path through a link.
func unmoved(real string, opened fs.FileInfo) error {
	now, err := filepath.EvalSymlinks(real)
	if err != nil {
		return err
	}
	st, err := os.Lstat(real)
	if err != nil {
		return err
	}
	if now != real || !os.SameFile(st, opened) {
		return fmt.Errorf("%s leads elsewhere since it was listed: %w", real, ErrOutside)
	}
	return nil
}
