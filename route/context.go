package route

import (
	"fmt"
	"strings"

	"github.com/deftskills/deft/skill"
)

// Stage is one phase of work that a request belongs to.
type Stage uint8

// The stages, in the order in which people go through them.
const (
	Discover Stage = iota
	Evaluate
	Decide
	Manage
	stageCount
)

var stageNames = [stageCount]string{"discover", "evaluate", "decide", "manage"}

// String is the name that headers, flags and JSON use.
func (s Stage) String() string {
	if s < stageCount {
		return stageNames[s]
	}
	return fmt.Sprintf("stage(%d)", uint8(s))
}

// ParseStage returns the stage of that name.
func ParseStage(name string) (Stage, bool) {
	for s, n := range stageNames {
		if n == name {
			return Stage(s), true
		}
	}
	return 0, false
}

// StageSet is a set of stages; the zero value is empty.
type StageSet uint8

// Stages returns the set of the given stages.
func Stages(list ...Stage) StageSet {
	var set StageSet
	for _, s := range list {
		set |= 1 << s
	}
	return set
}

// Has reports whether s is in the set.
func (set StageSet) Has(s Stage) bool { return set&(1<<s) != 0 }

// weightiest is the order in which one stage is chosen from several: the one with
// the most at stake first.
var weightiest = [...]Stage{Decide, Manage, Evaluate, Discover}

// Primary returns the first of decide, manage, evaluate, discover in the set; false
// when the set is empty.
func (set StageSet) Primary() (Stage, bool) {
	for _, s := range weightiest {
		if set.Has(s) {
			return s, true
		}
	}
	return 0, false
}

// Names lists the stages of the set in the order discover, evaluate, decide, manage.
// It is never nil.
func (set StageSet) Names() []string {
	names := make([]string, 0, stageCount)
	for s := range stageCount {
		if set.Has(s) {
			names = append(names, s.String())
		}
	}
	return names
}

// String joins Names by commas.
func (set StageSet) String() string { return strings.Join(set.Names(), ",") }

// Asset is something the request is about, resolved by the host.
type Asset struct{ Symbol, Class string }

// Preload names a skill that will be active whatever its score, and who wants it:
// "user", "signal", "scenario" or "host".
type Preload struct{ Address, By string }

// Retrieved is one hit of a text search, best first. Score is an integer of any
// scale. Coverage (0 to 100) says how much of the request's heavy words the skill's
// text holds, Share (0 to 100) how near it comes to the best possible answer, and
// Evidence how much it holds at all: 100 for one word that no other skill has. All of
// them are fields of the same names of a search hit; pass every one.
type Retrieved struct {
	Address  string
	Score    int64
	Coverage int
	Share    int
	Evidence int
}

// TurnRoutingContext is everything that routing one turn depends on. Skills are
// named by registry.Record.Address.
type TurnRoutingContext struct {
	Message   string   // the person's text; never tool output
	Stages    StageSet // zero: inferred from Message
	Assets    []Asset
	Signal    *Signal
	Env       skill.Environment
	Preload   []Preload
	Loaded    []string // active now; marked, no points
	Retrieved []Retrieved
}
