package store

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/deftskills/deft/skill"
)

// Trees are the lists of files that published versions are made of.
type Trees struct{ s *Store }

// Trees returns the lists of files.
func (s *Store) Trees() Trees { return Trees{s} }

// treeEntry is one file as a tree keeps it. Mode is f, or x for one that may be run.
type treeEntry struct {
	Path string       `json:"path"`
	Blob skill.Digest `json:"blob"`
	Size int64        `json:"size"`
	Mode string       `json:"mode"`
	MIME string       `json:"mime,omitempty"`
}

// Get returns the tree with a digest, compared with it; ErrNotFound, ErrDamaged.
func (t Trees) Get(ctx context.Context, d skill.Digest) (skill.Tree, error) {
	tree, _, err := t.get(ctx, d)
	return tree, err
}

// Types returns the media types of the files of a tree by path, as they were first said or
// told. They are for people. ErrNotFound, ErrDamaged.
func (t Trees) Types(ctx context.Context, d skill.Digest) (map[string]string, error) {
	_, types, err := t.get(ctx, d)
	return types, err
}

func (t Trees) get(ctx context.Context, d skill.Digest) (tree skill.Tree, types map[string]string, err error) {
	err = t.s.read(ctx, func(q querier) error {
		var entries string
		err := q.QueryRowContext(ctx, "SELECT entries FROM trees WHERE tenant = :tenant AND digest = ?", string(d)).Scan(&entries)
		if errors.Is(err, sql.ErrNoRows) {
			return nil
		}
		if err == nil {
			tree, types, err = readTree(d, entries)
		}
		return err
	})
	if err == nil && tree == nil {
		err = fmt.Errorf("tree %.80q: %w", string(d), ErrNotFound)
	}
	return tree, types, err
}

func readTree(d skill.Digest, entries string) (skill.Tree, map[string]string, error) {
	var list []treeEntry
	err := json.Unmarshal([]byte(entries), &list)
	tree, types := make(skill.Tree, 0, len(list)), map[string]string{}
	for _, e := range list {
		tree = append(tree, skill.FileEntry{Path: e.Path, Blob: e.Blob, Size: e.Size, Exec: e.Mode == "x"})
		if e.MIME != "" {
			types[e.Path] = e.MIME
		}
	}
	if err != nil || tree.Digest() != d {
		return nil, nil, &rowDamage{"trees", string(d)}
	}
	return tree, types, nil
}

// putTree keeps a tree and what keeps its blobs, unless it is there: then the modes and
// types of its files stay as they were first, and differ says whether the modes are others.
func putTree(ctx context.Context, tx *tx, t skill.Tree, types map[string]string) (d skill.Digest, differ bool, err error) {
	d = t.Digest()
	list := make([]treeEntry, 0, len(t))
	refs, seen, size := [][]any{}, map[skill.Digest]bool{}, int64(0)
	for _, e := range t {
		mode := "f"
		if e.Exec {
			mode = "x"
		}
		list = append(list, treeEntry{e.Path, e.Blob, e.Size, mode, types[e.Path]})
		size += e.Size
		if !seen[e.Blob] {
			seen[e.Blob] = true
			refs = append(refs, []any{string(e.Blob), RefTree, string(d)})
		}
	}
	text := jsonText(list)
	n, err := tx.changed(ctx, "INSERT INTO trees (tenant, digest, entries, files, bytes, created_at) VALUES (:tenant, ?, ?, ?, ?, ?) "+
		"ON CONFLICT (tenant, digest) DO NOTHING", string(d), text, len(t), size, tx.now.UnixMicro())
	if err != nil {
		return d, false, err
	}
	if n > 0 {
		return d, false, tx.insert(ctx, "blob_refs", refColumns, refs...)
	}
	var entries string
	if err := tx.QueryRowContext(ctx, "SELECT entries FROM trees WHERE tenant = :tenant AND digest = ?", string(d)).Scan(&entries); err != nil {
		return d, false, err
	}
	old, _, err := readTree(d, entries)
	if err != nil {
		return d, false, err
	}
	for i, e := range old {
		differ = differ || e.Exec != t[i].Exec
	}
	return d, differ, nil
}

// RefTree is the kind of owner that a tree is; its id is the digest.
const RefTree = "tree"

var refColumns = []string{"blob", "owner_kind", "owner_id"}

// Refs say what keeps blobs from being collected as garbage.
type Refs struct{ s *Store }

// Refs returns what keeps blobs.
func (s *Store) Refs() Refs { return Refs{s} }

// Keep notes that an owner needs blobs, beside what it needs already. Kind is a
// lower-case word other than RefTree.
func (r Refs) Keep(ctx context.Context, kind, id string, blobs ...skill.Digest) error {
	if kind == "" || kind == RefTree || strings.Trim(kind, "abcdefghijklmnopqrstuvwxyz_") != "" || id == "" {
		return fmt.Errorf("%w: owner %.64q of kind %.32q of a blob", ErrInvalid, id, kind)
	}
	for _, b := range blobs {
		if err := checkDigest("blob", b, false); err != nil {
			return err
		}
	}
	return r.s.write(ctx, "publish.tx", func(tx *tx) error {
		for _, b := range blobs {
			if _, err := tx.ExecContext(ctx, "INSERT INTO blob_refs (tenant, blob, owner_kind, owner_id) VALUES (:tenant, ?, ?, ?) "+
				"ON CONFLICT DO NOTHING", string(b), kind, id); err != nil {
				return err
			}
		}
		return nil
	})
}

// Drop forgets all that an owner needs.
func (r Refs) Drop(ctx context.Context, kind, id string) error {
	return r.s.write(ctx, "publish.tx", func(tx *tx) error {
		_, err := tx.ExecContext(ctx, "DELETE FROM blob_refs WHERE tenant = :tenant AND owner_kind = ? AND owner_id = ?", kind, id)
		return err
	})
}

// Kept returns those of the blobs that somebody needs.
func (r Refs) Kept(ctx context.Context, blobs ...skill.Digest) (kept map[skill.Digest]bool, err error) {
	err = r.s.read(ctx, func(q querier) (err error) {
		kept, err = among(ctx, q, "SELECT DISTINCT blob FROM blob_refs WHERE tenant = :tenant AND blob IN ", blobs)
		return err
	})
	return kept, err
}

// Unmark takes blobs off the list of the garbage collection. Who is going to need blobs
// does this before they are put: afterwards a collection that had marked them either does
// not find the mark, or has deleted them before they are put anew.
func (r Refs) Unmark(ctx context.Context, blobs ...skill.Digest) error {
	var marked map[skill.Digest]bool
	err := r.s.read(ctx, func(q querier) (err error) {
		marked, err = among(ctx, q, "SELECT blob FROM blob_gc WHERE tenant = 'local' AND blob IN ", blobs)
		return err
	})
	if err != nil || len(marked) == 0 {
		return err
	}
	return r.s.write(ctx, "publish.tx", func(tx *tx) error {
		for b := range marked {
			if _, err := tx.ExecContext(ctx, "DELETE FROM blob_gc WHERE tenant = 'local' AND blob = ?", string(b)); err != nil {
				return err
			}
		}
		return nil
	})
}

// among runs a query that ends with IN over parts of a list.
func among(ctx context.Context, q querier, query string, blobs []skill.Digest) (map[skill.Digest]bool, error) {
	found := map[skill.Digest]bool{}
	for len(blobs) > 0 {
		n := min(1000, len(blobs))
		args := make([]any, 0, n)
		for _, b := range blobs[:n] {
			args = append(args, string(b))
		}
		rows, err := texts(ctx, q, query+"(?"+strings.Repeat(", ?", n-1)+")", args...)
		if err != nil {
			return nil, err
		}
		for _, b := range rows {
			found[skill.Digest(b)] = true
		}
		blobs = blobs[n:]
	}
	return found, nil
}
