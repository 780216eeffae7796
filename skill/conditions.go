package skill

import (
	"fmt"
	"slices"
	"strings"
)

// conditions unites the hard gates of every place that may hold them.
func (b *builder) conditions(m *Meta) {
	b.routing(m)
	c := &b.conds
	subs := b.subs(keyConditions)
	lists := conditionLists(c)
	for _, l := range lists {
		*l.list = b.subList(subs, "conditions", l.name)
	}
	if len(subs) > 0 {
		names := []string{"platforms"}
		for _, l := range lists {
			names = append(names, l.name)
		}
		b.known(subs, names...)
	}
	c.RequiresEnv = union(c.RequiresEnv, b.list(keyRequiresEnv, plainList))
	b.platforms(c, subs)
	c.Dependencies = b.dependencies()
	if metadata := b.top.keys[keyMetadata].value; metadata != nil {
		b.foreignBlocks(m, c, metadata)
	}
	b.requiredVariables(c)
	b.openAI(m, c)
	if !emptyConditions(c) {
		kept := *c
		m.Conditions = &kept
	}
}

type conditionList struct {
	name string
	list *[]string
}

// conditionLists names the lists of c in the order in which failures are reported.
func conditionLists(c *Conditions) []conditionList {
	return []conditionList{
		{"requires_env", &c.RequiresEnv},
		{"requires_tools", &c.RequiresTools},
		{"requires_toolsets", &c.RequiresToolsets},
		{"fallback_for_tools", &c.FallbackForTools},
		{"fallback_for_toolsets", &c.FallbackForToolsets},
		{"requires_bins", &c.RequiresBins},
		{"requires_mcp", &c.RequiresMCP},
		{"requires_skills", &c.RequiresSkills},
		{"any_bins", &c.AnyBins},
	}
}

func emptyConditions(c *Conditions) bool {
	for _, l := range conditionLists(c) {
		if len(*l.list) > 0 {
			return false
		}
	}
	return len(c.Platforms) == 0 && !c.Always && c.Dependencies == nil
}

func union(a, more []string) []string {
	for _, s := range more {
		if !slices.Contains(a, s) {
			a = append(a, s)
		}
	}
	return a
}

// platformNames are the systems that Go builds for and that a skill may name.
var platformNames = []string{
	"aix", "android", "darwin", "dragonfly", "freebsd", "illumos", "ios", "js", "linux",
	"netbsd", "openbsd", "plan9", "solaris", "wasip1", "windows",
}

// FoldPlatform returns the Go name of a platform; ok is false for an unknown one.
func FoldPlatform(name string) (goos string, ok bool) {
	name = strings.ToLower(strings.TrimSpace(name))
	switch name {
	case "macos", "osx", "mac":
		name = "darwin"
	case "win32", "windows_nt", "win":
		name = "windows"
	}
	return name, slices.Contains(platformNames, name)
}

// platforms reads the top-level list and the one below conditions. Unknown names are
// left out, so that a list of nothing but typing errors hides the skill nowhere.
func (b *builder) platforms(c *Conditions, subs []sub) {
	m, bl := b.pickSub(subs, "conditions.platforms", "platforms")
	if m.key != nil {
		c.Platforms = b.foldPlatforms(m, bl, c.Platforms)
	}
	if m, bl = b.pick(keyPlatforms); m.key != nil {
		c.Platforms = b.foldPlatforms(m, bl, c.Platforms)
	}
}

func (b *builder) foldPlatforms(m member, bl *block, have []string) []string {
	for _, p := range b.listOf(m, bl, plainList) {
		goos, ok := FoldPlatform(p)
		if !ok {
			d := b.note("value_enum", bl, m.value, "platform %q is unknown", clip(p, 60))
			d.Fix = "one of darwin, linux, windows"
			continue
		}
		have = union(have, []string{goos})
	}
	return have
}

const dependencyDepth = 4

func (b *builder) dependencies() *Group {
	m, bl := b.pick(keyDependencies)
	if m.value.IsNull() {
		return nil
	}
	return b.group(m, bl, 1)
}

func (b *builder) group(m member, bl *block, depth int) *Group {
	if m.value.Kind != MappingNode {
		b.mismatch(m, bl, "a mapping of all and any")
		return nil
	}
	if depth > dependencyDepth {
		b.outOfRange(bl, m.value, 1, dependencyDepth, "dependencies nest more than %d levels", dependencyDepth)
		return nil
	}
	g := &Group{}
	for i := range m.value.Len() {
		k, v := m.value.Pair(i)
		switch {
		case k.Value == "all" && v.Kind == SequenceNode:
			g.All = b.atoms(member{k, v}, bl, depth)
		case k.Value == "any" && v.Kind == SequenceNode:
			for _, alternative := range v.Content {
				if alternative.Kind == SequenceNode {
					g.Any = append(g.Any, b.atoms(member{k, alternative}, bl, depth))
				} else {
					b.mismatch(member{k, alternative}, bl, "a list of lists")
				}
			}
		case k.Value == "all" || k.Value == "any":
			b.mismatch(member{k, v}, bl, "a list")
		default:
			d := b.note("key_unknown", bl, k, "key %q is unknown and kept", bl.prefix+m.key.Value+"."+clip(k.Value, 60))
			d.Level = LevelWarning
		}
	}
	return g
}

func (b *builder) atoms(m member, bl *block, depth int) []Atom {
	out := []Atom{}
	for _, item := range m.value.Content {
		if item.Kind != MappingNode {
			b.mismatch(member{m.key, item}, bl, "a map with one of skill, tool, bin, env, mcp, os")
			continue
		}
		if item.Get("all") != nil || item.Get("any") != nil {
			if g := b.group(member{m.key, item}, bl, depth+1); g != nil {
				out = append(out, Atom{Group: g})
			}
			continue
		}
		text := func(key string) string {
			s, _ := item.Get(key).Text()
			return strings.TrimSpace(s)
		}
		a := Atom{
			Skill: text("skill"), Tool: text("tool"), Bin: text("bin"), Env: text("env"), MCP: text("mcp"), OS: text("os"),
			Version: text("version"), Source: text("source"),
		}
		if countSet(a.Skill, a.Tool, a.Bin, a.Env, a.MCP, a.OS) != 1 {
			b.mismatch(member{m.key, item}, bl, "exactly one of skill, tool, bin, env, mcp, os")
			continue
		}
		if _, err := ParseRange(a.Version); err != nil {
			b.mismatch(member{m.key, item}, bl, "a version as ^1.2 or >=1 <3")
			a.Version = ""
		}
		if a.OS != "" {
			a.OS, _ = FoldPlatform(a.OS)
		}
		out = append(out, a)
	}
	return out
}

func countSet(texts ...string) int {
	n := 0
	for _, t := range texts {
		if t != "" {
			n++
		}
	}
	return n
}

// foreignBlocks reads what other hosts keep below metadata.
func (b *builder) foreignBlocks(m *Meta, c *Conditions, metadata *Node) {
	if secrets, _ := find(metadata, "requires-env"); secrets.key != nil {
		m.Secrets = b.listOf(secrets, &b.top, plainList)
	}
	if field, _ := find(metadata, "one-shot"); field.key != nil && !b.declared(keyOneShot) {
		m.OneShot = b.booleanOf(field, &b.top, false, false)
	}
	if field, _ := find(metadata, "internal"); field.key != nil {
		m.Internal = b.booleanOf(field, &b.top, false, false)
		m.Listed = m.Listed && !m.Internal
	}
	if field, _ := find(metadata, "openclaw"); field.key != nil {
		b.openClaw(c, field)
	}
	if hermes := metadata.Get("hermes"); hermes != nil && unfold(hermes).Kind == MappingNode {
		hermes = unfold(hermes)
		bl := b.top
		bl.prefix = "metadata.hermes."
		read := func(printed string) []string {
			field, _ := find(hermes, printed)
			if field.key == nil {
				return nil
			}
			return b.listOf(field, &bl, plainList)
		}
		c.RequiresTools = union(c.RequiresTools, read("requires_tools"))
		c.RequiresToolsets = union(c.RequiresToolsets, read("requires_toolsets"))
		c.FallbackForTools = union(c.FallbackForTools, read("fallback_for_tools"))
		c.FallbackForToolsets = union(c.FallbackForToolsets, read("fallback_for_toolsets"))
		m.Tags = union(m.Tags, read("tags"))
		m.Group, _ = hermes.Get("category").Text()
	}
}

// openClaw reads metadata.openclaw, a map or its JSON as text.
func (b *builder) openClaw(c *Conditions, field member) {
	claw := unfold(field.value)
	if claw.Kind != MappingNode {
		b.mismatch(field, &b.top, "a mapping")
		return
	}
	bl := b.top
	bl.prefix = "metadata.openclaw."
	read := func(in *Node, printed string) []string {
		found, _ := find(in, printed)
		if found.key == nil {
			return nil
		}
		return b.listOf(found, &bl, plainList)
	}
	requires := claw.Get("requires")
	c.RequiresBins = union(c.RequiresBins, read(requires, "bins"))
	c.AnyBins = union(c.AnyBins, read(requires, "anyBins"))
	c.RequiresEnv = union(c.RequiresEnv, read(requires, "env"))
	if os, _ := find(claw, "os"); os.key != nil {
		c.Platforms = b.foldPlatforms(os, &bl, c.Platforms)
	}
	always, _ := find(claw, "always")
	c.Always = b.booleanOf(always, &bl, false, false)
}

// requiredVariables reads two top-level keys of another host.
func (b *builder) requiredVariables(c *Conditions) {
	if m, bl := b.pick(keyRequiredVariables); !m.value.IsNull() {
		if m.value.Kind != SequenceNode {
			b.mismatch(m, bl, "a list")
		} else {
			for _, item := range m.value.Content {
				name, ok := item.Text()
				if !ok {
					name, _ = item.Get("name").Text()
				}
				if name = strings.TrimSpace(name); name != "" {
					c.RequiresEnv = union(c.RequiresEnv, []string{name})
				}
			}
		}
	}
	if m, bl := b.pick(keyPrerequisites); !m.value.IsNull() {
		if m.value.Kind != MappingNode {
			b.mismatch(m, bl, "a mapping")
			return
		}
		if vars, _ := find(m.value, "env_vars"); vars.key != nil {
			c.RequiresEnv = union(c.RequiresEnv, b.listOf(vars, bl, plainList))
		}
		if commands, _ := find(m.value, "commands"); commands.key != nil {
			c.RequiresBins = union(c.RequiresBins, b.listOf(commands, bl, plainList))
		}
	}
}

// openAI reads agents/openai.yaml. A file that cannot be read costs nothing but a
// warning: it is another host's.
func (b *builder) openAI(m *Meta, c *Conditions) {
	src, ok := b.o.Sidecars[SidecarOpenAI]
	if !ok {
		return
	}
	file := beside(b.o.Path, SidecarOpenAI)
	if int64(len(src)) > b.limits.Sidecar {
		b.badSidecar(file, 1, 1, fmt.Sprintf("file has %d bytes, the limit is %d", len(src), b.limits.Sidecar))
		return
	}
	if code, _, reason := badByte(src); code != "" {
		b.badSidecar(file, 1, 1, reason)
		return
	}
	h := headerText{text: NormaliseBody(strings.TrimPrefix(string(src), bomBytes)), first: 1, limits: b.limits}
	root, _, why := h.tree()
	if why != nil {
		b.badSidecar(file, why.line, why.column, why.message)
		return
	}
	bl := &block{file: file, origin: SidecarOpenAI, place: inDeft}
	if name, ok := root.Path("interface", "display_name").Text(); ok {
		b.shown = strings.TrimSpace(name)
		if m.DisplayName == "" {
			m.DisplayName = b.shown
		}
	}
	if allow := root.Path("policy", "allow_implicit_invocation"); allow != nil {
		key := &Node{Value: "policy.allow_implicit_invocation", Line: allow.Line, Column: allow.Column}
		if !b.booleanOf(member{key, allow}, bl, true, false) {
			m.DisableModelInvocation = true
			b.remember(keyTable[keyDisableModelInvocation].printed, member{key, allow}, bl)
		}
	}
	tools := root.Path("dependencies", "tools")
	if tools == nil || tools.Kind != SequenceNode {
		return
	}
	for _, t := range tools.Content {
		value, ok := t.Get("value").Text()
		if !ok {
			continue
		}
		if kind, _ := t.Get("type").Text(); kind == "mcp" {
			c.RequiresMCP = union(c.RequiresMCP, []string{value})
		} else {
			c.RequiresTools = union(c.RequiresTools, []string{value})
		}
	}
}
