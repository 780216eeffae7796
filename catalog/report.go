package catalog

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/deftskills/deft/internal/limits"
	"github.com/deftskills/deft/internal/safetext"
	"github.com/deftskills/deft/registry"
	"github.com/deftskills/deft/skill"
)

// Report is the account of one render. The counts add up:
// Total = Shown + Omitted + the sum of Hidden + Shadowed, and
// Shown = Full + Shortened + NameOnly.
type Report struct {
	Dialect  skill.Dialect `json:"dialect"`
	Format   Format        `json:"format"`
	Mode     Mode          `json:"mode"`     // the one that was decided, never ModeAuto
	Counter  string        `json:"counter"`  // name of the token counter
	Fallback string        `json:"fallback"` // why a count is not exact; "" = all are
	Unit     Unit          `json:"unit"`

	Window      int `json:"window"`
	Budget      int `json:"budget"`       // in Unit; 0 = none
	Reserve     int `json:"reserve"`      // part of Budget kept free for the tail
	Used        int `json:"used"`         // of the stable block, in Unit
	Guidance    int `json:"guidance"`     // tokens, not part of the budget
	Tail        int `json:"tail"`         // of the tail, in Unit
	Changes     int `json:"changes"`      // tokens of what a Thread tells at the end about skills that changed
	Active      int `json:"active"`       // tokens of active skills, as given
	LeastBudget int `json:"least_budget"` // the smallest budget that gives a block

	Total     int            `json:"total"` // every definition of the snapshot
	Shown     int            `json:"shown"`
	Full      int            `json:"full"`
	Shortened int            `json:"shortened"`
	NameOnly  int            `json:"name_only"` // shown without the description that they have
	Omitted   int            `json:"omitted"`
	Shadowed  int            `json:"shadowed"`
	Hidden    map[string]int `json:"hidden"` // by reason

	SoftOverflow bool `json:"soft_overflow"` // descriptions were shortened or dropped
	HardOverflow bool `json:"hard_overflow"` // names were omitted
	CapTruncated bool `json:"cap_truncated"` // a description was longer than any catalog shows

	Diagnostics []skill.Diagnostic `json:"diagnostics"`
}

func (r Report) visible() int { return r.Shown + r.Omitted }

// State is what became of one skill in a render.
type State string

// The states of EntryReport.
const (
	Full      State = "full"
	Shortened State = "shortened"
	NameOnly  State = "name" // its description did not fit
	Omitted   State = "omitted"
	Hidden    State = "hidden"
	Shadowed  State = "shadowed"
)

// EntryReport is the account of one skill.
type EntryReport struct {
	Name          string `json:"name"` // the name as shown
	Address       string `json:"address"`
	Source        string `json:"source"` // the source's kind
	State         State  `json:"state"`
	Reason        string `json:"reason"`         // of a hidden one: the code, and what it names after a colon
	Tier          int    `json:"tier"`           // 1–4 as in Rank; 0 for those not visible
	Tokens        int    `json:"tokens"`         // of its lines as shown, in the budget's unit
	FullTokens    int    `json:"full_tokens"`    // of its lines in full
	ShownClusters int    `json:"shown_clusters"` // characters of the description as people count them
	Clusters      int    `json:"clusters"`
	ShownChars    int    `json:"shown_chars"` // code points of the description
	FullChars     int    `json:"full_chars"`
}

// Entries returns the account of every definition of the snapshot, sorted by name,
// then address. It is made on demand; c must come from Render.
func (c Catalog) Entries() []EntryReport {
	if c.plan == nil {
		return nil
	}
	p := c.plan
	out := make([]EntryReport, 0, c.Report.Total)
	lines := p.outcome.lines
	if lines == nil {
		lines = p.lines()
	}
	for i, v := range p.visible {
		out = append(out, p.account(i, v, lines[i]))
	}
	for _, h := range p.hidden {
		state := Hidden
		if h.reason == "" {
			state = Shadowed
		}
		out = append(out, EntryReport{
			Name: shownName(h.rec), Address: h.rec.Address, Source: string(h.rec.Source.Kind), State: state, Reason: h.reason,
		})
	}
	slices.SortStableFunc(out, func(a, b EntryReport) int {
		return cmp.Or(cmp.Compare(a.Name, b.Name), cmp.Compare(a.Address, b.Address))
	})
	return out
}

// report makes the account of a plan.
func (p *plan) report(in Input, lines []*line) Report {
	o := p.o
	r := Report{
		Dialect: o.dialect, Format: o.format, Mode: o.mode, Counter: o.counter, Unit: o.unit,
		Window: in.Budget.Window, Budget: o.room.limit, Reserve: o.room.reserve, LeastBudget: p.outcome.least,
		Hidden: make(map[string]int), Total: len(p.visible) + len(p.hidden),
	}
	if o.mode == ModeStable {
		r.LeastBudget = leastBudget(p.outcome.least, o.room.reserve > 0)
	}
	if len(p.visible) > 0 && p.outcome.fits {
		r.Used = p.outcome.used
	}
	for i, l := range lines {
		p.count(&r, p.outcome.stateOf(i, l))
		r.CapTruncated = r.CapTruncated || l.capped
		if l.inexact {
			r.Fallback = "bytes"
		}
		if l.removed > 0 {
			r.Diagnostics = append(r.Diagnostics, removedDiagnostic(p.visible[i], l.removed))
		}
	}
	for _, h := range p.hidden {
		if h.reason == "" {
			r.Shadowed++
			continue
		}
		code, _, _ := strings.Cut(h.reason, ":")
		r.Hidden[code]++
		if code == "name_too_long" {
			r.Diagnostics = append(r.Diagnostics, nameDiagnostic(h.rec))
		}
	}
	p.overflows(&r)
	return r
}

// overflows says what did not fit.
func (p *plan) overflows(r *Report) {
	if r.SoftOverflow, r.HardOverflow = p.outcome.soft, p.outcome.hard; !r.SoftOverflow && !r.HardOverflow {
		r.SoftOverflow, r.HardOverflow = r.Shortened+r.NameOnly > 0, r.Omitted > 0 && r.Mode == ModeStable
	}
	switch {
	case len(p.visible) > 0 && !p.outcome.fits:
		r.Diagnostics = append(r.Diagnostics, tooSmall(*r))
	case p.outcome.over:
		r.Diagnostics = append(r.Diagnostics, skill.Diagnostic{
			Code: "names_over_budget", Level: skill.LevelWarning, Offset: -1,
			Message: fmt.Sprintf("the names alone take %d of %d %s: all of them are shown", r.Used, r.Budget, r.Unit),
			Fix:     "raise the budget, or switch skills off",
		})
	case r.Omitted > 0 && r.Dialect == skill.Codex:
		r.Diagnostics = append(r.Diagnostics, skill.Diagnostic{
			Code: "skills_omitted", Level: skill.LevelWarning, Offset: -1,
			Message: fmt.Sprintf("%d of %d skills are listed: the others do not fit", r.Shown, r.visible()),
			Fix:     "raise the budget, or switch skills off",
		})
	}
}

func (p *plan) count(r *Report, s State) {
	switch s {
	case Omitted:
		r.Omitted++
		return
	case Full:
		r.Full++
	case Shortened:
		r.Shortened++
	case NameOnly:
		r.NameOnly++
	}
	r.Shown++
}

// account makes the report of visible entry i.
func (p *plan) account(i int, rec *registry.Record, l *line) EntryReport {
	out := p.outcome
	e := EntryReport{
		Name: shownName(rec), Address: rec.Address, Source: string(rec.Source.Kind), State: out.stateOf(i, l), Tier: 4,
		FullTokens: l.cost[levelFull], Clusters: l.clusters, FullChars: runes(l.desc),
	}
	if p.tiers != nil {
		e.Tier = int(p.tiers[i])
	}
	if out.levelOf(i) == levelOmitted {
		return e
	}
	e.ShownChars = runes(l.desc[:out.end(i, l)])
	switch {
	case out.cuts != nil:
		e.Tokens, _ = p.o.measure(string(p.o.shape.line(nil, l, out.text(i, l))))
		e.ShownClusters = safetext.Clusters(l.desc[:out.end(i, l)])
	case i == out.edge:
		e.Tokens, e.ShownClusters = out.edgeCost, out.edgeShown
	default:
		e.Tokens, e.ShownClusters = l.cost[out.levelOf(i)], l.shown[out.levelOf(i)]
	}
	return e
}

func nameDiagnostic(r *registry.Record) skill.Diagnostic {
	return skill.Diagnostic{
		Code: "catalog_name_too_long", Level: skill.LevelWarning, File: locationOf(r), Offset: -1,
		Message: fmt.Sprintf("name has %d code points, a catalog shows names of at most %d", runes(r.Address), limits.CatalogName),
		Fix:     "shorten the name; the skill still loads by it",
	}
}

func tooSmall(r Report) skill.Diagnostic {
	return skill.Diagnostic{
		Code: "catalog_budget_too_small", Level: skill.LevelError, Offset: -1,
		Message: fmt.Sprintf("catalog budget of %d %s has no room for any block, the least is %d", r.Budget, r.Unit, r.LeastBudget),
		Fix:     fmt.Sprintf("raise the budget to %d or more", r.LeastBudget),
	}
}

func plural(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return strconv.Itoa(n) + " " + noun + "s"
}
