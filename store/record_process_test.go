//go:build unix

package store

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/deftskills/deft/gate"
	"github.com/deftskills/deft/internal/pgtest"
)

// recordedGate is a gate with a tool of each tier whose consent and rows s keeps.
func recordedGate(s *Store) (gate.Gate, error) {
	table, err := gate.NewTable(
		gate.Tool{Name: "look", Tier: gate.ReadOnly}, gate.Tool{Name: "note", Tier: gate.ConfirmOnce},
		gate.Tool{Name: "swap", Tier: gate.AlwaysConfirm}, gate.Tool{Name: "burn", Tier: gate.ManualOnly},
	)
	if err != nil {
		return nil, err
	}
	keep := s.Gate(nil)
	return gate.New(gate.Options{Tools: table, Audit: keep, Grants: keep, Confirms: keep, Answerable: true})
}

func job(id, session, tool string) gate.Call {
	return gate.Call{
		ID: id, Session: session, Turn: "1", Trace: "t_" + session, Tool: tool, Args: json.RawMessage(`{}`), Origin: "cron",
		Principal: "job:x", Stages: []string{"decide"}, Ceiling: gate.AlwaysConfirm,
	}
}

func person(id, session, tool string) gate.Call {
	c := job(id, session, tool)
	c.Origin, c.Principal = gate.Interactive, "user"
	return c
}

// jobGrant lets the job's calls of a tool run.
func jobGrant(tool string, uses int) gate.Grant {
	return gate.Grant{Principal: "job:x", Tool: tool, MaxUses: uses, Expires: time.Now().Add(24 * time.Hour), OtherArgs: gate.OtherAny}
}

// heardOf is what a child says of a decision.
type heardOf struct {
	ID      string       `json:"id"`
	Verdict gate.Verdict `json:"verdict"`
	Code    string       `json:"code"`
	Tool    string       `json:"tool"`
	Origin  gate.Origin  `json:"origin"`
}

func tell(c gate.Call, d gate.Decision) {
	line, _ := json.Marshal(heardOf{c.ID, d.Verdict, d.Code, c.Tool, c.Origin})
	fmt.Println(string(line))
}

// consents are the ways in which a decision is written, each with its fault point. A child
// tells the decision; what came before it is not under the point.
func consents() map[string]func(ctx context.Context, s *Store) error {
	ask := func(ctx context.Context, s *Store, answer *gate.Answer) error {
		g, err := recordedGate(s)
		if err != nil {
			return err
		}
		c := person("c1", "s1", "note")
		d, err := g.Check(ctx, c)
		if answer == nil || d.Verdict != gate.Ask {
			tell(c, d)
			return errors.Join(err)
		}
		answer.ConfirmID, answer.Nonce, answer.Session = d.ConfirmID, d.Nonce, "s1"
		d, err = g.Answer(ctx, *answer)
		tell(c, d)
		return err
	}
	check := func(c gate.Call) func(context.Context, *Store) error {
		return func(ctx context.Context, s *Store) error {
			g, err := recordedGate(s)
			if err != nil {
				return err
			}
			d, err := g.Check(ctx, c)
			tell(c, d)
			return err
		}
	}
	return map[string]func(context.Context, *Store) error{
		"audit.insert": check(person("c1", "s1", "look")), "grant.use": check(job("c1", "s1", "swap")),
		"confirm.open":    func(ctx context.Context, s *Store) error { return ask(ctx, s, nil) },
		"confirm.resolve": func(ctx context.Context, s *Store) error { return ask(ctx, s, &gate.Answer{Reply: gate.Always}) },
		"grant.save": func(ctx context.Context, s *Store) error {
			_, err := s.Gate(nil).AddGrant(ctx, jobGrant("note", 3))
			return err
		},
	}
}

// recordChild is what a child of a test about records does.
func recordChild(name string) int {
	ctx := context.Background()
	busy := time.Minute
	if text := os.Getenv("DEFT_TEST_BUSY"); text != "" {
		busy, _ = time.ParseDuration(text)
	}
	s, err := Open(ctx, Options{DB: os.Getenv("DEFT_TEST_DB"), Busy: busy, Verb: "child", ReadOnly: os.Getenv("DEFT_TEST_READONLY") != ""})
	if err != nil {
		return fail(err)
	}
	if name == "soak" {
		err = soak(ctx, s)
	} else {
		err = consents()[name](ctx, s)
	}
	if err := errors.Join(err, s.Close()); err != nil {
		return fail(err)
	}
	return 0
}

// soak makes random decisions, some with an answer, and tells each after it was made.
func soak(ctx context.Context, s *Store) error {
	id := os.Getenv("DEFT_TEST_ID")
	n, err := strconv.Atoi(os.Getenv("DEFT_TEST_COUNT"))
	if err != nil {
		return err
	}
	seed, _ := strconv.Atoi(strings.TrimLeft(id, "p"))
	random := rand.New(rand.NewPCG(uint64(seed), 24))
	g, err := recordedGate(s)
	if err != nil {
		return err
	}
	tools := []string{"look", "note", "swap", "swap", "burn", "none"}
	for i := range n {
		session := fmt.Sprint("s", random.IntN(4)) // several processes write to one chain
		if random.IntN(3) == 0 {
			session = "own-" + id
		}
		c := job(fmt.Sprint(id, "-", i), session, tools[random.IntN(len(tools))])
		if random.IntN(3) == 0 {
			c = person(c.ID, session, c.Tool)
		}
		d, err := g.Check(ctx, c)
		if err != nil {
			return err
		}
		tell(c, d)
		if d.Verdict != gate.Ask {
			continue
		}
		reply := []gate.Reply{gate.Once, gate.No, gate.ForSession}[random.IntN(3)]
		if d, err = g.Answer(ctx, gate.Answer{ConfirmID: d.ConfirmID, Nonce: d.Nonce, Session: session, Reply: reply, Typed: c.Tool}); err != nil {
			return err
		}
		tell(c, d)
	}
	return nil
}

// eachRecord runs f on databases of both kinds with two grants: fresh gives new ones.
func eachRecord(t *testing.T, f func(t *testing.T, fresh func(t *testing.T) string)) {
	t.Helper()
	begin := func(s *Store) error {
		if _, err := s.Gate(nil).AddGrant(t.Context(), jobGrant("swap", 40)); err != nil {
			return err
		}
		return s.Close()
	}
	t.Run("SQLite", func(t *testing.T) {
		t.Parallel()
		s := open(t)
		must(t, begin(s))
		f(t, func(t *testing.T) string { return copyState(t, s.Path()) })
	})
	t.Run("PostgreSQL", func(t *testing.T) {
		t.Parallel()
		f(t, func(t *testing.T) string {
			return pgtest.From(t, "record", func(address string) error {
				s, err := Open(t.Context(), Options{DB: address})
				must(t, err)
				return begin(s)
			})
		})
	})
}

// recordState is all that the gate has kept, without what every run makes anew.
type recordState struct {
	Grants    map[string]int // uses by tool
	Questions map[string]int
	Rows      map[string]int // by code
}

func recordOf(t *testing.T, s *Store) recordState {
	t.Helper()
	st := recordState{map[string]int{}, map[string]int{}, map[string]int{}}
	grants, err := s.Gate(nil).Grants(t.Context())
	must(t, err)
	for _, g := range grants {
		st.Grants[g.Principal+" "+g.Tool] = g.Used
	}
	for e, err := range s.Audit().Query(t.Context(), AuditQuery{}) {
		must(t, err)
		st.Rows[e.Detail]++
	}
	must(t, s.read(t.Context(), func(q querier) error {
		rows, err := q.QueryContext(t.Context(), "SELECT state, count(*) FROM confirmations WHERE tenant = :tenant GROUP BY state")
		if err != nil {
			return err
		}
		defer rows.Close()
		for rows.Next() {
			var state string
			var n int
			if err := rows.Scan(&state, &n); err != nil {
				return err
			}
			st.Questions[state] = n
		}
		return rows.Err()
	}))
	report, err := s.Audit().Verify(t.Context())
	must(t, err)
	for _, b := range report.Broken {
		t.Error(b)
	}
	return st
}

// Killed at any point, consent and its row are both there or both not, and chains hold.
func TestR01KilledDecisionLeavesOldOrNew(t *testing.T) {
	t.Parallel()
	eachRecord(t, func(t *testing.T, fresh func(t *testing.T) string) {
		for name, act := range consents() {
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				db := fresh(t)
				s := reopen(t, db)
				before := recordOf(t, s)
				if name == "confirm.resolve" { // the question stands by then
					before.Questions, before.Rows = map[string]int{"open": 1}, map[string]int{gate.CodeFirstUse: 1}
				}
				must(t, act(t.Context(), s))
				after := recordOf(t, s)
				for pass, want := range map[int]recordState{1: before, 2: after} {
					db := fresh(t)
					cmd, out := command(t, "record "+name, db, fmt.Sprintf("DEFT_FAULT=%s=kill@%d", name, pass))
					err := cmd.Run()
					var exit *exec.ExitError
					if !errors.As(err, &exit) || exit.Sys().(syscall.WaitStatus).Signal() != syscall.SIGKILL {
						t.Fatalf("%v\n%s", err, out)
					}
					if diff := cmp.Diff(want, recordOf(t, reopen(t, db))); diff != "" {
						t.Errorf("killed at pass %d: %s", pass, diff)
					}
				}
			})
		}
	})
}

// What cannot be written is refused, and nothing of it is there afterwards.
func TestR08NoSpaceDenies(t *testing.T) {
	t.Parallel()
	eachRecord(t, func(t *testing.T, fresh func(t *testing.T) string) {
		for name := range consents() {
			if name == "grant.save" {
				continue // a person's own command, which fails
			}
			for _, trouble := range []string{"ENOSPC", "EIO", "EROFS", "busy", "read-only"} {
				t.Run(name+" "+trouble, func(t *testing.T) {
					t.Parallel()
					deniedFor(t, name, trouble, fresh(t))
				})
			}
		}
	})
}

func deniedFor(t *testing.T, name, trouble, db string) {
	t.Helper()
	s := reopen(t, db)
	before := recordOf(t, s)
	env := []string{"DEFT_FAULT=" + name + "=err:" + trouble}
	switch trouble {
	case "busy":
		if strings.HasPrefix(db, "postgres") {
			return // rows of a server are locked one by one
		}
		env = []string{"DEFT_TEST_BUSY=50ms"}
	case "read-only":
		env = []string{"DEFT_TEST_READONLY=1"}
	}
	run := func() string {
		cmd, out := command(t, "record "+name, db, env...)
		if err := cmd.Run(); err == nil {
			t.Errorf("it succeeded: %s", out)
		}
		return out.String()
	}
	var said string
	if trouble == "busy" {
		stop := errors.New("held")
		err := s.write(t.Context(), "audit.insert", func(tx *tx) error {
			if _, err := tx.ExecContext(t.Context(), "DELETE FROM confirmations WHERE tenant = :tenant"); err != nil {
				return err
			}
			said = run()
			return stop
		})
		if !errors.Is(err, stop) {
			t.Fatal(err)
		}
	} else {
		said = run()
	}
	if !strings.Contains(said, `"verdict":"deny","code":"gate_unavailable"`) {
		t.Errorf("told %s", said)
	}
	after := recordOf(t, s)
	if name == "confirm.resolve" && trouble != "busy" && trouble != "read-only" {
		before.Questions, before.Rows = map[string]int{"open": 1}, map[string]int{gate.CodeFirstUse: 1}
	}
	if diff := cmp.Diff(before, after); diff != "" {
		t.Error(diff)
	}
}

// TestR24GateSoak: processes decide about calls, in chains of their own and in common ones,
// with consent that is used up, and some are killed. DEFT_TEST_FULL=1 is the full size.
func TestR24GateSoak(t *testing.T) {
	t.Parallel()
	count, kills := 25, 8
	if os.Getenv("DEFT_TEST_FULL") != "" {
		count, kills = 1250, 50
	}
	eachRecord(t, func(t *testing.T, fresh func(t *testing.T) string) { gateSoak(t, fresh(t), count, kills) })
}

func gateSoak(t *testing.T, db string, count, kills int) {
	t.Helper()
	const processes = 8
	var mu sync.Mutex
	heard := map[string][]heardOf{}
	killed := 0
	var all sync.WaitGroup
	for p := range processes {
		all.Go(func() {
			for life, left := 0, count; left > 0; life++ {
				mu.Lock()
				dies := killed < kills
				if dies {
					killed++
				}
				mu.Unlock()
				part := left
				if dies {
					part = max(1, left/(kills/processes+2))
				}
				id := fmt.Sprintf("p%d", p*1000+life)
				lines := soakProcess(t, db, id, left, part, dies)
				mu.Lock()
				for _, l := range lines {
					heard[l.ID] = append(heard[l.ID], l)
				}
				mu.Unlock()
				left -= part
				if !dies {
					return
				}
			}
		})
	}
	all.Wait()
	if killed != kills {
		t.Errorf("%d kills, want %d", killed, kills)
	}
	checkSoak(t, reopen(t, db), heard, kills)
}

// soakProcess runs a child and returns what it told. One that dies is killed once it has
// told of so many decisions.
func soakProcess(t *testing.T, db, id string, count, part int, dies bool) (lines []heardOf) {
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), "DEFT_TEST_CHILD=record soak", "DEFT_TEST_DB="+db, "DEFT_TEST_ID="+id, "DEFT_TEST_COUNT="+strconv.Itoa(count))
	var stderr strings.Builder
	cmd.Stderr = &stderr
	out, err := cmd.StdoutPipe()
	if err = errors.Join(err, cmd.Start()); err != nil {
		t.Error(err)
		return nil
	}
	for scan := bufio.NewScanner(out); scan.Scan(); {
		var l heardOf
		if json.Unmarshal(scan.Bytes(), &l) != nil {
			continue // the last words of a test binary, or of one that was killed
		}
		lines = append(lines, l)
		if dies && len(lines) == part {
			_ = cmd.Process.Kill()
		}
	}
	if err := cmd.Wait(); err != nil && !dies {
		t.Errorf("%v: %s", err, &stderr)
	}
	return lines
}

func checkSoak(t *testing.T, s *Store, heard map[string][]heardOf, kills int) {
	t.Helper()
	kept := map[string][]Entry{}
	rows, said, used := 0, 0, 0
	for e, err := range s.Audit().Query(t.Context(), AuditQuery{}) {
		must(t, err)
		var f struct{ Call, Origin string }
		must(t, json.Unmarshal(e.Fields, &f))
		kept[f.Call] = append(kept[f.Call], e)
		rows++
		if e.Detail == "grant" {
			used++
		}
		if e.Verdict == "allow" && f.Origin == "cron" && e.What != "look" && e.Detail != "grant" && e.What+e.Detail != "noteremembered" || e.Verdict == "allow" && e.What == "none" {
			t.Errorf("%s was allowed: %+v", f.Call, e)
		}
	}
	for id, list := range heard {
		said += len(list)
		for i, l := range list {
			if i >= len(kept[id]) || kept[id][i].Verdict != string(l.Verdict) || kept[id][i].Detail != l.Code {
				t.Errorf("%s was told %+v; rows %+v", id, l, kept[id])
				break
			}
		}
	}
	// A caller that was killed may not have told its last one, or not have been heard.
	if rows < said {
		t.Errorf("%d rows of %d decisions", rows, said)
	}
	st := recordOf(t, s)
	if got := st.Grants["job:x swap"]; got > 40 || got != used {
		t.Errorf("the grant of 40 uses was used %d times, rows say %d", got, used)
	}
	if kills == 0 && rows != said {
		t.Errorf("%d rows, %d decisions", rows, said)
	}
}
