package store

import (
	"context"
	"fmt"
	"regexp"
	"time"
)

// Channel is a name that stands for a version until it is moved, such as stable.
type Channel struct {
	Name    string
	Version string    // id
	MovedAt time.Time // UTC
	MovedBy string
}

var channelName = regexp.MustCompile(`^[a-z][a-z0-9-]{0,31}$`)

// CheckChannel says whether a text can name a channel.
func CheckChannel(name string) error {
	if !channelName.MatchString(name) || name == "latest" {
		return fmt.Errorf("%w: channel %.64q; want a lower-case word other than latest", ErrInvalid, name)
	}
	return nil
}

// Channels returns the channels of a skill by name; none for a skill that is not there.
func (v Versions) Channels(ctx context.Context, name string) (out []Channel, err error) {
	err = v.s.read(ctx, func(q querier) error {
		p, err := publishedSkill(ctx, q, name, "")
		if err == nil {
			out, err = channelsOf(ctx, q, p.ID)
		}
		return err
	})
	return out, err
}

func channelsOf(ctx context.Context, q querier, id string) ([]Channel, error) {
	return scanAll(ctx, q, func(c *Channel, scan func(...any) error) error {
		var at int64
		err := scan(&c.Name, &c.Version, &at, &c.MovedBy)
		c.MovedAt = moment(at)
		return err
	}, "SELECT channel, version_id, moved_at, moved_by FROM channels WHERE tenant = :tenant AND skill_id = ? ORDER BY channel", id)
}

// MoveChannel lets a channel of a skill stand for the version that want names (see Find).
// A draft is ErrTransition.
func (v Versions) MoveChannel(ctx context.Context, name, channel, want, by string) error {
	return v.change(ctx, name, by, ChangedChannels, func(tx *tx, p *PublishedSkill) error {
		to, err := findVersion(ctx, tx, *p, want)
		if err != nil {
			return err
		}
		return moveChannel(ctx, tx, to, channel, by)
	})
}

func moveChannel(ctx context.Context, tx *tx, to Version, channel, by string) error {
	if err := CheckChannel(channel); err != nil {
		return err
	}
	if to.Status() == Draft {
		return fmt.Errorf("%w: version %s of %s is a draft; no channel leads to it", ErrTransition, to, to.Name)
	}
	_, err := tx.ExecContext(ctx, "INSERT INTO channels (tenant, skill_id, channel, version_id, moved_at, moved_by) VALUES (:tenant, ?, ?, ?, ?, ?) "+
		"ON CONFLICT (tenant, skill_id, channel) DO UPDATE SET version_id = excluded.version_id, moved_at = excluded.moved_at, moved_by = excluded.moved_by",
		to.Skill, channel, to.ID, tx.now.UnixMicro(), by)
	return err
}

// Strategy says which version of a skill is used.
type Strategy string

// The strategies. Without one, the version that is offered is used.
const (
	UseLatest  Strategy = "latest"  // the greatest number that is published
	UsePin     Strategy = "pin"     // one version, also when it is archived
	UseChannel Strategy = "channel" // what the channel stands for
	UseLive    Strategy = "live"    // no version: the skill's directory
)

// VersionChoice is which version of a skill a person wants to be used.
type VersionChoice struct {
	Strategy Strategy // "" = none was chosen
	Value    string   // id of the version (pin) or the channel; else ""
	At       time.Time
	By       string
}

// Choose says which version of a skill is used from now on; the zero Strategy takes a
// choice back. Value is what Find takes for a pin, and the name of a channel that is
// there. A pin to a draft is ErrTransition, to an archived version it holds.
func (v Versions) Choose(ctx context.Context, name string, c VersionChoice) (out VersionChoice, err error) {
	err = v.change(ctx, name, c.By, ChangedSkills, func(tx *tx, p *PublishedSkill) error {
		out = VersionChoice{Strategy: c.Strategy, At: tx.now, By: c.By}
		if _, err := tx.ExecContext(ctx, "DELETE FROM version_choices WHERE tenant = :tenant AND skill_id = ?", p.ID); err != nil {
			return err
		}
		switch c.Strategy {
		case "":
			return nil
		case UseLatest, UseLive:
		case UsePin:
			to, err := findVersion(ctx, tx, *p, c.Value)
			if err != nil {
				return err
			}
			if to.Status() == Draft {
				return fmt.Errorf("%w: version %s of %s is a draft", ErrTransition, to, p.Name)
			}
			out.Value = to.ID
		case UseChannel:
			if err := CheckChannel(c.Value); err != nil {
				return err
			}
			if _, err := findVersion(ctx, tx, *p, c.Value); err != nil {
				return err
			}
			out.Value = c.Value
		default:
			return fmt.Errorf("%w: strategy %.64q; want latest, pin, channel or live", ErrInvalid, string(c.Strategy))
		}
		return tx.insert(ctx, "version_choices", []string{"skill_id", "strategy", "value", "chosen_at", "chosen_by"},
			[]any{p.ID, string(c.Strategy), out.Value, tx.now.UnixMicro(), c.By})
	})
	return out, err
}

// Chosen returns which version of a skill is to be used; the zero value when nobody chose.
func (v Versions) Chosen(ctx context.Context, name string) (c VersionChoice, err error) {
	err = v.s.read(ctx, func(q querier) error {
		p, err := publishedSkill(ctx, q, name, "")
		if err != nil {
			return err
		}
		all, err := scanAll(ctx, q, func(c *VersionChoice, scan func(...any) error) error {
			var at int64
			err := scan(&c.Strategy, &c.Value, &at, &c.By)
			c.At = moment(at)
			return err
		}, "SELECT strategy, value, chosen_at, chosen_by FROM version_choices WHERE tenant = :tenant AND skill_id = ?", p.ID)
		if len(all) > 0 {
			c = all[0]
		}
		return err
	})
	return c, err
}
