package jobs

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"
)

const jobColumns = "id, kind, schedule, tz, body, prompt, agent, principal, preload_skills, allow_preload, stages," +
	" risk_tier_max, placement, dedupe_window, timeout, idempotent, catch_up, paused, owner, secret," +
	" created_at, updated_at, planned_at"

// Add keeps a new definition. A webhook's Secret is made if it is empty; the Job that is
// returned holds it, and its defaults. ErrExists: there is one of this id.
func (q *Queue) Add(ctx context.Context, j Job) (Job, error) {
	j, err := j.WithDefaults()
	if err != nil {
		return j, err
	}
	if j.Kind == Webhook && j.Secret == "" {
		if j.Secret, err = q.newSecret(); err != nil {
			return j, err
		}
	}
	j.CreatedAt = q.o.Now().UTC().Truncate(time.Microsecond)
	j.UpdatedAt, j.planned = j.CreatedAt, j.CreatedAt
	list := func(l []string) string { b, _ := json.Marshal(l); return string(b) }
	n, err := q.base.exec(ctx, "INSERT INTO jobs ("+jobColumns+") VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11,"+
		" $12, $13, $14, $15, $16, $17, $18, $19, $20, $21, $22, $23) ON CONFLICT DO NOTHING",
		j.ID, string(j.Kind), j.Schedule, j.Zone, string(j.Body), j.Prompt, j.Agent, j.Principal,
		list(j.PreloadSkills), list(j.AllowPreload), list(j.Stages), j.RiskTierMax, j.Placement,
		j.DedupeWindow.Microseconds(), j.Timeout.Microseconds(), number(j.Idempotent), j.CatchUp, number(j.Paused),
		j.Owner, j.Secret, j.CreatedAt.UnixMicro(), j.UpdatedAt.UnixMicro(), j.planned.UnixMicro())
	if err == nil && n == 0 {
		err = fmt.Errorf("job %q: %w", j.ID, ErrExists)
	}
	return j, err
}

func number(b bool) int {
	if b {
		return 1
	}
	return 0
}

// Jobs returns every definition, by id.
func (q *Queue) Jobs(ctx context.Context) ([]Job, error) {
	out := []Job{}
	err := readJobs(ctx, q.base, "ORDER BY id", nil, func(j Job) { out = append(out, j) })
	return out, err
}

// Job returns one definition; ErrNotFound = there is none of this id.
func (q *Queue) Job(ctx context.Context, id string) (Job, error) { return readJob(ctx, q.base, id) }

func readJob(ctx context.Context, c conn, id string) (Job, error) {
	var out Job
	err := readJobs(ctx, c, "AND id = $1", []any{id}, func(j Job) { out = j })
	if err == nil && out.ID == "" {
		err = fmt.Errorf("job %q: %w", id, ErrNotFound)
	}
	return out, err
}

func readJobs(ctx context.Context, c conn, where string, args []any, each func(Job)) error {
	return c.query(ctx, "SELECT "+jobColumns+" FROM jobs WHERE tenant = 'local' "+where, args, func(scan func(...any) error) error {
		var j Job
		var preload, allow, stages string
		var window, timeout, idempotent, paused, created, updated, planned int64
		if err := scan(&j.ID, &j.Kind, &j.Schedule, &j.Zone, &j.Body, &j.Prompt, &j.Agent, &j.Principal,
			&preload, &allow, &stages, &j.RiskTierMax, &j.Placement, &window, &timeout, &idempotent, &j.CatchUp,
			&paused, &j.Owner, &j.Secret, &created, &updated, &planned); err != nil {
			return err
		}
		if err := errors.Join(json.Unmarshal([]byte(preload), &j.PreloadSkills), json.Unmarshal([]byte(allow), &j.AllowPreload),
			json.Unmarshal([]byte(stages), &j.Stages)); err != nil {
			return fmt.Errorf("job %q: %w", j.ID, err)
		}
		j.DedupeWindow, j.Timeout = time.Duration(window)*time.Microsecond, time.Duration(timeout)*time.Microsecond
		j.Idempotent, j.Paused = idempotent != 0, paused != 0
		j.CreatedAt, j.UpdatedAt, j.planned = at(created), at(updated), at(planned)
		each(j)
		return nil
	})
}

func at(micros int64) time.Time {
	if micros == 0 {
		return time.Time{}
	}
	return time.UnixMicro(micros).UTC()
}

// Pause stops a job, or lets it go on: a paused one is not planned and takes no signal;
// what is queued already still runs. Times that pass meanwhile are not caught up.
func (q *Queue) Pause(ctx context.Context, id string, paused bool) error {
	now := q.o.Now().UnixMicro()
	n, err := q.base.exec(ctx, "UPDATE jobs SET paused = $2, updated_at = $3, planned_at = $4 WHERE tenant = 'local' AND id = $1",
		id, number(paused), now, now)
	if err == nil && n == 0 {
		err = fmt.Errorf("job %q: %w", id, ErrNotFound)
	}
	return err
}

// Remove forgets a definition. What it did stays in the record; what is queued fails.
func (q *Queue) Remove(ctx context.Context, id string) error {
	n, err := q.base.exec(ctx, "DELETE FROM jobs WHERE tenant = 'local' AND id = $1", id)
	if err == nil && n == 0 {
		err = fmt.Errorf("job %q: %w", id, ErrNotFound)
	}
	return err
}
