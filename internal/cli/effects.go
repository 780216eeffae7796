package cli

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/deftskills/deft/internal/atomicfile"
	"github.com/deftskills/deft/internal/safetext"
)

var (
	errNotRegular = errors.New("not a regular file")
	errNoLink     = errors.New("not a symbolic link")
)

// writer is how a verb changes files. There are three: none for verbs that do not
// declare writes, one that shows for --dry-run, and one that does it.
type writer interface {
	// Write puts data at path, whole or not at all, and makes missing directories.
	Write(path string, data []byte, perm fs.FileMode) error
	// Rename gives a file another name in its folder.
	Rename(path, to string) error
	// RemoveLink removes a symbolic link, and nothing else.
	RemoveLink(path string) error
}

// files returns the writer that the verb's declaration and flags allow.
func (r *run) files() writer {
	switch {
	case !r.verb.effects.writes:
		return noWriter{r.verb.name}
	case r.writing.dryRun:
		return dryWriter{r}
	}
	return diskWriter{}
}

type noWriter struct{ verb string }

func (w noWriter) Write(path string, _ []byte, _ fs.FileMode) error {
	return fmt.Errorf("verb %s declares no writes; %s is not written", w.verb, path)
}

func (w noWriter) Rename(path, _ string) error { return w.Write(path, nil, 0) }

func (w noWriter) RemoveLink(path string) error { return w.Write(path, nil, 0) }

type dryWriter struct{ r *run }

func (w dryWriter) Write(path string, data []byte, _ fs.FileMode) error {
	w.r.err.Printf("%s %s, %d bytes\n", w.r.err.Paint(safetext.Yellow, w.r.words.Say("would_write")), path, len(data))
	return nil
}

func (w dryWriter) Rename(path, to string) error {
	w.r.err.Printf("%s %s -> %s\n", w.r.err.Paint(safetext.Yellow, w.r.words.Say("would_rename")), path, to)
	return nil
}

func (w dryWriter) RemoveLink(path string) error {
	w.r.err.Printf("%s %s\n", w.r.err.Paint(safetext.Yellow, w.r.words.Say("would_remove")), path)
	return nil
}

type diskWriter struct{}

func (diskWriter) RemoveLink(path string) error {
	st, err := os.Lstat(path)
	if err != nil {
		return err
	}
	if st.Mode()&fs.ModeSymlink == 0 {
		return &fs.PathError{Op: "remove", Path: path, Err: errNoLink}
	}
	return os.Remove(path)
}

func (diskWriter) Write(path string, data []byte, perm fs.FileMode) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	return atomicfile.Write(path, data, perm)
}

// makeDir makes a directory of deft's own.
func makeDir(path string) error { return os.MkdirAll(path, 0o700) }

// readAllUpTo reads r whole; more than max bytes are an error, not a cut.
func readAllUpTo(r io.Reader, buf []byte, max int64) ([]byte, error) {
	b := bytes.NewBuffer(buf)
	n, err := io.Copy(b, io.LimitReader(r, max+1))
	if err == nil && n > max {
		err = fmt.Errorf("larger than %d bytes", max)
	}
	return b.Bytes(), err
}

func (diskWriter) Rename(path, to string) error { return os.Rename(path, to) }
