package source

import (
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/deftskills/deft/skill"
)

// Mount is one stored version of a skill and the directory that it stands in.
type Mount struct {
	Dir       string // one name, also the skill's
	ID        string // of the version; "" = not said
	Tree      skill.Tree
	CreatedAt time.Time
}

// CompositeOptions says what stands beside the mounted versions and how they are read.
type CompositeOptions struct {
	// Fallback holds skills that are no versions: those of FallbackNames, and every name
	// that is not mounted. nil = none.
	Fallback fs.FS
	// FallbackNames are read from Fallback even where a version of the name is mounted.
	FallbackNames []string
	// Info is the source's; Kind zero means Managed.
	Info Info
	// Format is how the files are read.
	Format Format
}

// CompositeFS returns a file system with a directory for each mount and, by name, those
// of the fallback. The first part of a path says which of them answers; what is missing
// there is looked for nowhere else. Its root lists the mounts and the FallbackNames that
// are there; its time is that of the newest version. See VersionFS for the files.
func CompositeFS(mounts []Mount, b BlobReader, o CompositeOptions) (fs.FS, error) {
	c := &compositeFS{versions: map[string]fs.FS{}, o: o}
	c.o.FallbackNames = slices.Clone(o.FallbackNames)
	for _, m := range mounts {
		if !fs.ValidPath(m.Dir) || m.Dir == "." || strings.Contains(m.Dir, "/") {
			return nil, fmt.Errorf("composite skill source: mount %q is not one name", m.Dir)
		}
		if c.versions[m.Dir] != nil {
			return nil, fmt.Errorf("composite skill source: mount %q is there twice", m.Dir)
		}
		v, err := VersionFS(m.Tree, b, m.CreatedAt)
		if err != nil {
			return nil, fmt.Errorf("composite skill source: mount %q: %w", m.Dir, err)
		}
		c.versions[m.Dir] = v
		if m.CreatedAt.After(c.newest) {
			c.newest = m.CreatedAt
		}
	}
	return c, nil
}

type compositeFS struct {
	versions map[string]fs.FS
	newest   time.Time
	o        CompositeOptions
}

const inComposite = "composite skill source"

// route returns who answers for a path and how it is called there.
func (c *compositeFS) route(what, name string) (fs.FS, string, error) {
	if !fs.ValidPath(name) {
		return nil, "", &treeError{what, inComposite, name}
	}
	first, rest, below := strings.Cut(name, "/")
	if !below {
		rest = "."
	}
	v, mounted := c.versions[first]
	switch {
	case mounted && (c.o.Fallback == nil || !slices.Contains(c.o.FallbackNames, first)):
		return v, rest, nil
	case c.o.Fallback != nil:
		return c.o.Fallback, name, nil
	}
	return nil, "", &treeError{what, inComposite, name}
}

// said puts the words of this file system over what a fallback says is not there.
func said(what, name string, err error) error {
	var known *treeError
	var gone *blobMissing
	if errors.Is(err, fs.ErrNotExist) && !errors.As(err, &known) && !errors.As(err, &gone) {
		return fmt.Errorf("%w: %w", &treeError{what, inComposite, name}, err)
	}
	return err
}

func (c *compositeFS) Stat(name string) (fs.FileInfo, error) {
	if name == "." {
		return folder(name, c.newest), nil
	}
	fsys, rel, err := c.route("Path", name)
	if err != nil {
		return nil, err
	}
	st, err := fs.Stat(fsys, rel)
	if err == nil && rel == "." {
		return named{st, path.Base(name)}, nil
	}
	return st, said("Path", name, err)
}

// named is the root of a mount under the name of the mount.
type named struct {
	fs.FileInfo
	name string
}

func (n named) Name() string { return n.name }

func (c *compositeFS) Open(name string) (fs.File, error) {
	if name == "." {
		list, err := c.ReadDir(name)
		return &openDir{folder(name, c.newest), list}, err
	}
	fsys, rel, err := c.route("File", name)
	if err != nil {
		return nil, err
	}
	if rel == "." {
		st, err := c.Stat(name)
		if err != nil {
			return nil, err
		}
		list, err := fs.ReadDir(fsys, rel)
		return &openDir{st, list}, err
	}
	f, err := fsys.Open(rel)
	return f, said("File", name, err)
}

func (c *compositeFS) ReadDir(name string) ([]fs.DirEntry, error) {
	if name != "." {
		fsys, rel, err := c.route("Directory", name)
		if err != nil {
			return nil, err
		}
		list, err := fs.ReadDir(fsys, rel)
		return list, said("Directory", name, err)
	}
	names := slices.Clone(c.o.FallbackNames)
	for dir := range c.versions {
		names = append(names, dir)
	}
	slices.Sort(names)
	var list []fs.DirEntry
	for _, n := range slices.Compact(names) {
		if st, err := c.Stat(n); err == nil {
			list = append(list, fs.FileInfoToDirEntry(st))
		}
	}
	return list, nil
}

// Composite returns a source over CompositeFS: one skill a mount, and those of
// FallbackNames. A version's location is version:///NAME@ID/SKILL.md. A skill whose
// stored file is damaged is invalid with the finding version_damaged_blob.
func Composite(mounts []Mount, b BlobReader, o CompositeOptions) (Source, error) {
	fsys, err := CompositeFS(mounts, b, o)
	if err != nil {
		return nil, err
	}
	if o.Info.Kind == "" {
		o.Info.Kind = Managed
	}
	if o.Info.Trust == "" {
		o.Info.Trust = DefaultTrust(o.Info.Kind)
	}
	src := FS(fsys, DirOptions{Info: o.Info, Format: o.Format}).(*fsSource)
	src.versions = map[string]string{}
	for _, m := range mounts {
		if o.Fallback == nil || !slices.Contains(o.FallbackNames, m.Dir) {
			src.versions[m.Dir] = m.ID
		}
	}
	return src, nil
}

// VersionOptions says which version a source holds and how it is read.
type VersionOptions struct {
	Name      string    // of the skill
	ID        string    // of the version; "" = not said
	CreatedAt time.Time // every file's time
	Info      Info      // the source's; Kind zero means Managed
	Format    Format    // how the files are read
}

// Versions returns a source of one stored version of a skill; see Composite.
func Versions(t skill.Tree, b BlobReader, o VersionOptions) (Source, error) {
	return Composite([]Mount{{o.Name, o.ID, t, o.CreatedAt}}, b, CompositeOptions{Info: o.Info, Format: o.Format})
}
