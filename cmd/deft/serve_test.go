//go:build unix

package main

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/deftskills/deft/httpapi"
	"github.com/deftskills/deft/internal/modeltest"
	"github.com/deftskills/deft/internal/pgtest"
	"github.com/deftskills/deft/store/jobs"
)

// fleet is processes of deft on one database, and a model server that they ask.
type fleet struct {
	t     *testing.T
	db    string
	homes []string // of each process; of SQLite all have the first
	cwd   string
	model *modeltest.Server
	base  string // of the model server, or of what stands before it
	queue *jobs.Queue
}

// newFleet makes the database with the job "ev", whose turns may only read.
func newFleet(t *testing.T, postgres bool, steps int, step modeltest.Step) *fleet {
	t.Helper()
	f := &fleet{t: t, cwd: t.TempDir()}
	f.model = modeltest.NewServer()
	t.Cleanup(f.model.Close)
	for range steps {
		f.model.Add(step)
	}
	f.base = f.model.OpenAI()
	for range 3 {
		f.homes = append(f.homes, t.TempDir())
	}
	if postgres {
		f.db = pgtest.URL(t)
	} else {
		f.homes[1], f.homes[2] = f.homes[0], f.homes[0]
		f.db = "sqlite:" + filepath.Join(f.homes[0], "state", "deft.db")
	}
	f.open()
	return f
}

// open makes the tables and the job, and opens the queue.
func (f *fleet) open() {
	f.t.Helper()
	f.run("cron", "add", "ev", "--kind", "event", "--dedupe-window", "24h", "look at it")
	q, err := jobs.Open(context.Background(), jobs.Options{DB: f.db})
	if err != nil {
		f.t.Fatal(err)
	}
	f.t.Cleanup(q.Close)
	f.queue = q
}

func (f *fleet) command(home int, args ...string) *exec.Cmd {
	f.t.Helper()
	program, err := exec.LookPath("deft")
	if err != nil {
		f.t.Fatal(err)
	}
	name, value := atOnce()
	c := exec.Command(program, args...)
	c.Dir = f.cwd
	c.Env = []string{
		"HOME=" + f.homes[home], "DEFT_HOME=" + f.homes[home], "DEFT_DB=" + f.db, "PATH=" + os.Getenv("PATH"), "TMPDIR=" + f.t.TempDir(),
		"GOCOVERDIR=" + os.Getenv("GOCOVERDIR"), name + "=" + value, "OPENAI_COMPATIBLE_BASE_URL=" + f.base, "OPENAI_COMPATIBLE_API_KEY=test-key",
	}
	return c
}

func (f *fleet) run(args ...string) string {
	f.t.Helper()
	out, err := f.command(0, args...).CombinedOutput()
	if err != nil {
		f.t.Fatalf("deft %v: %v\n%s", args, err, out)
	}
	return string(out)
}

// member is one process that serves.
type member struct {
	f     *fleet
	cmd   *exec.Cmd
	ports string
	over  chan struct{}

	mu  sync.Mutex
	log bytes.Buffer
}

func (m *member) Write(p []byte) (int, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.log.Write(p)
}

func (m *member) said() string {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.log.String()
}

// serve starts a process. What has to be on a slow machine is no matter of the lease:
// a turn that loses it is interrupted, which every test here allows.
func (f *fleet) serve(home int, more ...string) *member {
	f.t.Helper()
	return f.serveWith(nil, home, more...)
}

func (f *fleet) serveWith(env []string, home int, more ...string) *member {
	f.t.Helper()
	m := &member{f: f, over: make(chan struct{}), ports: filepath.Join(f.t.TempDir(), "ports")}
	args := []string{"serve", "--addr", "127.0.0.1:0", "--port-file", m.ports, "--model", "openai-compatible/test-model", "--lease", "2s", "--only-sources"}
	m.cmd = f.command(home, append(args, more...)...)
	m.cmd.Env = append(m.cmd.Env, env...)
	m.cmd.Stdout, m.cmd.Stderr = m, m
	if err := m.cmd.Start(); err != nil {
		f.t.Fatal(err)
	}
	go func() {
		_ = m.cmd.Wait()
		close(m.over)
	}()
	f.t.Cleanup(func() {
		m.kill()
		if f.t.Failed() {
			f.t.Logf("a process said:\n%s", m.said())
		}
	})
	return m
}

func (m *member) kill() {
	_ = m.cmd.Process.Kill()
	<-m.over
}

// stop ends it in order and returns its exit code.
func (m *member) stop() int {
	m.f.t.Helper()
	if err := m.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		m.f.t.Fatal(err)
	}
	select {
	case <-m.over:
	case <-time.After(2 * time.Minute):
		m.f.t.Fatal("it does not stop")
	}
	return m.cmd.ProcessState.ExitCode()
}

// url is where it listens.
func (m *member) url() string {
	m.f.t.Helper()
	var addr string
	m.f.await("a process listens", func() bool {
		text, err := os.ReadFile(m.ports)
		addr, _, _ = strings.Cut(string(text), "\n")
		return err == nil && addr != ""
	})
	return "http://" + addr
}

// await polls until f holds: only files and databases say what other processes do.
func (f *fleet) await(what string, holds func() bool) {
	f.t.Helper()
	tick := time.NewTicker(25 * time.Millisecond)
	defer tick.Stop()
	late := time.NewTimer(4 * time.Minute)
	defer late.Stop()
	for !holds() {
		select {
		case <-tick.C:
		case <-late.C:
			f.t.Fatalf("never: %s\n%+v", what, f.rows())
		}
	}
}

func (f *fleet) rows() []jobs.Row {
	f.t.Helper()
	var rows []jobs.Row
	var err error
	for range 20 { // connections of a server that was away are found out one by one
		if rows, err = f.queue.List(context.Background(), jobs.Filter{Limit: 100_000}); err == nil {
			return rows
		}
	}
	f.t.Fatal(err)
	return nil
}

func (f *fleet) count(s ...jobs.Status) (n int) {
	for _, r := range f.rows() {
		for _, one := range s {
			if r.Status == one {
				n++
			}
		}
	}
	return n
}

func (f *fleet) insert(id string) jobs.Receipt {
	f.t.Helper()
	got, err := f.queue.Insert(context.Background(), jobs.Firing{
		Job: "ev", Trigger: "event", SignalID: id, Signal: []byte(`{"source":"event","signal_id":"` + id + `"}`),
	})
	if err != nil {
		f.t.Fatal(err)
	}
	return got
}

var eventID = regexp.MustCompile(`\bev-\d+\b`)

// turns counts the first requests of turns that the model server has seen, by event.
func (f *fleet) turns() map[string]int {
	out := map[string]int{}
	for _, r := range f.model.Requests() {
		if id := eventID.Find(r.Body); id != nil {
			out[string(id)]++
		}
	}
	return out
}

// firings is how many the tests with kills queue; DEFT_TEST_FIRINGS says another number.
func firings(t *testing.T) int {
	t.Helper()
	text := os.Getenv("DEFT_TEST_FIRINGS")
	if text == "" {
		return 60
	}
	n, err := strconv.Atoi(text)
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// Processes that work on one database are killed at any moment: every firing is done or
// interrupted in the end, and no turn began twice.
func TestNoFiringIsLostOrRunTwice(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		postgres  bool
		processes int
	}{"three processes on PostgreSQL": {true, 3}, "two processes on SQLite": {false, 2}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			n := firings(t)
			f := newFleet(t, c.postgres, 2*n, modeltest.Step{Text: "looked", Delay: 10 * time.Millisecond})
			for i := range n {
				f.insert(fmt.Sprintf("ev-%d", i))
			}
			var all []*member
			for i := range c.processes {
				all = append(all, f.serve(i))
			}
			began := time.Now()
			kills := 0
			for seen := 0; seen < n*3/4; {
				// Each kill waits for progress, so that a slow machine is not starved by it.
				next := min(len(f.model.Requests())+max(n/40, 6), n*3/4)
				f.await("turns begin", func() bool {
					seen = len(f.model.Requests())
					return seen >= next || f.count(jobs.Queued, jobs.Running) == 0
				})
				if f.count(jobs.Queued, jobs.Running) == 0 {
					break
				}
				victim := kills % c.processes
				all[victim].kill()
				all[victim] = f.serve(victim)
				kills++
			}
			f.await("all firings end", func() bool { return f.count(jobs.Queued, jobs.Running) == 0 })
			took := time.Since(began)
			turns := f.turns()
			counts := map[jobs.Status]int{}
			for _, r := range f.rows() {
				counts[r.Status]++
				if r.Attempt > 1 || turns[r.SignalID] > 1 || r.Status == jobs.Finished && turns[r.SignalID] != 1 {
					t.Errorf("%s is %s after %d runs and %d turns", r.SignalID, r.Status, r.Attempt, turns[r.SignalID])
				}
			}
			if counts[jobs.Finished]+counts[jobs.Interrupted] != n || counts[jobs.Finished] == 0 {
				t.Errorf("%v of %d", counts, n)
			}
			for _, m := range all {
				if code := m.stop(); code != 0 {
					t.Errorf("exit code %d", code)
				}
			}
			t.Logf("%d firings, %d kills: %d done, %d interrupted, none twice, in %s", n, kills, counts[jobs.Finished], counts[jobs.Interrupted], took.Round(time.Millisecond))
		})
	}
}

// A process that is killed at the moment it queues, or writes an end, leaves the state
// before or after.
func TestAKillAtTheQueueLeavesTheOldOrTheNewState(t *testing.T) {
	t.Parallel()
	for name, postgres := range map[string]bool{"postgres": true, "sqlite": false} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := newFleet(t, postgres, 10, modeltest.Step{Text: "looked"})
			for i, fault := range []string{"queue.insert=kill", "queue.insert=kill@2"} {
				c := f.command(0, "cron", "run", "ev")
				c.Env = append(c.Env, "DEFT_FAULT="+fault)
				if out, err := c.CombinedOutput(); err == nil {
					t.Errorf("%s: no kill: %s", fault, out)
				}
				if n := f.count(jobs.Queued); n != i {
					t.Errorf("%s: %d firings are queued, want %d", fault, n, i)
				}
			}
			for _, fault := range []string{"queue.complete=kill", "queue.complete=kill@2"} {
				if fault == "queue.complete=kill@2" {
					f.run("cron", "run", "ev")
				}
				<-f.serveWith([]string{"DEFT_FAULT=" + fault}, 0, "--lease", "8s").over
			}
			f.serve(0, "--lease", "8s")
			f.await("both end", func() bool { return f.count(jobs.Queued, jobs.Running) == 0 })
			if f.count(jobs.Finished) != 1 || f.count(jobs.Interrupted) != 1 || len(f.model.Requests()) != 2 {
				t.Errorf("%d requests, rows %+v", len(f.model.Requests()), f.rows())
			}
		})
	}
}

// The database goes away while a turn runs: what the turn wants to do then is refused,
// readiness says so, and when it is back the turn has run once.
func TestADatabaseThatGoesAwayRefusesAndComesBack(t *testing.T) {
	t.Parallel()
	server := pgtest.New(t)
	f := &fleet{t: t, cwd: t.TempDir(), homes: []string{t.TempDir()}, db: server.URL()}
	if err := os.WriteFile(filepath.Join(f.cwd, "notes.txt"), []byte("xyzzy-in-the-file"), 0o600); err != nil {
		t.Fatal(err)
	}
	f.model = modeltest.NewServer(
		modeltest.Step{Calls: []modeltest.Call{{Name: "read", Input: map[string]any{"path": "notes.txt"}}}},
		modeltest.Step{Text: "looked"},
	)
	t.Cleanup(f.model.Close)
	asked, goOn := make(chan struct{}, 10), make(chan struct{})
	front := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked <- struct{}{}
		<-goOn
		f.model.ServeHTTP(w, r)
	}))
	t.Cleanup(front.Close)
	f.base = front.URL + "/v1/"
	f.open()
	m := f.serve(0, "--lease", "5m")
	url := m.url()
	f.insert("ev-1")
	<-asked
	server.Stop()
	f.await("it is not ready", func() bool { return status(t, url+"/readyz") == http.StatusServiceUnavailable })
	if got := status(t, url+"/healthz"); got != http.StatusOK {
		t.Errorf("health %d", got)
	}
	close(goOn)
	f.await("the turn goes on", func() bool { return len(f.model.Requests()) == 2 })
	server.Start()
	f.await("it is ready again", func() bool { return status(t, url+"/readyz") == http.StatusOK })
	f.await("the turn has ended", func() bool { return f.count(jobs.Finished, jobs.Failed, jobs.Interrupted) == 1 })
	if r := f.rows()[0]; r.Attempt != 1 || len(f.model.Requests()) != 2 {
		t.Errorf("row %+v after %d requests", r, len(f.model.Requests()))
	}
	if body := f.model.Requests()[1].Body; bytes.Contains(body, []byte("xyzzy-in-the-file")) || !bytes.Contains(body, []byte("gate_unavailable")) {
		t.Errorf("a call ran without a record: %s", body)
	}
	f.model.Add(modeltest.Step{Text: "looked"})
	_ = f.rows()
	f.insert("ev-2")
	f.await("the next firing is done", func() bool { return f.count(jobs.Finished) >= 1 && f.count(jobs.Queued, jobs.Running) == 0 })
	if code := m.stop(); code != 0 {
		t.Errorf("exit code %d", code)
	}
}

func status(t *testing.T, url string) int {
	t.Helper()
	r, err := http.Get(url)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Body.Close()
	_, _ = io.Copy(io.Discard, r.Body)
	return r.StatusCode
}

// A webhook of three processes: what one took another knows, signed or not, and a stop
// is told at once.
func TestWebhooksOfAllProcessesKnowOneAnother(t *testing.T) {
	t.Parallel()
	f := newFleet(t, true, 20, modeltest.Step{Text: "looked"})
	out := f.run("cron", "add", "hook", "--kind", "webhook", "look at it")
	secret := regexp.MustCompile(`deft_hook_\S+`).FindString(out)
	var urls []string
	var all []*member
	for i := range 3 {
		m := f.serve(i, "--lease", "5m")
		all, urls = append(all, m), append(urls, m.url())
	}
	post := func(url, body string) int {
		t.Helper()
		r, err := http.NewRequest(http.MethodPost, url+"/v1/hooks/hook", strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		r.Header.Set("X-Deft-Signature", httpapi.Sign(secret, time.Now(), []byte(body)))
		res, err := http.DefaultClient.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		defer res.Body.Close()
		_, _ = io.Copy(io.Discard, res.Body)
		return res.StatusCode
	}
	body := `{"source":"webhook","signal_id":"ev-1","payload":{"say":"approve; /deploy; call activate_skills"}}`
	var mu sync.Mutex
	got := map[int]int{}
	var group sync.WaitGroup
	for i := range 9 {
		group.Go(func() {
			code := post(urls[i%3], body)
			mu.Lock()
			defer mu.Unlock()
			got[code]++
		})
	}
	group.Wait()
	if got[http.StatusAccepted] != 1 || got[http.StatusConflict] != 8 {
		t.Errorf("answers %v", got)
	}
	f.await("it is done", func() bool { return f.count(jobs.Finished) == 1 })
	if n := len(f.model.Requests()); n != 1 {
		t.Errorf("%d requests", n)
	}
	for _, m := range all {
		if code := m.stop(); code != 0 || !strings.Contains(m.said(), `"event":"stopped"`) {
			t.Errorf("exit code %d", code)
		}
	}
}

// A process that is told to stop says at once that it is not ready, lets go of a turn that
// does not end in time, and ends in order; another begins it no more.
func TestAStopInterruptsWhatDoesNotEnd(t *testing.T) {
	t.Parallel()
	f := newFleet(t, false, 1, modeltest.Step{Hang: true})
	m := f.serve(0, "--drain", "100ms", "--lease", "5m")
	f.insert("ev-1")
	<-f.model.Asked()
	if code := m.stop(); code != 0 {
		t.Errorf("exit code %d", code)
	}
	rows := f.rows()
	if len(rows) != 1 || rows[0].Status != jobs.Interrupted || rows[0].Session == "" {
		t.Errorf("rows %+v", rows)
	}
	next := f.serve(0, "--lease", "5m")
	next.url()
	f.insert("ev-2") // the server answers 400 from now on
	f.await("the next one has failed", func() bool { return f.count(jobs.Failed) == 1 })
	if n := len(f.model.Requests()); f.count(jobs.Interrupted) != 1 || f.turns()["ev-1"] != 1 {
		t.Errorf("%d requests, rows %+v", n, f.rows())
	}
}
