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
			"model each line gets its plan, as in deft ask --offline. A line that begins with /NAME starts\n" +
			"that skill; /help lists the conversation's own verbs. Ctrl-C ends a turn, a second one the run.\n" +
			"The end of the input ends it.",
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
	c := &conversation{r: r, o: o, auto: auto}
	if m != nil {
		c.m = &changeable{now: m}
	}
	if err := c.open(ctx); err != nil {
		return err
	}
	defer func() { _ = c.s.Close() }()
	stop, err := r.notice(ctx)
	if err != nil {
		return err
	}
	defer stop()
	c.doc = chatJSON{Session: c.s.ID(), Resumed: r.resumed(c.s), Turns: []askJSON{}}
	if err := c.talk(ctx); err != nil {
		return err
	}
	if r.keeper.close() {
		r.hintf("%s", r.words.Say("resume.end", c.s.ID()))
	}
	if r.globals.json {
		r.printJSON(c.doc)
	}
	return nil
}

// conversation is a chat under way.
type conversation struct {
	r    *run
	o    askOptions
	auto gate.Tier
	m    *changeable // nil = there is none: plans
	s    *deft.Session
	doc  chatJSON
}

// open begins the session.
func (c *conversation) open(ctx context.Context) (err error) {
	var m model.Model
	if c.m != nil {
		m = c.m
	}
	c.s, err = c.r.session(ctx, m, c.auto)
	return err
}

// talk takes one line after the other until there is none.
func (c *conversation) talk(ctx context.Context) error {
	r := c.r
	if r.person() != nil {
		r.hintf("%s", r.words.Say("chat.hello", c.modelName()))
	}
	for {
		line, err := r.nextLine(ctx)
		if errors.Is(err, io.EOF) || r.out.Closed() {
			return nil // nothing is said any more, or nobody reads the answers
		}
		if err != nil {
			return err
		}
		if line == "" {
			continue
		}
		over, err := c.take(ctx, line)
		if over || err != nil {
			return err
		}
	}
}

// take is one line: a verb of the conversation, or a turn.
func (c *conversation) take(ctx context.Context, line string) (over bool, err error) {
	word, rest, _ := strings.Cut(line, " ")
	if name, ok := strings.CutPrefix(word, "/"); ok {
		if do, ok := chatVerbOf(name); ok {
			return do(c, ctx, strings.TrimSpace(rest))
		}
		if near := closest(name, chatVerbNames(), 1); len(near) > 0 && c.unknown(name) {
			c.r.hintf("%s", c.r.words.Say("chat.near", "/"+near[0]))
		}
	}
	return false, c.turn(ctx, line)
}

// unknown reports whether no skill has the name, and it is no path.
func (c *conversation) unknown(name string) bool {
	_, err := c.s.Snapshot().Lookup(name)
	return err != nil && !strings.Contains(name, "/")
}

// turn runs one turn. What goes wrong with it is said and does not end the conversation;
// the error is for an end of the whole run. An interrupt ends the turn alone, a second one
// the run.
func (c *conversation) turn(ctx context.Context, text string) error {
	r := c.r
	in := agent.Input{Text: text, Origin: gate.Interactive, Principal: r.principal(), Budget: agent.Budget{Steps: c.o.maxSteps}}
	doc, err := c.interruptible(ctx, func(ctx context.Context) (askJSON, error) {
		if c.m == nil {
			return r.turnOffline(ctx, c.s, in)
		}
		return r.turnOnline(ctx, c.s, c.m, in)
	})
	if err != nil {
		return err
	}
	c.doc.Turns = append(c.doc.Turns, doc)
	return nil
}

// interruptible runs a turn.
func (c *conversation) interruptible(ctx context.Context, turn func(context.Context) (askJSON, error)) (askJSON, error) {
	r := c.r
	within, cancel := context.WithCancel(ctx)
	defer cancel()
	if r.proc.Divert != nil {
		defer r.proc.Divert(cancel)()
	}
	r.talking = c.m != nil
	doc, err := turn(within)
	r.talking = false
	switch {
	case ctx.Err() != nil:
		return doc, ctx.Err()
	case within.Err() != nil:
		doc.Stop = string(agent.StopCancelled)
		r.hintf("%s %s", r.err.Paint(safetext.Yellow, "!"), r.words.Say("chat.cancelled"))
	case err == nil || err == errNegative: // no skill fits: the next line may be about something else
	case r.globals.json:
		f := failureOf(err, c.m != nil)
		doc.Stop = orElse(doc.Stop, f.code)
		r.note(f.exit)
		r.hintf("%s %s", r.words.Say("error"), f.message)
	default:
		r.fail(err, c.m != nil)
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
	next, taken := r.nextSaid()
	for {
		select {
		case <-ctx.Done():
			return "", ctx.Err()
		case <-r.news.bell:
			if err := r.tell(ctx); err != nil {
				return "", err
			}
		case a := <-next:
			taken()
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
