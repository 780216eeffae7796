package cli

import (
	"context"

	"github.com/spf13/pflag"
)

func rollbackVerb() verb {
	var o installFlags
	var to string
	return verb{
		name: "rollback", args: "NAME", min: 1, max: 1, group: groupSkill, effects: effects{reads: true, writes: true}, names: true, joins: true,
		short: "go back to the version of a skill that was installed before",
		long: "The last five are kept; no network is asked. Local edits are kept aside. Updates then stay at\n" +
			"that version until deft pin NAME --none.",
		flags: func(f *pflag.FlagSet) {
			o.bind(f)
			f.StringVar(&to, "to", "", "the version with this `DIGEST`, or its beginning")
		},
		run: func(ctx context.Context, r *run, args []string) error { return r.rollback(ctx, o, args[0], to) },
	}
}

func (r *run) rollback(ctx context.Context, o installFlags, name, to string) error {
	scope, err := r.scope(o)
	if err != nil {
		return err
	}
	i, err := r.installer()
	if err != nil {
		return err
	}
	plan, err := i.PlanRollback(ctx, scope, r.allAgents(), name, to)
	if err != nil {
		return err
	}
	doc := addJSON{Installed: []installedJSON{}, Refused: []rejectedJSON{}, Found: []foundJSON{}}
	if err := r.applyPlan(ctx, i, plan, false, &doc); err != nil {
		return err
	}
	return r.added(doc)
}

func pinVerb() verb {
	var o installFlags
	var none bool
	return verb{
		name: "pin", args: "NAME", min: 1, max: 1, group: groupSkill, effects: effects{reads: true, writes: true}, names: true, joins: true,
		short: "have updates stay at what is installed, or go on",
		flags: func(f *pflag.FlagSet) {
			o.bind(f)
			f.BoolVar(&none, "none", false, "updates go on")
		},
		run: func(ctx context.Context, r *run, args []string) error { return r.pin(ctx, o, args[0], none) },
	}
}

// pinJSON is what deft pin tells.
type pinJSON struct {
	Name    string `json:"name"`
	Pin     string `json:"pin"` // the digest that updates stay at; "" = none
	Written bool   `json:"written"`
}

func (r *run) pin(ctx context.Context, o installFlags, name string, none bool) error {
	scope, err := r.scope(o)
	if err != nil {
		return err
	}
	entries, err := lockedEntries(scope)
	if err != nil {
		return err
	}
	e, ok := entries[name]
	if !ok {
		return fail(Negative, "install_unknown", "skill %q is not installed", name)
	}
	doc := pinJSON{Name: name, Pin: string(e.Tree), Written: !r.writing.dryRun}
	if none {
		doc.Pin = ""
	}
	if doc.Written {
		i, err := r.installer()
		if err != nil {
			return err
		}
		if err := i.Pin(ctx, scope, name, doc.Pin); err != nil {
			return err
		}
	}
	switch {
	case r.globals.json:
		r.printJSON(doc)
	case none:
		r.out.Printf("%s\n", r.words.Say("pin.none", name))
	default:
		r.out.Printf("%s\n", r.words.Say("pin.done", name, short12(doc.Pin)))
	}
	return nil
}

// short12 is a digest short enough for a line.
func short12(digest string) string { return digest[:min(len(digest), len("sha256:")+12)] }
