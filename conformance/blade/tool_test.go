package blade

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/deftskills/deft"
	"github.com/deftskills/deft/internal/suitetest"
	"github.com/deftskills/deft/registry"
	"github.com/deftskills/deft/session"
	"github.com/deftskills/deft/toolset"
)

// desk is a session over a registry, with the dialect's tool.
type desk struct {
	t    *testing.T
	r    *registry.Registry
	s    *session.Session
	turn *session.Turn
	last toolset.Result
}

func (d *desk) Snapshot() *registry.Snapshot { return d.r.Snapshot() }

func deskOf(t *testing.T, r *registry.Registry) *desk {
	t.Helper()
	d := &desk{t: t, r: r}
	var err error
	if d.s, err = session.New(t.Context(), session.Options{Snapshots: d, Dialect: dialect}); err != nil {
		t.Fatal(err)
	}
	if d.turn, err = d.s.Begin(t.Context(), session.TurnInput{}); err != nil {
		t.Fatal(err)
	}
	return d
}

// own is a desk over a project with one skill x, its header lines and its body.
func own(t *testing.T, body string, lines ...string) (d *desk, dir string) {
	t.Helper()
	p := project(t)
	dir = filepath.Join(p, "skills", "x")
	put(t, filepath.Join(dir, "SKILL.md"), "---\nname: x\ndescription: d\n"+strings.Join(append(lines, ""), "\n")+"---\n\n"+body+"\n\n")
	return deskOf(t, local(t, p)), dir
}

func tool() toolset.Tool { return toolset.Skills(toolset.Options{Dialect: dialect})[0] }

func (d *desk) load(name, args string) string {
	d.t.Helper()
	in := map[string]string{"skill": name}
	if args != "" {
		in["args"] = args
	}
	raw, err := json.Marshal(in)
	if err != nil {
		d.t.Fatal(err)
	}
	if d.last, err = tool().Call(d.t.Context(), toolset.Call{Input: raw, Turn: d.turn}); err != nil {
		d.t.Fatal(err)
	}
	return d.last.Text
}

// body is what stands between the two rules.
func (d *desk) body(args string) string {
	d.t.Helper()
	parts := strings.Split(d.load("x", args), "\n\n---\n\n")
	if len(parts) != 3 {
		d.t.Fatalf("%d parts: %q", len(parts), d.last.Text)
	}
	return parts[1]
}

// shown is the description of the tool in a turn of an engine over a project.
func shown(t *testing.T, p string) string {
	t.Helper()
	e := suitetest.Engine(t, deft.Options{Workspace: p, Dialect: dialect, NoBuiltin: true, Project: registry.ProjectAlways, Sources: elsewhere(p)})
	turn := suitetest.Turn(t, e, "hello")
	if system, user := turn.Prompt(); strings.Contains(system+user, "<available_skills>") {
		t.Errorf("the list is in the prompt too:\n%s\n%s", system, user)
	}
	for _, spec := range turn.Tools() {
		if spec.Name == "Skill" {
			return spec.Description
		}
	}
	return ""
}

func TestBlade_E03_placement(t *testing.T) {
	t.Parallel()
	d := shown(t, project(t, "skills/x"))
	if !strings.Contains(d, "<available_skills>\n- x: d\n</available_skills>") {
		t.Errorf("%q", d)
	}
}

func TestBlade_E09_input(t *testing.T) {
	t.Parallel()
	want(t, "name", tool().Spec().Name, "Skill")
	want(t, "schema", string(tool().Spec().Input),
		`{"type":"object","properties":{"skill":{"type":"string"},"args":{"type":"string"}},"required":["skill"],"additionalProperties":false}`)
}

func TestBlade_E10_unknown(t *testing.T) {
	t.Parallel()
	d := deskOf(t, local(t, project(t, "skills/b", "skills/a")))
	want(t, "text", d.load("nope", ""), `Skill "nope" not found. Available skills: a, b`)
	want(t, "error", d.last.IsError, true)
	want(t, "of none", deskOf(t, local(t, project(t))).load("nope", ""), `Skill "nope" not found. Available skills: none`)
}

func TestBlade_E13_load_failed(t *testing.T) {
	t.Parallel()
	d, dir := own(t, "Body.")
	if err := os.Remove(filepath.Join(dir, "SKILL.md")); err != nil {
		t.Fatal(err)
	}
	want(t, "text", d.load("x", ""), `Failed to load skill "x" content`)
	want(t, "error", d.last.IsError, true)
}

func TestBlade_E14_text_parts(t *testing.T) {
	t.Parallel()
	d, dir := own(t, "Body.")
	for _, f := range []string{"scripts/run.sh", "references/r.md", "templates/t.md"} {
		put(t, filepath.Join(dir, f), "x")
	}
	text := d.load("x", "now")
	at := 0
	for _, part := range []string{
		"# Skill: x\n", `the skill "x"`, "**Skill Base Path:** " + dir + "\n", "**Invocation Arguments:** now\n", "## Available Scripts\n\n- run.sh: scripts/run.sh\n",
		"## References\n\n- r.md: references/r.md\n", "## Templates\n\n- t.md: templates/t.md\n", "---\n\nBody.\n\n---\n\n", "Remember",
	} {
		i := strings.Index(text[at:], part)
		if i < 0 {
			t.Fatalf("%q is not in its place in %q", part, text)
		}
		at += i
	}
}

func TestBlade_E15_text_without(t *testing.T) {
	t.Parallel()
	d, _ := own(t, "Body.")
	text := d.load("x", "")
	for _, part := range []string{"Arguments", "Scripts", "References", "Templates"} {
		if strings.Contains(text, part) {
			t.Errorf("%s: %q", part, text)
		}
	}
}

func TestBlade_E16_meta(t *testing.T) {
	t.Parallel()
	d, dir := own(t, "Body.", `version: "1.0.0"`)
	d.load("x", "")
	raw, err := json.Marshal(d.last.Structured)
	if err != nil {
		t.Fatal(err)
	}
	var doc struct {
		Active []struct{ Name, ID, Dir, Version string }
	}
	if err := json.Unmarshal(raw, &doc); err != nil {
		t.Fatal(err)
	}
	want(t, "metadata", doc.Active, []struct{ Name, ID, Dir, Version string }{{"x", "x", dir, "1.0.0"}})
}

func TestBlade_E17_patch_before_result(t *testing.T) {
	t.Parallel()
	d, dir := own(t, "Body.", "allowed-tools: [Read]", "model: gpt-4", "scope: turn")
	d.load("x", "")
	patches := d.s.Layers().Turn()
	if len(patches) != 1 || len(d.s.Layers().Session()) != 0 {
		t.Fatalf("%+v", d.s.Layers())
	}
	p := patches[0]
	want(t, "scope, owner, base path", []any{p.Scope, p.Owner.Kind, p.Skill.Dir}, []any{session.ScopeTurn, session.OwnerSkill, dir})
	want(t, "allow", p.Tools.Allow.Entries, []string{"Read"})
	want(t, "model", p.Model.ID, "gpt-4")
}

func TestBlade_E18_no_command_parser(t *testing.T) {
	t.Parallel()
	d, _ := own(t, "Body.", "user-invocable: true")
	want(t, "for people", record(t, d.r.Snapshot(), "x").Skill.Meta.UserInvocable, true)
	d.turn.End()
	turn, err := d.s.Begin(t.Context(), session.TurnInput{Text: "/x now"})
	if err != nil {
		t.Fatal(err)
	}
	defer turn.End()
	want(t, "active", len(d.s.Active()), 0)
}

func TestBlade_F01_lazy(t *testing.T) {
	t.Parallel()
	d, dir := own(t, "Old body.")
	put(t, filepath.Join(dir, "SKILL.md"), "---\nname: x\ndescription: d\n---\nNew body.\n")
	want(t, "body", d.body(""), "New body.")
}

func TestBlade_F02_args(t *testing.T) {
	t.Parallel()
	d, _ := own(t, "Review target: {{args}}, {{ args.raw }}")
	want(t, "body", d.body("a b"), "Review target: a b, a b")
}

func TestBlade_F03_no_args(t *testing.T) {
	t.Parallel()
	const text = "Review target: {{args}}, {{ args.raw }}"
	d, _ := own(t, text)
	want(t, "body", d.body(""), text)
	raw := json.RawMessage(`{"skill":"x","args":""}`)
	res, err := tool().Call(context.Background(), toolset.Call{Input: raw, Turn: deskOf(t, d.r).turn})
	if err != nil || !strings.Contains(res.Text, text) {
		t.Errorf("%q %v", res.Text, err)
	}
}

func TestBlade_F04_args_every_place(t *testing.T) {
	t.Parallel()
	d, _ := own(t, "{{args}} `{{args}}` {{args}}")
	want(t, "body", d.body("v"), "v `v` v")
}

func TestBlade_F05_args_not_run(t *testing.T) {
	t.Parallel()
	d, _ := own(t, "On {{args}}.")
	want(t, "body", d.body("!`echo injected`"), "On !`echo injected`.")
}

func TestBlade_F06_args_not_rescanned(t *testing.T) {
	t.Parallel()
	d, _ := own(t, "{{args}} and {{args}}")
	want(t, "body", d.body("{{args}}"), "{{args}} and {{args}}")
}

func TestBlade_F07_dollar_forms(t *testing.T) {
	t.Parallel()
	d, _ := own(t, "$ARGUMENTS $1 ${SKILL_DIR}")
	want(t, "body", d.body("v"), "$ARGUMENTS $1 ${SKILL_DIR}")
}

// listed returns the lines of one list.
func listed(d *desk, title string) []string {
	_, rest, ok := strings.Cut(d.load("x", ""), "## "+title+"\n\n")
	if !ok {
		return []string{}
	}
	lines, _, _ := strings.Cut(rest, "\n\n")
	var out []string
	for line := range strings.SplitSeq(lines, "\n") {
		_, path, _ := strings.Cut(line, ": ")
		out = append(out, path)
	}
	return out
}

func TestBlade_F08_scripts_sorted(t *testing.T) {
	t.Parallel()
	d, dir := own(t, "Body.")
	for _, f := range []string{"zebra.sh", "alpha.py", "beta.ts"} {
		put(t, filepath.Join(dir, "scripts", f), "x")
	}
	want(t, "scripts", listed(d, "Available Scripts"), []string{"scripts/alpha.py", "scripts/beta.ts", "scripts/zebra.sh"})
}

func TestBlade_F09_scripts_direct(t *testing.T) {
	t.Parallel()
	d, dir := own(t, "Body.")
	put(t, filepath.Join(dir, "scripts/sub/x.sh"), "x")
	put(t, filepath.Join(dir, "scripts/run.sh"), "x")
	want(t, "scripts", listed(d, "Available Scripts"), []string{"scripts/run.sh"})
}

func TestBlade_F10_scripts_none(t *testing.T) {
	t.Parallel()
	d, _ := own(t, "Body.")
	want(t, "no directory", listed(d, "Available Scripts"), []string{})
	d, dir := own(t, "Body.")
	if err := os.MkdirAll(filepath.Join(dir, "scripts"), 0o755); err != nil {
		t.Fatal(err)
	}
	want(t, "empty directory", listed(d, "Available Scripts"), []string{})
}

func TestBlade_F11_three_kinds(t *testing.T) {
	t.Parallel()
	d, dir := own(t, "Body.")
	for _, f := range []string{"scripts/a", "references/b", "templates/c"} {
		put(t, filepath.Join(dir, f), "x")
	}
	text := d.load("x", "")
	for _, line := range []string{"- a: scripts/a", "- b: references/b", "- c: templates/c"} {
		if strings.Count(text, line) != 1 {
			t.Errorf("%s: %q", line, text)
		}
	}
}

func TestBlade_F12_others_invisible(t *testing.T) {
	t.Parallel()
	d, dir := own(t, "Body.")
	for _, f := range []string{"assets/a.png", "extra.md", "scripts/run.sh"} {
		put(t, filepath.Join(dir, f), "x")
	}
	if err := os.Symlink("run.sh", filepath.Join(dir, "scripts/link.sh")); err != nil {
		t.Fatal(err)
	}
	text := d.load("x", "")
	for _, name := range []string{"a.png", "extra.md", "link.sh"} {
		if strings.Contains(text, name) {
			t.Errorf("%s: %q", name, text)
		}
	}
}

func TestBlade_F13_delete_then_load(t *testing.T) {
	t.Parallel()
	d, dir := own(t, "Secret body.")
	if err := os.RemoveAll(dir); err != nil {
		t.Fatal(err)
	}
	if text := d.load("x", ""); strings.Contains(text, "Secret") || !d.last.IsError {
		t.Errorf("%q", text)
	}
}

func TestBlade_D11_args_literal(t *testing.T) {
	t.Parallel()
	def := define("x")
	def.Content = "On {{args}}."
	r := of(t, data(def))
	d := deskOf(t, r)
	want(t, "body", d.body("v"), "On {{args}}.") // odd
	want(t, "header line", strings.Contains(d.last.Text, "**Invocation Arguments:** v"), true)
}

func TestBlade_D12_model_inherit_literal(t *testing.T) {
	t.Parallel()
	def := define("x")
	def.Model = "inherit"
	s, err := session.New(t.Context(), session.Options{Snapshots: of(t, data(def)), Dialect: dialect, Models: func(string) bool { return false }})
	if err != nil {
		t.Fatal(err)
	}
	res := start(t, turnOf(t, s), "x")
	want(t, "override", s.Effective().Model, "inherit") // odd: the id is the word
	want(t, "warning, and the skill is loaded", []any{codes(res.Loaded[0].Diagnostics), len(res.Loaded)}, []any{"model_unknown", 1})
}
