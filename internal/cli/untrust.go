package cli

import (
	"context"
	"path/filepath"
	"strings"

	"github.com/deftskills/deft/internal/fold"
	"github.com/deftskills/deft/source"
	"github.com/deftskills/deft/store"
)

func untrustVerb() verb {
	return verb{
		name: "untrust", args: "DIR|NAME", min: 1, max: 1, group: groupSkill, effects: effects{reads: true, writes: true}, names: true, joins: true,
		short: "take back the trust of a folder, or every grant of a skill",
		long:  "A folder or a skill that is gone is named as it was called.",
		run:   func(ctx context.Context, r *run, args []string) error { return r.untrust(ctx, args[0]) },
	}
}

func (r *run) untrust(ctx context.Context, arg string) error {
	st, err := r.load(ctx)
	if err != nil {
		return err
	}
	root, there := r.decided(st, arg)
	if written := strings.ContainsAny(arg, `/\`) || arg == "." || arg == ".."; there && !written {
		// A word may be a skill: that goes first.
		_, _, err := r.grantsOf(ctx, st, arg)
		there = err != nil && root == r.abs(arg)
	}
	if there {
		return r.untrustWrite(ctx, trustJSON{Kind: "folder", Root: root, Skills: []skillJSON{}, Changed: true}, r.orDry("untrust.folder", "untrust.folder_dry"), root,
			func(s *store.Store) error { return s.UntrustFolder(ctx, root, "cli") })
	}
	grants, doc, err := r.grantsOf(ctx, st, arg)
	if err != nil {
		if !r.writing.dryRun && st.Version > 0 {
			// One that was killed may have taken the grants back and left their lists. A
			// state that was never written, or set aside, knows of none and sweeps none.
			r.sweepTrees(st.Grants)
		}
		return err
	}
	return r.untrustWrite(ctx, doc, r.orDry("untrust.skill", "untrust.skill_dry"), arg, func(s *store.Store) error {
		var ids []string
		for _, g := range grants {
			ids = append(ids, g.ID)
		}
		return s.Revoke(ctx, "cli", ids...)
	})
}

// decided returns the folder with a decision that an argument names.
func (r *run) decided(st store.State, arg string) (string, bool) {
	dir := r.abs(arg)
	names := []string{source.TrustRoot(source.Env{Workspace: dir, Home: r.dirs.Home}, dir), filepath.Clean(dir)}
	for _, name := range names {
		for _, f := range st.Folders {
			if f.Root == name {
				return f.Root, true
			}
		}
	}
	return "", false
}

// grantsOf returns the grants of a skill: of the one that a selector finds, else of
// every skill that was called so.
func (r *run) grantsOf(ctx context.Context, st store.State, arg string) ([]store.Grant, trustJSON, error) {
	doc := trustJSON{Kind: "skill", Skills: []skillJSON{}, Changed: true}
	snap, err := r.snapshot(ctx)
	if err != nil {
		return nil, doc, err
	}
	key, id := fold.Key(arg), ""
	a, missing := aimOf(snap, arg)
	if missing == nil {
		key, id = a.rec.Skill.Key, a.source
		doc.Skills = append(doc.Skills, recordJSON(a.rec))
	}
	var grants []store.Grant
	for _, g := range st.Grants {
		if fold.Key(g.Name) == key && (id == "" || g.Source == id) {
			grants = append(grants, g)
		}
	}
	switch {
	case len(grants) > 0:
		return grants, doc, nil
	case missing != nil:
		return nil, doc, missing
	}
	return nil, doc, fail(Negative, "not_trusted", "skill %q has no grant", arg)
}

func (r *run) untrustWrite(ctx context.Context, doc trustJSON, said, name string, change func(*store.Store) error) error {
	if !r.writing.dryRun {
		s, err := r.openStore(ctx)
		if err != nil {
			return err
		}
		if err := r.recordAction(ctx, "untrust", name, nil); err != nil {
			return err
		}
		if err := change(s); err != nil {
			return err
		}
		if left, err := s.Grants(ctx); err == nil {
			r.sweepTrees(left)
		}
		doc.Written = true
	}
	return r.trustDone(doc, said, name)
}
