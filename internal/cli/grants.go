package cli

import (
	"context"
	"errors"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/pflag"

	"github.com/deftskills/deft/gate"
	"github.com/deftskills/deft/internal/safetext"
	"github.com/deftskills/deft/store"
	"github.com/deftskills/deft/toolset"
)

func grantsVerb() verb {
	reads, writes := effects{reads: true}, effects{reads: true, writes: true}
	var all bool
	return verb{
		name: "grants", args: "add|list|revoke", max: -1, group: groupHouse, joins: true, effects: reads,
		short: "consent given in advance: tool calls that may run while nobody is there",
		below: []verb{
			grantsAddVerb(),
			{
				name: "list", effects: reads, short: "the grants that can be used now",
				flags: func(f *pflag.FlagSet) {
					f.BoolVar(&all, "all", false, "those too that are over, used up or revoked")
				},
				run: func(ctx context.Context, r *run, _ []string) error { return r.grantsList(ctx, all) },
			},
			{
				name: "revoke", args: "ID…", min: 1, max: -1, effects: writes, short: "end grants: nothing is allowed by them any more",
				run: func(ctx context.Context, r *run, args []string) error { return r.grantsRevoke(ctx, args) },
			},
		},
	}
}

// grantOptions are the flags of grants add.
type grantOptions struct {
	principal, tool, toolset, rule, expires, reason, other, workspace string
	where                                                             []string
	uses                                                              int
}

// defaultUses says that --uses was not given.
const defaultUses = -1

func grantsAddVerb() verb {
	var o grantOptions
	return verb{
		name: "add", effects: effects{reads: true, writes: true}, short: "let calls of one tool run for a job, an agent or yourself, within bounds",
		long: "A constraint is PATH OP VALUE over the arguments: \"amount <= 100\", \"to = alice\", 'coin in [\"BTC\",\"ETH\"]',\n" +
			"\"note prefix order-\". All must hold. An argument without one is refused unless --other-args any is given.\n" +
			"Without --uses a tool of tier ALWAYS_CONFIRM may run once; MANUAL_ONLY is never granted.\n" +
			"The date itself counts; a grant lasts 366 days at most.",
		flags: func(f *pflag.FlagSet) {
			f.StringVar(&o.principal, "principal", "", "who it is for: user, agent:`ID` or job:ID")
			f.StringVar(&o.tool, "tool", "", "the tool, by its exact `NAME`")
			f.StringVar(&o.toolset, "toolset", "", "every tool of the toolset `NAME` instead")
			f.StringArrayVar(&o.where, "where", nil, "a constraint `C`; may be repeated")
			f.StringVar(&o.rule, "rule", "", "a `RULE` that must cover the call too, as Bash(git fetch:*)")
			f.IntVar(&o.uses, "uses", defaultUses, "how often, `N`; 0 = without a bound")
			f.StringVar(&o.expires, "expires", "", "the last `DATE`, as 2027-01-31, or how long, as 30d; required")
			f.StringVar(&o.reason, "reason", "", "why, as `TEXT` for whoever reads the list")
			f.StringVar(&o.other, "other-args", string(gate.OtherNone), "arguments without a constraint: none or `any`")
			f.StringVar(&o.workspace, "workspace", "", "only in the workspace `DIR`")
		},
		run: func(ctx context.Context, r *run, _ []string) error { return r.grantsAdd(ctx, o) },
	}
}

// grantsJSON is the document of every verb below grants.
type grantsJSON struct {
	Grants  []grantJSON `json:"grants"`
	Changed bool        `json:"changed"`
	Written bool        `json:"written"`
}

type grantJSON struct {
	ID        string   `json:"id"`
	Principal string   `json:"principal"`
	Tool      string   `json:"tool"`
	Toolset   string   `json:"toolset"`
	Rule      string   `json:"rule"`
	Where     []string `json:"where"`
	OtherArgs string   `json:"other_args"`
	Uses      int      `json:"uses"` // 0 = no bound
	Used      int      `json:"used"`
	Expires   string   `json:"expires"`
	Workspace string   `json:"workspace"`
	Skill     string   `json:"skill_digest"`
	State     string   `json:"state"` // usable, used_up, over, not_begun, revoked
	CreatedBy string   `json:"created_by"`
	CreatedAt string   `json:"created_at"` // "" = not yet
	Reason    string   `json:"reason"`
}

func (r *run) grantJSON(g gate.Grant) grantJSON {
	j := grantJSON{
		ID: g.ID, Principal: g.Principal, Tool: g.Tool, Toolset: g.Toolset, Rule: g.Rule, Where: []string{},
		OtherArgs: orElse(string(g.OtherArgs), string(gate.OtherNone)), Uses: g.MaxUses, Used: g.Used, Expires: g.Expires.Format(time.RFC3339),
		Workspace: g.Workspace, Skill: string(g.SkillHash), State: r.grantState(g), CreatedBy: g.CreatedBy, Reason: g.Reason,
	}
	if !g.CreatedAt.IsZero() {
		j.CreatedAt = g.CreatedAt.Format(time.RFC3339)
	}
	for _, c := range g.Constraints {
		j.Where = append(j.Where, c.String())
	}
	return j
}

func (r *run) grantState(g gate.Grant) string {
	now := r.proc.Now()
	switch {
	case !g.Revoked.IsZero():
		return "revoked"
	case !now.Before(g.Expires):
		return "over"
	case now.Before(g.NotBefore):
		return "not_begun"
	case g.MaxUses > 0 && g.Used >= g.MaxUses:
		return "used_up"
	}
	return "usable"
}

func (r *run) grantsAdd(ctx context.Context, o grantOptions) error {
	g, err := r.grantOf(o)
	if err != nil {
		return err
	}
	if err := r.grantTier(ctx, o, &g); err != nil {
		return err
	}
	if err := g.Valid(r.proc.Now()); err != nil {
		return usage("%s", err).hinted("hint.see_help", "grants add")
	}
	if !r.globals.json {
		r.grantText(r.err, r.grantJSON(g))
	}
	if err := r.confirm("grants.ask"); err != nil {
		return err
	}
	doc := grantsJSON{Changed: true}
	if !r.writing.dryRun {
		keep, err := r.gateStore(ctx)
		if err != nil {
			return err
		}
		if g, err = keep.AddGrant(ctx, g); err != nil {
			return err
		}
		doc.Written = true
	}
	doc.Grants = []grantJSON{r.grantJSON(g)}
	return r.grantsDone(doc, r.orDry("grants.added", "grants.added_dry"), g.ID)
}

// grantOf reads the flags.
func (r *run) grantOf(o grantOptions) (gate.Grant, error) {
	g := gate.Grant{
		Principal: o.principal, Tool: o.tool, Toolset: o.toolset, Rule: o.rule, OtherArgs: gate.OtherArgs(o.other),
		MaxUses: o.uses, CreatedBy: "user", Reason: o.reason,
	}
	if o.workspace != "" {
		g.Workspace = r.abs(o.workspace)
	}
	for _, text := range o.where {
		c, err := gate.ParseWhere(text)
		if err != nil {
			return g, usage("%s", err).hinted("hint.see_help", "grants add")
		}
		g.Constraints = append(g.Constraints, c)
	}
	if o.expires == "" {
		return g, usage("no --expires is given").hinted("hint.see_help", "grants add")
	}
	if days, ok := cutDays(o.expires); ok {
		g.Expires = r.proc.Now().Add(days)
	} else if day, err := time.ParseInLocation(time.DateOnly, o.expires, time.Local); err == nil {
		g.Expires = day.AddDate(0, 0, 1) // the day itself counts
	} else if g.Expires, err = time.Parse(time.RFC3339, o.expires); err != nil {
		return g, usage("--expires %q is no date", o.expires).hinted("hint.see_help", "grants add")
	}
	g.Expires = g.Expires.UTC().Truncate(time.Microsecond)
	return g, nil
}

// cutDays reads "30d".
func cutDays(text string) (time.Duration, bool) {
	n, ok := strings.CutSuffix(text, "d")
	days, err := strconv.Atoi(n)
	return time.Duration(days) * 24 * time.Hour, ok && err == nil && days >= 0 && days < 100_000
}

// grantTier fills in how often the tool may run by its tier, and refuses what no grant
// can allow. A tool that is not known here may be there where the grant is used.
func (r *run) grantTier(ctx context.Context, o grantOptions, g *gate.Grant) error {
	tier := gate.AlwaysConfirm
	if o.tool != "" {
		e, err := r.open(ctx)
		if err != nil {
			return err
		}
		specs := e.Tools()
		i := slices.IndexFunc(specs, func(s toolset.Spec) bool { return s.Name == o.tool })
		if i < 0 {
			r.hintf("%s", r.words.Say("grants.unknown_tool", o.tool))
		} else if tier = specs[i].Tier; tier == gate.ManualOnly || tier == 0 {
			return fail(Refused, "manual_only", "tool %q is MANUAL_ONLY: a person approves each call, and no grant does", o.tool)
		}
	}
	if g.MaxUses == defaultUses {
		g.MaxUses = 0
		if tier == gate.AlwaysConfirm {
			g.MaxUses = 1
		}
	}
	return nil
}

func (r *run) grantsList(ctx context.Context, all bool) error {
	keep, err := r.gateStore(ctx)
	if err != nil {
		return err
	}
	grants, err := keep.Grants(ctx)
	switch {
	case errors.Is(err, store.ErrDamaged) && grants != nil, errors.Is(err, store.ErrNewerSchema) && grants != nil:
		r.note(Damaged)
		r.err.Printf("%s\n", r.words.Say("grants.unread", err))
	case err != nil:
		return err
	}
	doc := grantsJSON{Grants: []grantJSON{}}
	for _, g := range grants {
		if j := r.grantJSON(g); all || j.State == "usable" || j.State == "not_begun" {
			doc.Grants = append(doc.Grants, j)
		}
	}
	if r.globals.json {
		r.printJSON(doc)
		return nil
	}
	if len(doc.Grants) == 0 {
		key := "grants.none"
		if all {
			key = "grants.none_all"
		}
		r.hintf("%s", r.words.Say(key))
	}
	for _, j := range doc.Grants {
		r.grantText(r.out, j)
	}
	return nil
}

// grantText tells a grant in a line, and its bounds in others.
func (r *run) grantText(p *safetext.Printer, j grantJSON) {
	clip := func(s string) string { return safetext.Clip(safetext.Line(s), 64) }
	uses := r.words.Say("grants.unbounded", j.Used)
	if j.Uses > 0 {
		uses = r.words.Say("grants.uses", j.Used, j.Uses)
	}
	state := ""
	if j.State != "usable" {
		state = "  " + r.words.Say("grants.state_"+j.State)
	}
	p.Printf("%s  %s  %s  %s  %s%s\n", orElse(j.ID, "-"), clip(j.Principal), clip(orElse(j.Tool, "toolset "+j.Toolset)), uses,
		r.words.Say("grants.until", j.Expires), state)
	bounds := slices.Clone(j.Where)
	if j.OtherArgs == string(gate.OtherAny) {
		bounds = append(bounds, r.words.Say("grants.other_any"))
	}
	for _, b := range append(bounds, j.Rule, j.Workspace, j.Reason) {
		if b != "" {
			p.Printf("    %s\n", safetext.Line(b))
		}
	}
}

func (r *run) grantsRevoke(ctx context.Context, ids []string) error {
	keep, err := r.gateStore(ctx)
	if err != nil {
		return err
	}
	grants, err := keep.Grants(ctx)
	if err != nil && grants == nil {
		return err
	}
	doc := grantsJSON{Grants: []grantJSON{}, Changed: true}
	for _, id := range ids {
		i := slices.IndexFunc(grants, func(g gate.Grant) bool { return g.ID == id })
		if i < 0 && err == nil {
			return fail(Negative, "grant_unknown", "grant %q is not known", id).hinted("hint.grants_list")
		}
		if i >= 0 {
			doc.Grants = append(doc.Grants, r.grantJSON(grants[i]))
		}
	}
	if !r.writing.dryRun {
		err := keep.RevokeGrants(ctx, "user", ids...)
		if errors.Is(err, store.ErrNotFound) {
			return fail(Negative, "grant_unknown", "%s", err).hinted("hint.grants_list")
		}
		if err != nil {
			return err
		}
		doc.Written = true
	}
	return r.grantsDone(doc, r.orDry("grants.revoked", "grants.revoked_dry"), strings.Join(ids, ", "))
}

func (r *run) grantsDone(doc grantsJSON, key, id string) error {
	if r.globals.json {
		r.printJSON(doc)
		return nil
	}
	r.out.Printf("%s\n", r.words.Say(key, orElse(id, "-")))
	return nil
}
