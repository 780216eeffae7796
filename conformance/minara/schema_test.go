package minara

import (
	"strings"
	"testing"

	"github.com/deftskills/deft/internal/suitetest"
	"github.com/deftskills/deft/registry"
	"github.com/deftskills/deft/route"
	"github.com/deftskills/deft/source"
)

func TestMinara_SC01_TheIDIsNotTheName(t *testing.T) {
	t.Parallel()
	snap := snapshot(t, env(), from("", skills{"minara-market": text("minara-market", "id: market.watch")}))
	rec, err := snap.Lookup("market.watch")
	if err != nil {
		t.Fatal(err)
	}
	want(t, "skill", []string{string(rec.Skill.ID()), rec.Skill.Name}, []string{"market.watch", "minara-market"})
}

func TestMinara_SC02_IDsOfSeveralSegments(t *testing.T) {
	t.Parallel()
	for _, id := range []string{"analysis", "minara.core", "research.onchain.glassnode", "a-b.c_d", strings.Repeat("a", 128)} {
		s := parse(text("a", "id: "+id))
		want(t, id, []string{string(s.ID()), finding(s.Diagnostics, "id_invalid")}, []string{id, ""})
	}
}

func TestMinara_SC03_ABadIDGivesWayToTheName(t *testing.T) {
	t.Parallel()
	for _, id := range []string{"A.b", "a..b", ".a", strings.Repeat("a", 129)} {
		s := parse(text("a", "id: '"+id+"'"))
		want(t, id, []any{string(s.ID()), finding(s.Diagnostics, "id_invalid"), s.Valid}, []any{"a", "warning", true})
	}
}

func TestMinara_SC04_WithoutIDTheNameIsIt(t *testing.T) {
	t.Parallel()
	want(t, "id", string(parse(text("some-name")).ID()), "some-name")
}

func TestMinara_SC05_FieldsBelowMetadataMinara(t *testing.T) {
	t.Parallel()
	m := parse(text("a", "priority: 7", "tool_names: [get_price, swap]", "requires_env: [KEY]", "routing: {keywords: [buy]}")).Meta
	want(t, "fields", []any{m.Priority, m.ToolNames, m.Conditions.RequiresEnv, m.Routing.Keywords},
		[]any{7, []string{"get_price", "swap"}, []string{"KEY"}, []string{"buy"}})
}

// beside is the skill a with a sidecar.
func beside(sidecar string, lines ...string) skills {
	return skills{"a": text("a", lines...), "a/SKILL.config.json": sidecar}
}

func loaded(t *testing.T, s skills, kind source.Kind) *registry.Record {
	t.Helper()
	rec, err := snapshot(t, env(), from(kind, s)).Lookup("a")
	if err != nil {
		t.Fatal(err)
	}
	return rec
}

func TestMinara_SC06_FieldsOfTheSidecar(t *testing.T) {
	t.Parallel()
	m := loaded(t, beside(`{"priority": 3, "tool_names": ["x"], "routing": {"keywords": ["buy"]}, "conditions": {"platforms": ["linux"]}}`), "").Skill.Meta
	want(t, "fields", []any{m.Priority, m.ToolNames, m.Routing.Keywords, m.Conditions.Platforms}, []any{3, []string{"x"}, []string{"buy"}, []string{"linux"}})
}

func TestMinara_SC07_TheSidecarWinsAndTheConflictIsTold(t *testing.T) {
	t.Parallel()
	s := loaded(t, beside(`{"priority": 3}`, "priority: 9"), "").Skill
	want(t, "priority", []any{s.Meta.Priority, finding(s.Diagnostics, "sidecar_conflict")}, []any{3, "warning"})
}

func TestMinara_SC08_ABrokenSidecarCostsItself(t *testing.T) {
	t.Parallel()
	s := loaded(t, beside("{\"priority\": 3,\n \"x\": }", "priority: 9"), "").Skill
	want(t, "priority", []any{s.Meta.Priority, s.Valid}, []any{9, true})
	for _, d := range s.Diagnostics {
		if d.Code == "sidecar_invalid" {
			want(t, "place", []any{strings.HasSuffix(d.File, "SKILL.config.json"), d.Line}, []any{true, 2})
			return
		}
	}
	t.Errorf("findings are %+v", s.Diagnostics)
}

// shipped are skills as a program ships them, one of them a level too deep.
func shipped(t *testing.T) *registry.Snapshot {
	return snapshot(t, env(), from(source.Builtin, skills{"a": text("a"), "group/b": text("b")}))
}

func TestMinara_SC09_BuiltinsLieDirectlyBelowTheirFolder(t *testing.T) {
	t.Parallel()
	snap := shipped(t)
	want(t, "winners", len(snap.Winners), 1)
	want(t, "name", snap.Winners[0].Skill.Name, "a")
}

func TestMinara_SC10_OneTooDeepIsTold(t *testing.T) {
	t.Parallel()
	for _, d := range shipped(t).Diagnostics {
		if d.Code == "nested_ignored" && strings.Contains(d.File+d.Message, "group/b") {
			return
		}
	}
	t.Errorf("findings are %+v", shipped(t).Diagnostics)
}

func TestMinara_SC11_ReferencesAreReadOnDemand(t *testing.T) {
	t.Parallel()
	dir := folder(t, skills{"a": text("a"), "a/references/more.md": "Far below the surface."})
	e := engine(t, dir)
	turn := suitetest.Turn(t, e, "hello")
	if _, prompt := activate(t, turn, "a"); strings.Contains(prompt, "Far below") || !strings.Contains(prompt, "Body of a.") {
		t.Errorf("prompt is %s", prompt)
	}
	rec, err := e.Snapshot().Lookup("a")
	if err != nil {
		t.Fatal(err)
	}
	f, err := rec.From.Open(t.Context(), rec.Entry, "references/more.md")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	buf := make([]byte, 64)
	n, _ := f.Read(buf)
	want(t, "file", string(buf[:n]), "Far below the surface.")
}

func TestMinara_SC12_TheBodyIsThePromptText(t *testing.T) {
	t.Parallel()
	e := engine(t, folder(t, skills{"a": "---\nname: a\ndescription: Does a.\n---\n# Steps\n\n1. Look.\n2. Buy $5 of it.\n"}))
	if _, prompt := activate(t, suitetest.Turn(t, e, "hello"), "a"); !strings.Contains(prompt, "# Steps\n\n1. Look.\n2. Buy $5 of it.") {
		t.Errorf("prompt is %s", prompt)
	}
}

func TestMinara_SC13_PrioritiesOutOfRangeAre50(t *testing.T) {
	t.Parallel()
	want(t, "absent", parse(text("a")).Meta.Priority, 50)
	for _, value := range []string{"-1", "101", "x", "5.5"} {
		s := parse(text("a", "priority: "+value))
		want(t, value, []any{s.Meta.Priority, finding(s.Diagnostics, "value_range"), s.Valid}, []any{50, "warning", true})
	}
	want(t, "bounds", []any{parse(text("a", "priority: 0")).Meta.Priority, parse(text("a", "priority: 100")).Meta.Priority}, []any{0, 100})
}

func TestMinara_SC14_AnUnknownKeyIsTold(t *testing.T) {
	t.Parallel()
	s := parse(text("a", "colour: red", "routing: {words: [x]}"))
	want(t, "finding", finding(s.Diagnostics, "key_unknown"), "warning")
	n := 0
	for _, d := range s.Diagnostics {
		if d.Code == "key_unknown" {
			n++
		}
	}
	want(t, "findings", n, 2)
}

func TestMinara_SC15_ABuiltinWinsItsID(t *testing.T) {
	t.Parallel()
	snap := snapshot(t, env(), from(source.User, skills{"x": text("x", "id: market.watch")}), from(source.Builtin, skills{"y": text("y", "id: market.watch")}))
	rec, err := snap.Lookup("market.watch")
	if err != nil {
		t.Fatal(err)
	}
	want(t, "winner", rec.Skill.Name, "y")
	for _, r := range snap.All {
		if r.Skill.Name == "x" {
			want(t, "loser", []any{r.State, len(r.Reasons) > 0}, []any{registry.Shadowed, true})
		}
	}
}

func TestMinara_SC16_BuiltinsAndExternalsAreAlike(t *testing.T) {
	t.Parallel()
	entry := func(kind source.Kind) route.RoutedCatalogEntry {
		r, _ := route.Compile(snapshot(t, env(), from(kind, one(whole, "tool_names: [x, y]", "priority: 7"))), options())
		in := all()
		in.Env = env()
		res, err := r.Route(t.Context(), in)
		if err != nil {
			t.Fatal(err)
		}
		return res.Hits[0]
	}
	builtin, external := entry(source.Builtin), entry(source.User)
	want(t, "kinds", []string{builtin.Kind, external.Kind}, []string{"builtin", "external"})
	builtin.Kind, builtin.Address = external.Kind, external.Address
	want(t, "entry", builtin, external)
}
