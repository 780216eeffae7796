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
	Stages      StageSet         // of the turn
	Rank        int              // from 1, among all that are not removed; 0 when removed
	Of          int              // skills that are not removed
	Hidden      []HiddenEntry    // why it is removed
	Rows        []ExplanationRow // one a signal, with its points or why it has none
	Similar     []string         // close names of an unknown one
}

// ExplanationRow is one line of an Explanation: a rule, its points, and why.
type ExplanationRow struct {
	Signal string // conditions, negative, keywords, stage, asset, signal, co, retrieve, preload, priority
	Points int
	Hidden bool   // this rule removes the skill
	Detail string // the sentence in English
	// Code and Args are the sentence for those who have it in another language.
	Code string
	Args []any
}

// sentences are the details of the rows, by code.
var sentences = map[string]string{
	"asset_hit":       "%s",
	"asset_none":      "no class in common",
	"co_by":           "named by %s",
	"co_none":         "nobody with points names it",
	"condition":       "%s %s",
	"conditions_hold": "all hold",
	"context":         "%s",
	"crowded":         "they do not count: the library has too many keywords",
	"keywords_hit":    "%d of %d hit: %s",
	"keywords_near":   "none of %d hit; %q stands inside %q",
	"keywords_none":   "none of %d hit",
	"negative_hit":    "%q stands in the message",
	"negative_none":   "none of %d stands in the message",
	"preload_by":      "asked for by: %s",
	"priority_adds":   "%d, adds %d",
	"priority_ties":   "%d, breaks ties only",
	"removed":         "a removed skill gets no points",
	"retrieve_hit":    "rank %d, coverage %d, evidence %d",
	"retrieve_low":    "rank %d, coverage %d, evidence %d: not admitted",
	"retrieve_none":   "not among the text search's hits",
	"retrieve_off":    "switched off",
	"signal_none":     "no signal",
	"signal_source":   "source %s",
	"stage_only":      "the skill is for {%s}, the turn has {%s}",
	"stages":          "skill has {%s}, turn has {%s}",
}

func row(signal string, points int, code string, args ...any) ExplanationRow {
	return ExplanationRow{Signal: signal, Points: points, Code: code, Args: args, Detail: fmt.Sprintf(sentences[code], args...)}
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
		ex.Rows = append(ex.Rows, row("context", 0, "context", err.Error()))
		return ex
	}
	res := r.result(in, t)
	ex.Stages = res.Stages
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
	ex.Rows = r.hiding(s, t, ex.Hidden)
	if len(ex.Hidden) > 0 {
		ex.Rows = append(ex.Rows, row("points", 0, "removed"))
	} else {
		ex.Rows = append(ex.Rows, r.points(s, t.tally(at), in, t)...)
	}
	if r.opt.Fallback == Additive {
		ex.Rows = append(ex.Rows, row("priority", r.bonus(at), "priority_adds", s.entry.Priority, r.bonus(at)))
	} else {
		ex.Rows = append(ex.Rows, row("priority", 0, "priority_ties", s.entry.Priority))
	}
	return ex
}

// hiding is what may remove the skill.
func (r *Router) hiding(s *compiled, t *turn, hidden []HiddenEntry) []ExplanationRow {
	var conditions, others []ExplanationRow
	negative := row("negative", 0, "negative_none", len(s.negative))
	for _, h := range hidden {
		switch h.Code {
		case "negative_keyword":
			negative = row("negative", 0, "negative_hit", h.Detail)
			negative.Hidden = true
		case "stage":
			others = append(others, row("stage", 0, "stage_only", s.stages, t.stages))
		default:
			conditions = append(conditions, row("conditions", 0, "condition", h.Code, h.Detail))
		}
	}
	for _, list := range [][]ExplanationRow{conditions, others} {
		for i := range list {
			list[i].Hidden = true
		}
	}
	if len(conditions) == 0 {
		conditions = append(conditions, row("conditions", 0, "conditions_hold"))
	}
	return slices.Concat(conditions, []ExplanationRow{negative}, others)
}

// points is the points table for one skill.
func (r *Router) points(s *compiled, ta *tally, in TurnRoutingContext, t *turn) []ExplanationRow {
	rows := append(make([]ExplanationRow, 0, 9), r.keywordRow(s, ta, in),
		row("stage", worth(ta.stage, pointsStage), "stages", s.stages, t.stages))
	choose := func(signal string, yes bool, points int, code, otherwise string, arg any) {
		if yes {
			rows = append(rows, row(signal, points, code, arg))
		} else {
			rows = append(rows, row(signal, 0, otherwise))
		}
	}
	choose("asset", ta.asset != "", pointsAsset, "asset_hit", "asset_none", ta.asset)
	choose("signal", t.source != "", worth(ta.signal, pointsSignal), "signal_source", "signal_none", t.source)
	by := ""
	if ta.coBy > 0 {
		by = r.skills[ta.coBy-1].entry.ID
	}
	choose("co", ta.coBy > 0, pointsCoActivate, "co_by", "co_none", by)
	rows = append(rows, r.retrieveRow(s, ta, in))
	if ta.preload != "" {
		rows = append(rows, row("preload", 0, "preload_by", ta.preload))
	}
	return rows
}

func worth(yes bool, points int) int {
	if yes {
		return points
	}
	return 0
}

// keywordRow names what hit, or the nearest miss: a keyword inside a longer word.
func (r *Router) keywordRow(s *compiled, ta *tally, in TurnRoutingContext) ExplanationRow {
	n := len(s.keywords)
	if s.crowded {
		return row("keywords", 0, "crowded")
	}
	if ta.keywords > 0 {
		var hit []string
		for i := range min(ta.keywords, shownKeywords) {
			hit = append(hit, s.keywords[ta.first[i]].word)
		}
		return row("keywords", ta.keywordPoints(), "keywords_hit", ta.keywords, n, strings.Join(hit, ", "))
	}
	text := Normalise(clip(in.Message, r.opt.ScanBytes))
	for _, k := range s.keywords {
		if i := strings.Index(text, k.norm); i >= 0 {
			from, to := around(text, i, i+len(k.norm))
			return row("keywords", 0, "keywords_near", n, k.word, text[from:to])
		}
	}
	return row("keywords", 0, "keywords_none", n)
}

// around widens text[a:b] to the blanks beside it.
func around(text string, a, b int) (from, to int) {
	from, to = strings.LastIndexByte(text[:a], ' ')+1, len(text)
	if n := strings.IndexByte(text[b:], ' '); n >= 0 {
		to = b + n
	}
	return from, to
}

// retrieveRow says where the text search placed the skill.
func (r *Router) retrieveRow(s *compiled, ta *tally, in TurnRoutingContext) ExplanationRow {
	i := slices.IndexFunc(in.Retrieved, func(h Retrieved) bool { return h.Address == s.entry.Address })
	switch {
	case r.opt.NoRetrieve:
		return row("retrieve", 0, "retrieve_off")
	case i < 0:
		return row("retrieve", 0, "retrieve_none")
	}
	code, h := "retrieve_hit", in.Retrieved[i]
	if ta.retrieve == 0 {
		code = "retrieve_low"
	}
	return row("retrieve", int(ta.retrieve), code, i+1, h.Coverage, h.Evidence)
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
