package store

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"
)

// Usage is how one skill was used on one day by one kind of agent through one client. It
// says nothing of who asked, or what.
type Usage struct {
	UsageKey
	Counts
	Last time.Time // UTC: the newest use that is counted here
}

// UsageKey is what is counted apart.
type UsageKey struct {
	Day    string // of the calendar in UTC, as 2026-01-31
	Skill  string // its name; required
	Source string // the id of where it was found
	Digest string // of its SKILL.md then
	Agent  string // kind of agent; "" = the conversation itself
	Client string // through what deft was asked: cli, mcp:NAME, …
}

// Counts are sums of a day.
type Counts struct {
	Shown         int64 // times it stood in a catalog that a model got
	Loaded        int64 // times its text was loaded
	UserStarted   int64 // of these, because a person asked for it
	ModelStarted  int64 // because a model chose it
	Preloaded     int64 // because a signal, a host or a profile named it
	ResourceReads int64 // of its files
	ToolCalls     int64 // made while it was active
	ToolErrors    int64 // of these, that failed
	Denied        int64 // of these, that the gate did not allow
	CatalogTokens int64 // of its entry, each time it was shown
	BodyTokens    int64 // of its text and files, each time they were loaded
	Milliseconds  int64 // that those tool calls took
}

// counted are the columns of Counts, in the order of Counts.columns.
var counted = []string{
	"shown", "loaded", "user_started", "model_started", "preloaded", "resource_reads", "tool_calls", "tool_errors", "denied",
	"catalog_tokens", "body_tokens", "ms_total",
}

func (c *Counts) columns() []*int64 {
	return []*int64{
		&c.Shown, &c.Loaded, &c.UserStarted, &c.ModelStarted, &c.Preloaded, &c.ResourceReads, &c.ToolCalls, &c.ToolErrors, &c.Denied,
		&c.CatalogTokens, &c.BodyTokens, &c.Milliseconds,
	}
}

// Add returns the sums of both.
func (c Counts) Add(d Counts) Counts {
	into, from := c.columns(), d.columns()
	for i := range into {
		*into[i] += *from[i]
	}
	return c
}

const usageKey = "day, skill, source_id, digest, agent, client"

func (k UsageKey) values() []any {
	return []any{k.Day, k.Skill, k.Source, k.Digest, k.Agent, k.Client}
}

// UsageDay is the day of a time as UsageKey has it.
func UsageDay(at time.Time) string { return at.UTC().Format(time.DateOnly) }

// CountUsage adds to the sums, all of it or nothing. Rows of one key are added up first.
func (s *Store) CountUsage(ctx context.Context, rows ...Usage) error {
	sums := map[UsageKey]Usage{}
	for _, r := range rows {
		if _, err := time.Parse(time.DateOnly, r.Day); err != nil || r.Skill == "" {
			return fmt.Errorf("%w: usage of %q on %q", ErrInvalid, r.Skill, r.Day)
		}
		r.UsageKey = r.UsageKey.plain()
		sum := sums[r.UsageKey]
		sum.UsageKey, sum.Counts = r.UsageKey, sum.Counts.Add(r.Counts)
		if r.Last.After(sum.Last) {
			sum.Last = r.Last
		}
		sums[r.UsageKey] = sum
	}
	if len(sums) == 0 {
		return nil
	}
	list := make([]Usage, 0, len(sums))
	for _, sum := range sums {
		list = append(list, sum)
	}
	slices.SortFunc(list, Usage.compare) // one order for every writer: none waits for another's row
	query := addingUsage()
	return s.write(ctx, "usage.save", func(tx *tx) error {
		for _, r := range list {
			args := r.values()
			for _, n := range r.columns() {
				args = append(args, *n)
			}
			if _, err := tx.ExecContext(ctx, query, append(args, r.Last.UnixMicro())...); err != nil {
				return err
			}
		}
		return nil
	})
}

func addingUsage() string {
	var sums strings.Builder
	for _, c := range counted {
		fmt.Fprintf(&sums, "%s = usage_daily.%s + excluded.%s, ", c, c, c)
	}
	return "INSERT INTO usage_daily (tenant, " + usageKey + ", " + strings.Join(counted, ", ") + ", last_at) VALUES (:tenant" +
		strings.Repeat(", ?", 7+len(counted)) + ") ON CONFLICT (tenant, " + usageKey + ") DO UPDATE SET " + sums.String() +
		"last_at = CASE WHEN excluded.last_at > usage_daily.last_at THEN excluded.last_at ELSE usage_daily.last_at END"
}

// plain is the key as every database takes it.
func (k UsageKey) plain() UsageKey {
	for _, s := range []*string{&k.Skill, &k.Source, &k.Digest, &k.Agent, &k.Client} {
		*s = said(*s)
	}
	return k
}

func (u Usage) compare(v Usage) int {
	return cmp.Or(
		strings.Compare(u.Day, v.Day), strings.Compare(u.Skill, v.Skill), strings.Compare(u.Source, v.Source),
		strings.Compare(u.Digest, v.Digest), strings.Compare(u.Agent, v.Agent), strings.Compare(u.Client, v.Client),
	)
}

// Usage returns what was counted on the day of since and after, in the order of its keys.
func (s *Store) Usage(ctx context.Context, since time.Time) (out []Usage, err error) {
	err = s.read(ctx, func(q querier) error {
		out = nil
		rows, err := q.QueryContext(ctx, "SELECT "+usageKey+", "+strings.Join(counted, ", ")+", last_at FROM usage_daily WHERE tenant = :tenant AND day >= ?",
			UsageDay(since))
		if err != nil {
			return err
		}
		defer rows.Close()
		for rows.Next() {
			var u Usage
			var last int64
			dest := []any{&u.Day, &u.Skill, &u.Source, &u.Digest, &u.Agent, &u.Client}
			for _, n := range u.columns() {
				dest = append(dest, n)
			}
			if err := rows.Scan(append(dest, &last)...); err != nil {
				return err
			}
			u.Last = time.UnixMicro(last).UTC()
			out = append(out, u)
		}
		return rows.Err()
	})
	slices.SortFunc(out, Usage.compare) // databases sort letters in different ways
	return out, err
}

// ForgetUsage deletes what was counted of a skill, "" = of all, and returns how many rows
// that were.
func (s *Store) ForgetUsage(ctx context.Context, skill string) (rows int64, err error) {
	err = s.write(ctx, "usage.save", func(tx *tx) (err error) {
		rows, err = tx.changed(ctx, "DELETE FROM usage_daily WHERE tenant = :tenant AND (? = '' OR skill = ?)", skill, skill)
		if err == nil && rows == 0 {
			err = errUnchanged
		}
		return err
	})
	return rows, err
}
