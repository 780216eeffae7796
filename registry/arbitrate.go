package registry

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/deftskills/deft/internal/fold"
	"github.com/deftskills/deft/skill"
	"github.com/deftskills/deft/source"
)

// arbiter turns listings into a Snapshot: same files, states, groups, winners,
// addresses. The result depends on its input only, never on the order of directories.
type arbiter struct {
	r    *Registry
	out  *Snapshot
	keys map[*Record]string // group keys that differ from Skill.Key
	own  map[*Record]string // addresses of usable records that do not have the name; "" = name@source
	// alone holds why some records are trusted otherwise than their source.
	alone map[*Record]Reason
	judge *judge
}

func (a *arbiter) arbitrate(ctx context.Context, listings []*source.Listing) *Snapshot {
	a.collect(ctx, listings)
	a.states()
	candidates := a.candidates()
	a.groups(candidates)
	a.addresses()
	a.gates()
	a.late()
	s := a.out
	slices.SortFunc(s.Winners, func(x, y *Record) int {
		return cmp.Or(strings.Compare(x.Skill.Name, y.Skill.Name), strings.Compare(x.Address, y.Address))
	})
	s.lookup.build(a)
	a.handles()
	sortDiagnostics(s.Diagnostics)
	slices.SortFunc(s.Skipped, func(x, y source.Skipped) int {
		return cmp.Or(strings.Compare(x.Path, y.Path), strings.Compare(x.Code, y.Code))
	})
	return s
}

// collect makes one record of each entry, equal files merged, and sorts them.
func (a *arbiter) collect(ctx context.Context, listings []*source.Listing) {
	total := 0
	for _, l := range listings {
		total += len(l.Entries)
	}
	s := a.out
	slab := make([]Record, 0, total) // one block instead of an object a record
	s.Diagnostics = slices.Concat(a.r.c.Diagnostics, a.r.came.Diagnostics, a.r.decisions.Diagnostics)
	alone, _ := a.r.c.Trust.(EntryTruster)
	for i, l := range listings {
		info := a.r.sources[i].Info()
		s.sources = append(s.sources, Root{info.ID, info.Path, info.Kind, info.Trust, len(l.Entries), l.Complete, a.r.took[i]})
		s.Diagnostics = append(s.Diagnostics, l.Diagnostics...)
		s.Skipped = append(s.Skipped, l.Skipped...)
		s.Complete = s.Complete && l.Complete
		for _, e := range l.Entries {
			slab = append(slab, Record{Entry: e})
			if alone != nil && looksAlone(info) {
				a.trustAlone(ctx, alone, &slab[len(slab)-1])
			}
		}
	}
	s.Metrics = metricsOf(listings)
	s.All = make([]*Record, total)
	for i := range slab {
		s.All[i] = &slab[i]
	}
	a.prefixes()
	a.sameFiles()
	slices.SortFunc(s.All, func(x, y *Record) int {
		return cmp.Or(strings.Compare(x.Location, y.Location), strings.Compare(x.Source.ID, y.Source.ID))
	})
	s.Metrics.Skills = len(s.All)
}

// looksAlone says whether skills of a source may be trusted less than the source is: those
// of a trusted folder may lie in a repository of their own, those among a person's own may
// have been brought in.
func looksAlone(i source.Info) bool {
	switch i.Kind {
	case source.Project:
		return i.Trust == source.Workspace
	case source.User, source.DataDef, source.Global:
		return i.Trust == source.Trusted
	}
	return false
}

// trustAlone asks about one skill of a trusted folder. One that does not inherit the
// folder's trust gets an entry of its own.
func (a *arbiter) trustAlone(ctx context.Context, t EntryTruster, r *Record) {
	trust, why, ok := t.TrustEntry(ctx, r.Entry)
	if !ok || trust == r.Source.Trust {
		return
	}
	e := *r.Entry
	e.Source.Trust = trust
	r.Entry = &e
	if a.alone == nil {
		a.alone = map[*Record]Reason{}
	}
	a.alone[r] = why
}

// file identifies the real SKILL.md of a record.
type file struct{ dir, base string }

func realFile(r *Record) file {
	switch {
	case r.RealFile != "":
		return file{filepath.Dir(r.RealFile), filepath.Base(r.RealFile)}
	case r.RealDir != "":
		return file{r.RealDir, r.File}
	}
	if tree, dir := r.Tree(); tree != "" {
		return file{tree + ":" + dir, r.File}
	}
	return file{r.Source.ID, r.Location} // no file of the disk: nobody else has it
}

// sameFiles keeps one record for one real file, at its strongest source; the other
// paths become aliases. A source that is withheld is never the strongest: what a
// person reaches through a trusted root is not lost to a pending one.
func (a *arbiter) sameFiles() {
	if len(a.r.sources) < 2 || a.r.policy.Twins || a.apart() {
		return
	}
	s := a.out
	slices.SortStableFunc(s.All, func(x, y *Record) int {
		if wx, wy := withheld(x.Source.Trust), withheld(y.Source.Trust); wx != wy {
			if wx {
				return 1
			}
			return -1
		}
		order, _ := a.r.policy.compare(x, y)
		return order
	})
	first := make(map[file]*Record, len(s.All))
	kept := s.All[:0]
	for _, r := range s.All {
		f := realFile(r)
		keep, twice := first[f]
		if !twice {
			first[f] = r
			kept = append(kept, r)
			continue
		}
		alias := r.Dir
		if alias == "" {
			alias = r.Location
		}
		e := *keep.Entry
		e.Aliases = append(slices.Clone(e.Aliases), alias)
		e.Aliases = append(e.Aliases, r.Aliases...)
		slices.Sort(e.Aliases)
		e.Aliases = slices.DeleteFunc(slices.Compact(e.Aliases), func(p string) bool { return p == e.Dir })
		keep.Entry = &e
	}
	s.All = kept
}

// apart says for certain that no two records are one file: none is reached through a
// link, no root lies in another, and at most one source is not of the disk. It saves
// most homes a table of all files.
func (a *arbiter) apart() bool {
	roots := map[string]bool{}
	var last *source.Info // most neighbours are of one source
	other := ""
	for _, r := range a.out.All {
		switch {
		case r.Dir == "" && (other == "" || other == r.Source.ID):
			other = r.Source.ID
			continue
		case r.Dir == "" || r.RealFile != "" || r.RealDir != r.Dir || r.Source.Path == "" || !strings.HasPrefix(r.Dir, r.Source.Path):
			return false
		}
		if last == nil || last.Path != r.Source.Path || last.ID != r.Source.ID {
			last = &r.Source
			roots[last.Path+"\x00"+last.ID] = true
		}
	}
	sorted := slices.Sorted(maps.Keys(roots))
	for i := 1; i < len(sorted); i++ {
		outer, _, _ := strings.Cut(sorted[i-1], "\x00")
		if strings.HasPrefix(sorted[i], outer) {
			return false
		}
	}
	return true
}

// states judges each record alone: unreadable ones, those of folders that nobody
// trusted and those that are switched off are no candidates. Every reason is kept; the
// first in this order makes the state.
func (a *arbiter) states() {
	d := &a.r.decisions
	j := newJudge(a.out, &d.Switches)
	a.out.Diagnostics = append(a.out.Diagnostics, j.found...)
	given := grantsBy(d.Grants)
	for _, r := range a.out.All {
		r.State, r.Barred = Available, j.barred(r)
		say := func(s State, why Reason) {
			if r.State == Available {
				r.State = s
			}
			r.Reasons = append(r.Reasons, why)
		}
		if !r.Skill.Valid {
			say(Invalid, formatReason(r.Skill))
		}
		if r.Source.Off != "" {
			say(Disabled, sourceOff(r))
		}
		if withheld(r.Source.Trust) {
			say(Untrusted, a.untrusted(r))
		} else if why, more := given.grown(r); more {
			say(Untrusted, why)
		}
		if why, off := j.off(r); off && !a.r.policy.switchesLate() {
			say(Disabled, why)
		}
	}
	a.judge = j
}

// late judges the switches where a skill that is off keeps its name from the others.
func (a *arbiter) late() {
	if !a.r.policy.switchesLate() {
		return
	}
	for _, r := range a.out.All {
		if why, off := a.judge.off(r); off && r.State != Invalid && r.State != Untrusted {
			r.State = Disabled
			r.Reasons = append(r.Reasons, why)
			sortReasons(r.Reasons)
		}
	}
}

// untrusted says why a record is withheld.
func (a *arbiter) untrusted(r *Record) Reason {
	why, ok := a.alone[r]
	if !ok {
		why = a.r.reasons[r.Source.ID]
	}
	if why.Code == "" {
		why = Reason{
			Code: "untrusted", Message: "nobody has trusted the folder " + r.Source.Path,
			Fix: "review it, then run deft trust, or pass --trust-project", Path: r.Source.Path,
		}
	}
	return why
}

// candidates returns the records that may win, by group key and then strength.
func (a *arbiter) candidates() []*Record {
	p := &a.r.policy
	a.keys = map[*Record]string{}
	var out []*Record
	for _, r := range a.out.All {
		if r.State != Available {
			continue
		}
		if k := p.key(r); k != r.Skill.Key {
			a.keys[r] = k
		}
		out = append(out, r)
	}
	slices.SortFunc(out, func(x, y *Record) int {
		if c := strings.Compare(a.key(x), a.key(y)); c != 0 {
			return c
		}
		order, _ := p.compare(x, y)
		return order
	})
	return out
}

func (a *arbiter) key(r *Record) string {
	if len(a.keys) > 0 {
		if k, ok := a.keys[r]; ok {
			return k
		}
	}
	return r.Skill.Key
}

// groups finds the winner of each name.
func (a *arbiter) groups(sorted []*Record) {
	g := newGuard(a.r.policy.Guard, sorted)
	for len(sorted) > 0 {
		n := 1
		for n < len(sorted) && a.key(sorted[n]) == a.key(sorted[0]) {
			n++
		}
		a.group(sorted[:n], g)
		sorted = sorted[n:]
	}
}

// group decides one name. Candidates that are stronger than the winner and trusted
// less stay usable under an address of their own.
func (a *arbiter) group(rs []*Record, g *guard) {
	s := a.out
	win := -1
	for i, r := range rs {
		by := g.blocker(r, rs)
		if by == nil {
			win = i
			break
		}
		r.Reasons = append(r.Reasons, Reason{
			Code: "untrusted_shadow",
			Message: fmt.Sprintf("%s of %s is trusted less than %s of %s and cannot take its name",
				r.Skill.Name, r.Source.ID, by.Skill.Name, by.Source.ID),
			Fix: "use it by its address", Path: place(r), By: place(by),
		})
		s.Winners = append(s.Winners, r)
	}
	if win < 0 {
		return
	}
	winner := rs[win]
	s.Winners = append(s.Winners, winner)
	rest := a.besides(winner, rs[win+1:])
	if len(rest) == 0 {
		return
	}
	winner.Losers = slices.Clone(rest)
	for _, l := range winner.Losers {
		a.lose(l, winner)
	}
}

func (a *arbiter) lose(l, winner *Record) {
	_, step := a.r.policy.compare(winner, l)
	l.State, l.Winner = Shadowed, winner
	message := fmt.Sprintf("shadowed by %s of %s, decided by %s", place(winner), winner.Source.ID, step)
	if a.r.policy.Shadowed != "" {
		message = a.r.policy.words(winner)
	}
	l.Reasons = append(l.Reasons, Reason{
		Code: "shadowed", Message: message,
		Fix: fmt.Sprintf("use %s@%s, or rename one of the two", l.Skill.Name, l.Source.ID), Path: place(l), By: place(winner),
	})
	equal := l.Skill.Digest == winner.Skill.Digest
	if equal {
		l.Reasons = append(l.Reasons, Reason{
			Code: "duplicate", Message: "its SKILL.md is equal to " + place(winner), Fix: "remove one of the two copies",
			Path: place(l), By: place(winner),
		})
	}
	if a.collision(l, winner, step) {
		return
	}
	if equal && a.r.policy.Collision != "always" {
		a.out.Diagnostics = append(a.out.Diagnostics, finding("duplicate", place(l), "%s is a copy of %s", place(l), place(winner)))
		return
	}
	if !a.r.c.QuietCopies {
		a.out.Diagnostics = append(a.out.Diagnostics, finding("copies_differ", place(l),
			"two skills are called %q: %s is used, %s is not, decided by %s", l.Skill.Name, place(winner), place(l), step))
	}
}

// place is the path of a record's SKILL.md, or its location where it has no path.
func place(r *Record) string {
	if r.Dir == "" {
		return r.Location
	}
	return filepath.Join(r.Dir, r.File)
}

// guard knows which candidates keep others from a look-alike name.
type guard struct {
	on     bool
	bySkel map[string][]*Record
	byHand map[string][]*Record
}

// newGuard prepares the guard only where two sources differ in a way that can block:
// with nothing but trusted sources there is nothing to compare.
func newGuard(on bool, candidates []*Record) *guard {
	g := &guard{}
	var kinds []source.Info // few: most candidates are of one
	for _, r := range candidates {
		if !slices.ContainsFunc(kinds, func(i source.Info) bool { return i.Kind == r.Source.Kind && i.Trust == r.Source.Trust }) {
			kinds = append(kinds, source.Info{Kind: r.Source.Kind, Trust: r.Source.Trust})
		}
	}
	for _, x := range kinds {
		for _, y := range kinds {
			g.on = g.on || on && blocks(x, y)
		}
	}
	if !g.on {
		return g
	}
	g.bySkel, g.byHand = map[string][]*Record{}, map[string][]*Record{}
	for _, r := range candidates {
		skel := fold.Skeleton(r.Skill.Key)
		g.bySkel[skel] = append(g.bySkel[skel], r)
		g.byHand[r.Skill.Handle] = append(g.byHand[r.Skill.Handle], r)
	}
	return g
}

// blocker returns a record that keeps r from winning, or nil.
func (g *guard) blocker(r *Record, group []*Record) *Record {
	if !g.on {
		return nil
	}
	for _, others := range [][]*Record{group, g.bySkel[fold.Skeleton(r.Skill.Key)], g.byHand[r.Skill.Handle]} {
		for _, o := range others {
			if o != r && o.Source.Namespace == r.Source.Namespace && blocks(o.Source, r.Source) {
				return o
			}
		}
	}
	return nil
}

// addresses gives each record its unique address: the name for a winner, name@source
// for the others.
func (a *arbiter) addresses() {
	s := a.out
	for _, r := range s.Winners {
		if _, own := a.own[r]; own {
			r.Address = a.own[r]
		} else if len(r.Reasons) == 0 { // no untrusted_shadow
			r.Address = bare(r)
		}
	}
	if a.r.policy.byName() && len(s.Winners) == len(s.All) && !slices.ContainsFunc(s.All, func(r *Record) bool { return r.Address == "" || r.Source.Namespace != "" }) {
		return // one skill a key, all of them by their names: no two are equal
	}
	taken := make(map[string]*Record, len(s.All))
	give := func(r *Record, forms ...string) {
		for _, f := range append(forms, r.Skill.Name+"@"+r.Location) {
			if other := taken[f]; other == nil {
				taken[f], r.Address = r, f
				return
			}
		}
	}
	others := func(r *Record) []string {
		name := bare(r)
		if p := r.Source.Package; p != "" {
			return []string{name + "@" + p, name + "@" + r.Source.ID}
		}
		return []string{name + "@" + r.Source.ID, name + "@" + path.Clean(filepath.ToSlash(r.Dir))}
	}
	for _, r := range s.All {
		if r.Address != "" {
			give(r, append([]string{r.Address}, others(r)...)...)
		}
	}
	for _, r := range s.All {
		if r.Address == "" {
			give(r, others(r)...)
		}
	}
}

func bare(r *Record) string {
	if r.Source.Namespace != "" {
		return r.Source.Namespace + ":" + r.Skill.Name
	}
	return r.Skill.Name
}

// handles reports names that people would type alike.
func (a *arbiter) handles() {
	if a.r.policy.Collision == "never" {
		return
	}
	rows := slices.Clone(a.out.All)
	slices.SortFunc(rows, func(x, y *Record) int { return strings.Compare(x.Skill.Handle, y.Skill.Handle) })
	for len(rows) > 0 {
		n := 1
		for n < len(rows) && rows[n].Skill.Handle == rows[0].Skill.Handle {
			n++
		}
		alike := rows[:n]
		rows = rows[n:]
		if n == 1 {
			continue
		}
		slices.SortFunc(alike, a.r.policy.stronger)
		strong, h := alike[0], alike[0].Skill.Handle
		for _, weak := range alike[1:] {
			if !usable(weak) || weak.Source.Namespace != strong.Source.Namespace || a.key(strong) == a.key(weak) {
				continue
			}
			a.out.Diagnostics = append(a.out.Diagnostics, finding("handle_collision", place(weak),
				"%q and %q are both typed %q, which means %s; the other is %q",
				strong.Skill.Name, weak.Skill.Name, h, place(strong), weak.Address))
		}
	}
}

// gates hides winners whose conditions do not hold and notes what else keeps them
// from the model. Values of variables are never named.
func (a *arbiter) gates() {
	env := a.r.c.Environment
	env.Skills = &nameSet{of: a.out.Winners}
	for _, r := range a.out.All {
		if r.Stale {
			r.Reasons = append(r.Reasons, Reason{
				Code: "stale", Message: "its file cannot be read now; the last good version is used", Fix: "correct the file", Path: place(r),
			})
		}
	}
	if a.filters(env) {
		return
	}
	for _, r := range a.out.Winners {
		m := &r.Skill.Meta
		say := func(code, by, fix, format string, args ...any) {
			r.Reasons = append(r.Reasons, Reason{Code: code, Message: fmt.Sprintf(format, args...), Fix: fix, Path: place(r), By: by})
		}
		if m.RequiresBeta != "" && (a.r.c.Beta == nil || !a.r.c.Beta(m.RequiresBeta)) {
			r.State = Hidden
			say("beta", m.RequiresBeta, "turn the flag on", "needs the beta flag %q", m.RequiresBeta)
		}
		if server := a.r.c.Filters.served(r, env); server != "" && a.r.policy.Servers {
			r.State = Hidden
			say("mcp_duplicate", server, "use the tools of the server", "the MCP server %q is configured and does the same", server)
		}
		own := env
		if len(m.Secrets) > 0 || m.Conditions != nil && len(m.Conditions.RequiresEnv) > 0 {
			key, bound := a.r.decisions.Binding(r, a.out.All)
			own.Vars = withBound(env.Vars, bound)
			a.setup(r, bound, key)
		}
		for _, u := range skill.FindUnmet(m.Conditions, own) {
			r.State = Unmet
			for _, u := range u.Each() {
				need := u.Code + ": " + strings.Join(u.Names, ", ")
				say("unmet", need, u.Fix(), "a condition does not hold, %s", need)
			}
		}
		if len(m.Paths) > 0 {
			patterns := strings.Join(m.Paths, ", ")
			say("paths", patterns, "work on a file that matches", "it is offered once a file that matches is worked on: %s", patterns)
		}
		if m.DisableModelInvocation {
			say("manual", "disable-model-invocation", "start it with /"+r.Skill.Handle, "only a person may start it: disable-model-invocation is set")
		}
		if r.Barred != "" {
			say("manual", r.Barred, "start it with /"+r.Skill.Handle, "only a person may start it, by %s", r.Barred)
		}
		if !m.Listed {
			say("unlisted", "listed", "ask for it by name", "it is not in the catalog: listed is false")
		}
	}
}

// formatReason says why a skill cannot be read: its first error.
func formatReason(s *skill.Skill) Reason {
	for _, d := range s.Diagnostics {
		if d.Level == skill.LevelError {
			return diagnosticReason(d)
		}
	}
	return Reason{Code: "header", Message: "the file is no valid skill", Fix: "run lint on it"}
}

func sortDiagnostics(ds []skill.Diagnostic) {
	slices.SortStableFunc(ds, func(x, y skill.Diagnostic) int {
		return cmp.Or(strings.Compare(x.File, y.File), cmp.Compare(x.Line, y.Line),
			strings.Compare(x.Code, y.Code), strings.Compare(x.Message, y.Message))
	})
}
