package minimax

import (
	"fmt"
	"io"
	"path/filepath"
	"strings"
	"testing"

	"github.com/deftskills/deft/registry"
	"github.com/deftskills/deft/skill"
	"github.com/deftskills/deft/source"
)

// parse writes a SKILL.md into a directory of the global root and returns what became
// of it.
func parse(t *testing.T, dir, file string) *registry.Record {
	t.Helper()
	w := newWorld(t)
	w.write(filepath.Join(w.global(), dir, "SKILL.md"), file)
	s := w.snapshot()
	if len(s.All) != 1 {
		t.Fatalf("%d entries", len(s.All))
	}
	if r := s.All[0]; r.State != registry.Available {
		t.Errorf("%q is %s: %v", file, r.State, r.Reasons)
	}
	return s.All[0]
}

func head(lines ...string) string { return "---\n" + strings.Join(lines, "\n") + "\n---\n" }

// says wants exactly these diagnostics of a skill, as level and code.
func says(t *testing.T, r *registry.Record, want ...string) {
	t.Helper()
	var got []string
	for _, d := range r.Skill.Diagnostics {
		got = append(got, string(d.Level)+" "+d.Code)
	}
	equal(t, "diagnostics", got, want)
}

func is(t *testing.T, what, got, want string) {
	t.Helper()
	if got != want {
		t.Errorf("%s: %q, want %q", what, got, want)
	}
}

func TestP01FullHeader(t *testing.T) {
	t.Parallel()
	r := parse(t, "d", head("name: a", "title: The A", "description: Does a."))
	is(t, "name", r.Skill.Name, "a")
	is(t, "title", r.Skill.Title, "The A")
	is(t, "description", r.Skill.Description, "Does a.")
	says(t, r)
}

func TestP02NameFallsBackToDirectory(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	real := filepath.Dir(w.write(filepath.Join(w.root, "real/SKILL.md"), head("title: t", "description: d")))
	w.link(real, filepath.Join(w.global(), "link"))
	equal(t, "names", names(w.snapshot()), []string{"real"})
}

func TestP03NameTrimmed(t *testing.T) {
	t.Parallel()
	is(t, "name", parse(t, "d", head(`name: "  a  "`, "title: t", "description: d")).Skill.Name, "a")
}

func TestP04NameUnrestricted(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"My Skill!", strings.Repeat("n", 200), "other"} {
		r := parse(t, "d", head("name: "+name, "title: t", "description: d"))
		is(t, "name", r.Skill.Name, name)
		says(t, r)
	}
}

func TestP05NumericNameIsAbsent(t *testing.T) {
	t.Parallel()
	is(t, "name", parse(t, "d", head("name: 12", "title: t", "description: d")).Skill.Name, "d")
}

func TestP06TitleFromHeading(t *testing.T) {
	t.Parallel()
	r := parse(t, "d", head("description: d")+"\n# Hello\n\nText.\n")
	is(t, "title", r.Skill.Title, "Hello")
	if r.Skill.Origin("title").Line != 0 {
		t.Error("a heading counts as a title of the header")
	}
	if parse(t, "d", head("title: T", "description: d")).Skill.Origin("title").Line == 0 {
		t.Error("an explicit title is not known as one")
	}
}

func TestP07HeadingInFenceCounts(t *testing.T) {
	t.Parallel()
	is(t, "title", parse(t, "d", head("description: d")+"```\n# x\n```\n\n# y\n").Skill.Title, "x")
}

func TestP08LevelTwoIgnored(t *testing.T) {
	t.Parallel()
	r := parse(t, "d", head("name: a", "description: d")+"## x\n")
	is(t, "title", r.Skill.Title, "a")
	says(t, r, "warning missing_title")
}

func TestP09DescriptionFirstParagraph(t *testing.T) {
	t.Parallel()
	is(t, "description", parse(t, "d", head("title: t")+"# H\n\n  one  \ntwo\n\nthree\n").Skill.Description, "one\ntwo")
}

func TestP10DescriptionStopsAtHeading(t *testing.T) {
	t.Parallel()
	is(t, "description", parse(t, "d", head("title: t")+"one\n# two\nthree\n").Skill.Description, "one")
}

func TestP11DescriptionMissing(t *testing.T) {
	t.Parallel()
	r := parse(t, "d", head("name: a")+"# Heading\n")
	is(t, "description", r.Skill.Description, "")
	says(t, r, "warning missing_description")
}

func TestP12NoHeaderIsRecorded(t *testing.T) {
	t.Parallel()
	r := parse(t, "plain", "# Heading\n\nA paragraph.\n")
	is(t, "name", r.Skill.Name, "plain")
	is(t, "description", r.Skill.Description, "A paragraph.")
	says(t, r, "info frontmatter_missing")
}

func TestP13UnclosedHeader(t *testing.T) {
	t.Parallel()
	file := "---\nname: a\n\n# Body\n"
	r := parse(t, "d", file)
	is(t, "name", r.Skill.Name, "d")
	l, err := source.Load(t.Context(), r.Entry)
	if err != nil || l.Body != "" || string(l.Raw) != file {
		t.Errorf("body %q, raw %q, %v", l.Body, l.Raw, err)
	}
	if r.Skill.Diagnostics[0].Code != "frontmatter_unclosed" || r.Skill.Diagnostics[0].Level != skill.LevelError {
		t.Errorf("%+v", r.Skill.Diagnostics)
	}
}

func TestP14InvalidYaml(t *testing.T) {
	t.Parallel()
	r := parse(t, "d", head("description: a: b")+"# T\n\nBody text.\n")
	is(t, "name", r.Skill.Name, "d")
	is(t, "description", r.Skill.Description, "Body text.")
	says(t, r, "warning frontmatter_invalid_yaml")
}

func TestP15NotAMapping(t *testing.T) {
	t.Parallel()
	says(t, parse(t, "d", head("- a")+"# T\n\nBody text.\n"), "warning frontmatter_not_mapping")
}

func TestP16EmptyHeader(t *testing.T) {
	t.Parallel()
	says(t, parse(t, "d", "---\n---\n# T\n\nBody text.\n"))
}

func TestP17BomDefeatsHeader(t *testing.T) {
	t.Parallel()
	file := "\ufeff" + head("name: a", "title: t", "description: d") + "x\n"
	r := parse(t, "dir", file)
	is(t, "name", r.Skill.Name, "dir")
	if l, err := source.Load(t.Context(), r.Entry); err != nil || l.Body != file {
		t.Errorf("%q %v", l.Body, err)
	}
}

func TestP18CrlfHeader(t *testing.T) {
	t.Parallel()
	file := head("name: a", "title: The A", "description: Does a.") + "# B\n\nText.\n"
	lf, crlf := parse(t, "d", file).Skill, parse(t, "d", strings.ReplaceAll(file, "\n", "\r\n")).Skill
	if lf.Name != crlf.Name || lf.Title != crlf.Title || lf.Description != crlf.Description {
		t.Errorf("%q %q %q", crlf.Name, crlf.Title, crlf.Description)
	}
}

func TestP19TrailingBlankAfterFence(t *testing.T) {
	t.Parallel()
	says(t, parse(t, "d", "--- \nname: a\n---\n# T\n\nText.\n"), "info frontmatter_missing")
}

func TestP20ListedLiteralFalse(t *testing.T) {
	t.Parallel()
	for value, want := range map[string]bool{"false": false, `"false"`: true, "no": true, "true": true} {
		w := newWorld(t)
		w.skill(filepath.Join(w.global(), "a"), "listed: "+value)
		if got := available(w.snapshot(), "a") != nil; got != want {
			t.Errorf("listed: %s is shown: %v", value, got)
		}
	}
}

func TestP21RequiresBetaForms(t *testing.T) {
	t.Parallel()
	for lines, want := range map[string]string{"requiresBeta: a": "a", "requires_beta: b": "b", "requires_beta: b\nrequiresBeta: a": "a"} {
		w := newWorld(t)
		w.skill(filepath.Join(w.global(), "x"), lines)
		is(t, lines, w.snapshot().All[0].Skill.Meta.RequiresBeta, want)
	}
}

func TestP22LocaleMaps(t *testing.T) {
	t.Parallel()
	m := parse(t, "d", head("title: t", "description: d", "descriptions: {en: E, de: 7, fr: ' '}", "displayNames: {de: 7, fr: ' '}")).Skill.Meta
	if len(m.Descriptions) != 1 || m.Descriptions["en"] != "E" || m.DisplayNames != nil {
		t.Errorf("%v %v", m.Descriptions, m.DisplayNames)
	}
}

func TestP23OtherKeysInert(t *testing.T) {
	t.Parallel()
	r := parse(t, "d", head("title: t", "description: d", "allowed-tools: [Bash]", "license: MIT", "metadata: {a: b}"))
	says(t, r)
	if !r.ForModel() || len(r.Reasons) > 0 {
		t.Errorf("%+v", r)
	}
}

// oneLine wants a text without line breaks, as a line of a catalog is made of.
func oneLine(t *testing.T, got, want string) {
	t.Helper()
	is(t, "one line", got, want)
}

func TestP24FoldedDescription(t *testing.T) {
	t.Parallel()
	oneLine(t, parse(t, "d", head("title: t", "description: >", "  one", "  two", "  three")).Skill.Description, "one two three")
}

func TestP25DataDirPlaceholder(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.env.Getenv = func(name string) string {
		return map[string]string{"MINIMAX_DATA_DIR": w.data, "MAVIS_DATA_DIR": "x"}[name]
	}
	w.write(filepath.Join(w.global(), "a/SKILL.md"), head("name: a", `title: "{{DATA_DIR}}"`, `description: "See {{DATA_DIR}}/x"`)+"Open {{DATA_DIR}}/y.\n")
	r := available(w.snapshot(), "a")
	is(t, "description", r.Skill.Description, "See "+w.data+"/x")
	is(t, "title", r.Skill.Title, "{{DATA_DIR}}")
	text, err := source.ReadText(t.Context(), r.Entry, "")
	if err != nil || !strings.HasSuffix(text, "Open "+w.data+"/y.\n") {
		t.Errorf("%q %v", text, err)
	}
	is(t, "separators", skill.ExpandDataDir("{{DATA_DIR}}", `C:\data\x`, skill.MiniMax), "C:/data/x")
}

func TestP26DataDirUnset(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.env.Getenv = nil
	w.write(filepath.Join(w.home, ".minimax-code/skills/a/SKILL.md"), head("name: a", "title: t", `description: "See {{DATA_DIR}}/x"`)+"{{DATA_DIR}}\n")
	r := available(w.snapshot(), "a")
	is(t, "description", r.Skill.Description, "See {{DATA_DIR}}/x")
	if text, err := source.ReadText(t.Context(), r.Entry, ""); err != nil || !strings.Contains(text, "{{DATA_DIR}}\n") {
		t.Errorf("%q %v", text, err)
	}
}

func TestP27DataDirInBundledFile(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	dir := w.skill(filepath.Join(w.global(), "a"))
	w.write(filepath.Join(dir, "references/r.md"), "{{DATA_DIR}}")
	r := available(w.snapshot(), "a")
	managed, err := source.ReadText(t.Context(), r.Entry, "references/r.md")
	if err != nil {
		t.Fatal(err)
	}
	is(t, "managed", managed, w.data)
	f, err := r.From.Open(t.Context(), r.Entry, "references/r.md")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	literal, err := io.ReadAll(f)
	if err != nil {
		t.Fatal(err)
	}
	is(t, "file", string(literal), "{{DATA_DIR}}")
}

// refuses wants a plugin's SKILL.md to be refused.
func refuses(t *testing.T, why string, in skill.Input) {
	t.Helper()
	in.DirName = "a"
	r := skill.Validate(in, skill.ProfilePluginStrict)
	if r.OK || r.Diagnostics[0].Code != "SKILL_SCHEMA_INVALID" {
		t.Errorf("%s passes: %v", why, r.Diagnostics)
	}
}

func plugin(lines ...string) skill.Input {
	return skill.Input{Source: []byte(head(lines...) + "Text.\n"), DirName: "a"}
}

func TestP28PluginStrictNeedsHeader(t *testing.T) {
	t.Parallel()
	refuses(t, "no header", skill.Input{Source: []byte("Text.\n")})
	refuses(t, "an unclosed one", skill.Input{Source: []byte("---\nname: a\ndescription: d\n")})
	refuses(t, "a byte order mark", skill.Input{Source: []byte("\ufeff" + head("name: a", "description: d"))})
	refuses(t, "a list", plugin("- a"))
	refuses(t, "duplicate keys", plugin("name: a", "description: d", "name: a"))
	if r := skill.Validate(plugin("name: a", "description: d"), skill.ProfilePluginStrict); !r.OK {
		t.Errorf("%v", r.Diagnostics)
	}
}

func TestP29PluginStrictDescription(t *testing.T) {
	t.Parallel()
	refuses(t, "no description", plugin("name: a"))
}

func TestP30PluginNameFallsBack(t *testing.T) {
	t.Parallel()
	in := plugin("description: d")
	if r := skill.Validate(in, skill.ProfilePluginStrict); !r.OK {
		t.Errorf("%v", r.Diagnostics)
	}
	is(t, "name", skill.Parse(in.Source, skill.ParseOptions{Dialect: skill.MiniMax, DirName: "a"}).Name, "a")
	in.AgentSkills = true
	refuses(t, "no name with agentSkills", in)
}

func TestP31PluginExpectedName(t *testing.T) {
	t.Parallel()
	in := plugin("name: b", "description: d")
	in.ExpectedName = "a"
	refuses(t, "another name", in)
}

func TestP32PluginAgentSkillsFields(t *testing.T) {
	t.Parallel()
	field := func(line string) skill.Input {
		in := plugin("name: a", "description: d", line)
		in.AgentSkills = true
		return in
	}
	for _, bad := range []string{
		"license: 1", "allowed-tools: [a]", "compatibility: ''", "compatibility: " + strings.Repeat("c", 501), "metadata: {a: {b: c}}",
	} {
		refuses(t, bad, field(bad))
	}
	for _, n := range []int{1, 500} {
		if r := skill.Validate(field("compatibility: "+strings.Repeat("c", n)), skill.ProfilePluginStrict); !r.OK {
			t.Errorf("compatibility of %d: %v", n, r.Diagnostics)
		}
	}
}

func TestP33PluginAliasLimit(t *testing.T) {
	t.Parallel()
	aliases := func(n int) skill.Input {
		return plugin("name: a", "description: d", "x: &x 1", fmt.Sprintf("y: [%s]", strings.Repeat("*x, ", n)))
	}
	refuses(t, "21 aliases", aliases(21))
	if r := skill.Validate(aliases(20), skill.ProfilePluginStrict); !r.OK {
		t.Errorf("20 aliases: %v", r.Diagnostics)
	}
}

func TestP34WrappedDescription(t *testing.T) {
	t.Parallel()
	r := parse(t, "d", head("name: a", "description:", "  One line", "  and another.",
		"descriptions:", "  en: E", "  'zh-Hans': '中文'", "displayNames:", "  en: N", "  'zh-Hans': '名'")+"# Heading\n")
	says(t, r)
	oneLine(t, r.Skill.Description, "One line and another.")
	if m := r.Skill.Meta; m.Descriptions["zh-Hans"] != "中文" || m.DisplayNames["zh-Hans"] != "名" || len(m.Descriptions) != 2 {
		t.Errorf("%v %v", m.Descriptions, m.DisplayNames)
	}
}
