package cli

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/pflag"

	"github.com/deftskills/deft/internal/safetext"
	"github.com/deftskills/deft/registry"
	"github.com/deftskills/deft/skill"
	"github.com/deftskills/deft/store"
)

func doctorVerb() verb {
	var fix, gc bool
	return verb{
		name: "doctor", group: groupSkill, effects: effects{reads: true, writes: true},
		short: "health: folders, collisions, broken skills, settings, state",
		long: "Looks at the folders of every agent, in use or not. --fix removes links of deft's own\n" +
			"that lead nowhere, and sets a damaged state aside; nothing else is changed.",
		flags: func(f *pflag.FlagSet) {
			f.BoolVar(&fix, "fix", false, "mend what is deft's own")
			f.BoolVar(&gc, "gc", false, "free contents that nobody needs; with --dry-run only count them")
		},
		run: func(ctx context.Context, r *run, _ []string) error {
			if !fix && !gc {
				r.writing.dryRun = true
			}
			return r.doctor(ctx, fix, gc)
		},
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
	// Of a folder that is searched.
	Exists *bool  `json:"exists,omitempty"`
	Skills *int   `json:"skills,omitempty"`
	TookMS *int64 `json:"took_ms,omitempty"`
}

func (r *run) doctor(ctx context.Context, fix, gc bool) error {
	r.words = r.docWords()
	mended, err := r.mendState(ctx, fix)
	if err != nil {
		return err
	}
	snap, err := r.snapshot(ctx)
	if err != nil {
		return err
	}
	checks, err := r.checks(ctx, snap, fix)
	if err != nil {
		return err
	}
	var freed []garbageJSON
	if gc {
		found, list, err := r.collectGarbage(ctx)
		if err != nil {
			return err
		}
		checks, freed = append(checks, list...), found
	}
	checks = inOrder(append(mended, checks...))
	ok := !slices.ContainsFunc(checks, func(c check) bool { return c.Level == skill.LevelError })
	if r.globals.json {
		r.printJSON(struct {
			Checks  []check       `json:"checks"`
			OK      bool          `json:"ok"`
			Garbage []garbageJSON `json:"garbage,omitempty"`
		}{checks, ok, freed})
	} else {
		r.doctorText(checks, ok)
	}
	if !snap.Complete {
		r.note(Partial)
	}
	if slices.ContainsFunc(checks, func(c check) bool { return c.ID == "store_damaged" }) {
		r.note(Damaged)
	}
	if !ok {
		return errNegative
	}
	return nil
}

// inOrder sorts findings by weight, and drops what is said twice.
func inOrder(list []check) []check {
	order := []skill.Level{skill.LevelError, skill.LevelWarning, skill.LevelInfo}
	slices.SortStableFunc(list, func(a, b check) int {
		return slices.Index(order, a.Level) - slices.Index(order, b.Level)
	})
	seen := map[[3]string]bool{}
	return slices.DeleteFunc(list, func(c check) bool {
		k := [3]string{c.ID, c.File, c.Message}
		twice := seen[k]
		seen[k] = true
		return twice
	})
}

// checks lists every finding: folders, trust, names, links, needs, state, and what is
// broken.
func (r *run) checks(ctx context.Context, snap *registry.Snapshot, fix bool) ([]check, error) {
	list := r.rootChecks(snap)
	list = append(list, r.pendingChecks(snap)...)
	everywhere, err := r.collisions(ctx, snap)
	if err != nil {
		return nil, err
	}
	list = append(list, everywhere...)
	list = append(list, r.lookalikes(snap)...)
	list = append(list, r.typedOnly(snap)...)
	links, err := r.linkChecks(snap, fix)
	if err != nil {
		return nil, err
	}
	list = append(list, links...)
	installs, err := r.installChecks(ctx, fix)
	if err != nil {
		return nil, err
	}
	list = append(list, installs...)
	list = append(list, r.needs(snap)...)
	list = append(list, r.stateChecks(ctx, snap)...)
	list = append(list, r.watchCheck(ctx))
	list = append(list, r.serverChecks()...)
	list = append(list, r.blobChecks(ctx)...)
	var found []skill.Diagnostic
	for _, rec := range snap.All {
		found = append(found, rec.Skill.Diagnostics...)
	}
	for _, d := range slices.Concat(r.diags, snap.Diagnostics, found) {
		if d.Code != "dangling" { // linkChecks has them, with whose they are
			list = append(list, r.diagnosed(d))
		}
	}
	return append(list, r.sandboxChecks(ctx)...), nil
}

func (r *run) diagnosed(d skill.Diagnostic) check {
	return check{ID: d.Code, Level: d.Level, Message: where(d) + " " + d.Message, Fix: d.Fix, File: d.File, Line: d.Line}
}

// mendState sets a damaged state aside, before anything is read of it.
func (r *run) mendState(ctx context.Context, fix bool) ([]check, error) {
	if !fix || r.writing.dryRun {
		return nil, nil
	}
	s, err := r.openStore(ctx)
	if err != nil {
		return nil, nil // stateChecks says it
	}
	if _, err := s.Load(ctx); !errors.Is(err, store.ErrDamaged) {
		return nil, nil
	}
	aside, err := s.SetAside(ctx)
	if err != nil {
		return nil, err
	}
	return []check{{
		ID: "store_mended", Level: skill.LevelInfo, File: aside.Moved,
		Message: r.words.Say("doctor.state_moved", aside.Moved, aside.Switches, aside.Profiles),
	}}, nil
}

// shown bounds how many findings of one code the text lists; --json and -v list all.
const shown = 20

func (r *run) doctorText(checks []check, ok bool) {
	counts, lines := map[string]int{}, map[string]int{}
	plain := []string{"root", "sandbox", "profile", "store_mended", "link_removed", "state", "watch", "plugin_removable", "mcp_server", "blobs", "garbage"}
	for _, c := range checks {
		if c.Level == skill.LevelInfo && !slices.Contains(plain, c.ID) && !r.globals.verbose {
			counts[c.ID]++
			continue
		}
		if lines[c.ID]++; lines[c.ID] > shown && c.ID != "root" && !r.globals.verbose {
			continue
		}
		r.out.Printf("%s %s [%s]\n", r.out.Paint(looks[c.Level], r.words.Say(string(c.Level))), c.Message, c.ID)
		if c.Fix != "" {
			r.out.Printf("  hint: %s\n", r.words.Fix(c.Fix))
		}
	}
	for _, id := range sortedKeys(lines) {
		if more := lines[id] - shown; more > 0 && id != "root" && !r.globals.verbose {
			r.out.Printf("%s\n", r.words.Say("doctor.more", id, more))
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
