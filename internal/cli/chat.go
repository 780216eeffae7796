package cli

import (
	"context"
	"errors"
	"io"
	"strings"
	"sync"
	"time"

	"github.com/spf13/pflag"

	"github.com/deftskills/deft"
	"github.com/deftskills/deft/agent"
	"github.com/deftskills/deft/agent/model"
	"github.com/deftskills/deft/gate"
	"github.com/deftskills/deft/internal/safetext"
	"github.com/deftskills/deft/registry"
	"github.com/deftskills/deft/skill"
)

func chatVerb() verb {
	var o askOptions
	return verb{
		name: "chat", max: 0, group: groupRun, joins: true,
		effects: effects{reads: true, writes: true, network: true, runsCode: true},
		short:   "a conversation: each line of standard input is one turn",
		long: "Skills that were started stay active, and the model knows what was said before. Changes of\n" +
			"skills, and what other runs of deft decide meanwhile, count from the next line on. Without a\n" +
			"model each line gets its plan, as in deft ask --offline. The end of the input ends it.",
		flags: func(f *pflag.FlagSet) {
			f.StringVar(&o.model, "model", "", "the model, as `PROVIDER/NAME` or scripted:FILE")
			f.BoolVar(&o.offline, "offline", false, "no model and no network: the plans")
			f.IntVar(&o.maxSteps, "max-steps", 0, "at most `N` requests to the model in one turn")
			f.StringVar(&o.auto, "auto", "", "answer the gate's questions up to this `TIER` with yes")
			f.StringVar(&o.resume, "resume", "", "go on with the conversation `ID`; last = the newest of this folder")
			f.StringVar(&o.agent, "agent", "", "talk to the agent with this `ID`, within its limits")
			f.Bool("plain-chat", true, "line by line, as it always is")
		},
		run: func(ctx context.Context, r *run, _ []string) error { return r.chat(ctx, o) },
	}
}

// chatJSON is the document of a conversation, printed at its end.
type chatJSON struct {
	Session string       `json:"session"`
	Resumed *resumedJSON `json:"resumed,omitempty"`
	Turns   []askJSON    `json:"turns"`
}

func (r *run) chat(ctx context.Context, o askOptions) error {
	auto, err := tierOf(o.auto)
	if err != nil {
		return err
	}
	r.news = &news{bell: make(chan struct{}, 1)}
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
	s, err := r.session(ctx, m, auto)
	if err != nil {
		return err
	}
	defer s.Close()
	stop, err := r.notice(ctx)
	if err != nil {
		return err
	}
	defer stop()
	doc := chatJSON{Session: s.ID(), Resumed: r.resumed(s), Turns: []askJSON{}}
	for {
		line, err := r.nextLine(ctx)
		if errors.Is(err, io.EOF) || r.out.Closed() {
			break // nothing is said any more, or nobody reads the answers
		}
		if err != nil {
			return err
		}
		if line == "" {
			continue
		}
		in := agent.Input{Text: line, Origin: gate.Interactive, Principal: r.principal(), Budget: agent.Budget{Steps: o.maxSteps}}
		turn, err := r.chatTurn(ctx, s, m, in)
		if err != nil {
			return err
		}
		doc.Turns = append(doc.Turns, turn)
	}
	if r.keeper.close() {
		r.hintf("%s", r.words.Say("resume.end", s.ID()))
	}
	if r.globals.json {
		r.printJSON(doc)
	}
	return nil
}

// chatTurn runs one turn. What goes wrong with it is said and does not end the
// conversation; the error is for an end of the whole run.
func (r *run) chatTurn(ctx context.Context, s *deft.Session, m model.Model, in agent.Input) (askJSON, error) {
	turn := func() (askJSON, error) { return r.turnOffline(ctx, s, in) }
	if m != nil {
		turn = func() (askJSON, error) { return r.turnOnline(ctx, s, m, in) }
	}
	r.talking = m != nil
	doc, err := turn()
	r.talking = false
	switch {
	case ctx.Err() != nil:
		return doc, ctx.Err()
	case err == nil || err == errNegative: // no skill fits: the next line may be about something else
		return doc, nil
	case r.globals.json:
		f := failureOf(err, m != nil)
		doc.Stop = orElse(doc.Stop, f.code)
		r.note(f.exit)
		r.hintf("%s %s", r.words.Say("error"), f.message)
	default:
		r.fail(err, m != nil)
	}
	return doc, nil
}

// notice hears of changes while the conversation lasts, as the settings say.
func (r *run) notice(ctx context.Context) (stop func(), err error) {
	cancel := r.engine.Subscribe(r.news.changed)
	w := r.config.Tuning.Watch
	if !w.Enabled {
		r.hintf("%s", r.words.Say("chat.watch_off", time.Duration(r.config.Tuning.Refresh.Cooldown).String()))
		return cancel, nil
	}
	unwatch, err := r.engine.Watch(ctx, r.watchOptions())
	if err != nil {
		cancel()
		return nil, err
	}
	unheed := r.heed(ctx)
	return func() { unheed(); unwatch(); cancel() }, nil
}

// watchOptions is the pace that the settings give a watcher.
func (r *run) watchOptions() registry.WatchOptions {
	w := r.config.Tuning.Watch
	return registry.WatchOptions{Debounce: time.Duration(w.Debounce), MaxWait: time.Duration(w.MaxWait), Poll: time.Duration(w.Poll)}
}

// nextLine waits for a line and meanwhile tells what changes. The line is read only
// while no turn runs: the gate's questions are answered at the same place.
func (r *run) nextLine(ctx context.Context) (string, error) {
	if p := r.person(); p != nil {
		p.Printf("> ")
	}
	type read struct {
		line string
		err  error
	}
	got := make(chan read, 1)
	go func() { // ends with its line; one that never comes ends with the process
		line, err := r.readLine()
		got <- read{line, err}
	}()
	for {
		select {
		case <-ctx.Done():
			return "", ctx.Err()
		case <-r.news.bell:
			if err := r.tell(ctx); err != nil {
				return "", err
			}
		case a := <-got:
			if err := r.tell(ctx); err != nil {
				return "", err
			}
			return a.line, a.err
		}
	}
}

// news gathers what happens beside the turns of a conversation. It is shown between
// them, so that it never breaks a line of an answer.
type news struct {
	bell chan struct{} // holds one value while there is something to tell

	mu       sync.Mutex
	findings []skill.Diagnostic
	changes  []registry.Change
}

func (n *news) finding(d skill.Diagnostic) {
	n.add(func() { n.findings = append(n.findings, d) })
}

func (n *news) changed(c registry.Change) {
	n.add(func() { n.changes = append(n.changes, c) })
}

func (n *news) add(put func()) {
	n.mu.Lock()
	put()
	n.mu.Unlock()
	select {
	case n.bell <- struct{}{}:
	default:
	}
}

func (n *news) take() (findings []skill.Diagnostic, changes []registry.Change) {
	n.mu.Lock()
	defer n.mu.Unlock()
	findings, changes = n.findings, n.changes
	n.findings, n.changes = nil, nil
	return findings, changes
}

// tell shows what has happened since it was called last, and hands on the switches of
// skills that were renamed.
func (r *run) tell(ctx context.Context) error {
	findings, changes := r.news.take()
	if len(changes) > 0 {
		if err := r.follow(ctx); err != nil {
			return err
		}
	}
	r.report(findings)
	for _, c := range changes {
		var words []string
		for _, part := range []struct {
			mark  string
			names []string
		}{{"+ ", c.Added}, {"- ", c.Removed}, {"~ ", c.Updated}} {
			for _, name := range part.names {
				words = append(words, part.mark+name)
			}
		}
		r.hintf("%s %s", r.err.Paint(safetext.Cyan, "·"), r.words.Say("chat.changed", strings.Join(words, ", ")))
	}
	return nil
}
