package skill

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestFindUnmet(t *testing.T) {
	t.Parallel()
	env := Environment{
		Vars: NewNameSet("KEY"), Tools: NewNameSet("read", "glass_a"), Toolsets: NewNameSet("docs"),
		Bins: NewNameSet("git"), Servers: NewNameSet("hub"), Skills: NewNameSet("other"), OS: "linux",
	}
	for _, c := range []struct {
		name string
		in   *Conditions
		want []Unmet
	}{
		{"none", nil, nil},
		{"empty lists", &Conditions{RequiresEnv: []string{}, Platforms: []string{}}, nil},
		{"met", &Conditions{
			RequiresEnv: []string{"KEY"}, RequiresTools: []string{"read", "glass_*"}, RequiresToolsets: []string{"docs"},
			FallbackForTools: []string{"write"}, FallbackForToolsets: []string{"web"}, RequiresBins: []string{"git"},
			AnyBins: []string{"x", "git"}, RequiresMCP: []string{"hub"}, RequiresSkills: []string{"other"}, Platforms: []string{"linux"},
		}, nil},
		{"all fail, in order", &Conditions{
			RequiresEnv: []string{"KEY", "A"}, RequiresTools: []string{"nope_*"}, RequiresToolsets: []string{"b"},
			FallbackForTools: []string{"write", "read"}, FallbackForToolsets: []string{"docs"}, RequiresBins: []string{"c"},
			AnyBins: []string{"d", "e"}, RequiresMCP: []string{"f"}, RequiresSkills: []string{"g"}, Platforms: []string{"darwin"},
			Dependencies: &Group{All: []Atom{{Bin: "h"}}},
		}, []Unmet{
			{"requires_env", []string{"A"}},
			{"requires_tools", []string{"nope_*"}},
			{"requires_toolsets", []string{"b"}},
			{"fallback_for_tools", []string{"read"}},
			{"fallback_for_toolsets", []string{"docs"}},
			{"requires_bins", []string{"c"}},
			{"requires_mcp", []string{"f"}},
			{"requires_skills", []string{"g"}},
			{"any_bins", []string{"d", "e"}},
			{"platforms", []string{"darwin"}},
			{"dependencies", []string{"bin h"}},
		}},
		{"names compare exactly", &Conditions{RequiresTools: []string{"Read"}}, []Unmet{{"requires_tools", []string{"Read"}}}},
		{"a star is for tools only", &Conditions{RequiresBins: []string{"g*"}}, []Unmet{{"requires_bins", []string{"g*"}}}},
		{"platforms are folded", &Conditions{Platforms: []string{"macos", "Linux"}}, nil},
		{"only unknown platforms", &Conditions{Platforms: []string{"beos"}}, nil},
		{"always skips all but platforms", &Conditions{Always: true, RequiresEnv: []string{"A"}, Platforms: []string{"windows"}}, []Unmet{{"platforms", []string{"windows"}}}},
		{"groups", &Conditions{Dependencies: &Group{
			All: []Atom{{Skill: "other"}, {Group: &Group{Any: [][]Atom{{{Env: "A"}, {Tool: "read"}}}}}, {OS: "darwin"}},
			Any: [][]Atom{{{Env: "A"}, {MCP: "m"}}},
		}}, []Unmet{{"dependencies", []string{"os darwin", "env A", "mcp m"}}}},
	} {
		if diff := cmp.Diff(c.want, FindUnmet(c.in, env)); diff != "" {
			t.Errorf("%s: %s", c.name, diff)
		}
	}
	if got := FindUnmet(&Conditions{RequiresEnv: []string{"A"}, FallbackForTools: []string{"t"}}, Environment{}); len(got) != 1 || got[0].Code != "requires_env" {
		t.Errorf("an empty environment holds %+v", got)
	}
}

func TestNameSetsWithEqualNamesAreEqual(t *testing.T) {
	t.Parallel()
	a, b := NewNameSet("x", "y", "x"), NewNameSet("y", "x")
	if a.Digest() != b.Digest() || a.Digest() == NewNameSet("xy").Digest() || !a.Has("x") || a.Has("z") {
		t.Error("sets differ")
	}
	var none *NameSet
	if none.Has("x") || none.HasPrefix("") || none.List() != nil {
		t.Error("a nil set holds something")
	}
}
