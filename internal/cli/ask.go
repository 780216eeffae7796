package cli

import (
	"context"
	"fmt"
	"strings"

	"github.com/spf13/pflag"

	"github.com/deftskills/deft"
	"github.com/deftskills/deft/agent"
	"github.com/deftskills/deft/agent/model"
	"github.com/deftskills/deft/catalog"
	"github.com/deftskills/deft/gate"
	"github.com/deftskills/deft/internal/safetext"
	"github.com/deftskills/deft/registry"
	"github.com/deftskills/deft/route"
)

// askOptions are the flags of deft ask.
type askOptions struct {
	model, auto string
	resume      string // id of the conversation that goes on; "" = a new one
	agent       string // id of a kind of agent; "" = none
	offline     bool
	skills      []string
	maxSteps    int
}

func askVerb() verb {
	var o askOptions
	return verb{
		name: "ask", args: "REQUEST…", min: 1, max: -1, group: groupRun,
		effects: effects{reads: true, writes: true, network: true, runsCode: true},
		short:   "one turn: find, choose, load and answer",
		long: "With a model the loop runs and the answer is streamed. Without one, or with --offline, everything\n" +
			"up to the call is done and the plan is shown; exit code 1 means that no skill fits.\n" +
			"A request that begins with /NAME starts that skill.",
		flags: func(f *pflag.FlagSet) {
			f.StringVar(&o.model, "model", "", "the model, as `PROVIDER/NAME` or scripted:FILE")
			f.BoolVar(&o.offline, "offline", false, "no model and no network: the plan")
			f.StringArrayVar(&o.skills, "skill", nil, "start the skill `NAME` first; may be repeated")
			f.IntVar(&o.maxSteps, "max-steps", 0, "at most `N` requests to the model")
			f.StringVar(&o.agent, "agent", "", "run as the agent with this `ID`, within its limits")
			f.StringVar(&o.auto, "auto", "", "answer the gate's questions up to this `TIER` with yes")
			f.StringVar(&o.resume, "resume", "", "go on with the conversation `ID`; last = the newest of this folder")
		},
		run: func(ctx context.Context, r *run, args []string) error { return r.ask(ctx, o, strings.Join(args, " ")) },
	}
}

// tiers are the tiers that --auto takes.
var tiers = map[string]gate.Tier{
	"": 0, gate.ReadOnly.String(): gate.ReadOnly, gate.ConfirmOnce.String(): gate.ConfirmOnce, gate.AlwaysConfirm.String(): gate.AlwaysConfirm,
}

func (r *run) ask(ctx context.Context, o askOptions, text string) error {
	if r.writing.yes {
		return usage("--yes does not answer the gate").hinted("hint.auto")
	}
	if o.maxSteps < 0 {
		return usage("--max-steps %d is below zero", o.maxSteps)
	}
	if _, err := tierOf(o.auto); err != nil {
		return err
	}
	if err := r.goesOn(ctx, &o); err != nil {
		return err
	}
	if err := r.actAs(ctx, &o); err != nil {
		return err
	}
	m, err := r.chooseModel(ctx, o)
	if err != nil {
		return err
	}
	return r.askModel(ctx, m, o, text)
}

// askModel runs one turn; without a model it shows the plan.
func (r *run) askModel(ctx context.Context, m model.Model, o askOptions, text string) error {
	auto, err := tierOf(o.auto)
	if err != nil {
		return err
	}
	r.talking = m != nil
	in := agent.Input{Text: text, Origin: gate.Interactive, Principal: r.principal(), Budget: agent.Budget{Steps: o.maxSteps}}
	for _, name := range o.skills {
		in.Skills = append(in.Skills, agent.Preload{Name: name, By: "user"})
	}
	s, err := r.session(ctx, m, auto)
	if err != nil {
		return err
	}
	defer s.Close()
	r.resumed(s)
	if m == nil {
		return r.askOffline(ctx, s, in)
	}
	return r.askOnline(ctx, s, m, in)
}

// tierOf reads --auto.
func tierOf(name string) (gate.Tier, error) {
	tier, ok := tiers[strings.ToUpper(name)]
	if !ok {
		return 0, usage("tier %q cannot be answered for", name).hinted("hint.one_of", "READ_ONLY, CONFIRM_ONCE, ALWAYS_CONFIRM")
	}
	return tier, nil
}

// askJSON is the document of ask. Skills, fit and text are of the plan; stop is of a
// run with a model.
type askJSON struct {
	Trace     string          `json:"trace_id"`
	Mode      string          `json:"mode"`
	Model     string          `json:"model"`
	Stages    []string        `json:"stages"`
	Activated []activatedJSON `json:"activated"`
	Tools     []toolJSON      `json:"tools"`
	Prompt    promptJSON      `json:"prompt"`
	Answer    string          `json:"answer"`
	Usage     usageJSON       `json:"usage"`
	Elapsed   int64           `json:"elapsed_ms"`

	Routed  []routeEntryJSON `json:"routed"`
	Fit     route.Fit        `json:"fit"`
	Abstain bool             `json:"abstain"`
	Refused []refusedJSON    `json:"refused"`
	Text    string           `json:"text"`
	Subs    []subJSON        `json:"sub_agents"`
	Hooks   []hookJSON       `json:"hooks"`
	Stop    string           `json:"stop"`
}

type activatedJSON struct {
	Name     string        `json:"name"`
	By       string        `json:"by"`
	Digest   string        `json:"digest"`
	Commands []commandJSON `json:"commands"` // of its text
	Unrun    string        `json:"unrun"`    // why they are off; "" = they are not

	Fork *forkJSON `json:"fork,omitempty"` // of a plan: a sub-agent would carry it out
}

type toolJSON struct {
	Name     string `json:"name"`
	Tier     string `json:"tier"`
	Decision string `json:"decision"`
	Reason   string `json:"reason"`
}

type promptJSON struct {
	Tokens int         `json:"tokens"`
	Blocks []blockJSON `json:"blocks"`
}

type blockJSON struct {
	Name   string `json:"name"`
	Tokens int    `json:"tokens"`
	Stable bool   `json:"stable"`
}

type usageJSON struct {
	Input  int `json:"input_tokens"`
	Output int `json:"output_tokens"`
}

type refusedJSON struct {
	Name    string `json:"name"`
	Code    string `json:"code"`
	Message string `json:"message"`

	Commands []commandJSON `json:"commands"` // of a text whose load a command ended
}

func newAskJSON(mode string) askJSON {
	return askJSON{
		Mode: mode, Stages: []string{}, Activated: []activatedJSON{}, Tools: []toolJSON{}, Routed: []routeEntryJSON{}, Hooks: []hookJSON{},
		Refused: []refusedJSON{}, Prompt: promptJSON{Blocks: []blockJSON{}}, Fit: route.FitNone, Subs: []subJSON{},
	}
}

// started notes what became of a skill that was asked for.
func (d *askJSON) started(e agent.SkillEvent) {
	if e.Code != "" {
		d.Refused = append(d.Refused, refusedJSON{e.Name, e.Code, e.Message, commandsJSON(e.Commands)})
		return
	}
	d.Activated = append(d.Activated, activatedJSON{
		Name: e.Name, By: e.By, Digest: e.Digest, Commands: commandsJSON(e.Commands), Unrun: e.Unrun,
	})
}

func (d *askJSON) routed(res route.Result) {
	d.Stages, d.Fit, d.Abstain = res.Stages.Names(), res.Fit, res.Abstain()
	for _, h := range res.Hits[:min(len(res.Hits), 20)] {
		d.Routed = append(d.Routed, routeEntryJSON{h.ID, h.Name, h.Score, orEmptyList(h.Reasons)})
	}
}

// foundLine is the one line about discovery, on standard error.
func (r *run) foundLine(snap *registry.Snapshot, c catalog.Catalog) {
	if r.found == snap.Version {
		return // a conversation says it once
	}
	r.found = snap.Version
	_, shadowed, _ := split(snap)
	m, rep := snap.Metrics, c.Report
	bound := grouped(rep.Budget)
	if rep.Budget == 0 {
		bound = "∞"
	}
	r.hintf("%s", r.words.Say("ask.found", grouped(len(snap.Winners)), m.Sources, m.ElapsedMS, len(shadowed), grouped(rep.Used), bound))
	r.withheld(snap)
	if !snap.Complete {
		r.note(Partial)
		r.hintf("%s", r.words.Say("list.incomplete"))
	}
}

// askOffline shows what a model would get, as one document or text.
func (r *run) askOffline(ctx context.Context, s *deft.Session, in agent.Input) error {
	doc, err := r.turnOffline(ctx, s, in)
	if r.globals.json && (err == nil || err == errNegative) {
		r.printJSON(doc)
	}
	return err
}

// turnOffline shows what a model would get: the plan on standard error, the loaded
// text on standard output.
func (r *run) turnOffline(ctx context.Context, s *deft.Session, in agent.Input) (askJSON, error) {
	ctx, done := r.watch(ctx, "index")
	p, err := s.Plan(ctx, in)
	done()
	doc := newAskJSON("offline")
	if err != nil {
		return doc, hookRefusal(err)
	}
	doc.Trace, doc.Elapsed = p.Trace, p.Elapsed.Milliseconds()
	doc.routed(p.Plan.Route)
	for _, e := range p.Skills {
		doc.started(e)
		r.report(e.Findings)
	}
	for _, t := range p.Tools {
		doc.Tools = append(doc.Tools, toolJSON{t.Name, t.Decision.Tier.String(), string(t.Decision.Verdict), t.Decision.Reason})
	}
	for _, b := range p.Blocks {
		doc.Prompt.Tokens += b.Tokens
		doc.Prompt.Blocks = append(doc.Prompt.Blocks, blockJSON{b.Name, b.Tokens, b.Stable})
	}
	var texts []string
	for _, a := range p.Active {
		texts = append(texts, a.Text)
	}
	for _, f := range p.Forks {
		texts = append(texts, f.Task)
		for i := range doc.Activated {
			if doc.Activated[i].Name == f.Identity().Name {
				doc.Activated[i].Fork = newForkJSON(f)
			}
		}
	}
	doc.Text = strings.Join(texts, "\n\n")
	r.foundLine(p.Snapshot, p.Plan.Catalog)
	r.planHooks(&doc, p)
	if !r.globals.json {
		r.planText(doc, p)
		for _, e := range p.Skills {
			r.commandsText(e)
		}
		if doc.Text != "" {
			r.out.Text(strings.TrimRight(doc.Text, "\n") + "\n")
		}
	}
	if len(doc.Activated) == 0 {
		return doc, errNegative
	}
	return doc, nil
}

// planText shows the plan to a person.
func (r *run) planText(doc askJSON, p agent.Prepared) {
	if r.globals.quiet {
		return
	}
	e := r.err
	head := func(key string, args ...any) { e.Printf("%s\n", e.Paint(safetext.Bold, r.words.Say(key, args...))) }
	if len(doc.Stages) > 0 {
		e.Printf("%s\n", r.words.Say("ask.stages", strings.Join(doc.Stages, ", ")))
	}
	head("ask.ranking")
	for i, h := range doc.Routed {
		if i == 5 {
			e.Printf("  … %d\n", len(doc.Routed)-i)
			break
		}
		e.Printf("  %3d  %-20s %s\n", h.Score, h.Name, strings.Join(h.Reasons, "; "))
	}
	if len(doc.Routed) == 0 {
		e.Printf("  %s\n", r.words.Say("ask.no_points"))
	}
	for _, f := range doc.Refused {
		e.Printf("%s\n", r.words.Say("ask.refused", f.Name, f.Message, f.Code))
	}
	if len(doc.Activated) == 0 {
		key := "ask.nothing"
		if doc.Fit != route.FitNone {
			key = "ask.abstains"
		}
		head(key)
		r.hintf("hint: %s", r.words.Say("hint.ask"))
		return
	}
	head("ask.activated")
	for _, a := range doc.Activated {
		e.Printf("  %s  %s\n", a.Name, r.words.Say("ask.by_"+a.By))
		if f := a.Fork; f != nil {
			e.Printf("    %s\n", r.words.Say("ask.fork", f.Agent, orElse(strings.Join(f.Allowed, ", "), "*")))
		}
	}
	r.effectsText(p)
	head("ask.prompt", grouped(doc.Prompt.Tokens))
	for _, b := range doc.Prompt.Blocks {
		mark := r.words.Say("ask.tail")
		if b.Stable {
			mark = r.words.Say("ask.stable")
		}
		e.Printf("  %-16s %7s  %s\n", b.Name, grouped(b.Tokens), mark)
	}
}

// effectsText shows what the activated skills change: tools, model, environment, and
// the gate's answer to each tool that they ask for.
func (r *run) effectsText(p agent.Prepared) {
	e, eff := r.err, p.Effective
	e.Printf("%s\n", e.Paint(safetext.Bold, r.words.Say("ask.effects")))
	none := true
	line := func(key string, list ...string) {
		if len(list) > 0 && strings.Join(list, "") != "" {
			none = false
			e.Printf("  %s\n", r.words.Say(key, strings.Join(list, ", ")))
		}
	}
	for _, allow := range eff.Allow {
		line("ask.effect_allow", allow...)
	}
	line("ask.effect_deny", eff.Deny...)
	line("ask.effect_model", eff.Model)
	line("ask.effect_effort", eff.Effort)
	for _, a := range p.Active {
		if a.Record != nil {
			line("ask.effect_env", a.Record.Skill.Meta.Secrets...)
		}
	}
	for _, t := range p.Tools {
		none = false
		e.Printf("  %-16s %-14s %-6s %s\n", t.Name, t.Decision.Tier, string(t.Decision.Verdict), t.Decision.Reason)
	}
	if none {
		e.Printf("  %s\n", r.words.Say("ask.no_effects"))
	}
}

// grouped writes a number with commas.
func grouped(n int) string {
	s := fmt.Sprint(n)
	for i := len(s) - 3; i > 0 && s[i-1] != '-'; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return s
}
