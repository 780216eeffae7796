package session

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/deftskills/deft/registry"
	"github.com/deftskills/deft/skill"
)

func TestPathWords(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"main.py config.toml notes.md":          "main.py config.toml notes.md",
		`look at "src/a.ts", and (src/b.ts)!`:   "src/a.ts src/b.ts",
		"see <docs/x.md>: `lib/y.go`":           "docs/x.md lib/y.go",
		`src\a.ts ./b .. .`:                     `src\a.ts ./b .. .`,
		"a.b-c word, 3.5 x.tooLongExtension":    "3.5",
		"/deploy src/a.go":                      "src/a.go",
		"get https://example.org/x.js and y.js": "y.js",
		"":                                      "",
	} {
		if got := strings.Join(PathWords(text), " "); got != want {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}
}

func TestPathPatternsMatch(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		dialect       skill.Dialect
		pattern, file string
		want          bool
	}{
		{"", "*.py", "main.py", true},
		{"", "*.py", "main.go", false},
		{"", "*.py", "src/main.py", true}, // the base name
		{skill.Blade, "*.py", "src/main.py", false},
		{"", "configs/**/*.toml", "configs/dev/app.toml", true},
		{"", "src/*", "src/a/b.ts", false},
		{"", "**/*", ".github/x.yml", true},
		{"", "src/**", "/src/project/src/a.ts", true}, // within the workspace
		{"", "src/**", "/other/src/a.ts", false},
		{"", "/src/**", "src/a.ts", true},
		{"", "docs/", "docs/deep/a.md", true},
		{"", "*.{ts,tsx}", "x.tsx", true},
		{"", "[ab]?.go", "b1.go", true},
		{"", "src/**", `.\src\a.ts`, true},
		{"", "src/**", "", false},
		{"", "a{b", "a{b", false},
		{"", strings.Repeat("{a,b}", 7), "aaaaaaa", false},
		{"", strings.Repeat("a", 513), strings.Repeat("a", 513), false},
	} {
		f := newFixture(t, func(o *Options) { o.Dialect = c.dialect }, def{name: "x", meta: skill.Meta{Paths: []string{c.pattern}}})
		turn := f.begin("")
		turn.Touch(c.file)
		if res := load(t, turn, "x"); (len(res.Loaded) == 1) != c.want {
			t.Errorf("%s: %q with %q: %v", c.dialect, c.pattern, c.file, res.Refused)
		}
		f.Close()
	}
}

func TestASkillWaitsForItsFiles(t *testing.T) {
	t.Parallel()
	meta := skill.Meta{Paths: []string{"src/**", "[bad"}}
	f := newFixture(t, nil, def{name: "go-style", text: "body", meta: meta}, def{name: "plain", text: "body"})
	turn := f.begin("please help")
	res := load(t, turn, "go-style")
	if len(res.Refused) != 1 || res.Refused[0].Code != "skill_conditions" || !strings.Contains(res.Text, "src/**, [bad") {
		t.Fatalf("refused %+v", res.Refused)
	}
	if matched, away := f.Reach(f.snap); !away["go-style"] || len(away) != 1 || len(matched) != 0 {
		t.Errorf("matched %v, away %v", matched, away)
	}
	if len(load(t, turn, "plain").Loaded) != 1 {
		t.Error("a skill without patterns is refused")
	}
	res = load(t, turn, "go-style", "look at src/a.go")
	if len(res.Loaded) != 1 || len(res.Loaded[0].Diagnostics) != 1 || res.Loaded[0].Diagnostics[0].Code != "paths_pattern" {
		t.Fatalf("named in arguments: %+v", res)
	}
	turn.End()
	turn = f.begin("")
	defer turn.End()
	if matched, away := f.Reach(f.snap); !matched["go-style"] || len(away) != 0 {
		t.Errorf("matched %v, away %v: what matched once stays", matched, away)
	}
}

func TestAPersonStartsASkillThatWaits(t *testing.T) {
	t.Parallel()
	f := newFixture(t, nil, def{name: "x", text: "body", meta: skill.Meta{Paths: []string{"*.go"}}})
	turn := f.begin("")
	if res := must(turn.Activate(t.Context(), Request{Names: []string{"x"}, Actor: ActorUser})); len(res.Loaded) != 1 {
		t.Fatalf("%+v", res.Refused)
	}
	must2(turn.Deactivate("x"))
	if len(load(t, turn, "x").Loaded) != 1 {
		t.Error("what was active once is out of reach again")
	}
}

func TestWordsOfThePersonBringASkillWithinReach(t *testing.T) {
	t.Parallel()
	f := newFixture(t, nil, def{name: "x", text: "body", meta: skill.Meta{Paths: []string{"*.go"}}})
	turn := f.begin("why does main.go not build?")
	defer turn.End()
	if len(load(t, turn, "x").Loaded) != 1 {
		t.Error("main.go was named")
	}
}

func TestDialectsWithoutPathConditionsIgnoreThem(t *testing.T) {
	t.Parallel()
	for _, d := range []skill.Dialect{skill.MiniMax, skill.Mastra, skill.Minara, skill.AgentSkills, skill.Codex} {
		f := newFixture(t, func(o *Options) { o.Dialect = d }, def{name: "x", text: "body", meta: skill.Meta{Paths: []string{"*.go"}}})
		turn := f.begin("")
		if matched, away := f.Reach(f.snap); matched != nil || away != nil || len(load(t, turn, "x").Loaded) != 1 {
			t.Errorf("%s", d)
		}
		turn.End()
	}
}

func TestAnOldFileMakesRoomAndItsMatchStays(t *testing.T) {
	t.Parallel()
	f := newFixture(t, nil, def{name: "x", text: "body", meta: skill.Meta{Paths: []string{"*.go"}}}, def{name: "y", text: "body", meta: skill.Meta{Paths: []string{"*.md"}}})
	f.Reach(f.snap)
	f.Touch("main.go")
	for i := range 1500 {
		f.Touch(fmt.Sprintf("f%d.txt", i), fmt.Sprintf("f%d.txt", i/2))
	}
	f.Touch("late.md")
	if matched, _ := f.Reach(f.snap); !matched["x"] || !matched["y"] {
		t.Errorf("matched %v", matched)
	}
	if n := len(f.reach.files); n != 1000 || slices.Contains(f.reach.files, "main.go") {
		t.Errorf("%d files", n)
	}
	f.snap = &registry.Snapshot{Winners: f.snap.Winners}
	if matched, _ := f.Reach(f.snap); !matched["x"] {
		t.Error("a match is lost with the next Snapshot")
	}
}

func must2(_ bool, err error) {
	if err != nil {
		panic(err)
	}
}

func FuzzPathWords(f *testing.F) {
	f.Add(`(src/a.ts), "b\c" [..] https://x/y.js`)
	f.Fuzz(func(t *testing.T, text string) {
		for _, w := range PathWords(text) {
			if p := cleanPath(w, "/src/project"); strings.Contains(p, `\`) || w == "" {
				t.Errorf("%q of %q", w, text)
			}
		}
	})
}

func TestADollarNameStartsASkillInDialectCodex(t *testing.T) {
	t.Parallel()
	known := func(name string) bool { return name == "x" || name == "y" }
	for _, c := range []struct {
		dialect           skill.Dialect
		text, names, args string
	}{
		{skill.Codex, "$x do it\nnow", "x", "do it"},
		{skill.Codex, "/x /y do it", "x y", "do it"},
		{skill.Codex, "$HOME is set", "", ""},
		{skill.Codex, "run $x", "", ""},
		{skill.Deft, "$x do it", "", ""},
	} {
		f := newFixture(t, func(o *Options) { o.Dialect = c.dialect })
		names, args, unknown := f.Leading(c.text, known)
		if strings.Join(names, " ") != c.names || args != c.args || unknown != "" {
			t.Errorf("%s %q: %v %q %q", c.dialect, c.text, names, args, unknown)
		}
	}
}
