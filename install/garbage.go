package install

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/deftskills/deft/internal/lockfile"
	"github.com/deftskills/deft/skill"
	"github.com/deftskills/deft/store/blobs"
)

// NeededBlobs calls f with what the trees of installed skills need of the store, while no process
// of this state directory installs anything. Every tree that is kept counts: those of what
// is installed, of the versions that it can be rolled back to, and of projects that this
// machine does not see just now. A tree that can't be read is an error: what it needs can't
// be told.
func (i *Installer) NeededBlobs(ctx context.Context, verb string, f func(needed map[skill.Digest]bool) error) (err error) {
	if err := os.MkdirAll(i.o.State, 0o700); err != nil {
		return fmt.Errorf("install: %w", err)
	}
	lock, err := lockfile.Exclusive(ctx, filepath.Join(i.o.State, lockName), lockfile.Options{Verb: verb, Now: i.o.Now})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, lock.Release()) }()
	trees, err := i.o.Trees.List(ctx)
	if err != nil {
		return err
	}
	needed := map[skill.Digest]bool{}
	for _, d := range trees {
		tree, err := i.o.Trees.Get(ctx, d)
		if errors.Is(err, blobs.ErrMissing) {
			continue
		}
		if err != nil {
			return err
		}
		for _, e := range tree {
			needed[e.Blob] = true
		}
	}
	return f(needed)
}
