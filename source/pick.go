package source

import (
	"strings"

	"github.com/deftskills/deft/skill"
)

// SkillFile is the canonical name of a skill's file.
const SkillFile = "SKILL.md"

// PickSkillFile chooses the skill file among the names of one directory: exact
// SKILL.md, else the bytewise first of its case variants (dialect agentskills knows
// skill.md only, others none). others are the variants that are not read. It is the one rule for
// discovery, installing, linting and packing; picked is "" when there is none.
func PickSkillFile(names []string, d skill.Dialect) (picked string, others []string) {
	for _, n := range names {
		if !strings.EqualFold(n, SkillFile) {
			continue
		}
		if n != SkillFile && (ruleOf(d).exact || d == skill.AgentSkills && n != "skill.md") {
			others = append(others, n)
			continue
		}
		switch {
		case picked == "":
			picked = n
		case n < picked: // upper case sorts first, so SKILL.md beats every variant
			picked, others = n, append(others, picked)
		default:
			others = append(others, n)
		}
	}
	return picked, others
}
