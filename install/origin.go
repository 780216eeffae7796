package install

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/deftskills/deft/install/archive"
	"github.com/deftskills/deft/install/fetch"
	"github.com/deftskills/deft/skill"
	"github.com/deftskills/deft/source"
	"github.com/deftskills/deft/store/blobs"
)

// Origin is where a skill came from, as records keep it.
type Origin struct {
	Type    Kind   `json:"type"`
	URL     string `json:"url"`
	Ref     string `json:"ref,omitempty"`
	Commit  string `json:"commit,omitempty"` // 40 hex digits of a repository; a digest of an archive or file; a version
	Subpath string `json:"subpath,omitempty"`
}

// Source is the source that an origin was fetched from, to be fetched again.
func (o Origin) Source() SourceRef {
	return SourceRef{Kind: o.Type, URL: o.URL, Ref: o.Ref}
}

// Exactly is the source at what was fetched then, where it can be asked for that.
func (o Origin) Exactly() SourceRef {
	r := o.Source()
	if o.Type == NPM || o.Type == Published || o.Type == Git && len(o.Commit) == 40 {
		r.Ref = o.Commit
	}
	return r
}

// Fetched is a source as bytes, and where exactly they came from.
type Fetched struct {
	Origin Origin         // Subpath is the folder that was asked for
	Files  []archive.File // of the whole source, or what of it is wanted
	Notes  []fetch.Note
	// Offers are all skills of a source that lists them, also those that were not fetched.
	Offers []Offer
	// Failed are those of them that were wanted and could not be had, by folder.
	Failed map[string]error
	// Unverified says that nothing tells whether these are the bytes that were published.
	Unverified bool
	Signature  fetch.Signature

	roots   []string          // folders in which skills are looked for; nil = all
	commits map[string]string // of each skill, by folder, where the source has none as a whole
	// licensed is the licence that an earlier install found, where the files around the
	// skill are not at hand.
	licensed string
	whole    fs.FS // see fs; nil = not made yet
}

// fs is everything that was fetched as one file system.
func (f *Fetched) fs(ctx context.Context) (fs.FS, error) {
	if f.whole == nil {
		all, err := treeOf(ctx, f.Files)
		if err != nil {
			return nil, err
		}
		if f.whole, err = all.fs(); err != nil {
			return nil, err
		}
	}
	return f.whole, nil
}

// Fetcher gets sources.
type Fetcher struct {
	Git  *fetch.Git
	HTTP *fetch.HTTP
	Home string // for paths that begin with ~
	Dir  string // absolute; other paths are relative to it

	Origins []string         // hosts, or host:port, that an index may name beside its own
	Keys    fetch.Keys       // whose signatures count
	NPM     *fetch.NPMConfig // nil = npm's defaults
	// Serve connects to a server of skills, by its name or its address; nil = to none.
	Serve func(ctx context.Context, server string) (fetch.SkillServer, error)
	// Choose says what is fetched of a source that lists its skills; nil = all.
	Choose func([]Offer) []Offer
	// Versions has what deft: sources name; nil = they can't be fetched.
	Versions *VersionStore
}

// ErrMissing is a folder of this machine that is not there any more.
var ErrMissing = errors.New("source_missing")

// Fetch gets the bytes of a source. Nothing on disk changes but a temporary folder.
func (f *Fetcher) Fetch(ctx context.Context, r SourceRef) (*Fetched, error) {
	if strings.HasPrefix(r.URL, "http://") && (f.HTTP == nil || !f.HTTP.Plain) {
		return nil, fmt.Errorf("%w: http is not safe from changes on the way: %q", ErrBadURL, fetch.Redacted(r.URL))
	}
	switch r.Kind {
	case Local:
		return f.local(ctx, r)
	case Published:
		return f.published(ctx, r)
	case Archive:
		return f.archive(ctx, r)
	case WellKnown:
		return f.index(ctx, r.URL)
	case Probe:
		return f.probe(ctx, r)
	}
	if err := f.Keys.Demand(string(r.Kind)); err != nil {
		return nil, err
	}
	switch r.Kind {
	case Git:
		return f.git(ctx, r, r.URL)
	case NPM:
		return f.npm(ctx, r)
	case MCP:
		return f.served(ctx, r)
	case File:
		b, err := f.HTTP.Document(ctx, r.URL)
		if err != nil {
			return nil, err
		}
		return &Fetched{Origin: Origin{Type: File, URL: r.URL, Commit: b.Digest}, Files: []archive.File{{Path: "SKILL.md", Data: b.Data}}}, nil
	}
	return nil, fmt.Errorf("%w: %s sources can't be fetched by this release: %s", ErrUnrecognised, r.Kind, r)
}

// archive fetches an archive, and the signature that lies beside it.
func (f *Fetcher) archive(ctx context.Context, r SourceRef) (*Fetched, error) {
	b, err := f.HTTP.Archive(ctx, r.URL)
	if err != nil {
		return nil, err
	}
	signed, err := f.Keys.Beside(ctx, f.HTTP, b)
	if err != nil {
		return nil, err
	}
	out, err := unpack(r, b.Data, b.Digest)
	if err == nil {
		out.Signature = signed
	}
	return out, err
}

// unpack reads an archive, or what of it lies below the folder that was asked for.
func unpack(r SourceRef, data []byte, digest string) (*Fetched, error) {
	c, err := archive.Read(data, archive.Limits{})
	if err != nil {
		return nil, err
	}
	out := &Fetched{Origin: Origin{Type: r.Kind, URL: r.URL, Commit: digest, Subpath: r.Dir}, Files: c.Files}
	for _, n := range c.Notes {
		out.Notes = append(out.Notes, fetch.Note{Code: fetch.NoteLink, Message: n})
	}
	return out, out.has(r.Dir)
}

func below(files []archive.File, dir string) []archive.File {
	if dir == "" {
		return files
	}
	var out []archive.File
	for _, f := range files {
		if rest, ok := strings.CutPrefix(f.Path, dir+"/"); ok {
			f.Path = rest
			out = append(out, f)
		}
	}
	return out
}

// git resolves a ref to a commit and fetches its tree.
func (f *Fetcher) git(ctx context.Context, r SourceRef, address string) (*Fetched, error) {
	if f.Git == nil {
		return nil, fmt.Errorf("%w: no git program is there, 2.30 or later", fetch.ErrUnreachable)
	}
	refs, err := f.Git.Refs(ctx, address)
	if err != nil {
		return nil, err
	}
	names := make([]string, 0, len(refs))
	for _, ref := range refs {
		names = append(names, ref.Name)
	}
	r, near, ok := r.Split(names)
	if !ok {
		return nil, noRef(r.Rest, near)
	}
	ref := r.Ref
	if ref == "" {
		ref = "HEAD"
	}
	commit := ref
	if i := slices.IndexFunc(refs, func(have fetch.Ref) bool { return have.Name == ref }); i >= 0 {
		commit = refs[i].Commit
	} else if !commitForm.MatchString(ref) {
		return nil, noRef(ref, closeRefs(ref, names))
	}
	got, err := f.Git.Fetch(ctx, address, ref, commit, within(r.Dir))
	if err != nil {
		return nil, err
	}
	out := &Fetched{Origin: Origin{Type: Git, URL: r.URL, Ref: r.Ref, Commit: got.Commit, Subpath: r.Dir}, Files: got.Files, Notes: got.Notes}
	return out, out.has(r.Dir)
}

// within wants the files below a folder, and those that stand beside the way to it: a
// licence may.
func within(dir string) func(string) bool {
	if dir == "" {
		return nil
	}
	return func(p string) bool {
		above := dirOf(p)
		return strings.HasPrefix(p, dir+"/") || above == "" || strings.HasPrefix(dir, above+"/")
	}
}

// has is ErrNoDir where nothing lies below a folder, and no file of its name is a skill.
func (f *Fetched) has(dir string) error {
	if dir == "" || len(below(f.Files, dir)) > 0 || slices.ContainsFunc(f.Files, func(file archive.File) bool {
		return file.Path == dir && f.flat(file.Path, FindOptions{})
	}) {
		return nil
	}
	return fmt.Errorf("%w: no folder %q in %s", fetch.ErrNoDir, dir, f.Origin.URL)
}

func noRef(ref string, near []string) error {
	if len(near) == 0 {
		return fmt.Errorf("%w: no branch, tag or commit %q", fetch.ErrNoRef, ref)
	}
	return fmt.Errorf("%w: no branch, tag or commit %q; close: %s", fetch.ErrNoRef, ref, strings.Join(near, ", "))
}

// Path is the absolute path of a source on this machine.
func (f *Fetcher) Path(p string) string {
	if p == "~" || strings.HasPrefix(p, "~/") {
		return filepath.Join(f.Home, p[1:])
	}
	if !filepath.IsAbs(p) {
		p = filepath.Join(f.Dir, p)
	}
	return filepath.Clean(p)
}

// local reads a folder, the folder of a SKILL.md, an archive, or a ref of a work tree.
func (f *Fetcher) local(ctx context.Context, r SourceRef) (*Fetched, error) {
	at := f.Path(r.URL)
	info, err := os.Stat(at)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("%w: %s is not there", ErrMissing, at)
	}
	if err != nil {
		return nil, fmt.Errorf("source: %w", err)
	}
	if r.Ref != "" {
		out, err := f.git(ctx, r, at)
		if err == nil {
			out.Origin.Type, out.Origin.URL = Local, r.URL
		}
		return out, err
	}
	if !info.IsDir() {
		if filepath.Base(at) == source.SkillFile {
			at = filepath.Dir(at)
			r.URL = filepath.Dir(r.URL)
		} else {
			data, err := os.ReadFile(at)
			if err != nil {
				return nil, fmt.Errorf("source: %w", err)
			}
			return f.localArchive(r, at, data)
		}
	}
	files, notes, err := readFolder(ctx, at)
	if err != nil {
		return nil, err
	}
	out := &Fetched{Origin: Origin{Type: Local, URL: r.URL, Subpath: r.Dir}, Files: files, Notes: notes}
	return out, out.has(r.Dir)
}

// localArchive reads an archive of this machine. A signature beside it must be good; none
// is asked for.
func (f *Fetcher) localArchive(r SourceRef, at string, data []byte) (*Fetched, error) {
	keys := f.Keys
	keys.Require = false
	sig, err := os.ReadFile(filepath.Join(filepath.Dir(at), fetch.SignatureFile))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("source: %w", err)
	}
	signed, err := keys.Check(data, sig)
	if err != nil {
		return nil, err
	}
	out, err := unpack(r, data, string(skill.FileDigest(data)))
	if err == nil {
		out.Signature = signed
	}
	return out, err
}

// The bounds of a folder of this machine, those of a repository.
const (
	maxFolderFiles = 50_000
	maxFolderBytes = 256 << 20
)

// readFolder reads every file of a folder but those of tools. A link to a file inside
// is what it leads to, any other is left out.
func readFolder(ctx context.Context, dir string) (files []archive.File, notes []fetch.Note, err error) {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, nil, fmt.Errorf("source: %w", err)
	}
	defer root.Close()
	total := int64(0)
	err = fs.WalkDir(root.FS(), ".", func(name string, e fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		if e.IsDir() {
			if left(e.Name()) && name != "." {
				return fs.SkipDir
			}
			return nil
		}
		info, err := fs.Stat(root.FS(), name) // through a link, within the folder
		if err != nil || !info.Mode().IsRegular() {
			notes = append(notes, fetch.Note{Code: fetch.NoteLink, Path: name, Message: "no regular file of the folder; it is left out"})
			return nil
		}
		if left(e.Name()) {
			return nil
		}
		if total += info.Size(); total > maxFolderBytes || len(files) == maxFolderFiles {
			return fmt.Errorf("%w: %s holds more than %d files or %d bytes", fetch.ErrLimit, dir, maxFolderFiles, maxFolderBytes)
		}
		data, err := readFile(root, name)
		if err != nil {
			return err
		}
		files = append(files, archive.File{Path: name, Data: data, Exec: info.Mode()&0o111 != 0})
		return nil
	})
	if err != nil && ctx.Err() == nil {
		err = fmt.Errorf("source %s: %w", dir, err)
	}
	return files, notes, err
}

func readFile(root *os.Root, name string) ([]byte, error) {
	f, err := root.Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return io.ReadAll(io.LimitReader(f, maxFolderBytes+1))
}

// leftOut are what tools put beside a skill; they are no part of it.
var leftOut = []string{".git", "node_modules", ".DS_Store", "Thumbs.db", ".venv", "__pycache__", ProvenanceFile, minaraFile}

// left reports whether a name is not copied and not compared.
func left(name string) bool {
	return slices.Contains(leftOut, name) || strings.HasSuffix(name, "~") || strings.HasSuffix(name, ".swp")
}

// contents are files as a tree and the blobs that it names.
type contents struct {
	tree skill.Tree
	*blobs.Memory
}

func treeOf(ctx context.Context, files []archive.File) (contents, error) {
	c := contents{Memory: blobs.NewMemory()}
	for _, f := range files {
		d, err := c.Put(ctx, f.Data)
		if err != nil {
			return c, err
		}
		c.tree = append(c.tree, skill.FileEntry{Path: f.Path, Blob: d, Size: int64(len(f.Data)), Exec: f.Exec})
	}
	slices.SortFunc(c.tree, func(a, b skill.FileEntry) int { return strings.Compare(a.Path, b.Path) })
	return c, nil
}

// fs is the files of c as a file system.
func (c contents) fs() (fs.FS, error) { return source.VersionFS(c.tree, c.Memory, time.Time{}) }

// dirOf is the folder of a path in a tree, "" for its root.
func dirOf(p string) string {
	if d := path.Dir(p); d != "." {
		return d
	}
	return ""
}

// FromStore gives what a lock file names out of the store, without a network. The error
// is one of the store where it has not all of it.
func (i *Installer) FromStore(ctx context.Context, e Entry) (*Fetched, error) {
	tree, err := i.pristine(ctx, e.Tree)
	if err != nil {
		return nil, err
	}
	out := &Fetched{Origin: e.Source}
	for _, f := range tree {
		data, err := i.o.Blobs.Get(ctx, f.Blob)
		if err != nil {
			return nil, err
		}
		out.Files = append(out.Files, archive.File{
			Path: path.Join(e.Source.Subpath, f.Path), Data: data, Exec: f.Exec || slices.Contains(e.Exec, f.Path),
		})
	}
	out.licensed = e.Licence
	return out, nil
}
