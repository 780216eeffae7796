package cli

import (
	"context"

	"github.com/deftskills/deft/internal/fold"
	"github.com/deftskills/deft/registry"
	"github.com/deftskills/deft/skill"
	"github.com/deftskills/deft/source"
	"github.com/deftskills/deft/store"
)

// follow hands the switches of skills that are gone on to where they are now: a folder
// that was renamed gives its skill another name, one that was moved another source. Only
// exactly the files that were switched count as the same skill, so that nothing else
// inherits a decision. Runs that may not write heed it for themselves.
func (r *run) follow(ctx context.Context) error {
	r.reading.Lock()
	saved := r.saved
	r.reading.Unlock()
	snap := r.engine.Snapshot()
	if !snap.Complete || skill.Dialect(r.globals.dialect) == skill.MiniMax {
		return nil // what was not seen may be there still; that dialect keeps locations
	}
	moved := false
	for _, s := range saved {
		if s.Tree == "" || r.there(snap, s) {
			continue
		}
		rec := heir(ctx, snap, saved, s)
		if rec == nil {
			continue
		}
		next := s
		next.Name = rec.Skill.Name
		if s.Source != "" {
			next.Source = rec.Source.ID
		}
		next.Key = store.Key(next.Name, next.Source)
		r.reading.Lock()
		if r.followed == nil {
			r.followed = map[string]store.SkillState{}
		}
		r.followed[s.Key] = next
		r.reading.Unlock()
		moved = true
		if r.verb.effects.writes && !r.writing.dryRun {
			// What cannot be saved now counts for this run, and is handed on by the next one.
			if st, err := r.openStore(ctx); err == nil {
				_, _ = st.States().Follow(ctx, s.Key, next.Name, next.Source, s.Tree)
			}
		}
	}
	if !moved {
		return nil
	}
	_, err := r.engine.Refresh(ctx)
	return err
}

// there says whether a switch still names a skill, be it one that was handed on already.
func (r *run) there(snap *registry.Snapshot, s store.SkillState) bool {
	r.reading.Lock()
	_, handed := r.followed[s.Key]
	r.reading.Unlock()
	if handed {
		return true
	}
	key := fold.Key(s.Name)
	for _, rec := range snap.All {
		if rec.Skill.Key == key && (s.Source == "" || rec.Source.ID == s.Source) {
			return true
		}
	}
	return false
}

// heir returns the skill whose files are those of a switch. Few are looked at: equal
// files have equal headers, so that either the name is the folder's or the source is
// another one.
func heir(ctx context.Context, snap *registry.Snapshot, saved []store.SkillState, s store.SkillState) *registry.Record {
	own := map[string]bool{}
	for _, x := range saved {
		own[x.Key] = true
	}
	for _, rec := range snap.All {
		where := ""
		if s.Source != "" {
			where = rec.Source.ID
		}
		same := s.Source != "" && rec.Skill.Key == fold.Key(s.Name)
		if own[store.Key(rec.Skill.Name, where)] || !same && (!rec.Skill.Valid || rec.Skill.Raw().Get("name") != nil) {
			continue
		}
		if tree, _, err := source.Tree(ctx, rec.Entry); err == nil && tree == s.Tree {
			return rec
		}
	}
	return nil
}
