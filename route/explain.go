package route

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/deftskills/deft/internal/fold"
)

// Explanation says how one skill fared in a turn.
type Explanation struct {
	Address, ID string
	Known       bool             // the router has a skill of that name
	Rank        int              // from 1, among all that are not removed; 0 when removed
	Of          int              // skills that are not removed
	Hidden      []HiddenEntry    // why it is removed
	Rows        []ExplanationRow // one a signal, with its points or why it has none
	Similar     []string         // close names of an unknown one
}

// ExplanationRow is one signal of the points table.
type ExplanationRow struct {
	Signal string // conditions, negative, keywords, stage, asset, co, signal, retrieve, priority
	Points int
	Detail string
}

func (r *Router) find(name string) (int32, bool) {
	if at, ok := r.byAddress[name]; ok {
		return at, true
	}
	if at, ok := r.byID[name]; ok {
		return at, true
	}
	norm := Normalise(name)
	for _, at := range r.order {
		if Normalise(r.skills[at].entry.Name) == norm {
			return at, true
		}
	}
	return 0, false
}

func (r *Router) explain(in TurnRoutingContext, name string) Explanation {
	at, ok := r.find(name)
	if !ok {
		return Explanation{Similar: r.similar(name)}
	}
	s := &r.skills[at]
	ex := Explanation{Address: s.entry.Address, ID: s.entry.ID, Known: true}
	t := new(turn)
	if err := r.tallyTurn(context.Background(), in, t); err != nil {
		ex.Rows = append(ex.Rows, ExplanationRow{"context", 0, err.Error()})
		return ex
	}
	res := r.result(in, t)
	for h := range res.Hidden() {
		if h.Address == ex.Address {
			ex.Hidden = append(ex.Hidden, h)
		}
	}
	for e := range res.All() {
		ex.Of++
		if e.Address == ex.Address {
			ex.Rank = ex.Of
		}
	}
	ta := *t.tally(at)
	ex.Rows = r.rows(at, &ta, in, t, ex.Hidden)
	return ex
}

// rows is the points table for one skill.
func (r *Router) rows(at int32, ta *tally, in TurnRoutingContext, t *turn, hidden []HiddenEntry) []ExplanationRow {
	s := &r.skills[at]
	rows := make([]ExplanationRow, 0, 9)
	row := func(signal string, points int, detail string) {
		rows = append(rows, ExplanationRow{signal, points, detail})
	}
	pass := "all hold"
	if len(hidden) > 0 {
		pass = "hidden: " + hidden[0].Code + " " + hidden[0].Detail
	}
	row("conditions", 0, pass)
	row("keywords", min(int(ta.keywords)*pointsKeyword, maxKeywordPoints), r.keywordDetail(s, ta, in))
	row("stage", worth(ta.stage, pointsStage), fmt.Sprintf("skill has {%s}, turn has {%s}", s.stages, t.stages))
	row("asset", worth(ta.asset != "", pointsAsset), or(ta.asset, "no class in common"))
	co := "nobody with points names it"
	if ta.coBy > 0 {
		co = "named by " + r.skills[ta.coBy-1].entry.ID
	}
	row("co", worth(ta.co, pointsCoActivate), co)
	row("signal", worth(ta.signal, pointsSignal), or(t.source, "no signal"))
	row("retrieve", int(ta.retrieve), r.retrieveDetail(s, ta, in))
	prio := "breaks ties only"
	if r.opt.Fallback == Additive {
		prio = fmt.Sprintf("adds %d", 100-s.entry.Priority)
	}
	row("priority", 0, fmt.Sprintf("%d, %s", s.entry.Priority, prio))
	return rows
}

func worth(yes bool, points int) int {
	if yes {
		return points
	}
	return 0
}

func or(s, otherwise string) string {
	if s == "" {
		return otherwise
	}
	return s
}

// keywordDetail names what hit, or the nearest miss: a keyword inside a longer word.
func (r *Router) keywordDetail(s *compiled, ta *tally, in TurnRoutingContext) string {
	if ta.keywords > 0 {
		var hit []string
		for i := range min(ta.keywords, shownKeywords) {
			hit = append(hit, s.keywords[ta.first[i]].word)
		}
		return fmt.Sprintf("%d of %d hit: %s", ta.keywords, len(s.keywords), strings.Join(hit, ", "))
	}
	detail := fmt.Sprintf("none of %d hit", len(s.keywords))
	text := Normalise(clip(in.Message, r.opt.ScanBytes))
	for _, k := range s.keywords {
		if i := strings.Index(text, k.norm); i >= 0 {
			from := strings.LastIndexByte(text[:i], ' ') + 1
			to := len(text)
			if n := strings.IndexByte(text[i+len(k.norm):], ' '); n >= 0 {
				to = i + len(k.norm) + n
			}
			return fmt.Sprintf("%s; %q stands inside %q", detail, k.word, text[from:to])
		}
	}
	return detail
}

// retrieveDetail says where the text search placed the skill.
func (r *Router) retrieveDetail(s *compiled, ta *tally, in TurnRoutingContext) string {
	i := slices.IndexFunc(in.Retrieved, func(h Retrieved) bool { return h.Address == s.entry.Address })
	switch {
	case r.opt.NoRetrieve:
		return "switched off"
	case i < 0:
		return "not among the text search's hits"
	case ta.retrieve == 0:
		return fmt.Sprintf("rank %d, coverage %d, evidence %d: not admitted", i+1, in.Retrieved[i].Coverage, in.Retrieved[i].Evidence)
	}
	return fmt.Sprintf("rank %d, coverage %d, evidence %d", i+1, in.Retrieved[i].Coverage, in.Retrieved[i].Evidence)
}

const (
	maxSimilar = 5
	maxTypo    = 2 // edits
)

// similar returns ids that hold the name, or that it holds, then the nearest one by
// spelling.
func (r *Router) similar(name string) []string {
	norm := Normalise(name)
	var out, ids []string
	for _, at := range r.order {
		id := r.skills[at].entry.ID
		ids = append(ids, id)
		if folded := Normalise(id); norm != "" && len(out) < maxSimilar && (strings.Contains(folded, norm) || strings.Contains(norm, folded)) {
			out = append(out, id)
		}
	}
	if near, ok := fold.Nearest(name, ids, maxTypo); ok && !slices.Contains(out, near) {
		out = append(out, near)
	}
	return out
}
