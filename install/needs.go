package install

import (
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/deftskills/deft/internal/fold"
	"github.com/deftskills/deft/skill"
)

// Codes of what skills need of other skills.
const (
	CodeCycle    = "deps_cycle"     // a skill needs itself, in the end
	CodeConflict = "deps_conflict"  // two need versions of a third that no version is
	CodeTooMany  = "deps_limit"     // deeper, or more, than is followed
	CodeNeeded   = "install_needed" // asked about: a skill that nobody named, but others need
	CodeMissing  = "deps_missing"   // noted: it is not there, and can't be brought along
)

// How far needs are followed: through how many skills, and how many of them in all.
const (
	maxNeedDepth = 8
	maxNeeds     = 64
)

// Resolver finds the skills that those of a source need.
type Resolver struct {
	// Fetch gets a source that a header names, for the skill of a name; it is called once for
	// both.
	Fetch       func(ctx context.Context, r SourceRef, name string) (*Fetched, error)
	DefaultHost string
	// Env is what is there; of its Skills those that need not be brought along.
	Env skill.Environment
}

// Needs are the skills that others need and that are not there yet.
type Needs struct {
	Batches []Batch           // what goes in before, in that order
	Refused map[string]Reason // by folder in the source: skills that were asked for and can't go in
	Notes   []Reason          // what is needed and can't be brought along
}

// Batch is skills of one source, with the words that say who needs each, by name.
type Batch struct {
	From     *Fetched
	Packages []Package
	By       map[string]string
}

// Needs follows what packages need of other skills. Only headers decide: nothing on disk
// changes, and what is found goes through every check of an install by itself.
func (i *Installer) Needs(ctx context.Context, r Resolver, f *Fetched, packages []Package, s Scope) (Needs, error) {
	lock, err := ReadLock(s.Lock, s.Name == "project")
	if err != nil {
		return Needs{}, err
	}
	w := &needing{r: r, scope: s, lock: lock, nodes: map[string]*need{}, fetched: map[string]got{}, out: Needs{Refused: map[string]Reason{}}}
	for _, p := range packages {
		if p.Skill != nil {
			w.nodes[fold.Key(s.nameOf(p.Skill))] = &need{name: s.nameOf(p.Skill), pack: p, from: f}
		}
	}
	for _, p := range packages {
		if p.Skill == nil || p.Problem != "" {
			continue
		}
		name := s.nameOf(p.Skill)
		was := len(w.out.Batches)
		why, err := w.follow(ctx, w.nodes[fold.Key(name)], nil)
		if err != nil {
			return Needs{}, err
		}
		if why != nil {
			w.out.Refused[p.Dir] = *why
			w.forget(was)
		}
	}
	return w.out, nil
}

// need is one skill on the way.
type need struct {
	name   string
	pack   Package
	from   *Fetched
	by     string // who asked for it first; "" = the person
	in     string // in which versions
	open   bool   // what it needs is being followed
	done   bool
	locked []string // of an installed one: what its record says that it needs
}

type got struct {
	f   *Fetched
	err error
}

type needing struct {
	r       Resolver
	scope   Scope
	lock    *Lock
	nodes   map[string]*need // by key of the name
	fetched map[string]got
	out     Needs
}

// forget takes back what only a refused skill needs.
func (w *needing) forget(from int) {
	for _, b := range w.out.Batches[from:] {
		for name := range b.By {
			delete(w.nodes, fold.Key(name))
		}
	}
	w.out.Batches = w.out.Batches[:from]
}

// follow goes through what one skill needs. The reason is why the skill at the start of
// chain can't go in.
func (w *needing) follow(ctx context.Context, n *need, chain []string) (*Reason, error) {
	chain = append(slices.Clone(chain), n.name)
	if n.open {
		return &Reason{CodeCycle, strings.Join(chain[slices.Index(chain, n.name):], " → ")}, nil
	}
	if n.done {
		return nil, nil
	}
	if len(chain) > maxNeedDepth+1 {
		return &Reason{CodeTooMany, fmt.Sprintf("%s: more than %d skills behind each other", strings.Join(chain, " → "), maxNeedDepth)}, nil
	}
	n.open = true
	defer func() { n.open = false }()
	atoms := w.atoms(n.pack.Skill)
	for _, name := range n.locked {
		atoms = append(atoms, skill.Atom{Skill: name})
	}
	for _, a := range atoms {
		if ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
		next, why, err := w.next(ctx, n, a)
		if why != nil || err != nil {
			return why, err
		}
		if next == nil {
			continue
		}
		if why, err := w.follow(ctx, next, chain); why != nil || err != nil {
			return why, err
		}
	}
	n.done = true
	if n.by != "" && n.pack.Skill != nil {
		w.out.Batches = append(w.out.Batches, Batch{
			From: n.from, Packages: []Package{n.pack},
			By: map[string]string{n.name: fmt.Sprintf("%s needs it; it comes from %s", n.by, n.from.Origin.Source())},
		})
	}
	return nil, nil
}

// next is the skill that an atom asks for, where it has to be looked into.
func (w *needing) next(ctx context.Context, n *need, a skill.Atom) (*need, *Reason, error) {
	key := fold.Key(a.Skill)
	in, err := skill.ParseRange(a.Version)
	if err != nil {
		in = skill.Range{} // the header's reader has told
	}
	if have, ok := w.nodes[key]; ok {
		return have, w.conflict(have, n, a, in), nil
	}
	if e, ok := w.lock.Skills[a.Skill]; ok && (a.Source == "" || in.Holds(w.versionAt(a.Skill))) {
		have := &need{name: a.Skill, locked: e.Needs}
		w.nodes[key] = have
		return have, nil, nil
	}
	if met(a, w.r.Env) {
		return nil, nil, nil
	}
	if a.Source == "" {
		w.note("%s needs the skill %s, which is not there", n.name, strings.TrimSpace(a.Skill+" "+a.Version))
		return nil, nil, nil
	}
	have, why := w.bring(ctx, n, a, in)
	if have == nil {
		w.note("%s needs the skill %s of %s: %s", n.name, strings.TrimSpace(a.Skill+" "+a.Version), a.Source, why)
		return nil, nil, nil
	}
	if len(w.nodes) > maxNeeds {
		return nil, &Reason{CodeTooMany, fmt.Sprintf("more than %d skills need each other", maxNeeds)}, nil
	}
	w.nodes[key] = have
	return have, nil, nil
}

func (w *needing) note(format string, args ...any) {
	w.out.Notes = append(w.out.Notes, Reason{CodeMissing, fmt.Sprintf(format, args...)})
}

// conflict says why a skill that is on the way already is not what another one needs.
func (w *needing) conflict(have, n *need, a skill.Atom, in skill.Range) *Reason {
	if have.pack.Skill == nil || in.Holds(have.pack.Skill.Meta.Version) {
		return nil
	}
	who := fmt.Sprintf("%s is what was asked for", strings.TrimSpace("version "+have.pack.Skill.Meta.Version))
	if have.by != "" {
		who = strings.TrimSpace(have.by + " needs " + have.name + " " + have.in)
	}
	return &Reason{CodeConflict, fmt.Sprintf("%s needs %s %s, and %s", n.name, have.name, a.Version, who)}
}

// versionAt is the version of an installed skill, "" where it has none.
func (w *needing) versionAt(name string) string {
	src, err := readSmall(filepath.Join(w.scope.Skills, name, "SKILL.md"))
	if err != nil {
		return ""
	}
	return skill.Parse(src, skill.ParseOptions{Path: "SKILL.md", DirName: name}).Meta.Version
}

// bring fetches the skill that an atom asks for; why says what stands against it.
func (w *needing) bring(ctx context.Context, n *need, a skill.Atom, in skill.Range) (have *need, why string) {
	from, err := w.source(ctx, n.from, a)
	if err != nil {
		return nil, err.Error()
	}
	packs, err := Find(ctx, from, FindOptions{})
	if err != nil {
		return nil, err.Error()
	}
	at := slices.IndexFunc(packs, func(p Package) bool {
		return p.Skill != nil && (fold.Key(p.Skill.Name) == fold.Key(a.Skill) || w.scope.nameOf(p.Skill) == a.Skill)
	})
	switch {
	case at < 0:
		return nil, "the source has no skill of that name"
	case packs[at].Problem != "":
		return nil, packs[at].Problem
	case !in.Holds(packs[at].Skill.Meta.Version):
		return nil, fmt.Sprintf("the source has version %q", packs[at].Skill.Meta.Version)
	}
	return &need{name: w.scope.nameOf(packs[at].Skill), pack: packs[at], from: from, by: n.name, in: a.Version}, ""
}

// source gets what a header names: a folder of its own source, or another one. Headers
// are written by strangers: they name no folder of this machine.
func (w *needing) source(ctx context.Context, own *Fetched, a skill.Atom) (*Fetched, error) {
	text := a.Source
	if dir, ok := strings.CutPrefix(text, "./"); ok {
		if !inside(dir) {
			return nil, fmt.Errorf("%w: the folder %q leaves the source", ErrBadURL, text)
		}
		here := *own
		here.Origin.Subpath = dir
		return &here, here.has(dir)
	}
	ref, err := ParseSource(text, ParseOptions{DefaultHost: w.r.DefaultHost})
	switch {
	case err != nil:
		return nil, err
	case ref.Kind == Local, ref.Punycode != "":
		return nil, fmt.Errorf("%w: a header can't name this source: %s", ErrBadURL, ref)
	}
	key := ref.String() + " " + a.Skill
	have, ok := w.fetched[key]
	if !ok {
		have.f, have.err = w.r.Fetch(ctx, ref, a.Skill)
		w.fetched[key] = have
	}
	return have.f, have.err
}

// atoms are the skills that one needs: all that it names, and of alternatives of which
// none is there the first one that can be brought along.
func (w *needing) atoms(s *skill.Skill) []skill.Atom {
	if s == nil || s.Meta.Conditions == nil || s.Meta.Conditions.Always {
		return nil
	}
	var out []skill.Atom
	for _, name := range s.Meta.Conditions.RequiresSkills {
		out = append(out, skill.Atom{Skill: name})
	}
	return append(out, w.ofGroup(s.Meta.Conditions.Dependencies)...)
}

func (w *needing) ofGroup(g *skill.Group) (out []skill.Atom) {
	if g == nil {
		return nil
	}
	for _, a := range g.All {
		out = append(out, w.ofAtom(a)...)
	}
	for _, list := range g.Any {
		if slices.ContainsFunc(list, func(a skill.Atom) bool { return w.there(a) }) {
			continue
		}
		for _, a := range list {
			if some := w.ofAtom(a); slices.ContainsFunc(some, func(a skill.Atom) bool { return a.Source != "" }) {
				out = append(out, some...)
				break
			}
		}
	}
	return out
}

func (w *needing) ofAtom(a skill.Atom) []skill.Atom {
	switch {
	case a.Group != nil:
		return w.ofGroup(a.Group)
	case a.Skill != "":
		return []skill.Atom{a}
	}
	return nil
}

// there reports whether an atom holds already, with what goes in beside.
func (w *needing) there(a skill.Atom) bool {
	_, onTheWay := w.nodes[fold.Key(a.Skill)]
	_, locked := w.lock.Skills[a.Skill]
	return a.Skill != "" && (onTheWay || locked) || met(a, w.r.Env)
}

func met(a skill.Atom, env skill.Environment) bool {
	return skill.FindUnmet(&skill.Conditions{Dependencies: &skill.Group{All: []skill.Atom{a}}}, env) == nil
}

// NeedsOf are the names of the skills without which one does not work.
func NeedsOf(s *skill.Skill) (names []string) {
	if s == nil || s.Meta.Conditions == nil || s.Meta.Conditions.Always {
		return nil
	}
	names = slices.Clone(s.Meta.Conditions.RequiresSkills)
	var walk func(g *skill.Group)
	walk = func(g *skill.Group) {
		if g == nil {
			return
		}
		for _, a := range g.All {
			if a.Skill != "" {
				names = append(names, a.Skill)
			}
			walk(a.Group)
		}
	}
	walk(s.Meta.Conditions.Dependencies)
	slices.Sort(names)
	return slices.Compact(names)
}

// neededBy are the skills of a lock that need one, without those that go too.
func (l *Lock) neededBy(name string, going []string) (out []string) {
	for _, other := range l.Names() {
		if other != name && !slices.Contains(going, other) && slices.ContainsFunc(l.Skills[other].Needs, func(n string) bool { return fold.Key(n) == fold.Key(name) }) {
			out = append(out, other)
		}
	}
	return out
}
