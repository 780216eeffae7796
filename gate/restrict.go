package gate

import (
	"fmt"
	"slices"
	"strings"
)

// alwaysCallable pass any skill's lists: without them no skill could be read or
// ended while another one is active.
var alwaysCallable = [...]string{"skill", "activate_skills", "deactivate_skill", "skill_read"}

// hostSource marks an ActiveSkill that speaks for the host, whose word binds these too.
const hostSource = "host"

// refusal says which active skill refuses the call, "" if none does. Every deny list
// counts, and every restricting allow list must cover the call: which of several
// lists is in force is the session's to say, and it hands over no others.
func refusal(c Call) string {
	for _, s := range c.Skills {
		if s.Source != hostSource && slices.Contains(alwaysCallable[:], c.Tool) {
			continue
		}
		for _, pattern := range s.Deny {
			if matchDeny(pattern, c) {
				return fmt.Sprintf("skill %q disallows %s (rule %q)", s.Name, c.Tool, pattern)
			}
		}
		if s.Mode != Restrict || !s.Allow.Declared || len(s.Allow.Entries) == 0 {
			continue
		}
		if !slices.ContainsFunc(s.Allow.Entries, func(p string) bool { return matchAllow(p, c) }) {
			return fmt.Sprintf("%s is not among the tools of skill %q", c.Tool, s.Name)
		}
	}
	return ""
}

// matchDeny errs on the side of a match: a rule with a specifier refuses the tool.
func matchDeny(pattern string, c Call) bool {
	name, _, _ := strings.Cut(pattern, "(")
	return name == "*" || matchName(name, c.Tool)
}

// matchAllow errs on the other side: a rule with a specifier covers nothing.
func matchAllow(pattern string, c Call) bool {
	name, spec, ok := strings.Cut(pattern, "(")
	return (!ok || spec == "*)") && matchName(name, c.Tool)
}

func matchName(pattern, tool string) bool {
	if prefix, ok := strings.CutSuffix(pattern, "*"); ok {
		return prefix != "" && strings.HasPrefix(tool, prefix)
	}
	return pattern == tool
}
