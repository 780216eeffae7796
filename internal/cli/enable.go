package cli

import (
	"context"

	"github.com/deftskills/deft/store"
)

func enableVerb() verb {
	return verb{
		name: "enable", args: "NAME…", min: 1, max: -1, group: groupSkill, effects: effects{reads: true, writes: true}, names: true,
		short: "turn skills on", brief: "turn skills on or off; named selections of them",
		long: "NAME is every skill of the name; NAME@SOURCE, a path or a location is that one.\n" +
			"What deny names stays off, whatever is enabled.",
		run: func(ctx context.Context, r *run, args []string) error { return r.switchSkills(ctx, args, store.On) },
	}
}
