package route

import (
	"bytes"
	"cmp"
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/deftskills/deft/registry"
	"github.com/deftskills/deft/skill"
	"github.com/deftskills/deft/source"
)

// Bounds of the automaton.
const (
	maxPatterns = 2_000_000
	maxKeywords = 256 // of one skill
	maxKeyword  = 128 // characters
)

// Router ranks the skills of one Snapshot. Its answers depend on nothing but the
// Snapshot, the options and the turn; it is safe for concurrent use.
type Router struct {
	opt       Options
	skills    []compiled
	order     []int32          // by priority, then id: the fallback order
	place     []int32          // of each skill in order
	byAddress map[string]int32 // of every skill
	byID      map[string]int32 // the first in id order
	guarded   []int32          // skills with conditions
	staged    []int32          // skills with stages

	machine  *automaton
	useAt    []int32 // where pattern p's uses begin; one more than patterns
	uses     []use
	triggers []StageSet // stages that pattern p shows
	patterns []string

	byStage  [stageCount][]int32
	byAsset  map[string][]int32
	bySource map[string][]int32

	scratch sync.Pool // *turn
	gates   gateCache
}

// compiled is one skill, ready to be ranked.
type compiled struct {
	entry    RoutedCatalogEntry
	rec      *registry.Record
	keywords []keyword // distinct after normalisation, as declared
	negative []keyword
	implicit bool // the keyword is the skill's own name
	crowded  bool // its keywords do not count: there are too many in all
	noted    []skill.Diagnostic
	stages   StageSet
	co       []int32 // targets
}

type keyword struct{ word, norm string }

// use says what a pattern means for one skill: its keyword of that place, or, with a
// place below 0, the negative keyword -1-place.
type use struct{ skill, place int32 }

// Compile prepares snap's winners for routing: what models may see, and what a
// condition hides. It never fails: bad data is a diagnostic, the rest routes.
func Compile(snap *registry.Snapshot, opt Options) (*Router, []skill.Diagnostic) {
	return compile(snap, opt, nil, maxPatterns)
}

// Next is Compile for a later Snapshot with the same options. When both have the same
// set of keywords the automaton of r serves again. r stays as it is.
func (r *Router) Next(snap *registry.Snapshot) (*Router, []skill.Diagnostic) {
	return compile(snap, r.opt, r, maxPatterns)
}

// Retrieves reports whether the hits of a text search count.
func (r *Router) Retrieves() bool { return !r.opt.NoRetrieve }

func compile(snap *registry.Snapshot, opt Options, former *Router, limit int) (*Router, []skill.Diagnostic) {
	c := compiler{r: &Router{opt: opt.withDefaults()}, ids: map[string]int32{}}
	c.r.scratch.New = func() any { return new(turn) }
	c.r.skills = make([]compiled, 0, len(snap.Winners))
	for _, rec := range snap.Winners {
		if routable(rec) {
			c.add(rec, former)
		}
	}
	c.fallback()
	c.coActivate()
	c.bound(limit)
	c.postings(former)
	return c.r, c.diags
}

// routable reports whether the router should know a record: what a model may start,
// and what it could if the conditions held.
func routable(rec *registry.Record) bool {
	return rec.ForModel() || rec.State == registry.Unmet && !rec.Skill.Meta.DisableModelInvocation && rec.Barred == ""
}

type compiler struct {
	r     *Router
	diags []skill.Diagnostic
	uses  []declared
	ids   map[string]int32
}

// declared is one use of one word, before words are numbered.
type declared struct {
	norm   string
	use    use
	stages StageSet
}

func (c *compiler) warn(rec *registry.Record, code, message, fix string) {
	c.diags = append(c.diags, skill.Diagnostic{
		Code: code, Level: skill.LevelWarning, File: rec.Location, Offset: -1,
		Message: "skill " + rec.Skill.Name + ": " + message, Fix: fix,
	})
}

func (c *compiler) add(rec *registry.Record, former *Router) {
	m := &rec.Skill.Meta
	at := int32(len(c.r.skills))
	s := compiled{rec: rec, entry: RoutedCatalogEntry{
		Address: rec.Address, ID: string(rec.Skill.ID()), Name: rec.Skill.Name, Description: rec.Skill.Description,
		Kind: kindOf(rec), Priority: int(m.Priority), Tools: len(m.ToolNames),
	}}
	routing := m.Routing
	if routing == nil {
		routing = &skill.Routing{}
	}
	if old := former.same(rec); old != nil {
		s.keywords, s.negative, s.implicit, s.noted = old.keywords, old.negative, old.implicit, old.noted
		c.diags = append(c.diags, s.noted...)
	} else {
		c.words(&s, routing)
	}
	c.index(&s, at, routing)
	c.r.skills = append(c.r.skills, s)
}

// same returns what r knows of the very same skill, nil if it has none.
func (r *Router) same(rec *registry.Record) *compiled {
	if r == nil {
		return nil
	}
	at, ok := r.byAddress[rec.Address]
	if !ok || r.skills[at].rec.Skill != rec.Skill || r.skills[at].crowded {
		return nil
	}
	return &r.skills[at]
}

// words reads the keywords of a skill.
func (c *compiler) words(s *compiled, routing *skill.Routing) {
	rec, before := s.rec, len(c.diags)
	s.keywords = c.keywords(rec, routing.Keywords)
	s.negative = c.keywords(rec, routing.NegativeKeywords)
	for _, k := range s.keywords {
		if slices.ContainsFunc(s.negative, func(n keyword) bool { return n.norm == k.norm }) {
			c.warn(rec, "keyword_negated", "keyword "+k.word+" is also a negative one", "remove one of them")
		}
	}
	if len(routing.Keywords) == 0 && !c.r.opt.NoImplicitKeywords {
		name := strings.ReplaceAll(rec.Skill.Name, "-", " ")
		if norm := Normalise(name); usable(norm) {
			s.keywords, s.implicit = []keyword{{name, norm}}, true
		}
	}
	s.noted = slices.Clone(c.diags[before:])
}

// kindOf tells shipped skills from others, whatever their files say of themselves.
func kindOf(rec *registry.Record) string {
	if rec.Source.Kind == source.Builtin {
		return "builtin"
	}
	return "external"
}

// index notes where a skill's facts are found from.
func (c *compiler) index(s *compiled, at int32, routing *skill.Routing) {
	for _, name := range routing.Stages {
		if st, ok := ParseStage(strings.ToLower(name)); ok && !s.stages.Has(st) {
			s.stages |= Stages(st)
			c.r.byStage[st] = append(c.r.byStage[st], at)
		}
	}
	if s.stages != 0 {
		c.r.staged = append(c.r.staged, at)
	}
	c.r.byAsset = post(c.r.byAsset, routing.AssetClasses, at, Normalise)
	sources := routing.SignalSources
	if len(sources) == 0 {
		sources = c.r.opt.SignalSources
	}
	c.r.bySource = post(c.r.bySource, sources, at, func(s string) string { return s })
	if m := &s.rec.Skill.Meta; m.Conditions != nil && !c.r.opt.NoConditions || s.rec.State == registry.Unmet {
		c.r.guarded = append(c.r.guarded, at)
	}
}

// post adds at to the list of each key, once.
func post(m map[string][]int32, keys []string, at int32, norm func(string) string) map[string][]int32 {
	for _, k := range keys {
		if m == nil {
			m = map[string][]int32{}
		}
		k = norm(k)
		if list := m[k]; len(list) == 0 || list[len(list)-1] != at {
			m[k] = append(list, at)
		}
	}
	return m
}

// keywords normalises a declared list; doubles count once.
func (c *compiler) keywords(rec *registry.Record, list []string) []keyword {
	if len(list) > maxKeywords {
		c.warn(rec, "value_range", "more than 256 keywords; the first 256 count", "shorten the list")
		list = list[:maxKeywords]
	}
	out := make([]keyword, 0, len(list))
	for _, w := range list {
		norm := Normalise(w)
		switch {
		case norm == "":
			c.warn(rec, "keyword_empty", "a keyword is empty", "remove the keyword")
		case !usable(norm) || len(norm) > 4*maxKeyword:
			c.warn(rec, "value_range", "a keyword is longer than 128 characters or not UTF-8", "shorten the keyword")
		case !slices.ContainsFunc(out, func(k keyword) bool { return k.norm == norm }):
			out = append(out, keyword{w, norm})
		}
	}
	return out
}

// usable refuses what can match nothing.
func usable(norm string) bool { return norm != "" && !strings.ContainsRune(norm, '\uFFFD') }

// fallback sorts the skills as they stand without points.
func (c *compiler) fallback() {
	r := c.r
	r.order = make([]int32, len(r.skills))
	for i := range r.order {
		r.order[i] = int32(i)
	}
	slices.SortFunc(r.order, func(a, b int32) int {
		x, y := &r.skills[a].entry, &r.skills[b].entry
		return cmp.Or(cmp.Compare(x.Priority, y.Priority), strings.Compare(x.ID, y.ID), strings.Compare(x.Address, y.Address))
	})
	r.place = make([]int32, len(r.skills))
	r.byAddress = make(map[string]int32, len(r.skills))
	for i, at := range r.order {
		r.place[at] = int32(i)
		r.byAddress[r.skills[at].entry.Address] = at
		if _, ok := c.ids[r.skills[at].entry.ID]; !ok {
			c.ids[r.skills[at].entry.ID] = at
		}
	}
	r.byID = c.ids
}

func (c *compiler) coActivate() {
	for at := range c.r.skills {
		s := &c.r.skills[at]
		if s.rec.Skill.Meta.Routing == nil {
			continue
		}
		for _, id := range s.rec.Skill.Meta.Routing.CoActivate {
			to, ok := c.ids[id]
			switch {
			case !ok:
				c.warn(s.rec, "co_activate_unknown", "co_activate names "+id+", which no skill has as its id", "mend the id")
			case to != int32(at) && !slices.Contains(s.co, to):
				s.co = append(s.co, to)
			}
		}
	}
}

// bound takes the keywords from the last skills in fallback order when all of them
// together are more than the automaton may hold.
func (c *compiler) bound(limit int) {
	n := 0
	for i := range c.r.skills {
		n += len(c.r.skills[i].keywords) + len(c.r.skills[i].negative)
	}
	if n <= limit {
		return
	}
	seen, crowded := map[string]bool{}, 0
	for _, at := range c.r.order {
		s := &c.r.skills[at]
		for _, k := range slices.Concat(s.keywords, s.negative) {
			if !seen[k.norm] && len(seen) == limit {
				s.crowded = true
				break
			}
			seen[k.norm] = true
		}
		if s.crowded {
			s.keywords, s.negative = nil, nil
			crowded++
		}
	}
	if crowded > 0 {
		c.diags = append(c.diags, skill.Diagnostic{
			Code: "route_limit_patterns", Level: skill.LevelWarning, Offset: -1,
			Message: fmt.Sprintf("more than %d distinct keywords: %d skills route without theirs", limit, crowded),
			Fix:     "use fewer keywords",
		})
	}
}

// declare lists every use of every word, by word.
func (c *compiler) declare() {
	n := 0
	for i := range c.r.skills {
		n += len(c.r.skills[i].keywords) + len(c.r.skills[i].negative)
	}
	c.uses = make([]declared, 0, n+256) // 256: the words of stages
	for at := range c.r.skills {
		s := &c.r.skills[at]
		for i, k := range s.keywords {
			c.uses = append(c.uses, declared{k.norm, use{int32(at), int32(i)}, 0})
		}
		for i, k := range s.negative {
			c.uses = append(c.uses, declared{k.norm, use{int32(at), -1 - int32(i)}, 0})
		}
	}
	for _, table := range c.r.opt.Triggers.langs {
		for st, words := range table.words {
			for _, w := range words {
				if norm := Normalise(w); usable(norm) {
					c.uses = append(c.uses, declared{norm, use{skill: -1}, Stages(Stage(st))})
				}
			}
		}
	}
	slices.SortFunc(c.uses, func(a, b declared) int {
		return cmp.Or(strings.Compare(a.norm, b.norm), cmp.Compare(a.use.skill, b.use.skill), cmp.Compare(b.use.place, a.use.place))
	})
}

// postings numbers the distinct words and builds the automaton over them.
func (c *compiler) postings(former *Router) {
	c.declare()
	r := c.r
	r.useAt = []int32{}
	for _, w := range c.uses {
		if n := len(r.patterns); n == 0 || r.patterns[n-1] != w.norm {
			r.patterns = append(r.patterns, w.norm)
			r.useAt = append(r.useAt, int32(len(r.uses)))
			r.triggers = append(r.triggers, 0)
		}
		if w.use.skill < 0 {
			r.triggers[len(r.triggers)-1] |= w.stages
		} else {
			r.uses = append(r.uses, w.use)
		}
	}
	r.useAt = append(r.useAt, int32(len(r.uses)))
	if former != nil && slices.Equal(former.patterns, r.patterns) {
		r.machine, r.patterns = former.machine, former.patterns
	} else {
		r.machine = newAutomaton(r.patterns)
	}
	c.uses = nil
}

// digestOf joins the digests of an environment's sets.
func digestOf(env skill.Environment) gateKey {
	k := gateKey{os: env.OS}
	for i, n := range []skill.Names{env.Vars, env.Tools, env.Toolsets, env.Bins, env.Servers, env.Skills} {
		if n != nil {
			k.sets[i] = n.Digest()
		}
	}
	return k
}

func compareHidden(a, b HiddenEntry) int {
	return cmp.Or(bytes.Compare([]byte(a.ID), []byte(b.ID)), strings.Compare(a.Address, b.Address))
}
