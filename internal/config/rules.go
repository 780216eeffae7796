package config

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"
)

// ToolRule is one rule for tools as it is written, such as "Bash(git log:*)".
type ToolRule struct {
	Rule string `json:"rule"`
	From From   `json:"from"`
	Root string `json:"-"` // what its relative paths count from; "" = the workspace
}

// Permissions are the rules for tools: permissions.
type Permissions struct {
	Allow     []ToolRule
	Ask       []ToolRule
	Deny      []ToolRule
	DenyModel []ToolRule // Skill(NAME) alone: a person may start the skill, a model may not
}

// TierRule sets or raises the tier of a tool.
type TierRule struct {
	Tool   string `json:"tool"`
	Tier   string `json:"tier"`
	Reason string `json:"reason"`
	From   From   `json:"from"`
}

// Policy is how tools are judged beside the rules: policy.
type Policy struct {
	Raise         []TierRule
	TierOverrides []TierRule          // of managed and user files; lower ones need a reason
	Programs      map[string][]string // absolute paths that are a program of that name
	StrictStages  bool
}

// tierNames are the tiers as a file spells them.
var tierNames = []string{"READ_ONLY", "CONFIRM_ONCE", "ALWAYS_CONFIRM", "MANUAL_ONLY"}

// ruleKeys are the keys about tools that every file may hold. Rules of several files add
// up: none takes the place of another's.
func (l *loader) ruleKeys() table {
	p, more := &l.config.Permissions, &l.config.Policy
	policy := table{
		"raise": func(key string, _, v *yaml.Node) {
			l.mapping(v, key+".", func() table {
				return table{"*": func(key string, k, v *yaml.Node) { l.raise(&more.Raise, key, k, v) }}
			})
		},
	}
	if l.level != Project {
		policy["tier_overrides"] = func(key string, _, v *yaml.Node) {
			l.mapping(v, key+".", func() table {
				return table{"*": func(key string, k, v *yaml.Node) { l.override(&more.TierOverrides, key, k, v) }}
			})
		}
		policy["programs"] = l.programs
		policy["strict_stage"] = l.boolean(&more.StrictStages)
	}
	sub := func(keys table) setter {
		return func(key string, _, v *yaml.Node) { l.mapping(v, key+".", func() table { return keys }) }
	}
	return table{
		"permissions": sub(table{
			"allow": l.toolRules(&p.Allow), "ask": l.toolRules(&p.Ask),
			"deny": l.toolRules(&p.Deny), "deny_model": l.toolRules(&p.DenyModel),
		}),
		"policy": sub(policy),
	}
}

// strictKeys are what of the file of a folder that nobody trusts is read: what forbids,
// asks, and raises. The rest is passed over.
func (l *loader) strictKeys() table {
	over := setter(func(string, *yaml.Node, *yaml.Node) {})
	p := &l.config.Permissions
	sub := func(keys table) setter {
		return func(key string, _, v *yaml.Node) {
			l.mapping(v, key+".", func() table { return l.with(keys, table{"*": over}) })
		}
	}
	return table{
		"permissions": sub(table{
			"ask": l.toolRules(&p.Ask), "deny": l.toolRules(&p.Deny), "deny_model": l.toolRules(&p.DenyModel),
		}),
		"policy": func(key string, _, v *yaml.Node) {
			l.mapping(v, key+".", func() table {
				return table{"*": over, "raise": func(key string, _, v *yaml.Node) {
					l.mapping(v, key+".", func() table {
						return table{"*": func(key string, k, v *yaml.Node) { l.raise(&l.config.Policy.Raise, key, k, v) }}
					})
				}}
			})
		},
		"*": over,
	}
}

// toolRules adds a list of rules, or one alone. What is no text stays as a rule that
// nobody can read, which denies where it stands under deny: it must not vanish.
func (l *loader) toolRules(into *[]ToolRule) setter {
	return func(key string, _, v *yaml.Node) {
		nodes := []*yaml.Node{v}
		if v.Kind == yaml.SequenceNode {
			nodes = v.Content
		} else if v.Kind == yaml.ScalarNode && v.Tag == "!!null" {
			return
		}
		for i, n := range nodes {
			r := ToolRule{Rule: strings.TrimSpace(n.Value), From: l.from(n)}
			if n.Kind != yaml.ScalarNode {
				l.bad(n, fmt.Sprintf("%s[%d] is %s, not a rule", key, i, describe(n)), "write a rule, as in Bash(git log:*)")
				r.Rule = ""
			}
			if l.level == Project {
				r.Root = filepath.Dir(filepath.Dir(l.path)) // the folder that holds .deft
			}
			*into = append(*into, r)
		}
		l.config.Mark(key, l.from(v))
	}
}

// raise takes TOOL: TIER, or TOOL: {tier, reason}.
func (l *loader) raise(into *[]TierRule, key string, k, v *yaml.Node) {
	r := TierRule{Tool: k.Value, From: l.from(k)}
	if v.Kind == yaml.ScalarNode {
		l.tier(&r.Tier)(key, k, v)
	} else {
		l.mapping(v, key+".", func() table {
			return table{"tier": l.tier(&r.Tier), "reason": l.text(&r.Reason, named, "a reason")}
		})
	}
	if r.Tier == "" {
		r.Tier = "MANUAL_ONLY" // somebody wanted more care, and nobody knows how much
	}
	*into = append(*into, r)
	l.config.Mark("policy.raise", l.from(k))
}

// override takes TOOL: {tier, reason}.
func (l *loader) override(into *[]TierRule, key string, k, v *yaml.Node) {
	r := TierRule{Tool: k.Value, From: l.from(k)}
	l.mapping(v, key+".", func() table {
		return table{"tier": l.tier(&r.Tier), "reason": l.text(&r.Reason, named, "a reason")}
	})
	if r.Tier == "" || r.Reason == "" {
		l.bad(v, key+" has no tier or no reason; the tool's own tier stays", "write {tier: TIER, reason: WHY}")
		return
	}
	*into = append(*into, r)
	l.config.Mark("policy.tier_overrides", l.from(k))
}

func (l *loader) tier(into *string) setter {
	return func(key string, _, v *yaml.Node) {
		tier := strings.ToUpper(v.Value)
		if v.Kind != yaml.ScalarNode || !slices.Contains(tierNames, tier) {
			l.bad(v, fmt.Sprintf("%s is %s, not a tier", key, describe(v)), "write "+strings.Join(tierNames, ", "))
			return
		}
		*into = tier
	}
}

// programs takes NAME: PATH or NAME: [PATH, …]; paths are absolute.
func (l *loader) programs(key string, _, v *yaml.Node) {
	l.mapping(v, key+".", func() table {
		return table{"*": func(key string, k, v *yaml.Node) {
			var paths []string
			l.list(&paths, filepath.IsAbs, "an absolute path")(key, k, v)
			if l.config.Policy.Programs == nil {
				l.config.Policy.Programs = map[string][]string{}
			}
			l.config.Policy.Programs[k.Value] = append(l.config.Policy.Programs[k.Value], paths...)
		}}
	})
	l.config.Mark(key, l.from(v))
}

// ruleSettings lists the keys about tools.
func (c *Config) ruleSettings() []Setting {
	programs := c.Policy.Programs
	if programs == nil {
		programs = map[string][]string{}
	}
	return []Setting{
		{Key: "permissions.allow", Value: orEmpty(c.Permissions.Allow)},
		{Key: "permissions.ask", Value: orEmpty(c.Permissions.Ask)},
		{Key: "permissions.deny", Value: orEmpty(c.Permissions.Deny)},
		{Key: "permissions.deny_model", Value: orEmpty(c.Permissions.DenyModel)},
		{Key: "policy.raise", Value: orEmpty(c.Policy.Raise)},
		{Key: "policy.tier_overrides", Value: orEmpty(c.Policy.TierOverrides)},
		{Key: "policy.programs", Value: programs},
		{Key: "policy.strict_stage", Value: c.Policy.StrictStages},
	}
}
