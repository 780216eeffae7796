//go:build unix

package main

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/tidwall/gjson"

	"github.com/deftskills/deft/internal/race"
	"github.com/deftskills/deft/store"
)

// machine is a home and a project in it for runs of the program.
type machine struct {
	t             *testing.T
	home, project string
	program       string
	as            *syscall.SysProcAttr // nil = as the test
}

func newMachine(t *testing.T) machine {
	t.Helper()
	home, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	m := machine{t: t, home: home, project: filepath.Join(home, "work"), program: "deft"}
	m.write("work/.git/HEAD", "")
	m.skill("work/.claude/skills/helper")
	for _, name := range []string{"tidy", "poetry", "denied"} {
		m.skill(".claude/skills/" + name)
	}
	for _, name := range []string{"robot", "drone"} {
		m.skill(".local/share/deft/agents/main/skills/" + name)
	}
	return m
}

func (m machine) write(path, text string) {
	m.t.Helper()
	path = filepath.Join(m.home, path)
	m.check(os.MkdirAll(filepath.Dir(path), 0o755))
	m.check(os.WriteFile(path, []byte(text), 0o644))
}

func (m machine) skill(dir string) {
	m.write(dir+"/SKILL.md", fmt.Sprintf("---\nname: %s\ndescription: Does %[1]s.\n---\nDo it.\n", filepath.Base(dir)))
}

// kept is a copy of the files below a folder, by path.
type kept map[string][]byte

func (m machine) keep(dir string) kept {
	m.t.Helper()
	files := kept{}
	m.check(filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		if err == nil && !d.IsDir() {
			files[path], err = os.ReadFile(path)
		}
		return err
	}))
	return files
}

// back makes a folder hold again what it held.
func (m machine) back(dir string, files kept) {
	m.t.Helper()
	m.check(os.RemoveAll(dir))
	for path, data := range files {
		m.check(os.MkdirAll(filepath.Dir(path), 0o700))
		m.check(os.WriteFile(path, data, 0o600))
	}
}

func (m machine) check(err error) {
	m.t.Helper()
	if err != nil {
		m.t.Fatal(err)
	}
}

func (m machine) stateDir() string { return filepath.Join(m.home, ".local/state/deft") }
func (m machine) db() string       { return filepath.Join(m.stateDir(), "deft.db") }
func (m machine) index() string    { return filepath.Join(m.home, ".cache/deft/index") }

// result is how a run ended.
type result struct {
	exit        int // -1: by a signal
	killed      bool
	out, errors string
}

func (m machine) command(fault string, args ...string) (*exec.Cmd, *bytes.Buffer, *bytes.Buffer) {
	cmd := exec.Command(m.program, args...)
	cmd.Dir, cmd.SysProcAttr = m.project, m.as
	cmd.Env = []string{"HOME=" + m.home, "LANG=C.UTF-8", "PATH=" + os.Getenv("PATH"), "DEFT_FAULT=" + fault}
	name, value := atOnce()
	cmd.Env = append(cmd.Env, name+"="+value)
	var out, errText bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errText
	return cmd, &out, &errText
}

// run runs the program with a failpoint, "" for none.
func (m machine) run(fault string, args ...string) result {
	m.t.Helper()
	cmd, out, errText := m.command(fault, args...)
	return m.ended(cmd.Run(), out, errText)
}

func (m machine) ended(err error, out, errText *bytes.Buffer) result {
	m.t.Helper()
	r := result{out: out.String(), errors: errText.String()}
	var exit *exec.ExitError
	switch {
	case errors.As(err, &exit):
		r.exit = exit.ExitCode()
		r.killed = exit.Sys().(syscall.WaitStatus).Signal() == syscall.SIGKILL
	case err != nil:
		m.t.Fatal(err)
	}
	return r
}

// do is a run that must succeed.
func (m machine) do(args ...string) result {
	m.t.Helper()
	r := m.run("", args...)
	if r.exit != 0 {
		m.t.Fatalf("deft %s: exit %d\n%s%s", strings.Join(args, " "), r.exit, r.out, r.errors)
	}
	return r
}

// list returns the skills of a list, without the figures of the run.
func (m machine) list(fault string) (skills string, r result) {
	m.t.Helper()
	r = m.run(fault, "list", "--json", "--all")
	return gjson.Get(r.out, "skills").Raw, r
}

// state is what a person decided, as it is saved. Reading it heals nothing.
func (m machine) state() store.State {
	m.t.Helper()
	s, err := store.Open(m.t.Context(), store.Options{DB: m.db(), ReadOnly: true})
	if err != nil {
		m.t.Fatal(err)
	}
	defer s.Close()
	st, err := s.Load(m.t.Context())
	if err != nil {
		m.t.Fatal(err)
	}
	return st
}

// rests are the files of the state's folder but the database, with its log, the lock, and
// the lists of what was granted.
func (m machine) rests() []string {
	var rests []string
	granted := map[string]bool{}
	for _, g := range m.state().Grants {
		granted[filepath.Join(m.stateDir(), "trees", strings.TrimPrefix(string(g.Tree), "sha256:")+".json")] = true
	}
	for path := range m.keep(m.stateDir()) {
		if !granted[path] && !slices.Contains([]string{"", "-wal", "-shm", ".lock"}, strings.TrimPrefix(path, m.db())) {
			rests = append(rests, path)
		}
	}
	return rests
}

// apart compares states without what each write makes anew.
func apart(want, got store.State) string {
	return cmp.Diff(want, got, cmpopts.EquateEmpty(),
		cmpopts.IgnoreFields(store.State{}, "Version"), cmpopts.IgnoreFields(store.SkillState{}, "UpdatedAt"),
		cmpopts.IgnoreFields(store.Profile{}, "CreatedAt", "UpdatedAt"), cmpopts.IgnoreFields(store.Choice{}, "UpdatedAt"),
		cmpopts.IgnoreFields(store.Folder{}, "ID", "At"), cmpopts.IgnoreFields(store.Grant{}, "ID", "At"))
}

// decided is a machine on which a person has decided something of every kind.
func decided(t *testing.T) machine {
	t.Helper()
	m := newMachine(t)
	m.write("other/.git/HEAD", "")
	m.do("disable", "poetry")
	m.do("disable", "--deny", "denied")
	m.do("profile", "new", "writing", "--include", "poetry")
	m.do("profile", "new", "spare", "--include", "tidy")
	m.do("profile", "use", "writing")
	m.do("trust", "../other", "--yes")
	m.do("trust", "robot", "--yes")
	return m
}

// operations are the verbs that change what a person decided, each with a change to make.
func operations() [][]string {
	return [][]string{
		{"disable", "tidy"},
		{"disable", "--deny", "poetry"},
		{"enable", "denied", "poetry"},
		{"disable", "tidy", "poetry", "--dialect", "minimax"},
		{"profile", "new", "reading", "--include", "tidy"},
		{"profile", "use", "spare"},
		{"profile", "clear"},
		{"profile", "delete", "spare", "--yes"},
		{"trust", ".", "--yes"},
		{"trust", "drone", "--yes"},
		{"untrust", "../other"},
		{"untrust", "robot"},
	}
}

// most is more passes of failpoints than any verb makes.
const most = 20

// A killed verb has decided all or nothing, and the next one says nothing of it: it
// starts where the killed one stopped, and leaves no rest. The same holds for a verb
// whose disk is full or fails, which must also say so.
func TestR01KillAtFailpoints(t *testing.T) {
	t.Parallel()
	known, first := decided(t), newMachine(t)
	for i, args := range operations() {
		if race.Enabled && i%8 > 0 {
			continue // each is some hundred starts of the program
		}
		interrupted(t, known, args)
	}
	for _, args := range [][]string{{"disable", "tidy"}, {"trust", ".", "--yes"}} {
		interrupted(t, first, args)
	}
}

func interrupted(t *testing.T, m machine, args []string) {
	t.Helper()
	before, files := m.state(), m.keep(m.stateDir())
	defer m.back(m.stateDir(), files)
	m.do(args...)
	after := m.state()
	if apart(before, after) == "" {
		t.Fatalf("%v changes nothing", args)
	}
	old, made, pass := 0, 0, 1
	for ; pass < most; pass++ {
		m.back(m.stateDir(), files)
		if r := m.run(fmt.Sprintf("*=kill@%d", pass), args...); !r.killed {
			break
		}
		switch got := m.state(); "" {
		case apart(before, got):
			old++
		case apart(after, got):
			made++
		default:
			t.Errorf("%v killed at pass %d: neither old nor new: %s", args, pass, apart(after, got))
		}
		if pass == 1 {
			if r := m.run("", "doctor", "--json"); r.exit != 0 {
				t.Errorf("%v killed at pass %d: doctor exits %d: %s%s", args, pass, r.exit, r.out, r.errors)
			}
		}
		again := m.run("", args...)
		if diff := apart(after, m.state()); diff != "" {
			t.Errorf("%v once more after pass %d: exit %d, %s %s", args, pass, again.exit, again.errors, diff)
		}
		if rests := m.rests(); len(rests) != 0 {
			t.Errorf("%v: after pass %d there is still %v", args, pass, rests)
		}
		m.back(m.stateDir(), files)
		failing(t, m, pass, args, before, after)
	}
	if old == 0 || made == 0 || pass == most {
		t.Errorf("%v: of %d kills %d left the old state and %d the new", args, pass-1, old, made)
	}
}

func failing(t *testing.T, m machine, pass int, args []string, before, after store.State) {
	r := m.run(fmt.Sprintf("*=err:ENOSPC@%d", pass), args...)
	want := after
	if r.exit != 0 {
		want = before
		if !strings.Contains(r.errors, m.db()) || !strings.Contains(r.errors, "disk is full") {
			t.Errorf("full disk at pass %d: exit %d: %s", pass, r.exit, r.errors)
		}
	}
	if diff := apart(want, m.state()); diff != "" {
		t.Errorf("full disk at pass %d, exit %d: %s", pass, r.exit, diff)
	}
}

// Mending that is killed, wherever, loses no denial: not for the verbs that only read,
// and the next mending ends it.
func TestR01KilledMendingKeepsDenials(t *testing.T) {
	t.Parallel()
	m := decided(t)
	sound := m.keep(m.stateDir())
	damaged := bytes.Replace(sound[m.db()], []byte(m.home+"/other"), []byte(m.home+"/ether"), 1)
	denied := func() bool {
		list, _ := m.list("")
		return gjson.Get(list, `#(name=="denied").state`).String() != "available"
	}
	pass := 1
	for ; pass < most; pass++ {
		m.back(m.stateDir(), sound)
		m.check(os.WriteFile(m.db(), damaged, 0o600))
		if !denied() {
			t.Fatal("damaged state lifts a denial")
		}
		if r := m.run(fmt.Sprintf("*=kill@%d", pass), "doctor", "--fix"); !r.killed {
			break
		}
		if !denied() {
			t.Errorf("killed at pass %d, a denied skill is there", pass)
		}
		m.run("", "doctor", "--fix")
		if st := m.state(); !denied() || len(st.Folders)+len(st.Grants) > 0 || len(st.Profiles) != 2 {
			t.Errorf("mended after pass %d: %+v", pass, st)
		}
	}
	if pass < 3 || pass == most {
		t.Errorf("%d passes", pass-1)
	}
}

// On a home that cannot be written, what reads works and what writes names what it could
// not write; not a byte is another one afterwards.
func TestR02ReadOnlyHome(t *testing.T) {
	t.Parallel()
	m := decided(t)
	truth, _ := m.list("")
	m.check(os.RemoveAll(m.stateDir() + "/deft.db-shm"))
	m.check(os.RemoveAll(m.stateDir() + "/deft.db-wal"))
	m.readOnly()
	files := m.keep(m.home)
	for _, args := range [][]string{{"explain", "tidy"}, {"doctor", "--json"}, {"profile", "list"}, {"disable", "tidy", "--dry-run"}} {
		if r := m.run("", args...); r.exit != 0 {
			t.Errorf("%v: exit %d: %s%s", args, r.exit, r.out, r.errors)
		}
	}
	if got, r := m.list(""); got != truth || r.exit != 0 {
		t.Errorf("list: exit %d: %s", r.exit, cmp.Diff(truth, got))
	}
	for _, args := range operations() {
		if r := m.run("", args...); r.exit == 0 || r.exit == 70 || !strings.Contains(r.errors, m.db()) {
			t.Errorf("%v: exit %d: %s%s", args, r.exit, r.out, r.errors)
		}
	}
	if diff := cmp.Diff(files, m.keep(m.home)); diff != "" {
		t.Error(diff)
	}
}

// readOnly takes the right to write from everybody who runs the program: the superuser,
// whom no mode stops, runs it as somebody else.
func (m *machine) readOnly() {
	m.t.Helper()
	const nobody = 65534
	root := os.Geteuid() == 0
	if root {
		deft, err := exec.LookPath("deft")
		m.check(err)
		m.program = filepath.Join(filepath.Dir(m.home), "deft")
		// By another process: a child that some other test starts meanwhile would inherit the
		// open file of this one, and a program that is open for writing is not run.
		m.check(exec.Command("cp", deft, m.program).Run())
		m.check(os.Chmod(m.program, 0o755))
		for dir := filepath.Dir(m.home); dir != filepath.Clean(os.TempDir()) && dir != "/"; dir = filepath.Dir(dir) {
			m.check(os.Chmod(dir, 0o755))
		}
		m.as = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: nobody, Gid: nobody}}
	}
	var dirs []string
	m.check(filepath.WalkDir(m.home, func(path string, d fs.DirEntry, err error) error {
		if d.IsDir() {
			dirs = append(dirs, path)
		} else if err == nil {
			err = os.Chmod(path, 0o444)
		}
		if root && err == nil {
			err = os.Chown(path, nobody, nobody)
		}
		return err
	}))
	for _, dir := range dirs {
		m.check(os.Chmod(dir, 0o555))
	}
	m.t.Cleanup(func() {
		for _, dir := range dirs {
			_ = os.Chmod(dir, 0o755)
		}
	})
}

// An index that is killed or starved in the making is an index that is not there.
func TestR01KilledIndexCostsTimeOnly(t *testing.T) {
	t.Parallel()
	m := newMachine(t)
	m.skills(140)
	long := time.Now().Add(-2 * time.Hour)
	truth, _ := m.list("")
	for _, action := range []string{"kill", "err:ENOSPC"} {
		for pass := range 4 {
			m.check(os.RemoveAll(m.index()))
			_, r := m.list(fmt.Sprintf("*=%s@%d", action, pass+1))
			if r.killed != (action == "kill") || !r.killed && r.exit != 0 {
				t.Errorf("%s at pass %d: exit %d: %s", action, pass, r.exit, r.errors)
			}
			if rests := m.temps(); !r.killed && len(rests) > 0 {
				t.Errorf("%s at pass %d leaves %v", action, pass, rests)
			}
			if action == "kill" && pass == 1 && len(m.temps()) == 0 {
				t.Error("the kill leaves nothing to be swept")
			}
			for _, f := range m.temps() {
				m.check(os.Chtimes(f, long, long))
			}
			for range 2 { // the second reads what the first has kept
				if got, r := m.list(""); got != truth || r.exit != 0 {
					t.Errorf("after %s at pass %d: exit %d, %s", action, pass, r.exit, cmp.Diff(truth, got))
				}
			}
			if rests := m.temps(); len(rests) > 0 {
				t.Errorf("the runs after %s at pass %d leave %v", action, pass, rests)
			}
		}
	}
}

// skills makes enough of them for an index.
func (m machine) skills(n int) {
	for i := range n {
		m.skill(fmt.Sprintf(".claude/skills/many-%03d", i))
	}
}

func (m machine) temps() []string {
	files, err := filepath.Glob(filepath.Join(m.index(), ".*.tmp"))
	if err != nil {
		m.t.Fatal(err)
	}
	return files
}

// Runs at once, each with decisions of its own and some that all of them make, wait for
// each other and lose nothing.
func TestR05ManyProcesses(t *testing.T) {
	t.Parallel()
	m := newMachine(t)
	const processes, rounds = 4, 3
	m.skills(140) // lists write an index, too
	for i := range processes {
		m.skill(fmt.Sprintf(".local/share/deft/agents/main/skills/own-%d", i))
	}
	var all sync.WaitGroup
	for i := range processes {
		all.Go(func() {
			own := fmt.Sprintf("own-%d", i)
			for round := range rounds {
				for _, args := range [][]string{
					{"disable", own}, {"profile", "new", fmt.Sprintf("p-%d-%d", i, round), "--include", own},
					{"trust", ".", "--yes"}, {"list", "--json"}, {"enable", own}, {"trust", own, "--yes"},
				} {
					cmd, out, errText := m.command("", args...)
					if err := cmd.Run(); err != nil {
						t.Errorf("deft %v: %v\n%s%s", args, err, out, errText)
					}
				}
			}
			cmd, out, errText := m.command("", "disable", own)
			if err := cmd.Run(); err != nil {
				t.Errorf("disable %s: %v\n%s%s", own, err, out, errText)
			}
		})
	}
	all.Wait()
	st := m.state()
	off := 0
	for _, s := range st.Switches {
		if s.Switch == store.Off {
			off++
		}
	}
	if off != processes || len(st.Profiles) != processes*rounds || len(st.Folders) != 1 || len(st.Grants) != processes {
		t.Errorf("%d off, %d profiles, %d folders, %d grants", off, len(st.Profiles), len(st.Folders), len(st.Grants))
	}
	list, r := m.list("")
	m.check(os.RemoveAll(m.index()))
	if anew, _ := m.list(""); list != anew || r.exit != 0 || len(m.temps()) > 0 {
		t.Errorf("exit %d, rests %v: %s", r.exit, m.temps(), cmp.Diff(anew, list))
	}
}

// A bit that flips in any stored file is found, named and mended, or changes nothing.
func TestR04FlippedBitIsFoundByTheProgram(t *testing.T) {
	t.Parallel()
	m := decided(t)
	m.skills(140)
	truth, _ := m.list("")
	state, index := m.keep(m.stateDir()), m.keep(m.index())
	if len(index) == 0 {
		t.Fatal("no index is kept")
	}
	for _, files := range []kept{state, index} {
		for path, whole := range files {
			for _, at := range []int{0, 30, len(whole) / 3, len(whole) / 2, len(whole) - 1} {
				if len(whole) == 0 || strings.HasSuffix(path, ".lock") {
					continue
				}
				m.back(m.stateDir(), state)
				m.back(m.index(), index)
				flipped := slices.Clone(whole)
				flipped[at] ^= 4
				m.check(os.WriteFile(path, flipped, 0o600))
				flippedBit(t, m, path, at, truth)
			}
		}
	}
}

func flippedBit(t *testing.T, m machine, path string, at int, truth string) {
	t.Helper()
	got, r := m.list("")
	if got == truth && r.exit == 0 {
		return
	}
	if path != m.db() || !strings.Contains(r.out+r.errors, path) {
		t.Errorf("%s, byte %d: exit %d and another list, without a word: %s", path, at, r.exit, r.errors)
		return
	}
	fix := m.run("", "doctor", "--fix", "--json")
	if rests := m.rests(); !strings.Contains(fix.out, "store_mended") || len(rests) == 0 {
		t.Errorf("%s, byte %d: it is not set aside: %s%s", path, at, fix.out, fix.errors)
	}
	if st := m.state(); len(st.Folders)+len(st.Grants) > 0 {
		t.Errorf("%s, byte %d: trust outlived the damage", path, at)
	}
	if got, r := m.list(""); r.exit != 0 || gjson.Get(got, "#").Int() != gjson.Get(truth, "#").Int() {
		t.Errorf("%s, byte %d: exit %d, %s", path, at, r.exit, cmp.Diff(truth, got))
	}
}
