package storetest

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/deftskills/deft/gate"
	"github.com/deftskills/deft/store"
)

// record is what the gate keeps and what became of turns.
func record(s *Suite) {
	s.testOpen("GrantsComeBackAsTheyWereMade", grantsRoundTrip)
	s.test("GrantIsUsedAsOftenAsItSays", raceForAGrant)
	s.test("GrantThatIsOverIsNotUsed", unusableGrants)
	s.test("GrantsOfASkillEndWithIt", grantsOfASkill)
	s.testOpen("QuestionsAreAnsweredOnce", questions)
	s.test("ADecisionThatIsNotKeptChangesNothing", undecided)
	s.test("ChainsHoldTogether", chains)
	s.test("HistoryIsOneQuery", history)
	s.test("SecretsAreNotKept", secrets)
	s.testOpen("RecordsOfTenantsAreApart", recordsApart)
	s.test("OldChainsGoAsAWhole", retention)
}

func when() time.Time { return time.Now().UTC().Truncate(time.Microsecond) }

func aGrant(uses int) gate.Grant {
	return gate.Grant{
		Principal: "job:btc", Tool: "swap", MaxUses: uses, Expires: when().Add(time.Hour), OtherArgs: gate.OtherNone, CreatedBy: "cli",
		Constraints: []gate.Constraint{{Path: "amount", Op: "<=", Value: json.RawMessage("100.50")}, {Path: "/to", Op: "in", Value: json.RawMessage(`["a", "b"]`)}},
		Reason:      "it's :tenant?", SkillHash: digest("tree"), Workspace: "/none/a", NotBefore: when().Add(-time.Minute),
	}
}

func aRow(session string) gate.Row {
	return gate.Row{
		Time: when(), Trace: "t_" + session, Session: session, Turn: "1", Call: "c1", Origin: "cron", Principal: "job:btc", Tool: "swap",
		Tier: gate.AlwaysConfirm, Ceiling: gate.AlwaysConfirm, Verdict: gate.Allow, Code: "grant", Stages: []string{"decide"},
		Skills: []string{"a@b#sha256:c"}, CallHash: "sha256:1",
	}
}

func of(g gate.Grant) gate.GrantQuery {
	return gate.GrantQuery{Principal: g.Principal, Tool: g.Tool, Workspace: g.Workspace, Now: when()}
}

// rowsOf counts the decisions about a trace.
func rowsOf(t testing.TB, s *store.Store, q store.AuditQuery, kind string) (out []store.Entry) {
	t.Helper()
	for e, err := range s.Audit().Query(t.Context(), q) {
		must(t, err)
		if kind == "" || e.Kind == kind {
			out = append(out, e)
		}
	}
	return out
}

func sound(t testing.TB, s *store.Store) store.VerifyReport {
	t.Helper()
	r, err := s.Audit().Verify(t.Context())
	must(t, err)
	for _, b := range r.Broken {
		t.Error(b)
	}
	return r
}

func grantsRoundTrip(t *testing.T, open func(store.Options) *store.Store) {
	s := open(store.Options{})
	if all, err := s.Gate(nil).Grants(t.Context()); len(all) != 0 || err != nil {
		t.Errorf("%v, %v", all, err)
	}
	want, err := s.Gate(nil).AddGrant(t.Context(), aGrant(5))
	must(t, err)
	if want.ID == "" || want.CreatedAt.IsZero() {
		t.Errorf("%+v", want)
	}
	other := aGrant(0)
	other.Principal, other.Tool, other.Toolset, other.Constraints = "user", "", "wallet", nil
	other, err = s.Gate(nil).AddGrant(t.Context(), other)
	must(t, err)
	again := open(store.Options{}).Gate(nil)
	all, err := again.Grants(t.Context())
	must(t, err)
	if diff := cmp.Diff([]gate.Grant{want, other}, all, cmpopts.EquateEmpty()); diff != "" {
		t.Error(diff)
	}
	found, err := again.Candidates(t.Context(), of(want))
	must(t, err)
	if diff := cmp.Diff([]gate.Grant{want}, found); diff != "" {
		t.Error(diff)
	}
	for _, bad := range []gate.Grant{{}, {Principal: "user", Tool: "x"}, {Principal: "user", Tool: "x", Expires: when().Add(500 * 24 * time.Hour)}} {
		if _, err := again.AddGrant(t.Context(), bad); !errors.Is(err, store.ErrInvalid) {
			t.Errorf("%+v: %v", bad, err)
		}
	}
}

// raceForAGrant: of 32 callers ten are allowed, and ten rows say so.
func raceForAGrant(t *testing.T, s *store.Store) {
	g := s.Gate(nil)
	grant, err := g.AddGrant(t.Context(), aGrant(10))
	must(t, err)
	var allowed, refused atomic.Int32
	var all sync.WaitGroup
	for i := range 32 {
		all.Go(func() {
			row := aRow(fmt.Sprint("s", i%3))
			row.GrantID = grant.ID
			switch err := g.Use(t.Context(), grant.ID, when(), row); {
			case err == nil:
				allowed.Add(1)
			case errors.Is(err, gate.ErrGrantUnusable):
				refused.Add(1)
			default:
				t.Error(err)
			}
		})
	}
	all.Wait()
	rows := rowsOf(t, s, store.AuditQuery{}, "gate")
	if allowed.Load() != 10 || refused.Load() != 22 || len(rows) != 10 {
		t.Errorf("%d allowed, %d refused, %d rows", allowed.Load(), refused.Load(), len(rows))
	}
	if left, err := g.Grants(t.Context()); err != nil || left[0].Used != 10 {
		t.Errorf("%+v, %v", left, err)
	}
	if found, err := g.Candidates(t.Context(), of(grant)); len(found) != 0 || err != nil {
		t.Errorf("%+v, %v", found, err)
	}
	sessions := map[string]bool{} // of those who won: a chain each
	for _, e := range rows {
		sessions[e.Session] = true
	}
	if r := sound(t, s); r.Rows != 10 || r.Chains != len(sessions) {
		t.Errorf("%+v, sessions %v", r, sessions)
	}
}

func unusableGrants(t *testing.T, s *store.Store) {
	g := s.Gate(nil)
	grant, err := g.AddGrant(t.Context(), aGrant(0))
	must(t, err)
	use := func(id string, now time.Time) error { return g.Use(t.Context(), id, now, aRow("s1")) }
	must(t, use(grant.ID, when()), use(grant.ID, when()))
	for name, err := range map[string]error{
		"over": use(grant.ID, grant.Expires), "not begun": use(grant.ID, grant.NotBefore.Add(-time.Second)), "unknown": use("none", when()),
	} {
		if !errors.Is(err, gate.ErrGrantUnusable) {
			t.Errorf("%s: %v", name, err)
		}
	}
	must(t, g.RevokeGrants(t.Context(), "cli", grant.ID), g.RevokeGrants(t.Context(), "other", grant.ID))
	if err := use(grant.ID, when()); !errors.Is(err, gate.ErrGrantUnusable) {
		t.Errorf("revoked: %v", err)
	}
	if err := g.RevokeGrants(t.Context(), "cli", "none"); !errors.Is(err, store.ErrNotFound) {
		t.Errorf("revoke of none: %v", err)
	}
	all, err := g.Grants(t.Context())
	must(t, err)
	if len(all) != 1 || all[0].RevokedBy != "cli" || all[0].Used != 2 || len(rowsOf(t, s, store.AuditQuery{}, "gate")) != 2 {
		t.Errorf("%+v", all)
	}
}

func grantsOfASkill(t *testing.T, s *store.Store) {
	g := s.Gate(nil)
	mine, err := g.AddGrant(t.Context(), aGrant(1))
	must(t, err)
	other := aGrant(1)
	other.SkillHash = digest("other")
	other, err = g.AddGrant(t.Context(), other)
	must(t, err)
	if n, err := g.RevokeGrantsOf(t.Context(), mine.SkillHash, "remove"); n != 1 || err != nil {
		t.Errorf("%d, %v", n, err)
	}
	if found, err := g.Candidates(t.Context(), of(other)); len(found) != 1 || found[0].ID != other.ID || err != nil {
		t.Errorf("%+v, %v", found, err)
	}
	if n, err := g.RevokeGrantsOf(t.Context(), mine.SkillHash, "remove"); n != 0 || err != nil {
		t.Errorf("again: %d, %v", n, err)
	}
}

func aQuestion(id string) gate.Confirmation {
	return gate.Confirmation{
		ID: id, Session: "s1", Turn: "1", Tool: "write", Tier: gate.ConfirmOnce, CallHash: "sha256:1", NonceHash: "n",
		Shown: json.RawMessage(`{"args":{"path":"a"}}`), State: gate.ConfirmOpen, Opened: when(), Expires: when().Add(10 * time.Minute),
	}
}

func questions(t *testing.T, open func(store.Options) *store.Store) {
	ctx, s := t.Context(), open(store.Options{})
	g := s.Gate(nil)
	must(t, g.Open(ctx, aQuestion("c_1"), aRow("s1")), g.Open(ctx, aQuestion("c_2"), aRow("s1")), g.Open(ctx, aQuestion("c_3"), aRow("s1")))
	if err := g.Open(ctx, aQuestion("c_1"), aRow("s1")); !errors.Is(err, store.ErrExists) {
		t.Errorf("opened twice: %v", err)
	}
	others := open(store.Options{}).Gate(nil)
	var won atomic.Int32
	var all sync.WaitGroup
	for i := range 16 {
		all.Go(func() {
			grant := aGrant(0)
			grant.ID, grant.CreatedAt = fmt.Sprint("g", i), when()
			r := gate.Resolution{ID: "c_1", State: gate.ConfirmAllowed, Reply: gate.Once, By: "user", At: when(), Row: aRow("s1"), Grant: &grant}
			by := g
			if i%2 == 0 {
				by = others
			}
			switch err := by.Resolve(ctx, r); {
			case err == nil:
				won.Add(1)
			case !errors.Is(err, gate.ErrNotOpen):
				t.Error(err)
			}
		})
	}
	all.Wait()
	grants, err := g.Grants(ctx)
	must(t, err)
	if won.Load() != 1 || len(grants) != 1 || len(rowsOf(t, s, store.AuditQuery{}, "gate")) != 4 {
		t.Errorf("%d answers won, grants %+v", won.Load(), grants)
	}
	resolve := func(id string) error {
		return g.Resolve(ctx, gate.Resolution{ID: id, State: gate.ConfirmDenied, Reply: gate.No, At: when(), Row: aRow("s1")})
	}
	must(t, g.Expire(ctx, when()), resolve("c_2"), g.Expire(ctx, when().Add(time.Hour)))
	late := aQuestion("c_4")
	late.Session = "s2"
	must(t, g.Open(ctx, late, aRow("s2")), g.Drop(ctx, "s1", when()), g.Drop(ctx, "s2", when()), g.Drop(ctx, "none", when()))
	for _, id := range []string{"c_1", "c_2", "c_3", "c_4", "c_5"} {
		if err := resolve(id); !errors.Is(err, gate.ErrNotOpen) {
			t.Errorf("%s: %v", id, err)
		}
	}
	sound(t, s)
}

// undecided: where the row of a decision cannot be written nothing else is.
func undecided(t *testing.T, s *store.Store) {
	ctx, g := t.Context(), s.Gate(nil)
	grant, err := g.AddGrant(ctx, aGrant(1))
	must(t, err)
	must(t, g.Open(ctx, aQuestion("c_1"), aRow("s1")))
	taken := grant // an id that is there makes the transaction fail after its first change
	r := gate.Resolution{ID: "c_1", State: gate.ConfirmAllowed, Reply: gate.Once, At: when(), Row: aRow("s1"), Grant: &taken}
	if err := g.Resolve(ctx, r); !errors.Is(err, store.ErrExists) {
		t.Errorf("an id that is taken: %v", err)
	}
	r.Grant = nil
	must(t, g.Resolve(ctx, r))
	if all, err := g.Grants(ctx); err != nil || len(all) != 1 || all[0].Used != 0 {
		t.Errorf("%+v, %v", all, err)
	}
	if r := sound(t, s); r.Rows != 2 {
		t.Errorf("%+v", r)
	}
}

func chains(t *testing.T, s *store.Store) {
	g := s.Gate(nil)
	if r := sound(t, s); r.Chains != 0 || r.Rows != 0 {
		t.Errorf("%+v", r)
	}
	const writers, each = 8, 25
	var all sync.WaitGroup
	for i := range writers {
		all.Go(func() {
			for j := range each {
				row := aRow([]string{"", "s1", "s2", "会话"}[i%4])
				row.Tool = fmt.Sprintf("t%d\x00\xff", j)
				if err := g.Record(t.Context(), row); err != nil {
					t.Error(err)
				}
			}
		})
	}
	all.Wait()
	if r := sound(t, s); r.Rows != writers*each || r.Chains != 4 {
		t.Errorf("%+v", r)
	}
}

func history(t *testing.T, s *store.Store) {
	ctx, a := t.Context(), s.Audit()
	at := when()
	turn := store.Instance{ID: "t_1", Definition: "job:btc", Trigger: "cron", Signal: "drop_5", Trace: "t_1", Status: "running", Session: "s1", Started: at, Attempt: 1}
	must(t, a.Keep(ctx, store.Happened{Turn: &turn, Skills: []store.AuditRow{{
		Time: at.Add(1000), Trace: "t_1", Session: "s1", Turn: "1", Action: "preload", Actor: "signal", After: []string{"alert"},
		Versions: map[string]string{"alert": "sha256:1"}, Signal: "drop_5", Top: json.RawMessage(`[{"id":"alert","score":2.5,"reasons":["signal"]}]`),
	}}}))
	row := aRow("s1")
	row.Time, row.Trace, row.Verdict, row.Code = at.Add(2000), "t_1", gate.Deny, "no_grant"
	must(t, s.Gate(nil).Record(ctx, row))
	exit := 3
	turn.Status, turn.Stop, turn.Ended = "done", "end", at.Add(9000)
	must(t, a.Keep(ctx, store.Happened{Turn: &turn, Tools: []store.ToolEvent{{
		Time: at.Add(3000), Call: "c1", Trace: "t_1", Session: "s1", Turn: "1", Step: 2, Tool: "swap", CallHash: "sha256:1",
		Args: json.RawMessage(`{"amount": 1.50}`), Started: at, Status: "denied", Code: "no_grant", Duration: time.Millisecond, Exit: &exit,
	}}}))
	must(t, a.Append(ctx, store.AuditRow{Time: at.Add(time.Hour), Trace: "t_2", Session: "s2", Action: "route", Actor: "host"}))
	var got []string
	for _, e := range rowsOf(t, s, store.AuditQuery{Trace: "t_1"}, "") {
		got = append(got, strings.Join([]string{e.Kind, e.What, e.Verdict, e.Detail}, " "))
	}
	want := []string{"workflow job:btc done cron", `skill preload signal ["alert"]`, "gate swap deny no_grant", "tool swap denied "}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	for name, c := range map[string]struct {
		q store.AuditQuery
		n int
	}{
		"all": {store.AuditQuery{}, 5}, "session": {store.AuditQuery{Session: "s2"}, 1}, "signal": {store.AuditQuery{Signal: "drop_5"}, 4},
		"other signal": {store.AuditQuery{Signal: "x"}, 0}, "since": {store.AuditQuery{Since: at.Add(3000)}, 2},
		"until": {store.AuditQuery{Until: at.Add(3000)}, 3}, "both": {store.AuditQuery{Signal: "drop_5", Since: at.Add(1000), Until: at.Add(3000)}, 2},
	} {
		if got := rowsOf(t, s, c.q, ""); len(got) != c.n {
			t.Errorf("%s: %d entries, want %d", name, len(got), c.n)
		}
	}
	var fields struct {
		Args map[string]json.Number `json:"args"`
		Exit int                    `json:"exit_code"`
		Step int                    `json:"step"`
	}
	must(t, json.Unmarshal(rowsOf(t, s, store.AuditQuery{Trace: "t_1"}, "tool")[0].Fields, &fields))
	if fields.Exit != 3 || fields.Step != 2 || len(fields.Args) != 1 {
		t.Errorf("%+v", fields)
	}
}

func secrets(t *testing.T, s *store.Store) {
	ctx, token := t.Context(), "ghp_"+strings.Repeat("Zz9", 12)
	row := aRow("s1")
	row.Tool, row.CallHash, row.Secret = "x"+" "+token, "sha256:short", true
	shown := aQuestion("c_1")
	shown.Shown = json.RawMessage(`{"args":{"token":"` + token + `","nul":"\u0000"}}`)
	long := store.ToolEvent{Time: when(), Trace: row.Trace, Tool: "x", Status: "ok", Args: json.RawMessage(`["` + strings.Repeat("x", store.MaxArgs) + `"]`)}
	must(t, s.Gate(nil).Record(ctx, row), s.Gate(nil).Open(ctx, shown, row), s.Audit().Keep(ctx, store.Happened{
		Skills: []store.AuditRow{{Time: when(), Trace: row.Trace, Detail: json.RawMessage(`{"why":"` + token + `"}`), Before: []string{token}}},
		Tools: []store.ToolEvent{{Time: when(), Trace: row.Trace, Tool: token, Status: "error", CallHash: row.CallHash, Secret: true,
			Args: json.RawMessage(`{"h":{"Authorization":"x"},"c":"` + token + `","nul":"\u0000"}`)}, long},
		Turn: &store.Instance{ID: "t", Trigger: "manual", Status: "failed", Trace: row.Trace, Error: "with " + token},
	}))
	hashes := map[string]bool{}
	for _, e := range rowsOf(t, s, store.AuditQuery{}, "") {
		text := strings.Join([]string{e.What, e.Verdict, e.Detail, string(e.Fields)}, " ")
		if strings.Contains(text, token) || strings.Contains(text, "sha256:short") {
			t.Errorf("kept: %s", text)
		}
		if len(text) > store.MaxArgs {
			t.Errorf("%d bytes of arguments are kept", len(text))
		}
		var f struct {
			Hash string `json:"call_hash"`
		}
		must(t, json.Unmarshal(e.Fields, &f))
		if f.Hash != "" {
			hashes[f.Hash] = true
		}
	}
	if len(hashes) != 1 {
		t.Errorf("one call has several hashes: %v", hashes)
	}
	sound(t, s)
}

func recordsApart(t *testing.T, open func(store.Options) *store.Store) {
	ctx, a, b := t.Context(), open(store.Options{Tenant: "a"}), open(store.Options{Tenant: "b"})
	grant, err := a.Gate(nil).AddGrant(ctx, aGrant(0))
	must(t, err)
	must(t, a.Gate(nil).Open(ctx, aQuestion("c_1"), aRow("s1")), a.Audit().Append(ctx, store.AuditRow{Time: when(), Trace: "t_s1", Action: "route"}))
	must(t, b.Gate(nil).Record(ctx, aRow("s1")))
	if err := b.Gate(nil).Use(ctx, grant.ID, when(), aRow("s1")); !errors.Is(err, gate.ErrGrantUnusable) {
		t.Errorf("another tenant's grant: %v", err)
	}
	if err := b.Gate(nil).RevokeGrants(ctx, "b", grant.ID); !errors.Is(err, store.ErrNotFound) {
		t.Errorf("revoked from outside: %v", err)
	}
	if err := b.Gate(nil).Resolve(ctx, gate.Resolution{ID: "c_1", State: gate.ConfirmAllowed, At: when(), Row: aRow("s1")}); !errors.Is(err, gate.ErrNotOpen) {
		t.Errorf("answered from outside: %v", err)
	}
	must(t, b.Gate(nil).Drop(ctx, "s1", when()), b.Gate(nil).Expire(ctx, when().Add(time.Hour)))
	if found, err := b.Gate(nil).Candidates(ctx, of(grant)); len(found) != 0 || err != nil {
		t.Errorf("%+v, %v", found, err)
	}
	if n := len(rowsOf(t, b, store.AuditQuery{}, "")); n != 1 {
		t.Errorf("%d entries", n)
	}
	for _, s := range []*store.Store{a, b} {
		if r := sound(t, s); r.Rows != 1 || r.Chains != 1 {
			t.Errorf("%+v", r)
		}
	}
	must(t, a.Gate(nil).Resolve(ctx, gate.Resolution{ID: "c_1", State: gate.ConfirmDenied, At: when(), Row: aRow("s1")}))
}

func retention(t *testing.T, s *store.Store) {
	ctx, g := t.Context(), s.Gate(nil)
	add := func(session string, age time.Duration) {
		row := aRow(session)
		row.Time = when().Add(-age)
		must(t, g.Record(ctx, row), s.Audit().Append(ctx, store.AuditRow{Time: row.Time, Trace: row.Trace, Session: session, Action: "route"}))
	}
	const day = 24 * time.Hour
	add("old", 500*day)
	add("old", 450*day)
	add("long", 450*day)
	add("long", day)
	question := aQuestion("c_old")
	question.Opened, question.Expires = when().Add(-40*day), when().Add(-40*day)
	must(t, g.Open(ctx, question, aRow("long")))
	got, err := s.Audit().Retain(ctx, store.Retention{})
	must(t, err)
	if want := (store.Retained{Chains: 1, Decisions: 2, Events: 3, Confirmations: 1}); got != want {
		t.Errorf("%+v, want %+v", got, want)
	}
	if r := sound(t, s); r.Rows != 3 || r.Chains != 2 || r.Removed != 1 {
		t.Errorf("%+v", r)
	}
	add("old", 0) // the session goes on: its chain follows the tombstone
	if r := sound(t, s); r.Rows != 4 || r.Removed != 1 {
		t.Errorf("%+v", r)
	}
	if again, err := s.Audit().Retain(ctx, store.Retention{}); err != nil || again != (store.Retained{}) {
		t.Errorf("%+v, %v", again, err)
	}
}
