//go:build unix

package main

import (
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/tidwall/gjson"

	"github.com/deftskills/deft/internal/race"
)

// installed is a machine whose project takes skills from a folder beside it.
type installed struct {
	machine
	base string     // what a copy of the home is kept in
	also [][]string // verbs whose answers are part of what is seen
}

func newInstalled(t *testing.T) installed {
	t.Helper()
	m := installed{machine: newMachine(t), base: t.TempDir()}
	m.source("first")
	m.write(".claude/settings.json", "{}")
	m.write("work/.claude/settings.json", "{}")
	m.write("work/skills-lock.json", "{\n  \"version\": 1,\n  \"skills\": {\n    \"foreign\": {\n      \"source\": \"a/b\",\n      \"later\": 2.50\n    }\n  }\n}\n")
	return m
}

// source is what the folder has now.
func (m installed) source(text string) {
	for _, name := range []string{"pdf", "sheets"} {
		m.write("src/"+name+"/SKILL.md", "---\nname: "+name+"\ndescription: Reads "+name+" files when asked.\n---\n\nRead.\n\nOne.\n\nTwo.\n\nThree: "+text+".\n")
		m.write("src/"+name+"/scripts/run.sh", "#!/bin/sh\necho "+text+"\n")
		m.check(os.Chmod(filepath.Join(m.home, "src", name, "scripts/run.sh"), 0o755))
	}
}

func (m installed) edit() {
	at := filepath.Join(m.project, ".agents/skills/pdf/SKILL.md")
	src, err := os.ReadFile(at)
	m.check(err)
	m.check(os.WriteFile(at, []byte(strings.Replace(string(src), "One.", "One, and mine.", 1)), 0o644))
}

// save and restore keep the whole home, links and modes too.
func (m installed) save() {
	m.t.Helper()
	m.check(os.RemoveAll(filepath.Join(m.base, "home")))
	m.copied(m.home, filepath.Join(m.base, "home"))
}

func (m installed) restore() {
	m.t.Helper()
	m.check(os.RemoveAll(m.home))
	m.copied(filepath.Join(m.base, "home"), m.home)
}

func (m installed) copied(from, to string) {
	m.t.Helper()
	if out, err := exec.Command("cp", "-a", from, to).CombinedOutput(); err != nil {
		m.t.Fatalf("cp: %v\n%s", err, out)
	}
}

// volatile is what each run of an install writes anew: names, times and sums of records.
var volatile = regexp.MustCompile(`"(id|installed_at|sum)": "[^"]*"|-\d{8}T\d{6}-[0-9a-f]{16}|\d{4}-\d\d-\d\dT[\d:.]+Z|[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}`)

// seen is every file, link and mode that a person sees, by path, and what is granted.
func (m installed) seen() map[string]string {
	m.t.Helper()
	out := map[string]string{"grants": fmt.Sprint(len(m.state().Grants))}
	for _, args := range m.also {
		r := m.run("", args...)
		out[strings.Join(args, " ")] = volatile.ReplaceAllString(fmt.Sprint(r.exit, r.out), "")
	}
	m.check(filepath.WalkDir(m.home, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		rel := strings.TrimPrefix(path, m.home+"/")
		if d.IsDir() {
			inner := []string{".local/share/deft/blobs", ".local/share/deft/trees", ".cache", ".local/state/deft/journal"}
			if slices.Contains(inner, rel) {
				return fs.SkipDir
			}
			return nil
		}
		if strings.HasPrefix(rel, ".local/state/deft/") && !strings.HasPrefix(rel, ".local/state/deft/replaced/") {
			return nil
		}
		if d.Type() == 0 && strings.HasPrefix(d.Name(), ".deft-") && strings.HasSuffix(d.Name(), ".tmp") {
			return nil // begun has it
		}
		key := volatile.ReplaceAllString(rel, "")
		if d.Type() == fs.ModeSymlink {
			to, err := os.Readlink(path)
			out[key] = "-> " + to
			return err
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		src, err := os.ReadFile(path)
		out[key] = fmt.Sprintf("%v %s", info.Mode(), volatile.ReplaceAllString(string(src), ""))
		return err
	}))
	return out
}

// begun names what a change that was stopped has left: temporary files and folders, and
// journals. old makes them as old as what no living process can be writing.
func (m installed) begun(old bool) (out []string) {
	m.t.Helper()
	long := time.Now().Add(-2 * time.Hour)
	m.check(filepath.WalkDir(m.home, func(path string, d fs.DirEntry, err error) error {
		name := filepath.Base(path)
		if err == nil && (strings.Contains(name, ".deft-") && name != ".deft-skill.json" && name != ".deft" || filepath.Base(filepath.Dir(path)) == "journal") {
			out = append(out, strings.TrimPrefix(path, m.home+"/"))
			if old {
				err = os.Chtimes(path, long, long)
			}
		}
		return err
	}))
	return out
}

// installChanges are the verbs that change what is installed, each with what was there.
func installChanges() []struct {
	name   string
	before func(m installed)
	args   []string
	unwell bool       // what verify says of the state before is not ok
	also   [][]string // see installed
} {
	add := func(m installed) { m.do("add", "../src", "--skill", "pdf") }
	newer := func(m installed) { add(m); m.source("second") }
	edited := func(m installed) { newer(m); m.edit() }
	versions := [][]string{{"versions", "--json"}, {"versions", "pdf", "--json"}, {"show", "--draft", "pdf", "--raw"}}
	plugins := [][]string{{"plugin", "list", "--json"}}
	market := func(m installed) {
		m.write("shop/.claude-plugin/marketplace.json", `{"name": "shop", "owner": {"name": "t"}, "plugins": [{"name": "north", "source": "./north"}]}`)
		m.write("shop/north/.claude-plugin/plugin.json", `{"name": "north", "version": "1.0.0", "license": "MIT"}`)
		m.write("shop/north/skills/checkup/SKILL.md", "---\nname: checkup\ndescription: Looks at things when asked.\n---\nLook.\n")
		m.do("plugin", "marketplace", "add", "../shop")
	}
	north := func(m installed) { market(m); m.do("plugin", "add", "north") }
	return []struct {
		name   string
		before func(m installed)
		args   []string
		unwell bool
		also   [][]string
	}{
		{"add", func(installed) {}, []string{"add", "../src", "--skill", "pdf"}, false, nil},
		{"add for the person", func(installed) {}, []string{"add", "../src", "--skill", "pdf", "--global"}, false, nil},
		{"add copies", func(installed) {}, []string{"add", "../src", "--skill", "pdf", "--copy"}, false, nil},
		{"add over others", func(m installed) {
			m.skill("work/.claude/skills/pdf")
			m.skill("work/.agents/skills/pdf")
		}, []string{"add", "../src", "--skill", "pdf", "--force"}, false, nil},
		{"replace", newer, []string{"add", "../src", "--skill", "pdf"}, false, nil},
		{"links to copies", newer, []string{"add", "../src", "--skill", "pdf", "--copy"}, false, nil},
		{"update", newer, []string{"update"}, false, nil},
		{"merge", edited, []string{"update", "--on-edit", "merge"}, true, nil},
		{"take theirs", edited, []string{"update", "--on-edit", "theirs"}, true, nil},
		{"remove", func(m installed) { add(m); m.do("trust", ".", "--yes"); m.do("trust", "pdf", "--yes") }, []string{"remove", "pdf"}, false, nil},
		{"remove copies", func(m installed) { m.do("add", "../src", "--skill", "pdf", "--copy") }, []string{"remove", "pdf"}, false, nil},
		{"remove edited", edited, []string{"remove", "pdf", "--yes"}, true, nil},
		{"rollback", func(m installed) { newer(m); m.do("update") }, []string{"rollback", "pdf"}, false, nil},
		{"pin", add, []string{"pin", "pdf"}, false, nil},
		{"repair", func(m installed) {
			add(m)
			m.check(os.Remove(filepath.Join(m.project, ".agents/skills/pdf/scripts/run.sh")))
			m.check(os.Remove(filepath.Join(m.project, ".claude/skills/pdf")))
		}, []string{"verify", "--repair"}, true, nil},
		{"trust", func(m installed) { add(m); m.do("trust", ".", "--yes") }, []string{"trust", "pdf", "--yes"}, false, nil},
		{"publish", func(installed) {}, []string{"publish", "../src/pdf"}, false, versions},
		{"publish over a version", func(m installed) { m.do("publish", "../src/pdf"); m.source("second") },
			[]string{"publish", "../src/pdf", "--channel", "beta"}, false, versions},
		{"plugin", market, []string{"plugin", "add", "north"}, false, plugins},
		{"plugin, a newer one", func(m installed) {
			north(m)
			m.write("shop/north/.claude-plugin/plugin.json", `{"name": "north", "version": "2.0.0", "license": "MIT"}`)
			m.do("plugin", "marketplace", "update")
		}, []string{"plugin", "add", "north"}, false, plugins},
		{"plugin off", north, []string{"plugin", "disable", "north"}, false, plugins},
		{"plugin removed", north, []string{"plugin", "remove", "north"}, false, plugins},
	}
}

// A verb that is killed, wherever, has changed a skill as a whole or not at all once the
// next one has run; nothing it began is left, and verify finds nothing. Every point is
// tried where DEFT_TEST_FULL is set, else one of each verb.
func TestR01KilledInstallsLeaveOldOrNew(t *testing.T) {
	t.Parallel()
	var kills, whole atomic.Int64
	t.Cleanup(func() { t.Logf("R01 %d/%d kills over %d verbs", whole.Load(), kills.Load(), len(installChanges())) })
	for k, c := range installChanges() {
		if race.Enabled && k%8 > 0 {
			continue // each kill is some starts of the program
		}
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			m := newInstalled(t)
			m.also = c.also
			c.before(m)
			before := m.seen()
			m.save()
			m.do(c.args...)
			after := m.seen()
			if cmp.Equal(before, after) {
				t.Fatalf("%v changes nothing", c.args)
			}
			kill := func(pass int) bool {
				m.restore()
				if r := m.run(fmt.Sprintf("*=kill@%d", pass), c.args...); !r.killed {
					return false
				}
				kills.Add(1)
				if m.healed(fmt.Sprintf("%v killed at pass %d", c.args, pass), c.args, before, after, c.unwell) {
					whole.Add(1)
				}
				return true
			}
			if os.Getenv("DEFT_TEST_FULL") == "" {
				pass := 1 + 7*k%40
				for pass > 0 && !kill(pass) {
					pass /= 2
				}
				if pass == 0 {
					t.Error("never killed")
				}
				return
			}
			for pass := 1; kill(pass); pass++ {
			}
		})
	}
}

// healed looks at what the next runs make of a verb that was stopped.
func (m installed) healed(what string, args []string, before, after map[string]string, unwell bool) bool {
	m.t.Helper()
	fine := true
	wrong := func(format string, args ...any) {
		fine = false
		m.t.Errorf(what+": "+format, args...)
	}
	m.begun(true)
	if r := m.run("", "doctor", "--json"); r.exit != 0 || !gjson.Get(r.out, "ok").Bool() {
		wrong("doctor exits %d: %s%s", r.exit, r.out, r.errors)
	}
	verify := m.run("", "verify", "--json")
	got := m.seen()
	old := cmp.Equal(before, got)
	if !old && !cmp.Equal(after, got) && !m.partly(before, after, got) {
		wrong("neither old nor new:\nto old %s\nto new %s", cmp.Diff(before, got), cmp.Diff(after, got))
	}
	if verify.exit != 0 && (!old && !unwell || verify.exit != 1) {
		wrong("verify exits %d: %s%s", verify.exit, verify.out, verify.errors)
	}
	if left := m.begun(false); slices.ContainsFunc(left, func(p string) bool { return strings.HasSuffix(p, ".json") }) {
		wrong("a journal is left: %q", left)
	}
	if args[0] == "rollback" && !old {
		args = []string{"verify", "--repair"} // once more would go forth again
	}
	again := m.run("", args...)
	if got := m.seen(); !cmp.Equal(after, got) {
		wrong("once more: exit %d, %s %s", again.exit, again.errors, cmp.Diff(after, got))
	}
	if left := m.begun(false); len(left) > 0 {
		wrong("left behind: %q", left)
	}
	return fine
}

// partly says whether each file is one of before or of after: restoring missing files ends
// with the next run, one file is whole.
func (m installed) partly(before, after, got map[string]string) bool {
	for path, text := range got {
		if text != before[path] && text != after[path] {
			return false
		}
	}
	restored := strings.HasSuffix(m.t.Name(), "/repair")
	return restored && len(got) >= len(before) && len(got) <= len(after)
}
