package source

import (
	"context"
	"errors"
	"hash/fnv"
	"io"
	"io/fs"
	"path"
	"time"

	"github.com/deftskills/deft/skill"
)

// readFile reads a file of at most max bytes and describes it before and after;
// anything but a regular file is refused before a byte is read. max 0 only describes.
func readFile(f fs.File, name string, buf []byte, max int64) (src []byte, before, after FileStamp, err error) {
	st, err := f.Stat()
	if err != nil {
		return nil, before, after, err
	}
	if !st.Mode().IsRegular() {
		return nil, before, after, ErrSpecial
	}
	before = stampOfInfo(name, st)
	if before.Size > max {
		return nil, before, before, nil
	}
	w := appendWriter{buf[:0]}
	if _, err := io.Copy(&w, io.LimitReader(f, max+1)); err != nil {
		return nil, before, after, err
	}
	if st, err = f.Stat(); err != nil {
		return nil, before, after, err
	}
	return w.b, before, stampOfInfo(name, st), nil
}

type appendWriter struct{ b []byte }

func (w *appendWriter) Write(p []byte) (int, error) { w.b = append(w.b, p...); return len(p), nil }

// stampOfInfo stands in for an inode with a hash of the path where a file system
// tells size and time only.
func stampOfInfo(name string, st fs.FileInfo) FileStamp {
	h := fnv.New64a()
	io.WriteString(h, name)
	return FileStamp{Ino: h.Sum64() | 1, Size: st.Size(), MtimeNS: st.ModTime().UnixNano(), CtimeNS: st.ModTime().UnixNano()}
}

type fsSource struct {
	fsys fs.FS
	o    DirOptions
	tree string // "" = nobody else reads fsys

	versions map[string]string // ids of stored versions, by directory
}

// FS returns a source over any read-only tree: each directory below its root that
// holds a SKILL.md is a skill. o.Info.Kind zero means Builtin; locations are
// builtin:///name/SKILL.md, with the kind as scheme. Links are not followed.
func FS(fsys fs.FS, o DirOptions) Source {
	if o.Info.Kind == "" {
		o.Info.Kind = Builtin
	}
	o.Info = withDefaults(o.Info, string(o.Info.Kind))
	o.Info.Links = LinksNone
	o.Limits = o.Limits.WithDefaults()
	o.Format.Limits = o.Format.Limits.WithDefaults()
	if o.Now == nil {
		o.Now = time.Now
	}
	return &fsSource{fsys: fsys, o: o}
}

func (s *fsSource) Info() Info { return s.o.Info }

func (s *fsSource) with(change func(*Info)) Source {
	c := *s
	change(&c.o.Info)
	return &c
}

// Scan walks the tree. See Source. A tree that cannot change is parsed again each
// time only if prev is nil.
func (s *fsSource) Scan(ctx context.Context, prev *Listing) (*Listing, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	w := &walker{
		o: &s.o, src: s, ctx: ctx, out: &Listing{Complete: true},
		deadline: s.o.Now().Add(s.o.Limits.Time),
	}
	w.former.remember(prev)
	w.walkRoot(place{t: fsTree{s.fsys}})
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	return s.finish(w), nil
}

func (s *fsSource) Open(ctx context.Context, e *Entry, rel string) (fs.File, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	rel, err := s.below(e, rel)
	if err != nil {
		return nil, err
	}
	f, err := s.fsys.Open(path.Join(e.inner, rel))
	if err != nil {
		return nil, err
	}
	return regularOrDir(f, rel)
}

// below checks a path below a skill. Hosts of dialect mastra write one as of a tree.
func (s *fsSource) below(e *Entry, rel string) (string, error) {
	if s.o.Format.Dialect == skill.Mastra && rel != "" {
		return TreePath(rel)
	}
	return cleanRel(e, rel)
}

// fsTree is a tree over an fs.FS.
type fsTree struct{ fsys fs.FS }

func (t fsTree) close() {}

func (t fsTree) list(rel string, max int64) ([]item, bool, error) {
	if rel == "" {
		rel = "."
	}
	entries, err := fs.ReadDir(t.fsys, rel)
	var items []item
	var size int64
	for _, e := range entries {
		if size += int64(len(e.Name())); size > max {
			return items, true, nil
		}
		if typ := typeOf(e.Type()); typ != typeLink {
			items = append(items, item{e.Name(), typ})
		}
	}
	return items, false, err
}

func (t fsTree) folder(rel string) (stamp FileStamp, native, leaf bool) { return folderOf(t, rel) }

func (t fsTree) look(rel string) (FileStamp, nodeType, error) {
	st, err := fs.Stat(t.fsys, rel)
	if errors.Is(err, fs.ErrNotExist) {
		return FileStamp{}, typeAbsent, nil
	}
	if err != nil {
		return FileStamp{}, typeAbsent, err
	}
	return stampOfInfo(rel, st), typeOf(st.Mode()), nil
}

func (t fsTree) read(rel string, buf []byte, max int64) (src []byte, before, after FileStamp, err error) {
	f, err := t.fsys.Open(rel)
	if err != nil {
		return nil, before, after, err
	}
	defer f.Close()
	return readFile(f, rel, buf, max)
}

var _ tree = fsTree{}
