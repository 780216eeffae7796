package mastra

import (
	"strings"
	"testing"

	"github.com/deftskills/deft/skill"
)

// judge validates a file whose header holds these lines.
func judge(dir string, lines ...string) skill.Report {
	return judgeFile(dir, "---\n"+strings.Join(lines, "\n")+"\n---\n# Title\n\nText.\n")
}

func judgeFile(dir, text string) skill.Report {
	return skill.Validate(skill.Input{Source: []byte(text), DirName: dir}, skill.ProfileMastra)
}

func texts(r skill.Report, level skill.Level) []string {
	out := []string{}
	for _, d := range r.Diagnostics {
		if d.Level == level {
			out = append(out, d.Message)
		}
	}
	return out
}

func passes(t *testing.T, what string, r skill.Report) {
	t.Helper()
	if !r.OK {
		t.Errorf("%s: %q", what, texts(r, skill.LevelError))
	}
}

func fails(t *testing.T, what string, r skill.Report, message string) {
	t.Helper()
	all := strings.Join(texts(r, skill.LevelError), "\n")
	if r.OK || !strings.Contains(all, message) {
		t.Errorf("%s: want %q, got %q", what, message, all)
	}
}

const described = "description: d"

func body(s string) skill.Report { return judgeFile("x", "---\nname: x\ndescription: d\n---\n"+s) }

func TestV001_Limits(t *testing.T) {
	t.Parallel()
	long := func(n int) string { return strings.Repeat("a", n) }
	passes(t, "name 64", judge("", "name: "+long(64), described))
	fails(t, "name 65", judge("", "name: "+long(65), described), "64 characters")
	passes(t, "description 1024", judge("", "name: x", "description: "+long(1024)))
	fails(t, "description 1025", judge("", "name: x", "description: "+long(1025)), "1024 characters")
	want(t, "500 lines", texts(body(strings.Repeat("a\n", 500)), skill.LevelWarning), []string{})
	want(t, "5,000 tokens", texts(body(strings.Repeat("a ", 3846)), skill.LevelWarning), []string{})
}

func TestV002_ValidNames(t *testing.T) {
	t.Parallel()
	for _, n := range []string{"a", "test-skill", "skill-2", "2-skill", strings.Repeat("a", 64)} {
		passes(t, n, judge("", "name: "+n, described))
	}
}

func TestV003_InvalidNames(t *testing.T) {
	t.Parallel()
	said := map[string]string{}
	for n, message := range map[string]string{
		`""`:                    "cannot be empty",
		strings.Repeat("a", 65): "64 characters or less",
		"Upper":                 "only lowercase letters",
		"a_b":                   "only lowercase letters",
		"a.b":                   "only lowercase letters",
		"a b":                   "only lowercase letters",
		"-a":                    "must not start or end with a hyphen",
		"a-":                    "must not start or end with a hyphen",
		"a--b":                  "consecutive hyphens",
		`"-"`:                   "must not start or end with a hyphen",
	} {
		r := judge("", "name: "+n, described)
		fails(t, n, r, message)
		said[message] = n
	}
	want(t, "different texts", len(said), 5)
}

func TestV004_Descriptions(t *testing.T) {
	t.Parallel()
	for _, d := range []string{"a", strings.Repeat("a", 1024), `"Does: this, and \"that\"! (really?)"`} {
		passes(t, d, judge("", "name: x", "description: "+d))
	}
	fails(t, "empty", judge("", "name: x", `description: ""`), "cannot be empty")
	fails(t, "long", judge("", "name: x", "description: "+strings.Repeat("a", 1025)), "1024 characters or less")
	fails(t, "blank", judge("", "name: x", `description: "  "`), "only whitespace")
}

func TestV005_Compatibility(t *testing.T) {
	t.Parallel()
	for _, c := range []string{"compatibility: text", "compatibility: 7", "compatibility: [a, b]", "compatibility: {a: b}", "version: 1"} {
		passes(t, c, judge("", "name: x", described, c))
	}
}

func TestV006_License(t *testing.T) {
	t.Parallel()
	for _, l := range []string{"license: MIT", `license: ""`, "version: 1"} {
		passes(t, l, judge("", "name: x", described, l))
	}
	fails(t, "number", judge("", "name: x", described, "license: 7"), "license: Expected string, received number")
}

func TestV007_Metadata(t *testing.T) {
	t.Parallel()
	for _, m := range []string{"metadata: {a: 1, b: [x], c: {d: e}}", "metadata: {}", "version: 1"} {
		passes(t, m, judge("", "name: x", described, m))
	}
	fails(t, "list", judge("", "name: x", described, "metadata: [a]"), "metadata: Expected object, received array")
}

func TestV008_Headers(t *testing.T) {
	t.Parallel()
	passes(t, "minimal", judge("", "name: x", described))
	passes(t, "complete", judge("", "name: x", described, "license: MIT", "compatibility: any", "user-invocable: true", "metadata: {a: b}"))
	fails(t, "no name", judge("", described), "name: ")
	fails(t, "no description", judge("", "name: x"), "description: ")
	for _, h := range []string{"null", "text", "[a, b]"} {
		want(t, h, judge("", h).OK, false)
	}
}

func TestV009_FolderMismatch(t *testing.T) {
	t.Parallel()
	fails(t, "other", judge("y", "name: x", described), `Skill name "x" must match directory name "y"`)
	passes(t, "equal", judge("x", "name: x", described))
	passes(t, "not checked", judge("", "name: x", described))
}

func TestV010_LongInstructionsAreWarnings(t *testing.T) {
	t.Parallel()
	for what, b := range map[string]string{"501 lines": strings.Repeat("a\n", 501), "5,001 tokens": strings.Repeat("a ", 3847)} {
		r := body(b)
		passes(t, what, r)
		want(t, what, len(texts(r, skill.LevelWarning)), 1)
	}
	want(t, "short", texts(body("a"), skill.LevelWarning), []string{})
	want(t, "absent", texts(body(""), skill.LevelWarning), []string{})
	both := judgeFile("y", "---\nname: x\ndescription: d\n---\n"+strings.Repeat("a\n", 501))
	want(t, "together", []int{len(texts(both, skill.LevelError)), len(texts(both, skill.LevelWarning))}, []int{1, 1})
}

func load(dir, text string) *skill.Skill {
	return skill.Parse([]byte(text), skill.ParseOptions{Dialect: skill.Mastra, DirName: dir, Path: "skills/" + dir + "/SKILL.md"})
}

func TestV011_ValidContent(t *testing.T) {
	t.Parallel()
	src := text("x")
	s := load("x", src)
	want(t, "name, valid", []any{s.Name, s.Valid}, []any{"x", true})
	want(t, "body", strings.TrimSpace(src[s.Body.Start:s.Body.End]), "# Test Skill\n\nBody of x.")
}

func TestV012_InvalidContent(t *testing.T) {
	t.Parallel()
	fails(t, "mismatch", judge("y", "name: x", described), `"x" must match directory name "y"`)
	want(t, "no header", judgeFile("x", "# Title\n").OK, false)
	fails(t, "no description", judge("x", "name: x"), "description: ")
}

func TestV013_MalformedYAMLIsOneError(t *testing.T) {
	t.Parallel()
	got := texts(judge("", "name: [unclosed"), skill.LevelError)
	want(t, "errors", len(got), 1)
	want(t, "text", strings.HasPrefix(got[0], "Invalid frontmatter:"), true)
}

func TestV015_TextForABoolean(t *testing.T) {
	t.Parallel()
	fails(t, "text", judge("", "name: x", described, `user-invocable: "no"`), "user-invocable: Expected boolean, received string")
}

func TestV017_LengthsAreUTF16Units(t *testing.T) {
	t.Parallel()
	emoji := func(n int) string { return strings.Repeat("😀", n) }
	passes(t, "512 emoji", judge("", "name: x", "description: "+emoji(512)))
	fails(t, "513 emoji", judge("", "name: x", "description: "+emoji(513)), "1024 characters or less")
	short, long := judge("", "name: "+emoji(32), described), judge("", "name: "+emoji(33), described)
	want(t, "32 are 64", strings.Contains(strings.Join(texts(short, skill.LevelError), "\n"), "or less"), false)
	want(t, "33 are 66", strings.Contains(strings.Join(texts(long, skill.LevelError), "\n"), "or less"), true)
}

func TestV018_CodeEnginesAreRefused(t *testing.T) {
	t.Parallel()
	fails(t, "js", judgeFile("x", "---js\nmodule.exports = {}\n---\nb\n"), "JavaScript frontmatter is not supported")
}

// TestV016_ErrorsAccumulate: the words around them in a host's log are the host's.
func TestV016_ErrorsAccumulate(t *testing.T) {
	t.Parallel()
	got := texts(judge("x", "name: A--B", "license: 7", "user-invocable: 1"), skill.LevelError)
	for _, part := range []string{"name: ", "description: ", "license: ", "user-invocable: ", "must match directory"} {
		want(t, part, strings.Contains(strings.Join(got, "\n"), part), true)
	}
}

func TestV014_InvalidHeadersKeepTheirText(t *testing.T) {
	t.Parallel()
	s := load("y", text("x"))
	header, line := s.HeaderText()
	want(t, "valid, line", []any{s.Valid, line}, []any{false, 2})
	want(t, "raw", strings.Contains(header, "name: x") && s.Raw() != nil, true)
}
