package cli

import (
	"context"
	"strings"

	"github.com/deftskills/deft/internal/fold"
	"github.com/deftskills/deft/registry"
	"github.com/deftskills/deft/skill"
	"github.com/deftskills/deft/source"
	"github.com/deftskills/deft/store"
)

// changedJSON is one saved switch that a verb set.
type changedJSON struct {
	Key    string       `json:"key"`
	Name   string       `json:"name"`
	Source string       `json:"source"` // "" = every skill of the name
	Was    store.Switch `json:"was"`    // "" = none was saved
	Switch store.Switch `json:"switch"`
}

type switchJSON struct {
	Changed []changedJSON `json:"changed"`
	Skills  []skillJSON   `json:"skills"` // those that the switches are about, as they are now
	Written bool          `json:"written"`
}

// aim is what one argument of enable and disable is about.
type aim struct {
	rec    *registry.Record
	source string // "" = every skill of the name
}

// aimOf finds the skill that a person names: by its name every one that has it, by
// name@source, path or location that one.
func aimOf(snap *registry.Snapshot, selector string) (aim, error) {
	rec, err := find(snap, selector)
	if err != nil {
		return aim{}, err
	}
	if strings.ContainsAny(selector, `@/\`) && fold.Key(selector) != rec.Skill.Key && "/"+rec.Skill.Handle != selector {
		return aim{rec, rec.Source.ID}, nil
	}
	return aim{rec, ""}, nil
}

// switchSkills saves a switch for each of the skills and tells how they are then.
func (r *run) switchSkills(ctx context.Context, selectors []string, to store.Switch) error {
	e, err := r.open(ctx)
	if err != nil {
		return err
	}
	st, err := r.load(ctx)
	if err != nil {
		return err
	}
	doc := switchJSON{Changed: []changedJSON{}, Skills: []skillJSON{}, Written: !r.writing.dryRun}
	var aims []aim
	for _, selector := range selectors {
		a, err := aimOf(e.Snapshot(), selector)
		if err != nil {
			return err
		}
		if err := liftable(a.rec, to); err != nil {
			return err
		}
		aims = append(aims, a)
		c := changedJSON{Key: store.Key(a.rec.Skill.Name, a.source), Name: a.rec.Skill.Name, Source: a.source, Switch: to}
		for _, s := range st.Switches {
			if s.Key == c.Key {
				c.Was = s.Switch
			}
		}
		doc.Changed = append(doc.Changed, c)
	}
	if !r.writing.dryRun {
		if err := r.saveSwitches(ctx, aims, to); err != nil {
			return err
		}
	}
	snap, err := e.Refresh(ctx)
	if err != nil {
		return err
	}
	r.switched(snap, &doc, aims)
	return nil
}

// liftable refuses to enable what is denied: nothing that is saved lifts it.
func liftable(rec *registry.Record, to store.Switch) error {
	if to != store.On {
		return nil
	}
	for _, why := range rec.Reasons {
		if why.Code == "denied" && why.By != registry.SavedDenial {
			return fail(Refused, "skill_denied", "skill %q is denied by %s", rec.Skill.Name, why.By).hinted("hint.denied")
		}
	}
	return nil
}

func (r *run) saveSwitches(ctx context.Context, aims []aim, to store.Switch) error {
	s, err := r.openStore(ctx)
	if err != nil {
		return err
	}
	if skill.Dialect(r.globals.dialect) == skill.MiniMax && to != store.Deny {
		// That dialect keeps the location alone: a skill that moves is on again.
		var uris []string
		for _, a := range aims {
			uris = append(uris, a.rec.Location)
		}
		return s.SwitchLocations(ctx, to == store.Off, uris...)
	}
	var rows []store.SkillState
	for _, a := range aims {
		// The tree tells a renamed skill from another one; one that cannot be read whole
		// can be switched all the same.
		tree, _, err := source.Tree(ctx, a.rec.Entry)
		if err != nil {
			tree = skill.Digest("")
		}
		rows = append(rows, store.SkillState{Name: a.rec.Skill.Name, Source: a.source, Switch: to, Tree: tree, UpdatedBy: "cli"})
	}
	return s.States().Set(ctx, rows...)
}

// switched tells what was saved and what the skills are now.
func (r *run) switched(snap *registry.Snapshot, doc *switchJSON, aims []aim) {
	for i, c := range doc.Changed {
		if !r.globals.json {
			verb := "switch." + string(c.Switch)
			if r.writing.dryRun {
				verb = "switch.would_" + string(c.Switch)
			}
			r.out.Printf("%s\n", r.words.Say(verb, c.Key))
		}
		for _, rec := range snap.All {
			if rec.Skill.Key != aims[i].rec.Skill.Key || c.Source != "" && rec.Source.ID != c.Source {
				continue
			}
			doc.Skills = append(doc.Skills, recordJSON(rec))
			if !r.globals.json {
				r.stateLine(rec)
			}
		}
	}
	if r.globals.json {
		r.printJSON(doc)
	}
}

// stateLine shows one skill with its state and why.
func (r *run) stateLine(rec *registry.Record) {
	line := r.words.Say("state." + string(rec.State))
	if rec.State != registry.Available && len(rec.Reasons) > 0 {
		line += ": " + r.sentence(rec.Reasons[0])
	}
	r.out.Printf("  %s  %s\n", orElse(r.short(rec.Dir), rec.Location), line)
}
