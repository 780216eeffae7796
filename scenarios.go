package deft

import (
	"context"
	"path/filepath"
	"slices"
	"strings"

	"github.com/deftskills/deft/agent"
	"github.com/deftskills/deft/agent/model"
	"github.com/deftskills/deft/route"
	"github.com/deftskills/deft/skill"
)

// ScenarioOptions says which scenarios count. The zero value has none.
type ScenarioOptions struct {
	// On reads *.yaml of Dirs, and of .deft/scenarios of the workspace where its folder is
	// trusted. Of several with one id the first counts.
	On   bool
	Dirs []string // absolute
	// Ask lets a model choose where no keyword of a scenario is in the request: Model, nil =
	// the session's. It has two seconds; a failure means that none applies. An answer holds
	// for an hour for the same words.
	Ask   bool
	Model model.Model
}

// scenarioFolder holds those of a workspace.
const scenarioFolder = ".deft/scenarios"

// Scenarios returns the scenarios that count, with what is wrong with their files. A file
// that cannot be read, or whose id is taken, is a finding and no scenario.
func (e *Engine) Scenarios(ctx context.Context) ([]route.Scenario, []skill.Diagnostic) {
	if !e.o.Scenarios.On {
		return nil, nil
	}
	var all []route.Scenario
	var diags []skill.Diagnostic
	folder := func(base, dir string) {
		more := definitions(base, dir, "scenario_invalid", isScenario, func(path string, src []byte, err error) {
			if err != nil {
				diags = append(diags, skill.Finding("scenario_invalid", path, "scenario %s: %v", filepath.Base(path), err))
				return
			}
			s, bad := route.ParseScenario(src, path)
			if diags = append(diags, bad...); s == nil {
				return
			}
			if i := slices.IndexFunc(all, func(o route.Scenario) bool { return o.ID == s.ID }); i >= 0 {
				diags = append(diags, skill.Finding("scenario_invalid", path, "scenario %q: the id is taken by %s", s.ID, all[i].Path))
				return
			}
			all = append(all, *s)
		})
		diags = append(diags, more...)
	}
	for _, dir := range e.o.Scenarios.Dirs {
		folder(filepath.Dir(dir), filepath.Base(dir))
	}
	if e.trustsWorkspace(ctx) {
		folder(e.o.Workspace, scenarioFolder)
	}
	return all, diags
}

func isScenario(file string) bool {
	ext := strings.ToLower(filepath.Ext(file))
	return ext == ".yaml" || ext == ".yml"
}

// newScenarios reads the scenarios for a session that opens; nil = there are none.
func (e *Engine) newScenarios(ctx context.Context, o SessionOptions, up *upper) func(context.Context, string) []route.Scenario {
	if up != nil {
		return nil
	}
	list, _ := e.Scenarios(ctx)
	if len(list) == 0 {
		return nil
	}
	var ask model.Model
	if e.o.Scenarios.Ask {
		if ask = e.o.Scenarios.Model; ask == nil {
			ask = o.Model
		}
	}
	return agent.ScenariosOf(route.CompileScenarios(list), ask, e.o.Clock)
}
