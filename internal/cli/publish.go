package cli

import (
	"context"
	"errors"
	"os"
	"time"

	"github.com/spf13/pflag"

	"github.com/deftskills/deft/install"
	"github.com/deftskills/deft/skill"
	"github.com/deftskills/deft/store"
)

// publishFlags are the flags of deft publish.
type publishFlags struct {
	to, channel, label, note string
	draft, force, wellKnown  bool
	accept                   []string
}

func publishVerb() verb {
	var o publishFlags
	return verb{
		name: "publish", args: "NAME|DIR", min: 1, max: 1, group: groupWrite, joins: true, effects: effects{reads: true, writes: true}, names: true,
		short: "keep a version of a skill in the store, to the byte",
		long: "The skill is checked strictly and looked at first. The same files again are no new version, but\n" +
			"publish a draft of them. Published versions are installed with deft add deft:NAME[@VERSION]. They\n" +
			"are trusted no more than before.",
		flags: func(f *pflag.FlagSet) {
			f.StringVar(&o.to, "to", "store", "where the version goes: `store`, or with --wellknown a folder")
			f.BoolVar(&o.wellKnown, "wellknown", false, "into the index of a folder that a web server serves")
			f.StringVar(&o.channel, "channel", "", "let the channel `NAME`, such as stable, lead to it")
			f.StringVar(&o.label, "label", "", "semantic version of it, such as `1.2.0`")
			f.StringVar(&o.note, "note", "", "`TEXT` about the version")
			f.BoolVar(&o.draft, "draft", false, "not offered yet; deft show --draft NAME shows it")
			f.BoolVar(&o.force, "force", false, "a version of its own also for the same files")
			f.StringArrayVar(&o.accept, "accept-finding", nil, "take the scanner's findings of `RULE`; may be repeated")
		},
		run: func(ctx context.Context, r *run, args []string) error {
			if o.wellKnown {
				return r.publishIndex(ctx, o, args[0])
			}
			return r.publish(ctx, o, args[0])
		},
	}
}

// publishJSON is what deft publish tells.
type publishJSON struct {
	Name     string       `json:"name"`
	Version  versionJSON  `json:"version"`
	Channel  string       `json:"channel"`
	Created  bool         `json:"created"` // false: the newest version has these files
	Digest   skill.Digest `json:"digest"`
	Warnings []string     `json:"warnings"`
	Written  bool         `json:"written"`
}

func (r *run) publish(ctx context.Context, o publishFlags, arg string) error {
	if o.to != "store" {
		return usage("--to %s is not known without --wellknown", o.to).hinted("hint.one_of", "store")
	}
	dir, err := r.skillDir(ctx, arg)
	if err != nil {
		return err
	}
	i, err := r.installer()
	if err != nil {
		return err
	}
	s, err := r.openStore(ctx)
	if err != nil {
		return err
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return fail(Negative, "publish_unreadable", "%s: %s", r.short(dir), osReason(err))
	}
	defer root.Close()
	if !r.writing.dryRun {
		r.ownBlobs().Sweep(r.proc.Now().Add(-time.Hour)) // what a killed process had only begun
	}
	v, err := s.PublishDir(ctx, install.Clean(root.FS()), store.PublishOptions{
		Label: o.label, Note: o.note, By: r.author(), Draft: o.draft, Channel: o.channel, Force: o.force, Path: r.short(dir),
		Blobs: r.publishedBlobs(), DryRun: r.writing.dryRun, AllowWarnings: true,
		Check: func(ctx context.Context, c store.Candidate) (store.Verdict, error) {
			return r.vetted(ctx, i, c, o.accept)
		},
	})
	if err != nil {
		return publishFailure(err)
	}
	r.showPublished(o, v)
	return nil
}

func (r *run) showPublished(o publishFlags, v store.Version) {
	doc := publishJSON{v.Name, rowOf(v, nil), o.channel, v.Created, v.Tree, orEmptyList(v.Warnings), !r.writing.dryRun}
	if r.globals.json {
		r.printJSON(doc)
		return
	}
	for _, w := range doc.Warnings {
		r.hintf("%s", w)
	}
	key := "publish.done"
	switch {
	case o.draft && v.Created:
		key = "publish.draft"
	case !v.Created && !v.Released:
		key = "publish.same"
	}
	if r.writing.dryRun && (v.Created || v.Released) {
		key = "publish.dry"
	}
	r.out.Printf("%s\n", r.words.Say(key, v.Name, v.String(), short12(string(v.Tree))))
	if o.channel != "" {
		r.out.Printf("%s\n", r.words.Say(r.orDry("publish.channel", "publish.channel_dry"), o.channel, v.String()))
	}
}

// author is who publishes, as the record has it.
func (r *run) author() string { return orElse(orElse(r.env("USER"), r.env("USERNAME")), "cli") }

// vetted asks a person about what is not refused outright.
func (r *run) vetted(ctx context.Context, i *install.Installer, c store.Candidate, accept []string) (store.Verdict, error) {
	out, err := i.Vet(ctx, c, accept)
	if err != nil || len(out.Refused) > 0 {
		return out, err
	}
	for _, w := range out.Warnings {
		yes := r.writing.yes
		if p := r.person(); !yes && p != nil {
			p.Printf("%s [y/N] ", r.words.Say("publish.ask", c.Skill.Name, w))
			answer, err := r.readLine()
			yes = err == nil && (answer == "y" || answer == "yes")
		}
		if !yes {
			out.Refused = append(out.Refused, w)
		}
	}
	return out, nil
}

// publishFailure is the exit code of what was not published.
func publishFailure(err error) error {
	var refusal *store.PublishError
	var tree *skill.TreeError
	switch {
	case errors.As(err, &refusal) && refusal.Code == "publish_blocked":
		return fail(Refused, refusal.Code, "%s", refusal.Message).hinted("hint.publish")
	case errors.As(err, &refusal):
		return fail(Negative, refusal.Code, "%s: %s", refusal.Path, refusal.Message)
	case errors.As(err, &tree):
		return fail(Negative, tree.Diagnostic.Code, "%s: %s", tree.Diagnostic.File, tree.Diagnostic.Message)
	}
	return err
}
