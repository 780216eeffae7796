package cli

import (
	"context"
	"strings"

	"github.com/spf13/pflag"

	"github.com/deftskills/deft/install"
	"github.com/deftskills/deft/store"
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

// pinFlags are the flags of deft pin.
type pinFlags struct {
	installFlags
	none, latest, live bool
	channel            string
}

func pinVerb() verb {
	var o pinFlags
	return verb{
		name: "pin", args: "NAME [VERSION]", min: 1, max: 2, group: groupSkill, effects: effects{reads: true, writes: true}, names: true, joins: true,
		short: "have updates stay at what is installed, or say which version is used",
		long: "Without VERSION updates of an installed skill stay at what is there. With one, or a channel, a skill\n" +
			"that was installed from the store is brought to that version by the next update. Of a skill that is\n" +
			"not installed but published, it is said which version is used; --live: its folder, no version.",
		flags: func(f *pflag.FlagSet) {
			o.bind(f)
			f.BoolVar(&o.none, "none", false, "updates go on; the version that is offered is used")
			f.BoolVar(&o.latest, "latest", false, "the newest published version")
			f.StringVar(&o.channel, "channel", "", "the version that the channel `NAME` leads to")
			f.BoolVar(&o.live, "live", false, "no version: the skill's folder")
		},
		run: func(ctx context.Context, r *run, args []string) error { return r.pin(ctx, o, args) },
	}
}

// pinJSON is what deft pin tells.
type pinJSON struct {
	Name     string `json:"name"`
	Pin      string `json:"pin"`      // the digest that updates stay at, a version or a channel; "" = none
	Strategy string `json:"strategy"` // of a version: latest, pin, channel or live; "" = none
	Written  bool   `json:"written"`
}

// choice is what the flags and a version say, nil where they say nothing.
func (o pinFlags) choice(version string) (*store.VersionChoice, error) {
	var said []store.VersionChoice
	for _, x := range []struct {
		on       bool
		strategy store.Strategy
		value    string
	}{
		{o.none, "", ""}, {o.latest, store.UseLatest, ""}, {o.live, store.UseLive, ""},
		{o.channel != "", store.UseChannel, o.channel}, {version != "", store.UsePin, version},
	} {
		if x.on {
			said = append(said, store.VersionChoice{Strategy: x.strategy, Value: x.value})
		}
	}
	switch len(said) {
	case 0:
		return nil, nil
	case 1:
		return &said[0], nil
	}
	return nil, usage("VERSION, --latest, --channel, --live and --none exclude each other").hinted("hint.see_help", "pin")
}

func (r *run) pin(ctx context.Context, o pinFlags, args []string) error {
	choice, err := o.choice(strings.Join(args[1:], ""))
	if err != nil {
		return err
	}
	scope, err := r.scope(o.installFlags)
	if err != nil {
		return err
	}
	entries, err := lockedEntries(scope)
	if err != nil {
		return err
	}
	name, doc := args[0], pinJSON{Name: args[0], Written: !r.writing.dryRun}
	e, ok := entries[name]
	switch {
	case !ok && choice == nil:
		return fail(Negative, "install_unknown", "skill %q is not installed", name)
	case !ok: // a skill of that name may be published
		err = r.pinPublished(ctx, name, choice, &doc)
	case choice == nil:
		doc.Pin = string(e.Tree)
		err = r.pinInstalled(ctx, scope, doc, nil)
	case choice.Strategy == "":
		ref := ""
		err = r.pinInstalled(ctx, scope, doc, &ref)
	case e.Source.Type != install.Published || choice.Strategy == store.UseLive:
		err = fail(Negative, "pin_source", "%q is installed from %s; only a version of the store can be named", name, originURL(e.Source))
	default:
		doc.Strategy = string(choice.Strategy)
		if doc.Pin = choice.Value; choice.Strategy == store.UseLatest {
			doc.Pin = "latest"
		}
		var s *store.Store
		if s, err = r.openStore(ctx); err == nil {
			if _, err = s.Versions().Find(ctx, e.Source.URL, doc.Pin); err == nil {
				ref := doc.Pin
				err = r.pinInstalled(ctx, scope, pinJSON{Name: name, Written: doc.Written}, &ref)
			}
		}
	}
	if err != nil {
		return err
	}
	switch {
	case r.globals.json:
		r.printJSON(doc)
	case choice != nil && !ok:
		r.out.Printf("%s\n", r.words.Say("pin."+orElse(doc.Strategy, "offered"), name, doc.Pin))
	case doc.Pin == "" && doc.Strategy == "":
		r.out.Printf("%s\n", r.words.Say("pin.none", name))
	default:
		r.out.Printf("%s\n", r.words.Say("pin.done", name, orElse(short12(doc.Pin), doc.Strategy)))
	}
	return nil
}

// pinInstalled writes the pin of an installed skill; ref, unless nil, is which version of
// the store updates ask for from now on.
func (r *run) pinInstalled(ctx context.Context, scope install.Scope, doc pinJSON, ref *string) error {
	if !doc.Written {
		return nil
	}
	i, err := r.installer()
	if err != nil {
		return err
	}
	return i.Pin(ctx, scope, doc.Name, doc.Pin, ref)
}

// pinPublished says which version of a published skill is used.
func (r *run) pinPublished(ctx context.Context, name string, choice *store.VersionChoice, doc *pinJSON) error {
	s, err := r.openStore(ctx)
	if err != nil {
		return err
	}
	doc.Strategy, doc.Pin = string(choice.Strategy), choice.Value
	choice.By = r.author()
	versions := s.Versions()
	if !doc.Written {
		versions = versions.DryRun()
	}
	if _, err := versions.Choose(ctx, name, *choice); err != nil {
		return publishedFailure(ctx, s, name, err)
	}
	if v, err := s.Versions().Find(ctx, name, choice.Value); choice.Strategy == store.UsePin && err == nil && v.Status() == store.Archived {
		r.hintf("%s", r.words.Say("pin.archived", v.String(), name))
	}
	return nil
}

// short12 is a digest short enough for a line.
func short12(digest string) string { return digest[:min(len(digest), len("sha256:")+12)] }
