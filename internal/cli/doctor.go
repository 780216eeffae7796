package cli

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/deftskills/deft/internal/safetext"
	"github.com/deftskills/deft/registry"
	"github.com/deftskills/deft/skill"
)

func doctorVerb() verb {
	return verb{
		name: "doctor", group: groupSkill, effects: effects{reads: true},
		short: "health: folders, collisions, broken skills, settings",
		run:   func(ctx context.Context, r *run, _ []string) error { return r.doctor(ctx) },
	}
}

// check is one finding of doctor. Checks without a fault are of level info.
type check struct {
	ID      string      `json:"id"`
	Level   skill.Level `json:"level"`
	Message string      `json:"message"`
	Fix     string      `json:"fix"`

	File string `json:"file,omitempty"`
	Line int    `json:"line,omitempty"`
}

func (r *run) doctor(ctx context.Context) error {
	snap, err := r.snapshot(ctx)
	if err != nil {
		return err
	}
	checks := r.checks(snap)
	ok := !slices.ContainsFunc(checks, func(c check) bool { return c.Level == skill.LevelError })
	if r.globals.json {
		r.printJSON(struct {
			Checks []check `json:"checks"`
			OK     bool    `json:"ok"`
		}{checks, ok})
	} else {
		r.doctorText(checks, ok)
	}
	if !snap.Complete {
		r.note(Partial)
	}
	if !ok {
		return errNegative
	}
	return nil
}

// checks lists every finding: folders first, then what is broken, by weight.
func (r *run) checks(snap *registry.Snapshot) []check {
	w := r.docWords()
	var list []check
	for _, root := range snap.Roots() {
		c := check{ID: "root", Level: skill.LevelInfo, File: root.Path, Message: w.Say("doctor.root", root.ID, r.short(root.Path), root.Skills, string(root.Trust))}
		switch {
		case root.Path != "" && root.Skills == 0 && !exists(root.Path):
			c.ID, c.Message = "root_absent", w.Say("doctor.absent", root.ID, r.short(root.Path))
		case !root.Complete:
			c.ID, c.Level, c.Message, c.Fix = "incomplete", skill.LevelWarning, w.Say("doctor.incomplete", root.ID, r.short(root.Path)), w.Say("doctor.incomplete_fix")
		}
		list = append(list, c)
	}
	waiting := 0
	var found []skill.Diagnostic
	for _, rec := range snap.All {
		if rec.State == registry.Untrusted {
			waiting++
		}
		found = append(found, rec.Skill.Diagnostics...)
	}
	if waiting > 0 {
		list = append(list, check{
			ID: "withheld", Level: skill.LevelWarning,
			Message: w.Say("doctor.withheld", waiting), Fix: w.Say("hint.trust"),
		})
	}
	for _, d := range append(append(slices.Clone(r.diags), snap.Diagnostics...), found...) {
		list = append(list, check{ID: d.Code, Level: d.Level, Message: where(d) + " " + d.Message, Fix: d.Fix, File: d.File, Line: d.Line})
	}
	list = append(list, check{ID: "sandbox", Level: skill.LevelInfo, Message: w.Say("doctor.sandbox", build().Sandbox)})
	order := []skill.Level{skill.LevelError, skill.LevelWarning, skill.LevelInfo}
	slices.SortStableFunc(list, func(a, b check) int {
		return slices.Index(order, a.Level) - slices.Index(order, b.Level)
	})
	return list
}

func (r *run) doctorText(checks []check, ok bool) {
	counts := map[string]int{}
	for _, c := range checks {
		if c.Level == skill.LevelInfo && c.ID != "root" && c.ID != "sandbox" && !r.globals.verbose {
			counts[c.ID]++
			continue
		}
		r.out.Printf("%s %s [%s]\n", r.out.Paint(looks[c.Level], r.words.Say(string(c.Level))), c.Message, c.ID)
		if c.Fix != "" {
			r.out.Printf("  hint: %s\n", r.words.Fix(c.Fix))
		}
	}
	var notes []string
	for _, id := range sortedKeys(counts) {
		notes = append(notes, fmt.Sprintf("%s %d", id, counts[id]))
	}
	if len(notes) > 0 {
		r.out.Printf("%s\n", r.words.Say("doctor.notes", strings.Join(notes, ", ")))
	}
	if ok {
		r.out.Printf("%s\n", r.out.Paint(safetext.Green, r.words.Say("doctor.ok")))
	}
}
