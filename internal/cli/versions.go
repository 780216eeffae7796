package cli

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"time"

	"github.com/spf13/pflag"

	"github.com/deftskills/deft/install"
	"github.com/deftskills/deft/install/licence"
	"github.com/deftskills/deft/internal/safetext"
	"github.com/deftskills/deft/skill"
	"github.com/deftskills/deft/store"
)

func versionsVerb() verb {
	var archive, restore, release bool
	return verb{
		name: "versions", args: "[NAME[@VERSION]]", max: 1, group: groupWrite, joins: true, effects: effects{reads: true, writes: true}, names: true,
		short: "the versions of a published skill, or all published skills",
		long: "A version is named by its number, its label, its id or a channel. What is archived is no longer\n" +
			"offered; who pinned it keeps it.",
		flags: func(f *pflag.FlagSet) {
			f.BoolVar(&release, "release", false, "publish NAME@VERSION, a draft or one that was archived")
			f.BoolVar(&archive, "archive", false, "no longer offer NAME, or one version of it")
			f.BoolVar(&restore, "restore", false, "offer NAME again")
		},
		run: func(ctx context.Context, r *run, args []string) error {
			name, version := "", ""
			if len(args) > 0 {
				name, version, _ = strings.Cut(args[0], "@")
			}
			return r.versions(ctx, name, version, map[string]bool{"release": release, "archive": archive, "restore": restore})
		},
	}
}

// versionsJSON is what deft versions tells. Versions and Channels are of the skill that
// was named.
type versionsJSON struct {
	Skills   []publishedJSON `json:"skills"`
	Versions []versionJSON   `json:"versions"`
	Channels []channelJSON   `json:"channels"`
	Strategy string          `json:"strategy"` // latest, pin, channel, live; "" = the version that is offered
	Value    string          `json:"value"`    // id of the pinned version, or the channel
	Written  bool            `json:"written"`
}

type publishedJSON struct {
	Name        string `json:"name"`
	Status      string `json:"status"`
	Active      string `json:"active"` // id of the version that is offered
	Latest      int64  `json:"latest"`
	Description string `json:"description"`
}

type versionJSON struct {
	Number    int64        `json:"number"`
	Label     string       `json:"label"`
	ID        string       `json:"id"`
	Status    string       `json:"status"`
	Active    bool         `json:"active"`
	Digest    skill.Digest `json:"digest"`
	Note      string       `json:"note"`
	Licence   string       `json:"license"`
	CreatedBy string       `json:"created_by"`
	CreatedAt string       `json:"created_at"`
}

type channelJSON struct {
	Name    string `json:"name"`
	Version string `json:"version"` // id
	MovedBy string `json:"moved_by"`
	MovedAt string `json:"moved_at"`
}

func rowOf(v store.Version, p *store.PublishedSkill) versionJSON {
	var l licence.Verdict
	_ = json.Unmarshal(v.Licence, &l)
	row := versionJSON{
		Number: v.Number, Label: v.Label, ID: v.ID, Status: string(v.Status()), Digest: v.Tree, Note: v.Note, Licence: l.SPDX, CreatedBy: v.CreatedBy,
		CreatedAt: v.CreatedAt.Format(time.RFC3339),
	}
	if row.Active = v.Status() == store.Published; p != nil {
		row.Active = p.Status == store.Published && p.Active == v.ID
	}
	return row
}

func (r *run) versions(ctx context.Context, name, version string, asked map[string]bool) error {
	s, err := r.openStore(ctx)
	if err != nil {
		return err
	}
	var what string
	for key, on := range asked {
		if on && what != "" {
			return usage("--%s and --%s exclude each other", what, key)
		}
		if on {
			what = key
		}
	}
	switch {
	case what == "" && version != "", what == "restore" && version != "", what == "release" && version == "", what != "" && name == "":
		return usage("--release wants NAME@VERSION, --archive NAME or NAME@VERSION, --restore NAME").hinted("hint.see_help", "versions")
	case what != "":
		v := s.Versions()
		if r.writing.dryRun {
			v = v.DryRun()
		}
		if err := r.turnVersion(ctx, v, what, name, version); err != nil {
			return publishedFailure(ctx, s, name, err)
		}
	}
	doc := versionsJSON{Skills: []publishedJSON{}, Versions: []versionJSON{}, Channels: []channelJSON{}, Written: what != "" && !r.writing.dryRun}
	if name == "" {
		return r.publishedSkills(ctx, s, doc)
	}
	return r.publishedVersions(ctx, s, name, doc)
}

func (r *run) turnVersion(ctx context.Context, v store.Versions, what, name, version string) error {
	switch what {
	case "release":
		_, err := v.Release(ctx, name, version, r.author())
		return err
	case "archive":
		return v.Archive(ctx, name, version, r.author())
	}
	return v.Restore(ctx, name, r.author())
}

// publishedFailure says which skills there are where the one that was named is not.
func publishedFailure(ctx context.Context, s *store.Store, name string, err error) error {
	if !errors.Is(err, store.ErrNotFound) || errors.Is(err, store.ErrUnknownVersion) {
		return err
	}
	var names []string
	if all, err := s.Versions().Skills(ctx); err == nil {
		for _, p := range all {
			names = append(names, p.Name)
		}
	}
	f := fail(Negative, "versions_unknown_skill", "no version of a skill %q is published", name)
	if near := closest(name, names, 3); len(near) > 0 {
		f.hinted("hint.one_of", strings.Join(near, ", "))
	}
	return f
}

func publishedRow(p store.PublishedSkill) publishedJSON {
	return publishedJSON{p.Name, string(p.Status), p.Active, p.Latest, p.Description}
}

func (r *run) publishedSkills(ctx context.Context, s *store.Store, doc versionsJSON) error {
	all, err := s.Versions().Skills(ctx)
	if err != nil {
		return err
	}
	for _, p := range all {
		doc.Skills = append(doc.Skills, publishedRow(p))
		if !r.globals.json {
			r.out.Printf("%-28s %-10s %4d  %s\n", p.Name, p.Status, p.Latest, clipLine(p.Description))
		}
	}
	if r.globals.json {
		r.printJSON(doc)
	}
	if len(all) == 0 {
		r.hintf("%s", r.words.Say("versions.none"))
		return errNegative
	}
	return nil
}

func (r *run) publishedVersions(ctx context.Context, s *store.Store, name string, doc versionsJSON) error {
	v := s.Versions()
	p, err := v.Skill(ctx, name)
	if err != nil {
		return publishedFailure(ctx, s, name, err)
	}
	all, err := v.List(ctx, name)
	if err != nil {
		return err
	}
	channels, err := v.Channels(ctx, name)
	if err != nil {
		return err
	}
	chosen, err := v.Chosen(ctx, name)
	if err != nil {
		return err
	}
	leads := map[string][]string{}
	for _, c := range channels {
		doc.Channels = append(doc.Channels, channelJSON{c.Name, c.Version, c.MovedBy, c.MovedAt.Format(time.RFC3339)})
		leads[c.Version] = append(leads[c.Version], c.Name)
	}
	doc.Skills, doc.Strategy, doc.Value = append(doc.Skills, publishedRow(p)), string(chosen.Strategy), chosen.Value
	for _, one := range all {
		row := rowOf(one, &p)
		doc.Versions = append(doc.Versions, row)
		if r.globals.json {
			continue
		}
		marks := append([]string{row.Status}, leads[row.ID]...)
		if row.Active {
			marks = append(marks, r.words.Say("versions.active"))
		}
		if chosen.Strategy == store.UsePin && chosen.Value == row.ID {
			marks = append(marks, r.words.Say("versions.pinned"))
		}
		r.out.Printf("%4d  %-10s %s  %s  %s  %s\n", row.Number, orElse(row.Label, "-"), one.CreatedAt.Format("2006-01-02 15:04"), short12(string(row.Digest)),
			strings.Join(marks, ", "), clipLine(row.Note))
	}
	if r.globals.json {
		r.printJSON(doc)
		return nil
	}
	if p.Status != store.Published {
		r.out.Printf("%s\n", r.words.Say("versions.status", p.Name, string(p.Status)))
	}
	if chosen.Strategy != "" && chosen.Strategy != store.UsePin {
		r.out.Printf("%s\n", r.words.Say("versions.strategy", string(chosen.Strategy), chosen.Value))
	}
	return nil
}

func clipLine(text string) string { return safetext.Clip(safetext.Line(text), 80) }

// published has what deft: sources name.
func (r *run) published() *install.VersionStore {
	return &install.VersionStore{Open: r.openStore, Blobs: r.publishedBlobs()}
}
