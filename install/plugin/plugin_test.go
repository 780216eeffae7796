package plugin_test

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/deftskills/deft/install/plugin"
	"github.com/deftskills/deft/skill"
)

func tree(files map[string]string) fstest.MapFS {
	out := fstest.MapFS{}
	for name, text := range files {
		out[name] = &fstest.MapFile{Data: []byte(text)}
	}
	return out
}

const checkup = "---\nname: checkup\ndescription: Looks at things.\nlicense: MIT\n---\nLook.\n"

func TestAPluginCarriesSkillsCommandsHooksAndServers(t *testing.T) {
	t.Parallel()
	p := plugin.Read(tree(map[string]string{
		".claude-plugin/plugin.json": `{"name": "north", "version": "1.0"}`,
		"skills/checkup/SKILL.md":    checkup, "skills/group/deep/SKILL.md": strings.ReplaceAll(checkup, "checkup", "deep"),
		"skills/checkup/inner/SKILL.md": checkup, "skills/broken/SKILL.md": "",
		"commands/deploy.md": "Deploy.\n", "commands/checkup.md": "Hidden.\n", "agents/reviewer.md": "x",
		"hooks/hooks.json": `{"description": "d", "hooks": {"PreToolUse": [{"matcher": "Bash|Write", "hooks": [{"type": "command", "command": "${CLAUDE_PLUGIN_ROOT}/check.sh"}]}],
			"Nonsense": [{"hooks": [{"type": "command", "command": "x"}]}]}}`,
		".mcp.json": `{"mcpServers": {"db": {"command": "${CLAUDE_PLUGIN_ROOT}/db", "args": ["--at", "${PLUGIN_ROOT}"], "env": {"KEY": "${DB_KEY}", "A": "b"}},
			"web": {"url": "https://x.example/mcp", "headers": {"Authorization": "Bearer ${T}"}}, "odd": {"command": "${HOME}/x"}, "none": {}}}`,
	}), "/plugins/north@m/1.0")
	var skills []string
	for _, s := range p.Skills {
		skills = append(skills, s.Name+" "+s.Dir+" "+s.Licence)
	}
	if !slices.Equal(skills, []string{"broken skills/broken ", "checkup skills/checkup MIT", "deep skills/group/deep MIT"}) || p.Skills[0].Problem == "" {
		t.Errorf("%q", skills)
	}
	if !slices.Equal(p.Commands, []string{"deploy"}) || !slices.Equal(p.Agents, []string{"agents/reviewer.md"}) || p.Empty() {
		t.Errorf("%q %q", p.Commands, p.Agents)
	}
	if len(p.Hooks) != 1 || p.Hooks[0].ID != "hook:PreToolUse/0" || p.Hooks[0].Text() != "PreToolUse command [Bash, Write]: ${CLAUDE_PLUGIN_ROOT}/check.sh" {
		t.Errorf("%+v", p.Hooks)
	}
	var codes []string
	for _, d := range p.Found {
		codes = append(codes, d.Code)
	}
	if !slices.Equal(codes, []string{"command_shadowed", "hook_event"}) {
		t.Errorf("%v", p.Found)
	}
	if len(p.Servers) != 4 || p.Servers[0].Problem != "" || p.Servers[0].Alias("North!") != "north-db" {
		t.Fatalf("%+v", p.Servers)
	}
	for _, s := range p.Servers[1:] {
		if s.Problem == "" {
			t.Errorf("%+v", s)
		}
	}
	at, env := p.Servers[0].At("/p")
	if at.Command != "/p/db" || !slices.Equal(at.Args, []string{"--at", "/p"}) || env["KEY"] != "DB_KEY" || at.Env["A"] != "b" || at.Env["KEY"] != "" {
		t.Errorf("%+v %v", at, env)
	}
}

func TestAServerRunsInTheFolderThatThePluginSays(t *testing.T) {
	t.Parallel()
	const out = "it wants to run in a folder outside of the plugin"
	for cwd, want := range map[string]string{
		"": "", ".": "", "./": "", "${PLUGIN_ROOT}": "", "${CLAUDE_PLUGIN_ROOT}/": "", "${CLAUDE_PLUGIN_ROOT}/srv": "srv", "srv/a": "srv/a", "${PLUGIN_ROOT}/a/../b": "b",
		"..": out, "/etc": out, "/etc/${PLUGIN_ROOT}": out, "${PLUGIN_ROOT}/../x": out, "${HOME}": out, "${PLUGIN_ROOT}/${X}": out, "${PLUGIN_ROOT}x/..": "", `a\b`: out,
	} {
		manifest, err := json.Marshal(map[string]any{"name": "n", "mcpServers": map[string]any{"s": map[string]string{"command": "x", "cwd": cwd}}})
		if err != nil {
			t.Fatal(err)
		}
		s := plugin.Read(tree(map[string]string{"plugin.json": string(manifest)}), "/n").Servers[0]
		if got := s.Dir + s.Problem; got != want {
			t.Errorf("%q: %q, want %q", cwd, got, want)
		}
	}
}

func TestAgreementIsToEveryByte(t *testing.T) {
	t.Parallel()
	read := func(hooks string) plugin.Plugin {
		return plugin.Read(tree(map[string]string{"plugin.json": `{"name": "n", "hooks": ` + hooks + `}`}), "/n")
	}
	base := `[{"event": "PreToolUse", "type": "command", "command": "a", "tools": ["Write"]}]`
	one := skill.Digest("sha256:1")
	seen := map[skill.Digest]string{read(base).Hooks[0].Digest("sha256:2"): "another tree"}
	for _, other := range []string{
		base, strings.Replace(base, `"a"`, `"b"`, 1), strings.Replace(base, "Write", "Read", 1),
		strings.Replace(base, `"PreToolUse"`, `"PostToolUse"`, 1), strings.Replace(base, `"tools"`, `"once": true, "tools"`, 1),
	} {
		d := read(other).Hooks[0].Digest(one)
		if was, ok := seen[d]; ok {
			t.Errorf("%s has the digest of %s", other, was)
		}
		seen[d] = other
	}
	if read(base).HooksDigest(one) == read(base).HooksDigest("sha256:2") || plugin.Read(tree(nil), "/x").HooksDigest(one) != "" {
		t.Error("the digest of all hooks")
	}
}

func TestWhatLeadsOutOfAPluginIsNamed(t *testing.T) {
	t.Parallel()
	for _, manifest := range []string{
		`{"name": "n", "skills": "../x"}`, `{"name": "n", "hooks": "../h.json"}`, `{"name": "n", "mcpServers": "/etc/passwd"}`, `{"name": "n", "skills": ["~/x"]}`,
		`{"name": "n", "hooks": ["../h.json"]}`,
	} {
		p := plugin.Read(tree(map[string]string{"plugin.json": manifest, "skills/checkup/SKILL.md": checkup}), "/n")
		if d, bad := p.Bad(); !bad || d.Code != "plugin_bad_path" {
			t.Errorf("%s: %v", manifest, p.Found)
		}
	}
	if p := plugin.Read(tree(map[string]string{"plugin.json": `{"name": "n"}`, "README": "x"}), "/n"); !p.Empty() {
		t.Errorf("%+v", p)
	}
}

func TestOffersOfAMarketplace(t *testing.T) {
	t.Parallel()
	digest := "sha256:" + strings.Repeat("a", 64)
	m, err := plugin.ReadMarket([]byte(`{"name": "shop", "metadata": {"pluginRoot": "./plugins"}, "plugins": [
		{"name": "a", "source": "./a"}, {"name": "b", "source": "b", "version": "1.2"}, {"name": "c", "source": "../../c"}, {"name": "root", "source": "./"},
		{"name": "d", "source": {"source": "github", "repo": "o/r", "ref": "v1"}},
		{"name": "e", "source": {"source": "url", "url": "https://x.example/r.git", "sha": "` + strings.Repeat("0", 40) + `"}},
		{"name": "f", "source": {"source": "git-subdir", "url": "https://x.example/r.git", "path": "p/f"}},
		{"name": "g", "source": {"source": "npm", "package": "x"}}, {"name": "h", "source": 3},
		{"name": "i", "version": "1.0.0", "url": "https://x.example/i.zip", "digest": "` + digest + `"},
		{"name": "i", "version": "1.10.0", "url": "https://x.example/i2.zip", "digest": "` + digest + `"}, {"name": "j", "url": "https://x.example/j.zip"}]}`))
	if err != nil || m.Name != "shop" {
		t.Fatal(err)
	}
	var got []string
	for _, o := range m.Offers {
		if o.Problem != "" {
			got = append(got, o.Name+" -")
			continue
		}
		got = append(got, o.Name+" "+o.Path+o.Text+o.URL)
	}
	want := []string{
		"a a", "b plugins/b", "c -", "root .", "d https://github.com/o/r.git#v1", "e https://x.example/r.git#" + strings.Repeat("0", 40),
		"f https://x.example/r.git#:p/f", "g -", "h -", "i https://x.example/i.zip", "i https://x.example/i2.zip", "j -",
	}
	if !slices.Equal(got, want) {
		t.Errorf("%q", got)
	}
	if o := m.Find("i"); len(o) != 2 || o[0].Version != "1.10.0" {
		t.Errorf("%+v", o)
	}
}

func TestAFolderOffersTheFoldersInIt(t *testing.T) {
	t.Parallel()
	m, err := plugin.Offers(tree(map[string]string{
		"north/.claude-plugin/plugin.json": `{"name": "north", "version": "1.0"}`, "north/skills/checkup/SKILL.md": checkup,
		"pulse/4.1.0/plugin.json": `{"version": "4.1.0"}`, "forge/9f2c41d07ab3/skills/compile/SKILL.md": checkup, "docs/README": "x", ".git/skills/x/SKILL.md": checkup,
	}))
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, o := range m.Offers {
		got = append(got, o.Name+" "+o.Version+" "+o.Path)
	}
	if !slices.Equal(got, []string{"forge 9f2c41d07ab3 forge/9f2c41d07ab3", "north 1.0 north", "pulse 4.1.0 pulse/4.1.0"}) {
		t.Errorf("%q", got)
	}
}

// An entry may stand for a manifest, where the plugin has none.
func TestAnEntryStandsForAManifest(t *testing.T) {
	t.Parallel()
	m, err := plugin.ReadMarket([]byte(`{"plugins": [{"name": "docs", "source": "./", "strict": false, "skills": ["./pdf"]}, {"name": "plain", "source": "./"}]}`))
	if err != nil {
		t.Fatal(err)
	}
	files := map[string]string{"pdf/SKILL.md": checkup, "other/SKILL.md": checkup}
	f, ok := m.Offers[0].Stand(tree(files))
	if !ok || f.Path != ".claude-plugin/plugin.json" {
		t.Fatalf("%+v", f)
	}
	files[f.Path] = string(f.Data)
	p := plugin.Read(tree(files), "/x/9f2c41d07ab3")
	if len(p.Skills) != 1 || plugin.PickName(p, m.Offers[0]) != "docs" {
		t.Errorf("%+v", p)
	}
	if _, ok := m.Offers[1].Stand(tree(map[string]string{"pdf/SKILL.md": checkup})); ok {
		t.Error("an entry without parts made a manifest")
	}
	if _, ok := m.Offers[0].Stand(tree(files)); ok {
		t.Error("an entry took the place of a manifest")
	}
}

func TestNamesAndVersionsOfPlugins(t *testing.T) {
	t.Parallel()
	none := plugin.Read(tree(map[string]string{"skills/checkup/SKILL.md": checkup}), "/m/pulse/4.1.0")
	named := plugin.Read(tree(map[string]string{"plugin.json": `{"name": "own", "version": "beta"}`}), "/m/pulse/4.1.0")
	for _, c := range []struct {
		p    plugin.Plugin
		o    plugin.Offer
		name string
	}{{none, plugin.Offer{}, "pulse"}, {none, plugin.Offer{Name: "entry"}, "entry"}, {none, plugin.Offer{Name: "9f2c41d07ab3"}, "pulse"}, {named, plugin.Offer{Name: "entry"}, "own"}} {
		if got := plugin.PickName(c.p, c.o); got != c.name {
			t.Errorf("%q, want %q", got, c.name)
		}
	}
	if v := plugin.PickVersion(named, plugin.Offer{}, ""); v != "0.0.0-beta" {
		t.Error(v)
	}
	none.Version = ""
	if v := plugin.PickVersion(none, plugin.Offer{}, "sha256:0123456789abcdef"); v != "0123456789ab" {
		t.Error(v)
	}
}

func FuzzAPluginIsReadWhole(f *testing.F) {
	f.Add(`{"name": "n", "hooks": {"PreToolUse": [{"hooks": [{"type": "command", "command": "x"}]}]}}`, `{"mcpServers": {"a": {"command": "x"}}}`)
	f.Add(`{"name": 3, "skills": [1, "../x"], "hooks": ["h.json"]}`, `{"plugins": [{"name": "x", "source": {}}]}`)
	f.Fuzz(func(_ *testing.T, manifest, other string) {
		p := plugin.Read(tree(map[string]string{".claude-plugin/plugin.json": manifest, ".mcp.json": other, "hooks/hooks.json": other, "h.json": other}), "/x")
		_ = p.HooksDigest("t")
		if m, err := plugin.ReadMarket([]byte(other)); err == nil {
			for _, o := range m.Offers {
				_, _ = o.Stand(tree(nil))
			}
		}
	})
}
