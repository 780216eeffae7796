package source

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/deftskills/deft/skill"
)

// Tree reads every file of a skill and returns the digest of the whole, which is what
// a person grants. It costs as much as the skill is large: a scan never asks for it.
func Tree(ctx context.Context, e *Entry) (skill.Digest, skill.Tree, error) {
	var fsys fs.FS = entryFS{ctx, e}
	if e.RealDir != "" {
		root, err := openRoot(e.RealDir)
		if err != nil {
			return "", nil, fmt.Errorf("skill %q: %w", e.Skill.Name, err)
		}
		defer root.Close()
		fsys = root.FS()
	}
	digest, tree, err := skill.TreeDigest(ctx, fsys)
	if err != nil {
		return "", nil, fmt.Errorf("skill %q: %w", e.Skill.Name, err)
	}
	return digest, tree, nil
}

// entryFS is a skill of a source that does not lie on the disk.
type entryFS struct {
	ctx context.Context
	e   *Entry
}

func (f entryFS) Open(name string) (fs.File, error) { return f.e.From.Open(f.ctx, f.e, name) }

// TrustRoot returns what the trust of a folder is bound to: links resolved, the
// nearest directory at or above it that holds .git; without one the workspace, if the
// folder lies in it, else the folder itself. The home directory holds no other folder
// together. What need not exist yet is taken as it is written.
func TrustRoot(e Env, dir string) string {
	real := resolve(dir)
	w, home := resolve(e.Workspace), resolve(e.Home)
	for d := real; ; {
		if d == home && d != w && d != real {
			break
		}
		if holdsRepository(d) {
			return d
		}
		up := filepath.Dir(d)
		if up == d {
			break
		}
		d = up
	}
	if rel, err := filepath.Rel(w, real); err == nil && w != "" && filepath.IsLocal(rel) {
		return w
	}
	return real
}

func holdsRepository(dir string) bool {
	_, err := os.Lstat(filepath.Join(dir, ".git"))
	return err == nil
}

// resolve follows the links of the part of a path that exists.
func resolve(path string) string {
	if path == "" {
		return ""
	}
	path = filepath.Clean(path)
	real, err := filepath.EvalSymlinks(path)
	if err == nil {
		return real
	}
	up := filepath.Dir(path)
	if up == path || !errors.Is(err, fs.ErrNotExist) {
		return path
	}
	return filepath.Join(resolve(up), filepath.Base(path))
}

// TrustRoots answers TrustRoot for many skills of one project: it looks at each
// directory once. Not safe for concurrent use.
type TrustRoots struct {
	env   Env
	known map[string]string
}

// NewTrustRoots returns an empty cache for one moment: directories that change later
// need a new one.
func NewTrustRoots(e Env) *TrustRoots { return &TrustRoots{env: e, known: map[string]string{}} }

// Of returns the folders that must be trusted for what lies at a path: where it really
// lies, and, where a link of the project leads there, the project that has the link.
func (t *TrustRoots) Of(dir string) []string {
	roots := []string{t.OfReal(resolve(dir))}
	level := filepath.Clean(t.env.Workspace)
	for !within(filepath.Clean(dir), level) && filepath.Dir(level) != level {
		level = filepath.Dir(level)
	}
	if own := t.OfReal(resolve(level)); t.env.Workspace != "" && filepath.Dir(level) != level && own != roots[0] {
		roots = append(roots, own)
	}
	return roots
}

// OfReal is Of for a directory whose links are resolved.
func (t *TrustRoots) OfReal(real string) string {
	root, ok := t.known[real]
	if ok {
		return root
	}
	up := filepath.Dir(real)
	switch {
	case real == "" || up == real:
		root = TrustRoot(t.env, real)
	case holdsRepository(real):
		root = real
	default:
		// The parent's answer holds unless it depends on the directory itself.
		if root = t.OfReal(up); root == up && !holdsRepository(up) {
			root = TrustRoot(t.env, real)
		}
	}
	t.known[real] = root
	return root
}
