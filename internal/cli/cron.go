package cli

import (
	"context"
	"fmt"
	"os"
	"os/user"
	"strings"
	"time"

	"github.com/spf13/pflag"

	"github.com/deftskills/deft/gate"
	"github.com/deftskills/deft/store/jobs"
)

func cronVerb() verb {
	var add cronAdd
	var resume bool
	reads, writes := effects{reads: true}, effects{reads: true, writes: true}
	return verb{
		name: "cron", args: "add|list|run|pause|rm", max: -1, group: groupRun, effects: reads, joins: true,
		short: "jobs that run without a person: by schedule, webhook or event",
		long: "A job is a prompt with bounds: the stages and the highest tier that its turns may use.\n" +
			"deft serve runs jobs; what they may do beyond reading needs a grant.",
		below: []verb{
			{name: "add", args: "ID PROMPT…", min: 2, max: -1, effects: writes, short: "a new job",
				long: "A schedule is that of crontab (minute hour day month weekday) or @hourly, @daily,\n" +
					"@weekly, @monthly, @yearly. Where the clock is put forward a missing hour runs once, at\n" +
					"its end; where it is put back a doubled hour runs once. A webhook's secret is shown once.",
				flags: add.bind,
				run:   func(ctx context.Context, r *run, args []string) error { return r.cronAdd(ctx, add, args) }},
			{name: "list", effects: reads, short: "every job, and when it is due next",
				run: func(ctx context.Context, r *run, _ []string) error { return r.cronList(ctx) }},
			{name: "run", args: "ID", min: 1, max: 1, effects: writes, short: "queue a job once, now; deft serve runs it",
				run: func(ctx context.Context, r *run, args []string) error { return r.cronRun(ctx, args[0]) }},
			{name: "pause", args: "ID", min: 1, max: 1, effects: writes, short: "stop a job, or with --resume let it go on",
				flags: func(f *pflag.FlagSet) { f.BoolVar(&resume, "resume", false, "let it go on") },
				run:   func(ctx context.Context, r *run, args []string) error { return r.cronPause(ctx, args[0], !resume) }},
			{name: "rm", args: "ID", min: 1, max: 1, effects: writes, short: "forget a job; what it did stays in the record",
				run: func(ctx context.Context, r *run, args []string) error { return r.cronRemove(ctx, args[0]) }},
		},
	}
}

// cronAdd are the flags of a new job.
type cronAdd struct {
	job     jobs.Job
	kind    string
	body    string
	stages  []string
	preload []string
	allow   []string
}

func (a *cronAdd) bind(f *pflag.FlagSet) {
	f.StringVar(&a.kind, "kind", "", "`cron|webhook|event`; default cron with --schedule, else event")
	f.StringVar(&a.job.Schedule, "schedule", "", "when, as `FORM` \"0 9 * * mon-fri\" or @daily")
	f.StringVar(&a.job.Zone, "tz", "", "time `ZONE` of the schedule, such as Europe/Berlin; default UTC")
	f.StringVar(&a.body, "body", "", "what a webhook's requests hold: `signal|payload`; default signal")
	f.StringVar(&a.job.Agent, "agent", "", "the custom agent that runs it, by `NAME`")
	f.StringVar(&a.job.Principal, "principal", "", "on whose grants it runs: `P`; default job:ID")
	f.StringArrayVar(&a.preload, "preload", nil, "a skill that is loaded before the first request, by `NAME`; may be repeated")
	f.StringArrayVar(&a.allow, "allow-preload", nil, "a skill that a signal may load too, by `NAME`; default those of --preload")
	f.StringSliceVar(&a.stages, "stage", nil, "`discover|evaluate|decide|manage`; may be repeated; none = only READ_ONLY runs")
	f.IntVar(&a.job.RiskTierMax, "risk-tier-max", 1, "the highest tier that may run: `1|2|3`")
	f.StringVar(&a.job.Placement, "placement", "", "where its tools run, by `NAME`; default as for every session")
	f.DurationVar(&a.job.DedupeWindow, "dedupe-window", jobs.DefaultWindow, "how long one signal is the same one")
	f.DurationVar(&a.job.Timeout, "turn-timeout", jobs.DefaultTimeout, "a bound on each turn, at most 30m")
	f.BoolVar(&a.job.Idempotent, "idempotent", false, "a turn that was interrupted may be run again")
	f.StringVar(&a.job.CatchUp, "catch-up", "one", "times that were missed: `one|none`")
}

// jobJSON is a definition as scripts see it.
type jobJSON struct {
	ID           string    `json:"id"`
	Kind         jobs.Kind `json:"kind"`
	Schedule     string    `json:"schedule"`
	Zone         string    `json:"tz"`
	Path         string    `json:"path"` // of a webhook
	Body         jobs.Body `json:"body"`
	Prompt       string    `json:"prompt"`
	Agent        string    `json:"agent"`
	Principal    string    `json:"principal"`
	Preload      []string  `json:"preload_skills"`
	AllowPreload []string  `json:"allow_preload"`
	Stages       []string  `json:"stages"`
	RiskTierMax  int       `json:"risk_tier_max"`
	Placement    string    `json:"placement"`
	Window       string    `json:"dedupe_window"`
	Timeout      string    `json:"timeout"`
	Idempotent   bool      `json:"idempotent"`
	CatchUp      string    `json:"catch_up"`
	Paused       bool      `json:"paused"`
	Owner        string    `json:"owner"`
	CreatedAt    time.Time `json:"created_at"`
	Next         string    `json:"next"` // "" = it has no schedule or is paused
}

// cronJSON is the document of every verb below cron.
type cronJSON struct {
	Jobs    []jobJSON `json:"jobs"`
	Secret  string    `json:"secret"`   // of a new webhook, shown this once
	TraceID string    `json:"trace_id"` // of run
	Written bool      `json:"written"`
}

func (r *run) jobJSON(j jobs.Job) jobJSON {
	out := jobJSON{
		ID: j.ID, Kind: j.Kind, Schedule: j.Schedule, Zone: j.Zone, Body: j.Body, Prompt: j.Prompt, Agent: j.Agent, Principal: j.Principal,
		Preload: orEmptyList(j.PreloadSkills), AllowPreload: orEmptyList(j.AllowPreload), Stages: orEmptyList(j.Stages),
		RiskTierMax: j.RiskTierMax, Placement: j.Placement, Window: j.DedupeWindow.String(), Timeout: j.Timeout.String(),
		Idempotent: j.Idempotent, CatchUp: j.CatchUp, Paused: j.Paused, Owner: j.Owner, CreatedAt: j.CreatedAt,
	}
	if j.Kind == jobs.Webhook {
		out.Path = "/v1/hooks/" + j.ID
	}
	if s, err := jobs.ParseSchedule(j.Schedule, j.Zone); err == nil && j.Kind == jobs.Cron && !j.Paused {
		out.Next = s.Next(r.proc.Now()).UTC().Format(time.RFC3339)
	}
	return out
}

func (r *run) cronAdd(ctx context.Context, a cronAdd, args []string) error {
	j := a.job
	j.ID, j.Prompt, j.Owner = args[0], strings.Join(args[1:], " "), owner(r.env)
	j.Kind, j.Body, j.Stages, j.PreloadSkills, j.AllowPreload = jobs.Kind(a.kind), jobs.Body(a.body), a.stages, a.preload, a.allow
	if j.Kind == "" {
		j.Kind = jobs.Event
		if j.Schedule != "" {
			j.Kind = jobs.Cron
		}
	}
	if j.RiskTierMax == 0 { // said; for WithDefaults zero means that nothing was
		return fmt.Errorf("job %q: %w: risk_tier_max 0 is not 1 to 3", j.ID, jobs.ErrInvalid)
	}
	j, err := j.WithDefaults()
	if err != nil {
		return err
	}
	doc := cronJSON{Jobs: []jobJSON{r.jobJSON(j)}}
	if !r.writing.dryRun {
		err := r.withQueue(ctx, func(q *jobs.Queue) (err error) {
			j, err = q.Add(ctx, j)
			return err
		})
		if err != nil {
			return err
		}
		doc = cronJSON{Jobs: []jobJSON{r.jobJSON(j)}, Secret: j.Secret, Written: true}
	}
	r.sayLimits(j)
	if r.globals.json {
		r.printJSON(doc)
		return nil
	}
	key := "cron.added"
	if r.writing.dryRun {
		key = "cron.added_dry"
	}
	r.out.Printf("%s\n", r.words.Say(key, j.ID, string(j.Kind)))
	if next := doc.Jobs[0].Next; next != "" {
		r.out.Printf("%s\n", r.words.Say("cron.next", next))
	}
	if doc.Secret != "" {
		r.out.Printf("%s\n%s\n", r.words.Say("cron.secret", doc.Jobs[0].Path), doc.Secret)
	}
	return nil
}

// sayLimits tells what a job will not do, before it surprises at night.
func (r *run) sayLimits(j jobs.Job) {
	tier := gate.Tier(j.RiskTierMax)
	switch {
	case len(j.Stages) == 0:
		r.hintf("%s", r.words.Say("cron.no_stages"))
	case tier == gate.ReadOnly:
		r.hintf("%s", r.words.Say("cron.tier_one"))
	default:
		r.hintf("%s", r.words.Say("cron.grants", tier.String(), j.Principal))
	}
}

// owner is who makes a job, as far as the system says.
func owner(env func(string) string) string {
	if u, err := user.Current(); err == nil && u.Username != "" {
		return u.Username
	}
	if name := env("USER"); name != "" {
		return name
	}
	return fmt.Sprint(os.Getuid())
}

func (r *run) cronList(ctx context.Context) error {
	doc := cronJSON{Jobs: []jobJSON{}}
	err := r.withQueue(ctx, func(q *jobs.Queue) error {
		if q == nil {
			return nil
		}
		all, err := q.Jobs(ctx)
		for _, j := range all {
			doc.Jobs = append(doc.Jobs, r.jobJSON(j))
		}
		return err
	})
	if err != nil {
		return err
	}
	if r.globals.json {
		r.printJSON(doc)
		return nil
	}
	for _, j := range doc.Jobs {
		when := j.Schedule
		switch {
		case j.Paused:
			when = r.words.Say("cron.paused_mark")
		case j.Path != "":
			when = j.Path
		}
		r.out.Printf("%-20s %-8s %-24s %s\n", j.ID, string(j.Kind), when, j.Next)
	}
	if len(doc.Jobs) == 0 {
		r.hintf("%s", r.words.Say("cron.none"))
	}
	return nil
}

func (r *run) cronRun(ctx context.Context, id string) error {
	doc := cronJSON{Jobs: []jobJSON{}}
	err := r.withQueue(ctx, func(q *jobs.Queue) error {
		if q == nil {
			return fmt.Errorf("job %q: %w", id, jobs.ErrNotFound)
		}
		j, err := q.Job(ctx, id)
		if err != nil {
			return err
		}
		doc.Jobs = append(doc.Jobs, r.jobJSON(j))
		if r.writing.dryRun {
			return nil
		}
		got, err := q.Insert(ctx, jobs.Firing{Job: id, Trigger: "manual"})
		doc.TraceID, doc.Written = got.TraceID, err == nil
		return err
	})
	if err != nil {
		return err
	}
	return r.cronSaid(doc, "cron.queued", id, doc.TraceID)
}

func (r *run) cronPause(ctx context.Context, id string, paused bool) error {
	key := "cron.paused"
	if !paused {
		key = "cron.resumed"
	}
	return r.cronChange(ctx, id, key, func(q *jobs.Queue) error { return q.Pause(ctx, id, paused) })
}

func (r *run) cronRemove(ctx context.Context, id string) error {
	return r.cronChange(ctx, id, "cron.removed", func(q *jobs.Queue) error { return q.Remove(ctx, id) })
}

// cronChange changes a job that is there.
func (r *run) cronChange(ctx context.Context, id, key string, change func(q *jobs.Queue) error) error {
	doc := cronJSON{Jobs: []jobJSON{}}
	err := r.withQueue(ctx, func(q *jobs.Queue) error {
		if q == nil {
			return fmt.Errorf("job %q: %w", id, jobs.ErrNotFound)
		}
		j, err := q.Job(ctx, id)
		if err != nil {
			return err
		}
		if !r.writing.dryRun {
			if err := change(q); err != nil {
				return err
			}
			doc.Written = true
		}
		doc.Jobs = append(doc.Jobs, r.jobJSON(j))
		return nil
	})
	if err != nil {
		return err
	}
	return r.cronSaid(doc, key, id)
}

func (r *run) cronSaid(doc cronJSON, key string, args ...any) error {
	if r.globals.json {
		r.printJSON(doc)
		return nil
	}
	if r.writing.dryRun {
		r.out.Printf("%s\n", r.words.Say("cron.dry", args[0]))
		return nil
	}
	r.out.Printf("%s\n", r.words.Say(key, args...))
	return nil
}
