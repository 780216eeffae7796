package skill

import (
	"slices"
	"strings"
	"testing"
)

// FuzzConditions reads conditions from a sidecar and judges them in an environment that
// has every name with an even number of bytes. The judge must agree with one that looks
// at each list by hand, and must name nothing that is not declared.
func FuzzConditions(f *testing.F) {
	f.Add([]byte(`{"conditions": {"requires_env": ["KEY", "K"], "platforms": ["macos", "beos"], "any_bins": "a b"}, "requires_env": ["OTHER"]}`))
	f.Add([]byte(`{"conditions": {"requires_tools": ["glassnode_*", "x"], "fallback_for_tools": ["ab"], "requires_skills": [1, true]}}`))
	f.Add([]byte(`{"dependencies": {"all": [{"skill": "a"}, {"any": [[{"os": "linux"}], [{"bin": "bb"}]]}], "any": [[{"tool": "t*"}]]}}`))
	f.Add([]byte(`{"conditions": [], "dependencies": {"all": {}}, "requires_env": {"a": 1}}`))
	f.Fuzz(func(t *testing.T, sidecar []byte) {
		src := []byte("---\nname: a\ndescription: Does a.\n---\nBody.\n")
		s := Parse(src, ParseOptions{DirName: "a", Sidecars: map[string][]byte{SidecarConfig: sidecar}})
		if !s.Valid {
			t.Fatalf("a sidecar makes the skill invalid: %+v", s.Diagnostics)
		}
		c := s.Meta.Conditions
		env := Environment{Vars: even{}, Tools: even{}, Toolsets: even{}, Bins: even{}, Servers: even{}, Skills: even{}, OS: "linux"}
		got := FindUnmet(c, env)
		if c == nil {
			if got != nil {
				t.Fatalf("no conditions, but %v", got)
			}
			return
		}
		last := -1
		for _, u := range got {
			at := slices.Index(conditionOrder, u.Code)
			if at <= last || len(u.Names) == 0 {
				t.Fatalf("%q stands out of order in %v", u.Code, got)
			}
			last = at
		}
		for _, l := range conditionLists(c) {
			if slices.Contains(*l.list, "") {
				t.Errorf("%s holds an empty name: %q", l.name, *l.list)
			}
			if want, is := byHand(l.name, *l.list), namesOf(got, l.name); !slices.Equal(want, is) && !c.Always {
				t.Errorf("%s of %q: %q fail, by hand %q", l.name, *l.list, is, want)
			}
		}
		for _, p := range c.Platforms {
			if goos, ok := FoldPlatform(p); !ok || goos != p {
				t.Errorf("platform %q is kept", p)
			}
		}
		if fails := len(namesOf(got, "platforms")) > 0; fails != (len(c.Platforms) > 0 && !slices.Contains(c.Platforms, "linux")) {
			t.Errorf("platforms %q: fails %v", c.Platforms, fails)
		}
	})
}

// conditionOrder is the order in which failures are told.
var conditionOrder = []string{
	"requires_env", "requires_tools", "requires_toolsets", "fallback_for_tools", "fallback_for_toolsets",
	"requires_bins", "requires_mcp", "requires_skills", "any_bins", "platforms", "dependencies",
}

// even is the set of the names with an even number of bytes.
type even struct{}

func (even) Has(name string) bool    { return len(name)%2 == 0 }
func (even) HasPrefix(p string) bool { return true }
func (even) Digest() [32]byte        { return [32]byte{2} }

func namesOf(list []Unmet, code string) []string {
	for _, u := range list {
		if u.Code == code {
			return u.Names
		}
	}
	return nil
}

// byHand is what fails of one list.
func byHand(code string, names []string) (out []string) {
	for _, n := range names {
		there := len(n)%2 == 0
		if code == "requires_tools" && strings.HasSuffix(n, "*") {
			there = true
		}
		if there == strings.HasPrefix(code, "fallback_") {
			out = append(out, n)
		}
	}
	if code == "any_bins" && len(out) < len(names) {
		return nil
	}
	return out
}
