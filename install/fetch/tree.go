package fetch

import (
	"bufio"
	"bytes"
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"path"
	"strconv"
	"strings"

	"github.com/deftskills/deft/install/archive"
)

func basic(user, password string) string {
	return base64.StdEncoding.EncodeToString([]byte(user + ":" + password))
}

// limited keeps the first bytes of what is written and refuses the rest.
type limited struct {
	w    io.Writer
	left int
}

func (l *limited) Write(p []byte) (int, error) {
	if len(p) > l.left {
		return 0, fmt.Errorf("%w: git printed too much", ErrLimit)
	}
	l.left -= len(p)
	return l.w.Write(p)
}

// object is one entry of a tree.
type object struct {
	mode, id, path string
	size           int64
}

// lfsMark is how a file begins whose contents lie elsewhere.
const lfsMark = "version https://git-lfs.github.com/spec/v1\n"

// export reads the files of a commit out of the objects, as bytes: nothing is checked
// out, so no filter, attribute or hook has a say in them.
func (g *Git) export(ctx context.Context, repo string, keep func(string) bool, l Limits, f *Fetched) error {
	out, err := g.run(ctx, repo, nil, "ls-tree", "-rzl", "--full-tree", "FETCH_HEAD")
	if err != nil {
		return err
	}
	c := newChoice(keep, l)
	for line := range strings.SplitSeq(string(out), "\x00") {
		if o, ok := objectOf(line); ok {
			if err := c.add(o, f); err != nil {
				return err
			}
		}
	}
	return g.contents(ctx, repo, c.wanted, f)
}

// choice gathers the entries of a tree that are wanted.
type choice struct {
	keep   func(path string) bool // nil = every one
	limits Limits
	paths  archive.Paths
	wanted []object
	total  int64 // bytes of wanted
}

func newChoice(keep func(string) bool, l Limits) *choice {
	return &choice{keep: keep, limits: l, paths: archive.Paths{Depth: maxDepth}}
}

// add takes an entry, or leaves it out with a note.
func (c *choice) add(o object, f *Fetched) error {
	if c.keep != nil && !c.keep(o.path) {
		return nil
	}
	if len(c.wanted) == c.limits.Entries {
		return fmt.Errorf("%w: more than %d files", ErrLimit, c.limits.Entries)
	}
	switch o.mode {
	case "100644", "100755", "120000":
		if err := c.paths.Add(o.path, false); err != nil {
			// It may lie far from what is wanted: whoever takes this folder refuses it.
			f.Notes = append(f.Notes, Note{NoteBadPath, o.path, err.Error()})
			return nil
		}
		if c.total += o.size; c.total > c.limits.bytes(gitBytes) {
			return fmt.Errorf("%w: the files have more than %d bytes", ErrLimit, c.limits.bytes(gitBytes))
		}
		c.wanted = append(c.wanted, o)
	case "160000":
		f.Notes = append(f.Notes, Note{NoteSubmodule, o.path, "a submodule; it is not followed"})
	}
	return nil
}

// maxDepth is deeper than any skill may lie in a repository, with its own folders.
const maxDepth = 64

// objectOf reads one line of ls-tree -l: mode, kind, id, size, path.
func objectOf(line string) (object, bool) {
	head, name, ok := strings.Cut(line, "\t")
	parts := strings.Fields(head)
	if !ok || len(parts) != 4 {
		return object{}, false
	}
	size, err := strconv.ParseInt(parts[3], 10, 64)
	if err != nil && parts[3] != "-" {
		return object{}, false
	}
	return object{mode: parts[0], id: parts[2], path: name, size: size}, true
}

// contents asks git for every object in turn.
func (g *Git) contents(ctx context.Context, repo string, wanted []object, f *Fetched) error {
	var ask bytes.Buffer
	for _, o := range wanted {
		ask.WriteString(o.id + "\n")
	}
	cmd := g.command(ctx, repo, nil, "cat-file", "--batch")
	cmd.Stdin = &ask
	pipe, err := cmd.StdoutPipe()
	if err != nil {
		return fmt.Errorf("git: %w", err)
	}
	if err := cmd.Start(); err != nil {
		return fmt.Errorf("git: %w", err)
	}
	in := bufio.NewReaderSize(pipe, 256<<10)
	err = f.take(wanted, func(o object) ([]byte, error) { return nextObject(in, o) })
	if err != nil {
		_ = cmd.Cancel()
	}
	return errors.Join(err, waitFor(cmd.Wait(), err))
}

// waitFor is the error of the end, where no earlier one is its cause.
func waitFor(end, before error) error {
	if before != nil || end == nil {
		return nil
	}
	return fmt.Errorf("git cat-file: %w", end)
}

// nextObject reads what git prints of one object.
func nextObject(in *bufio.Reader, o object) ([]byte, error) {
	head, err := in.ReadString('\n')
	if err != nil {
		return nil, fmt.Errorf("git cat-file: %w", err)
	}
	if head != fmt.Sprintf("%s blob %d\n", o.id, o.size) {
		return nil, fmt.Errorf("%w: %s: git says %q", ErrUnreachable, o.path, strings.TrimSpace(head))
	}
	data := make([]byte, o.size)
	if _, err := io.ReadFull(in, data); err != nil {
		return nil, fmt.Errorf("git cat-file: %w", err)
	}
	if _, err := in.Discard(1); err != nil {
		return nil, fmt.Errorf("git cat-file: %w", err)
	}
	return data, nil
}

// take reads every object in turn and makes files of them.
func (f *Fetched) take(wanted []object, read func(object) ([]byte, error)) error {
	links := map[string]string{}
	files := map[string]int{}
	for _, o := range wanted {
		data, err := read(o)
		if err != nil {
			return err
		}
		if o.mode == "120000" {
			links[o.path] = string(data)
			continue
		}
		if bytes.HasPrefix(data, []byte(lfsMark)) {
			f.Notes = append(f.Notes, Note{NoteLFS, o.path, "its contents lie in large-file storage; the pointer is kept as it is"})
		}
		files[o.path] = len(f.Files)
		f.Files = append(f.Files, archive.File{Path: o.path, Data: data, Exec: o.mode == "100755"})
	}
	for _, o := range wanted {
		if to, ok := links[o.path]; ok {
			f.link(o.path, to, files)
		}
	}
	return nil
}

// link puts the contents of what a link leads to in its place. One that leads out, to a
// folder or through another link is left out.
func (f *Fetched) link(name, to string, files map[string]int) {
	at := path.Join(path.Dir(name), to)
	i, ok := files[at]
	if !ok || path.IsAbs(to) {
		f.Notes = append(f.Notes, Note{NoteLink, name, fmt.Sprintf("a link to %q, which is no file of the source; it is left out", to)})
		return
	}
	whole := f.Files[i]
	whole.Path = name
	f.Files = append(f.Files, whole)
}
