package registry_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/deftskills/deft/registry"
	"github.com/deftskills/deft/skill"
	"github.com/deftskills/deft/source"
)

// src makes a source of data skills, with whatever kind and trust a test needs.
func src(id string, kind source.Kind, trust source.Trust, defs ...source.Definition) source.Source {
	for i := range defs {
		if defs[i].Content == "" {
			defs[i].Content = "Do " + id + "."
		}
		if defs[i].Description == "" {
			defs[i].Description = "From " + id + "."
		}
	}
	return source.Data(defs, source.DataOptions{Info: source.Info{ID: id, Kind: kind, Trust: trust}})
}

func named(names ...string) []source.Definition {
	var out []source.Definition
	for _, n := range names {
		out = append(out, source.Definition{Name: n})
	}
	return out
}

func snapshot(t testing.TB, c registry.Config) *registry.Snapshot {
	t.Helper()
	r, err := registry.Open(context.Background(), c)
	if err != nil {
		t.Fatal(err)
	}
	return r.Snapshot()
}

func of(t testing.TB, srcs ...source.Source) *registry.Snapshot {
	t.Helper()
	return snapshot(t, registry.Config{Sources: srcs})
}

func TestKindsWinInTheirOrder(t *testing.T) {
	t.Parallel()
	kinds := source.Kinds()
	for i := range kinds[:len(kinds)-1] {
		s := of(t, src("weak", kinds[i+1], source.Trusted, named("x")...), src("strong", kinds[i], source.Trusted, named("x")...))
		if r, err := s.Lookup("x"); err != nil || r.Source.ID != "strong" || r.Losers[0].State != registry.Shadowed {
			t.Errorf("%s over %s: %v %v", kinds[i], kinds[i+1], r, err)
		}
	}
}

func TestNearnessBeatsPriorityAndPriorityBeatsLocation(t *testing.T) {
	t.Parallel()
	at := func(id string, near int, prio float64, name string) source.Source {
		return source.Data([]source.Definition{{Name: name, Content: "From " + id}}, source.DataOptions{Info: source.Info{ID: id, Kind: source.User, Nearness: near, Priority: prio}})
	}
	for _, c := range []struct {
		a, b source.Source
		step string
	}{
		{at("win", 0, 1, "x"), at("lose", 1, 99, "x"), "nearness"},
		{at("win", 0, 2, "x"), at("lose", 0, 1, "x"), "priority"},
		{at("win", 0, 1, "X"), at("lose", 0, 1, "x"), "location"},
	} {
		s := of(t, c.b, c.a)
		rec, err := s.Lookup("x@win")
		if err != nil {
			t.Fatal(err)
		}
		if rec.State != registry.Available || !strings.Contains(rec.Losers[0].Reasons[0].Message, c.step) {
			t.Errorf("%s: %s %+v", c.step, rec.State, rec.Losers)
		}
	}
}

func TestALessTrustedSkillNeverTakesAName(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		what         string
		strong, weak source.Source
		winner       string // id of who has the bare name
		alsoUsable   bool   // the other one is usable by its address
	}{
		{"an agent's own skill", src("agent", source.Agent, source.Untrusted, named("x")...), src("user", source.User, source.Trusted, named("x")...), "user", true},
		{"a look-alike", src("agent", source.Agent, source.Untrusted, named("соmmit")...), src("user", source.User, source.Trusted, named("commit")...), "", true},
		{"one handle", src("agent", source.Agent, source.Untrusted, named("my_x")...), src("user", source.User, source.Trusted, named("my.x")...), "", true},
		{"a trusted project over the user", src("ws", source.Project, source.Workspace, named("x")...), src("user", source.User, source.Trusted, named("x")...), "ws", false},
		{"a trusted project over a built-in", src("ws", source.Project, source.Workspace, named("x")...), src("builtin", source.Builtin, source.Trusted, named("x")...), "ws", false},
		{"a pending project", src("ws", source.Project, source.Pending, named("x")...), src("user", source.User, source.Trusted, named("x")...), "user", false},
		{"a package under a plugin", src("plugin", source.PluginK, source.Untrusted, named("x")...), src("package", source.Package, source.Untrusted, named("x")...), "plugin", false},
	} {
		s := of(t, c.strong, c.weak)
		if c.winner != "" {
			if r, err := s.Lookup("x"); err != nil || r.Source.ID != c.winner {
				t.Errorf("%s: %v %v, want %s", c.what, r, err, c.winner)
			}
		}
		var shadow []string
		for _, w := range s.Winners {
			for _, why := range w.Reasons {
				if why.Code == "untrusted_shadow" {
					shadow = append(shadow, w.Address)
				}
			}
		}
		if (len(shadow) == 1) != c.alsoUsable || c.alsoUsable && !strings.HasSuffix(shadow[0], "@agent") {
			t.Errorf("%s: untrusted_shadow for %q", c.what, shadow)
		}
	}
}

func TestALoserComesBackWhenItsWinnerIsGone(t *testing.T) {
	t.Parallel()
	top := t.TempDir()
	for _, d := range []string{"a", "b"} {
		writeSkill(t, filepath.Join(top, d, "x"), "x", "From "+d+".")
	}
	r, err := registry.Open(t.Context(), registry.Config{Sources: []source.Source{
		source.Dir(filepath.Join(top, "a"), source.DirOptions{Info: source.Info{Priority: 2}}),
		source.Dir(filepath.Join(top, "b"), source.DirOptions{Info: source.Info{Priority: 1}}),
	}})
	if err != nil {
		t.Fatal(err)
	}
	want(t, "first", lookup(t, r.Snapshot(), "x").Skill.Description, "From a.")
	if err := os.RemoveAll(filepath.Join(top, "a")); err != nil {
		t.Fatal(err)
	}
	s, err := r.Refresh(t.Context(), registry.RefreshOptions{})
	if err != nil {
		t.Fatal(err)
	}
	want(t, "after the winner went", lookup(t, s, "x").Skill.Description, "From b.")
	want(t, "version", s.Version, uint64(2))
}

func writeSkill(t testing.TB, dir, name, description string) {
	t.Helper()
	if err := os.MkdirAll(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	text := fmt.Sprintf("---\nname: %s\ndescription: %s\n---\n\nDo it.\n", name, description)
	if err := os.WriteFile(filepath.Join(dir, "SKILL.md"), []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

func TestEqualCopiesAreANoteAndDifferentOnesAWarning(t *testing.T) {
	t.Parallel()
	same := source.Definition{Name: "x", Description: "Same.", Content: "Same."}
	s := of(t, src("a", source.Project, source.Trusted, same), src("b", source.User, source.Trusted, same))
	want(t, "equal", codesOf(s.Diagnostics), []string{"duplicate"})
	s = of(t, src("a", source.Project, source.Trusted, same), src("b", source.User, source.Trusted, named("x")...))
	want(t, "different", codesOf(s.Diagnostics), []string{"copies_differ"})
	s = snapshot(t, registry.Config{QuietCopies: true, Sources: []source.Source{
		src("a", source.Project, source.Trusted, same), src("b", source.User, source.Trusted, named("x")...),
	}})
	want(t, "quiet", codesOf(s.Diagnostics), []string(nil))
	s = snapshot(t, registry.Config{Dialect: skill.AgentSkills, Sources: []source.Source{
		src("a", source.Project, source.Trusted, same), src("b", source.User, source.Trusted, same),
	}})
	want(t, "agentskills", codesOf(s.Diagnostics), []string{"copies_differ"})
}

func TestNamesTypedAlikeKeepTheirFullNames(t *testing.T) {
	t.Parallel()
	s := of(t, src("a", source.User, source.Trusted, named("my_tool")...), src("b", source.Builtin, source.Trusted, named("my.tool")...))
	want(t, "codes", codesOf(s.Diagnostics), []string{"handle_collision"})
	want(t, "handle", lookup(t, s, "my-tool").Source.ID, "a")
	want(t, "full name", lookup(t, s, "my.tool").Source.ID, "b")
}

func TestSelectors(t *testing.T) {
	t.Parallel()
	s := of(t,
		src("user", source.User, source.Trusted, source.Definition{Name: "Größe"}, source.Definition{Name: "plain"},
			source.Definition{Name: "with_id", Metadata: map[string]any{"deft": map[string]any{"id": "pack.tool"}}}),
		source.Namespaced(src("plugin:north", source.PluginK, source.Untrusted, named("extra", "plain")...), "north"),
		source.Namespaced(src("plugin:south", source.PluginK, source.Untrusted, named("both")...), "south"),
		src("ws", source.Project, source.Pending, named("held")...),
	)
	for sel, want := range map[string]string{
		"Größe": "user", "GRÖSSE": "user", "größe": "user", "plain": "user", "pack.tool": "user", "with-id": "user",
		"north:plain": "plugin:north", "extra": "plugin:north", "plain@plugin": "plugin:north", "plain@plugin:north": "plugin:north",
		"user:///plain": "?", "held": "ws", "/plain": "user",
	} {
		r, err := s.Lookup(sel)
		switch {
		case want == "?":
			if err == nil {
				t.Errorf("Lookup(%q) found %s", sel, r.Address)
			}
		case err != nil || r.Source.ID != want:
			t.Errorf("Lookup(%q) = %v, %v; want %s", sel, r, err, want)
		}
	}
	for _, sel := range []string{"", "../plain", "a/../plain", "pl\x00ain", "http://plain", "plain@moon", "/x/plain", ".."} {
		var u *registry.UnknownError
		if r, err := s.Lookup(sel); !errors.As(err, &u) {
			t.Errorf("Lookup(%q) = %v, %v", sel, r, err)
		}
	}
}

func TestSuggestionsNameOnlyWhatAModelMaySee(t *testing.T) {
	t.Parallel()
	hidden := source.Definition{Name: "deploy-all", DisableModelInvocation: true}
	s := of(t, src("user", source.User, source.Trusted, source.Definition{Name: "deploy-app"}, source.Definition{Name: "deploy-api"},
		source.Definition{Name: "deploy-web"}, source.Definition{Name: "deploy-job"}, source.Definition{Name: "review"}, hidden),
		src("ws", source.Project, source.Pending, named("deploy-apt")...))
	_, err := s.LookupForModel("deploy-al")
	var u *registry.UnknownError
	if !errors.As(err, &u) || len(u.Suggestions) != 3 || slices.Contains(u.Suggestions, "deploy-all") || slices.Contains(u.Suggestions, "deploy-apt") {
		t.Errorf("suggestions: %v", err)
	}
	if _, err := s.LookupForModel("deploy-all"); !errors.As(err, &u) || slices.Contains(u.Suggestions, "deploy-all") {
		t.Errorf("a manual skill: %v", err)
	}
	_, err = s.Lookup("zzzzzz")
	if !errors.As(err, &u) || len(u.Suggestions) != 1 {
		t.Errorf("the nearest is not named: %v", err)
	}
}

func TestConditionsHideAndExplainNamesThem(t *testing.T) {
	t.Parallel()
	def := func(name string, m map[string]any) source.Definition {
		return source.Definition{Name: name, Conditions: m}
	}
	s := of(t, src("user", source.User, source.Trusted,
		def("needs", map[string]any{"requires_env": []string{"TOKEN"}}),
		def("wants", map[string]any{"requires_skills": []string{"needs"}}),
		source.Definition{Name: "beta", Metadata: nil}))
	r := lookup(t, s, "needs")
	want(t, "state", r.State, registry.Unmet)
	if r.ForModel() {
		t.Error("an unmet skill is offered")
	}
	why := s.Explain("needs").Reasons[0]
	if why.Code != "unmet" || !strings.Contains(why.Message, "TOKEN") {
		t.Errorf("explain: %+v", why)
	}
	want(t, "its friend", lookup(t, s, "wants").State, registry.Available)
}

func TestEveryReasonHasItsPlaceInTheOrder(t *testing.T) {
	t.Parallel()
	codes := registry.ReasonCodes()
	for _, c := range strings.Fields("winner shadowed duplicate denied off allow_only profile plugin_off source_off manual unlisted beta unmet paths agent_scope region mcp_duplicate untrusted untrusted_shadow yaml header encoding file_special limit case dangling link_outside link_cycle too_deep ignored_directory nested stray stale ambiguous elsewhere root_unreadable incomplete budget unknown") {
		if !slices.Contains(codes, c) {
			t.Errorf("%s has no place", c)
		}
	}
	if slices.Index(codes, "unknown") > slices.Index(codes, "file_special") || codes[len(codes)-1] != "winner" {
		t.Errorf("order: %q", codes)
	}
}

func TestExplainSaysOneReasonForEachKindOfFile(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	put := func(name, text string) {
		if err := os.MkdirAll(filepath.Join(root, name), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(root, name, "SKILL.md"), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	put("broken", "---\nname: broken\ndescription: [x\n---\nB\n")
	put("open", "---\nname: open\n")
	put("bytes", "---\nname: bytes\xff\n---\nB\n")
	put("nul", "---\nname: nul\n---\nB\x00\n")
	put("empty", "")
	put("unlisted", "---\nname: unlisted\ndescription: Hidden one.\nlisted: false\n---\nB\n")
	put("beta", "---\nname: beta\ndescription: New one.\nrequires_beta: moon\n---\nB\n")
	put("big", strings.Repeat("x", 1<<20+1))
	put("fine", "---\nname: fine\ndescription: Works.\n---\nB\n")
	put("outer", "---\nname: outer\ndescription: Works.\n---\nB\n")
	put("outer/assets/private", "---\nname: private\n---\nB\n")
	put("node_modules/dep", "---\nname: dep\n---\nB\n")
	if err := os.Mkdir(filepath.Join(root, "special"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(filepath.Join(root, "special", "SKILL.md"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(root, "SKILL.md"), []byte("x"), 0o644); err != nil {
		t.Fatal(err)
	}
	s := of(t, source.Dir(root, source.DirOptions{}))
	for name, code := range map[string]string{
		"broken": "yaml", "open": "header", "bytes": "encoding", "nul": "encoding", "empty": "header", "unlisted": "unlisted",
		"beta": "beta", "big": "limit", "fine": "winner", "private": "nested", "dep": "ignored_directory", "special": "file_special",
		filepath.Base(root): "stray", "nobody": "unknown",
	} {
		e := s.ExplainWith(t.Context(), name, source.Look)
		if e.Reasons[0].Code != code || e.Reasons[0].Message == "" {
			t.Errorf("%s: %+v, want %s", name, e.Reasons, code)
		}
		if code != "winner" && e.Reasons[0].Fix == "" {
			t.Errorf("%s: no fix in %+v", name, e.Reasons[0])
		}
	}
}

func TestTwoSourcesWithOneIDAreAFault(t *testing.T) {
	t.Parallel()
	_, err := registry.Open(t.Context(), registry.Config{Sources: []source.Source{src("a", source.User, source.Trusted), src("a", source.User, source.Trusted)}})
	if !errors.Is(err, source.ErrContract) {
		t.Errorf("err = %v", err)
	}
}

// brokenSource breaks its contract.
type brokenSource struct{ source.Source }

func (brokenSource) Scan(context.Context, *source.Listing) (*source.Listing, error) { return nil, nil }

func TestASourceThatBreaksItsContractCostsItsOwnSkillsOnly(t *testing.T) {
	t.Parallel()
	s := of(t, brokenSource{src("bad", source.User, source.Trusted, named("x")...)}, src("good", source.User, source.Trusted, named("y")...))
	want(t, "winners", winners(s), []string{"y"})
	want(t, "codes", codesOf(s.Diagnostics), []string{"source_failed"})
	want(t, "complete", s.Complete, false)
}

func TestAgentSkillsProjectWinsWithOneWarning(t *testing.T) {
	t.Parallel()
	top := t.TempDir()
	writeSkill(t, filepath.Join(top, "ws/.agents/skills/a"), "a", "Project.")
	writeSkill(t, filepath.Join(top, "home/.agents/skills/a"), "a", "User.")
	writeSkill(t, filepath.Join(top, "home/.agents/skills/b"), "other", "User.")
	writeSkill(t, filepath.Join(top, "home/.agents/skills/.git/c"), "c", "Never.")
	e := source.Env{Workspace: filepath.Join(top, "ws"), Home: filepath.Join(top, "home"), External: true, OS: "linux", Format: source.Format{Dialect: skill.AgentSkills}}
	roots, _ := source.Roots(t.Context(), e)
	s := snapshot(t, registry.Config{Sources: roots, Dialect: skill.AgentSkills, Trust: registry.ProjectAlways})
	want(t, "winners", winners(s), []string{"a", "other"})
	want(t, "codes", codesOf(s.Diagnostics), []string{"copies_differ"})
	want(t, "description", lookup(t, s, "a").Skill.Description, "Project.")
}

// library is a random set of sources whose names often meet.
func library(t *rapid.T) []source.Source {
	names := []string{"x", "X", "x_y", "x.y", "commit", "соmmit", "deploy"}
	trusts := []source.Trust{source.Trusted, source.Workspace, source.Untrusted, source.Remote, source.Pending, source.Denied}
	var out []source.Source
	for i := range rapid.IntRange(1, 6).Draw(t, "sources") {
		kind := rapid.SampledFrom(source.Kinds()).Draw(t, "kind")
		var defs []source.Definition
		for _, n := range rapid.SliceOfNDistinct(rapid.SampledFrom(names), 0, 5, rapid.ID).Draw(t, "names") {
			defs = append(defs, source.Definition{Name: n, Description: "D.", Content: rapid.SampledFrom([]string{"one", "two", " "}).Draw(t, "text")})
		}
		out = append(out, source.Data(defs, source.DataOptions{Info: source.Info{
			ID: fmt.Sprintf("s%d", i), Kind: kind, Trust: rapid.SampledFrom(trusts).Draw(t, "trust"),
			Nearness: rapid.IntRange(0, 2).Draw(t, "nearness"), Priority: float64(rapid.IntRange(0, 2).Draw(t, "priority")),
		}}))
	}
	return out
}

func TestTheOrderOfSourcesChangesNothing(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(rt *rapid.T) {
		srcs := library(rt)
		a := of(t, srcs...).Dump()
		b := of(t, rapid.Permutation(srcs).Draw(rt, "order")...).Dump()
		if !bytes.Equal(a, b) {
			rt.Fatalf("one:\n%s\nother:\n%s", a, b)
		}
	})
}

func TestNoWithheldOrLessTrustedEntryHasATrustedName(t *testing.T) {
	t.Parallel()
	rank := map[source.Trust]int{source.Trusted: 0, source.Workspace: 1, source.Untrusted: 2, source.Remote: 3}
	rapid.Check(t, func(rt *rapid.T) {
		s := of(t, library(rt)...)
		seen := map[string]bool{}
		for _, r := range s.All {
			if r.Address == "" || seen[r.Address] {
				rt.Fatalf("address %q is empty or twice", r.Address)
			}
			seen[r.Address] = true
			if got, err := s.Lookup(r.Address); err != nil || got != r {
				rt.Fatalf("Lookup(%q) = %v, %v", r.Address, got, err)
			}
		}
		for _, w := range s.Winners {
			if _, known := rank[w.Source.Trust]; !known {
				rt.Fatalf("%s is %s and wins", w.Address, w.Source.Trust)
			}
			if w.Address != w.Skill.Name || w.Source.Trust == source.Workspace {
				continue
			}
			for _, o := range s.All {
				if o.Skill.Valid && o.Skill.Key == w.Skill.Key && rank[o.Source.Trust] < rank[w.Source.Trust] && o.State != registry.Untrusted {
					rt.Fatalf("%s of %s has the name of %s", w.Address, w.Source.ID, o.Source.ID)
				}
			}
		}
	})
}

func FuzzLookup(f *testing.F) {
	for _, s := range []string{"plain", "PLAIN", "plain@user", "@", "a@", "@b", "../x", "builtin:///plain/SKILL.md", "x\x00", "north:plain", "\xff", "./", "plain@/"} {
		f.Add(s)
	}
	s := of(f, src("user", source.User, source.Trusted, named("plain", "Größe", "a@user")...), src("ws", source.Project, source.Pending, named("held", "plain")...))
	f.Fuzz(func(t *testing.T, sel string) {
		r, err := s.Lookup(sel)
		if (r == nil) == (err == nil) {
			t.Fatalf("Lookup(%q) = %v, %v", sel, r, err)
		}
		if m, _ := s.LookupForModel(sel); m != nil && !m.ForModel() {
			t.Fatalf("LookupForModel(%q) gives %s", sel, m.State)
		}
		if e := s.Explain(sel); len(e.Reasons) == 0 {
			t.Fatalf("Explain(%q) says nothing", sel)
		}
	})
}
