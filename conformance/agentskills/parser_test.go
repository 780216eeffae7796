package agentskills

import (
	"strings"
	"testing"
	"testing/fstest"

	"github.com/deftskills/deft/skill"
)

func TestParserValidHeaderAndBody(t *testing.T) {
	t.Parallel()
	r := verdict("my-skill", "---\nname: my-skill\ndescription: A test skill\n---\n\n# My Skill\n\nInstructions here.\n\n")
	passes(t, r)
	p := r.Properties
	if p.Name != "my-skill" || p.Description != "A test skill" || p.Body != "# My Skill\n\nInstructions here." {
		t.Errorf("%+v", p)
	}
}

func TestParserNoHeader(t *testing.T) {
	t.Parallel()
	failsOnce(t, verdict("x", "# No frontmatter here"), "must start with YAML frontmatter")
}

func TestParserHeaderNeverClosed(t *testing.T) {
	t.Parallel()
	failsOnce(t, verdict("x", "---\nname: x\n"), "not properly closed")
}

func TestParserInvalidYaml(t *testing.T) {
	t.Parallel()
	failsOnce(t, verdict("x", "---\nname: [invalid\ndescription: here\n---\nBody\n"), "Invalid YAML")
}

func TestParserHeaderIsAList(t *testing.T) {
	t.Parallel()
	failsOnce(t, verdict("x", "---\n- just\n- a list\n---\nBody\n"), "must be a YAML mapping")
}

func TestParserReadsFullDirectory(t *testing.T) {
	t.Parallel()
	p, err := skill.ReadProperties(fstest.MapFS{
		"my-skill/SKILL.md": file(header("name: my-skill", "description: A test skill", "license: MIT")),
	}, "my-skill", "")
	if err != nil || p.Name != "my-skill" || p.Description != "A test skill" || p.License == nil || *p.License != "MIT" {
		t.Errorf("%+v, %v", p, err)
	}
}

func TestParserMetadataValuesAreStrings(t *testing.T) {
	t.Parallel()
	r := verdict("x", header("name: x", "description: d", "metadata:", "  author: Test Author", "  version: 1.0"))
	passes(t, r)
	if m := r.Properties.Metadata; m["author"] != "Test Author" || m["version"] != "1.0" {
		t.Errorf("%q", m)
	}
}

func TestParserDirectoryWithoutSkillFile(t *testing.T) {
	t.Parallel()
	_, err := skill.ReadProperties(fstest.MapFS{"my-skill/other.md": file("")}, "my-skill", "")
	if err == nil || !strings.Contains(err.Error(), "SKILL.md not found") {
		t.Error(err)
	}
}

func propertiesFail(t *testing.T, text, want string) {
	t.Helper()
	_, err := skill.ReadProperties(fstest.MapFS{"s/SKILL.md": file(text)}, "s", "")
	if err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("%v, want %q", err, want)
	}
	fails(t, verdict("s", text), want)
}

func TestParserNameMissing(t *testing.T) {
	t.Parallel()
	propertiesFail(t, header("description: A test skill"), "Missing required field in frontmatter: name")
}

func TestParserDescriptionMissing(t *testing.T) {
	t.Parallel()
	propertiesFail(t, header("name: s"), "Missing required field in frontmatter: description")
}

func TestParserUppercaseFilePreferred(t *testing.T) {
	t.Parallel()
	r := folder("a", fstest.MapFS{"SKILL.md": file(named("a")), "skill.md": file("broken")})
	passes(t, r)
	if r.Path != "a/SKILL.md" {
		t.Error(r.Path)
	}
}

func TestParserLowercaseFileAccepted(t *testing.T) {
	t.Parallel()
	r := folder("a", fstest.MapFS{"skill.md": file(named("a"))})
	passes(t, r)
	if r.Path != "a/skill.md" {
		t.Error(r.Path)
	}
}

func TestParserNeitherFile(t *testing.T) {
	t.Parallel()
	failsOnce(t, folder("a", nil), "Missing required file: SKILL.md")
}

func TestParserPropertiesFromLowercaseFile(t *testing.T) {
	t.Parallel()
	p, err := skill.ReadProperties(fstest.MapFS{"a/skill.md": file(named("a"))}, "a", "")
	if err != nil || p.Name != "a" || p.Description != "Says what it does." {
		t.Errorf("%+v, %v", p, err)
	}
}

func TestParserAllowedToolsKeptWhole(t *testing.T) {
	t.Parallel()
	r := verdict("x", header("name: x", "description: d", "allowed-tools: Bash(jq:*) Bash(git:*)"))
	passes(t, r)
	if got := asJSON(t, r.Properties); got != `{"name":"x","description":"d","allowed-tools":"Bash(jq:*) Bash(git:*)"}` {
		t.Error(got)
	}
}
