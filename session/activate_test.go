package session

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/deftskills/deft/gate"
	"github.com/deftskills/deft/internal/limits"
	"github.com/deftskills/deft/registry"
	"github.com/deftskills/deft/skill"
	"github.com/deftskills/deft/source"
)

func TestLoadedTextHasOneFormAndOrder(t *testing.T) {
	t.Parallel()
	f := newFixture(t, nil, def{
		name: "report", text: "\n# report\n\nDo it.\n",
		files: []File{{Path: "assets/logo.png", Size: 12, Binary: true}, {Path: "references/a&b.md"}, {Path: "scripts/count.sh", Executable: true}},
	})
	got := load(t, f.begin(""), "report", "ZULU").Text
	want := `<skill boundary="0000000000000001" name="report" source="user" trust="trusted">
Directory: /skills/report


# report

Do it.

Files (read with skill_read):
- assets/logo.png (12 bytes, binary)
- references/a&b.md
- scripts/count.sh (executable)

ARGUMENTS: ZULU
</skill boundary="0000000000000001">`
	if got != want {
		t.Errorf("got:\n%s", got)
	}
	if f.Active()[0].Text != want || !f.Active()[0].InResult {
		t.Error("the activation keeps the text it was started with")
	}
}

func TestEachRefusalHasItsCodeAndText(t *testing.T) {
	t.Parallel()
	manual := skill.Meta{DisableModelInvocation: true}
	f := newFixture(t, func(o *Options) {
		o.Unmet = func(s *skill.Skill) []string {
			if s.Name == "needy" {
				return []string{"requires_env"}
			}
			return nil
		}
	},
		def{name: "report", text: "x"}, def{name: "deploy", text: "x", meta: manual},
		def{name: "needy", text: "x"}, def{name: "off", text: "x", state: registry.Disabled}, def{name: "broken", text: "x"},
	)
	delete(f.bodies, "broken")
	for _, c := range []struct{ name, code, text string }{
		{"  ", "skill_name_empty", "name is empty. Give the exact name from the list."},
		{"reprot", "skill_unknown", `No skill "reprot". Close: report. find finds skills by what they do. Not loaded.`},
		{"off", "skill_unknown", `No skill "off".`},
		{"../../../secret", "skill_name_is_path", `No skill "../../../secret": that is a path. Give the exact name from the list. Not loaded.`},
		{"/etc/hostname", "skill_name_is_path", `No skill "/etc/hostname": that is a path.`},
		{`C:\temp\secret`, "skill_name_is_path", ""},
		{"kit%2f..", "skill_name_is_path", ""},
		{"..", "skill_name_is_path", ""},
		{"deploy", "skill_manual_only", `"deploy" can only be started by the user with /deploy. Ask them; do not imitate it.`},
		{"needy", "skill_conditions", `"needy" needs requires_env and cannot be loaded now.`},
		{"broken", "skill_unreadable", `"broken" is listed but its file cannot be read (unreadable). Not loaded.`},
		{"report@nowhere", "skill_source_unknown", `No skill "report" from "nowhere". It comes from: user. Not loaded.`},
	} {
		turn := f.begin("")
		res := must(turn.Activate(t.Context(), Request{Names: []string{c.name}, Actor: ActorModel, Tools: ToolNames{Search: "find"}}))
		turn.End()
		if len(res.Refused) != 1 || res.Refused[0].Code != c.code || !strings.HasPrefix(res.Text, c.text) {
			t.Errorf("%q: %+v", c.name, res.Refused)
		}
	}
	if names(f.Session) != "" || len(f.events) != 12 {
		t.Errorf("active %q, %d events", names(f.Session), len(f.events))
	}
}

func TestManualOnlyIsTheUsersDecision(t *testing.T) {
	t.Parallel()
	f := newFixture(t, nil, def{name: "deploy", text: "Deploy $ARGUMENTS.", meta: skill.Meta{DisableModelInvocation: true}})
	turn := f.begin("")
	user := must(turn.Activate(t.Context(), Request{Names: []string{"/deploy"}, Args: "prod", HasArgs: true, Actor: ActorUser}))
	if !strings.Contains(user.Text, "Deploy prod.") {
		t.Error(user.Text)
	}
	signal := must(turn.Activate(t.Context(), Request{Names: []string{"deploy"}, Actor: ActorSignal}))
	if signal.Refused[0].Code != "skill_manual_only" {
		t.Error(signal)
	}
	turn.End()
	asked := f.begin("please use the deploy skill for prod")
	if res := load(t, asked, "deploy"); len(res.Refused) != 0 || res.Loaded[0].Actor != ActorUser {
		t.Error("the user's words did not count", res.Refused)
	}
}

func TestMentionsNeedMoreThanTheWord(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		text, name string
		want       bool
	}{
		{"deploy it now", "deploy", false}, {"use the deploy skill", "deploy", true}, {"/deploy now", "deploy", true},
		{"run deploy-notes", "deploy-notes", true}, {"run deploy-notes-x", "deploy-notes", false}, {"xdeploy-notes", "deploy-notes", false},
		{"skill `deploy` please", "deploy", true}, {"使用deploy技能", "deploy", true}, {"用技能“部署”", "部署", true},
		{"the skills deploy", "deploy", false}, {"", "deploy", false}, {"deploy skill", "", false}, {"Deploy-Notes!", "deploy-notes", true},
	} {
		if got := Mentions(c.text, c.name); got != c.want {
			t.Errorf("Mentions(%q, %q) = %v", c.text, c.name, got)
		}
	}
}

func TestSlashNamesStartSkills(t *testing.T) {
	t.Parallel()
	known := func(n string) bool { return n == "a" || n == "部署" || n == "p:x" }
	for _, c := range []struct{ text, names, args, unknown string }{
		{"/a", "a", "", ""}, {"  /a  x \"y z\" \nmore", "a", `x "y z"`, ""}, {"/a /部署 now", "a 部署", "now", ""},
		{"/nope x", "", "", "nope"}, {"/etc/hosts", "", "", ""}, {"say /a", "", "", ""}, {"/", "", "", ""},
		{"/a /nope", "a", "/nope", ""}, {"/p:x y", "p:x", "y", ""}, {"/a /a /a /a /a /a /a", "a a a a a a", "/a", ""},
	} {
		names, args, unknown := Slash(c.text, known)
		if strings.Join(names, " ") != c.names || args != c.args || unknown != c.unknown {
			t.Errorf("%q: %v %q %q", c.text, names, args, unknown)
		}
	}
}

func TestThreeFailuresAreFinalUntilTheNextTurn(t *testing.T) {
	t.Parallel()
	f := newFixture(t, nil, def{name: "report", text: "x"})
	for range 2 {
		turn := f.begin("")
		for i, name := range []string{"aaa", "bbb", "ccc"} {
			res := load(t, turn, name)
			if res.Refused[0].Final != (i == 2) || strings.HasSuffix(res.Text, FinalText) != (i == 2) {
				t.Errorf("failure %d: %q", i+1, res.Text)
			}
		}
		if res := load(t, turn, "report"); len(res.Refused) != 0 {
			t.Error("a right name still loads")
		}
		turn.End()
	}
}

func TestRepeatLoads(t *testing.T) {
	t.Parallel()
	f := newFixture(t, nil, def{name: "plain", text: "Text."}, def{name: "takes", text: "Do $ARGUMENTS."})
	first := f.begin("")
	load(t, first, "plain")
	load(t, first, "takes", "one")
	first.End()
	turn := f.begin("")
	if got := load(t, turn, "plain").Text; got != `skill "plain" is already loaded (turn 1); follow it` {
		t.Error(got)
	}
	if got := load(t, turn, "plain", "x y").Text; got != "skill \"plain\" is already loaded (turn 1); follow it\n\nARGUMENTS: x y" {
		t.Error(got)
	}
	if got := load(t, turn, "takes", "one"); !got.Loaded[0].Repeat {
		t.Error(got.Text)
	}
	if got := load(t, turn, "takes", "two").Text; !strings.Contains(got, "Do two.") {
		t.Error(got)
	}
	b := f.bodies["plain"]
	s := *f.snap.Winners[0].Skill
	s.Digest = skill.FileDigest([]byte("other"))
	b.Skill, b.Drift, b.Text = &s, true, "New text."
	f.bodies["plain"] = b
	got := load(t, turn, "plain").Text
	if !strings.Contains(got, "content changed since turn 1\n") || !strings.Contains(got, "New text.") {
		t.Error(got)
	}
}

func TestReplacingSet(t *testing.T) {
	t.Parallel()
	f := newFixture(t, nil,
		def{name: "a", text: "A", meta: skill.Meta{AllowedTools: declared([]string{"Read"})}},
		def{name: "b", text: "B", meta: skill.Meta{AllowedTools: declared([]string{"Grep"})}},
		def{name: "c", text: "C"}, def{name: "mine", text: "M"},
	)
	turn := f.begin("")
	must(turn.Activate(t.Context(), Request{Names: []string{"mine"}, Actor: ActorUser}))
	must(turn.Activate(t.Context(), Request{Names: []string{"c"}, Actor: ActorHost, Preload: true}))
	res := set(t, turn, "a", "b", "a", "nope")
	if names(f.Session) != "mine a b" || strings.Join(res.Replaced, " ") != "c" || strings.Join(res.Limiting, " ") != "a b" || res.Refused[0].Code != "skill_unknown" {
		t.Errorf("active %q, %+v", names(f.Session), res)
	}
	if e := f.Effective(); !e.Exposes("read") || !e.Exposes("grep") || e.Exposes("write") {
		t.Errorf("allow %v", e.Allow)
	}
	before := f.state.Load()
	if res := set(t, turn, "a", "b"); !res.Already || f.state.Load() != before {
		t.Error("the same set again changes nothing")
	}
	if res := set(t, turn, "nope", "gone"); len(res.Loaded) != 0 || f.state.Load() != before {
		t.Error("no valid name: the former set stays")
	}
	if set(t, turn, "b", "a"); names(f.Session) != "mine b a" {
		t.Errorf("order %q", names(f.Session))
	}
	if res := set(t, turn, "mine", "c"); names(f.Session) != "mine c" || len(res.Loaded) != 2 || f.Active()[0].Actor != ActorUser {
		t.Errorf("%q %+v", names(f.Session), res)
	}
	if set(t, turn); names(f.Session) != "mine" {
		t.Errorf("cleared to %q", names(f.Session))
	}
}

func TestSetOverItsLimitsChangesNothing(t *testing.T) {
	t.Parallel()
	var defs []def
	var all []string
	for i := range 9 {
		defs = append(defs, def{name: fmt.Sprint("s", i), text: "x"})
		all = append(all, fmt.Sprint("s", i))
	}
	defs = append(defs, def{name: "big", text: strings.Repeat("many words here ", 9000)})
	f := newFixture(t, nil, defs...)
	turn := f.begin("")
	set(t, turn, "s0")
	for _, names := range [][]string{all, {"big", "s1"}} {
		before := f.state.Load()
		res := set(t, turn, names...)
		if len(res.Refused) != 1 || res.Refused[0].Code != "set_too_large" || !strings.Contains(res.Refused[0].Message, names[0]+" ") || f.state.Load() != before {
			t.Errorf("%v: %+v", names, res)
		}
	}
}

func TestTrustDecidesWhatCounts(t *testing.T) {
	t.Parallel()
	meta := skill.Meta{Model: "m", Effort: "high", HasHooks: true, Secrets: []string{"K"}, Scope: "session", AllowedTools: declared([]string{"Read"})}
	for trust, want := range map[source.Trust]struct {
		scope   Scope
		dropped int
		model   string
	}{
		source.Trusted: {ScopeSession, 0, "m"}, source.Workspace: {ScopeSession, 2, "m"},
		source.Untrusted: {ScopeTurn, 5, ""}, source.Remote: {ScopeTurn, 5, ""},
	} {
		f := newFixture(t, nil, def{name: "x", text: "Run !`ls`.", trust: trust, meta: meta})
		turn := f.begin("")
		res := load(t, turn, "x")
		dropped := 0
		for _, d := range res.Loaded[0].Diagnostics {
			if d.Code == "untrusted_effect_dropped" {
				dropped++
			}
		}
		if a := res.Loaded[0]; a.Scope != want.scope || dropped != want.dropped || f.Effective().Model != want.model {
			t.Errorf("%s: scope %s, %d dropped, model %q", trust, a.Scope, dropped, f.Effective().Model)
		}
		if f.Effective().Exposes("write") {
			t.Errorf("%s: the restriction stays", trust)
		}
		if !strings.Contains(res.Text, "1 inline command was not run: ") || !strings.Contains(res.Text, "Run !`ls`.") {
			t.Error(res.Text)
		}
		if note := strings.Contains(res.Text, "\nuntrusted: "); note != (want.scope == ScopeTurn) {
			t.Errorf("%s: note %v", trust, note)
		}
		turn.End()
		if (names(f.Session) == "") != (want.scope == ScopeTurn) {
			t.Errorf("%s: %q is active after the turn", trust, names(f.Session))
		}
	}
}

func TestModelAndEffortAreThoseThatAreKnown(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ model, effort, wantModel, wantEffort, code string }{
		{"fast", "", "fast", "", ""}, {"inherit", "80", "base", "xhigh", ""}, {"nobody", "low", "base", "low", "model_unknown"},
		{"", "25", "base", "low", ""}, {"", "50", "base", "medium", ""}, {"", "75", "base", "high", ""}, {"", "91", "base", "max", ""},
	} {
		f := newFixture(t, func(o *Options) { o.Base.Model, o.Models = "base", func(id string) bool { return id == "fast" } },
			def{name: "x", text: "x", meta: skill.Meta{Model: c.model, Effort: c.effort}})
		res := load(t, f.begin(""), "x")
		code := ""
		for _, d := range res.Loaded[0].Diagnostics {
			code += d.Code
		}
		if e := f.Effective(); e.Model != c.wantModel || e.Effort != c.wantEffort || code != c.code {
			t.Errorf("%+v: %s %s %s", c, e.Model, e.Effort, code)
		}
	}
}

func TestTextOnlyDialectsBringNoEffects(t *testing.T) {
	t.Parallel()
	meta := skill.Meta{Model: "m", DisallowedTools: declared([]string{"Write"}), AllowedTools: declared([]string{"Read"})}
	for _, d := range skill.Dialects() {
		f := newFixture(t, func(o *Options) { o.Dialect = d }, def{name: "x", text: "x", meta: meta})
		load(t, f.begin(""), "x")
		e := f.Effective()
		if d == skill.Mastra { // keeps nothing at all
			if len(f.Active()) > 0 || len(e.Skills) > 0 || e.Model == "m" {
				t.Errorf("%s: %+v", d, e)
			}
			continue
		}
		effects := e.Model == "m" && !e.Exposes("write")
		if effects == textOnly(d) || len(e.Skills[0].Allow.Entries) != 1 {
			t.Errorf("%s: %+v", d, e)
		}
	}
}

func TestActiveSkillsSayWhatTheGateNeeds(t *testing.T) {
	t.Parallel()
	f := newFixture(t, nil,
		def{name: "reader", text: "x", meta: skill.Meta{AllowedTools: declared([]string{"Read", "Grep"})}},
		def{name: "locked", text: "x", meta: skill.Meta{DisallowedTools: declared([]string{"Write", "Bash"})}},
		def{name: "stamper", text: "x", meta: skill.Meta{AllowedTools: declared([]string{`Bash(sh "${CLAUDE_SKILL_DIR}/s.sh" *)`, "bad("})}},
	)
	turn := f.begin("")
	load(t, turn, "reader")
	load(t, turn, "locked")
	got := f.ActiveSkills()
	if len(got) != 2 || got[0].Mode != gate.Restrict || !got[0].Allow.Declared || got[0].Source != "user" || got[0].Dir != "/skills/reader" || got[1].Allow.Declared || len(got[1].Deny) != 2 {
		t.Errorf("%+v", got)
	}
	res := load(t, turn, "stamper")
	if len(res.Loaded[0].Diagnostics) != 1 || res.Loaded[0].Diagnostics[0].Code != "tools_pattern" {
		t.Error(res.Loaded[0].Diagnostics)
	}
	if got := f.ActiveSkills(); got[0].Allow.Declared || got[2].Allow.Entries[0] != `Bash(sh /skills/stamper/s.sh *)` {
		t.Errorf("%+v", got)
	}
}

func TestDeactivationTakesTheNewestAndNothingElse(t *testing.T) {
	t.Parallel()
	f := newFixture(t, nil, def{name: "a", text: "x", meta: skill.Meta{DisallowedTools: declared([]string{"Write"})}}, def{name: "b", text: "x", trust: source.Untrusted})
	turn := f.begin("")
	if _, err := turn.Apply(Patch{Owner: Owner{OwnerHost, "h"}, Prompt: text("keep")}, Provenance{Actor: ActorHost}); err != nil {
		t.Fatal(err)
	}
	load(t, turn, "a")
	load(t, turn, "b")
	for _, name := range []string{"b", "`a`"} {
		if ok, err := turn.Deactivate(name); !ok || err != nil {
			t.Errorf("%s: %v %v", name, ok, err)
		}
	}
	if ok, _ := turn.Deactivate("a"); ok || names(f.Session) != "" || f.Effective().Prompt != "keep" || !f.Effective().Exposes("write") {
		t.Errorf("%+v", f.Effective())
	}
}

func TestFailureAtAnyStepLeavesTheLayers(t *testing.T) {
	t.Parallel()
	f := newFixture(t, func(o *Options) { o.Limits = limits.Session{Active: 2, PromptBytes: 10} },
		def{name: "a", text: "x"}, def{name: "b", text: "x"}, def{name: "c", text: "x"})
	turn := f.begin("")
	load(t, turn, "a")
	before := f.state.Load()
	f.broken = errors.New("disk full")
	var e *Error
	if _, err := turn.Activate(t.Context(), Request{Names: []string{"b"}, Actor: ActorModel}); !errors.As(err, &e) || e.Code != "audit_write" {
		t.Error(err)
	}
	f.broken = nil
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := turn.Activate(ctx, Request{Names: []string{"b"}, Actor: ActorModel}); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	if _, err := turn.Apply(Patch{Owner: Owner{OwnerHost, "h"}, Prompt: text("more than ten")}, Provenance{}); !errors.As(err, &e) || e.Code != "limit_prompt_bytes" {
		t.Error(err)
	}
	f.loadEr = errors.New("io")
	load(t, turn, "b")
	f.loadEr = nil
	if f.state.Load() != before {
		t.Error("a failure changed the layers")
	}
	load(t, turn, "b")
	if _, err := turn.Activate(t.Context(), Request{Names: []string{"c"}, Actor: ActorModel}); !errors.As(err, &e) || e.Code != "limit_active" {
		t.Error(err)
	}
}

func TestOneTurnAtATimeAndEndAlwaysDropsItsLayer(t *testing.T) {
	t.Parallel()
	f := newFixture(t, nil, def{name: "x", text: "x", trust: source.Untrusted})
	turn := f.begin("")
	if _, err := f.Begin(t.Context(), TurnInput{}); !errors.Is(err, ErrBusy) {
		t.Error(err)
	}
	before := f.Effective()
	func() {
		defer func() { _ = recover() }()
		defer turn.End()
		load(t, turn, "x")
		f.broken = errors.New("disk full")
		panic("tool")
	}()
	f.broken = nil
	if names(f.Session) != "" || fmt.Sprint(f.Effective()) != fmt.Sprint(before) {
		t.Error("the turn layer survived")
	}
	turn.End()
	if _, err := turn.Activate(t.Context(), Request{Names: []string{"x"}}); !errors.Is(err, ErrEnded) {
		t.Error(err)
	}
	next := f.begin("")
	if next.Number() != 2 {
		t.Error(next.Number())
	}
	if err := errors.Join(f.Close(), f.Close()); err != nil {
		t.Error(err)
	}
	if _, err := f.Begin(t.Context(), TurnInput{}); !errors.Is(err, ErrClosed) {
		t.Error(err)
	}
}

func TestSnapshotIsPinned(t *testing.T) {
	t.Parallel()
	for _, pin := range []Pin{PinTurn, PinSession} {
		f := newFixture(t, func(o *Options) { o.Pin = pin }, def{name: "a", text: "x"})
		turn := f.begin("")
		first := turn.Snapshot()
		other := *first
		f.snap = &other
		if turn.Snapshot() != first {
			t.Error("a running turn keeps its snapshot")
		}
		turn.End()
		next := f.begin("")
		if (next.Snapshot() == first) != (pin == PinSession) {
			t.Errorf("%s: wrong snapshot", pin)
		}
		next.End()
		f.Refresh()
		if f.begin("").Snapshot() == first {
			t.Errorf("%s: Refresh did nothing", pin)
		}
	}
}

func TestAccessRulesAreSilentForModels(t *testing.T) {
	t.Parallel()
	f := newFixture(t, func(o *Options) { o.Access = denyAll{} }, def{name: "secret-plan", text: "x"})
	turn := f.begin("")
	model := load(t, turn, "secret-plan")
	if model.Refused[0].Code != "skill_unknown" || strings.Contains(model.Text, "rule 7") {
		t.Error(model.Text)
	}
	user := must(turn.Activate(t.Context(), Request{Names: []string{"secret-plan"}, Actor: ActorUser}))
	if user.Refused[0].Code != "skill_denied" || !strings.Contains(user.Text, "rule 7") {
		t.Error(user.Text)
	}
}

type denyAll struct{}

func (denyAll) Check(context.Context, Actor, *registry.Record) error { return errors.New("rule 7") }

func TestReadersNeverSeeHalfASet(t *testing.T) {
	t.Parallel()
	f := newFixture(t, nil, def{name: "a", text: "x"}, def{name: "b", text: "x"}, def{name: "c", text: "x"})
	done := make(chan struct{})
	go func() {
		defer close(done)
		for range 200 {
			if n := names(f.Session); n != "" && n != "a b" && n != "c" {
				t.Errorf("saw %q", n)
			}
			_ = f.ActiveSkills()
		}
	}()
	for range 20 {
		turn := f.begin("")
		set(t, turn, "a", "b")
		set(t, turn, "c")
		turn.End()
	}
	<-done
}

func BenchmarkActivation20KiB(b *testing.B) {
	f := newFixture(b, nil, def{name: "big", text: strings.Repeat("A line of text with nothing in it.\n", 600)})
	for b.Loop() {
		turn, err := f.Begin(context.Background(), TurnInput{})
		if err != nil {
			b.Fatal(err)
		}
		must(turn.Activate(context.Background(), Request{Names: []string{"big"}, Actor: ActorUser}))
		if _, err := turn.Deactivate("big"); err != nil {
			b.Fatal(err)
		}
		turn.End()
	}
}
