package agent

import "github.com/deftskills/deft/toolset"

// CodePlacement marks a call of a tool that has to run where nothing runs now.
const CodePlacement = "placement_unavailable"

// Placed reports whether the placement of a session is where the tool runs: it is one for
// files, for a shell, for code, or it starts programs.
func Placed(s toolset.Spec) bool {
	switch s.Toolset {
	case "files", "shell", "code":
		return true
	}
	return s.Runs
}

// displaced refuses a call of a tool that runs at the session's placement while nothing
// runs there. No other place takes over.
func (t *turn) displaced(p *pending) bool {
	if p.tool == nil || t.r.d.Placed == nil || !Placed(p.spec) {
		return false
	}
	err := t.r.d.Placed(t.ctx, p.spec)
	if err == nil {
		return false
	}
	p.settle(CodePlacement, "Not run: it runs at "+t.r.d.Placement+", and that is not there: "+err.Error()+".", "Go on without it; it runs nowhere else.")
	p.result.Retry = toolset.RetryFinal
	return true
}
