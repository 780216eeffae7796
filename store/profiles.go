package store

import (
	"context"
	"fmt"
	"slices"
	"time"
)

// Profile is a saved selection of skills. A profile of the same name in config.yaml
// wins over it; merging the two is for whoever reads both.
type Profile struct {
	Name      string
	Title     string    // for people; may be ""
	Extends   string    // the profile below it, saved or of config.yaml; "" = none
	Include   []string  // selectors and globs; empty = all
	Exclude   []string  // beats Include
	CreatedAt time.Time // UTC, set by SaveProfile
	UpdatedAt time.Time // UTC, set by SaveProfile
	UpdatedBy string    // who, such as "cli"; may be ""
}

// Choice is the profile that a project uses.
type Choice struct {
	Root      string // resolved path of the project
	Profile   string // its name, saved or of config.yaml
	UpdatedAt time.Time
	UpdatedBy string
}

func profiles() table[Profile] {
	return table[Profile]{
		"profiles",
		[]string{"name", "title", "extends", "include", "exclude", "created_at", "updated_at", "updated_by"},
		func(r *Profile) []column {
			return []column{
				text(&r.Name), text(&r.Title), text(&r.Extends), list(&r.Include), list(&r.Exclude),
				at(&r.CreatedAt), at(&r.UpdatedAt), text(&r.UpdatedBy),
			}
		},
	}
}

func choices() table[Choice] {
	return table[Choice]{
		"profile_choices",
		[]string{"root", "profile", "updated_at", "updated_by"},
		func(r *Choice) []column {
			return []column{text(&r.Root), text(&r.Profile), at(&r.UpdatedAt), text(&r.UpdatedBy)}
		},
	}
}

// Profile returns the saved profile of a name, ErrNotFound without one.
func (s *Store) Profile(ctx context.Context, name string) (Profile, error) {
	return one(ctx, s, profiles(), name)
}

// Profiles returns the saved profiles in the order of names.
func (s *Store) Profiles(ctx context.Context) ([]Profile, error) {
	return listed(ctx, s, profiles(), "")
}

// SaveProfile saves p over the profile of its name. It refuses with ErrCycle when
// saved profiles would extend each other in a circle; Extends may name one that is
// not saved here.
func (s *Store) SaveProfile(ctx context.Context, p Profile) error {
	if p.Name == "" {
		return fmt.Errorf("%w: a profile without a name", ErrInvalid)
	}
	return s.update(ctx, "state.save", func(c *change) error {
		all, err := profiles().list(ctx, c.tx, "")
		if err != nil {
			return err
		}
		extends := map[string]string{}
		p.CreatedAt, p.UpdatedAt = c.now, c.now
		for _, other := range all {
			extends[other.Name] = other.Extends
			if other.Name == p.Name {
				p.CreatedAt = other.CreatedAt
			}
		}
		extends[p.Name] = p.Extends
		if err := circle(extends, p.Name); err != nil {
			return err
		}
		return profiles().put(c, p)
	})
}

// circle goes up one level at a time.
func circle(extends map[string]string, name string) error {
	way := []string{name}
	for next := extends[name]; next != ""; next = extends[next] {
		if slices.Contains(way, next) {
			return fmt.Errorf("%w: %q", ErrCycle, append(way, next))
		}
		way = append(way, next)
	}
	return nil
}

// DeleteProfile forgets a saved profile. Choices that name it stay: config.yaml may
// have one of the name. None there is ErrNotFound.
func (s *Store) DeleteProfile(ctx context.Context, name string) error {
	return s.update(ctx, "state.save", func(c *change) error {
		if err := profiles().drop(c, "name = ?", name); err != nil || c.changed {
			return err
		}
		return fmt.Errorf("profile %q: %w", name, ErrNotFound)
	})
}

// ChooseProfile saves which profile the project at root uses; "" forgets the choice.
// Links in root are resolved, and the choice is found by the resolved path.
func (s *Store) ChooseProfile(ctx context.Context, root, profile, by string) error {
	root, err := resolve(root)
	if err != nil {
		return err
	}
	return s.update(ctx, "state.save", func(c *change) error {
		if profile == "" {
			return choices().drop(c, "root = ?", root)
		}
		return choices().put(c, Choice{root, profile, c.now, by})
	})
}

// ChosenProfile returns the profile of exactly this resolved root, "" when there is
// none.
func (s *Store) ChosenProfile(ctx context.Context, root string) (string, error) {
	rows, err := listed(ctx, s, choices(), "root = ?", root)
	if err != nil || len(rows) == 0 {
		return "", err
	}
	return rows[0].Profile, nil
}
