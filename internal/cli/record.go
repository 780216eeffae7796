package cli

import (
	"errors"
	"slices"
	"strings"

	"github.com/deftskills/deft/registry"
	"github.com/deftskills/deft/skill"
	"github.com/deftskills/deft/source"
)

// skillJSON is one skill as every verb shows it.
type skillJSON struct {
	Name           string             `json:"name"`
	ID             skill.ID           `json:"id"`
	Title          string             `json:"title"`
	Description    string             `json:"description"`
	Location       string             `json:"location"`
	Dir            string             `json:"dir"`
	Digest         skill.Digest       `json:"digest"`
	State          registry.State     `json:"state"`
	Source         sourceJSON         `json:"source"`
	ModelInvocable bool               `json:"model_invocable"`
	UserInvocable  bool               `json:"user_invocable"`
	Tokens         tokensJSON         `json:"tokens"`
	ShadowedBy     *string            `json:"shadowed_by"` // the winner's location
	Diagnostics    []skill.Diagnostic `json:"diagnostics"`

	Address      string       `json:"address"`
	Group        string       `json:"group"`
	Aliases      []string     `json:"aliases"`
	ArgumentHint string       `json:"argument_hint"`
	Reasons      []reasonJSON `json:"reasons"`
}

type sourceJSON struct {
	ID      string       `json:"id"`
	Kind    source.Kind  `json:"kind"`
	Path    string       `json:"path"`
	Trust   source.Trust `json:"trust"`
	Version string       `json:"version"` // of a plugin; "" = none
}

// reasonJSON is a reason with every field there.
type reasonJSON struct {
	Code    string `json:"code"`
	Message string `json:"message"`
	Fix     string `json:"fix"`
	Path    string `json:"path"`
	Line    int    `json:"line"`
	By      string `json:"by"`
}

func reasonsJSON(list []registry.Reason) []reasonJSON {
	out := make([]reasonJSON, 0, len(list))
	for _, reason := range list {
		out = append(out, reasonJSON(reason))
	}
	return out
}

// tokensJSON counts tokens; nil = not counted.
type tokensJSON struct {
	Catalog *int `json:"catalog"`
	Body    *int `json:"body"`
}

func recordJSON(rec *registry.Record) skillJSON {
	s := rec.Skill
	j := skillJSON{
		Name: s.Name, ID: s.ID(), Title: s.Title, Description: s.Description,
		Location: rec.Location, Dir: rec.Dir, Digest: s.Digest, State: rec.State,
		Source:         sourceJSON{rec.Source.ID, rec.Source.Kind, rec.Source.Path, rec.Source.Trust, rec.Source.Version},
		ModelInvocable: rec.ForModel(),
		UserInvocable:  rec.State == registry.Available && s.Meta.UserInvocable,
		Diagnostics:    orEmptyList(s.Diagnostics), Address: rec.Address, Group: rec.Group,
		Aliases: orEmptyList(rec.Aliases), ArgumentHint: s.Meta.ArgumentHint, Reasons: reasonsJSON(rec.Reasons),
	}
	if rec.State == registry.Available && len(rec.NeedsSetup()) > 0 {
		j.State = registry.Unmet // its text is offered, its commands are not run
	}
	if rec.Winner != nil {
		j.ShadowedBy = &rec.Winner.Location
	}
	return j
}

func orEmptyList[T any](list []T) []T {
	if list == nil {
		return []T{}
	}
	return list
}

// byName orders records by name, then by location.
func byName(a, b *registry.Record) int {
	if c := strings.Compare(a.Skill.Name, b.Skill.Name); c != 0 {
		return c
	}
	return strings.Compare(a.Location, b.Location)
}

// split parts the records of a snapshot: those that count, those that lost, and the
// ones that cannot be used.
func split(snap *registry.Snapshot) (counting, shadowed, unusable []*registry.Record) {
	for _, rec := range snap.All {
		switch rec.State {
		case registry.Shadowed:
			shadowed = append(shadowed, rec)
		case registry.Invalid, registry.Untrusted:
			unusable = append(unusable, rec)
		case registry.Disabled:
			if denied(rec) {
				unusable = append(unusable, rec)
			} else {
				counting = append(counting, rec)
			}
		default:
			counting = append(counting, rec)
		}
	}
	for _, list := range [][]*registry.Record{counting, shadowed, unusable} {
		slices.SortFunc(list, byName)
	}
	return counting, shadowed, unusable
}

// denied reports whether nothing lifts that the skill is off.
func denied(rec *registry.Record) bool {
	return slices.ContainsFunc(rec.Reasons, func(why registry.Reason) bool { return why.Code == "denied" })
}

// find looks a skill up by the one rule for names. Close names for a person are
// those of every usable skill: the rule's own suggestions leave out what a model may
// not see.
func find(snap *registry.Snapshot, selector string) (*registry.Record, error) {
	rec, err := snap.Lookup(selector)
	var unknown *registry.UnknownError
	if errors.As(err, &unknown) && len(unknown.Origins) == 0 {
		var names []string
		for _, w := range snap.Winners {
			names = append(names, w.Address)
		}
		if near := closest(selector, names, 3); len(near) > 0 {
			return nil, &registry.UnknownError{Selector: unknown.Selector, Suggestions: near}
		}
	}
	return rec, err
}

func unknownSkill(err error) *failure {
	var u *registry.UnknownError
	if !errors.As(err, &u) {
		return nil
	}
	f := fail(Negative, "skill_unknown", "skill %q is not known", u.Selector)
	switch {
	case len(u.Origins) > 0:
		f.code = "skill_source_unknown"
		return f.hinted("hint.origins", strings.Join(u.Origins, ", "))
	case len(u.Suggestions) > 0:
		return f.hinted("hint.closest", strings.Join(u.Suggestions, ", "))
	}
	return f.hinted("hint.list")
}

func ambiguousSkill(err error) *failure {
	var a *registry.AmbiguousError
	if !errors.As(err, &a) {
		return nil
	}
	return fail(Negative, "skill_ambiguous", "skill %q is more than one", a.Selector).hinted("hint.one_of", strings.Join(a.Candidates, ", "))
}

// offered refuses a skill that no model gets: its text is for a person's review only.
func offered(rec *registry.Record) error {
	switch rec.State {
	case registry.Untrusted:
		return fail(Refused, "skill_untrusted", "skill %q is withheld: its folder is not trusted", rec.Skill.Name).hinted("hint.review", rec.Address)
	case registry.Disabled:
		return fail(Refused, "skill_disabled", "skill %q is off", rec.Skill.Name).hinted("hint.explain", rec.Address)
	case registry.Invalid:
		return fail(Negative, "skill_invalid", "skill %q cannot be used", rec.Skill.Name).hinted("hint.explain", rec.Address)
	}
	return nil
}
