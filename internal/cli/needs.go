package cli

import (
	"context"
	"slices"
	"strings"

	"github.com/deftskills/deft/install"
	"github.com/deftskills/deft/skill"
)

// unmetJSON is one condition of a skill that does not hold here.
type unmetJSON struct {
	Code  string   `json:"code"`
	Names []string `json:"names"`
	Fix   string   `json:"fix"`
}

// bringNeeds brings in what skills need of others, each after its own checks and its own
// question, and returns those skills which may follow.
func (r *run) bringNeeds(ctx context.Context, i *install.Installer, f *install.Fetcher, got *install.Fetched, packs []install.Package, c install.Choice, doc *addJSON) ([]install.Package, error) {
	if !slices.ContainsFunc(packs, func(p install.Package) bool {
		return p.Skill != nil && len(install.NeedsOf(p.Skill)) > 0 || conditional(p.Skill)
	}) {
		return packs, nil
	}
	env, err := r.environment(ctx)
	if err != nil {
		return nil, err
	}
	own := *f
	needs, err := i.Needs(ctx, install.Resolver{
		Env: env, DefaultHost: r.config.Install.DefaultHost,
		Fetch: func(ctx context.Context, ref install.SourceRef, name string) (*install.Fetched, error) {
			own.Choose = func(list []install.Offer) []install.Offer {
				return slices.DeleteFunc(slices.Clone(list), func(have install.Offer) bool { return have.Name != name })
			}
			return r.fetch(ctx, &own, ref, c.Scope)
		},
	}, got, packs, c.Scope)
	if err != nil {
		return nil, err
	}
	for _, n := range needs.Notes {
		r.hintf("%s", r.reason(n))
	}
	for _, b := range needs.Batches {
		// What a person accepted was for what they named.
		choice := install.Choice{Scope: c.Scope, Agents: c.Agents, Copy: c.Copy, NeededBy: b.By}
		if err := r.carryOut(ctx, i, b.From, b.Packages, choice, doc); err != nil {
			return nil, err
		}
	}
	return slices.DeleteFunc(packs, func(p install.Package) bool {
		why, refused := needs.Refused[p.Dir]
		if refused {
			r.note(reasonExit(why.Code))
			doc.Refused = append(doc.Refused, rejectedJSON{p.Skill.Name, why.Code, why.Message})
		}
		return refused
	}), nil
}

func conditional(s *skill.Skill) bool { return s != nil && s.Meta.Conditions != nil }

// environment is what conditions of skills are judged against in this place.
func (r *run) environment(ctx context.Context) (skill.Environment, error) {
	e, err := r.open(ctx)
	if err != nil {
		return skill.Environment{}, err
	}
	return e.Environment(), nil
}

// judgeNeeds tells what of the conditions of installed skills does not hold, what was
// installed beside them counted.
func (r *run) judgeNeeds(ctx context.Context, doc *addJSON) error {
	if !slices.ContainsFunc(doc.Installed, func(in installedJSON) bool { return conditional(in.skill) }) {
		return nil
	}
	env, err := r.environment(ctx)
	if err != nil {
		return err
	}
	there := skills{env.Skills, map[string]string{}}
	for _, in := range doc.Installed {
		there.more[in.skill.Name] = in.skill.Meta.Version
	}
	env.Skills = there
	for at := range doc.Installed {
		in := &doc.Installed[at]
		for _, list := range skill.FindUnmet(in.skill.Meta.Conditions, env) {
			for _, u := range list.Each() {
				in.Unmet = append(in.Unmet, unmetJSON{u.Code, u.Names, r.fixOf(in.skill, u)})
			}
		}
	}
	return nil
}

// fixOf is what to do about a condition: for programs what the author says of installing
// them, as a text; nothing of it is run.
func (r *run) fixOf(s *skill.Skill, u skill.Unmet) string {
	if strings.Contains(u.Code, "bins") || u.Code == "dependencies" && strings.HasPrefix(u.Names[0], "bin ") {
		if steps := installs(s); len(steps) > 0 {
			return strings.Join(steps, "; ")
		}
	}
	return u.Fix()
}

// skills are those that are there, with what was just installed.
type skills struct {
	skill.Names
	more map[string]string
}

// Has implements skill.Names.
func (s skills) Has(name string) bool {
	_, ok := s.more[name]
	return ok || s.Names != nil && s.Names.Has(name)
}

// Version implements skill.VersionNames.
func (s skills) Version(name string) (string, bool) {
	if v, ok := s.more[name]; ok {
		return v, true
	}
	if v, ok := s.Names.(skill.VersionNames); ok {
		return v.Version(name)
	}
	return "", false
}
