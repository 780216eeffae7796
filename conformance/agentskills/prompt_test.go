package agentskills

import (
	"context"
	"path/filepath"
	"strings"
	"testing"

	"github.com/deftskills/deft/catalog"
	"github.com/deftskills/deft/registry"
	"github.com/deftskills/deft/skill"
	"github.com/deftskills/deft/source"
)

// prompt renders skills as the standard's block; each is a directory name and a file.
func prompt(t *testing.T, skills ...[2]string) string {
	t.Helper()
	snap := &registry.Snapshot{Complete: true}
	for _, s := range skills {
		dir := "/home/me/.agents/skills/" + s[0]
		r := &registry.Record{
			Entry: &source.Entry{
				Skill:    skill.Parse([]byte(s[1]), skill.ParseOptions{DirName: s[0]}),
				Source:   source.Info{ID: "user", Kind: source.User, Trust: source.Trusted},
				Location: "file://" + filepath.ToSlash(dir) + "/SKILL.md",
				Dir:      dir, RealDir: dir,
			},
			State: registry.Available,
		}
		r.Address = r.Skill.Name
		snap.Winners = append(snap.Winners, r)
		snap.All = append(snap.All, r)
	}
	c, err := catalog.New(catalog.Config{}).Render(context.Background(), catalog.Input{Snapshot: snap, Dialect: skill.AgentSkills})
	if err != nil {
		t.Fatal(err)
	}
	return strings.TrimSuffix(c.Stable.Text, "\n")
}

func holdsAll(t *testing.T, text string, parts ...string) {
	t.Helper()
	for _, p := range parts {
		if !strings.Contains(text, p) {
			t.Errorf("%q is missing in\n%s", p, text)
		}
	}
}

func TestPromptEmptyList(t *testing.T) {
	t.Parallel()
	if got := prompt(t); got != "<available_skills>\n</available_skills>" {
		t.Errorf("%q", got)
	}
}

func TestPromptOneSkill(t *testing.T) {
	t.Parallel()
	got := prompt(t, [2]string{"my-skill", header("name: my-skill", "description: A test skill")})
	holdsAll(t, got, "<name>\nmy-skill\n</name>", "<description>\nA test skill\n</description>", "<location>\n", "SKILL.md\n</location>")
}

func TestPromptTwoSkills(t *testing.T) {
	t.Parallel()
	got := prompt(t, [2]string{"skill-a", named("skill-a")}, [2]string{"skill-b", named("skill-b")})
	holdsAll(t, got, "skill-a", "skill-b")
	if n := strings.Count(got, "<skill>"); n != 2 || strings.Count(got, "</skill>") != 2 {
		t.Errorf("%d elements in\n%s", n, got)
	}
}

func TestPromptSpecialCharactersEscaped(t *testing.T) {
	t.Parallel()
	got := prompt(t, [2]string{"a", header("name: a", "description: Use <foo> & <bar>")})
	holdsAll(t, got, "&lt;foo&gt; &amp; &lt;bar&gt;")
	if strings.Contains(got, "<foo>") {
		t.Error(got)
	}
}

func TestEdgePromptEscapesQuotes(t *testing.T) {
	t.Parallel()
	got := prompt(t, [2]string{"a", header(`name: a"b'c`, `description: Say "yes" or 'no'.`)})
	holdsAll(t, got, "a&quot;b&#x27;c", "Say &quot;yes&quot; or &#x27;no&#x27;.")
}

func TestEdgePromptLocationNotEscaped(t *testing.T) {
	t.Parallel()
	got := prompt(t, [2]string{"a&b", named("a")})
	holdsAll(t, got, "<location>\n/home/me/.agents/skills/a&b/SKILL.md\n</location>")
}

func TestEdgePromptOneLineATag(t *testing.T) {
	t.Parallel()
	got := prompt(t, [2]string{"a", header("name: a", "description: d")})
	want := "<available_skills>\n<skill>\n<name>\na\n</name>\n<description>\nd\n</description>\n" +
		"<location>\n/home/me/.agents/skills/a/SKILL.md\n</location>\n</skill>\n</available_skills>"
	if got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}
