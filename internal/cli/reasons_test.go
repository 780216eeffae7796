package cli

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode"

	"github.com/deftskills/deft/internal/cli/text"
	"github.com/deftskills/deft/registry"
)

// fixture is a home and a project in which the first reason for a name is one code.
type fixture struct {
	ask   string            // what is explained; "" = x
	files map[string]string // below home/ and project/
	links map[string]string // path → target
	make  func(t *testing.T, dir string)
	flags []string // instead of --trust-project
}

const (
	inProject = "project/.deft/skills/"
	inHome    = "home/.claude/skills/"
	inConfig  = "home/.config/deft/config.yaml"
)

func text1(header ...string) string {
	return "---\nname: x\ndescription: Does x.\n" + strings.Join(append(header, "---\n\nDo it.\n"), "\n")
}

var reasonFixtures = map[string]fixture{
	"winner":    {files: map[string]string{inProject + "x/SKILL.md": text1()}},
	"shadowed":  {files: map[string]string{inProject + "x/SKILL.md": text1(), inHome + "x/SKILL.md": text1("license: MIT")}},
	"duplicate": {files: map[string]string{inProject + "x/SKILL.md": text1(), inHome + "x/SKILL.md": text1()}},
	"denied":    {files: map[string]string{inProject + "x/SKILL.md": text1(), inConfig: "skills: {deny: ['X']}"}},
	"off":       {files: map[string]string{inProject + "x/SKILL.md": text1("default-enabled: false")}},
	"allow_only": {files: map[string]string{
		inProject + "x/SKILL.md": text1(), "project/.deft/config.yaml": "skills: {allow_only: [init]}",
	}},
	"profile": {files: map[string]string{
		inProject + "x/SKILL.md": text1(), inConfig: "skills: {profiles: {p: {exclude: [x]}}, profile: p}",
	}},
	"source_off": {files: map[string]string{
		"home/.codex/skills/x/SKILL.md": text1(), inConfig: "skills: {external: {sources: {user-codex: {enabled: false}}}}",
	}},
	"manual":      {files: map[string]string{inProject + "x/SKILL.md": text1("disable-model-invocation: true")}},
	"menu":        {files: map[string]string{inProject + "x/SKILL.md": text1("user-invocable: false")}},
	"fork_agent":  {files: map[string]string{inProject + "x/SKILL.md": text1("context: fork", "agent: nobody")}},
	"unlisted":    {files: map[string]string{inProject + "x/SKILL.md": text1("listed: false")}},
	"beta":        {files: map[string]string{inProject + "x/SKILL.md": text1("requires_beta: new")}},
	"unmet":       {files: map[string]string{inProject + "x/SKILL.md": text1("metadata: {openclaw: {requires: {bins: [no-such-program]}}}")}},
	"needs_setup": {files: map[string]string{inProject + "x/SKILL.md": text1("metadata: {requires-env: [TOKEN]}")}},
	"paths":       {files: map[string]string{inProject + "x/SKILL.md": text1("paths: '*.tsx'")}},
	"agent_scope": {files: map[string]string{"home/.local/share/deft/agents/other/skills/x/SKILL.md": text1()}},
	"region": {ask: "x-link-reader", files: map[string]string{
		"home/.minimax-code/agents/mavis/skills/x-link-reader/SKILL.md": strings.Replace(text1(), "name: x", "name: x-link-reader", 1),
		inConfig: "skills: {builtin: {region: CN}}",
	}, flags: []string{"--dialect", "minimax"}},
	"plugin_off": {files: map[string]string{
		"home/.local/share/deft/plugins/p@market/1.0.0/skills/x/SKILL.md": text1(),
		inConfig: "skills: {external: {sources: {'plugin:p': {enabled: false}}}}",
	}},
	"incomplete": {ask: "nobody", make: func(t *testing.T, dir string) {
		// More bytes of names than one folder may have.
		long := strings.Repeat("n", 240)
		for i := range 17_600 {
			put(t, filepath.Join(dir, inProject, fmt.Sprintf("%s%05d", long, i)), "")
		}
	}},
	"untrusted": {files: map[string]string{inProject + "x/SKILL.md": text1()}, flags: []string{"-v"}},
	"untrusted_shadow": {ask: "x@agent", files: map[string]string{
		"home/.local/share/deft/agents/main/skills/x/SKILL.md": text1(), inHome + "x/SKILL.md": text1("license: MIT"),
	}},
	"yaml":     {files: map[string]string{inProject + "x/SKILL.md": "---\nname: [x\n---\nB\n"}},
	"header":   {files: map[string]string{inProject + "x/SKILL.md": "---\nname: x\ndescription: never closed\n"}},
	"encoding": {files: map[string]string{inProject + "x/SKILL.md": "---\nname: x\ndescription: \xff\xfe\n---\n\nB\n"}},
	"limit":    {files: map[string]string{inProject + "x/SKILL.md": text1() + strings.Repeat("more\n", 1<<18)}},
	"case":     {files: map[string]string{inProject + "x/skill.md": text1()}},
	"file_special": {make: func(t *testing.T, dir string) {
		put(t, filepath.Join(dir, inProject, "x/SKILL.md/inside"), "a folder in the file's place")
	}},
	"dangling":     {links: map[string]string{inProject + "x": "../../gone"}},
	"link_outside": {files: map[string]string{"outside/x/SKILL.md": text1()}, links: map[string]string{inProject + "x": "../../../outside/x"}},
	"link_cycle":   {files: map[string]string{inProject + "group/y/SKILL.md": strings.Replace(text1(), "name: x", "name: y", 1)}, links: map[string]string{inProject + "x": "x"}},
	"too_deep":     {files: map[string]string{inProject + "1/2/3/4/5/6/7/8/x/SKILL.md": text1()}},
	"ignored_directory": {files: map[string]string{
		inProject + "node_modules/x/SKILL.md": text1(),
	}},
	"nested":    {files: map[string]string{inProject + "outer/SKILL.md": strings.Replace(text1(), "name: x", "name: outer", 1), inProject + "outer/inner/x/SKILL.md": text1()}},
	"stray":     {ask: "skills", files: map[string]string{inProject + "SKILL.md": text1()}},
	"elsewhere": {files: map[string]string{"project/.cursor/skills/x/SKILL.md": text1()}},
	"ambiguous": {ask: "tool", files: map[string]string{
		inProject + "tool/SKILL.md": text1(), inHome + "tool/SKILL.md": strings.Replace(text1(), "name: x", "name: y", 1),
	}},
	"root_unreadable": {files: map[string]string{"home/.claude/skills": "a file in the folder's place"}},
	"unknown":         {files: map[string]string{inProject + "y/SKILL.md": text1()}, ask: "nobody"},
	"budget": {ask: "a-skill-with-quite-a-long-name-that-costs-tokens-0799", make: func(t *testing.T, dir string) {
		for i := range 800 {
			name := fmt.Sprintf("a-skill-with-quite-a-long-name-that-costs-tokens-%04d", i)
			put(t, filepath.Join(dir, inProject, name, "SKILL.md"), fmt.Sprintf("---\nname: %s\ndescription: Number %d.\n---\n\nB\n", name, i))
		}
	}},
}

// noFixture are the reasons that this program cannot bring about by files alone; tests
// of the registry hold them.
var noFixture = []string{"stale", "mcp_duplicate"}

func put(t *testing.T, path, content string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(content), 0o644); err != nil {
		t.Fatal(err)
	}
}

func TestExplainNamesOnePrimaryReasonForEachCode(t *testing.T) {
	t.Parallel()
	for _, code := range registry.ReasonCodes() {
		f, ok := reasonFixtures[code]
		if !ok {
			if !slices.Contains(noFixture, code) {
				t.Errorf("%s has no fixture", code)
			}
			continue
		}
		t.Run(code, func(t *testing.T) {
			t.Parallel()
			dir, err := filepath.EvalSymlinks(t.TempDir())
			if err != nil {
				t.Fatal(err)
			}
			put(t, filepath.Join(dir, "project/.git/HEAD"), "")
			put(t, filepath.Join(dir, "home/.profile"), "")
			for path, content := range f.files {
				put(t, filepath.Join(dir, path), content)
			}
			for path, target := range f.links {
				path = filepath.Join(dir, path)
				if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
					t.Fatal(err)
				}
				if err := os.Symlink(target, path); err != nil {
					t.Fatal(err)
				}
			}
			if f.make != nil {
				f.make(t, dir)
			}
			checkReason(t, dir, code, f)
		})
	}
}

// checkReason asks for JSON, English and Chinese.
func checkReason(t *testing.T, dir, code string, f fixture) {
	t.Helper()
	run := func(args ...string) string {
		if f.flags == nil {
			f.flags = []string{"--trust-project"}
		}
		ask := f.ask
		if ask == "" {
			ask = "x"
		}
		var out, errs bytes.Buffer
		runVerbs(t.Context(), Process{
			Args: slices.Concat([]string{"explain", ask}, f.flags, args), Environ: []string{"HOME=" + filepath.Join(dir, "home")},
			Dir: filepath.Join(dir, "project"), GOOS: "linux", Stdin: strings.NewReader(""), Stdout: &out, Stderr: &errs, Now: time.Now,
		}, verbs())
		if out.Len() == 0 {
			t.Fatalf("explain says nothing: %s", errs.String())
		}
		return out.String()
	}
	var doc explainJSON
	if err := json.Unmarshal([]byte(run("--json")), &doc); err != nil {
		t.Fatal(err)
	}
	if len(doc.Reasons) == 0 || doc.Reasons[0].Code != code {
		t.Fatalf("reasons: %+v", doc.Reasons)
	}
	why := doc.Reasons[0]
	if why.Message == "" || why.Fix == "" && code != "winner" {
		t.Errorf("no message or no fix: %+v", why)
	}
	if why.Path == "" && !slices.Contains([]string{"unknown", "ambiguous", "budget", "incomplete"}, code) {
		t.Errorf("no path: %+v", why)
	}
	for _, other := range doc.Reasons[1:] {
		if other.Code == code && other.Path == why.Path && other.By == why.By {
			t.Errorf("said twice: %+v", other)
		}
	}
	if en := run(); !strings.Contains(en, "* "+code+": "+why.Message) {
		t.Errorf("English: %s", en)
	}
	zh := run("--lang", "zh")
	first, _, _ := strings.Cut(zh[strings.Index(zh, "* "):], "\n")
	if !strings.HasPrefix(first, "* "+code+": ") || !strings.ContainsFunc(first, func(r rune) bool { return unicode.Is(unicode.Han, r) }) ||
		!strings.Contains(first, why.Path) {
		t.Errorf("Chinese: %s", first)
	}
	if strings.Contains(zh, "{by}") || strings.Contains(zh, "{at}") {
		t.Errorf("a place was left open: %s", zh)
	}
}

func TestEachReasonIsSaidInChinese(t *testing.T) {
	t.Parallel()
	zh, en := text.Load("zh"), text.Load("en")
	for _, code := range registry.ReasonCodes() {
		if got := zh.Reason(code, "said", "B", "A"); got == "said" {
			t.Errorf("%s has no sentence", code)
		}
		if got := zh.ReasonFix(code, "do it"); got == "do it" && code != "winner" {
			t.Errorf("%s has no fix", code)
		}
		if got := en.Reason(code, "said", "B", "A"); got != "said" {
			t.Errorf("%s in English: %q", code, got)
		}
	}
}
