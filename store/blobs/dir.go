package blobs

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/deftskills/deft/internal/atomicfile"
	"github.com/deftskills/deft/internal/fault"
	"github.com/deftskills/deft/skill"
)

// Dir is a Store in a folder: sha256/ab/cd…, files that nobody writes again. A damaged
// one is moved to Aside when it is met.
type Dir struct {
	Path  string
	Aside string // "" = damaged files stay where they are
}

func (s *Dir) file(hex string) string { return filepath.Join(s.Path, "sha256", hex[:2], hex[2:]) }

// Put implements Store. A file that is there and damaged is replaced by the good bytes.
func (s *Dir) Put(ctx context.Context, b []byte) (skill.Digest, error) {
	if err := CheckSize(len(b)); err != nil {
		return "", err
	}
	if err := ctx.Err(); err != nil {
		return "", err
	}
	d := skill.FileDigest(b)
	hex, err := hexOf(d)
	if err != nil {
		return "", err
	}
	at := s.file(hex)
	if have, err := os.ReadFile(at); err == nil && skill.FileDigest(have) == d {
		return d, nil
	}
	dir := filepath.Dir(at)
	if _, err := os.Stat(dir); errors.Is(err, fs.ErrNotExist) {
		err = os.MkdirAll(dir, 0o700)
		if err == nil { // the name of a new folder goes with the power too
			err = atomicfile.SyncDir(filepath.Dir(dir))
		}
		if err != nil {
			return "", fmt.Errorf("blob: %w", err)
		}
	}
	if err := fault.Err("blob.put.temp"); err != nil {
		return "", fmt.Errorf("blob %s: %w", at, err)
	}
	if err := atomicfile.Write(at, b, 0o444); err != nil {
		return "", fmt.Errorf("blob: %w", err)
	}
	if err := fault.Err("blob.put.rename"); err != nil {
		return "", fmt.Errorf("blob %s: %w", at, err)
	}
	return d, nil
}

// Get implements Store.
func (s *Dir) Get(ctx context.Context, d skill.Digest) ([]byte, error) {
	hex, err := hexOf(d)
	if err != nil {
		return nil, err
	}
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	b, err := os.ReadFile(s.file(hex))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("%w: %s", ErrMissing, d)
	}
	if err != nil {
		return nil, fmt.Errorf("blob: %w", err)
	}
	if b, err = verified(d, b); err != nil {
		err = fmt.Errorf("%w: %s", err, s.file(hex))
		if s.Aside != "" {
			return s.setAside(d, hex, err)
		}
	}
	return b, err
}

// setAside moves the damaged file of d away. One that a Put has mended since comes back,
// and is what d holds.
func (s *Dir) setAside(d skill.Digest, hex string, damaged error) ([]byte, error) {
	aside := filepath.Join(s.Aside, "blob-"+hex)
	if os.MkdirAll(s.Aside, 0o700) != nil || os.Rename(s.file(hex), aside) != nil {
		return nil, damaged
	}
	b, err := os.ReadFile(aside)
	if err != nil || skill.FileDigest(b) != d {
		return nil, damaged
	}
	if err := os.Rename(aside, s.file(hex)); err != nil {
		return nil, fmt.Errorf("blob: %w", err)
	}
	return b, nil
}

// Has implements Store.
func (s *Dir) Has(ctx context.Context, d skill.Digest) (bool, error) {
	hex, err := hexOf(d)
	if err != nil {
		return false, err
	}
	if err := ctx.Err(); err != nil {
		return false, err
	}
	_, err = os.Lstat(s.file(hex))
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	return err == nil, err
}

// Delete implements Store.
func (s *Dir) Delete(ctx context.Context, d skill.Digest) (bool, error) {
	hex, err := hexOf(d)
	if err != nil {
		return false, err
	}
	if err := ctx.Err(); err != nil {
		return false, err
	}
	err = os.Remove(s.file(hex))
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	return err == nil, err
}

// List implements Store.
func (s *Dir) List(ctx context.Context, after skill.Digest, n int) ([]Info, error) {
	from := ""
	if after != "" {
		var err error
		if from, err = hexOf(after); err != nil {
			return nil, err
		}
	}
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	heads, err := os.ReadDir(filepath.Join(s.Path, "sha256"))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("blob: %w", err)
	}
	if n < 1 {
		return nil, nil
	}
	var out []Info
	for _, head := range heads {
		if len(head.Name()) != 2 || from != "" && head.Name() < from[:2] {
			continue
		}
		files, err := os.ReadDir(filepath.Join(s.Path, "sha256", head.Name()))
		if err != nil {
			return nil, fmt.Errorf("blob: %w", err)
		}
		for _, f := range files {
			d := skill.Digest("sha256:" + head.Name() + f.Name())
			if _, err := hexOf(d); err != nil || d <= after {
				continue
			}
			info, err := f.Info()
			if errors.Is(err, fs.ErrNotExist) {
				continue
			}
			if err != nil {
				return nil, fmt.Errorf("blob: %w", err)
			}
			if out = append(out, Info{d, info.Size(), info.ModTime().UnixMicro()}); len(out) == n {
				return out, nil
			}
		}
	}
	return out, ctx.Err()
}
