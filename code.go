package deft

import (
	"context"
	"slices"
	"strings"

	"github.com/deftskills/deft/command"
	"github.com/deftskills/deft/registry"
	"github.com/deftskills/deft/session"
	"github.com/deftskills/deft/skill"
	"github.com/deftskills/deft/source"
)

// Code is what of a skill is more than text: what a person grants, and is shown first.
type Code struct {
	Tree    skill.Digest // of every file; the grant is for exactly this
	Files   int          // how many files the tree has
	Tools   []string     // that its header asks to allow
	Hooks   skill.Digest // of the hooks in its header; "" = none
	Inline  []string     // commands that its text asks to run while it is loaded
	Listing skill.Tree   // every file; for Options.Trees
	Scripts []string     // paths of files that can be run: executable, or below scripts/
	Wants   []string     // variables that its commands are given, where a person bound them
	// HookList are the hooks that can be read, in either form, whatever the dialect.
	HookList []command.Hook
}

// Nothing reports whether the skill is text alone.
func (c Code) Nothing() bool {
	return len(c.Tools) == 0 && len(c.Wants) == 0 && c.Hooks == "" && len(c.Inline) == 0 && len(c.Scripts) == 0
}

// InlineDigest identifies the inline commands, in their order; "" = there are none.
func (c Code) InlineDigest() skill.Digest {
	if len(c.Inline) == 0 {
		return ""
	}
	return skill.FileDigest([]byte(strings.Join(c.Inline, "\n")))
}

// Code reads every file of a skill and tells what of it is code.
func (e *Engine) Code(ctx context.Context, r *registry.Record) (Code, error) {
	tree, files, err := source.Tree(ctx, r.Entry)
	if err != nil {
		return Code{}, err
	}
	loaded, err := source.Load(ctx, r.Entry)
	if err != nil {
		return Code{}, err
	}
	m := &loaded.Skill.Meta
	c := Code{Tree: tree, Files: len(files), Listing: files, Tools: slices.Clone(m.AllowedTools.Entries), Inline: e.inline(loaded.Body), Wants: registry.Wants(m)}
	if m.HasHooks {
		c.Hooks = hooksOf(loaded.Skill)
		c.HookList, _ = session.Hooks(loaded.Skill, skill.Deft)
	}
	for _, f := range files {
		if f.Exec || strings.HasPrefix(f.Path, "scripts/") {
			c.Scripts = append(c.Scripts, f.Path)
		}
	}
	return c, nil
}

// inline returns the commands that a body asks to have run, as written.
func (e *Engine) inline(body string) (out []string) {
	for _, c := range command.Scan(body, command.ScanOptions{Dialect: e.o.Dialect}) {
		out = append(out, c.Text)
	}
	return out
}

// hooksOf identifies the lines of the hooks; where they stand below another key, the
// whole header.
func hooksOf(s *skill.Skill) skill.Digest {
	text, first := s.HeaderText()
	if n := s.Raw().Get("hooks"); n != nil {
		lines := strings.Split(text, "\n")
		from, to := max(n.Line-first, 0), min(n.EndLine-first+1, len(lines))
		if from < to {
			text = strings.Join(lines[from:to], "\n")
		}
	}
	return skill.FileDigest([]byte(text))
}
