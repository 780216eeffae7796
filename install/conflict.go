package install

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/deftskills/deft/install/archive"
	"github.com/deftskills/deft/internal/atomicfile"
	"github.com/deftskills/deft/skill"
)

// ErrUnresolved is a conflict that cannot be gone on with: files still hold marks, there is
// none, or one side has changed since.
var ErrUnresolved = errors.New("update_conflict")

// sidesDir lies in the folder of a conflict and is no part of the skill: the record of the
// merge, and the three versions of each file with marks.
const sidesDir = ".deft-conflict"

// conflict is the record of a merge that wants a person.
type conflict struct {
	Local  skill.Digest `json:"local"` // the trees that were merged
	Remote skill.Digest `json:"remote"`
	Merged skill.Digest `json:"merged"` // what the merge wrote, marks included
	Exec   []string     `json:"exec"`   // files that may be run: an editor may drop the bit
}

// conflictAt is where the files of a conflict lie: below the state directory, so that the
// skill stays as it is. Skills of one name in other folders than the person's own have theirs.
func (i *Installer) conflictAt(s Scope, name string) string {
	if s.Name != "user" || s.Skills != filepath.Join(s.Root, ".agents", "skills") {
		sum := sha256.Sum256([]byte(filepath.Clean(s.Skills)))
		name += "-" + hex.EncodeToString(sum[:4])
	}
	return filepath.Join(i.o.State, "conflicts", name)
}

// keepConflict writes what a merge gave, marks included. Work of a person that is there
// already stays, as long as it is of the same merge; else it is put aside.
func (i *Installer) keepConflict(ctx context.Context, s Scope, o Outdated, local skill.Tree, m merged) (string, error) {
	dir := i.conflictAt(s, o.Name)
	written, err := treeOf(ctx, m.files)
	if err != nil {
		return "", err
	}
	c := conflict{Local: local.Digest(), Remote: o.pack.Digest, Merged: written.tree.Digest(), Exec: execOf(written.tree)}
	switch was, files, err := readConflict(ctx, dir); {
	case errors.Is(err, fs.ErrNotExist):
	case err == nil && was.untouched(ctx, files):
		if err := removeAll(dir); err != nil {
			return "", fmt.Errorf("update: %w", err)
		}
	case err == nil && was.Local == c.Local && was.Remote == c.Remote:
		return "", fmt.Errorf("%w: %s holds your work on this conflict; end it with --continue, or remove the folder to begin anew", ErrUnresolved, dir)
	default:
		if err := moveAside(dir, i.aside(o.Name+"-conflict")); err != nil {
			return "", fmt.Errorf("update: %w", err)
		}
	}
	for n := range m.sides {
		m.sides[n].Path = sidesDir + "/" + m.sides[n].Path
	}
	for _, f := range slices.Concat(m.files, m.sides) {
		if err := writeSide(dir, f); err != nil {
			return "", err
		}
	}
	src, err := json.MarshalIndent(c, "", "  ")
	if err != nil {
		return "", fmt.Errorf("update: %w", err)
	}
	// The record is last: a folder without one is no conflict.
	return dir, atomicfile.Write(filepath.Join(dir, sidesDir, "record.json"), append(src, '\n'), 0o600)
}

func writeSide(dir string, f archive.File) error {
	at, mode := filepath.Join(dir, filepath.FromSlash(f.Path)), fs.FileMode(0o600)
	if f.Exec {
		mode = 0o700
	}
	if err := os.MkdirAll(filepath.Dir(at), 0o700); err != nil {
		return fmt.Errorf("update: %w", err)
	}
	return atomicfile.Write(at, f.Data, mode)
}

// untouched reports whether the files are those that the merge wrote.
func (c conflict) untouched(ctx context.Context, files []archive.File) bool {
	now, err := treeOf(ctx, files)
	return err == nil && now.tree.Digest() == c.Merged
}

// readConflict reads the folder of a conflict, with its files as they are now.
func readConflict(ctx context.Context, dir string) (c conflict, files []archive.File, err error) {
	src, err := readSmall(filepath.Join(dir, sidesDir, "record.json"))
	if errors.Is(err, fs.ErrNotExist) {
		if _, none := os.Lstat(dir); none == nil {
			err = errRecord // what is there is kept
		}
	}
	if err != nil {
		return c, nil, err
	}
	if err := json.Unmarshal(src, &c); err != nil {
		return c, nil, fmt.Errorf("%w: %w", errRecord, err)
	}
	if files, _, err = readFolder(ctx, dir); err != nil {
		return c, nil, err
	}
	files = slices.DeleteFunc(files, func(f archive.File) bool { return strings.HasPrefix(f.Path, sidesDir+"/") })
	for n := range files {
		files[n].Exec = files[n].Exec || slices.Contains(c.Exec, files[n].Path)
	}
	return c, files, nil
}

// Continue takes the folder of a conflict, with its marks resolved, as what the update
// gives. Both sides have to be those that were merged: what has come since would be lost.
func (i *Installer) Continue(ctx context.Context, s Scope, agents []Agent, o Outdated, c Choice, a Answers) (Updated, error) {
	dir := i.conflictAt(s, o.Name)
	was, files, err := readConflict(ctx, dir)
	if err != nil {
		return Updated{}, fmt.Errorf("%w: %q has no conflict: %w", ErrUnresolved, o.Name, err)
	}
	if !o.newer() {
		return o.asIs(), nil
	}
	for _, f := range files {
		if bytes.Contains(append([]byte("\n"), f.Data...), []byte("\n<<<<<<< local\n")) {
			return Updated{}, fmt.Errorf("%w: %s holds marks", ErrUnresolved, filepath.Join(dir, f.Path))
		}
	}
	local, err := treeAt(ctx, filepath.Join(s.Skills, o.Name))
	if err != nil {
		return Updated{}, fmt.Errorf("update: %w", err)
	}
	for _, side := range []struct {
		what     string
		was, now skill.Digest
	}{{"the skill", was.Local, local.Digest()}, {"its source", was.Remote, o.pack.Digest}} {
		if side.was != side.now {
			return Updated{}, fmt.Errorf("%w: %s has changed since %q was merged; merge again with --on-edit merge: the files in %s are kept then",
				ErrUnresolved, side.what, o.Name, dir)
		}
	}
	if o.pack, err = repack(ctx, o.pack, files); err != nil {
		return Updated{}, err
	}
	u, err := i.update(ctx, s, agents, o, TakeTheirs, c, a)
	if err == nil && u.State == "updated" {
		u.State, err = "merged", removeAll(dir)
	}
	return u, err
}
