package registry

import (
	"crypto/sha256"
	"path"
	"slices"
	"sort"
	"strings"
	"sync"

	"github.com/deftskills/deft/internal/fold"
	"github.com/deftskills/deft/source"
)

// column is the records sorted by one of their texts, when the first lookup needs it. A
// sorted slice costs eight bytes a record where a map costs five times that.
type column struct {
	of   func(*Record) string
	keep func(*Record) bool // nil = every record
	from *index

	once sync.Once
	rows []*Record
}

// sorted returns the records by their text, the strongest first where it is equal.
func (c *column) sorted() []*Record {
	c.once.Do(c.fill)
	return c.rows
}

func (c *column) fill() {
	if c.from == nil {
		return
	}
	all := c.from.strongest()
	c.rows = make([]*Record, 0, len(all))
	for _, r := range all {
		if c.keep == nil || c.keep(r) {
			c.rows = append(c.rows, r)
		}
	}
	slices.SortStableFunc(c.rows, func(l, r *Record) int { return strings.Compare(c.of(l), c.of(r)) })
}

// find returns the records whose text is want, the usable ones first.
func (c *column) find(want string) []*Record {
	rows := c.sorted()
	i := sort.Search(len(rows), func(i int) bool { return c.of(rows[i]) >= want })
	j := i
	for j < len(rows) && c.of(rows[j]) == want {
		j++
	}
	return rows[i:j]
}

// index answers Lookup. Nothing in it is made before it is needed: a program that lists
// skills looks none up.
type index struct {
	name, key, handle, id, dirName, address, dir, location column

	inner     column     // paths of skills that do not lie on the disk
	locations *locations // that the registry was given

	all       []*Record
	policy    *policy
	ambiguous map[string]*AmbiguousError // by name
	workspace string

	ranked  sync.Once
	ranking []*Record // all, the strongest first
	near    spelling  // of the winners, for close names
	named   sync.Once
	aliases []alias // sorted by path
}

type alias struct {
	path string
	r    *Record
}

func nameOf(r *Record) string     { return r.Skill.Name }
func keyOf(r *Record) string      { return r.Skill.Key }
func handleOf(r *Record) string   { return r.Skill.Handle }
func idOf(r *Record) string       { return string(r.Skill.ID()) }
func addressOf(r *Record) string  { return r.Address }
func dirOf(r *Record) string      { return r.Dir }
func pathOf(r *Record) string     { return r.Path() }
func locationOf(r *Record) string { return r.Location }

func dirNameOf(r *Record) string {
	if r.Dir == "" {
		return path.Base(path.Dir(r.Location))
	}
	return r.Dir[strings.LastIndexAny(r.Dir, `/\`)+1:]
}

// build says what the columns are of. Names that a plugin prefixes are found by their
// address and, where nobody else has it, by their bare name.
func (x *index) build(a *arbiter) {
	p := a.r.policy // a copy: the registry's may learn of new sources before the first lookup
	x.all, x.policy = a.out.All, &p
	for c, of := range map[*column]func(*Record) string{
		&x.name: nameOf, &x.key: keyOf, &x.handle: handleOf, &x.id: idOf, &x.dirName: dirNameOf,
		&x.address: addressOf, &x.dir: dirOf, &x.location: locationOf, &x.inner: pathOf,
	} {
		c.of, c.from = of, x
	}
	x.id.keep = func(r *Record) bool { return r.Skill.Meta.ID != "" }
	x.dirName.keep = func(r *Record) bool { return dirNameOf(r) != r.Skill.Name }
	x.address.keep = func(r *Record) bool { return r.Address != r.Skill.Name }
	x.dir.keep = func(r *Record) bool { return r.Dir != "" }
	x.inner.keep = func(r *Record) bool { return r.Dir == "" }
}

// strongest returns the records in the order in which one name finds them.
func (x *index) strongest() []*Record {
	x.ranked.Do(func() {
		x.ranking = slices.Clone(x.all)
		slices.SortFunc(x.ranking, x.policy.stronger)
	})
	return x.ranking
}

// stronger orders records that one name finds: usable ones first, then by the policy.
func (p *policy) stronger(l, r *Record) int {
	if c := p.standing(l) - p.standing(r); c != 0 {
		return c
	}
	order, _ := p.compare(l, r)
	return order
}

func (p *policy) standing(r *Record) int {
	switch {
	case r.State == Shadowed:
		return 2
	case r.State == Disabled && !p.switchesLate(): // there it keeps its name
		return 3
	case r.State == Untrusted:
		return 4
	case r.State == Invalid:
		return 5
	case r.Source.Namespace != "" || r.Address != r.Skill.Name:
		return 1
	}
	return 0
}

// byAlias returns the other paths of records, sorted.
func (x *index) byAlias() []alias {
	x.named.Do(func() {
		for _, r := range x.all {
			for _, p := range r.Aliases {
				x.aliases = append(x.aliases, alias{p, r})
			}
		}
		slices.SortStableFunc(x.aliases, func(l, r alias) int { return strings.Compare(l.path, r.path) })
	})
	return x.aliases
}

// index is never nil; that of a Snapshot that no registry made knows nothing.
func (s *Snapshot) index() *index {
	if s.lookup == nil {
		return new(index)
	}
	return s.lookup
}

// Lookup is the one rule of how a name finds a skill: exact name, key, handle, skill
// id, bare name of a plugin's skill, address, directory name, name@kind,
// name@source-id, name@path-prefix, location or path. A bare name means a plugin's
// skill only where nobody else may use the name and one plugin has it. A name finds the record that has it; only where no usable record
// does, one that is shadowed, withheld or invalid: judge State, or use
// LookupForModel. The error is *UnknownError or *AmbiguousError. Selectors are
// compared as text and never opened.
func (s *Snapshot) Lookup(selector string) (*Record, error) {
	if p := s.index().policy; p != nil && len(p.Lookup) > 0 {
		return s.lookupAs(p, selector)
	}
	own := unprefixed(s.index().name.find(selector))
	if own != nil && usable(own) {
		return own, nil
	}
	if selector == "" || hostile(selector) {
		if own != nil {
			return own, nil
		}
		return s.lastly(selector)
	}
	if own == nil {
		var err error
		if own, err = s.typed(selector); err != nil {
			return nil, err
		}
	}
	if own == nil || !usable(own) {
		if r, err := s.ofPlugin(selector, usable); r != nil || err != nil {
			return r, err
		}
	}
	if own != nil {
		return own, nil
	}
	for _, c := range [...]*column{&s.index().address, &s.index().dirName} {
		switch found := usableFirst(c.find(selector)); {
		case len(found) == 1:
			return found[0], nil
		case len(found) > 1:
			return nil, &AmbiguousError{Selector: selector, Candidates: addressesOf(found)}
		}
	}
	if r, err := s.lookupAt(selector); r != nil || err != nil {
		return r, err
	}
	if r := s.lookupPath(selector); r != nil {
		return r, nil
	}
	if r, err := s.ofPlugin(selector, unusable); r != nil || err != nil {
		return r, err
	}
	return s.lastly(selector)
}

// lastly finds a selector that names nothing by itself among the locations that the
// registry was given.
func (s *Snapshot) lastly(selector string) (*Record, error) {
	if r := s.aliased(selector); r != nil {
		return r, nil
	}
	return nil, s.unknown(selector)
}

// LookupForModel is Lookup on behalf of a model: what it may not start is unknown to
// it, and no error names such a skill.
func (s *Snapshot) LookupForModel(selector string) (*Record, error) {
	r, err := s.Lookup(selector)
	if r != nil && r.ForModel() {
		return r, nil
	}
	if amb, ok := err.(*AmbiguousError); ok {
		if amb.Code != "" || amb.Message != "" {
			return nil, err // the dialect says it to everybody
		}
		var visible []*Record
		for _, a := range amb.Candidates {
			if c := s.byAddress(a); c != nil && c.ForModel() {
				visible = append(visible, c)
			}
		}
		switch len(visible) {
		case 0:
		case 1:
			return visible[0], nil
		default:
			return nil, &AmbiguousError{Selector: selector, Candidates: addressesOf(visible)}
		}
	}
	if unknown, ok := err.(*UnknownError); ok && len(unknown.Origins) == 0 {
		return nil, unknown // it names only what a model may see
	}
	return nil, s.unknown(selector)
}

// byAddress returns the record of an exact address, or nil.
func (s *Snapshot) byAddress(address string) *Record {
	if r := first(s.index().address.find(address)); r != nil {
		return r
	}
	return first(s.index().name.find(address))
}

func first(rs []*Record) *Record {
	if len(rs) == 0 {
		return nil
	}
	return rs[0]
}

// usableFirst drops the records that are not usable where some are.
func usableFirst(rs []*Record) []*Record {
	n := 0
	for n < len(rs) && usable(rs[n]) {
		n++
	}
	if n > 0 {
		return rs[:n]
	}
	return rs[:min(len(rs), 1)]
}

func addressesOf(rs []*Record) []string {
	var out []string
	for _, r := range rs {
		out = append(out, r.Address)
	}
	slices.Sort(out)
	return out
}

// hostile selectors name nothing: they climb, cut strings short or use a scheme that
// no location has.
func hostile(sel string) bool {
	if strings.IndexByte(sel, 0) >= 0 {
		return true
	}
	slashed := strings.ReplaceAll(sel, `\`, "/")
	if slashed == ".." || strings.HasPrefix(slashed, "../") || strings.HasSuffix(slashed, "/..") || strings.Contains(slashed, "/../") {
		return true
	}
	scheme, _, ok := strings.Cut(sel, "://")
	return ok && scheme != "file" && scheme != "files" && scheme != "version" && !slices.Contains(source.Kinds(), source.Kind(scheme))
}

// lookupAt resolves name@origin: a kind, a source id, its part before the colon, or
// the beginning of a path.
func (s *Snapshot) lookupAt(sel string) (*Record, error) {
	at := strings.LastIndexByte(sel, '@')
	if at <= 0 {
		return nil, nil
	}
	name, origin := sel[:at], strings.ReplaceAll(sel[at+1:], `\`, "/")
	named := s.index().key.find(fold.Key(name))
	if len(named) == 0 {
		named = s.index().handle.find(fold.Handle(name))
	}
	if len(named) == 0 {
		return nil, nil
	}
	for _, fits := range [...]func(*Record) bool{
		func(r *Record) bool { return string(r.Source.Kind) == origin },
		func(r *Record) bool { return r.Source.ID == origin },
		func(r *Record) bool { return strings.HasPrefix(r.Source.ID, origin+":") },
		func(r *Record) bool { return s.below(r.Dir, origin) },
	} {
		if i := slices.IndexFunc(named, fits); i >= 0 && origin != "" {
			return named[i], nil
		}
	}
	e := &UnknownError{Selector: sel}
	for _, r := range named {
		if !withheld(r.Source.Trust) && !slices.Contains(e.Origins, r.Source.ID) {
			e.Origins = append(e.Origins, r.Source.ID)
		}
	}
	return nil, e
}

// below says whether a directory lies at or below a path, absolute or relative to
// the workspace.
func (s *Snapshot) below(dir, prefix string) bool {
	if prefix = s.index().path(prefix); prefix == "" || dir == "" {
		return false
	}
	dir = strings.ReplaceAll(dir, `\`, "/")
	return dir == prefix || strings.HasPrefix(dir, strings.TrimSuffix(prefix, "/")+"/")
}

// path returns the absolute, slash-separated form of a path selector, "" if it has none.
func (x *index) path(sel string) string {
	sel = strings.ReplaceAll(sel, `\`, "/")
	if !path.IsAbs(sel) && !(len(sel) > 2 && sel[1] == ':' && sel[2] == '/') {
		if x.workspace == "" {
			return ""
		}
		sel = strings.ReplaceAll(x.workspace, `\`, "/") + "/" + sel
	}
	return path.Clean(sel)
}

func (s *Snapshot) lookupPath(sel string) *Record {
	if strings.Contains(sel, "://") {
		loc := strings.TrimSuffix(sel, "/")
		for _, l := range [...]string{loc, loc + "/" + source.SkillFile} {
			if r := first(s.index().location.find(l)); r != nil {
				return r
			}
		}
		return nil
	}
	if !strings.ContainsAny(sel, `/\`) && sel != "." {
		return nil
	}
	if r := s.innerPath(path.Clean(strings.ReplaceAll(sel, `\\`, "/"))); r != nil {
		return r
	}
	p := s.index().path(sel)
	if p == "" {
		return nil
	}
	for _, dir := range [...]string{p, path.Dir(p)} {
		if dir != p && !strings.EqualFold(path.Base(p), source.SkillFile) {
			break
		}
		if r := first(s.index().dir.find(dir)); r != nil {
			return r
		}
		al := s.index().byAlias()
		i := sort.Search(len(al), func(i int) bool { return al[i].path >= dir })
		if i < len(al) && al[i].path == dir {
			return al[i].r
		}
	}
	return nil
}

// innerPath finds a skill that does not lie on the disk by its path, with or without
// the skill file behind it.
func (s *Snapshot) innerPath(p string) *Record {
	if r := first(s.index().inner.find(p)); r != nil {
		return r
	}
	if !strings.EqualFold(path.Base(p), source.SkillFile) {
		return nil
	}
	return first(s.index().inner.find(path.Dir(p)))
}

// nameSet is the set of the keys of some records, for conditions. It is sorted when the
// first condition asks.
type nameSet struct {
	of       []*Record
	once     sync.Once
	keys     []string
	versions map[string]string // by key, of those that have one
}

func (s *nameSet) sorted() []string {
	s.once.Do(func() {
		for _, r := range s.of {
			s.keys = append(s.keys, r.Skill.Key)
			if v := r.Skill.Meta.Version; v != "" {
				if s.versions == nil {
					s.versions = map[string]string{}
				}
				s.versions[r.Skill.Key] = v
			}
		}
		slices.Sort(s.keys)
		s.keys = slices.Compact(s.keys)
	})
	return s.keys
}

// Has reports whether a name is in the set, however it is spelt.
func (s *nameSet) Has(name string) bool {
	_, ok := slices.BinarySearch(s.sorted(), fold.Key(name))
	return ok
}

// Version implements skill.VersionNames: a skill without a version has "".
func (s *nameSet) Version(name string) (string, bool) {
	there := s.Has(name) // fills versions
	return s.versions[fold.Key(name)], there
}

// Digest identifies the set.
func (s *nameSet) Digest() [32]byte {
	h := sha256.New()
	for _, n := range s.sorted() {
		h.Write([]byte(n + "\x00" + s.versions[n] + "\x00"))
	}
	return [32]byte(h.Sum(nil))
}
