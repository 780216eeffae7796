package registry_test

import (
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/deftskills/deft/registry"
	"github.com/deftskills/deft/source"
)

func rules(patterns ...string) []registry.Rule {
	list := []registry.Rule{}
	for i, p := range patterns {
		list = append(list, registry.Rule{Pattern: p, File: "config.yaml", Line: i + 1})
	}
	return list
}

func switched(t testing.TB, w registry.Switches, srcs ...source.Source) *registry.Snapshot {
	t.Helper()
	return snapshot(t, registry.Config{Sources: srcs, Decider: registry.Decisions{Switches: w}})
}

func TestTheFirstLayerThatSpeaksDecides(t *testing.T) {
	t.Parallel()
	profile := func(in, out []registry.Rule) []registry.Profile {
		return []registry.Profile{{Name: "work", Include: in, Exclude: out}}
	}
	saved := func(s registry.Switch) []registry.Saved { return []registry.Saved{{Name: "Surf", Switch: s}} }
	for name, c := range map[string]struct {
		w    registry.Switches
		want string // code of the reason; "" = on
	}{
		"nobody decided":                  {registry.Switches{}, ""},
		"the host's denial":               {registry.Switches{HostDeny: rules("surf"), ProjectEnable: rules("surf"), Profile: profile(rules("surf"), nil)}, "denied"},
		"a user's denial, any spelling":   {registry.Switches{Deny: rules("SURF"), ProjectEnable: rules("surf"), Saved: saved(registry.SwitchOn)}, "denied"},
		"a saved denial":                  {registry.Switches{Saved: saved(registry.SwitchDeny), ProjectEnable: rules("surf")}, "denied"},
		"a project's denial":              {registry.Switches{ProjectDeny: rules("s*f"), Enable: rules("surf"), Profile: profile(rules("surf"), nil)}, "denied"},
		"not on the project's list":       {registry.Switches{AllowOnly: rules("lint"), ProjectEnable: rules("surf")}, "allow_only"},
		"an empty list allows nothing":    {registry.Switches{AllowOnly: rules()}, "allow_only"},
		"on the project's list":           {registry.Switches{AllowOnly: rules("surf")}, ""},
		"excluded by the profile":         {registry.Switches{Profile: profile(rules("surf"), rules("surf")), ProjectEnable: rules("surf")}, "profile"},
		"not included by the profile":     {registry.Switches{Profile: profile(rules("lint"), nil), ProjectEnable: rules("surf")}, "profile"},
		"a profile lifts default off":     {registry.Switches{Profile: profile(rules("surf"), nil), DefaultOff: rules("surf")}, ""},
		"a profile that only excludes":    {registry.Switches{Profile: profile(nil, rules("lint")), DefaultOff: rules("surf")}, "off"},
		"a project lifts default off":     {registry.Switches{ProjectEnable: rules("surf"), DefaultOff: rules("surf")}, ""},
		"off by default in the project":   {registry.Switches{ProjectDefaultOff: rules("surf"), Enable: rules("surf")}, "off"},
		"default off":                     {registry.Switches{DefaultOff: rules("su*")}, "off"},
		"enable beside default off":       {registry.Switches{DefaultOff: rules("*"), Enable: rules("surf")}, ""},
		"switched off":                    {registry.Switches{Saved: saved(registry.SwitchOff), Enable: rules("surf")}, "off"},
		"switched on":                     {registry.Switches{Saved: saved(registry.SwitchOn), DefaultOff: rules("surf")}, ""},
		"the source's switch goes before": {registry.Switches{Saved: append(saved(registry.SwitchOff), registry.Saved{Name: "surf", Source: "user", Switch: registry.SwitchOn})}, ""},
		"another source's switch":         {registry.Switches{Saved: []registry.Saved{{Name: "surf", Source: "other", Switch: registry.SwitchOff}}}, ""},
		"by kind":                         {registry.Switches{DefaultOff: rules("surf@user")}, "off"},
		"by another kind":                 {registry.Switches{DefaultOff: rules("surf@project")}, ""},
		"all of a source":                 {registry.Switches{DefaultOff: rules("*@us?r")}, "off"},
		"a glob that cannot be read":      {registry.Switches{DefaultOff: rules("[su")}, ""},
		"a path that climbs":              {registry.Switches{DefaultOff: rules("../surf")}, ""},
	} {
		s := switched(t, c.w, src("user", source.User, source.Trusted, named("surf", "lint")...))
		r := lookup(t, s, "surf")
		got := ""
		if len(r.Reasons) > 0 {
			got = r.Reasons[0].Code
		}
		state := registry.Available
		if c.want != "" {
			state = registry.Disabled
		}
		if got != c.want || r.State != state {
			t.Errorf("%s: %s, reason %q, want %q", name, r.State, got, c.want)
		}
		if e := s.Explain("surf"); c.want != "" && (e.Reasons[0].Code != c.want || e.Reasons[0].Fix == "" || e.Reasons[0].Path == "" || e.Winner != nil) {
			t.Errorf("%s: explain says %+v", name, e)
		}
		if slices.Contains(winners(s), "surf") != (c.want == "") || r.ForModel() != (c.want == "") {
			t.Errorf("%s: winners %q", name, winners(s))
		}
	}
}

func TestProfilesBelowAreJudgedOneLevelAtATime(t *testing.T) {
	t.Parallel()
	all := map[string]registry.Profile{
		"team":  {Include: rules("lint", "surf"), Exclude: rules("poetry")},
		"mine":  {Extends: "team", Include: rules("poetry"), Exclude: rules("surf")},
		"loop":  {Extends: "pool"},
		"pool":  {Extends: "loop"},
		"self":  {Extends: "self"},
		"orfan": {Extends: "gone"},
	}
	chain, err := registry.Chain("mine", all)
	if err != nil {
		t.Fatal(err)
	}
	s := switched(t, registry.Switches{Profile: chain}, src("user", source.User, source.Trusted, named("surf", "lint", "poetry", "other")...))
	want(t, "on", winners(s), []string{"lint", "poetry"})
	for name, cycle := range map[string]bool{"loop": true, "self": true, "orfan": false, "absent": false} {
		_, err := registry.Chain(name, all)
		if e, ok := err.(*registry.ProfileError); !ok || e.Cycle != cycle {
			t.Errorf("%s: %v", name, err)
		}
	}
	if chain, err := registry.Chain("", all); chain != nil || err != nil {
		t.Errorf("no profile: %v %v", chain, err)
	}
}

func TestUnknownNamesAreReportedWhereSkillsAreLetIn(t *testing.T) {
	t.Parallel()
	s := switched(t, registry.Switches{
		Deny: rules("gone-too"), DefaultOff: rules("gone-3"), AllowOnly: rules("surf", "gone"), Enable: rules("gone-4"), ProjectEnable: rules("no-*"),
		Profile: []registry.Profile{{Name: "p", Include: rules("surf", "gone-5"), Exclude: rules("gone-6")}},
	}, src("user", source.User, source.Trusted, named("surf")...))
	var got []string
	for _, d := range at(t, s.Diagnostics, "switch_unknown") {
		got = append(got, strings.Split(d.Message, `"`)[1])
		if d.Line == 0 || d.Fix == "" {
			t.Errorf("unlocated: %+v", d)
		}
	}
	slices.Sort(got)
	want(t, "reported", got, []string{"gone", "gone-4", "gone-5", "no-*"})
	s = switched(t, registry.Switches{Deny: rules("[su")}, src("user", source.User, source.Trusted, named("surf")...))
	want(t, "a denial that cannot be read", len(at(t, s.Diagnostics, "switch_unknown")), 1)
}

func TestSwitchingOffTheWinnerBringsTheNext(t *testing.T) {
	t.Parallel()
	s := switched(t, registry.Switches{Saved: []registry.Saved{{Name: "x", Source: "ws", Switch: registry.SwitchOff}}},
		src("ws", source.Project, source.Workspace, named("x")...), src("user", source.User, source.Trusted, named("x")...))
	want(t, "winner", lookup(t, s, "x").Source.ID, "user")
	off := lookup(t, s, "x@ws")
	want(t, "the other", off.State, registry.Disabled)
	e := s.Explain("x")
	want(t, "primary", e.Reasons[0].Code, "winner")
	want(t, "second candidate", e.Candidates[1].Reason.Code, "off")
}

func TestADeniedNameIsNobodys(t *testing.T) {
	t.Parallel()
	s := switched(t, registry.Switches{Deny: rules("x")},
		src("ws", source.Project, source.Workspace, named("X")...), src("user", source.User, source.Trusted, named("x", "y")...),
		source.Namespaced(src("plugin:p", source.PluginK, source.Untrusted, named("x")...), "p"))
	want(t, "winners", winners(s), []string{"y"})
	if _, err := s.LookupForModel("x"); err == nil {
		t.Error("a model finds it")
	}
	if got := s.Suggest("x"); slices.Contains(got, "x") {
		t.Errorf("suggested: %q", got)
	}
}

func TestDecisionsAreAskedForAtEachRefresh(t *testing.T) {
	t.Parallel()
	d := &changing{}
	r, err := registry.Open(t.Context(), registry.Config{Decider: d, Sources: []source.Source{src("user", source.User, source.Trusted, named("surf", "lint")...)}})
	if err != nil {
		t.Fatal(err)
	}
	before := r.Snapshot()
	d.now = registry.Decisions{Switches: registry.Switches{Deny: rules("surf")}}
	s, err := r.Refresh(t.Context(), registry.RefreshOptions{})
	if err != nil {
		t.Fatal(err)
	}
	want(t, "after", winners(s), []string{"lint"})
	want(t, "the old one is unchanged", winners(before), []string{"lint", "surf"})
	want(t, "version", s.Version, before.Version+1)
	d.now = registry.Decisions{}
	if s, err = r.Refresh(t.Context(), registry.RefreshOptions{}); err != nil {
		t.Fatal(err)
	}
	want(t, "back", string(s.Dump()), string(before.Dump()))
}

func TestAGrantedSkillThatAsksForMoreIsWithheldAgain(t *testing.T) {
	t.Parallel()
	def := func(tools ...string) source.Definition { return source.Definition{Name: "x", AllowedTools: tools} }
	grant := func(tools ...string) []registry.Grant {
		return []registry.Grant{{Name: "x", Source: "ws", Tools: tools}}
	}
	for name, c := range map[string]struct {
		trust source.Trust
		tools []string
		given []registry.Grant
		state registry.State
	}{
		"equal":                       {source.Workspace, []string{"read"}, grant("read", "list"), registry.Available},
		"grown":                       {source.Workspace, []string{"read", "bash"}, grant("read"), registry.Untrusted},
		"one of two grants covers it": {source.Workspace, []string{"read", "bash"}, append(grant("read"), grant("bash", "read")...), registry.Available},
		"never granted":               {source.Workspace, []string{"bash"}, nil, registry.Available},
		"trusted by its kind":         {source.Trusted, []string{"bash"}, grant("read"), registry.Available},
	} {
		s := snapshot(t, registry.Config{
			Decider: registry.Decisions{Grants: c.given},
			Sources: []source.Source{src("ws", source.Project, c.trust, def(c.tools...), source.Definition{Name: "other"})},
		})
		r := lookup(t, s, "x")
		if r.State != c.state || c.state == registry.Untrusted && !strings.Contains(r.Reasons[0].Message, "bash") {
			t.Errorf("%s: %s %+v", name, r.State, r.Reasons)
		}
		want(t, name+": its neighbour", lookup(t, s, "other").State, registry.Available)
	}
}

// No layer lifts a denial, and a skill that is off is never offered under any name.
func TestNothingLiftsADenial(t *testing.T) {
	t.Parallel()
	names := []string{"a", "b", "ab", "c"}
	draw := rapid.SliceOfN(rapid.SampledFrom([]string{"a", "B", "a*", "*", "c", "ab@user", "x", "b@ws"}), 0, 3)
	rapid.Check(t, func(rt *rapid.T) {
		list := func(name string) []registry.Rule { return rules(draw.Draw(rt, name)...) }
		w := registry.Switches{
			HostDeny: list("host"), Deny: list("deny"), ProjectDeny: list("project"), ProjectEnable: list("penable"),
			Enable: list("enable"), DefaultOff: list("off"),
			Profile: []registry.Profile{{Name: "p", Include: list("in"), Exclude: list("out")}},
		}
		if rapid.Bool().Draw(rt, "allow") {
			w.AllowOnly = list("only")
		}
		srcs := []source.Source{src("ws", source.Project, source.Workspace, named(names...)...), src("user", source.User, source.Trusted, named(names...)...)}
		s := switched(t, w, srcs...)
		alone := switched(t, registry.Switches{Deny: slices.Concat(w.HostDeny, w.Deny, w.ProjectDeny)}, srcs...)
		for i, r := range s.All {
			denied := alone.All[i].State == registry.Disabled
			if denied != (r.State == registry.Disabled && r.Reasons[0].Code == "denied") {
				rt.Fatalf("%s: denied %v, state %s %+v", r.Location, denied, r.State, r.Reasons)
			}
		}
		for _, r := range s.Winners {
			if r.State == registry.Disabled {
				rt.Fatalf("%s is off and wins", r.Address)
			}
		}
	})
}
