package evals

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/deftskills/deft/registry"
	"github.com/deftskills/deft/skill"
	"github.com/deftskills/deft/source"
)

// Bounds of a corpus: enough for any real one, too little for a bomb.
const (
	maxCorpusFile  = 8 << 20
	maxCorpusBytes = 1 << 30
)

// corpus is a set of skills in memory, each under its path as its address, without
// arbitration: two skills of one name are two.
type corpus struct {
	files map[string][]byte // by slash-separated path
	names []string          // of files, sorted
	info  source.Info
	snap  *registry.Snapshot
}

// readCorpus loads archives and directories. A file that holds no skill at all is a
// diagnostic. With a size the set is filled up to it; see grow.
func readCorpus(paths []string, size int) (*registry.Snapshot, error) {
	c := &corpus{files: map[string][]byte{}, snap: &registry.Snapshot{Complete: true}}
	c.info = source.Info{ID: "corpus", Kind: source.User, Trust: source.Trusted}
	for _, p := range paths {
		if err := c.read(p); err != nil {
			return nil, fmt.Errorf("corpus %s: %w", p, err)
		}
	}
	names := make([]string, 0, len(c.files))
	for name := range c.files {
		if strings.EqualFold(path.Base(name), "SKILL.md") {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	for _, name := range names {
		c.add(name)
	}
	slices.SortFunc(c.snap.Winners, func(a, b *registry.Record) int { return strings.Compare(a.Address, b.Address) })
	c.grow(size)
	c.names = slices.Sorted(maps.Keys(c.files))
	return c.snap, nil
}

// add parses one file. Conditions are left out: what is measured is whether a skill is
// found, not what this machine has.
func (c *corpus) add(name string) {
	s := skill.Parse(c.files[name], skill.ParseOptions{Path: name, DirName: path.Base(path.Dir(name))})
	state := registry.Available
	if !s.Valid {
		state = registry.Invalid
	}
	s.Meta.Conditions = nil
	rec := &registry.Record{
		Entry:   &source.Entry{Skill: s, Source: c.info, From: c, Location: name, Dir: path.Dir(name)},
		State:   state,
		Address: path.Dir(name),
	}
	c.snap.All = append(c.snap.All, rec)
	if s.Valid {
		c.snap.Winners = append(c.snap.Winners, rec)
	}
}

func (c *corpus) read(p string) error {
	st, err := os.Stat(p)
	if err != nil {
		return err
	}
	if st.IsDir() {
		return c.readDir(p)
	}
	f, err := os.Open(p)
	if err != nil {
		return err
	}
	defer f.Close()
	head := make([]byte, 2)
	if _, err := io.ReadFull(f, head); err != nil {
		return err
	}
	if _, err := f.Seek(0, io.SeekStart); err != nil {
		return err
	}
	var r io.Reader = f
	if head[0] == 0x1f && head[1] == 0x8b {
		if r, err = gzip.NewReader(f); err != nil {
			return err
		}
	}
	return c.readTar(tar.NewReader(r))
}

func (c *corpus) readTar(t *tar.Reader) error {
	total := int64(0)
	for {
		h, err := t.Next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		name := path.Clean(h.Name)
		if h.Typeflag != tar.TypeReg || !wanted(name) || h.Size > maxCorpusFile {
			continue
		}
		if total += h.Size; total > maxCorpusBytes {
			return fmt.Errorf("archive holds more than %d bytes of skills", maxCorpusBytes)
		}
		raw, err := io.ReadAll(t)
		if err != nil {
			return err
		}
		c.files[name] = raw
	}
}

func (c *corpus) readDir(root string) error {
	return filepath.WalkDir(root, func(p string, d fs.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() {
			return nil // an unreadable folder costs its own files
		}
		rel, err := filepath.Rel(root, p)
		if err != nil || !wanted(filepath.ToSlash(rel)) {
			return err
		}
		if st, err := d.Info(); err != nil || st.Size() > maxCorpusFile {
			return nil
		}
		if raw, err := os.ReadFile(p); err == nil {
			c.files[filepath.ToSlash(rel)] = raw
		}
		return nil
	})
}

// wanted keeps what search may read of a skill.
func wanted(name string) bool {
	return fs.ValidPath(name) && (strings.EqualFold(path.Base(name), "SKILL.md") || strings.Contains(name, "/references/") ||
		strings.HasSuffix(name, "/"+triggerLines) || strings.HasSuffix(name, "/"+triggerArray))
}

// Scan implements source.Source; a corpus is read once.
func (c *corpus) Scan(context.Context, *source.Listing) (*source.Listing, error) {
	return &source.Listing{Complete: true}, nil
}

// Info implements source.Source.
func (c *corpus) Info() source.Info { return c.info }

// Open implements source.Source.
func (c *corpus) Open(_ context.Context, e *source.Entry, rel string) (fs.File, error) {
	name := path.Join(e.Dir, rel)
	if rel == "" {
		name = e.Location
	}
	if raw, ok := c.files[name]; ok {
		return &memFile{Reader: bytes.NewReader(raw), name: name, size: int64(len(raw))}, nil
	}
	var list []fs.DirEntry
	for at, _ := slices.BinarySearch(c.names, name+"/"); at < len(c.names) && strings.HasPrefix(c.names[at], name+"/"); at++ {
		child, _, deeper := strings.Cut(c.names[at][len(name)+1:], "/")
		info := &memFile{name: child, size: int64(len(c.files[c.names[at]])), dir: deeper}
		if !slices.ContainsFunc(list, func(e fs.DirEntry) bool { return e.Name() == child }) {
			list = append(list, fs.FileInfoToDirEntry(info))
		}
	}
	if list == nil {
		return nil, &fs.PathError{Op: "open", Path: rel, Err: fs.ErrNotExist}
	}
	slices.SortFunc(list, func(a, b fs.DirEntry) int { return strings.Compare(a.Name(), b.Name()) })
	return &memFile{name: name, dir: true, list: list}, nil
}

// memFile is an open file of a corpus, and its own description.
type memFile struct {
	*bytes.Reader
	name string
	size int64
	dir  bool
	list []fs.DirEntry
}

func (f *memFile) Stat() (fs.FileInfo, error) { return f, nil }
func (f *memFile) Close() error               { return nil }
func (f *memFile) Read(p []byte) (int, error) {
	if f.Reader == nil {
		return 0, fs.ErrInvalid
	}
	return f.Reader.Read(p)
}
func (f *memFile) ReadDir(int) ([]fs.DirEntry, error) {
	list := f.list
	f.list = nil
	if list == nil {
		return nil, io.EOF
	}
	return list, nil
}
func (f *memFile) Name() string       { return path.Base(f.name) }
func (f *memFile) Size() int64        { return f.size }
func (f *memFile) IsDir() bool        { return f.dir }
func (f *memFile) ModTime() time.Time { return time.Time{} }
func (f *memFile) Sys() any           { return nil }
func (f *memFile) Mode() fs.FileMode {
	if f.dir {
		return fs.ModeDir | 0o555
	}
	return 0o444
}
