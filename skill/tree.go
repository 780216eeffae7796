package skill

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/text/cases"

	"github.com/deftskills/deft/internal/fold"
	"github.com/deftskills/deft/internal/limits"
)

// FileEntry is one regular file of a skill's directory.
type FileEntry struct {
	Path string // relative, "/" separated, NFC
	Blob Digest // of the file's raw bytes
	Size int64  // bytes
	Exec bool   // any execute bit is set; kept for packing, never digested
}

// Tree is every file of a skill's directory that counts, sorted bytewise by path.
type Tree []FileEntry

// Digest returns the deft-tree-v1 digest of t: sha256 over the line
// "deft-tree-v1" and, for each file in order, path NUL hex sha256 NUL size LF.
// Modes, times and empty directories do not count, so that all systems agree.
func (t Tree) Digest() Digest {
	var b bytes.Buffer
	b.WriteString("deft-tree-v1\n")
	for _, e := range t {
		b.WriteString(e.Path)
		b.WriteByte(0)
		b.WriteString(strings.TrimPrefix(string(e.Blob), "sha256:"))
		b.WriteByte(0)
		b.WriteString(strconv.FormatInt(e.Size, 10))
		b.WriteByte('\n')
	}
	return FileDigest(b.Bytes())
}

// TreeError is why a directory has no tree digest. Its diagnostic's code is
// tree_link_escape, tree_special, tree_case_clash, limit_tree or file_unreadable,
// its File the path inside the tree.
type TreeError struct{ Diagnostic Diagnostic }

// Error names the path and the cause.
func (e *TreeError) Error() string {
	return fmt.Sprintf("tree %q: %s", e.Diagnostic.File, e.Diagnostic.Message)
}

// TreeDigest reads every file of fsys and returns the digest of the whole with the
// files it is made of. Version-control folders and bookkeeping files are left out.
// A link to something inside the tree counts as what it leads to; a link that
// leaves, a device, FIFO or socket, two paths that one folding file system would
// take for the same, and a tree over the default limits are a *TreeError. Any
// other error is ctx's. Give it an os.Root's FS where another process may write.
func TreeDigest(ctx context.Context, fsys fs.FS) (Digest, Tree, error) {
	return TreeDigestWithin(ctx, fsys, limits.Skill{})
}

// TreeDigestWithin is TreeDigest with bounds of the caller's; zero fields of l mean
// the defaults.
func TreeDigestWithin(ctx context.Context, fsys fs.FS, l limits.Skill) (Digest, Tree, error) {
	return digestTree(ctx, fsys, l, nil)
}

// TreeFiles is TreeDigest that also hands the bytes of every file to keep, which may hold
// on to them: what is digested is what is kept, also where another process writes. An
// error of keep ends it.
func TreeFiles(ctx context.Context, fsys fs.FS, keep func(e FileEntry, data []byte) error) (Digest, Tree, error) {
	return digestTree(ctx, fsys, limits.Skill{}, keep)
}

func digestTree(ctx context.Context, fsys fs.FS, l limits.Skill, keep func(FileEntry, []byte) error) (Digest, Tree, error) {
	w := treeWalk{ctx: ctx, fsys: fsys, limits: l.WithDefaults(), folded: map[string]string{}, keep: keep}
	if err := w.dir(".", ".", []string{"."}); err != nil {
		return "", nil, err
	}
	slices.SortFunc(w.tree, func(a, b FileEntry) int { return strings.Compare(a.Path, b.Path) })
	return w.tree.Digest(), w.tree, nil
}

// LeftOut reports whether a name is one of those that no tree digest covers: history, and
// files that file browsers, installers and deft itself leave behind.
func LeftOut(name string) bool {
	switch name {
	case ".git", ".hg", ".svn", ".DS_Store", "Thumbs.db", ".deft-skill.json", ".minara-skill.json":
		return true
	}
	return false
}

type treeWalk struct {
	ctx    context.Context
	fsys   fs.FS
	limits limits.Skill
	tree   Tree
	bytes  int64
	seen   int               // entries looked at, so that links cannot multiply the work
	folded map[string]string // folded path → path as found
	keep   func(FileEntry, []byte) error
}

func treeErr(code, p, format string, args ...any) error {
	return &TreeError{Diagnostic{
		Code: code, Level: LevelError, File: p, Offset: -1,
		Message: fmt.Sprintf(format, args...), Fix: "remove or rename",
	}}
}

// dir walks the directory shown at p whose real path in the tree is real. open
// holds the real paths of the directories being walked, to stop at cycles.
func (w *treeWalk) dir(p, real string, open []string) error {
	if len(open)-1 > w.limits.TreeDepth {
		return treeErr("limit_tree", p, "more than %d directory levels", w.limits.TreeDepth)
	}
	entries, err := fs.ReadDir(w.fsys, real)
	if err != nil {
		return treeErr("file_unreadable", p, "directory cannot be read: %v", osCause(err))
	}
	for _, e := range entries {
		if err := w.ctx.Err(); err != nil {
			return err
		}
		if LeftOut(e.Name()) {
			continue
		}
		if w.seen++; w.seen > 2*w.limits.TreeFiles {
			return treeErr("limit_tree", p, "more than %d files and directories", 2*w.limits.TreeFiles)
		}
		if err := w.entry(path.Join(p, e.Name()), path.Join(real, e.Name()), e.Type(), open); err != nil {
			return err
		}
	}
	return nil
}

func (w *treeWalk) entry(p, real string, typ fs.FileMode, open []string) error {
	if typ&fs.ModeSymlink != 0 {
		target, info, err := resolveInside(w.fsys, real)
		if err != nil {
			return treeErr("tree_link_escape", p, "%v", err)
		}
		real, typ = target, info.Mode().Type()
	}
	if err := w.clash(p); err != nil {
		return err
	}
	switch {
	case typ.IsDir():
		if slices.Contains(open, real) {
			return treeErr("tree_link_escape", p, "link leads to a directory that holds it")
		}
		return w.dir(p, real, append(slices.Clip(open), real))
	case typ.IsRegular():
		return w.file(p, real)
	}
	return treeErr("tree_special", p, "%s is not a regular file", specialName(typ))
}

func (w *treeWalk) clash(p string) error {
	key := cases.Fold().String(fold.NFC(p))
	if other, ok := w.folded[key]; ok && other != p {
		return treeErr("tree_case_clash", p, "same path as %q where names are folded", other)
	}
	w.folded[key] = p
	return nil
}

func (w *treeWalk) file(p, real string) error {
	if len(w.tree) >= w.limits.TreeFiles {
		return treeErr("limit_tree", p, "more than %d files", w.limits.TreeFiles)
	}
	f, err := w.fsys.Open(real)
	if err != nil {
		return treeErr("file_unreadable", p, "file cannot be read: %v", osCause(err))
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil || !info.Mode().IsRegular() {
		return treeErr("tree_special", p, "changed while it was opened")
	}
	h := sha256.New()
	var to io.Writer = h
	var data bytes.Buffer
	if w.keep != nil {
		to = io.MultiWriter(h, &data)
	}
	n, err := io.Copy(to, io.LimitReader(f, w.limits.TreeFile+1))
	switch {
	case err != nil:
		return treeErr("file_unreadable", p, "file cannot be read: %v", osCause(err))
	case n > w.limits.TreeFile:
		return treeErr("limit_tree", p, "file of more than %d bytes", w.limits.TreeFile)
	}
	if w.bytes += n; w.bytes > w.limits.TreeBytes {
		return treeErr("limit_tree", p, "more than %d bytes in all", w.limits.TreeBytes)
	}
	e := FileEntry{
		Path: fold.NFC(p), Size: n, Exec: info.Mode()&0o111 != 0,
		Blob: Digest("sha256:" + hex.EncodeToString(h.Sum(nil))),
	}
	w.tree = append(w.tree, e)
	if w.keep != nil {
		return w.keep(e, data.Bytes())
	}
	return nil
}

// resolveInside follows the link at p step by step, never through the system, so
// that no step can leave fsys. It returns the real path and what is there.
func resolveInside(fsys fs.FS, p string) (string, fs.FileInfo, error) {
	const hops = 40 // as many as Linux follows
	rest, done := strings.Split(p, "/"), "."
	var info fs.FileInfo
	for hop := 0; len(rest) > 0; {
		part := rest[0]
		rest = rest[1:]
		switch part {
		case "", ".":
			continue
		case "..":
			if done == "." {
				return "", nil, errors.New("link leaves the directory")
			}
			done = path.Dir(done)
			continue
		}
		next := path.Join(done, part)
		var err error
		if info, err = fs.Lstat(fsys, next); err != nil {
			return "", nil, fmt.Errorf("link target: %w", osCause(err))
		}
		if info.Mode()&fs.ModeSymlink == 0 {
			done = next
			continue
		}
		if hop++; hop > hops {
			return "", nil, fmt.Errorf("more than %d links in a row", hops)
		}
		target, err := fs.ReadLink(fsys, next)
		if err != nil {
			return "", nil, fmt.Errorf("link cannot be read: %w", osCause(err))
		}
		target = strings.ReplaceAll(target, `\`, "/")
		if path.IsAbs(target) || strings.Contains(target, ":/") {
			return "", nil, errors.New("link with an absolute target")
		}
		rest = append(strings.Split(target, "/"), rest...)
	}
	info, err := fs.Lstat(fsys, done)
	if err != nil {
		return "", nil, fmt.Errorf("link target: %w", osCause(err))
	}
	return done, info, nil
}

func specialName(m fs.FileMode) string {
	switch {
	case m&fs.ModeNamedPipe != 0:
		return "a FIFO"
	case m&fs.ModeSocket != 0:
		return "a socket"
	case m&fs.ModeDevice != 0:
		return "a device"
	}
	return "a special file"
}

// osCause strips the operation and path that the os package puts before a cause: the
// diagnostic has its own place, and the path may be one of the machine.
func osCause(err error) error {
	var pe *fs.PathError
	if errors.As(err, &pe) {
		return pe.Err
	}
	return err
}
