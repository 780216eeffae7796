package agentskills

import (
	"strings"
	"testing"
	"testing/fstest"

	"github.com/deftskills/deft/skill"
)

func TestValidatorValidSkill(t *testing.T) {
	t.Parallel()
	passes(t, folder("my-skill", fstest.MapFS{"SKILL.md": file(named("my-skill"))}))
}

func TestValidatorPathMissing(t *testing.T) {
	t.Parallel()
	failsOnce(t, skill.ValidateDir(fstest.MapFS{}, "nope", "", skill.ProfileAgentskills), "Path does not exist: nope")
}

func TestValidatorPathIsAFile(t *testing.T) {
	t.Parallel()
	fsys := fstest.MapFS{"test.txt": file("x")}
	failsOnce(t, skill.ValidateDir(fsys, "test.txt", "/tmp/test.txt", skill.ProfileAgentskills), "Not a directory: /tmp/test.txt")
}

func TestValidatorSkillFileMissing(t *testing.T) {
	t.Parallel()
	failsOnce(t, folder("my-skill", nil), "Missing required file: SKILL.md")
}

func TestValidatorUppercaseName(t *testing.T) {
	t.Parallel()
	failsOnce(t, verdict("MySkill", named("MySkill")), "Skill name 'MySkill' must be lowercase")
}

func TestValidatorNameTooLong(t *testing.T) {
	t.Parallel()
	name := strings.Repeat("a", 70)
	failsOnce(t, verdict(name, named(name)), "exceeds 64 character limit (70 chars)")
}

func TestValidatorLeadingHyphen(t *testing.T) {
	t.Parallel()
	failsOnce(t, verdict("-my-skill", named("-my-skill")), "Skill name cannot start or end with a hyphen")
}

func TestValidatorDoubledHyphen(t *testing.T) {
	t.Parallel()
	failsOnce(t, verdict("my--skill", named("my--skill")), "Skill name cannot contain consecutive hyphens")
}

func TestValidatorUnderscore(t *testing.T) {
	t.Parallel()
	failsOnce(t, verdict("my_skill", named("my_skill")),
		"Skill name 'my_skill' contains invalid characters. Only letters, digits, and hyphens are allowed.")
}

func TestValidatorDirectoryDiffers(t *testing.T) {
	t.Parallel()
	failsOnce(t, verdict("wrong-name", named("correct-name")),
		"Directory name 'wrong-name' must match skill name 'correct-name'")
}

func TestValidatorUnknownField(t *testing.T) {
	t.Parallel()
	failsOnce(t, verdict("x", header("name: x", "description: d", "unknown_field: x")),
		"Unexpected fields in frontmatter: unknown_field. Only ['allowed-tools', 'compatibility', "+
			"'description', 'license', 'metadata', 'name'] are allowed.")
}

func TestValidatorAllOptionalFields(t *testing.T) {
	t.Parallel()
	passes(t, verdict("x", header("name: x", "description: d", "license: MIT", "metadata:", "  author: A",
		"allowed-tools: Read", "compatibility: Requires git")))
}

func TestValidatorAllowedToolsAccepted(t *testing.T) {
	t.Parallel()
	passes(t, verdict("x", header("name: x", "description: d", "allowed-tools: Bash(jq:*) Bash(git:*)")))
}

func TestValidatorChineseName(t *testing.T) {
	t.Parallel()
	passes(t, verdict("技能", named("技能")))
}

func TestValidatorCyrillicNameWithHyphen(t *testing.T) {
	t.Parallel()
	passes(t, verdict("мой-навык", named("мой-навык")))
}

func TestValidatorCyrillicLowercase(t *testing.T) {
	t.Parallel()
	passes(t, verdict("навык", named("навык")))
}

func TestValidatorCyrillicUppercase(t *testing.T) {
	t.Parallel()
	failsOnce(t, verdict("НАВЫК", named("НАВЫК")), "lowercase")
}

func TestValidatorDescriptionTooLong(t *testing.T) {
	t.Parallel()
	failsOnce(t, verdict("x", header("name: x", "description: "+strings.Repeat("x", 1100))),
		"Description exceeds 1024 character limit (1100 chars)")
}

func TestValidatorCompatibilityAccepted(t *testing.T) {
	t.Parallel()
	passes(t, verdict("x", header("name: x", "description: d", "compatibility: Requires Python 3.11+")))
}

func TestValidatorCompatibilityTooLong(t *testing.T) {
	t.Parallel()
	failsOnce(t, verdict("x", header("name: x", "description: d", "compatibility: "+strings.Repeat("x", 550))),
		"Compatibility exceeds 500 character limit (550 chars)")
}

func TestValidatorNfkcOnBothSides(t *testing.T) {
	t.Parallel()
	composed, decomposed := "caf\u00e9", "cafe\u0301"
	passes(t, verdict(composed, named(decomposed)))
	passes(t, verdict(decomposed, named(composed)))
}
