package agent

import (
	"cmp"
	"context"
	"log/slog"
	"slices"
	"time"

	"github.com/deftskills/deft/catalog"
	"github.com/deftskills/deft/session"
	"github.com/deftskills/deft/skill"
)

// Use is what one turn made of one skill: counts and sizes, no text and no argument.
type Use struct {
	Skill, Source string // its name, and the id of where it was found
	Digest        skill.Digest
	Agent         string // Deps.Kind
	At            time.Time

	Shown         int // 1 where its entry stood in the catalog of a turn that asked a model
	Loaded        int // times its text was loaded
	UserStarted   int // of these: a person asked for it
	ModelStarted  int // a model chose it
	Preloaded     int // a signal, a scenario or the host named it
	ResourceReads int // of its files
	ToolCalls     int // made while it was active
	ToolErrors    int // of these: failed
	Denied        int // were not allowed
	CatalogTokens int // of its entry, if Shown
	BodyTokens    int // of its text and files, each time they were loaded
	Took          time.Duration
}

// countTime is how long keeping the counts may hold up the end of a turn.
const countTime = 2 * time.Second

// uses are what a turn makes of skills, by address. They are counted once, when it is over.
type uses struct {
	by   map[string]*Use
	over bool
}

// counts reports whether somebody counts.
func (t *turn) counts() bool { return t.r.d.Uses != nil && !t.plans && t.turn != nil && !t.uses.over }

// use is what this turn makes of a skill.
func (t *turn) use(address, name, source string, digest skill.Digest) *Use {
	if t.uses.by == nil {
		t.uses.by = map[string]*Use{}
	}
	u := t.uses.by[address]
	if u == nil {
		u = &Use{Skill: name, Source: source, Digest: digest, Agent: t.r.d.Kind}
		t.uses.by[address] = u
	}
	return u
}

// usedLoad counts that the text of a skill was loaded.
func (t *turn) usedLoad(a session.Activation, by, text string) {
	if !t.counts() || a.Address == "" {
		return
	}
	u := t.use(a.Address, a.Name, a.SourceID, a.Digest)
	u.Loaded++
	switch by {
	case string(session.ActorUser):
		u.UserStarted++
	case string(session.ActorModel):
		u.ModelStarted++
	default:
		u.Preloaded++
	}
	u.BodyTokens += cmp.Or(a.Tokens, t.r.d.Counter.Count(text))
}

// usedCall counts a tool call for each skill that was active, and what it read of one.
func (t *turn) usedCall(active []session.Activation, p *pending, output string, elapsed time.Duration) {
	if !t.counts() {
		return
	}
	status := p.status()
	for _, a := range active {
		u := t.use(a.Address, a.Name, a.SourceID, a.Digest)
		u.ToolCalls++
		u.Took += elapsed
		switch status {
		case "denied":
			u.Denied++
		case "error", "timeout":
			u.ToolErrors++
		}
	}
	if of := p.result.Meta.ReadOf; of != "" && !p.result.IsError {
		for _, r := range t.turn.Snapshot().All {
			if r.Address == of {
				u := t.use(of, r.Skill.Name, r.Source.ID, r.Skill.Digest)
				u.ResourceReads++
				u.BodyTokens += t.r.d.Counter.Count(output)
				break
			}
		}
	}
}

// usedCatalog counts what the model was shown.
func (t *turn) usedCatalog() {
	if t.account.steps == 0 && !t.own {
		return // no request was answered
	}
	records := map[string]int{}
	all := t.turn.Snapshot().All
	for i, r := range all {
		records[r.Address] = i
	}
	for _, e := range t.plan.Catalog.Entries() {
		i, known := records[e.Address]
		if !known || !slices.Contains([]catalog.State{catalog.Full, catalog.Shortened, catalog.NameOnly}, e.State) {
			continue
		}
		u := t.use(e.Address, all[i].Skill.Name, all[i].Source.ID, all[i].Skill.Digest)
		u.Shown = 1
		if u.CatalogTokens = e.Tokens; t.plan.Catalog.Report.Unit != catalog.Tokens {
			u.CatalogTokens = (e.Tokens + 3) / 4 // as estimates of tokens go
		}
	}
}

// tally hands the counts over. What goes wrong there is logged, and is nothing to the turn.
func (t *turn) tally() {
	if !t.counts() {
		return
	}
	t.usedCatalog()
	t.uses.over = true
	if len(t.uses.by) == 0 {
		return
	}
	list := make([]Use, 0, len(t.uses.by))
	for _, u := range t.uses.by {
		u.At = t.r.d.Now()
		list = append(list, *u)
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(t.parent), countTime)
	defer cancel()
	if err := t.r.d.Uses(ctx, list); err != nil {
		t.log(slog.LevelDebug, "the use of skills was not counted", "store", "uncounted", "err", err)
	}
}
