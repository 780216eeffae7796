package evals

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
)

// fall is how much a figure may lose against a baseline.
const fall = 0.02

// Baseline is what an earlier run found, sorted.
type Baseline struct {
	Version int             `json:"version"`
	Mode    string          `json:"mode"`
	K       int             `json:"k"`
	Skills  []SkillTriggers `json:"skills"`
	Queries []BaselineQuery `json:"queries"`
}

// BaselineQuery is one case of an earlier run.
type BaselineQuery struct {
	Skill     string `json:"skill"`
	Query     string `json:"query"`
	Triggered bool   `json:"triggered"`
}

func (q BaselineQuery) compare(other BaselineQuery) int {
	return cmp.Or(strings.Compare(q.Skill, other.Skill), strings.Compare(q.Query, other.Query))
}

// Baseline returns what is worth keeping of a report.
func (rep TriggerReport) Baseline() Baseline {
	b := Baseline{Version: 1, Mode: rep.Mode, K: rep.K, Skills: slices.Clone(rep.Skills), Queries: []BaselineQuery{}}
	for _, out := range rep.Outcomes {
		b.Queries = append(b.Queries, BaselineQuery{out.Skill, out.Query, out.Triggered})
	}
	slices.SortFunc(b.Skills, func(x, y SkillTriggers) int { return strings.Compare(x.Name, y.Name) })
	slices.SortStableFunc(b.Queries, BaselineQuery.compare)
	return b
}

// Bytes is the baseline as a file: equal runs give equal bytes.
func (b Baseline) Bytes() []byte {
	var buf bytes.Buffer
	enc := json.NewEncoder(&buf)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", " ")
	if err := enc.Encode(b); err != nil {
		panic(err) // plain values
	}
	return buf.Bytes()
}

// ParseBaseline reads what Bytes wrote.
func ParseBaseline(src []byte) (b Baseline, err error) {
	if err := json.Unmarshal(src, &b); err != nil {
		return b, fmt.Errorf("baseline: %w", err)
	}
	if b.Version != 1 {
		return b, fmt.Errorf("baseline has version %d, want 1", b.Version)
	}
	return b, nil
}

// Fall is a figure that lost more than 0.02.
type Fall struct {
	Skill  string  `json:"skill"`
	Figure string  `json:"figure"`
	Was    float64 `json:"was"`
	Is     float64 `json:"is"`
}

// Drift is how a report differs from a baseline.
type Drift struct {
	Fell    []Fall          `json:"fell"`
	Changed []BaselineQuery `json:"changed"` // queries that come out otherwise, as they do now
}

// Against compares the report with a baseline. A figure that either of them does not
// have cannot fall.
func (rep TriggerReport) Against(b Baseline) Drift {
	d := Drift{Fell: []Fall{}, Changed: []BaselineQuery{}}
	for _, now := range rep.Skills {
		i := slices.IndexFunc(b.Skills, func(s SkillTriggers) bool { return s.Name == now.Name })
		if i < 0 {
			continue
		}
		was := b.Skills[i]
		for _, f := range []struct {
			name    string
			was, is *float64
		}{{"precision", was.Precision, now.Precision}, {"recall", was.Recall, now.Recall}, {"f1", was.F1, now.F1}} {
			if f.was != nil && f.is != nil && *f.was-*f.is > fall+1e-9 {
				d.Fell = append(d.Fell, Fall{now.Name, f.name, *f.was, *f.is})
			}
		}
	}
	was := map[BaselineQuery]bool{}
	for _, q := range b.Queries {
		was[q] = true
	}
	for _, q := range rep.Baseline().Queries {
		if before := (BaselineQuery{q.Skill, q.Query, !q.Triggered}); was[before] && !was[q] {
			d.Changed = append(d.Changed, q)
		}
	}
	return d
}
