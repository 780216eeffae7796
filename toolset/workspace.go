package toolset

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"
	"sync"
	"syscall"

	"github.com/deftskills/deft/internal/atomicfile"
)

const (
	maxWhole = 16 << 20 // bytes of a file that a tool takes into memory
	maxLinks = 16       // links in a row at the end of a path
)

// FileOptions configures the file tools.
type FileOptions struct {
	Workspace string                     // absolute; nothing outside it is read or written
	Seen      *Seen                      // what this session has read; nil = a new one
	Todo      *Todo                      // the session's list; nil = a new one
	Denied    func(absolute string) bool // files that no tool may read; nil = none
	Touched   func(file string)          // told each file, below the workspace, that was read or written; nil = nobody
	// Outputs is a folder, absolute and real, from which files can be read by their absolute
	// paths: outputs that were too long for the model. "" = there is none.
	Outputs string
}

// Files returns the tools for files of the workspace and for the list of things to
// do. All handlers are confined to the workspace by an os.Root, so that no link leads
// out of it, also not one that is swapped while a tool runs.
func Files(o FileOptions) []Tool {
	if o.Seen == nil {
		o.Seen = NewSeen()
	}
	if o.Todo == nil {
		o.Todo = &Todo{}
	}
	if o.Touched == nil {
		o.Touched = func(string) {}
	}
	w := &workspace{dir: filepath.Clean(o.Workspace), outputs: o.Outputs, seen: o.Seen, denied: o.Denied, touched: o.Touched}
	return []Tool{
		&fileReadTool{w}, &writeTool{w}, &editTool{w}, &globTool{w}, &grepTool{w}, &todoTool{o.Todo},
	}
}

// Seen remembers the digest of each file that the model was shown, so that a write
// never destroys what it has not read. One value belongs to one session; it is safe
// for concurrent use.
type Seen struct {
	mu      sync.Mutex
	digests map[string][sha256.Size]byte
}

// NewSeen returns a value that has seen nothing.
func NewSeen() *Seen { return &Seen{digests: map[string][sha256.Size]byte{}} }

func (s *Seen) put(rel string, content []byte) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.digests[rel] = sha256.Sum256(content)
}

func (s *Seen) get(rel string) (sum [sha256.Size]byte, ok bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	sum, ok = s.digests[rel]
	return sum, ok
}

// workspace is the one door to files for the file tools.
type workspace struct {
	dir     string
	outputs string // "" = there are none
	seen    *Seen
	denied  func(string) bool
	touched func(string)
	writes  sync.Mutex // a check and the write that it permits are one step
}

// errOutside refuses a path that does not stay in the workspace.
var errOutside = errors.New("outside the workspace")

// relative turns an argument into a clean slash-separated path below the workspace.
func (w *workspace) relative(arg string) (string, error) {
	p := arg
	if filepath.IsAbs(p) {
		rel, err := filepath.Rel(w.dir, p)
		if err != nil {
			return "", errOutside
		}
		p = rel
	}
	p = path.Clean(filepath.ToSlash(p))
	if strings.HasPrefix(arg, "~") || strings.ContainsRune(p, 0) || !filepath.IsLocal(filepath.FromSlash(p)) {
		return "", errOutside
	}
	if w.denied != nil && w.denied(filepath.Join(w.dir, filepath.FromSlash(p))) {
		return "", fs.ErrPermission
	}
	return p, nil
}

// open opens the workspace itself; the caller closes it.
func (w *workspace) open() (*os.Root, error) { return os.OpenRoot(w.dir) }

// openOutputs opens the folder of kept outputs; the caller closes it.
func (w *workspace) openOutputs() (*os.Root, error) { return os.OpenRoot(w.outputs) }

// output returns the name of a kept output that an absolute path names.
func (w *workspace) output(arg string) (name string, ok bool) {
	if w.outputs == "" || !filepath.IsAbs(arg) {
		return "", false
	}
	rel, err := filepath.Rel(w.outputs, filepath.Clean(arg))
	return rel, err == nil && filepath.IsLocal(rel)
}

// readWhole returns the content of a regular file. The type is asked before the file
// is opened, because opening a FIFO waits for a writer.
func readWhole(root *os.Root, rel string) ([]byte, fs.FileInfo, error) {
	st, err := root.Stat(filepath.FromSlash(rel))
	if err != nil {
		return nil, nil, err
	}
	if !st.Mode().IsRegular() {
		return nil, st, errNotFile
	}
	f, err := root.OpenFile(filepath.FromSlash(rel), os.O_RDONLY|nonblock, 0)
	if err != nil {
		return nil, nil, err
	}
	defer f.Close()
	if st, err = f.Stat(); err != nil {
		return nil, nil, err
	}
	if !st.Mode().IsRegular() {
		return nil, st, errNotFile
	}
	raw, err := io.ReadAll(io.LimitReader(f, maxWhole+1))
	if err == nil && len(raw) > maxWhole {
		err = errTooLarge
	}
	return raw, st, err
}

var (
	errNotFile  = errors.New("not a regular file")
	errTooLarge = errors.New("too large")
)

// refusal turns a failed access into a Result. What lies outside the workspace gets
// one answer, whether it exists or not.
func (w *workspace) refusal(arg string, err error) Result {
	shown := quote(arg)
	switch {
	case errors.Is(err, fs.ErrNotExist), errors.Is(err, syscall.ENOTDIR):
		return refuse("file_unknown", fmt.Sprintf("No file %s in the workspace.", shown))
	case errors.Is(err, errNotFile):
		return refuse("not_a_file", fmt.Sprintf("%s is not a regular file.", shown))
	case errors.Is(err, errTooLarge):
		return refuse("file_too_large", fmt.Sprintf("%s is larger than %d MiB.", shown, maxWhole>>20))
	case errors.Is(err, fs.ErrPermission):
		return refuse("file_denied", fmt.Sprintf("%s may not be used.", shown))
	case errors.Is(err, syscall.ENOSPC), errors.Is(err, syscall.EROFS), errors.Is(err, syscall.EIO), errors.Is(err, syscall.EISDIR):
		return refuse("file_unwritable", fmt.Sprintf("%s cannot be written: the file system refuses it.", shown))
	}
	return refuse("outside_workspace", fmt.Sprintf("%s is outside the workspace. Paths are relative to the workspace, and links count with what they lead to. Files of a skill are read with the skill's own reader.", shown))
}

// target follows links at the end of rel, so that a write goes through them and does
// not replace them.
func target(root *os.Root, rel string) (string, error) {
	for range maxLinks {
		st, err := root.Lstat(filepath.FromSlash(rel))
		if errors.Is(err, fs.ErrNotExist) {
			return rel, nil
		}
		if err != nil || st.Mode()&fs.ModeSymlink == 0 {
			return rel, err
		}
		to, err := root.Readlink(filepath.FromSlash(rel))
		if err != nil {
			return "", err
		}
		if filepath.IsAbs(to) {
			if to, err = filepath.Rel(root.Name(), to); err != nil {
				return "", errOutside
			}
			rel = filepath.ToSlash(to)
		} else {
			rel = path.Join(path.Dir(rel), filepath.ToSlash(to))
		}
		if !filepath.IsLocal(filepath.FromSlash(rel)) {
			return "", errOutside
		}
	}
	return "", errOutside
}

// change is a planned write.
type change struct {
	rel      string
	old, new []byte
	mode     fs.FileMode
	exists   bool
}

// plan reads what is there now and asks make for the new content. The file must be
// the one that the model has seen.
func (w *workspace) plan(root *os.Root, arg string, create bool, makeNew func(old []byte) ([]byte, *Result)) (change, *Result) {
	fail := func(r Result) (change, *Result) { return change{}, &r }
	rel, err := w.relative(arg)
	if err == nil {
		rel, err = target(root, rel)
	}
	if err != nil {
		return fail(w.refusal(arg, err))
	}
	c := change{rel: rel, mode: 0o644}
	old, st, err := readWhole(root, rel)
	switch {
	case err == nil:
		c.old, c.mode, c.exists = old, st.Mode().Perm(), true
	case create && errors.Is(err, fs.ErrNotExist):
	default:
		return fail(w.refusal(arg, err))
	}
	if c.exists {
		sum, seen := w.seen.get(rel)
		switch {
		case !seen:
			return fail(refuse("stale_file", fmt.Sprintf("%s exists and was not read in this session. Read it first. Nothing was written.", quote(arg))))
		case sum != sha256.Sum256(old):
			return fail(refuse("stale_file", fmt.Sprintf("%s has changed since it was read. Read it again. Nothing was written.", quote(arg))))
		}
	}
	next, refused := makeNew(old)
	if refused != nil {
		return change{}, refused
	}
	c.new = next
	return c, nil
}

// commit writes a planned change at once or not at all.
func (w *workspace) commit(ctx context.Context, root *os.Root, c change) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	if dir := path.Dir(c.rel); dir != "." && !c.exists {
		if err := root.MkdirAll(filepath.FromSlash(dir), 0o755); err != nil {
			return err
		}
	}
	if err := atomicfile.WriteIn(root, filepath.FromSlash(c.rel), c.new, c.mode); err != nil {
		return err
	}
	w.seen.put(c.rel, c.new)
	w.touched(c.rel)
	return nil
}
