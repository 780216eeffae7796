package cli

import (
	"context"
	"errors"
	"os"
	"strconv"
	"strings"

	"github.com/spf13/pflag"

	"github.com/deftskills/deft/internal/evals"
	"github.com/deftskills/deft/internal/safetext"
	"github.com/deftskills/deft/search"
)

func evalVerb() verb {
	return verb{
		name: "eval", args: "routing|triggers", max: -1, group: groupWrite, effects: effects{reads: true, writes: true, network: true},
		short: "measure whether the right skill is found",
		below: []verb{evalRoutingVerb(), evalTriggersVerb()},
	}
}

// evalOptions are the flags of deft eval routing.
type evalOptions struct {
	corpus, weights, bs           []string
	queries, equiv, trigger, mode string
	failUnder                     string
	topK                          int
	k1                            float64
	noStem, misses, noTiming      bool
}

func evalRoutingVerb() verb {
	var o evalOptions
	return verb{
		name: "routing", effects: effects{reads: true, network: true},
		short: "ask every query of a file and count how often the right skill comes first",
		long:  "Without --corpus the skills of this machine are asked. Fields: name, keywords, description, when,\nheadings, body, references. Figures of --fail-under: hit1, hit5, mrr10, recall10, hit50, auroc,\nabstain_precision, abstain_recall.",
		flags: func(f *pflag.FlagSet) {
			f.StringArrayVar(&o.corpus, "corpus", nil, "skills in a tar, tar.gz or folder, as `TAR|DIR`; may be repeated")
			f.StringVar(&o.queries, "queries", "", "the queries, JSON lines in `FILE`")
			f.StringVar(&o.equiv, "equiv", "", "skills that count as equal, JSON lines in `FILE`")
			f.StringVar(&o.trigger, "trigger", "", "requests that should and should not start a skill, JSON lines in `FILE`")
			f.StringVar(&o.mode, "mode", "bm25", "how to find: `bm25|vector|hybrid|text|route`")
			f.IntVar(&o.topK, "topk", 50, "hits asked for, `N`")
			f.Float64Var(&o.k1, "k1", 0, "when repeated words stop to count, `N`; 0 = the default")
			f.StringArrayVar(&o.weights, "weight", nil, "the weight of a field, `FIELD=W`; may be repeated")
			f.StringArrayVar(&o.bs, "b", nil, "how much a field's length counts, `FIELD=B`; may be repeated")
			f.BoolVar(&o.noStem, "no-stem", false, "English words as they are")
			f.BoolVar(&o.misses, "misses", false, "name each query whose first hit is wrong")
			f.StringVar(&o.failUnder, "fail-under", "", "exit code 1 below these figures, as `M=X,…`")
			f.BoolVar(&o.noTiming, "no-timing", false, "leave times out, so that equal input gives equal bytes")
		},
		run: func(ctx context.Context, r *run, _ []string) error { return r.evalRouting(ctx, o) },
	}
}

func (r *run) evalRouting(ctx context.Context, o evalOptions) error {
	opt, err := r.routingOptions(o)
	if err != nil {
		return err
	}
	floors, err := pairs("fail-under", strings.Split(o.failUnder, ","))
	if err != nil {
		return err
	}
	for name := range floors {
		if _, ok := figure(evals.Report{}, name); !ok {
			return usage("figure %q is not known", name).hinted("hint.see_help", "eval routing")
		}
	}
	if len(opt.Corpus) == 0 {
		if opt.Snapshot, err = r.snapshot(ctx); err != nil {
			return err
		}
	}
	rep, err := evals.Routing(ctx, opt)
	switch {
	case errors.Is(err, evals.ErrNoQueries):
		return usage("%s", err).hinted("hint.queries")
	case err != nil:
		return err
	}
	if rep.BadCases > 0 {
		r.note(Partial)
	}
	if r.globals.json {
		r.printJSON(rep)
	} else {
		r.report(rep.Diagnostics)
		r.evalTable(rep)
	}
	missed := false
	for name, floor := range floors {
		if got, _ := figure(rep, name); got < floor {
			r.hintf("%s", r.words.Say("eval.missed", name, got, floor))
			missed = true
		}
	}
	if missed {
		return errNegative
	}
	return nil
}

func (r *run) routingOptions(o evalOptions) (evals.RoutingOptions, error) {
	opt := evals.RoutingOptions{
		Mode: o.mode, TopK: o.topK, Misses: o.misses, NoTiming: o.noTiming,
		Search: search.Options{K1: o.k1, NoStem: o.noStem, Fields: map[search.Field]search.FieldParam{}},
	}
	if o.mode == "vector" || o.mode == "hybrid" {
		if err := r.needEmbedder(o.mode, "bm25, text, route"); err != nil {
			return opt, err
		}
		opt.Search.Embedder, opt.Search.VectorTimeout = r.vectors, vectorPatience
	}
	for _, p := range []struct {
		into *string
		path string
	}{{&opt.Queries, o.queries}, {&opt.Equiv, o.equiv}, {&opt.Trigger, o.trigger}} {
		if p.path == "" {
			continue
		}
		*p.into = r.abs(p.path)
		if err := plainFile(*p.into, false); err != nil {
			return opt, err
		}
	}
	for _, c := range o.corpus {
		opt.Corpus = append(opt.Corpus, r.abs(c))
		if err := plainFile(r.abs(c), true); err != nil {
			return opt, err
		}
	}
	for _, set := range []struct {
		flag string
		list []string
		put  func(*search.FieldParam, float64)
	}{
		{"weight", o.weights, func(p *search.FieldParam, v float64) { p.Weight = v }},
		{"b", o.bs, func(p *search.FieldParam, v float64) { p.B = v }},
	} {
		values, err := pairs(set.flag, set.list)
		if err != nil {
			return opt, err
		}
		for name, v := range values {
			field, ok := search.ParseField(name)
			if !ok {
				return opt, usage("field %q is not known", name).hinted("hint.see_help", "eval routing")
			}
			p, set1 := opt.Search.Fields[field]
			if !set1 {
				p = search.DefaultOptions().Fields[field]
			}
			set.put(&p, v)
			opt.Search.Fields[field] = p
		}
	}
	return opt, nil
}

// plainFile refuses a path that is not there, and pipes and devices, which could
// keep a reader waiting for ever.
func plainFile(path string, orFolder bool) error {
	st, err := os.Stat(path)
	switch {
	case err != nil:
		return usage("%s: %s", path, errors.Unwrap(err))
	case st.Mode().IsRegular() || orFolder && st.IsDir():
		return nil
	}
	return usage("%s: %s", path, errNotRegular)
}

// pairs reads NAME=NUMBER.
func pairs(flag string, list []string) (map[string]float64, error) {
	out := map[string]float64{}
	for _, item := range list {
		if item == "" {
			continue
		}
		name, number, ok := strings.Cut(item, "=")
		v, err := strconv.ParseFloat(number, 64)
		if !ok || err != nil {
			return nil, usage("--%s %q is not NAME=NUMBER", flag, item)
		}
		out[name] = v
	}
	return out, nil
}

// figure returns a figure of the report by the name that --fail-under uses.
func figure(rep evals.Report, name string) (float64, bool) {
	all := map[string]float64{
		"hit1": rep.Hit1, "hit5": rep.Hit5, "mrr10": rep.MRR10, "recall10": rep.Recall10, "hit50": rep.Hit50,
		"auroc": rep.AUROC, "abstain_precision": rep.Abstain.Precision, "abstain_recall": rep.Abstain.Recall,
	}
	v, ok := all[name]
	return v, ok
}

func (r *run) evalTable(rep evals.Report) {
	p := r.out
	p.Printf("%d skills of %s, %d queries of %s, mode %s\n", rep.Skills, rep.Pool, rep.Queries, rep.Set, rep.Mode)
	p.Printf("%s\n", p.Paint(safetext.Bold, "                            n   hit@1   hit@5  mrr@10  rec@10  hit@50"))
	row := func(name string, f evals.Figures) {
		p.Printf("%-24s %5d  %6.2f  %6.2f  %6.2f  %6.2f  %6.2f\n", name, f.N, 100*f.Hit1, 100*f.Hit5, 100*f.MRR10, 100*f.Recall10, 100*f.Hit50)
	}
	row("strict", rep.Figures)
	row("lenient", rep.Lenient)
	for _, g := range rep.Groups {
		row(g.By+" "+g.Value, g.Figures)
	}
	a := rep.Abstain
	p.Printf("auroc %.3f; abstention: precision %.2f, recall %.2f (%d of %d negatives, %d of %d positives refused; %d of the rest right)\n",
		rep.AUROC, a.Precision, a.Recall, a.Refused, a.Negatives, a.Wrongly, a.Positives, a.Right)
	if t := rep.Trigger; t != nil {
		p.Printf("trigger: should %d, top 1 %.2f, top 5 %.2f; should not %d, top 1 %.2f, top 5 %.2f\n",
			t.Should, t.ShouldTop1, t.ShouldTop5, t.Not, t.NotTop1, t.NotTop5)
	}
	if rep.PerSecond > 0 {
		p.Printf("%.0f queries/s, p50 %d us, p99 %d us; index in %d ms, %d bytes a skill\n", rep.PerSecond, rep.P50US, rep.P99US, rep.IndexMS, rep.BytesPer)
	}
	for _, m := range rep.Misses {
		p.Printf("miss %s rank %d: %s\n  want %s\n  got  %s\n", m.ID, m.Rank, m.Query, strings.Join(m.Gold, ", "), strings.Join(m.Top, ", "))
	}
}
