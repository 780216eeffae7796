package registry

import "github.com/deftskills/deft/skill"

func unmet(c *skill.Conditions, env skill.Environment) []string { return nil }
