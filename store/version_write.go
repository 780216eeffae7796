package store

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/deftskills/deft/internal/fold"
	"github.com/deftskills/deft/skill"
)

// ChangedChannels is the kind of a Change of a channel; the key is the skill's name.
// Versions that come and go are ChangedSkills.
const ChangedChannels = "channels"

// NewVersion is a version that is to be published. Its blobs are in the store already.
type NewVersion struct {
	Name, Title, Description string
	Tags                     []string
	Tree                     skill.Tree
	Types                    map[string]string // media types by path, for people; may be nil
	Snapshot                 json.RawMessage   // an object; empty = none
	Licence                  json.RawMessage   // an object; empty = none
	Scan                     string
	Label, Note, By          string
	Channel                  string // that leads to it afterwards; "" = none
	Draft                    bool   // it is not offered yet
	Force                    bool   // a version of its own even where the newest has the same files
}

func (n NewVersion) check() error {
	if strings.TrimSpace(n.Name) == "" || len(n.Tree) == 0 {
		return fmt.Errorf("%w: a version without a name or a file", ErrInvalid)
	}
	for i, e := range n.Tree {
		if err := checkDigest("blob", e.Blob, false); err != nil {
			return err
		}
		if i > 0 && n.Tree[i-1].Path >= e.Path {
			return fmt.Errorf("%w: files of %s are not sorted: %q", ErrInvalid, n.Name, e.Path)
		}
	}
	if n.Channel != "" {
		if err := CheckChannel(n.Channel); err != nil {
			return err
		}
		if n.Draft {
			return fmt.Errorf("%w: no channel leads to a draft", ErrTransition)
		}
	}
	return CheckLabel(n.Label)
}

// Publish adds a version to a skill, making the skill with its first one, and offers it
// unless it is a draft: all of it or, on error, nothing. Where the newest version has the
// same files, that one is returned with Created false, and offered if it was not.
// ErrLabelTaken, ErrInvalid.
func (v Versions) Publish(ctx context.Context, n NewVersion) (out Version, err error) {
	if err := n.check(); err != nil {
		return Version{}, err
	}
	err = v.write(ctx, func(tx *tx) error {
		p, err := v.lockSkill(ctx, tx, n)
		if err != nil {
			return err
		}
		digest, differ, err := putTree(ctx, tx, n.Tree, n.Types)
		if err != nil {
			return err
		}
		if out, err = v.newest(ctx, tx, &p, n, digest); err != nil {
			return err
		}
		if differ {
			out.Warnings = append(out.Warnings, "tree_mode: files may be run that could not be before, or the other way: the first modes stay")
		}
		if !n.Draft {
			if err := offer(ctx, tx, &p, &out); err != nil {
				return err
			}
		}
		if n.Channel != "" {
			if err := moveChannel(ctx, tx, out, n.Channel, n.By); err != nil {
				return err
			}
		}
		return v.done(ctx, tx, p, out, n.By, ChangedSkills, "publish")
	})
	return out, err
}

// write runs f in a transaction, a dry one where nothing is to be kept.
func (v Versions) write(ctx context.Context, f func(tx *tx) error) error {
	if !v.dry {
		return v.s.write(ctx, "publish.tx", f)
	}
	return v.s.read(ctx, func(q querier) error {
		dry := *q.(*tx)
		dry.dry, dry.now = true, v.s.o.Now()
		return f(&dry)
	})
}

// foresee returns what Publish would, and keeps nothing: a database that has no such skill
// is not written at all.
func (v Versions) foresee(ctx context.Context, n NewVersion) (Version, error) {
	_, err := v.Skill(ctx, n.Name)
	if errors.Is(err, ErrNotFound) {
		out := Version{Name: n.Name, Number: 1, Label: n.Label, Tree: n.Tree.Digest(), Created: true, CreatedAt: v.s.o.Now()}
		if !n.Draft {
			out.PublishedAt, out.Released = out.CreatedAt, true
		}
		return out, nil
	}
	if err != nil {
		return Version{}, err
	}
	out, err := v.DryRun().Publish(ctx, n)
	if out.Created {
		out.ID = ""
	}
	return out, err
}

func labelTaken(v Version) error {
	return fmt.Errorf("%w: version %d of %s is %s", ErrLabelTaken, v.Number, v.Name, v.Label)
}

// lockSkill returns the skill's row, made where there is none, for this transaction alone.
func (v Versions) lockSkill(ctx context.Context, tx *tx, n NewVersion) (PublishedSkill, error) {
	id, err := v.s.newID(tx.now)
	if err != nil {
		return PublishedSkill{}, err
	}
	now := tx.now.UnixMicro()
	if _, err := tx.ExecContext(ctx, "INSERT INTO skills (tenant, id, key, name, status, latest_version, title, description, tags, owner, created_at, updated_at) "+
		"VALUES (:tenant, ?, ?, ?, 'draft', 0, ?, ?, ?, ?, ?, ?) ON CONFLICT (tenant, key) DO NOTHING",
		id, fold.Key(n.Name), n.Name, said(n.Title), said(n.Description), cleanList(n.Tags), n.By, now, now); err != nil {
		return PublishedSkill{}, err
	}
	p, err := publishedSkill(ctx, tx, n.Name, tx.forUpdate())
	if !n.Draft { // what is offered is described by what it says, not by a draft
		p.Title, p.Description, p.Tags = said(n.Title), said(n.Description), n.Tags
	}
	return p, err
}

// newest returns the version that n becomes: the newest one if it has the same files, else
// a new one.
func (v Versions) newest(ctx context.Context, tx *tx, p *PublishedSkill, n NewVersion, digest skill.Digest) (Version, error) {
	all, err := versionsOf(ctx, tx, p.ID)
	if err != nil {
		return Version{}, err
	}
	for _, old := range all {
		if n.Label != "" && old.Label == n.Label && (old.Tree != digest || n.Force || old.Number != p.Latest) {
			return Version{}, labelTaken(old)
		}
	}
	if len(all) > 0 && all[0].Tree == digest && !n.Force {
		same := all[0]
		if n.Label == "" || n.Label == same.Label {
			return same, nil
		}
		if same.Label != "" {
			return Version{}, fmt.Errorf("%w: these files are version %s of %s already", ErrLabelTaken, same.Label, p.Name)
		}
		same.Label = n.Label
		_, err := tx.ExecContext(ctx, "UPDATE skill_versions SET label = ? WHERE tenant = :tenant AND id = ?", n.Label, same.ID)
		return same, err
	}
	id, err := v.s.newID(tx.now)
	if err != nil {
		return Version{}, err
	}
	p.Latest++
	out := Version{
		ID: id, Skill: p.ID, Name: p.Name, Number: p.Latest, Label: n.Label, Tree: digest,
		Snapshot: json.RawMessage(cleanJSON(n.Snapshot, "{}")), Licence: json.RawMessage(cleanJSON(n.Licence, "{}")),
		Note: said(n.Note), Scan: n.Scan, CreatedBy: n.By, CreatedAt: tx.now, Created: true,
	}
	if !n.Draft {
		out.PublishedAt, out.Released = tx.now, true
	}
	var text any // NULL: versions without a label are not each other's
	if out.Label != "" {
		text = out.Label
	}
	return out, tx.insert(ctx, "skill_versions",
		[]string{"id", "skill_id", "number", "label", "tree_digest", "snapshot", "note", "licence", "scan_id", "created_by", "created_at", "published_at"},
		[]any{
			out.ID, out.Skill, out.Number, text, string(digest), string(out.Snapshot), out.Note, string(out.Licence), out.Scan,
			out.CreatedBy, out.CreatedAt.UnixMicro(), micro(out.PublishedAt),
		})
}

// offer publishes a version and makes it the one that its skill offers.
func offer(ctx context.Context, tx *tx, p *PublishedSkill, v *Version) error {
	v.Released = v.Released || p.Status != Published || v.Status() != Published
	p.Status, p.Active = Published, v.ID
	if v.Status() == Published {
		return nil
	}
	if v.PublishedAt.IsZero() {
		v.PublishedAt = tx.now
	}
	return mark(ctx, tx, v, false)
}

// mark writes whether a version is archived; the time when it was published stays.
func mark(ctx context.Context, tx *tx, v *Version, archived bool) error {
	v.ArchivedAt = moment(0)
	if archived {
		v.ArchivedAt = tx.now
	}
	_, err := tx.ExecContext(ctx, "UPDATE skill_versions SET published_at = ?, archived_at = ? WHERE tenant = :tenant AND id = ?",
		micro(v.PublishedAt), micro(v.ArchivedAt), v.ID)
	return err
}

// done writes the skill's row, who is to hear of it, and the record.
func (v Versions) done(ctx context.Context, tx *tx, p PublishedSkill, about Version, by, kind, action string) error {
	var active any
	if p.Active != "" {
		active = p.Active
	}
	if _, err := tx.ExecContext(ctx, "UPDATE skills SET status = ?, active_version = ?, latest_version = ?, title = ?, description = ?, tags = ?, updated_at = ? "+
		"WHERE tenant = :tenant AND id = ?", string(p.Status), active, p.Latest, p.Title, p.Description, cleanList(p.Tags), tx.now.UnixMicro(), p.ID); err != nil {
		return err
	}
	if err := publish(ctx, tx, []Change{{Kind: kind, Key: fold.Key(p.Name)}}); err != nil {
		return err
	}
	row := AuditRow{Time: tx.now, Origin: "interactive", Action: action, Actor: "user", After: []string{p.Name}}
	if about.ID != "" {
		row.Versions = map[string]string{p.Name: string(about.Tree)}
	}
	row.Detail = json.RawMessage(jsonText(map[string]string{"version": about.ID, "status": string(p.Status), "by": by}))
	return tx.insert(ctx, "skill_audit", skillColumns, row.values())
}

// change runs f on the row of a skill that nobody else changes meanwhile; ErrNotFound.
func (v Versions) change(ctx context.Context, name, by, kind string, f func(tx *tx, p *PublishedSkill) error) error {
	if v.dry { // a database that is not there is read as nothing
		if _, err := v.Skill(ctx, name); err != nil {
			return err
		}
	}
	return v.write(ctx, func(tx *tx) error {
		p, err := publishedSkill(ctx, tx, name, tx.forUpdate())
		if err != nil {
			return err
		}
		if err := f(tx, &p); err != nil {
			return err
		}
		about, err := findVersion(ctx, tx, p, p.Active)
		if err != nil {
			about = Version{}
		}
		return v.done(ctx, tx, p, about, by, kind, "publish")
	})
}

// Release publishes the version that want names (see Find), a draft or an archived one,
// and offers it. One that is published is ErrTransition.
func (v Versions) Release(ctx context.Context, name, want, by string) (out Version, err error) {
	err = v.change(ctx, name, by, ChangedSkills, func(tx *tx, p *PublishedSkill) error {
		if out, err = findVersion(ctx, tx, *p, want); err != nil {
			return err
		}
		if out.Status() == Published && p.Status == Published {
			return fmt.Errorf("%w: version %s of %s is published", ErrTransition, out, p.Name)
		}
		return offer(ctx, tx, p, &out)
	})
	return out, err
}

// Archive no longer offers a skill, or with want (see Find) one version of it: then the
// greatest number that is still published is offered. ErrTransition for what is not
// published, and for the last version of a skill.
func (v Versions) Archive(ctx context.Context, name, want, by string) error {
	return v.change(ctx, name, by, ChangedSkills, func(tx *tx, p *PublishedSkill) error {
		if p.Status != Published {
			return fmt.Errorf("%w: %s is %s", ErrTransition, p.Name, p.Status)
		}
		if want == "" {
			p.Status = Archived
			return nil
		}
		old, err := findVersion(ctx, tx, *p, want)
		if err != nil {
			return err
		}
		if old.Status() != Published {
			return fmt.Errorf("%w: version %s of %s is %s", ErrTransition, old, p.Name, old.Status())
		}
		if err := mark(ctx, tx, &old, true); err != nil || p.Active != old.ID {
			return err
		}
		all, err := versionsOf(ctx, tx, p.ID)
		if err != nil {
			return err
		}
		next := slices.IndexFunc(all, func(v Version) bool { return v.ID != old.ID && v.Status() == Published })
		if next < 0 {
			return fmt.Errorf("%w: version %s is the only one of %s that is published; archive the skill", ErrTransition, old, p.Name)
		}
		p.Active = all[next].ID
		return nil
	})
}

// Restore offers an archived skill again. One that is not archived is ErrTransition.
func (v Versions) Restore(ctx context.Context, name, by string) error {
	return v.change(ctx, name, by, ChangedSkills, func(_ *tx, p *PublishedSkill) error {
		if p.Status != Archived {
			return fmt.Errorf("%w: %s is %s", ErrTransition, p.Name, p.Status)
		}
		p.Status = Published
		return nil
	})
}

// Offer is a version that is used, and its files.
type Offer struct {
	Version
	Strategy Strategy // "" = nobody chose
	Files    skill.Tree
	Damaged  error // why there are no Files; else nil
}

// Offers returns, by name, which version of each skill is used: the one that was chosen,
// else the one that is offered. Skills that are drafts, archived (but for a pin) or used
// live are left out.
func (v Versions) Offers(ctx context.Context) (out []Offer, err error) {
	err = v.s.read(ctx, func(q querier) error {
		out, err = scanAll(ctx, q, func(o *Offer, scan func(...any) error) error {
			var entries string
			if err := o.scan(scan, &o.Strategy, &entries); err != nil {
				return err
			}
			o.Files, _, o.Damaged = readTree(o.Tree, entries)
			return nil
		}, offers)
		return err
	})
	return out, err
}

const offers = "SELECT " + versionColumns + ", coalesce(c.strategy, ''), t.entries FROM skills s " +
	"LEFT JOIN version_choices c ON c.tenant = s.tenant AND c.skill_id = s.id " +
	"JOIN skill_versions v ON v.tenant = s.tenant AND v.skill_id = s.id AND v.id = CASE coalesce(c.strategy, '') " +
	"WHEN 'pin' THEN c.value " +
	"WHEN 'channel' THEN (SELECT h.version_id FROM channels h WHERE h.tenant = s.tenant AND h.skill_id = s.id AND h.channel = c.value) " +
	"WHEN 'latest' THEN (SELECT l.id FROM skill_versions l WHERE l.tenant = s.tenant AND l.skill_id = s.id " +
	"AND l.published_at IS NOT NULL AND l.archived_at IS NULL ORDER BY l.number DESC LIMIT 1) " +
	"WHEN 'live' THEN NULL ELSE s.active_version END " +
	"JOIN trees t ON t.tenant = v.tenant AND t.digest = v.tree_digest " +
	"WHERE s.tenant = :tenant AND (s.status = 'published' OR c.strategy = 'pin') ORDER BY s.key"
