package install

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/deftskills/deft/install/archive"
	"github.com/deftskills/deft/install/fetch"
)

// Offer is a skill that a source says it has, before any of it was fetched.
type Offer struct{ Name, Dir, Description string }

// chosen are the folders of what is wanted of a list.
func (f *Fetcher) chosen(list []Offer) []string {
	if f.Choose != nil {
		list = f.Choose(list)
	}
	dirs := make([]string, 0, len(list))
	for _, o := range list {
		dirs = append(dirs, o.Dir)
	}
	return dirs
}

// ByDir chooses the skills in some folders.
func ByDir(dirs ...string) func([]Offer) []Offer {
	return func(list []Offer) []Offer {
		return slices.DeleteFunc(slices.Clone(list), func(o Offer) bool { return !slices.Contains(dirs, o.Dir) })
	}
}

// put adds the files of one skill.
func (f *Fetched) put(dir, commit string, files []archive.File) {
	if f.commits == nil {
		f.commits = map[string]string{}
	}
	f.commits[dir] = commit
	f.roots = append(f.roots, dir)
	for _, file := range files {
		file.Path = path.Join(dir, file.Path)
		f.Files = append(f.Files, file)
	}
}

func (f *Fetcher) wellKnown() *fetch.WellKnown {
	return &fetch.WellKnown{HTTP: f.HTTP, Origins: f.Origins, Keys: f.Keys}
}

// index reads the index of a host, and what is wanted of it.
func (f *Fetcher) index(ctx context.Context, at string) (*Fetched, error) {
	w := f.wellKnown()
	x, err := w.Index(ctx, at)
	if err != nil {
		return nil, err
	}
	out := &Fetched{Origin: Origin{Type: WellKnown, URL: at}, Notes: x.Notes, Unverified: x.Unverified, Signature: x.Signature}
	for _, e := range x.Entries {
		out.Offers = append(out.Offers, Offer{e.Name, e.Name, e.Description})
	}
	dirs := f.chosen(out.Offers)
	wanted := slices.DeleteFunc(slices.Clone(x.Entries), func(e fetch.IndexEntry) bool { return !slices.Contains(dirs, e.Name) })
	files, failed := w.Skills(ctx, at, wanted)
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	out.Failed = failed
	for _, e := range wanted {
		if got, ok := files[e.Name]; ok {
			out.put(e.Name, e.Digest, got)
		}
	}
	return out, nil
}

// probe asks an address what it is: the index of a host, else a repository.
func (f *Fetcher) probe(ctx context.Context, r SourceRef) (*Fetched, error) {
	noIndex := fmt.Errorf("%w: an index is read over https, of a whole host or folder", fetch.ErrNoIndex)
	if u, err := url.Parse(r.URL); err == nil && u.Scheme == "https" && r.Ref == "" && r.Dir == "" {
		out, err := f.index(ctx, strings.TrimSuffix(u.Host+u.Path, "/"))
		if !errors.Is(err, fetch.ErrNoIndex) {
			return out, err
		}
		noIndex = err
	}
	if err := f.Keys.Demand(string(Git)); err != nil {
		return nil, err
	}
	out, err := f.git(ctx, r, r.URL)
	switch {
	case err == nil, errors.Is(err, fetch.ErrNoRef), errors.Is(err, fetch.ErrNoDir), errors.Is(err, fetch.ErrLimit), ctx.Err() != nil:
		return out, err
	}
	return nil, fmt.Errorf("%w: %s is neither an index of skills (%w) nor a git repository (%w)", ErrUnrecognised, fetch.Redacted(r.URL), noIndex, err)
}

// npm fetches a package of a registry.
func (f *Fetcher) npm(ctx context.Context, r SourceRef) (*Fetched, error) {
	n := &fetch.NPM{HTTP: f.HTTP, Config: f.NPM}
	if n.Config == nil {
		n.Config = fetch.ReadNPM(nil, func(string) string { return "" })
	}
	p, err := n.Fetch(ctx, r.URL, r.Ref)
	if err != nil {
		return nil, err
	}
	out := &Fetched{
		Origin: Origin{Type: NPM, URL: r.URL, Ref: r.Ref, Commit: p.Version, Subpath: r.Dir},
		Files:  p.Files, Notes: p.Notes, roots: p.Skills, licensed: p.Licence,
	}
	return out, out.has(r.Dir)
}

// Bounds of all that is copied from one server at once: those of an index.
const (
	maxServed  = 256 << 20
	servedTime = 10 * time.Minute
)

// served copies the skills of a server.
func (f *Fetcher) served(ctx context.Context, r SourceRef) (*Fetched, error) {
	if f.Serve == nil {
		return nil, fmt.Errorf("%w: no MCP server is configured", fetch.ErrUnreachable)
	}
	ctx, stop := context.WithTimeoutCause(ctx, servedTime, fmt.Errorf("%w: the server took longer than %s", fetch.ErrTimeout, servedTime))
	defer stop()
	s, err := f.Serve(ctx, r.URL)
	if err != nil {
		return nil, err
	}
	defer s.Close()
	list, err := s.List(ctx)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", fetch.ErrUnreachable, err)
	}
	out := &Fetched{Origin: Origin{Type: MCP, URL: r.URL}, Failed: map[string]error{}}
	names := &archive.Paths{}
	byDir := map[string]fetch.ServedSkill{}
	for _, k := range list {
		dir, err := k.Dir()
		if _, twice := byDir[dir]; err == nil && twice {
			err = fmt.Errorf("%w: %q is there twice", archive.ErrBadEntry, k.URI)
		}
		if err == nil {
			err = names.Add(dir, true)
		}
		if err != nil {
			out.Notes = append(out.Notes, fetch.Note{Code: fetch.NoteEntry, Message: fmt.Sprintf("a skill of the server is left out: %v", err)})
			continue
		}
		byDir[dir] = k
		name := k.Name
		if name == "" {
			name = path.Base(dir)
		}
		out.Offers = append(out.Offers, Offer{name, dir, k.Description})
	}
	return out, out.copied(ctx, s, f.chosen(out.Offers), byDir)
}

// copied adds the skills that are wanted of a server.
func (f *Fetched) copied(ctx context.Context, from fetch.SkillServer, dirs []string, skills map[string]fetch.ServedSkill) error {
	left := maxServed
	for _, dir := range dirs {
		files, err := skills[dir].Copy(ctx, from)
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		for _, file := range files {
			left -= len(file.Data)
		}
		if left < 0 {
			return fmt.Errorf("%w: the skills of the server have more than %d bytes", fetch.ErrLimit, maxServed)
		}
		if err != nil {
			f.Failed[dir] = err
			continue
		}
		f.put(dir, skills[dir].Mark(), files)
	}
	return nil
}
