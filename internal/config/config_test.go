package config

import (
	"io"
	"io/fs"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"
)

func load(t *testing.T, user, project string, trusted bool) (*Config, []string) {
	t.Helper()
	files := fstest.MapFS{}
	if user != "" {
		files["user/config.yaml"] = &fstest.MapFile{Data: []byte(user)}
	}
	if project != "" {
		files["repo/.deft/config.yaml"] = &fstest.MapFile{Data: []byte(project)}
	}
	c, diags := Load(Input{
		Open: func(path string) (io.ReadCloser, error) {
			f, err := files.Open(strings.TrimPrefix(path, "/"))
			return f, err
		},
		UserFile: "/user/config.yaml", ProjectFile: "/repo/.deft/config.yaml", ProjectRoot: "/repo", ProjectTrusted: trusted,
	})
	var got []string
	for _, d := range diags {
		got = append(got, strings.Join([]string{d.Code, d.File, itoa(d.Line), itoa(d.Column)}, ":"))
		if d.Fix == "" || d.Message == "" {
			t.Errorf("diagnostic %s has no message or no fix", d.Code)
		}
	}
	return c, got
}

func itoa(n int) string { return string(rune('0' + n)) }

func TestNothingSetLeavesDefaults(t *testing.T) {
	t.Parallel()
	c, diags := load(t, "", "", false)
	if len(diags) != 0 || !c.External || !c.WalkUp || c.TrustProject != TrustAsk || c.Model != "" {
		t.Errorf("got %+v, %v", c, diags)
	}
	if got := c.From("model"); got.Level != Default {
		t.Errorf("origin of an unset key: %+v", got)
	}
}

func TestEachValueKnowsItsPlace(t *testing.T) {
	t.Parallel()
	c, diags := load(t, `skills:
  external:
    enabled: false
    sources:
      user-claude: {enabled: false}
      user-codex: {priority: 3.5}
  sources:
    - ~/more
    - {path: "lib/*", kind: user, priority: 7, enabled: false}
  clients: cursor, gemini-cli
  trust: {project: always}
model: openai/x
models:
  local: {base_url: "http://127.0.0.1:1/v1", key_env: KEY}
`, "", false)
	if len(diags) != 0 {
		t.Fatalf("diagnostics: %v", diags)
	}
	if c.External || c.TrustProject != TrustAlways || c.Model != "openai/x" || c.Models["local"].KeyEnv != "KEY" {
		t.Errorf("got %+v", c)
	}
	if cc := c.Roots["user-cc"]; cc.Enabled == nil || *cc.Enabled {
		t.Errorf("the older name of a root is not taken: %+v", c.Roots)
	}
	if p := c.Roots["user-codex"].Priority; p == nil || *p != 3.5 {
		t.Errorf("priority: %v", p)
	}
	if len(c.Sources) != 2 || c.Sources[0].Path != "~/more" || !c.Sources[1].Off || *c.Sources[1].Priority != 7 || c.Sources[1].From.Line != 9 {
		t.Errorf("sources: %+v", c.Sources)
	}
	if diff := cmp.Diff([]string{"cursor", "gemini-cli"}, c.Clients); diff != "" {
		t.Error(diff)
	}
	if got, want := c.From("skills.trust.project"), (From{User, "/user/config.yaml", 11}); got != want {
		t.Errorf("origin %+v, want %+v", got, want)
	}
}

func TestABadValueFallsBackAlone(t *testing.T) {
	t.Parallel()
	c, diags := load(t, `skills:
  external: {enabled: maybe, walkUp: false}
  trust: {project: perhaps}
  clients: {a: b}
  sources: [3, [], {kind: user}]
  colour: red
extra: 1
model: openai/x
`, "", false)
	want := []string{
		"config_value:/user/config.yaml:2:23", "config_value:/user/config.yaml:3:20", "config_value:/user/config.yaml:4:12",
		"config_value:/user/config.yaml:5:16", "config_value:/user/config.yaml:5:20",
		"config_unknown:/user/config.yaml:6:3", "config_unknown:/user/config.yaml:7:1",
	}
	fix := func(s []string) []string { // itoa is for single digits only
		var out []string
		for _, x := range s {
			out = append(out, x[:strings.LastIndex(x, ":")])
		}
		return out
	}
	if diff := cmp.Diff(fix(want), fix(diags)); diff != "" {
		t.Error(diff)
	}
	if !c.External || c.WalkUp || c.TrustProject != TrustAsk || c.Model != "openai/x" || len(c.Sources) != 1 {
		t.Errorf("got %+v", c)
	}
}

func TestProjectFileIsIgnoredUntilTrustedAndOnlyTightens(t *testing.T) {
	t.Parallel()
	project := "skills:\n  trust: {project: always}\n  sources: [tools/skills, ../other, ~/x, /etc/skills]\n"
	c, diags := load(t, "", project, false)
	if diff := cmp.Diff([]string{"project_config_ignored:/repo/.deft/config.yaml:0:0"}, diags); diff != "" || len(c.Sources) != 0 {
		t.Errorf("untrusted: %s %+v", diff, c.Sources)
	}
	c, diags = load(t, "", project, true)
	if len(c.Sources) != 1 || c.Sources[0].Path != "tools/skills" || c.Sources[0].Base != "/repo" || c.TrustProject != TrustAsk {
		t.Errorf("trusted: %+v", c)
	}
	var codes []string
	for _, d := range diags {
		codes = append(codes, strings.SplitN(d, ":", 2)[0])
	}
	if diff := cmp.Diff([]string{"config_unknown", "root_outside_project", "root_outside_project", "root_outside_project"}, codes); diff != "" {
		t.Error(diff)
	}
}

func TestUnreadableAndBrokenFilesAreLocated(t *testing.T) {
	t.Parallel()
	for name, text := range map[string]string{
		"not yaml": "skills:\n\t- x", "a list": "- a", "alias": "model: *x", "too large": strings.Repeat("#", maxFile+1),
		"bytes": "\xff\xfe\x00", "deep": strings.Repeat("{a: ", 20000),
	} {
		_, diags := load(t, text, "", false)
		if len(diags) != 1 || !strings.HasPrefix(diags[0], "config_value:/user/config.yaml:") {
			t.Errorf("%s: %v", name, diags)
		}
	}
	_, diags := Load(Input{UserFile: "/c", Open: func(string) (io.ReadCloser, error) {
		return nil, &fs.PathError{Op: "open", Path: "/c", Err: fs.ErrPermission}
	}})
	if len(diags) != 1 || diags[0].Code != "config_value" || !strings.Contains(diags[0].Message, "permission") {
		t.Errorf("unreadable: %+v", diags)
	}
}

func FuzzLoad(f *testing.F) {
	f.Add("skills: {sources: [a, {path: b}], external: {sources: {x: {priority: .inf}}}}", true)
	f.Add("model: &a [*a]", false)
	f.Fuzz(func(t *testing.T, text string, project bool) {
		c, diags := Load(Input{
			Open:     func(string) (io.ReadCloser, error) { return io.NopCloser(strings.NewReader(text)), nil },
			UserFile: "/u", ProjectFile: map[bool]string{true: "/p/.deft/config.yaml"}[project], ProjectRoot: "/p", ProjectTrusted: true,
		})
		if c == nil || len(c.Settings()) == 0 {
			t.Fatal("no config")
		}
		for _, d := range diags {
			if d.File == "" || d.Code == "" {
				t.Fatalf("unlocated: %+v", d)
			}
		}
	})
}

func TestDirsOfEachSystem(t *testing.T) {
	t.Parallel()
	home := map[string]string{"HOME": "/h"}
	with := func(pairs ...string) map[string]string {
		m := map[string]string{"HOME": "/h"}
		for i := 0; i < len(pairs); i += 2 {
			m[pairs[i]] = pairs[i+1]
		}
		return m
	}
	all := func(b string) Dirs {
		return Dirs{"/h", b + "/config", b + "/data", b + "/state", b + "/cache", b + "/run"}
	}
	for name, tt := range map[string]struct {
		env   map[string]string
		goos  string
		base  string
		want  Dirs
		diags int
	}{
		"linux": {home, "linux", "", Dirs{"/h", "/h/.config/deft", "/h/.local/share/deft", "/h/.local/state/deft", "/h/.cache/deft", "/h/.local/state/deft/run"}, 0},
		"darwin": {home, "darwin", "", Dirs{
			"/h", "/h/Library/Application Support/deft/config", "/h/Library/Application Support/deft/data",
			"/h/Library/Application Support/deft/state", "/h/Library/Caches/deft", "/h/Library/Application Support/deft/state/run",
		}, 0},
		"xdg":          {with("XDG_CONFIG_HOME", "/c", "XDG_RUNTIME_DIR", "/r"), "linux", "", Dirs{"/h", "/c/deft", "/h/.local/share/deft", "/h/.local/state/deft", "/h/.cache/deft", "/r/deft"}, 0},
		"relative xdg": {with("XDG_CONFIG_HOME", "c"), "linux", "", Dirs{"/h", "/h/.config/deft", "/h/.local/share/deft", "/h/.local/state/deft", "/h/.cache/deft", "/h/.local/state/deft/run"}, 1},
		"DEFT_HOME":    {with("DEFT_HOME", "/d"), "linux", "", all("/d"), 0},
		"flag wins":    {with("DEFT_HOME", "/d"), "linux", "sub", all("/w/sub"), 0},
	} {
		got, diags, err := FindDirs(Places{Getenv: func(k string) string { return tt.env[k] }, GOOS: tt.goos, Base: tt.base, Dir: "/w"})
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(tt.want, got); diff != "" || len(diags) != tt.diags {
			t.Errorf("%s: %s %v", name, diff, diags)
		}
	}
	if _, _, err := FindDirs(Places{Getenv: func(string) string { return "" }, GOOS: "linux", Dir: "/w"}); err == nil {
		t.Error("no home: no error")
	}
}
