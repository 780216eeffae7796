package skill

import "github.com/deftskills/deft/internal/packed"

// AppendBinary appends a compact form of s that Decode turns back into an equal Skill.
// It is for a cache that the same build reads again: the form has no version of its
// own, and a new field changes it.
func AppendBinary(dst []byte, s *Skill) []byte {
	c := codec{Codec: packed.Writer(dst)}
	copied := *s // the walk below takes pointers; writing changes nothing
	c.skill(&copied)
	return c.Bytes()
}

// Decode reads one Skill from the start of src and returns what follows it. The
// Skill's texts are cut out of src, which is so kept alive. ok is false for bytes
// that AppendBinary did not write; it never panics.
func Decode(src string) (s *Skill, rest string, ok bool) {
	s = new(Skill)
	rest, ok = DecodeInto(s, src)
	return s, rest, ok
}

// DecodeInto is Decode into s, which is zero, so that many skills share one block of
// memory.
func DecodeInto(s *Skill, src string) (rest string, ok bool) {
	c := codec{Codec: packed.Reader(src)}
	c.skill(s)
	return c.Rest(), !c.Bad
}

// codec walks a Skill in either direction.
type codec struct {
	packed.Codec
	depth int
}

func (c *codec) skill(s *Skill) {
	c.Text(&s.Name)
	c.Like(&s.Key, s.Name)
	c.Like(&s.Handle, s.Name)
	c.Like(&s.Title, s.Name)
	c.Text(&s.Description)
	c.meta(&s.Meta)
	c.Flag(&s.Valid)
	for _, n := range [...]*int64{&s.Header.Start, &s.Header.End, &s.Body.Start, &s.Body.End, &s.Size} {
		c.Number(n)
	}
	c.Text((*string)(&s.File))
	c.Like((*string)(&s.Digest), string(s.File))
	packed.List(&c.Codec, &s.Diagnostics, c.diagnostic)
	c.Text(&s.header)
	c.Integer(&s.headerLine)
	c.Text((*string)(&s.from))
	packed.Table(&c.Codec, &s.sides, func(o *Origin) {
		c.Text(&o.File)
		c.Text(&o.Key)
		c.Integer(&o.Line)
	})
}

func (c *codec) diagnostic(d *Diagnostic) {
	for _, t := range [...]*string{&d.Code, (*string)(&d.Level), &d.File, &d.Message, &d.Fix} {
		c.Text(t)
	}
	c.Integer(&d.Line)
	c.Integer(&d.Column)
	c.Number(&d.Offset)
}

func (c *codec) meta(m *Meta) {
	c.Sparse(
		(*string)(&m.ID), &m.Kind, &m.DisplayName, &m.WhenToUse, &m.License, &m.Compatibility, &m.Version, &m.RequiresBeta,
		&m.ArgumentHint, &m.Scope, &m.Model, &m.Effort, &m.Context, &m.Agent, &m.OnError, &m.Group,
	)
	c.Flags(
		&m.DisableModelInvocation, &m.Retired, &m.UserInvocable, &m.Listed, &m.DefaultEnabled, &m.Background,
		&m.OneShot, &m.HasShell, &m.HasHooks, &m.Internal, &m.AllowedTools.Declared, &m.DisallowedTools.Declared,
	)
	priority := int64(m.Priority)
	c.Number(&priority)
	m.Priority = uint8(priority)
	c.SparseTexts(
		&m.AllowedTools.Entries, &m.DisallowedTools.Entries, &m.Paths, &m.Tags, &m.ModeSlugs, &m.ToolNames, &m.Secrets,
	)
	more := m.Arguments != nil || m.Routing != nil || m.Conditions != nil || m.DisplayNames != nil || m.Descriptions != nil
	if c.Flag(&more); more {
		c.rare(m)
	}
}

// rare walks the fields of m that few skills have.
func (c *codec) rare(m *Meta) {
	packed.List(&c.Codec, &m.Arguments, func(a *Argument) {
		c.Text(&a.Name)
		c.Text(&a.Description)
		c.Flag(&a.Required)
		c.Text(&a.Default)
	})
	packed.Optional(&c.Codec, &m.Routing, func(r *Routing) {
		for _, l := range [...]*[]string{&r.Keywords, &r.NegativeKeywords, &r.Stages, &r.AssetClasses, &r.SignalSources, &r.CoActivate} {
			c.Texts(l)
		}
	})
	packed.Optional(&c.Codec, &m.Conditions, c.conditions)
	packed.Table(&c.Codec, &m.DisplayNames, c.Text)
	packed.Table(&c.Codec, &m.Descriptions, c.Text)
}

func (c *codec) conditions(x *Conditions) {
	for _, l := range [...]*[]string{
		&x.RequiresEnv, &x.RequiresTools, &x.RequiresToolsets, &x.FallbackForTools, &x.FallbackForToolsets,
		&x.RequiresBins, &x.AnyBins, &x.RequiresMCP, &x.RequiresSkills, &x.Platforms,
	} {
		c.Texts(l)
	}
	c.Flag(&x.Always)
	packed.Optional(&c.Codec, &x.Dependencies, c.group)
}

// groupDepth is far beyond what a header's own depth limit lets through.
const groupDepth = 256

func (c *codec) group(g *Group) {
	if c.depth++; c.depth > groupDepth {
		c.Bad = true
		return
	}
	packed.List(&c.Codec, &g.All, c.atom)
	packed.List(&c.Codec, &g.Any, func(l *[]Atom) { packed.List(&c.Codec, l, c.atom) })
	c.depth--
}

func (c *codec) atom(a *Atom) {
	for _, t := range [...]*string{&a.Skill, &a.Tool, &a.Bin, &a.Env, &a.MCP, &a.OS, &a.Version, &a.Source} {
		c.Text(t)
	}
	packed.Optional(&c.Codec, &a.Group, c.group)
}
