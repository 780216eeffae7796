package cli

import (
	"context"

	"github.com/spf13/pflag"

	"github.com/deftskills/deft/store"
)

func disableVerb() verb {
	var deny bool
	return verb{
		name: "disable", args: "NAME…", min: 1, max: -1, group: groupSkill, effects: effects{reads: true, writes: true}, names: true, joins: true,
		short: "turn skills off; the next one of the name is used",
		long: "NAME is every skill of the name; NAME@SOURCE, a path or a location is that one, and\n" +
			"the next skill of the name takes its place. A profile or a project may turn it on\n" +
			"again, but not what --deny turned off.",
		flags: func(f *pflag.FlagSet) {
			f.BoolVar(&deny, "deny", false, "nothing but deft enable turns it on again")
		},
		run: func(ctx context.Context, r *run, args []string) error {
			if deny {
				return r.switchSkills(ctx, args, store.Deny)
			}
			return r.switchSkills(ctx, args, store.Off)
		},
	}
}
