package builtin

import (
	_ "embed"
	"encoding/json"
	"fmt"
	"io/fs"
	"slices"
	"strings"
)

//go:embed gates.json
var gatesJSON []byte

//go:embed excluded.json
var excludedJSON []byte

// gateTable says what each known skill needs of its host.
type gateTable struct {
	Skills   map[string]need    `json:"skills"`
	Profiles map[string]profile `json:"profiles"`
	Dropped  []string           `json:"dropped"` // ids of former skills that lists may still name
}

type need struct {
	Tools   []string `json:"tools"`   // all of them
	Any     []string `json:"any"`     // one of them
	MiniMax []string `json:"minimax"` // all of them too, in dialect minimax
	Feature string   `json:"feature"` // a switch of the host that owns the skill
	NotIn   []string `json:"not_in"`  // regions where it is not offered
}

type profile struct {
	Features []string `json:"features"` // switches that are on
	Off      []string `json:"off"`      // skills that this kind of host leaves out
}

var gates = parseGates()

func parseGates() gateTable {
	var t gateTable
	if err := json.Unmarshal(gatesJSON, &t); err != nil {
		panic("builtin: gates.json: " + err.Error()) // part of the program; a test reads it
	}
	return t
}

// Host is what a gate knows of the program that offers the skills.
type Host struct {
	Tools    []string // names of tools; nil = every tool is there
	Features []string // switches that are on, beside those of Profile
	Profile  string   // cli, desktop; "" = nothing is on or left out
	Region   string   // two letters; "" = not said
	MiniMax  bool     // dialect minimax: its skills are known too, and some need more
}

// Gate decides which shipped skills a host offers. It is a plain value, safe for
// concurrent use.
type Gate struct{ Host Host }

// Known reports whether an id belongs to a skill that ships or that a build leaves
// out: names of other skills are nobody's business here.
func Known(id string) bool {
	_, ok := gates.Skills[id]
	return ok
}

// Excluded returns the ids that a build leaves out. They are neither bundled nor
// seeded, and stay known.
func Excluded() []string {
	var ids []string
	if err := json.Unmarshal(excludedJSON, &ids); err != nil {
		panic("builtin: excluded.json: " + err.Error()) // part of the program; a test reads it
	}
	return ids
}

// ships reports whether a skill of that name is in this program.
func ships(id string) bool {
	_, err := fs.Stat(files, id)
	return err == nil
}

// Allows reports whether the host offers a shipped skill; an unknown id is not offered.
func (g Gate) Allows(id string) bool {
	code, _ := g.Blocks(id)
	return code == "" && Known(id)
}

// Blocks says what keeps a shipped skill from the host: "region" or "gate", and what
// it would need; "" for a skill that may be shown, and for a name that is not shipped.
func (g Gate) Blocks(id string) (code, needs string) {
	n, ok := gates.Skills[id]
	if !ok || !g.Host.MiniMax && !ships(id) {
		return "", ""
	}
	p := gates.Profiles[g.Host.Profile]
	switch {
	case g.Host.Region != "" && slices.Contains(n.NotIn, strings.ToLower(g.Host.Region)):
		return "region", "another region than " + g.Host.Region
	case slices.Contains(p.Off, id):
		return "gate", "another program than " + g.Host.Profile
	case n.Feature != "" && !slices.Contains(p.Features, n.Feature) && !slices.Contains(g.Host.Features, n.Feature):
		return "gate", "the feature " + n.Feature
	case g.Host.Tools == nil:
		return "", ""
	}
	all := n.Tools
	if g.Host.MiniMax {
		all = slices.Concat(n.Tools, n.MiniMax)
	}
	for _, tool := range all {
		if !slices.Contains(g.Host.Tools, tool) {
			return "gate", "the tool " + tool
		}
	}
	if len(n.Any) > 0 && !slices.ContainsFunc(n.Any, func(t string) bool { return slices.Contains(g.Host.Tools, t) }) {
		return "gate", "one of the tools " + strings.Join(n.Any, ", ")
	}
	return "", ""
}

// Selection reads an agent's list of shipped skills. nil means all, an empty list
// none; an id that nobody knows voids the list, one of a skill that is gone is dropped.
// A strict list is that of an agent's own file: there a skill that a feature of the
// host owns is an error.
func Selection(list []string, strict bool) ([]string, error) {
	if list == nil {
		return nil, nil
	}
	out := []string{}
	for _, id := range list {
		n, known := gates.Skills[id]
		switch {
		case slices.Contains(gates.Dropped, id):
		case !known:
			return nil, nil
		case strict && n.Feature != "":
			return nil, fmt.Errorf("skill %q: it follows the feature %s and cannot be selected", id, n.Feature)
		default:
			out = append(out, id)
		}
	}
	return out, nil
}
