package store

import (
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path/filepath"
	"time"

	"github.com/deftskills/deft/skill"
)

// Folder is a person's decision about a project folder: its skills are offered and
// may win names, or never are. It says nothing about their code.
type Folder struct {
	ID      string
	Root    string // resolved path; the decision is for exactly this folder
	Refused bool   // asked, and answered no
	By      string
	At      time.Time // UTC
	Note    string
}

// Grant says that the code, hooks and pre-approvals of one exact skill count.
type Grant struct {
	ID           string       // set by GrantSkill
	Name, Source string       // where it was found, for people
	Tree         skill.Digest // required: what was granted, byte for byte
	AllowedTools []string     // as declared then, to tell later what grew
	Hooks        skill.Digest // of the hooks; "" = it had none
	Inline       skill.Digest // of the inline commands; "" = it had none
	By           string
	At           time.Time // UTC, set by GrantSkill
	Note         string
}

// The kinds of a row of the table trust.
const (
	kindSkill   = "skill"
	kindFolder  = "folder"
	kindRefused = "refused"
)

// trustRow is a Folder or a Grant as it is kept.
type trustRow struct {
	kind, root, revokedBy string
	revokedAt             time.Time
	grant                 Grant
}

func trusts() table[trustRow] {
	return table[trustRow]{
		"trust",
		[]string{
			"id", "kind", "name", "source", "root", "tree_digest", "allowed_tools", "hooks_digest", "inline_digest",
			"granted_by", "granted_at", "revoked_by", "revoked_at", "note",
		},
		func(r *trustRow) []column {
			g := &r.grant
			return []column{
				text(&g.ID), text(&r.kind), text(&g.Name), text(&g.Source), text(&r.root), text(&g.Tree),
				list(&g.AllowedTools), text(&g.Hooks), text(&g.Inline), text(&g.By), at(&g.At),
				text(&r.revokedBy), at(&r.revokedAt), text(&g.Note),
			}
		},
	}
}

func (r trustRow) folder() Folder {
	return Folder{r.grant.ID, r.root, r.kind == kindRefused, r.grant.By, r.grant.At, r.grant.Note}
}

// TrustFolder trusts a folder and returns what was trusted: links in root, which is
// an absolute path, are resolved first. A decision before it is withdrawn.
func (s *Store) TrustFolder(ctx context.Context, root, by, note string) (Folder, error) {
	return s.decide(ctx, kindFolder, root, by, note)
}

// RefuseFolder saves that a folder shall not be trusted and not be asked about again.
func (s *Store) RefuseFolder(ctx context.Context, root, by, note string) (Folder, error) {
	return s.decide(ctx, kindRefused, root, by, note)
}

func (s *Store) decide(ctx context.Context, kind, root, by, note string) (Folder, error) {
	root, err := resolve(root)
	if err != nil {
		return Folder{}, err
	}
	var row trustRow
	err = s.update(ctx, "trust.save", func(c *change) error {
		if _, err := withdraw(c, by, "kind <> 'skill' AND root = ?", root); err != nil {
			return err
		}
		row = trustRow{kind: kind, root: root, grant: Grant{By: by, At: c.now, Note: note}}
		if row.grant.ID, err = s.newID(c.now); err != nil {
			return err
		}
		return trusts().put(c, row)
	})
	if err != nil {
		return Folder{}, err
	}
	return row.folder(), nil
}

// UntrustFolder withdraws the decision about a folder, trust or refusal: it is as if
// nobody had been asked. A folder that is gone can be named by its old path. None
// there is ErrNotFound.
func (s *Store) UntrustFolder(ctx context.Context, root, by string) error {
	root, err := resolve(root)
	if err != nil {
		return err
	}
	return s.update(ctx, "trust.revoke", func(c *change) error {
		n, err := withdraw(c, by, "kind <> 'skill' AND root = ?", root)
		if err == nil && n == 0 {
			err = fmt.Errorf("trust of %s: %w", root, ErrNotFound)
		}
		return err
	})
}

// FolderTrust reports whether exactly this folder is trusted, and the decision if
// there is one (Folder.ID is "" without). Root is a resolved path: what lies below a
// trusted folder, or links into it, is not trusted by that. On every error the
// answer is no.
func (s *Store) FolderTrust(ctx context.Context, root string) (granted bool, f Folder, err error) {
	rows, err := listed(ctx, s, trusts(), "kind <> 'skill' AND revoked_at IS NULL AND root = ?", root)
	if err != nil || len(rows) == 0 {
		return false, Folder{}, err
	}
	f = rows[0].folder()
	return !f.Refused, f, nil
}

// Folders returns the decisions that stand, trusted and refused, in the order of
// paths.
func (s *Store) Folders(ctx context.Context) ([]Folder, error) {
	rows, err := listed(ctx, s, trusts(), "kind <> 'skill' AND revoked_at IS NULL")
	return folders(rows), err
}

// GrantSkill grants the skill with exactly g.Tree. A grant of the same tree, name
// and source before it is withdrawn.
func (s *Store) GrantSkill(ctx context.Context, g Grant) (Grant, error) {
	err := errors.Join(checkDigest("tree digest", g.Tree, false),
		checkDigest("digest of hooks", g.Hooks, true), checkDigest("digest of inline commands", g.Inline, true))
	if err != nil {
		return Grant{}, err
	}
	err = s.update(ctx, "grant.save", func(c *change) error {
		if _, err := withdraw(c, g.By, "kind = 'skill' AND tree_digest = ? AND name = ? AND source = ?",
			string(g.Tree), g.Name, g.Source); err != nil {
			return err
		}
		g.At = c.now
		if g.ID, err = s.newID(c.now); err != nil {
			return err
		}
		return trusts().put(c, trustRow{kind: kindSkill, grant: g})
	})
	if err != nil {
		return Grant{}, err
	}
	return g, nil
}

// Revoke withdraws the grants with these ids: all of them or, on error, none. One that
// does not stand is ErrNotFound.
func (s *Store) Revoke(ctx context.Context, by string, ids ...string) error {
	return s.update(ctx, "trust.revoke", func(c *change) error {
		for _, id := range ids {
			n, err := withdraw(c, by, "kind = 'skill' AND id = ?", id)
			if err == nil && n == 0 {
				err = fmt.Errorf("grant %s: %w", id, ErrNotFound)
			}
			if err != nil {
				return err
			}
		}
		return nil
	})
}

// Grants returns the grants that stand, in the order in which they were given.
func (s *Store) Grants(ctx context.Context) ([]Grant, error) {
	rows, err := listed(ctx, s, trusts(), "kind = 'skill' AND revoked_at IS NULL")
	return grants(rows), err
}

// Granted returns the latest standing grant of a tree; ok is false when there is
// none, and on every error.
func (s *Store) Granted(ctx context.Context, tree skill.Digest) (g Grant, ok bool, err error) {
	rows, err := listed(ctx, s, trusts(), "kind = 'skill' AND revoked_at IS NULL AND tree_digest = ?", string(tree))
	if err != nil || len(rows) == 0 {
		return Grant{}, false, err
	}
	return rows[len(rows)-1].grant, true, nil
}

func folders(rows []trustRow) (out []Folder) {
	for _, r := range rows {
		if r.kind != kindSkill && r.revokedAt.IsZero() {
			out = append(out, r.folder())
		}
	}
	sortBy(out, func(f Folder) string { return f.Root })
	return out
}

func grants(rows []trustRow) (out []Grant) {
	for _, r := range rows {
		if r.kind == kindSkill && r.revokedAt.IsZero() {
			out = append(out, r.grant)
		}
	}
	return out
}

// withdraw marks standing rows as revoked and returns how many there were.
func withdraw(c *change, by, where string, args ...any) (int, error) {
	rows, err := trusts().list(c.ctx, c.tx, "revoked_at IS NULL AND "+where, args...)
	if err != nil {
		return 0, err
	}
	for _, r := range rows {
		r.revokedAt, r.revokedBy = c.now, by
		if err := trusts().put(c, r); err != nil {
			return 0, err
		}
	}
	return len(rows), nil
}

// resolve returns the path that a decision is bound to: without links where the
// folder exists, cleaned where it is gone.
func resolve(root string) (string, error) {
	if !filepath.IsAbs(root) {
		return "", fmt.Errorf("%w: folder %q is not an absolute path", ErrInvalid, root)
	}
	real, err := filepath.EvalSymlinks(root)
	if errors.Is(err, fs.ErrNotExist) {
		return filepath.Clean(root), nil
	}
	return real, err
}

// newID returns a UUID of version 7: its order is that of time.
func (s *Store) newID(now time.Time) (string, error) {
	var b [16]byte
	if _, err := io.ReadFull(s.o.Rand, b[6:]); err != nil {
		return "", fmt.Errorf("random bytes: %w", err)
	}
	for i, ms := 5, now.UnixMilli(); i >= 0; i, ms = i-1, ms>>8 {
		b[i] = byte(ms)
	}
	b[6] = b[6]&0x0f | 0x70
	b[8] = b[8]&0x3f | 0x80
	h := hex.EncodeToString(b[:])
	return h[:8] + "-" + h[8:12] + "-" + h[12:16] + "-" + h[16:20] + "-" + h[20:], nil
}
