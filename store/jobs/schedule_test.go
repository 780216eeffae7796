package jobs

import (
	"errors"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"
)

func TestScheduleNamesTheNextTimes(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		schedule, zone, from string
		want                 []string
	}{
		{"*/15 * * * *", "", "2026-01-01T00:07:30Z", []string{"2026-01-01T00:15:00Z", "2026-01-01T00:30:00Z"}},
		{"0 9-17/4 * * mon-fri", "", "2026-01-02T13:00:00Z", []string{"2026-01-02T17:00:00Z", "2026-01-05T09:00:00Z"}},
		{"@daily", "Asia/Shanghai", "2026-01-01T00:00:00Z", []string{"2026-01-01T16:00:00Z"}},
		{"@yearly", "", "2026-01-01T00:00:00Z", []string{"2027-01-01T00:00:00Z"}},
		{"0 0 29 2 *", "", "2096-02-29T00:00:00Z", []string{"2104-02-29T00:00:00Z"}},
		{"0 0 13 * 5", "", "2026-02-01T00:00:00Z", []string{"2026-02-06T00:00:00Z", "2026-02-13T00:00:00Z"}}, // either day
		{"0 0 * * 7", "", "2026-01-01T00:00:00Z", []string{"2026-01-04T00:00:00Z"}},
		{"5/20 * * * *", "", "2026-01-01T00:00:00Z", []string{"2026-01-01T00:05:00Z", "2026-01-01T00:25:00Z", "2026-01-01T00:45:00Z", "2026-01-01T01:05:00Z"}},
		{"0 0 1 JAN,jul *", "", "2026-01-01T00:00:00Z", []string{"2026-07-01T00:00:00Z"}},
		// The clock is put forward from 2 to 3: what fell into the hour runs once, after it.
		{"30 2 * * *", "Europe/Berlin", "2026-03-28T12:00:00Z", []string{"2026-03-29T01:00:00Z", "2026-03-30T00:30:00Z"}},
		{"*/20 2 * * *", "Europe/Berlin", "2026-03-28T12:00:00Z", []string{"2026-03-29T01:00:00Z", "2026-03-30T00:00:00Z"}},
		{"0 * * * *", "America/New_York", "2026-03-08T05:30:00Z", []string{"2026-03-08T06:00:00Z", "2026-03-08T07:00:00Z", "2026-03-08T08:00:00Z"}},
		// It is put back from 3 to 2: the hour that comes twice counts once, the first time.
		{"30 2 * * *", "Europe/Berlin", "2026-10-24T12:00:00Z", []string{"2026-10-25T00:30:00Z", "2026-10-26T01:30:00Z"}},
		{"*/30 * * * *", "Europe/Berlin", "2026-10-24T23:45:00Z", []string{"2026-10-25T00:00:00Z", "2026-10-25T00:30:00Z", "2026-10-25T02:00:00Z"}},
		// Midnight is missing; half an hour is; a whole day is.
		{"0 0 * * *", "America/Santiago", "2026-09-05T12:00:00Z", []string{"2026-09-06T04:00:00Z", "2026-09-07T03:00:00Z"}},
		{"15 2 * * *", "Australia/Lord_Howe", "2026-10-03T00:00:00Z", []string{"2026-10-03T15:30:00Z", "2026-10-04T15:15:00Z"}},
		{"0 12 * * *", "Pacific/Apia", "2011-12-29T23:00:00Z", []string{"2011-12-30T10:00:00Z", "2011-12-30T22:00:00Z"}},
	} {
		s, err := ParseSchedule(c.schedule, c.zone)
		if err != nil {
			t.Errorf("%q: %v", c.schedule, err)
			continue
		}
		at, _ := time.Parse(time.RFC3339, c.from)
		var got []string
		for range c.want {
			at = s.Next(at)
			got = append(got, at.UTC().Format(time.RFC3339))
		}
		if !slices.Equal(got, c.want) {
			t.Errorf("%q in %q from %s:\n got %v\nwant %v", c.schedule, c.zone, c.from, got, c.want)
		}
	}
}

func TestBadSchedulesAreRefused(t *testing.T) {
	t.Parallel()
	for _, c := range [][2]string{
		{"", ""}, {"* * * *", ""}, {"* * * * * *", ""}, {"60 * * * *", ""}, {"* 24 * * *", ""}, {"* * 0 * *", ""}, {"* * * 13 *", ""},
		{"* * * * 8", ""}, {"*/0 * * * *", ""}, {"5-1 * * * *", ""}, {"a * * * *", ""}, {"-1 * * * *", ""}, {"1,,2 * * * *", ""},
		{"0 0 30 2 *", ""}, {"@every 5m", ""}, {"@reboot", ""}, {"@daily", "Mars/Olympus"}, {"@daily", "Local"}, {"+1 * * * *", ""}, {"* * * x *", ""},
	} {
		if _, err := ParseSchedule(c[0], c[1]); !errors.Is(err, ErrInvalid) {
			t.Errorf("%q in %q: %v", c[0], c[1], err)
		}
	}
}

// Whatever the schedule, zone and time: the next time is later, on a whole minute, and
// nothing lies between; and the newest due time is the last of the next times.
func TestNextTimesFollowEachOther(t *testing.T) {
	t.Parallel()
	zones := []string{"", "Europe/Berlin", "America/New_York", "Australia/Lord_Howe", "Pacific/Apia", "America/Santiago", "Asia/Kathmandu"}
	forms := []string{"*/7 * * * *", "30 2 * * *", "0 */3 * * *", "15 1,2,3 * * sun", "0 0 1 * *", "@weekly"}
	rapid.Check(t, func(rt *rapid.T) {
		s, err := ParseSchedule(rapid.SampledFrom(forms).Draw(rt, "form"), rapid.SampledFrom(zones).Draw(rt, "zone"))
		if err != nil {
			rt.Fatal(err)
		}
		from := time.Unix(rapid.Int64Range(1_262_304_000, 2_000_000_000).Draw(rt, "from"), 0)
		first := s.Next(from)
		if !first.After(from) || first.Second() != 0 {
			rt.Fatalf("after %s comes %s", from, first)
		}
		middle := from.Add(time.Duration(rapid.Int64Range(0, int64(first.Sub(from)-1)).Draw(rt, "middle")))
		if again := s.Next(middle); !again.Equal(first) {
			rt.Fatalf("after %s comes %s, after %s %s", from, first, middle, again)
		}
		second := s.Next(first)
		now := second.Add(time.Duration(rapid.Int64Range(0, int64(s.Next(second).Sub(second)-1)).Draw(rt, "now")))
		if due, ok := s.Due(from, now); !ok || !due.Equal(second) {
			rt.Fatalf("due between %s and %s: %s, %v, want %s", from, now, due, ok, second)
		}
		if due, ok := s.Due(from, first.Add(-1)); ok {
			rt.Fatalf("%s is due before %s", due, first)
		}
	})
}

func FuzzSchedule(f *testing.F) {
	for _, seed := range []string{"*/5 * * * *", "@daily", "0 0 29 2 *", "1-5,7/2 * * jan-mar mon"} {
		f.Add(seed, int64(1_800_000_000))
	}
	f.Fuzz(func(t *testing.T, text string, at int64) {
		s, err := ParseSchedule(text, "Europe/Berlin")
		if err != nil {
			return
		}
		from := time.Unix(at%4_000_000_000, 0)
		if next := s.Next(from); !next.IsZero() && !next.After(from) {
			t.Errorf("%q: after %s comes %s", text, from, next)
		}
	})
}
