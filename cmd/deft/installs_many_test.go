//go:build unix

package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/tidwall/gjson"

	"github.com/deftskills/deft/install"
	"github.com/deftskills/deft/internal/race"
	"github.com/deftskills/deft/skill"
	"github.com/deftskills/deft/store"
	"github.com/deftskills/deft/store/blobs"
)

// wrote is a change that a process said it has made.
type wrote struct{ action, name string }

// crowd is how many processes do how many operations each on how many skills.
type crowd struct{ processes, operations, skills int }

func crowdOf() crowd {
	switch {
	case os.Getenv("DEFT_TEST_FULL") != "":
		return crowd{16, 100, 6}
	case race.Enabled:
		return crowd{3, 4, 2}
	}
	return crowd{4, 8, 2}
}

// Processes that add, update, remove, roll back, pin, verify, trust and list at once, on
// one home and one project: each is done or says busy, and the history, replayed one
// change after the other, leads to exactly what is there. Nothing is left over and nothing
// is lost.
func TestR05MixedInstallsEndAsTheirHistorySays(t *testing.T) {
	t.Parallel()
	m, size := newInstalled(t), crowdOf()
	var names []string
	for i := range size.skills {
		names = append(names, fmt.Sprintf("s%d", i))
		for _, version := range []string{"v1", "v2", "v3"} {
			dir := "src-" + version + "/" + names[i]
			m.write(dir+"/SKILL.md", "---\nname: "+names[i]+"\ndescription: Does things when asked.\n---\n\nAs of "+version+".\n")
			m.write(dir+"/notes.txt", names[i]+" "+version)
		}
	}
	m.do("trust", ".", "--yes")
	var all sync.WaitGroup
	var mu sync.Mutex
	var done []wrote
	busy := 0
	for p := range size.processes {
		all.Go(func() {
			r := rand.New(rand.NewPCG(uint64(p), 5))
			for range size.operations {
				args := operation(r, names)
				res := m.quiet(args...)
				changes, err := changesOf(args, res)
				mu.Lock()
				done = append(done, changes...)
				if res.exit == 5 {
					busy++
				}
				mu.Unlock()
				if err != nil {
					t.Errorf("deft %s: %v\n%s%s", strings.Join(args, " "), err, res.out, res.errors)
				}
			}
		})
	}
	all.Wait()
	t.Logf("R05 %d processes, %d operations each, %d changes, %d busy", size.processes, size.operations, len(done), busy)
	m.replayed(names, done)
	m.nothingOver()
}

// operation is one of those that people and agents do, at random.
func operation(r *rand.Rand, names []string) []string {
	name := names[r.IntN(len(names))]
	all := [][]string{
		{"add", fmt.Sprintf("../src-v%d", 1+r.IntN(3)), "--skill", name, "--force", "--json"},
		{"add", fmt.Sprintf("../src-v%d", 1+r.IntN(3)), "--skill", name, "--force", "--json"},
		{"remove", name, "--yes", "--json"},
		{"rollback", name, "--json"},
		{"update", name, "--json"},
		{"pin", name, "--json"},
		{"pin", name, "--none", "--json"},
		{"verify", "--json"},
		{"list", "--json"},
		{"trust", name, "--yes"},
	}
	return all[r.IntN(len(all))]
}

// changesOf is what a run says it has changed. An exit that no order of the runs could
// give is an error.
func changesOf(args []string, res result) (out []wrote, err error) {
	if res.exit == 5 {
		return nil, nil
	}
	allowed := map[string][]int{
		"add": {0}, "remove": {0, 1}, "rollback": {0, 1}, "update": {0, 1}, "pin": {0, 1}, "verify": {0}, "list": {0}, "trust": {0, 1, 3},
	}
	if !slices.Contains(allowed[args[0]], res.exit) {
		return nil, fmt.Errorf("exit %d", res.exit)
	}
	if res.exit != 0 || !gjson.Get(res.out, "written").Bool() {
		return nil, nil
	}
	switch args[0] {
	case "add":
		return []wrote{{"install", args[3]}}, nil
	case "remove", "rollback", "pin":
		return []wrote{{args[0], args[1]}}, nil
	}
	return nil, nil
}

// quiet is run for many goroutines.
func (m machine) quiet(args ...string) result {
	cmd, out, errText := m.command("", args...)
	err := cmd.Run()
	r := result{out: out.String(), errors: errText.String()}
	if err != nil {
		r.exit = cmd.ProcessState.ExitCode()
	}
	return r
}

// replayed follows the history: each change begins where the one before has ended, and the
// last ones are what is there.
func (m installed) replayed(names []string, done []wrote) {
	m.t.Helper()
	s, err := store.Open(m.t.Context(), store.Options{DB: m.db(), ReadOnly: true})
	m.check(err)
	defer s.Close()
	trees, pins, counted := map[string]skill.Digest{}, map[string]string{}, map[wrote]int{}
	for e, err := range s.Audit().Query(m.t.Context(), store.AuditQuery{}) {
		m.check(err)
		var f struct {
			Detail struct{ Change *install.Change }
		}
		if m.check(json.Unmarshal(e.Fields, &f)); e.Kind != "skill" || f.Detail.Change == nil {
			continue
		}
		c := f.Detail.Change
		counted[wrote{c.Action, c.Name}]++
		if c.From != trees[c.Name] {
			m.t.Errorf("%s of %s begins at %q, and the change before ended at %q", c.Action, c.Name, c.From, trees[c.Name])
		}
		trees[c.Name], pins[c.Name] = c.To, c.Pin
		if c.To == "" {
			delete(trees, c.Name)
			delete(pins, c.Name)
		}
	}
	said := map[wrote]int{}
	for _, w := range done {
		said[w]++
	}
	if diff := cmp.Diff(said, counted, cmp.AllowUnexported(wrote{})); diff != "" {
		m.t.Errorf("what the runs said, and what the history has: %s", diff)
	}
	lock, err := install.ReadLock(filepath.Join(m.project, install.LockFile), true)
	m.check(err)
	for _, name := range names {
		e, there := lock.Skills[name]
		want, recorded := trees[name]
		if there != recorded || e.Tree != want || e.Pin != pins[name] {
			m.t.Errorf("%s: the lock file has %q, pin %q; the history ends at %q, pin %q", name, e.Tree, e.Pin, want, pins[name])
		}
	}
}

// nothingOver wants that lock file, folders, links and store are of the same skills, and
// that nothing else is there.
func (m installed) nothingOver() {
	m.t.Helper()
	if r := m.run("", "verify", "--json"); r.exit != 0 {
		m.t.Errorf("verify: exit %d: %s%s", r.exit, r.out, r.errors)
	}
	if left := m.begun(false); len(left) > 0 {
		m.t.Errorf("left behind: %q", left)
	}
	lock, err := install.ReadLock(filepath.Join(m.project, install.LockFile), true)
	m.check(err)
	for _, dir := range []string{".agents/skills", ".claude/skills"} {
		entries, err := os.ReadDir(filepath.Join(m.project, dir))
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			m.t.Error(err)
		}
		var got []string
		for _, e := range entries {
			if e.Name() != "helper" { // the project's own
				got = append(got, e.Name())
			}
		}
		if want := lock.Names(); !slices.Equal(got, want) {
			m.t.Errorf("%s has %q, the lock file %q", dir, got, want)
		}
	}
	data := filepath.Join(m.home, ".local/share/deft")
	kept, wanted := &blobs.Dir{Path: filepath.Join(data, "blobs")}, map[skill.Digest]bool{}
	files, err := filepath.Glob(filepath.Join(data, "trees", "*.json"))
	m.check(err)
	for _, f := range files {
		tree, err := blobs.Trees{Path: filepath.Join(data, "trees")}.Get(m.t.Context(), skill.Digest("sha256:"+strings.TrimSuffix(filepath.Base(f), ".json")))
		m.check(err)
		for _, e := range tree {
			wanted[e.Blob] = true
		}
	}
	list, err := kept.List(m.t.Context(), "", 1<<20)
	m.check(err)
	for _, b := range list {
		if !wanted[b.Digest] {
			m.t.Errorf("%s is of no tree", b.Digest)
		}
	}
}
