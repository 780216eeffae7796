package fetch

import (
	"bytes"
	"cmp"
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"net/url"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/plumbing/protocol/packp"
	"github.com/go-git/go-git/v5/plumbing/protocol/packp/capability"
)

// Repositories without the git program: the same steps and bounds, into memory. The server
// is asked what it has, then for one commit without its history; the objects of the answer
// are checked by their names, since the name of each is its digest.

// wire is how a server is talked to.
type wire interface {
	// advertised reads what the server has.
	advertised(ctx context.Context) (*packp.AdvRefs, error)
	// pack asks for objects and hands the answer to read.
	pack(ctx context.Context, r *packp.UploadPackRequest, read func(*packp.UploadPackResponse) error) error
	close()
}

// store is where objects are read from.
type store interface {
	kind(id string) (kind plumbing.ObjectType, size int64, err error)
	read(id string) ([]byte, error)
}

// open begins to talk to a server.
func (g *Git) open(ctx context.Context, address string, p pinned, l Limits) (wire, error) {
	u, err := url.Parse(address)
	switch {
	case err == nil && (u.Scheme == "https" || u.Scheme == "http") && u.Host != "":
		return g.overHTTP(u, p, l)
	case err == nil && u.Scheme == "ssh" && u.Host != "":
		return g.overSSH(ctx, u.User.Username(), u.Hostname(), cmp.Or(u.Port(), "22"), u.Path, l)
	}
	if at, rest, ok := strings.Cut(address, ":"); ok && !strings.ContainsAny(at, "/\\") && !strings.HasPrefix(rest, ":") {
		user, host, named := strings.Cut(at, "@")
		if !named {
			user, host = "", at
		}
		return g.overSSH(ctx, user, host, "22", rest, l)
	}
	return nil, fmt.Errorf("%w: %q is no address of a repository", ErrUnreachable, address)
}

func (g *Git) refsWithout(ctx context.Context, address string, p pinned) ([]Ref, error) {
	if filepath.IsAbs(address) {
		r, err := openFolder(address)
		if err != nil {
			return nil, err
		}
		return r.refs()
	}
	w, err := g.open(ctx, address, p, g.Limits.withDefaults())
	if err != nil {
		return nil, err
	}
	defer w.close()
	ar, err := w.advertised(ctx)
	if err != nil {
		return nil, g.failed(ctx, address, err)
	}
	return refsOf(listing(ar)), nil
}

// listing is what a server has as git prints it.
func listing(ar *packp.AdvRefs) string {
	var b strings.Builder
	if ar.Head != nil {
		fmt.Fprintf(&b, "%s\tHEAD\n", ar.Head)
	}
	names := make([]string, 0, len(ar.References))
	for name := range ar.References {
		names = append(names, name)
	}
	slices.Sort(names)
	for _, name := range names {
		if name == "HEAD" {
			continue
		}
		fmt.Fprintf(&b, "%s\t%s\n", ar.References[name], name)
		if peeled, ok := ar.Peeled[name]; ok {
			fmt.Fprintf(&b, "%s\t%s^{}\n", peeled, name)
		}
	}
	return b.String()
}

func (g *Git) fetchWithout(ctx context.Context, address, ref, commit string, p pinned, keep func(string) bool, l Limits) (f Fetched, err error) {
	var from store
	if filepath.IsAbs(address) {
		r, err := openFolder(address)
		if err != nil {
			return Fetched{}, err
		}
		refs, err := r.refs()
		if err != nil {
			return Fetched{}, err
		}
		if f.Commit, err = wanted(refs, ref, commit); err != nil {
			return Fetched{}, err
		}
		from = r
	} else {
		w, err := g.open(ctx, address, p, l)
		if err != nil {
			return Fetched{}, err
		}
		defer w.close()
		if from, f.Commit, err = g.download(ctx, w, ref, commit, l); err != nil {
			return Fetched{}, g.failed(ctx, address, err)
		}
	}
	c := newChoice(keep, l)
	if err := walk(from, f.Commit, l, func(o object) error { return c.add(o, &f) }); err != nil {
		return Fetched{}, g.failed(ctx, address, err)
	}
	err = f.take(c.wanted, func(o object) ([]byte, error) {
		if ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
		return from.read(o.id)
	})
	return f, err
}

// wanted is the commit that a person, a record or a name of the repository means.
func wanted(refs []Ref, ref, commit string) (string, error) {
	if hexCommit(commit) {
		return commit, nil
	}
	for _, name := range []string{commit, ref} {
		if i := slices.IndexFunc(refs, func(r Ref) bool { return r.Name == name }); i >= 0 && name != "" {
			return refs[i].Commit, nil
		}
	}
	return "", fmt.Errorf("%w: couldn't find %q", ErrNoRef, commit)
}

// download asks for one commit, without its history.
func (g *Git) download(ctx context.Context, w wire, ref, commit string, l Limits) (store, string, error) {
	ar, err := w.advertised(ctx)
	if err != nil {
		return nil, "", err
	}
	id, err := wanted(refsOf(listing(ar)), ref, commit)
	if err != nil {
		return nil, "", err
	}
	r := packp.NewUploadPackRequest()
	r.Wants = []plumbing.Hash{plumbing.NewHash(id)}
	for _, c := range []capability.Capability{capability.Shallow, capability.NoProgress} {
		if !ar.Capabilities.Supports(c) {
			continue
		}
		if err := r.Capabilities.Set(c); err != nil {
			return nil, "", fmt.Errorf("git: %w", err)
		}
	}
	if r.Capabilities.Supports(capability.Shallow) {
		r.Depth = packp.DepthCommits(1)
	}
	var objects *pack
	err = w.pack(ctx, r, func(in *packp.UploadPackResponse) (err error) {
		objects, err = readPack(in, l)
		return err
	})
	return objects, id, err
}

// failed turns what went wrong into one of the errors of this room.
func (g *Git) failed(ctx context.Context, address string, err error) error {
	switch {
	case errors.Is(context.Cause(ctx), context.DeadlineExceeded):
		return fmt.Errorf("%w: %s took too long", ErrTimeout, Redacted(address))
	case ctx.Err() != nil:
		return context.Cause(ctx)
	case strings.Contains(err.Error(), "not our ref"):
		return fmt.Errorf("%w: %s", ErrNoRef, err)
	}
	for _, known := range []error{ErrPrivate, ErrLimit, ErrTimeout, ErrNoRef, ErrUnreachable} {
		if errors.Is(err, known) {
			return unwrapURL(err)
		}
	}
	return fmt.Errorf("%w: %s: %s", ErrUnreachable, Redacted(address), unwrapURL(err))
}

// visitedEntries is how many times more entries a tree may have than may be wanted of it.
const visitedEntries = 20

// walk visits every file below the tree of a commit, in the order in which git lists them.
func walk(from store, commit string, l Limits, visit func(object) error) error {
	kind, _, err := from.kind(commit)
	if err != nil {
		return err
	}
	data, err := from.read(commit)
	if err != nil {
		return err
	}
	tree, ok := strings.CutPrefix(string(data[:min(len(data), len("tree ")+40)]), "tree ")
	if kind != plumbing.CommitObject || !ok || !hexCommit(tree) {
		return fmt.Errorf("%w: %s is no commit", ErrUnreachable, commit)
	}
	// Files that are not wanted count too: a tree that holds another many times over, which
	// does so too, is small on the wire.
	left := visitedEntries * l.Entries
	return walkTree(from, tree, "", &left, visit)
}

func walkTree(from store, id, dir string, left *int, visit func(object) error) error {
	kind, _, err := from.kind(id)
	if err != nil {
		return err
	}
	if kind != plumbing.TreeObject {
		return fmt.Errorf("%w: %s is no tree", ErrUnreachable, id)
	}
	data, err := from.read(id)
	if err != nil {
		return err
	}
	for len(data) > 0 {
		var o object
		if o, data, err = entryOf(id, data); err != nil {
			return err
		}
		o.path = path.Join(dir, o.path)
		if *left--; *left < 0 || strings.Count(o.path, "/") > maxDepth {
			return fmt.Errorf("%w: the tree is too large", ErrLimit)
		}
		switch o.mode {
		case "040000":
			err = walkTree(from, o.id, o.path, left, visit)
		case "160000": // of another repository: not among these objects
			err = visit(o)
		default:
			var kind plumbing.ObjectType
			if kind, o.size, err = from.kind(o.id); err == nil && kind != plumbing.BlobObject {
				err = fmt.Errorf("%w: %s is no file", ErrUnreachable, o.id)
			}
			if err == nil {
				err = visit(o)
			}
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// entryOf reads one entry of a tree: mode, a blank, the name, NUL and twenty bytes.
func entryOf(tree string, data []byte) (object, []byte, error) {
	end := bytes.IndexByte(data, 0)
	if end < 0 || len(data) < end+21 {
		return object{}, nil, fmt.Errorf("%w: the tree %s is cut off", ErrUnreachable, tree)
	}
	mode, name, _ := strings.Cut(string(data[:end]), " ")
	bits, err := strconv.ParseUint(mode, 8, 32)
	if err != nil || name == "" || name == "." || name == ".." || strings.Contains(name, "/") || strings.EqualFold(name, ".git") {
		return object{}, nil, fmt.Errorf("%w: the tree %s has an entry that may not be: %q", ErrUnreachable, tree, data[:end])
	}
	return object{mode: fmt.Sprintf("%06o", bits), path: name, id: hex.EncodeToString(data[end+1 : end+21])}, data[end+21:], nil
}
