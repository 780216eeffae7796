package toolset

import (
	"fmt"
	"strings"
	"testing"

	"github.com/deftskills/deft/registry"
	"github.com/deftskills/deft/session"
	"github.com/deftskills/deft/skill"
	"github.com/deftskills/deft/source"
)

// ones is a source of randomness without surprises.
type ones struct{}

func (ones) Read(p []byte) (int, error) {
	for i := range p {
		p[i] = 0x11
	}
	return len(p), nil
}

// TestAnswersAreGolden keeps every answer of the skill tools in every dialect as it is.
func TestAnswersAreGolden(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	write(t, root, map[string]string{
		"plan/SKILL.md": md("plan", "allowed-tools: Read\n", "# Plan\n\nThink first: $ARGUMENTS {{args}}\n"), "plan/references/a.md": "one\ntwo\nthree\n",
		"plan/scripts/run.sh": "echo", "plan/assets/b.bin": "\x00\x01", "plan/templates/t.md": "T", "plan/.env": "KEY", "plan/notes.txt": "N",
		"mine/SKILL.md": md("mine", "disable-model-invocation: true\n", "For the user.\n"), "other/SKILL.md": md("other", "", "Other.\n"),
	})
	searcher := &found{answer: Found{Searched: 3, Hits: []Hit{
		{Address: "plan", Description: "What plan does.", File: "SKILL.md", StartLine: 3, EndLine: 4, Score: 2048, Strength: "strong", Snippet: "Think first"},
		{Address: "other", Description: "What other does.", Score: 512, Strength: "weak"},
	}}}
	var b strings.Builder
	for _, d := range skill.Dialects() {
		for _, o := range []Options{{Dialect: d, Style: StyleBoth, Searcher: searcher}, {Dialect: d, OnDemand: OnDemandOnly, Searcher: searcher}} {
			if o.OnDemand != "" && d != skill.Mastra {
				continue
			}
			fmt.Fprintf(&b, "# %s %s\n\n", d, o.OnDemand)
			answers(t, &b, o, root)
		}
	}
	golden(t, "answers", strings.ReplaceAll(b.String(), root, "/ROOT"))
}

// answers writes what each tool of the options says to the same questions.
func answers(t *testing.T, b *strings.Builder, o Options, root string) {
	t.Helper()
	reg, err := registry.Open(t.Context(), registry.Config{Dialect: o.Dialect, Sources: []source.Source{
		source.Dir(root, source.DirOptions{Info: source.Info{ID: "user", Kind: source.User, Trust: source.Trusted}, Format: source.Format{Dialect: o.Dialect}}),
	}})
	if err != nil {
		t.Fatal(err)
	}
	s, err := session.New(t.Context(), session.Options{ID: "s", Snapshots: reg, Dialect: o.Dialect, Rand: ones{}})
	if err != nil {
		t.Fatal(err)
	}
	turn, err := s.Begin(t.Context(), session.TurnInput{})
	if err != nil {
		t.Fatal(err)
	}
	defer turn.End()
	ask := func(base string, in map[string]any) {
		tool := firstTool(o, base)
		if o.Name(base) == "" || tool == nil {
			return
		}
		said := tool.(interface {
			spelt(map[string]any) map[string]any
		}).spelt(in)
		res := callWith(t, tool, turn, said)
		fmt.Fprintf(b, "## %s %v\n[%s error=%v retry=%s]\n%s\n\n", o.Name(base), said, res.Code, res.IsError, res.Retry, res.Text)
	}
	for _, base := range []string{NameSkill, NameLoadSkill} {
		ask(base, args("name", "plan", "arguments", "it"))
		ask(base, args("name", "plan", "arguments", "it"))
		for _, name := range []string{"plam", "", "../secret", "mine", "plan@nowhere"} {
			ask(base, args("name", name))
		}
	}
	for _, in := range []map[string]any{
		args("path", "references/a.md"), args("path", "references/a.md", "startLine", 2, "endLine", 2), args("path", "references/a.md", "startLine", 9),
		args("path", "references/a.md", "startLine", 3, "endLine", 1), args("path", "assets/b.bin"), args("path", "nope.md"), args("path", "."),
		args("path", ".env"), args("path", "../other/SKILL.md"), args("path", "/etc/hostname"),
	} {
		in["name"] = "plan"
		ask(NameSkillRead, in)
	}
	ask(NameSkillRead, args("name", "nope", "path", "a"))
	ask(NameSkillSearch, args("query", "think", "names", []string{"plan", "mine"}))
	ask(NameSearchSkills, args("query", "think"))
	ask(NameActivate, args("ids", []string{"other", "plam"}))
	ask(NameActivate, args("ids", []string{"other"}, "confirmed", true))
	ask(NameActivate, args("ids", []string{"nope"}))
	ask(NameDeactivate, args("name", "other"))
	ask(NameDeactivate, args("name", "nope"))
}

// spelt writes arguments under the schema's names; those that it has not are left out.
func (s shape) spelt(in map[string]any) map[string]any {
	out := map[string]any{}
	for name, v := range in {
		if said, ok := s.said[name]; ok {
			out[said] = v
		}
	}
	return out
}
