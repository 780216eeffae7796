package source

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/deftskills/deft/internal/limits"
	"github.com/deftskills/deft/skill"
)

// Format says how the files of a source are read. The zero value is dialect deft
// with the default limits.
type Format struct {
	Dialect skill.Dialect
	Limits  limits.Skill
	DataDir string // value of {{DATA_DIR}}; "" leaves it literal
}

// DirOptions configures one directory source. The zero value reads a user root.
type DirOptions struct {
	// Info describes the source; Path is set by Dir. Empty fields get defaults: ID
	// "dir:" and the root, Kind User, Trust of the kind, Links of the kind.
	Info Info
	// One says that the root is itself a skill; its children are not scanned.
	One bool
	// Required makes an absent root a path_missing diagnostic; else it is silent.
	Required bool
	// Boundary is where LinksStay ends: the repository; "" means the root.
	Boundary string
	// Roots are other configured roots: links of LinksStay may end there.
	Roots []string
	// Aliases are other paths of the same root; entries get them as aliases.
	Aliases []string
	// Ignore names directories that are skipped beside the built-in list.
	Ignore []string
	// NamesOnly takes a skill that was read before for unchanged while its name is there.
	NamesOnly bool
	Format    Format
	Limits    limits.Scan
	// Now is the clock that judges whether a file is too young to be trusted by its
	// times; nil means time.Now.
	Now func() time.Time

	// judge has the last word about each file that was read, before anybody sees its
	// entry; nil = what Parse says stands.
	judge func(src []byte, e *Entry, o skill.ParseOptions)
	// carried is what entries say of their source; nil = Info.
	carried *Info
}

type dirSource struct {
	o DirOptions
}

// Dir returns a source that reads the skills of one directory. root is absolute;
// it need not exist. Scanning follows links by o.Info.Links, never opens a name of
// the ignore list, and never lists what is below a skill.
func Dir(root string, o DirOptions) Source {
	o.Info.Path = filepath.Clean(root)
	o.Info = withDefaults(o.Info, "dir:"+o.Info.Path)
	o.Limits = o.Limits.WithDefaults()
	o.Format.Limits = o.Format.Limits.WithDefaults()
	if o.Now == nil {
		o.Now = time.Now
	}
	return &dirSource{o}
}

func withDefaults(i Info, id string) Info {
	if i.ID == "" {
		i.ID = id
	}
	if i.Kind == "" {
		i.Kind = User
	}
	if i.Trust == "" {
		i.Trust = DefaultTrust(i.Kind)
	}
	if i.Links == "" {
		i.Links = LinksLeave
		switch i.Kind {
		case Project:
			i.Links = LinksStay
		case WorkspaceK:
			i.Links = LinksBound
		}
	}
	return i
}

// DefaultTrust returns the trust of a kind before any decision of a person.
func DefaultTrust(k Kind) Trust {
	switch k {
	case Managed, DataDef, User, Builtin, Global:
		return Trusted
	case Project, WorkspaceK:
		return Pending
	case MCP:
		return Remote
	}
	return Untrusted
}

func (s *dirSource) Info() Info { return s.o.Info }

// with returns a copy with another Info; decorators use it so that entries need no copy.
func (s *dirSource) with(change func(*Info)) Source {
	o := s.o
	change(&o.Info)
	return &dirSource{o}
}

// Scan walks the directory. See Source.
func (s *dirSource) Scan(ctx context.Context, prev *Listing) (*Listing, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	w := &walker{o: &s.o, src: s, ctx: ctx, out: &Listing{Complete: true}, deadline: s.o.Now().Add(s.o.Limits.Time)}
	w.former.remember(prev)
	root := s.o.Info.Path
	real, err := filepath.EvalSymlinks(root)
	if real != root {
		w.out.Awaited = append(w.out.Awaited, root)
	}
	if err != nil {
		w.missingRoot(root, err)
		return w.out, nil
	}
	if real == root {
		real = root
	} else if s.o.Info.Links == LinksStay && !w.allowed(real) {
		w.skip("link_outside", filepath.Base(root), root, "root link %q leads to %q, outside of %q", root, real, s.o.Boundary)
		return w.out, nil
	}
	t, err := openTree(real)
	if err != nil {
		w.unreadableRoot(root, err)
		return w.out, nil
	}
	defer t.close()
	w.foreign = s.o.Info.Links == LinksBound && real != boundOf(root)
	w.walkRoot(place{t: t, dir: root, real: real})
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	return w.finish(), nil
}

func (w *walker) missingRoot(root string, err error) {
	_, lerr := os.Lstat(root)
	switch {
	case lerr == nil && (errors.Is(err, fs.ErrNotExist) || isLoop(err)):
		w.note("root_unreadable", root, "root %q is a link that leads nowhere", root)
	case errors.Is(err, fs.ErrNotExist) && w.rule().absent:
		w.note("root_unreadable", root, "root %q does not exist", root)
		w.out.Diagnostics[len(w.out.Diagnostics)-1].Fix = "create the directory or remove it from the sources"
	case errors.Is(err, fs.ErrNotExist) && w.o.Required:
		w.note("path_missing", root, "path %q does not exist", root)
	case !errors.Is(err, fs.ErrNotExist):
		w.unreadableRoot(root, err)
	}
}

func (w *walker) unreadableRoot(root string, err error) {
	w.out.Complete = false
	w.out.Awaited = append(w.out.Awaited, root) // permissions may be given back
	w.note("root_unreadable", root, "root %q cannot be read: %v", root, cause(err))
}

// cause strips the path that an error of the os package repeats.
func cause(err error) error {
	var pe *fs.PathError
	if errors.As(err, &pe) {
		return pe.Err
	}
	return err
}

// finish puts the entries in order and hands out the aliases.
func (w *walker) finish() *Listing {
	root := w.o.Info.Path
	for i, e := range w.out.Entries {
		aliases := w.aliases[e]
		for _, a := range w.o.Aliases {
			if rel, err := filepath.Rel(root, e.Dir); err == nil {
				aliases = append(aliases, filepath.Join(a, rel))
			}
		}
		slices.Sort(aliases)
		aliases = slices.Compact(aliases)
		if !slices.Equal(aliases, e.Aliases) {
			c := *e // an entry of the former listing may be in use
			c.Aliases = aliases
			w.out.Entries[i] = &c
		}
	}
	sortEntries(w.out.Entries)
	return w.out
}

func sortEntries(es []*Entry) {
	slices.SortFunc(es, func(a, b *Entry) int {
		if a.Location < b.Location {
			return -1
		}
		if a.Location > b.Location {
			return 1
		}
		return strings.Compare(a.Dir, b.Dir)
	})
}

// Open opens a file of a skill. See Source.
func (s *dirSource) Open(ctx context.Context, e *Entry, rel string) (fs.File, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	return openEntry(e, rel)
}
