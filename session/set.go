package session

import (
	"context"
	"fmt"
	"slices"
	"strings"
)

// replace makes the session's set exactly the names of the request. Skills that the
// user started stay.
func (t *Turn) replace(ctx context.Context, r Request) (Result, error) {
	found, res, err := t.gather(ctx, r)
	if err != nil {
		return Result{}, err
	}
	if len(found) == 0 && len(r.Names) > 0 {
		return res, nil // none is valid: the former set stays
	}
	now := t.s.Layers()
	former := now.skillsOf(inSet)
	// What the user started is the user's: it stays as it is, named or not.
	users := now.skillsOf(func(a *Applied) bool { return !inSet(a) })
	found = slices.DeleteFunc(found, func(c *candidate) bool {
		i := slices.IndexFunc(users, func(a Applied) bool { return a.Owner.ID == c.act.Address })
		if i >= 0 {
			res.Loaded = append(res.Loaded, Loaded{Activation: *users[i].Skill, Repeat: true})
		}
		return i >= 0
	})
	if same(former, found) {
		res.Already = true
		for _, c := range found {
			res.Loaded = append(res.Loaded, c.loaded())
		}
		return res, nil
	}
	if refusal, err := t.weigh(r, found); refusal != nil || err != nil {
		if refusal != nil {
			res.Refused = append(res.Refused, *refusal)
			err = t.record(ctx, "replace", r, "", nil, refusal.Code, now, now)
		}
		return res, err
	}
	next := now.Without(func(a Applied) bool { return (a.Skill != nil || a.hooksAlone()) && inSet(&a) })
	set := t.s.nextSeq()
	for _, c := range found {
		a := c.applied(t, set)
		next = next.With(a)
		res.Loaded = append(res.Loaded, c.loaded())
		if declares(&a) {
			res.Limiting = append(res.Limiting, c.act.Address)
		}
	}
	action := "replace"
	if len(r.Names) == 0 {
		action = "clear"
	}
	if err := t.commit(ctx, action, r, strings.Join(r.Names, " "), nil, now, next); err != nil {
		return Result{}, err
	}
	for _, a := range former {
		if !slices.ContainsFunc(found, func(c *candidate) bool { return c.act.Address == a.Owner.ID }) {
			res.Replaced = append(res.Replaced, a.Owner.ID)
		}
	}
	return res, nil
}

// inSet reports whether a belongs to the set that the model replaces.
func inSet(a *Applied) bool { return a.Actor != ActorUser }

// gather prepares every name; names of one skill count once.
func (t *Turn) gather(ctx context.Context, r Request) (found []*candidate, res Result, err error) {
	for _, name := range r.Names {
		c, refusal, err := t.prepare(ctx, r, name)
		if err != nil {
			return nil, Result{}, err
		}
		if refusal != nil {
			refusal.settle(t, c, r.Actor)
			res.Refused = append(res.Refused, *refusal)
			now := t.s.Layers()
			if err := t.record(ctx, "activate", r, name, c, refusal.Code, now, now); err != nil {
				return nil, Result{}, err
			}
			t.recorded = false // the set's own record is to come
			continue
		}
		if !slices.ContainsFunc(found, func(o *candidate) bool { return o.rec.Address == c.rec.Address }) {
			found = append(found, c)
		}
	}
	return found, res, nil
}

// same reports whether the set is active already, in order and with these texts.
func same(former []Applied, found []*candidate) bool {
	return slices.EqualFunc(former, found, func(a Applied, c *candidate) bool {
		return a.Owner.ID == c.act.Address && a.Skill.Digest == c.act.Digest && a.Skill.Args == c.act.Args && !a.Skill.InResult && !c.anew
	})
}

// weigh renders the set and holds it against the limits of one set. Over a limit the
// refusal names the size of each member.
func (t *Turn) weigh(r Request, found []*candidate) (*Refusal, error) {
	total := 0
	var sizes []string
	for _, c := range found {
		if err := c.render(t, r); err != nil {
			return nil, err
		}
		c.act.Tokens = t.s.count(c.text)
		total += c.act.Tokens
		sizes = append(sizes, fmt.Sprintf("%s %d", field(c.act.Address), c.act.Tokens))
	}
	skills, tokens := t.s.o.Limits.SetSkills, t.s.o.Limits.SetTokens
	if len(found) <= skills && total <= tokens {
		return nil, nil
	}
	return &Refusal{
		Code: "set_too_large",
		Message: fmt.Sprintf("the set has %d skills of %d tokens; at most %d skills and %d tokens fit. Tokens of each: %s. The former set stays.",
			len(found), total, skills, tokens, strings.Join(sizes, ", ")),
	}, nil
}
