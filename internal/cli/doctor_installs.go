package cli

import (
	"context"

	"github.com/deftskills/deft/install"
	"github.com/deftskills/deft/skill"
)

// installChecks names the changes of installed skills that a process was stopped in. The
// next verb that changes any ends them, and so does --fix.
func (r *run) installChecks(ctx context.Context, fix bool) ([]check, error) {
	waiting := install.New(install.Options{State: r.dirs.State}).Unfinished()
	if len(waiting) > 0 && fix && !r.writing.dryRun {
		scope, err := r.scope(installFlags{})
		if err != nil {
			return nil, err
		}
		i, err := r.installer()
		if err != nil {
			return nil, err
		}
		if err := i.Repair(ctx, scope, nil, nil); err != nil {
			return nil, err
		}
		waiting = i.Unfinished()
	}
	var list []check
	for _, at := range waiting {
		list = append(list, check{
			ID: "install_unfinished", Level: skill.LevelWarning, File: at,
			Message: r.words.Say("doctor.unfinished", r.short(at)), Fix: r.words.Say("doctor.unfinished_fix"),
		})
	}
	return list, nil
}
