package skill

import (
	"slices"
	"strings"
)

// Unmet is one condition that does not hold: the name of the list it stands in
// ("requires_env", "platforms", "dependencies", …) and the names that fail. Values of
// variables never appear.
type Unmet struct {
	Code  string
	Names []string
}

// FindUnmet returns the conditions of c that env does not meet, in the order of the
// documentation; nil means that all hold. A nil c always holds. Names compare exactly;
// in requires_tools a trailing "*" asks for at least one tool with that start. It is a
// pure function.
func FindUnmet(c *Conditions, env Environment) []Unmet {
	if c == nil {
		return nil
	}
	var out []Unmet
	fail := func(code string, names []string) {
		if len(names) > 0 {
			out = append(out, Unmet{code, names})
		}
	}
	if !c.Always {
		fail("requires_env", missing(env.Vars, c.RequiresEnv))
		fail("requires_tools", missingTools(env.Tools, c.RequiresTools))
		fail("requires_toolsets", missing(env.Toolsets, c.RequiresToolsets))
		fail("fallback_for_tools", present(env.Tools, c.FallbackForTools))
		fail("fallback_for_toolsets", present(env.Toolsets, c.FallbackForToolsets))
		fail("requires_bins", missing(env.Bins, c.RequiresBins))
		fail("requires_mcp", missing(env.Servers, c.RequiresMCP))
		fail("requires_skills", missing(env.Skills, c.RequiresSkills))
		if absent := missing(env.Bins, c.AnyBins); len(absent) == len(c.AnyBins) {
			fail("any_bins", absent)
		}
	}
	fail("platforms", wrongPlatform(env.OS, c.Platforms))
	if !c.Always {
		fail("dependencies", failingGroup(c.Dependencies, env, 0))
	}
	return out
}

func has(set Names, name string) bool { return set != nil && set.Has(name) }

// hasVersion asks for a name in a range of versions. What is not known of a version says
// nothing against it.
func hasVersion(set Names, name, in string) bool {
	if !has(set, name) {
		return false
	}
	versions, ok := set.(VersionNames)
	if in == "" || !ok {
		return true
	}
	version, known := versions.Version(name)
	r, err := ParseRange(in)
	return !known || err == nil && r.Holds(version)
}

func hasTool(set Names, name string) bool {
	prefix, pattern := strings.CutSuffix(name, "*")
	if !pattern {
		return has(set, name)
	}
	p, ok := set.(PrefixNames)
	return ok && p.HasPrefix(prefix)
}

func missing(set Names, names []string) []string {
	var out []string
	for _, n := range names {
		if !has(set, n) {
			out = append(out, n)
		}
	}
	return out
}

func missingTools(set Names, names []string) []string {
	var out []string
	for _, n := range names {
		if !hasTool(set, n) {
			out = append(out, n)
		}
	}
	return out
}

func present(set Names, names []string) []string {
	var out []string
	for _, n := range names {
		if has(set, n) {
			out = append(out, n)
		}
	}
	return out
}

// wrongPlatform returns the list when it knows at least one platform and goos is none
// of them: a list of nothing but typing errors must not lose a skill.
func wrongPlatform(goos string, platforms []string) []string {
	known := false
	goos, _ = FoldPlatform(goos)
	for _, p := range platforms {
		name, ok := FoldPlatform(p)
		known = known || ok
		if name == goos {
			return nil
		}
	}
	if !known {
		return nil
	}
	return slices.Clone(platforms)
}

// failingGroup returns the atoms for which a group does not hold.
func failingGroup(g *Group, env Environment, depth int) []string {
	if g == nil || depth > dependencyDepth {
		return nil
	}
	var out []string
	for _, a := range g.All {
		out = append(out, failingAtom(a, env, depth)...)
	}
	for _, alternative := range g.Any {
		var failing []string
		for _, a := range alternative {
			bad := failingAtom(a, env, depth)
			if len(bad) == 0 {
				failing = nil
				break
			}
			failing = append(failing, bad...)
		}
		out = append(out, failing...)
	}
	return out
}

func failingAtom(a Atom, env Environment, depth int) []string {
	met, name := true, ""
	switch {
	case a.Group != nil:
		return failingGroup(a.Group, env, depth+1)
	case a.Skill != "":
		met, name = hasVersion(env.Skills, a.Skill, a.Version), strings.TrimSpace("skill "+a.Skill+" "+a.Version)
	case a.Tool != "":
		met, name = hasTool(env.Tools, a.Tool), "tool "+a.Tool
	case a.Bin != "":
		met, name = hasVersion(env.Bins, a.Bin, a.Version), strings.TrimSpace("bin "+a.Bin+" "+a.Version)
	case a.Env != "":
		met, name = has(env.Vars, a.Env), "env "+a.Env
	case a.MCP != "":
		met, name = has(env.Servers, a.MCP), "mcp "+a.MCP
	case a.OS != "":
		met, name = len(wrongPlatform(env.OS, []string{a.OS})) == 0, "os "+a.OS
	}
	if met {
		return nil
	}
	return []string{name}
}

// Fix says what a person can do about u, lower case and without a full stop.
func (u Unmet) Fix() string {
	names := strings.Join(u.Names, ", ")
	switch u.Code {
	case "requires_env":
		return "set " + names + " in the environment, or bind it in your own configuration"
	case "requires_tools":
		return "run it where there is the tool " + names
	case "requires_toolsets":
		return "turn on the toolset " + names
	case "fallback_for_tools", "fallback_for_toolsets":
		return "use " + names + ", which is there"
	case "requires_bins":
		return "install " + names
	case "any_bins":
		return "install one of " + names
	case "requires_mcp":
		return "configure the MCP server " + names
	case "requires_skills":
		return "install the skill " + names
	case "platforms":
		return "use it on " + names
	}
	fixes := make([]string, 0, len(u.Names))
	for _, n := range u.Names {
		fixes = append(fixes, fixOfAtom(n))
	}
	return strings.Join(fixes, "; ")
}

// fixOfAtom is what to do about one atom, as failingAtom names it.
func fixOfAtom(atom string) string {
	kind, name, _ := strings.Cut(atom, " ")
	code := map[string]string{
		"skill": "requires_skills", "tool": "requires_tools", "bin": "requires_bins", "env": "requires_env",
		"mcp": "requires_mcp", "os": "platforms",
	}[kind]
	if code == "" {
		return "provide " + atom
	}
	return Unmet{code, []string{name}}.Fix()
}

// Each is one for every atom of dependencies, so that each is told with its own fix; other
// conditions stay as they are.
func (u Unmet) Each() []Unmet {
	if u.Code != "dependencies" {
		return []Unmet{u}
	}
	out := make([]Unmet, 0, len(u.Names))
	for _, n := range u.Names {
		out = append(out, Unmet{u.Code, []string{n}})
	}
	return out
}
