package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"strings"

	"github.com/spf13/pflag"

	"github.com/deftskills/deft"
	"github.com/deftskills/deft/agent/model"
	"github.com/deftskills/deft/gate"
	"github.com/deftskills/deft/internal/config"
	"github.com/deftskills/deft/internal/evals"
	"github.com/deftskills/deft/internal/safetext"
	"github.com/deftskills/deft/route"
	"github.com/deftskills/deft/skill"
)

// triggerFlags are the flags of deft eval triggers.
type triggerFlags struct {
	file, pool, mode, format, baseline, model string
	k                                         int
	precision, recall                         float64
	write, noTiming                           bool
}

func evalTriggersVerb() verb {
	var o triggerFlags
	return verb{
		name: "triggers", args: "[SKILL…]", max: -1, effects: effects{reads: true, writes: true, network: true},
		short: "try the requests that should, and should not, start a skill",
		long: "Cases stand in evals/triggers.jsonl of a skill, one JSON object a line with query and should_trigger,\n" +
			"or in evals/trigger-eval.json as one array; a file for many skills names the skill in each.\n" +
			"The network is used by --mode model alone.",
		flags: func(f *pflag.FlagSet) {
			f.StringVar(&o.file, "file", "", "cases for many skills, in `FILE`")
			f.StringVar(&o.pool, "pool", "all", "the skills that compete: `all|profile:NAME|DIR`, or an archive")
			f.IntVar(&o.k, "k", 1, "a skill triggers when it is started and among the first `N`")
			f.StringVar(&o.mode, "mode", "hybrid", "`l0|hybrid|model`: keywords alone, with the search, or the configured model")
			f.StringVar(&o.model, "model", "", "for mode model: `PROVIDER/NAME`")
			f.Float64Var(&o.precision, "min-precision", 0.90, "exit code 1 below this share, `P`, for any skill or all")
			f.Float64Var(&o.recall, "min-recall", 0.80, "exit code 1 below this share, `P`, for any skill or all")
			f.StringVar(&o.baseline, "baseline", "", "exit code 1 if a figure fell by more than 0.02 since `FILE`")
			f.BoolVar(&o.write, "write-baseline", false, "write that file anew")
			f.StringVar(&o.format, "format", "", "`text|json|junit`")
			f.BoolVar(&o.noTiming, "no-timing", false, "leave times out, so that equal input gives equal bytes")
		},
		run: func(ctx context.Context, r *run, args []string) error { return r.evalTriggers(ctx, o, args) },
	}
}

// check refuses what makes no sense together.
func (o triggerFlags) check(skills []string) error {
	switch {
	case o.k < 1:
		return usage("--k %d is below one", o.k)
	case o.write && o.baseline == "":
		return usage("--write-baseline needs --baseline FILE")
	case o.file != "" && len(skills) > 0:
		return usage("--file and names of skills exclude each other")
	}
	for _, share := range []float64{o.precision, o.recall} {
		if !(share >= 0 && share <= 1) {
			return usage("threshold %v is not between 0 and 1", share)
		}
	}
	for _, f := range []struct{ flag, value, known string }{
		{"mode", o.mode, "l0, hybrid, model"}, {"format", o.format, "text, json, junit"},
	} {
		if f.value != "" && !strings.Contains(", "+f.known+",", ", "+f.value+",") {
			return usage("%s %q is not known", f.flag, f.value).hinted("hint.one_of", f.known)
		}
	}
	return nil
}

func (r *run) evalTriggers(ctx context.Context, o triggerFlags, skills []string) error {
	if err := o.check(skills); err != nil {
		return err
	}
	if o.format == "" && r.globals.json {
		o.format = "json"
	}
	was, err := r.readBaseline(o)
	if err != nil {
		return err
	}
	opt, err := r.triggerOptions(ctx, o, skills)
	if err != nil {
		return err
	}
	rep, err := evals.Triggers(ctx, opt)
	var unknown *evals.UnknownSkillError
	switch {
	case errors.As(err, &unknown):
		return fail(Negative, "skill_unknown", "%s", err).hinted("hint.list")
	case errors.Is(err, evals.ErrNoCases):
		return usage("%s", err).hinted("hint.triggers")
	case err != nil:
		return err
	}
	if rep.BadCases > 0 {
		r.note(Partial)
	}
	missed, drift := o.missed(rep), evals.Drift{}
	if was != nil && !o.write {
		drift = rep.Against(*was)
		for _, f := range drift.Fell {
			missed = append(missed, fmt.Sprintf("%s of %s fell from %.4f to %.4f", f.Figure, f.Skill, f.Was, f.Is))
		}
	}
	r.showTriggers(o, rep, missed, drift)
	if o.write {
		if err := r.files().Write(r.abs(o.baseline), rep.Baseline().Bytes(), 0o644); err != nil {
			return err
		}
	}
	if len(missed) > 0 {
		return errNegative
	}
	return nil
}

// missed names each threshold that a skill or all of them miss. A figure that there is
// not, for want of cases, is met.
func (o triggerFlags) missed(rep evals.TriggerReport) []string {
	missed := []string{}
	for _, s := range append(rep.Skills, evals.SkillTriggers{Name: "all", Confusion: rep.All}) {
		for _, f := range []struct {
			name  string
			is    *float64
			least float64
		}{{"precision", s.Precision, o.precision}, {"recall", s.Recall, o.recall}} {
			if f.is != nil && *f.is < f.least {
				missed = append(missed, fmt.Sprintf("%s of %s is %.4f, below %.4f", f.name, s.Name, *f.is, f.least))
			}
		}
	}
	return missed
}

// readBaseline reads the file to compare with; nil when there is none to compare with.
func (r *run) readBaseline(o triggerFlags) (*evals.Baseline, error) {
	if o.baseline == "" {
		return nil, nil
	}
	src, err := r.readWhole(o.baseline)
	if o.write && errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, usage("%s: %s", o.baseline, err)
	}
	b, err := evals.ParseBaseline(src)
	if err != nil && !o.write {
		return nil, usage("%s: %s", o.baseline, err)
	}
	return &b, nil
}

func (r *run) readWhole(path string) ([]byte, error) {
	f, err := openRegular(r.abs(path))
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return readAllUpTo(f, nil, 64<<20)
}

// triggerOptions finds the pool, the cases and the model.
func (r *run) triggerOptions(ctx context.Context, o triggerFlags, skills []string) (evals.TriggerOptions, error) {
	dialect := skill.Dialect(r.globals.dialect)
	opt := evals.TriggerOptions{
		Pool: o.pool, File: o.file, Skills: skills, Mode: o.mode, K: o.k, NoTiming: o.noTiming, Route: route.DialectOptions(dialect),
	}
	if o.file != "" {
		var err error
		if opt.Source, err = r.readWhole(o.file); err != nil {
			return opt, usage("%s: %s", o.file, err)
		}
	}
	profile, named := strings.CutPrefix(o.pool, "profile:")
	switch {
	case named:
		r.globals.profile = profile
		r.globals.profileFrom = config.From{Level: config.Flag, File: "--pool"}
	case o.pool != "all":
		opt.Corpus = r.abs(o.pool)
		if o.mode == "model" {
			return opt, usage("a model is asked about the skills of this machine: --pool all or profile:NAME")
		}
		return opt, plainFile(opt.Corpus, true)
	}
	e, err := r.open(ctx)
	if err != nil {
		return opt, err
	}
	opt.Snapshot = e.Snapshot()
	if o.mode == "model" {
		m, err := r.chooseModel(ctx, askOptions{model: o.model})
		if err != nil {
			return opt, err
		}
		if m == nil {
			return opt, usage("mode model needs a model").hinted("hint.model")
		}
		opt.Ask = asker(e, m)
	}
	return opt, nil
}

// asker puts a request to a model as the first step of a turn would, and looks which
// skills it starts. None of its calls is run.
func asker(e *deft.Engine, m model.Model) func(context.Context, string) ([]string, error) {
	return func(ctx context.Context, query string) ([]string, error) {
		s, err := e.NewSession(ctx, deft.SessionOptions{Model: m})
		if err != nil {
			return nil, err
		}
		defer s.Close()
		turn, err := s.Begin(ctx, deft.Input{Text: query, Origin: gate.Interactive})
		if err != nil {
			return nil, err
		}
		defer turn.End()
		system, user := turn.Prompt()
		req := model.Request{
			System: []model.Block{{Text: system, Cache: true}}, Messages: []model.Message{{Role: model.User, Text: user}},
		}
		for _, spec := range turn.Tools() {
			req.Tools = append(req.Tools, model.Tool{Name: spec.Name, Description: spec.Description, Schema: spec.Input})
		}
		var started []string
		for d, err := range m.Stream(ctx, req) {
			if err != nil {
				return nil, err
			}
			if d.Call == nil {
				continue
			}
			for _, name := range skillsIn(d.Call.Input) {
				if rec, err := e.Snapshot().Lookup(name); err == nil {
					started = append(started, rec.Address)
				}
			}
		}
		return started, nil
	}
}

// skillsIn are the skills that a call names, in the forms of every dialect's tools.
func skillsIn(input json.RawMessage) []string {
	var in struct {
		Name  string   `json:"name"`
		Skill string   `json:"skill"`
		IDs   []string `json:"ids"`
	}
	if json.Unmarshal(input, &in) != nil {
		return nil
	}
	return append(in.IDs, in.Name, in.Skill)
}

type triggersJSON struct {
	evals.TriggerReport
	Missed []string     `json:"missed"`
	Drift  *evals.Drift `json:"drift,omitempty"`
	OK     bool         `json:"ok"`
}

func (r *run) showTriggers(o triggerFlags, rep evals.TriggerReport, missed []string, drift evals.Drift) {
	switch o.format {
	case "json":
		doc := triggersJSON{TriggerReport: rep, Missed: missed, OK: len(missed) == 0}
		if drift.Fell != nil {
			doc.Drift = &drift
		}
		r.printJSON(doc)
		return
	case "junit":
		r.out.Bytes(rep.JUnit(missed))
		return
	}
	r.report(rep.Diagnostics)
	p := r.out
	p.Printf("%s\n", r.words.Say("eval.triggers", rep.Queries, len(rep.Skills), rep.Size, rep.Pool, rep.Mode, rep.K))
	p.Printf("%s\n", p.Paint(safetext.Bold, "                            tp    fp    fn    tn  precision  recall     f1"))
	for _, s := range append(rep.Skills, evals.SkillTriggers{Name: "all", Confusion: rep.All}) {
		p.Printf("%-24s %5d %5d %5d %5d     %6s  %6s %6s\n", s.Name, s.TP, s.FP, s.FN, s.TN, figureText(s.Precision), figureText(s.Recall), figureText(s.F1))
	}
	for _, f := range rep.Failures {
		p.Printf("%s:%d: %s: %s\n", f.File, f.Line, f.Why(), f.Query)
		for line := range strings.SplitSeq(f.Detail(), "\n") {
			p.Printf("  %s\n", line)
		}
	}
	for _, q := range drift.Changed {
		p.Printf("%s\n", r.words.Say(map[bool]string{true: "eval.now_triggers", false: "eval.now_silent"}[q.Triggered], q.Skill, q.Query))
	}
	if rep.P99US > 0 {
		p.Printf("p50 %d us, p99 %d us\n", rep.P50US, rep.P99US)
	}
	for _, m := range missed {
		r.hintf("%s", m)
	}
}

func figureText(f *float64) string {
	if f == nil {
		return "-"
	}
	return fmt.Sprintf("%.2f", *f)
}
