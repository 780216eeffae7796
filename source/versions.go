package source

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/deftskills/deft/skill"
)

// BlobReader returns stored contents by their digest. The error of one that is not there
// wraps fs.ErrNotExist. What it returns is compared with the digest on each read.
type BlobReader interface {
	Get(ctx context.Context, d skill.Digest) ([]byte, error)
}

// VersionFS returns the files of one stored version of a skill as a read-only file
// system: directories are implied by paths, and every time is that of the version. A
// path that is none below a root, or lies below another file, is an error that names
// it. A blob is read when its file is opened; one with other bytes than its digest says,
// or more or fewer than the tree, is ErrDamaged and is never returned. Safe for concurrent use.
func VersionFS(t skill.Tree, b BlobReader, created time.Time) (fs.FS, error) {
	v := &versionFS{blobs: b, at: created, files: map[string]skill.FileEntry{}, dirs: map[string][]fs.DirEntry{".": nil}}
	for _, e := range t {
		if err := v.add(e); err != nil {
			return nil, fmt.Errorf("skill version tree: path %q %w", e.Path, err)
		}
	}
	for _, list := range v.dirs {
		slices.SortFunc(list, func(a, b fs.DirEntry) int { return strings.Compare(a.Name(), b.Name()) })
	}
	return v, nil
}

// TreePath returns a path of a tree as file systems write it: "./", a leading or a
// trailing "/" and what path.Clean drops mean nothing, "" is the root. One that leads
// out of the tree is ErrOutside.
func TreePath(p string) (string, error) {
	clean := path.Clean(strings.TrimLeft(p, "/"))
	if !fs.ValidPath(clean) {
		return "", fmt.Errorf("path %q: %w", p, ErrOutside)
	}
	return clean, nil
}

type versionFS struct {
	blobs BlobReader
	at    time.Time
	files map[string]skill.FileEntry
	dirs  map[string][]fs.DirEntry
}

func (v *versionFS) add(e skill.FileEntry) error {
	if !fs.ValidPath(e.Path) || e.Path == "." {
		return errors.New("is not one below the root")
	}
	_, dir := v.dirs[e.Path]
	if _, file := v.files[e.Path]; file || dir {
		return errors.New("is there twice")
	}
	v.files[e.Path] = e
	mode := fs.FileMode(0o444)
	if e.Exec {
		mode = 0o555
	}
	var entry fs.DirEntry = fs.FileInfoToDirEntry(node{path.Base(e.Path), e.Size, mode, v.at})
	for at := path.Dir(e.Path); ; at = path.Dir(at) {
		if _, file := v.files[at]; file {
			return errors.New("lies below a file")
		}
		list, known := v.dirs[at]
		v.dirs[at] = append(list, entry)
		if known {
			return nil
		}
		entry = fs.FileInfoToDirEntry(folder(at, v.at))
	}
}

// node describes a file or a directory of a tree.
type node struct {
	name string
	size int64
	mode fs.FileMode
	at   time.Time
}

func folder(p string, at time.Time) node { return node{path.Base(p), 0, fs.ModeDir | 0o555, at} }

func (n node) Name() string       { return n.name }
func (n node) Size() int64        { return n.size }
func (n node) Mode() fs.FileMode  { return n.mode }
func (n node) ModTime() time.Time { return n.at }
func (n node) IsDir() bool        { return n.mode.IsDir() }
func (n node) Sys() any           { return nil }

// treeError says what a tree does not have, in the words that hosts know.
type treeError struct{ what, where, path string }

func (e *treeError) Error() string { return e.what + " not found in " + e.where + ": " + e.path }
func (e *treeError) Unwrap() error { return fs.ErrNotExist }

// blobMissing says that the contents of a file are gone, in the words that hosts know.
type blobMissing struct {
	blob skill.Digest
	path string
	err  error
}

func (e *blobMissing) Error() string {
	return fmt.Sprintf("Blob not found for hash %s (file: %s)", e.blob, e.path)
}
func (e *blobMissing) Unwrap() error { return e.err }

const inVersion = "skill version tree"

func (v *versionFS) Stat(name string) (fs.FileInfo, error) {
	if e, ok := v.files[name]; ok {
		mode := fs.FileMode(0o444)
		if e.Exec {
			mode = 0o555
		}
		return node{path.Base(name), e.Size, mode, v.at}, nil
	}
	if _, ok := v.dirs[name]; ok {
		return folder(name, v.at), nil
	}
	return nil, &treeError{"Path", inVersion, name}
}

func (v *versionFS) Open(name string) (fs.File, error) {
	if list, ok := v.dirs[name]; ok {
		return &openDir{folder(name, v.at), list}, nil
	}
	data, err := v.ReadFile(name)
	if err != nil {
		return nil, err
	}
	st, err := v.Stat(name)
	return &openFile{st, bytes.NewReader(data)}, err
}

// ReadFile returns the contents of a file, compared with their digest.
func (v *versionFS) ReadFile(name string) ([]byte, error) {
	e, ok := v.files[name]
	if !ok {
		return nil, &treeError{"File", inVersion, name}
	}
	data, err := v.blobs.Get(context.Background(), e.Blob) // a file system knows no context
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, &blobMissing{e.Blob, name, err}
	case err != nil:
		return nil, fmt.Errorf("blob %s (file: %s): %w", e.Blob, name, err)
	case skill.FileDigest(data) != e.Blob || int64(len(data)) != e.Size:
		return nil, fmt.Errorf("blob %s (file: %s): %w", e.Blob, name, ErrDamaged)
	}
	return slices.Clone(data), nil // what a store keeps in memory is nobody's to change
}

func (v *versionFS) ReadDir(name string) ([]fs.DirEntry, error) {
	list, ok := v.dirs[name]
	if !ok {
		return nil, &treeError{"Directory", inVersion, name}
	}
	return slices.Clone(list), nil
}

type openFile struct {
	fs.FileInfo
	*bytes.Reader
}

func (f *openFile) Stat() (fs.FileInfo, error) { return f.FileInfo, nil }
func (f *openFile) Close() error               { return nil }
func (f *openFile) Size() int64                { return f.FileInfo.Size() }

type openDir struct {
	fs.FileInfo
	rest []fs.DirEntry
}

func (d *openDir) Stat() (fs.FileInfo, error) { return d.FileInfo, nil }
func (d *openDir) Close() error               { return nil }
func (d *openDir) Read([]byte) (int, error) {
	return 0, &fs.PathError{Op: "read", Path: d.Name(), Err: errors.New("is a directory")}
}

// ReadDir returns the next names; see fs.ReadDirFile.
func (d *openDir) ReadDir(n int) ([]fs.DirEntry, error) {
	if n <= 0 {
		n = len(d.rest)
	} else if len(d.rest) == 0 {
		return nil, io.EOF
	}
	n = min(n, len(d.rest))
	list := slices.Clone(d.rest[:n])
	d.rest = d.rest[n:]
	return list, nil
}
