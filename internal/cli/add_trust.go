package cli

import (
	"context"
	"path/filepath"
	"slices"
	"strings"

	"github.com/deftskills/deft"
	"github.com/deftskills/deft/install"
	"github.com/deftskills/deft/install/scan"
	"github.com/deftskills/deft/internal/safetext"
	"github.com/deftskills/deft/registry"
	"github.com/deftskills/deft/source"
	"github.com/deftskills/deft/store"
)

// grantable is an installed skill whose code a person may let count.
type grantable struct {
	in   *installedJSON
	rec  *registry.Record
	code deft.Code
}

// trustAdded asks once, after an install, whether the code of the skills counts, all of it
// shown. flag is --trust, which with --yes is the answer.
func (r *run) trustAdded(ctx context.Context, flag bool, doc *addJSON) error {
	ask := r.person() != nil && !r.globals.json && !r.writing.yes
	if r.writing.dryRun || !flag && !ask || len(doc.Installed) == 0 {
		return nil
	}
	snap, e, err := r.afterInstall(ctx)
	if err != nil {
		return err
	}
	var list []grantable
	for at := range doc.Installed {
		in := &doc.Installed[at]
		if in.Action == install.Same && !flag {
			continue
		}
		g, why, err := r.grantable(ctx, snap, e, in)
		switch {
		case err != nil:
			return err
		case why != "" && flag:
			r.note(Refused)
			r.err.Printf("%s\n", r.words.Say(why, in.Name))
		case why == "" && g != nil:
			list = append(list, *g)
		}
	}
	if len(list) == 0 {
		return nil
	}
	var names []string
	for _, g := range list {
		names = append(names, g.in.Name)
		r.showAdded(g)
	}
	if err := r.askTrust("add.ask_trust", strings.Join(names, ", ")); err != nil {
		if flag {
			return err
		}
		return nil // it stays text, which is no failure
	}
	for _, g := range list {
		if err := r.grant(ctx, g.rec, g.code, false); err != nil {
			return err
		}
		g.in.Trusted = true
		if !r.globals.json {
			r.out.Printf("%s\n", r.words.Say("trust.skill", g.in.Name))
		}
	}
	return nil
}

// afterInstall is what there is now.
func (r *run) afterInstall(ctx context.Context) (*registry.Snapshot, *deft.Engine, error) {
	e, err := r.open(ctx)
	if err != nil {
		return nil, nil, err
	}
	snap, err := e.Refresh(ctx)
	return snap, e, err
}

// grantable finds an installed skill and its code; nil where there is nothing to grant. why
// names the words for what stands against it.
func (r *run) grantable(ctx context.Context, snap *registry.Snapshot, e *deft.Engine, in *installedJSON) (g *grantable, why string, err error) {
	if slices.ContainsFunc(in.findings, func(f scan.Finding) bool { return f.Level == scan.Block }) {
		return nil, "add.trust_blocked", nil
	}
	target, err := filepath.EvalSymlinks(in.Target)
	if err != nil {
		return nil, "", nil //nolint:nilerr // somebody took it away meanwhile: there is nothing to grant
	}
	at := slices.IndexFunc(snap.All, func(rec *registry.Record) bool {
		return rec.RealDir == target && rec.State != registry.Invalid
	})
	switch {
	case at < 0:
		return nil, "add.trust_unseen", nil
	case snap.All[at].Source.Trust == source.Pending || snap.All[at].Source.Trust == source.Denied:
		return nil, "add.trust_folder", nil
	case snap.All[at].Source.Trust == source.Trusted:
		return nil, "", nil
	}
	g = &grantable{in: in, rec: snap.All[at]}
	if g.code, err = e.Code(ctx, g.rec); err != nil || g.code.Nothing() {
		return nil, "", err
	}
	// What counts is what is on the disk now. It is granted only while it is what was looked
	// at, the record of the install left out.
	now, err := install.DigestOf(ctx, target)
	if err != nil || now != in.Digest {
		return nil, "add.trust_changed", err
	}
	st, err := r.load(ctx)
	if err != nil {
		return nil, "", err
	}
	if in.Trusted = slices.ContainsFunc(st.Grants, func(have store.Grant) bool {
		return have.Tree == g.code.Tree && have.Name == g.rec.Skill.Name && have.Source == g.rec.Source.ID
	}); in.Trusted {
		return nil, "", nil // the same bytes, granted before
	}
	return g, "", nil
}

// showAdded shows where a skill comes from, under which licence, what was found in it, and
// all of its code.
func (r *run) showAdded(g grantable) {
	if r.globals.json {
		return
	}
	r.showCode(g.rec, g.code)
	p := r.err
	p.Printf("  %s\n", r.words.Say("add.from", strings.TrimSpace(g.in.Source+" "+g.in.Commit), orElse(g.in.Licence.SPDX, r.words.Say("add.no_licence"))))
	for _, f := range g.in.findings {
		p.Printf("    %s:%d: %s (%s): %s\n", f.File, f.Line, f.Why, f.Rule, safetext.Line(f.Evidence))
	}
}
