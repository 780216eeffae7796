package cli

import (
	"context"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/deftskills/deft/registry"
	"github.com/deftskills/deft/skill"
)

// watchCheck tries how changes would be noticed by a conversation: by the system's events,
// or by looking every few seconds, and why.
func (r *run) watchCheck(ctx context.Context) check {
	c := check{ID: "watch", Level: skill.LevelInfo}
	t := r.config.Tuning
	if !t.Watch.Enabled {
		c.Message = r.words.Say("doctor.watch_off", time.Duration(t.Refresh.Cooldown).String())
		return c
	}
	stop, err := r.engine.Watch(ctx, r.watchOptions())
	if err != nil {
		c.Level, c.Message = skill.LevelWarning, r.words.Say("doctor.watch_polling", 0, time.Duration(t.Watch.Poll).String(), err.Error())
		return c
	}
	s := r.engine.WatchStatus()
	stop()
	return r.watched(s, watchLimit(r.proc.GOOS))
}

// watched tells of one try; limit 0 = the system's is unknown.
func (r *run) watched(s registry.WatchStatus, limit int) check {
	c, poll := check{ID: "watch", Level: skill.LevelInfo}, time.Duration(r.config.Tuning.Watch.Poll).String()
	switch {
	case s.Mode == "events" && limit > 0:
		c.Message = r.words.Say("doctor.watch_of", s.Watches, limit)
	case s.Mode == "events":
		c.Message = r.words.Say("doctor.watch", s.Watches)
	default:
		d := skill.Finding("watch_degraded", "", "%s", r.words.Say("doctor.watch_polling", s.Polled, poll, s.Why))
		c.Level, c.Message, c.Fix = d.Level, d.Message, d.Fix
		if limit > 0 {
			c.Message += "; " + r.words.Say("doctor.watch_limit", limit)
		}
	}
	return c
}

// watchLimit is how many directories a person's programs may watch together; 0 = unknown.
func watchLimit(goos string) int {
	if goos != "linux" {
		return 0
	}
	text, err := os.ReadFile("/proc/sys/fs/inotify/max_user_watches")
	if err != nil {
		return 0
	}
	n, err := strconv.Atoi(strings.TrimSpace(string(text)))
	if err != nil {
		return 0
	}
	return n
}
