package blobs

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/deftskills/deft/internal/atomicfile"
	"github.com/deftskills/deft/skill"
)

// Trees keeps lists of files by the digest of the whole, in a folder.
type Trees struct{ Path string }

func (t Trees) file(hex string) string { return filepath.Join(t.Path, hex+".json") }

// Put keeps a tree under its digest.
func (t Trees) Put(ctx context.Context, tree skill.Tree) (skill.Digest, error) {
	if err := ctx.Err(); err != nil {
		return "", err
	}
	d := tree.Digest()
	hex, err := hexOf(d)
	if err != nil {
		return "", err
	}
	src, err := json.Marshal(tree)
	if err != nil {
		return "", fmt.Errorf("tree: %w", err)
	}
	if err := os.MkdirAll(t.Path, 0o700); err != nil {
		return "", fmt.Errorf("tree: %w", err)
	}
	if err := atomicfile.Write(t.file(hex), src, 0o444); err != nil {
		return "", fmt.Errorf("tree: %w", err)
	}
	return d, nil
}

// List returns the digests of all trees.
func (t Trees) List(ctx context.Context) ([]skill.Digest, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	entries, err := os.ReadDir(t.Path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("tree: %w", err)
	}
	var list []skill.Digest
	for _, e := range entries {
		hex, ok := strings.CutSuffix(e.Name(), ".json")
		if d := skill.Digest("sha256:" + hex); ok && CheckDigest(d) == nil {
			list = append(list, d)
		}
	}
	return list, nil
}

// Get returns the tree of a digest. ErrMissing, ErrDamaged, ErrDigest.
func (t Trees) Get(ctx context.Context, d skill.Digest) (skill.Tree, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	hex, err := hexOf(d)
	if err != nil {
		return nil, err
	}
	src, err := os.ReadFile(t.file(hex))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("%w: tree %s", ErrMissing, d)
	}
	if err != nil {
		return nil, fmt.Errorf("tree: %w", err)
	}
	var tree skill.Tree
	err = json.Unmarshal(src, &tree)
	// The digest is of paths and contents: what may be run is guarded by the bytes.
	if again, _ := json.Marshal(tree); err != nil || tree.Digest() != d || !bytes.Equal(src, again) {
		return nil, fmt.Errorf("%w: tree %s: %s", ErrDamaged, d, t.file(hex))
	}
	return tree, nil
}
