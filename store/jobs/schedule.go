package jobs

import (
	"fmt"
	"math/bits"
	"strconv"
	"strings"
	"time"
)

// Schedule says when a job runs, by the wall clock of a place.
//
// The form is that of crontab: minute, hour, day of the month, month, day of the week,
// each a star, a number, a range, a list or any of these with a step; months and days
// of the week have names too, and Sunday is 0 and 7. If both days are bounded, either is
// enough. @hourly, @daily, @midnight, @weekly, @monthly, @yearly and @annually are
// short forms.
//
// Where the clock is put forward, what fell into the hour that is missing runs once, at
// the first minute after it. Where it is put back, the hour that comes twice counts
// once, the first time. A job that must run each hour of real time has the zone UTC.
type Schedule struct {
	minute, hour, day, month, weekday uint64 // a bit a value
	anyDay, anyWeekday                bool
	zone                              *time.Location
}

var shortForms = map[string]string{
	"@hourly": "0 * * * *", "@daily": "0 0 * * *", "@midnight": "0 0 * * *", "@weekly": "0 0 * * 0",
	"@monthly": "0 0 1 * *", "@yearly": "0 0 1 1 *", "@annually": "0 0 1 1 *",
}

var monthNames = map[string]int{
	"jan": 1, "feb": 2, "mar": 3, "apr": 4, "may": 5, "jun": 6, "jul": 7, "aug": 8, "sep": 9, "oct": 10, "nov": 11, "dec": 12,
}

var dayNames = map[string]int{"sun": 0, "mon": 1, "tue": 2, "wed": 3, "thu": 4, "fri": 5, "sat": 6}

// ParseSchedule reads a schedule in a zone of the time zone database; "" = UTC. What
// can never be, such as the 30th of February, is refused.
func ParseSchedule(text, zone string) (Schedule, error) {
	s := Schedule{zone: time.UTC}
	if zone != "" {
		loc, err := time.LoadLocation(zone)
		if err != nil || zone == "Local" {
			return s, fmt.Errorf("%w: time zone %q is not known", ErrInvalid, zone)
		}
		s.zone = loc
	}
	form := strings.TrimSpace(text)
	if long, ok := shortForms[strings.ToLower(form)]; ok {
		form = long
	}
	fields := strings.Fields(form)
	if len(fields) != 5 {
		return s, fmt.Errorf("%w: schedule %q has %d fields, not 5 (minute hour day month weekday)", ErrInvalid, text, len(fields))
	}
	for i, f := range []struct {
		into     *uint64
		name     string
		min, max int
		names    map[string]int
	}{
		{&s.minute, "minute", 0, 59, nil},
		{&s.hour, "hour", 0, 23, nil},
		{&s.day, "day", 1, 31, nil},
		{&s.month, "month", 1, 12, monthNames},
		{&s.weekday, "weekday", 0, 7, dayNames},
	} {
		set, err := fieldSet(fields[i], f.min, f.max, f.names)
		if err != nil {
			return s, fmt.Errorf("%w: schedule %q: %s: %w", ErrInvalid, text, f.name, err)
		}
		*f.into = set
	}
	s.weekday |= s.weekday >> 7 & 1 // Sunday
	s.anyDay, s.anyWeekday = strings.HasPrefix(fields[2], "*"), strings.HasPrefix(fields[4], "*")
	if s.Next(time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC)).IsZero() {
		return s, fmt.Errorf("%w: schedule %q never comes", ErrInvalid, text)
	}
	return s, nil
}

func fieldSet(text string, low, high int, names map[string]int) (uint64, error) {
	var set uint64
	for _, part := range strings.Split(text, ",") {
		span, step, stepped := strings.Cut(part, "/")
		by := 1
		if stepped {
			n, err := strconv.Atoi(step)
			if err != nil || n < 1 || n > high {
				return 0, fmt.Errorf("step %q is not 1 to %d", step, high)
			}
			by = n
		}
		from, to := low, high
		if span != "*" {
			a, b, ranged := strings.Cut(span, "-")
			var err error
			if from, err = fieldValue(a, low, high, names); err != nil {
				return 0, err
			}
			switch {
			case ranged:
				if to, err = fieldValue(b, low, high, names); err != nil {
					return 0, err
				}
			case !stepped:
				to = from
			}
			if to < from {
				return 0, fmt.Errorf("range %q runs backwards", span)
			}
		}
		for v := from; v <= to; v += by {
			set |= 1 << v
		}
	}
	return set, nil
}

func fieldValue(text string, low, high int, names map[string]int) (int, error) {
	if v, ok := names[strings.ToLower(text)]; ok {
		return v, nil
	}
	v, err := strconv.Atoi(text)
	if err != nil || v < low || v > high || len(text) > 2 || text[0] == '+' {
		return 0, fmt.Errorf("%q is not %d to %d", text, low, high)
	}
	return v, nil
}

// horizon is how many days are searched for the next time: the 29th of February can be
// eight years away.
const horizon = 366 * 9

// Next returns the first time after t; zero = it never comes.
func (s Schedule) Next(t time.Time) time.Time {
	local := t.In(s.zone)
	from := local.Hour()*60 + local.Minute()
	for n := range horizon {
		// Noon, because midnight is missing on some days in some places.
		day := time.Date(local.Year(), local.Month(), local.Day()+n, 12, 0, 0, 0, time.UTC)
		if !s.on(day) {
			from = 0
			continue
		}
		for minute := s.minuteFrom(from); minute >= 0; minute = s.minuteFrom(minute + 1) {
			if at := instant(day, minute, s.zone); at.After(t) {
				return at
			}
		}
		from = 0
	}
	return time.Time{}
}

// on reports whether the schedule has times on the day.
func (s Schedule) on(day time.Time) bool {
	if s.month>>int(day.Month())&1 == 0 {
		return false
	}
	inMonth, inWeek := s.day>>day.Day()&1 == 1, s.weekday>>int(day.Weekday())&1 == 1
	if s.anyDay || s.anyWeekday {
		return inMonth && inWeek
	}
	return inMonth || inWeek
}

// minuteFrom returns the first minute of the day, at or after from, that is in the
// schedule; -1 = there is none.
func (s Schedule) minuteFrom(from int) int {
	for h := from / 60; h < 24; h++ {
		if s.hour>>h&1 == 1 {
			first := 0
			if h == from/60 {
				first = from % 60
			}
			if rest := s.minute >> first; rest != 0 {
				return h*60 + first + bits.TrailingZeros64(rest)
			}
		}
	}
	return -1
}

// instant returns when the wall clock of the zone first shows the minute of the day, or
// the end of the gap where it never does.
func instant(day time.Time, minute int, zone *time.Location) time.Time {
	wall := time.Date(day.Year(), day.Month(), day.Day(), minute/60, minute%60, 0, 0, time.UTC)
	guess := time.Date(day.Year(), day.Month(), day.Day(), minute/60, minute%60, 0, 0, zone)
	start, end := guess.ZoneBounds()
	// The offsets that may hold then: of the guess and of both neighbours.
	offsets := []int{offset(guess)}
	var edges []time.Time
	if !start.IsZero() {
		offsets, edges = append(offsets, offset(start.Add(-time.Second))), append(edges, start)
	}
	if !end.IsZero() {
		offsets, edges = append(offsets, offset(end)), append(edges, end)
	}
	var first time.Time
	for _, o := range offsets {
		at := wall.Add(-time.Duration(o) * time.Second).In(zone)
		if offset(at) == o && (first.IsZero() || at.Before(first)) {
			first = at
		}
	}
	if !first.IsZero() {
		return first
	}
	for _, edge := range edges {
		before := wall.Add(-time.Duration(offset(edge.Add(-time.Second))) * time.Second)
		after := wall.Add(-time.Duration(offset(edge)) * time.Second)
		if !before.Before(edge) && after.Before(edge) {
			return edge.Add(time.Minute - 1).Truncate(time.Minute)
		}
	}
	return guess
}

func offset(t time.Time) int {
	_, o := t.Zone()
	return o
}

// Due returns the newest time of the schedule that is after since and not after now, and
// whether there is one.
func (s Schedule) Due(since, now time.Time) (time.Time, bool) {
	// The newest one is looked for in windows that grow, so that a job that slept for a
	// year does not count every minute of it.
	for _, window := range []time.Duration{time.Hour, 24 * time.Hour, 32 * 24 * time.Hour, horizon * 24 * time.Hour} {
		from := since
		if start := now.Add(-window); start.After(from) {
			from = start
		}
		at := s.Next(from)
		if at.IsZero() || at.After(now) {
			if from.Equal(since) {
				return time.Time{}, false
			}
			continue
		}
		for {
			next := s.Next(at)
			if next.IsZero() || next.After(now) {
				return at, true
			}
			at = next
		}
	}
	return time.Time{}, false
}
