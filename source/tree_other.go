//go:build !unix

package source

import (
	"errors"
	"hash/fnv"
	"io"
	"io/fs"
	"os"
	"path/filepath"
)

// osTree walks a directory through os.Root, which refuses links that leave it;
// links inside are refused here, by looking before opening.
type osTree struct{ root *os.Root }

func openTree(real string) (tree, error) {
	root, err := os.OpenRoot(real)
	if err != nil {
		return nil, err
	}
	return &osTree{root}, nil
}

func (t *osTree) close() { t.root.Close() }

func (t *osTree) list(rel string, max int64) ([]item, bool, error) {
	if rel == "" {
		rel = "."
	}
	f, err := t.root.Open(filepath.FromSlash(rel))
	if err != nil {
		return nil, false, err
	}
	defer f.Close()
	var items []item
	var size int64
	for {
		batch, err := f.ReadDir(1024)
		for _, e := range batch {
			if size += int64(len(e.Name())); size > max {
				return items, true, nil
			}
			typ := typeOf(e.Type())
			if e.Type()&fs.ModeIrregular != 0 { // a junction or mount point counts as a link
				typ = typeLink
			}
			items = append(items, item{e.Name(), typ})
		}
		if errors.Is(err, io.EOF) {
			return items, false, nil
		}
		if err != nil {
			return items, false, err
		}
	}
}

func (t *osTree) folder(rel string) (stamp FileStamp, native, leaf bool) { return folderOf(t, rel) }

func (t *osTree) look(rel string) (FileStamp, nodeType, error) {
	if rel == "" {
		rel = "."
	}
	st, err := t.root.Lstat(filepath.FromSlash(rel))
	if errors.Is(err, fs.ErrNotExist) {
		return FileStamp{}, typeAbsent, nil
	}
	if err != nil {
		return FileStamp{}, typeAbsent, err
	}
	return stampOfInfo(rel, st), typeOf(st.Mode()), nil
}

func (t *osTree) read(rel string, buf []byte, max int64) (src []byte, before, after FileStamp, err error) {
	if _, typ, err := t.look(rel); err != nil || typ != typeFile {
		return nil, before, after, errors.Join(ErrSpecial, err)
	}
	f, err := t.root.Open(filepath.FromSlash(rel))
	if err != nil {
		return nil, before, after, err
	}
	defer f.Close()
	return readFile(f, rel, buf, max)
}

func openRegular(name string) (*os.File, error) {
	f, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	return regular(f)
}

func openIn(root *os.Root, rel string) (*os.File, error) { return root.Open(rel) }

func dirID(name string) (id [2]uint64, isDir bool, err error) {
	st, err := os.Stat(name)
	if err != nil {
		return id, false, err
	}
	real, err := filepath.EvalSymlinks(name)
	if err != nil {
		return id, false, err
	}
	h := fnv.New64a()
	io.WriteString(h, real)
	return [2]uint64{h.Sum64(), 1}, st.IsDir(), nil
}

func isLoop(err error) bool { return false }
