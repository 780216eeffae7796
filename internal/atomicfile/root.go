package atomicfile

import (
	"crypto/rand"
	"encoding/hex"
	"io/fs"
	"os"
	"path/filepath"
)

// WriteIn is Write below a root: no part of path, links included, leads out of it.
// The temporary file lies beside path; after an error nothing of it is left.
func WriteIn(root *os.Root, path string, data []byte, perm fs.FileMode) error {
	var nonce [8]byte
	if _, err := rand.Read(nonce[:]); err != nil {
		return err
	}
	temp := filepath.Join(filepath.Dir(path), ".deft-"+hex.EncodeToString(nonce[:])+".tmp")
	f, err := root.OpenFile(temp, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	err = fill(f, data, perm)
	if err == nil {
		err = root.Rename(temp, path)
	}
	if err != nil {
		_ = root.Remove(temp)
		return err
	}
	dir, err := root.Open(filepath.Dir(path))
	if err != nil {
		return nil // the file is written; that its folder cannot be opened changes nothing
	}
	defer dir.Close()
	_ = dir.Sync() // some file systems refuse to sync a folder
	return nil
}
