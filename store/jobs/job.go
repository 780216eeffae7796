package jobs

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"time"
)

// Kind is what fires a job.
type Kind string

// The kinds.
const (
	Cron    Kind = "cron"    // its schedule
	Webhook Kind = "webhook" // a signed request
	Event   Kind = "event"   // a program with the local token
)

// Body is what a webhook's requests hold.
type Body string

// The bodies.
const (
	SignalBody  Body = "signal"  // a signal, read strictly; the default
	PayloadBody Body = "payload" // any JSON: it becomes the payload
)

// Job is a definition, made by a person. Only it gives stages and a ceiling to the gate:
// a firing can narrow both and widen neither.
type Job struct {
	ID       string `json:"id"`
	Kind     Kind   `json:"kind"`
	Schedule string `json:"schedule"` // of Cron; see Schedule
	Zone     string `json:"tz"`       // of the schedule; "" = UTC
	Body     Body   `json:"body"`     // of Webhook
	Prompt   string `json:"prompt"`   // what the turn is asked
	// Agent is the custom agent that runs the turn; "" = none.
	Agent     string `json:"agent"`
	Principal string `json:"principal"` // "" = job:<id>

	PreloadSkills []string `json:"preload_skills"`
	// AllowPreload are the skills that a signal may load too; nil = PreloadSkills.
	AllowPreload []string `json:"allow_preload"`
	Stages       []string `json:"stages"` // none = only READ_ONLY tools run
	RiskTierMax  int      `json:"risk_tier_max"`
	Placement    string   `json:"placement"` // "" = local

	DedupeWindow time.Duration `json:"dedupe_window"` // 0 = 10 minutes
	Timeout      time.Duration `json:"timeout"`       // of the turn; 0 = 10 minutes
	// Idempotent allows that a turn whose process died is run again.
	Idempotent bool `json:"idempotent"`
	// CatchUp is what becomes of times that were missed: "one" (the default) runs the
	// newest of them, "none" runs none.
	CatchUp string `json:"catch_up"`
	Paused  bool   `json:"paused"`
	Owner   string `json:"owner"`

	// Secret proves a webhook's requests. A signature cannot be checked against a hash, so
	// it is kept as it is, in the database alone.
	Secret string `json:"-"`

	CreatedAt time.Time `json:"created_at"`
	UpdatedAt time.Time `json:"updated_at"`

	planned time.Time // up to where the schedule was looked at
}

// Defaults and bounds of definitions.
const (
	DefaultWindow  = 10 * time.Minute
	DefaultTimeout = 10 * time.Minute
	maxTimeout     = 30 * time.Minute // the most a turn may take
	maxWindow      = 31 * 24 * time.Hour
	maxPrompt      = 64 << 10
	maxPreload     = 16
	// highestTier is ALWAYS_CONFIRM: what a person must do with their own hands never
	// runs in a job.
	highestTier = 3
)

var jobID = regexp.MustCompile(`^[a-z0-9][a-z0-9._-]{0,63}$`)

// stages in the order of a decision.
var stages = []string{"discover", "evaluate", "decide", "manage"}

// WithDefaults returns j with its zero fields set, or says what is wrong with it.
func (j Job) WithDefaults() (Job, error) {
	if j.Principal == "" {
		j.Principal = "job:" + j.ID
	}
	if j.RiskTierMax == 0 {
		j.RiskTierMax = 1
	}
	if j.DedupeWindow == 0 {
		j.DedupeWindow = DefaultWindow
	}
	if j.Timeout == 0 {
		j.Timeout = DefaultTimeout
	}
	if j.CatchUp == "" {
		j.CatchUp = "one"
	}
	if j.Kind == Webhook && j.Body == "" {
		j.Body = SignalBody
	}
	if j.AllowPreload == nil {
		j.AllowPreload = slices.Clone(j.PreloadSkills)
	}
	for _, list := range []*[]string{&j.PreloadSkills, &j.AllowPreload, &j.Stages} {
		if *list == nil {
			*list = []string{}
		}
	}
	for _, rule := range j.rules() {
		if rule.broken {
			return j, fmt.Errorf("job %q: %w: %s", j.ID, ErrInvalid, rule.say)
		}
	}
	if j.Kind == Cron {
		if _, err := ParseSchedule(j.Schedule, j.Zone); err != nil {
			return j, fmt.Errorf("job %q: %w", j.ID, err)
		}
	}
	return j, nil
}

type rule struct {
	broken bool
	say    string
}

func (j Job) rules() []rule {
	unknown := slices.ContainsFunc(j.Stages, func(s string) bool { return !slices.Contains(stages, s) })
	return []rule{
		{!jobID.MatchString(j.ID), "id: want 1 to 64 of a-z 0-9 . _ - with a letter or digit first"},
		{!slices.Contains([]Kind{Cron, Webhook, Event}, j.Kind), fmt.Sprintf("kind %q is not cron, webhook or event", j.Kind)},
		{j.Kind != Cron && (j.Schedule != "" || j.Zone != ""), "schedule: only cron jobs have one"},
		{j.Kind != Webhook && j.Body != "", "body: only webhook jobs have one"},
		{j.Kind == Webhook && j.Body != SignalBody && j.Body != PayloadBody, fmt.Sprintf("body %q is not signal or payload", j.Body)},
		{j.Prompt == "", "prompt: it is missing"},
		{len(j.Prompt) > maxPrompt, fmt.Sprintf("prompt: %d bytes, at most %d", len(j.Prompt), maxPrompt)},
		{len(j.PreloadSkills) > maxPreload || len(j.AllowPreload) > maxPreload, fmt.Sprintf("preload: at most %d skills", maxPreload)},
		{unknown, "stages: want discover, evaluate, decide or manage"},
		{j.RiskTierMax < 1 || j.RiskTierMax > highestTier, fmt.Sprintf("risk_tier_max %d is not 1 to %d", j.RiskTierMax, highestTier)},
		{j.DedupeWindow < time.Second || j.DedupeWindow > maxWindow, fmt.Sprintf("dedupe_window %s is not 1s to %s", j.DedupeWindow, maxWindow)},
		{j.Timeout < time.Second || j.Timeout > maxTimeout, fmt.Sprintf("timeout %s is not 1s to %s", j.Timeout, maxTimeout)},
		{j.CatchUp != "one" && j.CatchUp != "none", fmt.Sprintf("catch_up %q is not one or none", j.CatchUp)},
	}
}

// digest names what the definition says, for the record of a firing.
func (j Job) digest() string {
	j.CreatedAt, j.UpdatedAt, j.Paused = time.Time{}, time.Time{}, false
	text, _ := json.Marshal(j)
	sum := sha256.Sum256(text)
	return "sha256:" + hex.EncodeToString(sum[:])
}
