package registry

import (
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/deftskills/deft/internal/fold"
	"github.com/deftskills/deft/source"
)

// besides takes the records that stay usable beside a winner out of its losers, where
// the dialect keeps them, and says when the name itself is nobody's.
func (a *arbiter) besides(winner *Record, rest []*Record) (losers []*Record) {
	p := &a.r.policy
	if len(rest) == 0 {
		return nil
	}
	if a.own == nil {
		a.own = map[*Record]string{}
	}
	a.ambiguous(winner, rest)
	if p.Losers == "listed" && winner.Source.Kind != source.DataDef {
		for _, r := range rest {
			a.own[r] = ""
		}
		a.out.Winners = append(a.out.Winners, rest...)
		if _, nobody := a.own[winner]; len(rest) > 0 && !nobody && p.Collision == "always" {
			var others []string
			for _, r := range rest {
				others = append(others, fmt.Sprintf("%s (%s)", place(r), p.label(r)))
			}
			a.out.Diagnostics = append(a.out.Diagnostics, finding("copies_differ", place(winner),
				"several skills are called %q: %s (%s) is used, not %s", winner.Skill.Name, place(winner), p.label(winner), strings.Join(others, ", ")))
		}
		return nil
	}
	if !slices.Contains(p.Order, "outer") { // a dialect that names nested folders itself
		rest = a.packageCopies(winner, rest)
	}
	for _, r := range rest {
		dir := p.nested(r)
		if dir == "" {
			losers = append(losers, r)
			continue
		}
		a.own[r] = dir + ":" + bare(r)
		a.out.Winners = append(a.out.Winners, r)
	}
	return losers
}

// ambiguous notes names that several records claim and the dialect gives to none.
func (a *arbiter) ambiguous(winner *Record, rest []*Record) {
	p := &a.r.policy
	if p.Ambiguous == "" {
		return
	}
	claims := func(r *Record) bool { return false }
	e := &AmbiguousError{Selector: winner.Skill.Name}
	switch p.Ambiguous {
	case "legacy": // two former folders of the agent, and no folder of its present name
		e.Code = "AMBIGUOUS_SKILL_NAME"
		claims = func(r *Record) bool {
			return winner.Source.Legacy && r.Source.Legacy && (r == winner || r.Source.ID != winner.Source.ID)
		}
	case "kind":
		claims = func(r *Record) bool { return p.kind(r) == p.kind(winner) }
	}
	var dirs []string
	for _, r := range append([]*Record{winner}, rest...) {
		if claims(r) {
			e.Candidates = append(e.Candidates, r.Location)
			dirs = append(dirs, fmt.Sprintf("%q", r.Path()))
		}
	}
	if len(e.Candidates) < 2 {
		return
	}
	if p.Ambiguous == "kind" {
		e.Message = fmt.Sprintf("Cannot resolve skill %q: multiple %s skills found at %s. Rename one of them or ask for it by its path.",
			winner.Skill.Name, p.label(winner), strings.Join(dirs, ", "))
		a.own[winner] = ""
	}
	if a.out.lookup.ambiguous == nil {
		a.out.lookup.ambiguous = map[string]*AmbiguousError{}
	}
	a.out.lookup.ambiguous[winner.Skill.Name] = e
}

// collision reports a loser the way the dialect does; false leaves it to deft's way.
func (a *arbiter) collision(l, winner *Record, step string) (done bool) {
	switch a.r.policy.Collision {
	case "never":
		return true
	case "id":
		if step == "location" {
			a.out.Diagnostics = append(a.out.Diagnostics, finding("id_duplicate", place(l),
				"two skills have the id %q: %s is used, %s is rejected", l.Skill.ID(), place(winner), place(l)))
		}
		return true
	}
	return false
}

// finders are the ways in which a selector finds a skill where a dialect names them:
// letter for letter but for plugin.
var finders = map[string]func(s *Snapshot, sel string) *Record{
	"name": func(s *Snapshot, sel string) *Record {
		for _, r := range s.index().name.find(sel) {
			if r.Source.Namespace == "" {
				return r
			}
		}
		return nil
	},
	"plugin": func(s *Snapshot, sel string) *Record {
		ns, name, ok := strings.Cut(fold.Key(sel), ":")
		for _, r := range s.index().key.find(name) {
			if ok && fold.Key(r.Source.Namespace) == ns {
				return r
			}
		}
		for _, r := range s.Winners { // a dialect's key need not be folded
			if ok && fold.Key(r.Source.Namespace) == ns && fold.Key(r.Skill.Name) == name {
				return r
			}
		}
		return nil
	},
	"id": func(s *Snapshot, sel string) *Record {
		if r := first(usableFirst(s.index().id.find(sel))); r != nil {
			return r
		}
		for _, r := range s.index().name.find(sel) {
			if r.Skill.Meta.ID == "" {
				return r
			}
		}
		return nil
	},
	"command": func(s *Snapshot, sel string) *Record {
		for _, c := range [...]*column{&s.index().dirName, &s.index().name} {
			for _, r := range c.find(sel) {
				if directoryOf(r) == sel && r.Source.Namespace == "" {
					return r
				}
			}
		}
		return nil
	},
	"address":  func(s *Snapshot, sel string) *Record { return first(s.index().address.find(sel)) },
	"location": (*Snapshot).exactPlace,
}

// exactPlace finds a location, a directory or an alias; one /SKILL.md behind it is
// left out.
func (s *Snapshot) exactPlace(sel string) *Record {
	if r := first(s.index().location.find(sel)); r != nil {
		return r
	}
	dir := strings.TrimSuffix(strings.TrimSuffix(sel, "/"+source.SkillFile), "/")
	if !strings.Contains(dir, "/") {
		return nil
	}
	if r := first(s.index().inner.find(dir)); r != nil {
		return r
	}
	if !path.IsAbs(dir) && s.index().workspace != "" && !strings.Contains(dir, "://") {
		dir = path.Join(s.index().workspace, dir)
	}
	if r := first(s.index().dir.find(dir)); r != nil {
		return r
	}
	if i, ok := slices.BinarySearchFunc(s.index().byAlias(), dir, func(a alias, p string) int { return strings.Compare(a.path, p) }); ok {
		return s.index().byAlias()[i].r
	}
	return nil
}

// lookupAs finds a skill by the finders of a dialect. No error names a close name that
// the dialect would not find.
func (s *Snapshot) lookupAs(p *policy, sel string) (*Record, error) {
	if p.Trim {
		if sel = strings.TrimSpace(sel); sel == "" {
			sel = "unknown-skill"
		}
	}
	if e := s.index().ambiguous[sel]; e != nil {
		return nil, e
	}
	if sel == "" {
		return s.lastly(sel)
	}
	ways := p.Lookup
	if hostile(sel) {
		ways = ways[:1] // a skill may be called anything; no place is
	}
	for _, way := range ways {
		if r := finders[way](s, sel); r != nil {
			return r, nil
		}
	}
	return s.lastly(sel)
}
