package toolset

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/deftskills/deft/gate"
	"github.com/deftskills/deft/registry"
	"github.com/deftskills/deft/source"
)

func TestEveryListedNameLoads(t *testing.T) {
	t.Parallel()
	base := t.TempDir()
	write(t, base, map[string]string{
		"skills/p1/SKILL.md": md("p1", "", "Do.\n"), "skills/g/h1/SKILL.md": md("h1", "", "Do.\n"),
		"store/l1/SKILL.md": md("l1", "", "Do.\n"), "skills/send-mail/SKILL.md": md("mailer", "", "Do.\n"),
	})
	if err := os.Symlink("../store/l1", filepath.Join(base, "skills/l1")); err != nil {
		t.Fatal(err)
	}
	data := source.Data([]source.Definition{{Name: "d1", Description: "Data.", Content: "Do.", References: map[string]string{"references/x.md": "X"}}}, source.DataOptions{})
	h := newHouse(t, filepath.Join(base, "skills"), data)
	if len(h.snap.Winners) != 5 {
		t.Fatalf("%d winners", len(h.snap.Winners))
	}
	for _, r := range h.snap.Winners {
		res := h.call(NameSkill, args("name", r.Address))
		if res.IsError || len(res.Meta.Activated) != 1 || !strings.Contains(res.Text, "Do.") {
			t.Errorf("%s: %s", r.Address, res.Text)
		}
	}
	for _, other := range []string{"send-mail", "`mailer`", "/mailer", "MAILER"} {
		if res := h.call(NameSkill, args("skill_name", other)); res.IsError {
			t.Errorf("%s: %s", other, res.Text)
		}
	}
	if res := h.call(NameSkillRead, args("name", "d1", "path", "references/x.md")); res.Text != "references/x.md (lines 1-1 of 1)\nX" {
		t.Error(res.Text)
	}
	h.next()
	if res := h.call(NameDeactivate, args("name", "d1")); res.Text != "cleared: d1" {
		t.Error(res.Text)
	}
	if res := h.call(NameSkill, args("name", "d1")); strings.Contains(res.Text, "Directory:") || !strings.Contains(res.Text, "- references/x.md") {
		t.Error(res.Text)
	}
}

func TestWrongNamesAndPathsSayWhatExistsAndThenStop(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	write(t, root, map[string]string{
		"report/SKILL.md": md("report", "", "Use Document 1.\n"), "report/references/guide.md": "g", "report/assets/logo.svg": "<svg/>",
		"report/.env": "KEY=1",
	})
	h := newHouse(t, root)
	if res := h.call(NameSkill, args("name", "reprot")); res.Code != "skill_unknown" || !strings.Contains(res.Text, "Close: report.") {
		t.Error(res.Text)
	}
	files := " Files: assets/logo.svg, references/guide.md."
	for i, c := range []struct{ path, code, text string }{
		{"Document 1", "file_unknown", `No file "Document 1" in "report".` + files},
		{"guide.pdf", "file_unknown", `No file "guide.pdf" in "report".` + files},
		{"references", "is_a_folder", "\"references\" is a folder of \"report\":\nguide.md"},
		{"References/guide.txt", "file_unknown", `No file "References/guide.txt" in "report". Close: references/guide.md.` + files + " Do not try again in this turn."},
	} {
		if res := h.call(NameSkillRead, args("name", "report", "path", c.path)); res.Code != c.code || res.Text != c.text || (res.Retry == RetryFinal) != (i == 3) {
			t.Errorf("%s: %s %q %s", c.path, res.Code, res.Text, res.Retry)
		}
	}
	h.next()
	for path, code := range map[string]string{"": "is_a_folder", ".": "is_a_folder", ".env": "file_unknown"} {
		if res := h.call(NameSkillRead, args("name", "report", "path", path)); res.Code != code || strings.Contains(res.Text, "KEY") || strings.Contains(res.Text, "Files: .env") {
			t.Errorf("%q: %s %q", path, res.Code, res.Text)
		}
	}
	if res := h.call(NameSkill, args("name", "")); res.Code != "skill_name_empty" {
		t.Error(res.Code)
	}
}

func TestFilesAreTheSkillsWhereverTheWorkIs(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	write(t, root, map[string]string{
		"report/SKILL.md":           md("report", "", "Read references/spec.md.\n"),
		"report/references/spec.md": "SPEC OF THE SKILL", "report/scripts/count.sh": "#!/bin/sh\n",
	})
	h := newHouse(t, root)
	text := h.call(NameSkill, args("name", "report")).Text
	dir := filepath.ToSlash(filepath.Join(root, "report"))
	if strings.Count(text, dir) != 1 || !strings.Contains(text, "\nDirectory: "+dir+"\n") || !strings.Contains(text, "\n- scripts/count.sh (executable)\n") {
		t.Error(text)
	}
	for _, path := range []string{"references/spec.md", "./references//spec.md", `references\spec.md`, "${CLAUDE_SKILL_DIR}/references/spec.md", dir + "/references/spec.md", "x/../references/spec.md"} {
		if res := h.call(NameSkillRead, args("name", "report", "path", path)); !strings.Contains(res.Text, "SPEC OF THE SKILL") {
			t.Errorf("%s: %s", path, res.Text)
		}
	}
	if res := h.call(NameSkillRead, args("name", "report", "path", "SKILL.md")); !strings.HasPrefix(res.Text, "SKILL.md (lines 1-6 of 6)\n---\nname: report\n") {
		t.Error(res.Text)
	}
}

func TestDirectoryPlaceholderWithBlankAndQuote(t *testing.T) {
	t.Parallel()
	root := filepath.Join(t.TempDir(), "skills of jo's")
	write(t, root, map[string]string{"stamper/SKILL.md": md("stamper", "allowed-tools: Bash(sh \"${CLAUDE_SKILL_DIR}/scripts/stamp.sh\" *)\n",
		"Run: sh \"${CLAUDE_SKILL_DIR}/scripts/stamp.sh\" in.txt\nAlso: sh \"${SKILL_DIR}/s.sh\"\nKeep: $HOME ${PATH}\n")})
	h := newHouse(t, root)
	dir := filepath.ToSlash(filepath.Join(root, "stamper"))
	text := h.call(NameSkill, args("name", "stamper")).Text
	if !strings.Contains(text, "Run: sh \""+dir+"/scripts/stamp.sh\" in.txt\nAlso: sh \""+dir+"/s.sh\"\nKeep: $HOME ${PATH}") {
		t.Error(text)
	}
	rule := h.s.ActiveSkills()[0].Allow.Entries
	if len(rule) != 1 || !strings.Contains(rule[0], "skills\\ of\\ jo\\'s") {
		t.Error(rule)
	}
}

// hostile returns paths that try to leave a skill, a few by hand and the rest by
// putting encodings, separators and depths together.
func hostile(dir string) []string {
	out := []string{
		"../kit-evil/secret.md", "../../../../secret.md", "/etc/hostname", `references\..\..\kit-evil\secret.md`, "links/out.md",
		"links/dir/secret.md", "links/loop", dir + "-evil/secret.md", dir + "/../kit-evil/secret.md", "C:\\secret.md", "c:/x", `\\host\share\x`, "//host/x",
		"a\x00b", "..", "../", "references/../../kit-evil", "~/secret.md", "file:///etc/hostname", "${HOME}/x", "${SKILL_DIR}/../kit-evil/secret.md",
		"${SKILL_DIR}-evil/secret.md", "CON", "NUL", "aux.txt", "secret.md:stream", "pipe", strings.Repeat("a/", 400) + "x", strings.Repeat("../", 100) + "etc/hostname",
	}
	for _, up := range []string{"..", "%2e%2e", "..%00", ". .", "...", "․․", "..;", "%252e%252e", "．．", "..\u200b"} {
		for _, sep := range []string{"/", `\`, "//", "/./", "%2f", "%5c", "∕", "\u2215/"} {
			for depth := 1; depth <= 2; depth++ {
				out = append(out, strings.Repeat(up+sep, depth)+"kit-evil/secret.md")
			}
		}
	}
	for _, tail := range []string{"/", "/.", "//", " ", ".", "\t", "/..", "/../..", "\n", "\u202e"} {
		out = append(out, "../kit-evil/secret.md"+tail)
	}
	return out
}

func TestHostilePathsReadNothingOutsideAndTellNothing(t *testing.T) {
	t.Parallel()
	base := t.TempDir()
	const secret = "TOP SECRET TEXT"
	write(t, base, map[string]string{
		"skills/kit/SKILL.md": md("kit", "", "Do.\n"), "skills/kit/references/a.md": "inside", "skills/kit-evil/secret.md": secret, "secret.md": secret,
	})
	kit := filepath.Join(base, "skills/kit")
	links := map[string]string{
		"links/out.md": "../../../secret.md", "links/gone.md": "../../../gone.md", "links/in.md": "../references/a.md",
		"links/dir": "../../kit-evil", "links/loop": "loop", "links/abs.md": filepath.Join(base, "secret.md"), "links/absgone.md": filepath.Join(base, "gone.md"),
	}
	if err := os.Mkdir(filepath.Join(kit, "links"), 0o755); err != nil {
		t.Fatal(err)
	}
	for name, to := range links {
		if err := os.Symlink(to, filepath.Join(kit, name)); err != nil {
			t.Fatal(err)
		}
	}
	data := source.Data([]source.Definition{{Name: "mem", Description: "Data.", Content: "Do.", References: map[string]string{"a.md": "inside"}}}, source.DataOptions{})
	plugin := source.Namespaced(source.Dir(filepath.Join(base, "plugin"), source.DirOptions{Info: source.Info{ID: "plugin:p", Kind: source.PluginK, Trust: source.Trusted}}), "p")
	write(t, base, map[string]string{"plugin/kat/SKILL.md": md("kat", "", "Do.\n"), "plugin/kit-evil/secret.md": secret})
	h := newHouse(t, filepath.Join(base, "skills"), data, plugin)
	paths := hostile(filepath.ToSlash(kit))
	if len(paths) < 190 {
		t.Fatalf("%d paths", len(paths))
	}
	for _, name := range []string{"kit", "mem", "p:kat"} {
		for _, p := range paths {
			h.next()
			res := h.call(NameSkillRead, args("name", name, "path", p))
			if strings.Contains(res.Text, secret) || !res.IsError {
				t.Errorf("%s %q: %s", name, p, res.Text)
			}
		}
	}
	h.next()
	read := func(p string) string {
		h.next()
		res := h.call(NameSkillRead, args("name", "kit", "path", p))
		return res.Code + strings.ReplaceAll(res.Text, p, "P")
	}
	for _, pair := range [][2]string{
		{"links/out.md", "links/gone.md"}, {"links/abs.md", "links/absgone.md"}, {"../kit-evil/secret.md", "../kit-evil/gone.md"},
		{"/etc/hostname", "/etc/no-such-file"}, {"links/dir/secret.md", "links/dir/gone.md"},
	} {
		if a, b := read(pair[0]), read(pair[1]); a != b || !strings.HasPrefix(a, "path_outside") {
			t.Errorf("the answer tells what exists:\n%s\n%s", a, b)
		}
	}
	for _, p := range []string{"references/a.md", "./references/a.md", "references/../SKILL.md", "links/in.md"} {
		if res := h.call(NameSkillRead, args("name", "kit", "path", p)); res.IsError {
			t.Errorf("%s: %s", p, res.Text)
		}
	}
	for _, n := range []string{"../../../secret", "/etc/hostname", "kit/../kit-evil", "..", ".", "KIT/../../secret", `C:\temp\secret`, "kit%2f..", "kit-evil"} {
		h.next()
		if res := h.call(NameSkill, args("name", n)); !strings.HasPrefix(res.Text, "No skill ") {
			t.Errorf("%s: %s", n, res.Text)
		}
	}
}

func TestHiddenNamesStandInNoAnswer(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	write(t, root, map[string]string{
		"open/SKILL.md": md("open-report", "", "x\n"), "manual/SKILL.md": md("zebra-manual", "disable-model-invocation: true\n", "x\n"),
		"off/SKILL.md": md("zebra-off", "", "x\n"), "held/SKILL.md": md("zebra-held", "", "x\n"),
	})
	h := newHouse(t, root)
	for name, state := range map[string]registry.State{"zebra-off": registry.Disabled, "zebra-held": registry.Untrusted} {
		r, err := h.snap.Lookup(name)
		if err != nil {
			t.Fatal(err)
		}
		r.State = state
	}
	h.o.Searcher = echo{}
	h.o.Style = StyleBoth
	answers := map[string]string{}
	for _, q := range []string{"zebra", "zebra-of", "zebra-off", "zebra-held", "Zebra_Held", "zebra-off@user", "zebra-held@x", "manual", "zebra-manual@user", "zebra-manua", "off", "held"} {
		for _, call := range []struct {
			tool string
			args map[string]any
		}{
			{NameSkill, args("name", q)}, {NameSkillRead, args("name", q, "path", "SKILL.md")},
			{NameActivate, args("ids", []string{q})}, {NameSkillSearch, args("query", q, "names", []string{q})}, {NameDeactivate, args("name", q)},
		} {
			h.next()
			text := strings.ReplaceAll(h.call(call.tool, call.args).Text, q, "Q")
			if strings.Contains(strings.ToLower(text), "zebra") {
				t.Errorf("%s %s: %s", call.tool, q, text)
			}
			answers[call.tool+" "+q] = text
		}
	}
	for _, tool := range []string{NameSkill, NameSkillRead, NameActivate, NameDeactivate} {
		if answers[tool+" zebra-off"] != answers[tool+" zebra-held"] {
			t.Errorf("%s tells disabled and withheld apart", tool)
		}
	}
	h.next()
	if res := h.call(NameSkill, args("name", "zebra-manual")); res.Code != "skill_manual_only" {
		t.Errorf("%s %s", res.Code, res.Text)
	}
}

// echo finds nothing and says how many names it was given.
type echo struct{}

func (echo) Search(_ context.Context, _ *registry.Snapshot, _ string, names []string, _ int) (Found, error) {
	return Found{Searched: len(names)}, nil
}

func TestSearchAnswers(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	write(t, root, map[string]string{"a/SKILL.md": md("a", "", "x\n")})
	h := newHouse(t, root)
	fake := &found{}
	h.o.Searcher = fake
	for name, c := range map[string]struct {
		found Found
		args  map[string]any
		want  string
	}{
		"hits": {
			Found{Hits: []Hit{{Address: "a", Description: "Does a.", File: "SKILL.md", StartLine: 3, EndLine: 5, Score: 2000, Strength: "strong", Snippet: "a <b>"}, {Address: "b", Score: 500, Strength: "normal", File: "references/x.md"}}},
			args("query", "q"),
			"[a] SKILL.md:3-5 (score 1.00) strong\nDoes a.\n> a <b>\n\n[b] references/x.md (score 0.25)\n\n\nLoad with skill(\"a\") if it fits the task.",
		},
		"none":     {Found{Searched: 7}, args("query", "q"), "No skill matches. 7 skills were searched; go on without one or use other words."},
		"weak":     {Found{Hits: []Hit{{Address: "a", Description: "D", Strength: "weak", Score: 1}}}, args("query", "q"), "Weak matches only; most likely none fits.\n\n[a] SKILL.md (score 1.00) weak\nD\n\nLoad with skill(\"a\") if it fits the task."},
		"unknown":  {Found{Searched: 1}, args("query", "q", "skillNames", []string{"zzz", "a"}), "No skill matches. 1 skills were searched; go on without one or use other words.\n\nUnknown in names: zzz"},
		"degraded": {Found{Degraded: "index\nis building"}, args("query", "q"), "No skill matches. 0 skills were searched; go on without one or use other words.\n\nThe search was incomplete: index is building"},
		"empty":    {Found{}, args("query", "  "), "query is empty. Correct the arguments and call again."},
		"no list":  {Found{}, args("query", "q", "names", 7), "names: got a number, want a list of strings. Correct the arguments and call again."},
		"extra":    {Found{}, args("query", "q", "why", 7), "Ignored unknown arguments: why.\nNo skill matches. 0 skills were searched; go on without one or use other words."},
		"top":      {Found{}, args("query", "q", "topK", "99"), "No skill matches. 0 skills were searched; go on without one or use other words."},
	} {
		fake.answer = c.found
		if got := h.call(NameSkillSearch, c.args).Text; got != c.want {
			t.Errorf("%s:\n%s", name, got)
		}
		if name == "top" && fake.topK != 20 {
			t.Error(fake.topK)
		}
	}
	fake.err = errors.New("no")
	if res := h.call(NameSkillSearch, args("query", "q")); res.Code != "search_failed" {
		t.Error(res)
	}
}

type found struct {
	answer Found
	err    error
	topK   int
}

func (f *found) Search(_ context.Context, _ *registry.Snapshot, _ string, _ []string, topK int) (Found, error) {
	f.topK = topK
	return f.answer, f.err
}

func TestActivateSkillsReports(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	write(t, root, map[string]string{
		"a/SKILL.md": md("alpha", "allowed-tools: Read\n", "x\n"), "b/SKILL.md": md("beta", "", "x\n"),
		"m/SKILL.md": md("man", "disable-model-invocation: true\n", "x\n"),
	})
	h := newHouse(t, root)
	h.o.Style = StyleSet
	for _, c := range []struct {
		ids  []string
		want string
		err  bool
	}{
		{[]string{"alpha"}, "active: alpha\ntools limited by: alpha", false},
		{[]string{"alpha"}, "already active: alpha", false},
		{[]string{"beta", "alphx", "man"}, "active: beta\nreplaced: alpha\nunknown: alphx (close: alpha)\nunavailable: man (\"man\" can only be started by the user with /man. Ask them; do not imitate it.)", false},
		{[]string{"nope-nope-nope"}, "", true},
		{[]string{}, "replaced: beta", false},
		{[]string{}, "no skill is active", false},
	} {
		h.next()
		res := h.call(NameActivate, args("ids", c.ids, "confirmed", true))
		if res.IsError != c.err || c.want != "" && res.Text != c.want || !res.Meta.Confirmed {
			t.Errorf("%v: %v %q", c.ids, res.IsError, res.Text)
		}
		if strings.Contains(res.Text, "<skill") {
			t.Error("the text belongs to the prompt")
		}
	}
}

func TestBadArgumentsNameThePropertyAndWhatWasGot(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	write(t, root, map[string]string{"a/SKILL.md": md("a", "", "x\n")})
	h := newHouse(t, root)
	for _, c := range []struct {
		tool string
		args map[string]any
		want string
	}{
		{NameSkill, args("name", 7), "name: got a number, want a string"},
		{NameSkill, args(), "name is missing"},
		{NameSkill, args("name", nil), "name is missing"},
		{NameSkill, args("name", "a", "args", []int{1}), "arguments: got a list, want a string"},
		{NameSkill, args("name", "a", "arguments", strings.Repeat("x", 20000)), "arguments: 20000 bytes, limit 16384"},
		{NameSkillRead, args("name", "a", "path", "x", "startLine", "soon"), "startLine: got a string, want a whole number"},
		{NameSkillRead, args("name", "a", "path", "x", "startLine", 1.5), "startLine: got a number, want a whole number"},
		{NameDeactivate, args("name", map[string]any{}), "name: got an object, want a string"},
	} {
		if res := h.call(c.tool, c.args); res.Code != "bad_args" || !strings.HasPrefix(res.Text, c.want) {
			t.Errorf("%s %v: %s %q", c.tool, c.args, res.Code, res.Text)
		}
	}
}

func TestLinesOfALongFile(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	var long strings.Builder
	for i := range 5000 {
		fmt.Fprintf(&long, "line %d\n", i+1)
	}
	png, err := base64.StdEncoding.DecodeString("iVBORw0KGgoAAAAA")
	if err != nil {
		t.Fatal(err)
	}
	write(t, root, map[string]string{
		"a/SKILL.md": md("a", "", "x\n"), "a/long.txt": long.String(), "a/empty.txt": "", "a/two.txt": "one\r\ntwo",
		"a/wide.txt": strings.Repeat("é", 40_000), "a/i.png": string(png), "a/u16.txt": "\xff\xfeh\x00i\x00", "a/bom.txt": "\xef\xbb\xbfhi", "a/bad.txt": "a\xffb",
	})
	h := newHouse(t, root)
	for _, c := range []struct {
		path     string
		from, to any
		code     string
		start    string
		end      string
	}{
		{"two.txt", nil, nil, "", "two.txt (lines 1-2 of 2)\none\ntwo", "two"},
		{"two.txt", "2", 9, "", "two.txt (lines 2-2 of 2)\ntwo", "two"},
		{"two.txt", -3, 1, "", "two.txt (lines 1-1 of 2)\none", "one"},
		{"two.txt", 3, nil, "range_empty", "File \"two.txt\" has 2 lines (valid range 1-2).\nRequested startLine 3 is past the end of the file. The file has been fully read; stop paginating.", ""},
		{"two.txt", 2, 1, "range_empty", "File \"two.txt\" has 2 lines (valid range 1-2).\nRequested range 2-1 is empty because startLine is greater than endLine.", ""},
		{"empty.txt", nil, nil, "", "empty.txt (lines 1-1 of 1)\n", ""},
		{"long.txt", nil, nil, "", "long.txt (lines 1-4000 of 5000)\nline 1\n", "line 4000\n[more: continue with startLine 4001]"},
		{"long.txt", 4001, nil, "", "long.txt (lines 4001-5000 of 5000)\nline 4001\n", "line 5000"},
		{"wide.txt", nil, nil, "", "wide.txt (lines 1-1 of 1)\néé", "é[line cut: 80000 bytes]"},
		{"i.png", nil, nil, "", "Binary file: ", " (12 bytes), image/png. It cannot be shown as text."},
		{"bad.txt", nil, nil, "", "Binary file: ", ""},
		{"u16.txt", nil, nil, "", "u16.txt (lines 1-1 of 1)\nhi", "hi"},
		{"bom.txt", nil, nil, "", "bom.txt (lines 1-1 of 1)\nhi", "hi"},
	} {
		m := args("name", "a", "path", c.path)
		if c.from != nil {
			m["startLine"] = c.from
		}
		if c.to != nil {
			m["endLine"] = c.to
		}
		res := h.call(NameSkillRead, m)
		if res.Code != c.code || res.IsError || !strings.HasPrefix(res.Text, c.start) || !strings.HasSuffix(res.Text, c.end) {
			t.Errorf("%s %v-%v: %s %.120q", c.path, c.from, c.to, res.Code, res.Text)
		}
		if img, ok := res.Structured.(Image); (c.path == "i.png") != ok || ok && len(img.Data) != 12 {
			t.Errorf("%s: image %v", c.path, ok)
		}
	}
}

func TestManualOnlyFilesAreReadOnlyWhileActive(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	write(t, root, map[string]string{"m/SKILL.md": md("man", "disable-model-invocation: true\n", "x\n"), "m/a.md": "A"})
	h := newHouse(t, root)
	if res := h.call(NameSkillRead, args("name", "man", "path", "a.md")); res.Code != "skill_manual_only" {
		t.Error(res.Code)
	}
	startAsUser(t, h, "man")
	if res := h.call(NameSkillRead, args("name", "man", "path", "a.md")); res.IsError {
		t.Error(res.Text)
	}
}

func TestUnmetConditionsAreNamedWithoutValues(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	write(t, root, map[string]string{"m/SKILL.md": md("mail", "", "x\n")})
	h := newHouse(t, root)
	r, err := h.snap.Lookup("mail")
	if err != nil {
		t.Fatal(err)
	}
	r.State, r.Reasons = registry.Unmet, []registry.Reason{{Code: "manual"}, {Code: "unmet", Message: "requires_env: MAIL_KEY"}}
	if res := h.call(NameSkill, args("name", "mail")); res.Code != "skill_conditions" || res.Text != `"mail" needs requires_env: MAIL_KEY and cannot be loaded now.` {
		t.Errorf("%s %s", res.Code, res.Text)
	}
}

func TestSeveralSkillsOfOneFolderNameAreNamed(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	write(t, root, map[string]string{"a/tool/SKILL.md": md("first", "", "x\n"), "b/tool/SKILL.md": md("second", "", "x\n")})
	h := newHouse(t, root)
	want := `"tool" fits 2 skills: first (user), second (user). Call again with one of these.`
	for _, res := range []Result{h.call(NameSkill, args("name", "tool")), h.call(NameSkillRead, args("name", "tool", "path", "SKILL.md"))} {
		if res.Code != "skill_ambiguous" || res.Text != want {
			t.Errorf("%s %s", res.Code, res.Text)
		}
	}
	for _, place := range []string{filepath.Join(root, "a/tool"), filepath.Join(root, "a/tool/SKILL.md"), filepath.Join(root, "a/tool") + "/"} {
		if res := h.call(NameSkill, args("name", place)); len(res.Meta.Activated) != 1 || res.Meta.Activated[0] != "first" {
			t.Errorf("%s: %s", place, res.Text)
		}
	}
	if res := h.call(NameSkill, args("name", "fir/st")); res.Code != "skill_name_is_path" {
		t.Error(res.Text)
	}
}

func TestLimitsOfTheSessionAreResults(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	files := map[string]string{}
	for i := range 21 {
		files[fmt.Sprintf("s%d/SKILL.md", i)] = md(fmt.Sprint("s", i), "metadata:\n  deft:\n    tool_names: [grep, nobody]\n", "x\n")
	}
	write(t, root, files)
	h := newHouse(t, root)
	for i := range 21 {
		res := h.call(NameSkill, args("name", fmt.Sprint("s", i)))
		if res.IsError != (i == 20) || i == 20 && (res.Code != "limit_active" || res.Text != "active skills: 21, limit 20. Nothing was changed.") {
			t.Errorf("%d: %s %s", i, res.Code, res.Text)
		}
	}
	h.o.Style = StyleSet
	h.o.Tier = func(tool string) (gate.Tier, bool) { return gate.ReadOnly, tool == "grep" }
	if res := h.call(NameActivate, args("ids", []string{"s0"})); !strings.Contains(res.Text, "\ntools: grep (READ_ONLY)") {
		t.Error(res.Text)
	}
}
