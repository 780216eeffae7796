package gate

import (
	"context"
	"errors"
	"fmt"
	"path"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/deftskills/deft/skill"
)

// alwaysFor is how long the answer "always" holds where the person names no date.
const alwaysFor = 30 * 24 * time.Hour

// lookUp fills in the grants that cover a call, where a row of the table asks for one.
func (e *engine) lookUp(ctx context.Context, f *facts) {
	if c := f.row().code; c != CodeNoGrant && c != CodeFirstUse {
		return
	}
	q := GrantQuery{
		Principal: f.call.Principal, Tool: f.call.Tool, Toolset: f.tool.Set,
		Workspace: e.o.Paths.Workspace, Now: e.o.Now(),
	}
	var found []Grant
	found, f.grantFault = e.o.Grants.Candidates(ctx, q)
	for _, g := range found {
		if q.Matches(g) && f.coveredBy(g) {
			f.grants = append(f.grants, g)
		}
	}
	sortGrants(f.grants)
}

// coveredBy reports whether a grant for the tool covers this very call.
func (f *facts) coveredBy(g Grant) bool {
	s := f.subject
	if g.SkillHash != "" && string(g.SkillHash) != f.tool.Mark && !slices.ContainsFunc(f.call.Skills, func(k ActiveSkill) bool {
		return k.hash() == g.SkillHash && (k.Still == nil || k.Still())
	}) {
		return false
	}
	judged := s.judged(f.tool)
	bound := make([][]string, 0, len(g.Constraints)+len(judged))
	for _, c := range g.Constraints {
		keys := c.keys()
		// How a command, a path or an address begins says little of where it ends.
		if s.any || !c.holds(f.object) || c.Op == "prefix" && slices.Contains(judged, keys[0]) {
			return false
		}
		bound = append(bound, keys)
	}
	if rules := g.rules(); len(rules) > 0 {
		if !s.judge(rules).covered {
			return false
		}
		for _, key := range judged {
			bound = append(bound, []string{key})
		}
	}
	return g.OtherArgs == OtherAny || !s.any && !unbound(f.object, nil, bound)
}

// judged are the arguments that rules have a say in.
func (s *subject) judged(t Tool) []string {
	var keys []string
	for _, p := range t.Paths {
		keys = append(keys, p.Key)
		if p.Under != "" {
			keys = append(keys, p.Under)
		}
	}
	if t.Shell != "" {
		keys = append(keys, t.Shell)
	}
	if s.call.Host != "" {
		keys = append(keys, "url")
	}
	return keys
}

// useGrant counts a use of the first grant that still can be used, together with the row.
// Where none can be used any more the call is judged as one that no grant covers.
func (e *engine) useGrant(ctx context.Context, d Decision, f *facts) (Decision, error) {
	for len(f.grants) > 0 {
		d.GrantID = f.grants[0].ID
		switch err := e.o.Grants.Use(ctx, d.GrantID, e.o.Now(), e.row(f.call, d)); {
		case err == nil:
			return d, nil
		case !errors.Is(err, ErrGrantUnusable):
			return unavailable(d, err)
		}
		f.grants = f.grants[1:]
	}
	return e.settle(ctx, e.verdict(f), f)
}

// offers are the replies that a question takes, the mildest first, and the grant that
// "always" would make, without id and dates. nil = it makes none.
func (f *facts) offers(d Decision) (replies []Reply, always *Grant) {
	replies = []Reply{Once}
	if d.Key != "" {
		replies = append(replies, ForSession)
		if always = f.alwaysGrant(); always != nil {
			if len(f.asking()) > 0 && f.tool.Mark == "" {
				replies = append(replies, AlwaysForSkill)
			}
			replies = append(replies, Always)
		}
	}
	return append(replies, No), always
}

// asking are the active skills on whose behalf a call may be.
func (f *facts) asking() []ActiveSkill {
	return slices.DeleteFunc(slices.Clone(f.call.Skills), func(k ActiveSkill) bool {
		return k.Source == HostSource || k.hash() == ""
	})
}

// plainWord is a word that means itself in a rule.
var plainWord = regexp.MustCompile(`^[\pL\pN_./=+@%,-]+$`)

// alwaysGrant is a grant for what the session would remember: the tool, in the same
// directories, with the same programs and first words, at the same host. nil where that
// cannot be said in rules or where nobody is there to give it to.
func (f *facts) alwaysGrant() *Grant {
	s := f.subject
	if f.call.Principal == "" {
		return nil
	}
	var rules []string
	plain := true
	add := func(format, text string) {
		for word := range strings.SplitSeq(text, " ") {
			plain = plain && plainWord.MatchString(word)
		}
		if r := fmt.Sprintf(format, text); !slices.Contains(rules, r) {
			rules = append(rules, r)
		}
	}
	for _, t := range s.files {
		format := "Read(/%s/*)"
		if t.write {
			format = "Write(/%s/*)"
		}
		add(format, path.Dir(t.plain))
	}
	if s.call.Host != "" {
		add("WebFetch(domain:%s)", s.call.Host)
	}
	if s.shell != nil && s.shell.script != nil {
		for _, c := range s.shell.script.Commands {
			if words, ok := strings.CutPrefix(s.shell.prefix(c), "command "); ok {
				add("Bash(%s:*)", words)
			}
		}
	}
	g := Grant{
		Principal: f.call.Principal, Tool: f.call.Tool, Rule: strings.Join(rules, " ; "), OtherArgs: OtherAny,
		Workspace: f.workspace, SkillHash: skill.Digest(f.tool.Mark),
	}
	if !plain || !f.coveredBy(g) {
		return nil
	}
	return &g
}

// lasting is the grant that an answer makes, nil where it makes none. why says what is wrong
// with the answer.
func (e *engine) lasting(q *question, a Answer, now time.Time) (g *Grant, why string, err error) {
	if a.Reply != Always && a.Reply != AlwaysForSkill {
		return nil, "", nil
	}
	id, err := e.draw()
	if err != nil {
		return nil, "", err
	}
	made := q.always.clone()
	made.ID, made.CreatedAt, made.CreatedBy, made.Reason = "g_"+id, now, q.call.Principal, "answer to "+a.ConfirmID
	if made.Expires = a.Expires; made.Expires.IsZero() {
		made.Expires = now.Add(alwaysFor)
	}
	if a.Reply == AlwaysForSkill && made.SkillHash != "" {
		return nil, "the tool may become another one; it is allowed as it is now, or not always", nil
	}
	if a.Reply == AlwaysForSkill {
		asking := slices.DeleteFunc(q.asking, func(k ActiveSkill) bool { return a.Skill != "" && k.Name != a.Skill })
		if len(asking) != 1 {
			return nil, fmt.Sprintf("the answer names none of the %d skills that the call may be for", len(q.asking)), nil
		}
		made.SkillHash = asking[0].hash()
	}
	if bad := made.Valid(now); bad != nil {
		return nil, bad.Error(), nil
	}
	return &made, "", nil
}
