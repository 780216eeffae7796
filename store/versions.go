package store

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/deftskills/deft/internal/fold"
	"github.com/deftskills/deft/skill"
)

// VersionStatus says how a published skill or one of its versions stands.
type VersionStatus string

// The states: draft to published, published to archived and back.
const (
	Draft     VersionStatus = "draft"     // never published: only its author asks for it
	Published VersionStatus = "published" // offered
	Archived  VersionStatus = "archived"  // no longer offered; who pinned it keeps it
)

// PublishedSkill is a skill that the store has versions of.
type PublishedSkill struct {
	ID, Name    string
	Status      VersionStatus
	Active      string // id of the version that is offered; "" = none was published
	Latest      int64  // greatest number so far, drafts too
	Title       string
	Description string
	Tags        []string
	Owner       string    // who published first; may be ""
	CreatedAt   time.Time // UTC, as the next one
	UpdatedAt   time.Time
}

// Version is one version of a skill. Its files are those of Tree.
type Version struct {
	ID, Skill, Name string // of the version, the skill's id and its name
	Number          int64  // from 1
	Label           string // semantic version, unique within the skill; "" = none
	Tree            skill.Digest
	Snapshot        json.RawMessage // header fields and lists of files, an object
	Note            string
	Licence         json.RawMessage // the verdict that it was published with, an object
	Scan            string          // what identifies the scan that it passed; "" = none
	CreatedBy       string
	CreatedAt       time.Time // UTC, as the next ones
	PublishedAt     time.Time // zero = a draft
	ArchivedAt      time.Time // zero = not archived

	// Created says that publishing made this version: false when its files were there.
	Created bool
	// Released says that publishing offered it: it was new, a draft, or archived.
	Released bool
	// Warnings are what publishing found and did not refuse.
	Warnings []string
}

// Status returns how the version stands.
func (v Version) Status() VersionStatus {
	switch {
	case v.PublishedAt.IsZero():
		return Draft
	case !v.ArchivedAt.IsZero():
		return Archived
	}
	return Published
}

// String is the label, or the number of a version without one.
func (v Version) String() string {
	if v.Label != "" {
		return v.Label
	}
	return strconv.FormatInt(v.Number, 10)
}

// Versions are the published skills of a Store.
type Versions struct {
	s   *Store
	dry bool
}

// Versions returns the published skills.
func (s *Store) Versions() Versions { return Versions{s: s} }

// DryRun returns Versions that refuse what would be refused, and keep nothing.
func (v Versions) DryRun() Versions {
	v.dry = true
	return v
}

const (
	publishedColumns = "SELECT s.id, s.name, s.status, coalesce(s.active_version, ''), s.latest_version, s.title, s.description, s.tags, s.owner, " +
		"s.created_at, s.updated_at FROM skills s WHERE s.tenant = :tenant"
	versionColumns = "v.id, v.skill_id, s.name, v.number, coalesce(v.label, ''), v.tree_digest, v.snapshot, v.note, v.licence, v.scan_id, " +
		"v.created_by, v.created_at, coalesce(v.published_at, 0), coalesce(v.archived_at, 0)"
	versionRows = "SELECT " + versionColumns + " FROM skill_versions v JOIN skills s ON s.tenant = v.tenant AND s.id = v.skill_id WHERE v.tenant = :tenant"
)

func (p *PublishedSkill) scan(scan func(...any) error) error {
	var tags string
	var created, updated int64
	err := scan(&p.ID, &p.Name, &p.Status, &p.Active, &p.Latest, &p.Title, &p.Description, &tags, &p.Owner, &created, &updated)
	if err != nil {
		return err
	}
	p.CreatedAt, p.UpdatedAt = moment(created), moment(updated)
	if err := json.Unmarshal([]byte(tags), &p.Tags); err != nil {
		return &rowDamage{"skills", p.ID}
	}
	return nil
}

func (v *Version) scan(scan func(...any) error, more ...any) error {
	var snapshot, licence string
	var created, published, archived int64
	err := scan(append([]any{
		&v.ID, &v.Skill, &v.Name, &v.Number, &v.Label, &v.Tree, &snapshot, &v.Note, &licence, &v.Scan,
		&v.CreatedBy, &created, &published, &archived,
	}, more...)...)
	v.Snapshot, v.Licence = json.RawMessage(snapshot), json.RawMessage(licence)
	v.CreatedAt, v.PublishedAt, v.ArchivedAt = moment(created), moment(published), moment(archived)
	return err
}

func moment(micro int64) time.Time {
	if micro == 0 {
		return time.Time{}
	}
	return time.UnixMicro(micro).UTC()
}

// Skills returns every published skill, by name.
func (v Versions) Skills(ctx context.Context) (out []PublishedSkill, err error) {
	err = v.s.read(ctx, func(q querier) error {
		out, err = scanAll(ctx, q, func(p *PublishedSkill, scan func(...any) error) error { return p.scan(scan) },
			publishedColumns+" ORDER BY s.key")
		return err
	})
	return out, err
}

// scanAll reads every row of a query.
func scanAll[T any](ctx context.Context, q querier, scan func(*T, func(...any) error) error, query string, args ...any) (out []T, err error) {
	rows, err := q.QueryContext(ctx, query, args...)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	for rows.Next() {
		var row T
		if err := scan(&row, rows.Scan); err != nil {
			return nil, err
		}
		out = append(out, row)
	}
	return out, rows.Err()
}

// Skill returns the published skill of a name, as names are compared; ErrNotFound.
func (v Versions) Skill(ctx context.Context, name string) (p PublishedSkill, err error) {
	err = v.s.read(ctx, func(q querier) error {
		p, err = publishedSkill(ctx, q, name, "")
		return err
	})
	if err == nil && p.ID == "" {
		err = noSkill(name)
	}
	return p, err
}

func noSkill(name string) error { return fmt.Errorf("published skill %.140q: %w", name, ErrNotFound) }

func publishedSkill(ctx context.Context, q querier, name, lock string) (p PublishedSkill, err error) {
	err = p.scan(q.QueryRowContext(ctx, publishedColumns+" AND s.key = ?"+lock, fold.Key(name)).Scan)
	if errors.Is(err, sql.ErrNoRows) {
		err = noSkill(name)
	}
	return p, err
}

// List returns the versions of a skill, the newest first; ErrNotFound without the skill.
func (v Versions) List(ctx context.Context, name string) (out []Version, err error) {
	found := false
	err = v.s.read(ctx, func(q querier) error {
		p, err := publishedSkill(ctx, q, name, "")
		if err != nil {
			return err
		}
		found = true
		out, err = versionsOf(ctx, q, p.ID)
		return err
	})
	if err == nil && !found {
		err = noSkill(name)
	}
	return out, err
}

func versionsOf(ctx context.Context, q querier, id string) ([]Version, error) {
	return scanAll(ctx, q, func(v *Version, scan func(...any) error) error { return v.scan(scan) },
		versionRows+" AND v.skill_id = ? ORDER BY v.number DESC", id)
}

// Find returns the version of a skill that a person names: by its number, its label, its
// id or a channel; "" is the one that is offered, "latest" the greatest number of those
// that are published. ErrNotFound without the skill, ErrUnknownVersion with what there is.
func (v Versions) Find(ctx context.Context, name, want string) (out Version, err error) {
	found := false
	err = v.s.read(ctx, func(q querier) error {
		p, err := publishedSkill(ctx, q, name, "")
		if err == nil {
			out, err = findVersion(ctx, q, p, want)
		}
		found = err == nil
		return err
	})
	if err == nil && !found {
		err = noSkill(name)
	}
	return out, err
}

func findVersion(ctx context.Context, q querier, p PublishedSkill, want string) (Version, error) {
	all, err := versionsOf(ctx, q, p.ID)
	if err != nil {
		return Version{}, err
	}
	channels, err := channelsOf(ctx, q, p.ID)
	if err != nil {
		return Version{}, err
	}
	id := want
	if want == "" {
		id = p.Active
	}
	for _, c := range channels {
		if c.Name == want {
			id = c.Version
		}
	}
	for _, v := range all {
		latest := want == "latest" && v.Status() == Published
		if latest || v.ID == id || want != "" && (v.Label == want || strconv.FormatInt(v.Number, 10) == want) {
			return v, nil
		}
	}
	return Version{}, unknownVersion(p, want, all, channels)
}

// unknownVersion names what there is, the nearest first.
func unknownVersion(p PublishedSkill, want string, all []Version, channels []Channel) error {
	var there []string
	for _, v := range all {
		there = append(there, v.String())
	}
	for _, c := range channels {
		there = append(there, c.Name)
	}
	slices.SortStableFunc(there, func(a, b string) int { return fold.Distance(want, a, 8) - fold.Distance(want, b, 8) })
	if want == "" {
		want = string(Published)
	}
	return fmt.Errorf("%w: %s has no version %.64q; there are: %s", ErrUnknownVersion, p.Name, want, strings.Join(there[:min(5, len(there))], ", "))
}

// label is a semantic version, without "v".
var label = regexp.MustCompile(`^(0|[1-9][0-9]{0,8})\.(0|[1-9][0-9]{0,8})\.(0|[1-9][0-9]{0,8})(-[0-9A-Za-z.-]{1,64})?(\+[0-9A-Za-z.-]{1,64})?$`)

// CheckLabel says whether a text can label a version: a semantic version, or "" for none.
func CheckLabel(text string) error {
	if text != "" && !label.MatchString(text) {
		return fmt.Errorf("%w: label %.64q; want a version such as 1.2.0", ErrInvalid, text)
	}
	return nil
}
