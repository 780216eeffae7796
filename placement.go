package deft

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/deftskills/deft/agent"
	"github.com/deftskills/deft/command/sandbox"
	"github.com/deftskills/deft/skill"
	"github.com/deftskills/deft/toolset"
)

// Where the tools for files, shell and code of a session run. Any other word is a place
// that is not there: its tools fail, and nothing takes their place.
const (
	PlacementLocal   = "local"   // in the workspace; commands at the best level of Commands
	PlacementSandbox = "sandbox" // as local, but no command runs below sandbox.Files
	PlacementRemote  = "remote:" // before the name of one of Options.Backends
)

// Backend is another machine on which tools of a session run. It must be safe for
// concurrent use.
type Backend interface {
	// Tools are those that run there. Each takes the place of deft's own of its name; of
	// the others for files, shell and code none runs.
	Tools() []toolset.Tool
	// Able says why nothing runs there now; nil = it does. It is asked before each call.
	Able(ctx context.Context) error
}

// placementKey is the preference that holds the placement, by dialect.
func placementKey(d skill.Dialect) string {
	if d == skill.Minara {
		return "computer.backend"
	}
	return "placement"
}

// place is where the tools of one session run. It is read when the session opens and
// never changes.
type place struct {
	name    string
	backend Backend // of a remote one; nil = there is none of that name
	work    *work
}

// placeOf reads the placement of a session that opens.
func (e *Engine) placeOf(o SessionOptions, w *work) place {
	// A session that goes on stays where it was.
	p := place{name: cmp.Or(o.Transcript.Placement(), o.Placement), work: w}
	if p.name == "" && e.o.Preference != nil {
		p.name = e.o.Preference(placementKey(e.o.Dialect))
	}
	p.name = cmp.Or(p.name, PlacementLocal)
	if name, ok := strings.CutPrefix(p.name, PlacementRemote); ok {
		p.backend = e.o.Backends[name]
	}
	return p
}

// here reports whether the tools run on this machine.
func (p place) here() bool {
	return p.name == "" || p.name == PlacementLocal || p.name == PlacementSandbox
}

// tools puts the backend's tools in the place of deft's own.
func (p place) tools(own []toolset.Tool) []toolset.Tool {
	if p.backend == nil {
		return own
	}
	for _, theirs := range p.backend.Tools() {
		name := theirs.Spec().Name
		if i := slices.IndexFunc(own, func(t toolset.Tool) bool { return t.Spec().Name == name }); i >= 0 && agent.Placed(own[i].Spec()) {
			own[i] = theirs
		}
	}
	return own
}

// able says why a tool that runs at the placement cannot; nil = it can.
func (p place) able(ctx context.Context, s toolset.Spec) error {
	switch {
	case p.name == PlacementLocal:
		return nil
	case p.name == PlacementSandbox && s.Runs:
		return p.work.runs.Able(ctx, sandbox.Files)
	case p.name == PlacementSandbox:
		return nil
	case p.backend == nil:
		return fmt.Errorf("no backend of that name is known")
	}
	if !slices.ContainsFunc(p.backend.Tools(), func(t toolset.Tool) bool { return t.Spec().Name == s.Name }) {
		return fmt.Errorf("it has no %s", s.Name)
	}
	return p.backend.Able(ctx)
}

// least is the least level at which commands of the session run.
func (p place) least(host *sandbox.Level) *sandbox.Level {
	if least := sandbox.Files; p.name == PlacementSandbox && host != nil && *host < least {
		return &least
	}
	return host
}

// Placement returns where the session's tools for files, shell and code run: it was read
// when the session opened, and nothing changes it.
func (s *Session) Placement() string { return s.work.place.name }
