package gate

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/deftskills/deft/skill"
)

// OtherArgs says what a grant makes of arguments that none of its constraints is about.
type OtherArgs string

// The words for arguments without a constraint. The zero value counts as OtherNone.
const (
	OtherNone OtherArgs = "none" // a call that has one is not covered
	OtherAny  OtherArgs = "any"  // they are free
)

// MaxGrantLife is the longest that a grant may last: a year, and a day for a leap year.
const MaxGrantLife = 366 * 24 * time.Hour

// Grant is a person's consent, given in advance, to calls of one principal. It is made by a
// person alone: by "deft grants add", or by the answer "always" to a question.
type Grant struct {
	ID        string `json:"id"`
	Principal string `json:"principal"` // "user", "agent:<id>", "job:<id>"; matched exactly

	// Tool is the registered name, Toolset the Tool.Set of several; exactly one is set.
	Tool    string `json:"tool,omitempty"`
	Toolset string `json:"toolset,omitempty"`

	// Rule are patterns like Bash(git fetch:*), parted by " ; ", that together must cover the
	// call as allow rules do; "" = no such demand. The arguments that they judge (command,
	// path, address) need no constraint.
	Rule        string       `json:"rule,omitempty"`
	Constraints []Constraint `json:"constraints,omitempty"` // all must hold
	OtherArgs   OtherArgs    `json:"other_args,omitempty"`

	MaxUses   int       `json:"max_uses,omitempty"` // 0 = no bound
	Used      int       `json:"used"`
	NotBefore time.Time `json:"not_before,omitzero"`
	Expires   time.Time `json:"expires"` // required; the moment itself is over

	// SkillHash binds the grant to a skill's tree: one active skill of the call must have
	// it; or to the Mark of the tool, which then must be what it was. "" = no such bond.
	SkillHash skill.Digest `json:"skill_hash,omitempty"`
	Workspace string       `json:"workspace,omitempty"` // absolute; "" = any

	CreatedBy string    `json:"created_by,omitempty"`
	CreatedAt time.Time `json:"created_at"`
	Reason    string    `json:"reason,omitempty"`
	Revoked   time.Time `json:"revoked,omitzero"` // zero = it is not
	RevokedBy string    `json:"revoked_by,omitempty"`
}

// Valid returns what keeps g from being made at now, nil if nothing does. It looks at g
// alone, not at which tools there are.
func (g Grant) Valid(now time.Time) error {
	var faults []error
	bad := func(when bool, format string, args ...any) {
		if when {
			faults = append(faults, fmt.Errorf("grant: "+format, args...))
		}
	}
	bad(g.Principal == "", "no principal")
	bad((g.Tool == "") == (g.Toolset == ""), "it names one tool or one toolset")
	bad(g.Expires.IsZero(), "no date on which it ends")
	bad(!g.Expires.IsZero() && !g.Expires.After(now), "it ends in the past")
	bad(g.Expires.Sub(now) > MaxGrantLife, "it ends in more than %d days", int(MaxGrantLife.Hours()/24))
	bad(!g.NotBefore.IsZero() && !g.NotBefore.Before(g.Expires), "it ends before it begins")
	bad(g.MaxUses < 0 || g.Used < 0, "a negative number of uses")
	bad(g.OtherArgs != "" && g.OtherArgs != OtherNone && g.OtherArgs != OtherAny, "other arguments are %s or %s, not %q", OtherNone, OtherAny, clip(string(g.OtherArgs)))
	for _, c := range g.Constraints {
		if err := c.valid(); err != nil {
			faults = append(faults, err)
		}
	}
	for _, r := range g.rules() {
		if r.Err != nil {
			faults = append(faults, r.Err)
		}
	}
	return errors.Join(faults...)
}

// Usable reports whether g may be used at now: it has begun, is neither over nor revoked,
// and has a use left.
func (g Grant) Usable(now time.Time) bool {
	return g.Revoked.IsZero() && !now.Before(g.NotBefore) && now.Before(g.Expires) &&
		g.Expires.Sub(g.CreatedAt) <= MaxGrantLife && (g.MaxUses == 0 || g.Used < g.MaxUses)
}

// rules are the patterns of g as allow rules.
func (g Grant) rules() []Rule {
	if strings.TrimSpace(g.Rule) == "" {
		return nil
	}
	var out []Rule
	for part := range strings.SplitSeq(g.Rule, " ; ") {
		out = append(out, NewRule(Allow, part))
	}
	return out
}

// GrantQuery says for which call grants are looked for.
type GrantQuery struct {
	Principal string
	Tool      string
	Toolset   string // of the tool; "" = it is in none
	Workspace string
	Now       time.Time
}

// Matches reports whether g is for such a call and may be used at q.Now. Whether its rule
// and its constraints cover the arguments is the gate's to say.
func (q GrantQuery) Matches(g Grant) bool {
	return g.Principal != "" && g.Principal == q.Principal &&
		(g.Tool != "" && g.Tool == q.Tool || g.Toolset != "" && g.Toolset == q.Toolset) &&
		(g.Workspace == "" || g.Workspace == q.Workspace) && g.Usable(q.Now)
}

// GrantStore keeps grants. Implementations are safe for concurrent use, by several
// processes where they share a database.
type GrantStore interface {
	// Candidates returns the grants that q matches, in any order. Damaged ones and those
	// of a newer format are left out. An error refuses the call.
	Candidates(ctx context.Context, q GrantQuery) ([]Grant, error)
	// Use is one transaction: it reads the grant again, checks that it is Usable at now,
	// counts the use and writes the row. ErrGrantUnusable = it cannot be used any more;
	// with this and any other error nothing is counted and nothing written.
	Use(ctx context.Context, id string, now time.Time, row Row) error
}

// sortGrants puts the one first that is lost first: the earliest end, then the fewest uses
// left, then the id.
func sortGrants(grants []Grant) {
	left := func(g Grant) int {
		if g.MaxUses == 0 {
			return math.MaxInt
		}
		return g.MaxUses - g.Used
	}
	slices.SortFunc(grants, func(a, b Grant) int {
		return cmp.Or(a.Expires.Compare(b.Expires), cmp.Compare(left(a), left(b)), cmp.Compare(a.ID, b.ID))
	})
}

// clone returns g without memory in common.
func (g Grant) clone() Grant {
	g.Constraints = slices.Clone(g.Constraints)
	for i, c := range g.Constraints {
		g.Constraints[i].Value = append(json.RawMessage(nil), c.Value...)
	}
	return g
}
