package cli

import (
	"testing"

	"github.com/deftskills/deft/internal/cli/text"
	"github.com/deftskills/deft/internal/config"
	"github.com/deftskills/deft/registry"
	"github.com/deftskills/deft/skill"
)

func TestDoctorSaysHowChangesAreNoticed(t *testing.T) {
	t.Parallel()
	polling := registry.WatchStatus{Mode: "polling", Watches: 3, Polled: 2, Why: "/home/jo/.claude/skills: no space left on device"}
	for _, c := range []struct {
		lang   string
		status registry.WatchStatus
		limit  int
		level  skill.Level
		want   string
	}{
		{"en", registry.WatchStatus{Mode: "events", Watches: 14}, 0, skill.LevelInfo, "changes are watched: 14 folders"},
		{"en", registry.WatchStatus{Mode: "events", Watches: 14}, 8192, skill.LevelInfo, "changes are watched: 14 folders, of 8192 that the system allows"},
		{"en", polling, 0, skill.LevelWarning, "changes of 2 places are looked for every 5s instead of watched: " + polling.Why},
		{"en", polling, 8192, skill.LevelWarning, "changes of 2 places are looked for every 5s instead of watched: " + polling.Why +
			"; the system allows 8192 watched folders (fs.inotify.max_user_watches)"},
		{"zh", polling, 0, skill.LevelWarning, "有 2 处的变化每 5s 查看一次，而不是监视：" + polling.Why},
	} {
		r := &run{app: &app{words: text.Load(c.lang)}, config: config.New()}
		got := r.watched(c.status, c.limit)
		if got.ID != "watch" || got.Level != c.level || got.Message != c.want || (got.Fix == "") != (c.level == skill.LevelInfo) {
			t.Errorf("%+v", got)
		}
	}
}
