package gate

import (
	"fmt"
	"path/filepath"

	"github.com/deftskills/deft/internal/toolrule"
)

// hostSource marks an ActiveSkill that speaks for the host: its word binds the tools
// that steer skills too.
const hostSource = "host"

// refusal says which active skill refuses the call, "" if none does. Every deny list
// counts, and every restricting allow list must cover the call: which of several
// lists is in force is the session's to say, and it hands over no others. With
// anyArgs the question is whether the tool could be called at all.
func (e *engine) refusal(c Call, anyArgs bool) string {
	if len(c.Skills) == 0 {
		return ""
	}
	subject := toolrule.Describe(c.Tool, c.Args, c.Dir, e.o.Paths.Home, func(p string) string {
		return filepath.ToSlash(e.o.Paths.resolved(filepath.FromSlash(p)))
	})
	if e.o.Paths.Workspace != "" {
		subject.Dir = filepath.ToSlash(e.o.Paths.Workspace)
	}
	tool, _ := e.o.Tools.Tool(c.Tool)
	steers := tool.Steers || toolrule.AlwaysCallable(c.Tool)
	for _, s := range c.Skills {
		if s.Source != hostSource && steers {
			continue
		}
		deny := toolrule.ParseList(s.Deny)
		rule, refused := deny.Denies(subject)
		if anyArgs {
			refused = deny.DeniesTool(c.Tool)
		}
		if refused {
			return fmt.Sprintf("skill %q disallows %s (rule %q)", s.Name, c.Tool, rule)
		}
		if s.Mode != Restrict || !s.Allow.Declared || len(s.Allow.Entries) == 0 {
			continue
		}
		allow := toolrule.ParseList(s.Allow.Entries)
		_, covered := allow.Covers(subject)
		if anyArgs {
			covered = allow.Mentions(c.Tool)
		}
		if !covered {
			return fmt.Sprintf("%s is not among the tools of skill %q", c.Tool, s.Name)
		}
	}
	return ""
}
