package fetch

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/go-git/go-billy/v5/osfs"
	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/plumbing/cache"
	"github.com/go-git/go-git/v5/plumbing/storer"
	"github.com/go-git/go-git/v5/storage/filesystem"
	"github.com/go-git/go-git/v5/storage/filesystem/dotgit"
)

// folder is a repository of this machine, of which only objects and names are read.
type folder struct{ s *filesystem.Storage }

// openFolder opens the repository of a work tree, or one without.
func openFolder(dir string) (folder, error) {
	at := filepath.Join(dir, ".git")
	info, err := os.Stat(at)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		at = dir
	case err != nil:
		return folder{}, fmt.Errorf("git: %w", err)
	case !info.IsDir(): // a work tree beside the one that has the objects
		if at, err = follow(at, "gitdir: "); err != nil {
			return folder{}, err
		}
	}
	common := at
	if _, err := os.Stat(filepath.Join(at, "commondir")); err == nil {
		if common, err = follow(filepath.Join(at, "commondir"), ""); err != nil {
			return folder{}, err
		}
	}
	if info, err := os.Stat(filepath.Join(common, "objects")); err != nil || !info.IsDir() {
		return folder{}, fmt.Errorf("%w: %s is no git repository", ErrUnreachable, dir)
	}
	files := dotgit.NewRepositoryFilesystem(osfs.New(at), osfs.New(common))
	return folder{filesystem.NewStorage(files, cache.NewObjectLRUDefault())}, nil
}

// follow reads the path that a small file of git names.
func follow(file, prefix string) (string, error) {
	b, err := os.ReadFile(file)
	if err != nil {
		return "", fmt.Errorf("git: %w", err)
	}
	to, ok := strings.CutPrefix(strings.TrimSpace(string(b)), prefix)
	if !ok {
		return "", fmt.Errorf("%w: %s names no repository", ErrUnreachable, file)
	}
	if !filepath.IsAbs(to) {
		to = filepath.Join(filepath.Dir(file), to)
	}
	return to, nil
}

// refs lists the names of the repository, HEAD first.
func (f folder) refs() ([]Ref, error) {
	var lines []string
	add := func(r *plumbing.Reference) error {
		r, err := storer.ResolveReference(f.s, r.Name())
		if errors.Is(err, plumbing.ErrReferenceNotFound) {
			return nil // of a branch that has no commit yet
		}
		if err != nil {
			return err
		}
		line := r.Hash().String() + "\t"
		lines = append(lines, line+r.Name().String())
		if kind, _, err := f.kind(r.Hash().String()); err == nil && kind == plumbing.TagObject {
			if commit, err := f.peel(r.Hash().String()); err == nil {
				lines = append(lines, commit+"\t"+r.Name().String()+"^{}")
			}
		}
		return nil
	}
	iter, err := f.s.IterReferences()
	if err != nil {
		return nil, fmt.Errorf("git: %w", err)
	}
	if err := iter.ForEach(func(r *plumbing.Reference) error {
		if r.Name() == plumbing.HEAD {
			return nil
		}
		return add(r)
	}); err != nil {
		return nil, fmt.Errorf("git: %w", err)
	}
	slices.SortStableFunc(lines, func(a, b string) int {
		return strings.Compare(strings.TrimSuffix(a[41:], "^{}"), strings.TrimSuffix(b[41:], "^{}"))
	})
	if head, err := storer.ResolveReference(f.s, plumbing.HEAD); err == nil {
		lines = slices.Insert(lines, 0, head.Hash().String()+"\tHEAD")
	}
	return refsOf(strings.Join(lines, "\n")), nil
}

// peel is what a tag is of, in the end.
func (f folder) peel(id string) (string, error) {
	for range 8 {
		data, err := f.read(id)
		if err != nil {
			return "", err
		}
		first, _, _ := strings.Cut(string(data), "\n")
		id = strings.TrimPrefix(first, "object ")
		if kind, _, err := f.kind(id); err != nil || kind != plumbing.TagObject {
			return id, err
		}
	}
	return "", fmt.Errorf("%w: a tag of a tag of a tag", ErrUnreachable)
}

func (f folder) object(id string) (plumbing.EncodedObject, error) {
	o, err := f.s.EncodedObject(plumbing.AnyObject, plumbing.NewHash(id))
	if err != nil {
		return nil, fmt.Errorf("%w: object %s: %w", ErrUnreachable, id, err)
	}
	return o, nil
}

func (f folder) kind(id string) (plumbing.ObjectType, int64, error) {
	o, err := f.object(id)
	if err != nil {
		return 0, 0, err
	}
	return o.Type(), o.Size(), nil
}

func (f folder) read(id string) (data []byte, err error) {
	o, err := f.object(id)
	if err != nil {
		return nil, err
	}
	if o.Size() > gitBytes {
		return nil, fmt.Errorf("%w: object %s has %d bytes", ErrLimit, id, o.Size())
	}
	r, err := o.Reader()
	if err != nil {
		return nil, fmt.Errorf("git: %w", err)
	}
	defer func() { err = errors.Join(err, r.Close()) }()
	return io.ReadAll(io.LimitReader(r, gitBytes))
}
