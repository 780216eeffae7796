package registry

import (
	"context"
	"path/filepath"

	"github.com/deftskills/deft/skill"
	"github.com/deftskills/deft/source"
)

// SavedTrust is folder trust by what persons decided: a decision counts for exactly
// its resolved root, so that nested repositories and what links lead to do not
// inherit it. It implements EntryTruster.
type SavedTrust struct {
	// Undecided says what becomes of folders without a decision. ProjectNever refuses
	// those with one too.
	Undecided ProjectTrust
	Folders   []Folder
	// Installed are the resolved folders of skills that were brought in from elsewhere: they
	// are a stranger's text, whatever root they lie in, until a person grants them.
	Installed map[string]bool
	// Roots says what a directory's trust is bound to; package source has one. Calls are
	// not concurrent.
	Roots interface {
		Of(dir string) []string   // all of them have to be trusted
		OfReal(dir string) string // of one whose links are resolved
	}
}

// Trust implements Truster. Sources that are not pending keep their trust.
func (t SavedTrust) Trust(ctx context.Context, i source.Info, s *skill.Skill) (source.Trust, Reason) {
	if i.Trust != source.Pending {
		return i.Trust, Reason{}
	}
	trust, why := i.Trust, Reason{}
	for _, root := range t.Roots.Of(i.Path) {
		if trust, why = t.of(ctx, i, root, s); withheld(trust) {
			break
		}
	}
	return trust, why
}

// TrustEntry implements EntryTruster.
func (t SavedTrust) TrustEntry(ctx context.Context, e *source.Entry) (source.Trust, Reason, bool) {
	i := e.Source
	if i.Trust == source.Trusted {
		return source.Untrusted, Reason{}, t.Installed[e.RealDir]
	}
	if e.RealDir == "" || t.Undecided == ProjectAlways {
		return "", Reason{}, false
	}
	i.Trust = source.Pending
	dir := e.RealDir
	if e.RealFile != "" {
		dir = filepath.Dir(e.RealFile)
	}
	trust, why := t.of(ctx, i, t.Roots.OfReal(dir), e.Skill)
	return trust, why, trust != e.Source.Trust
}

func (t SavedTrust) of(ctx context.Context, i source.Info, root string, s *skill.Skill) (source.Trust, Reason) {
	mode := t.Undecided
	for _, f := range t.Folders {
		switch {
		case f.Root != root || mode == ProjectNever:
		case f.Refused:
			return source.Denied, Reason{
				Code: "untrusted", Message: "a person refused to trust the folder " + root,
				Fix: "run deft untrust " + root + " to be asked again", Path: root,
			}
		default:
			mode = ProjectAlways
		}
	}
	trust, why := mode.Trust(ctx, i, s)
	if why.Code != "" {
		why.Path = root
	}
	if trust == source.Pending {
		why.Message = "nobody has trusted the folder " + root
		why.Fix = "review it, then run deft trust " + root + ", or pass --trust-project"
	}
	return trust, why
}
