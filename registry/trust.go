package registry

import (
	"context"

	"github.com/deftskills/deft/skill"
	"github.com/deftskills/deft/source"
)

// ProjectTrust is the folder trust of a run that saves nothing: what becomes of
// project roots that no person has decided about.
type ProjectTrust string

// The answers for undecided project roots.
const (
	ProjectAsk    ProjectTrust = "ask"    // withheld, counted and named; the zero value means the same
	ProjectAlways ProjectTrust = "always" // trusted like a folder that a person trusted
	ProjectNever  ProjectTrust = "never"  // refused
)

// Trust implements Truster. Sources that are not pending keep their trust.
func (p ProjectTrust) Trust(_ context.Context, i source.Info, _ *skill.Skill) (source.Trust, Reason) {
	if i.Trust != source.Pending {
		return i.Trust, Reason{}
	}
	switch {
	case p == ProjectAlways && i.Kind == source.Package:
		return source.Untrusted, Reason{} // other people's code, whoever's folder it lies in
	case p == ProjectAlways:
		return source.Workspace, Reason{}
	case p == ProjectNever:
		return source.Denied, Reason{
			Code: "untrusted", Message: "project folders are never trusted by configuration",
			Fix: "set trust.project to ask or always",
		}
	}
	return source.Pending, Reason{
		Code: "untrusted", Message: "nobody has trusted the project folder " + i.Path,
		Fix: "review it, then pass --trust-project",
	}
}
