package source_test

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/deftskills/deft/skill"
	"github.com/deftskills/deft/source"
)

// addPlugin writes a plugin with one skill and, where manifest is not "", a manifest.
func addPlugin(t testing.TB, dir, file, manifest string) string {
	t.Helper()
	addSkill(t, filepath.Join(dir, "skills"), "checkup")
	if manifest != "" {
		write(t, filepath.Join(dir, filepath.FromSlash(file)), manifest)
	}
	return dir
}

func scanPlugin(t testing.TB, dir string, o source.PluginOptions) (source.Source, *source.Listing) {
	t.Helper()
	src := source.Plugin(dir, o)
	l, err := src.Scan(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, d := range l.Diagnostics {
		if c, known := skill.LookupCode(d.Code); !known || d.File == "" || d.Message == "" || d.Level != c.Level {
			t.Errorf("finding without place, words or row: %+v", d)
		}
	}
	return src, l
}

func inAnHour() time.Time { return time.Now().Add(time.Hour) }

func TestTheFirstManifestOfFiveFormatsSpeaks(t *testing.T) {
	t.Parallel()
	files := []string{
		".deft-plugin/plugin.json", ".minimax-plugin/plugin.json", ".claude-plugin/plugin.json", ".codex-plugin/plugin.json", "plugin.json",
	}
	formats := []source.PluginFormat{source.FormatDeft, source.FormatMiniMax, source.FormatClaudeCode, source.FormatCodex, source.FormatOpen}
	dir := tempDir(t)
	for i := len(files) - 1; i >= 0; i-- { // each next one goes before those that are there
		addPlugin(t, dir, files[i], fmt.Sprintf(
			`{"name": "n%d", "displayName": "N", "version": "1.%d", "description": "D", "mcpServers": {"s": {"command": "x"}}, "hooks": "./h.json", "icon": [1]}`, i, i))
		m, diags := source.ReadManifest(dir)
		if len(diags) != 0 || m.Format != formats[i] || m.Prefix != fmt.Sprintf("n%d", i) || m.Version != fmt.Sprintf("1.%d", i) ||
			m.DisplayName != "N" || m.Description != "D" || m.File != filepath.Join(dir, files[i]) {
			t.Errorf("%s: %+v %v", files[i], m, diags)
		}
		if string(m.MCPServers) != `{"s": {"command": "x"}}` || string(m.Hooks) != `"./h.json"` || string(m.Fields["icon"]) != "[1]" {
			t.Errorf("%s: %s %s %v", files[i], m.MCPServers, m.Hooks, m.Fields)
		}
		src, l := scanPlugin(t, dir, source.PluginOptions{})
		e := l.Entries[0]
		if i := src.Info(); i.ID != "plugin:"+m.Prefix || i.Kind != source.PluginK || i.Trust != source.Untrusted || i.Version != m.Version || e.Source != i {
			t.Errorf("source %+v, of the entry %+v", i, e.Source)
		}
	}
}

func TestFilesOfAHostStandForFieldsThatAreNotWritten(t *testing.T) {
	t.Parallel()
	dir := tempDir(t)
	write(t, filepath.Join(dir, ".claude-plugin/plugin.json"), `{"name": "a"}`)
	write(t, filepath.Join(dir, ".mcp.json"), `{}`)
	write(t, filepath.Join(dir, "hooks/hooks.json"), `{}`)
	if m, _ := source.ReadManifest(dir); string(m.MCPServers) != `"./.mcp.json"` || string(m.Hooks) != `"./hooks/hooks.json"` {
		t.Errorf("%s %s", m.MCPServers, m.Hooks)
	}
	if _, l := scanPlugin(t, dir, source.PluginOptions{}); len(l.Diagnostics) != 0 {
		t.Errorf("a plugin without skills but with servers: %v", l.Diagnostics)
	}
}

func TestAnEmptyPluginIsReportedOnlyInCompatibleFormats(t *testing.T) {
	t.Parallel()
	for file, want := range map[string]string{
		".deft-plugin/plugin.json": "", ".minimax-plugin/plugin.json": "", ".claude-plugin/plugin.json": "plugin_empty",
		".codex-plugin/plugin.json": "plugin_empty", "plugin.json": "plugin_empty",
	} {
		dir := tempDir(t)
		write(t, filepath.Join(dir, file), `{"name": "a", "mcpServers": {}, "hooks": null}`)
		_, l := scanPlugin(t, dir, source.PluginOptions{})
		if got := strings.Join(codes(l.Diagnostics), " "); got != want {
			t.Errorf("%s: %q, want %q", file, got, want)
		}
	}
}

func TestPathsOfAManifestStayInThePlugin(t *testing.T) {
	t.Parallel()
	outside := tempDir(t)
	addSkill(t, outside, "secret")
	for name, c := range map[string]struct {
		skills string
		found  []string
		codes  []string
	}{
		"a path":            {`"./tools"`, []string{"t1"}, nil},
		"a list":            {`["tools/", "more/m1"]`, []string{"m1", "t1"}, nil},
		"a file":            {`"more/m1/SKILL.md"`, []string{"m1"}, nil},
		"the variable":      {`"${CLAUDE_PLUGIN_ROOT}/tools"`, []string{"t1"}, nil},
		"one path twice":    {`["tools", "./tools"]`, []string{"t1"}, nil},
		"climbing":          {`["../x", "tools/../../x", "tools"]`, []string{"t1"}, []string{"plugin_bad_path", "plugin_bad_path"}},
		"absolute":          {`"` + outside + `"`, nil, []string{"plugin_bad_path"}},
		"home":              {`"~/skills"`, nil, []string{"plugin_bad_path"}},
		"another variable":  {`"$HOME/skills"`, nil, []string{"plugin_bad_path"}},
		"a NUL":             {`"tools\u0000"`, nil, []string{"plugin_bad_path"}},
		"a link out":        {`["away", "tools"]`, []string{"t1"}, []string{"plugin_bad_path"}},
		"below a link out":  {`"away/secret"`, nil, []string{"plugin_bad_path"}},
		"a link inside":     {`"inside"`, []string{"t1"}, nil},
		"missing":           {`["gone", "tools"]`, []string{"t1"}, []string{"path_missing"}},
		"no path":           {`[3, "", "tools"]`, []string{"t1"}, []string{"plugin_manifest", "plugin_manifest"}},
		"no list":           {`{"a": 1}`, []string{"checkup"}, []string{"plugin_manifest"}},
		"nothing":           {`null`, []string{"checkup"}, []string{"plugin_manifest"}},
		"an empty list":     {`[]`, nil, []string{"plugin_empty"}},
		"the plugin itself": {`"."`, []string{"checkup", "m1", "t1"}, []string{"link_outside"}},
		"too many":          {`[` + strings.Repeat(`"tools",`, 64) + `"more"]`, []string{"t1"}, []string{"plugin_manifest"}},
	} {
		dir := addPlugin(t, filepath.Join(tempDir(t), "p"), ".claude-plugin/plugin.json", `{"name": "p", "skills": `+c.skills+`}`)
		addSkill(t, filepath.Join(dir, "tools"), "t1")
		addSkill(t, filepath.Join(dir, "more"), "m1")
		link(t, outside, filepath.Join(dir, "away"))
		link(t, filepath.Join(dir, "tools"), filepath.Join(dir, "inside"))
		_, l := scanPlugin(t, dir, source.PluginOptions{})
		var found []string
		for _, e := range l.Entries {
			found = append(found, e.Skill.Name)
		}
		slices.Sort(found)
		if !slices.Equal(found, c.found) || !slices.Equal(codes(l.Diagnostics), c.codes) {
			t.Errorf("%s: skills %v, findings %v", name, found, l.Diagnostics)
		}
		for _, d := range l.Diagnostics {
			if d.Code == "plugin_bad_path" && d.Line != 1 {
				t.Errorf("%s: unlocated %+v", name, d)
			}
		}
	}
}

func TestLinksOfAPluginsSkillsStayInThePlugin(t *testing.T) {
	t.Parallel()
	outside := tempDir(t)
	addSkill(t, outside, "secret")
	dir := addPlugin(t, filepath.Join(tempDir(t), "p"), "", "")
	link(t, filepath.Join(outside, "secret"), filepath.Join(dir, "skills", "linked"))
	link(t, filepath.Join(outside, "secret", "SKILL.md"), filepath.Join(dir, "skills", "file", "SKILL.md"))
	_, l := scanPlugin(t, dir, source.PluginOptions{})
	if len(l.Entries) != 1 || !slices.Equal(codes(l.Diagnostics), []string{"link_outside", "link_outside"}) {
		t.Errorf("%d skills, %v", len(l.Entries), l.Diagnostics)
	}
	// The folder itself may be a link: that is how people try out their own plugins.
	at := filepath.Join(tempDir(t), "mine")
	link(t, dir, at)
	if src, l := scanPlugin(t, at, source.PluginOptions{}); len(l.Entries) != 1 || src.Info().Namespace != "mine" {
		t.Errorf("linked: %+v %v", l.Entries, src.Info())
	}
	whole := filepath.Join(tempDir(t), "q")
	write(t, filepath.Join(whole, "plugin.json"), `{}`)
	link(t, outside, filepath.Join(whole, "skills"))
	if _, l := scanPlugin(t, whole, source.PluginOptions{}); len(l.Entries) != 0 || !slices.Equal(codes(l.Diagnostics), []string{"link_outside"}) {
		t.Errorf("skills is a link out: %v", l.Diagnostics)
	}
}

func TestHostileManifestsCostThemselvesOnly(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		text       string
		line, col  int
		says       string
		stillNamed bool
	}{
		"no JSON":           {"name: a", 1, 2, "invalid character", false},
		"empty":             {"", 1, 1, "EOF", false},
		"cut short":         {"{\"name\": \"a\",\n \"skills\"", 0, 0, "EOF", false},
		"a list":            {"[1]", 1, 1, "no object", false},
		"a text":            {`"a"`, 1, 1, "no object", false},
		"twice at the top":  {"{\"name\": \"a\",\n\"name\": \"b\"}", 0, 0, `"name" is given twice`, false},
		"twice below":       {`{"hooks": {"x": 1, "x": 2}}`, 0, 0, `"x" is given twice`, false},
		"deep lists":        {`{"a": ` + strings.Repeat("[", 5000) + strings.Repeat("]", 5000) + "}", 0, 0, "deeper than 32", false},
		"deep objects":      {strings.Repeat(`{"a":`, 40) + "1" + strings.Repeat("}", 40), 0, 0, "deeper than 32", false},
		"something behind":  {`{"name": "a"} {"name": "b"}`, 0, 0, "follows", false},
		"huge":              {`{"name": "a", "x": "` + strings.Repeat("y", 256<<10) + `"}`, 0, 0, "more than 262144 bytes", false},
		"a name of numbers": {"{\n  \"name\": 12}", 2, 11, "name is no text", false},
		"hooks of numbers":  {`{"name": "a", "hooks": 3}`, 0, 0, "hooks is neither", true},
		"a byte order mark": {"\uFEFF{\"name\": \"a\"}", 0, 0, "", true},
	} {
		dir := addPlugin(t, filepath.Join(tempDir(t), "folder"), ".claude-plugin/plugin.json", " ")
		write(t, filepath.Join(dir, ".claude-plugin/plugin.json"), c.text)
		src, l := scanPlugin(t, dir, source.PluginOptions{})
		want := "folder"
		if c.stillNamed {
			want = "a"
		}
		if len(l.Entries) != 1 || src.Info().Namespace != want {
			t.Errorf("%s: %d skills below %q", name, len(l.Entries), src.Info().Namespace)
		}
		if c.says == "" {
			if len(l.Diagnostics) != 0 {
				t.Errorf("%s: %v", name, l.Diagnostics)
			}
			continue
		}
		if len(l.Diagnostics) != 1 || l.Diagnostics[0].Code != "plugin_manifest" || !strings.Contains(l.Diagnostics[0].Message, c.says) {
			t.Errorf("%s: %v", name, l.Diagnostics)
			continue
		}
		if d := l.Diagnostics[0]; c.line != 0 && (d.Line != c.line || d.Column != c.col) {
			t.Errorf("%s: at %d:%d, want %d:%d", name, d.Line, d.Column, c.line, c.col)
		}
		if _, l := scanPlugin(t, dir, source.PluginOptions{Format: source.Format{Dialect: skill.MiniMax}}); c.line == 1 && len(l.Entries) != 0 {
			t.Errorf("%s: dialect minimax reads the skills of a broken manifest", name)
		}
	}
}

func TestManifestsThatAreNoFilesAreNotRead(t *testing.T) {
	t.Parallel()
	secret := filepath.Join(tempDir(t), "plugin.json")
	write(t, secret, `{"name": "stolen"}`)
	for name, make := range map[string]func(dir string){
		"a link out":        func(dir string) { link(t, secret, filepath.Join(dir, "plugin.json")) },
		"a folder link out": func(dir string) { link(t, filepath.Dir(secret), filepath.Join(dir, ".claude-plugin")) },
		"a directory":       func(dir string) { write(t, filepath.Join(dir, "plugin.json", "x"), "") },
		"a loop":            func(dir string) { link(t, "plugin.json", filepath.Join(dir, "plugin.json")) },
	} {
		dir := addPlugin(t, filepath.Join(tempDir(t), "folder"), "", "")
		make(dir)
		src, l := scanPlugin(t, dir, source.PluginOptions{})
		if src.Info().Namespace != "folder" || len(l.Entries) != 1 || !slices.Equal(codes(l.Diagnostics), []string{"plugin_manifest"}) {
			t.Errorf("%s: %q %v", name, src.Info().Namespace, l.Diagnostics)
		}
	}
	dir := addPlugin(t, filepath.Join(tempDir(t), "folder"), "real/plugin.json", `{"name": "inside"}`)
	link(t, "../real/plugin.json", filepath.Join(dir, ".codex-plugin", "plugin.json"))
	if src, l := scanPlugin(t, dir, source.PluginOptions{}); src.Info().Namespace != "inside" || len(l.Diagnostics) != 0 {
		t.Errorf("a link inside: %+v %v", src.Info(), l.Diagnostics)
	}
}

func TestThePrefixIsNeverAVersion(t *testing.T) {
	t.Parallel()
	for dir, want := range map[string][2]string{ // prefix, version
		"forge":                     {"forge", ""},
		"forge/1.2.3":               {"forge", "1.2.3"},
		"forge/v2":                  {"forge", "v2"},
		"forge/1.0.0-rc.1":          {"forge", "1.0.0-rc.1"},
		"forge@market/9f2c41d07ab3": {"forge", "9f2c41d07ab3"},
		"forge/1.0/2.0":             {"forge", "2.0"},
		"2048-game":                 {"2048-game", ""},
		"3d-tools":                  {"3d-tools", ""},
		"a b:c":                     {"a-b-c", ""},
	} {
		at := addPlugin(t, filepath.Join(tempDir(t), filepath.FromSlash(dir)), "", "")
		i := source.Plugin(at, source.PluginOptions{}).Info()
		if i.Namespace != want[0] || i.Version != want[1] {
			t.Errorf("%s: %q %q", dir, i.Namespace, i.Version)
		}
	}
	at := addPlugin(t, filepath.Join(tempDir(t), "p"), "plugin.json", `{"name": "@north/Kit:\u0007 2"}`)
	if src, l := scanPlugin(t, at, source.PluginOptions{}); src.Info().Namespace != "north-Kit---2" || !slices.Equal(codes(l.Diagnostics), []string{"plugin_name"}) {
		t.Errorf("%q %v", src.Info().Namespace, l.Diagnostics)
	}
}

func TestOfSeveralVersionsOneCounts(t *testing.T) {
	t.Parallel()
	data, here, there := tempDir(t), tempDir(t), tempDir(t)
	for _, v := range []string{"1.9.0", "1.10.0", "2.0.0-rc.1", "2.0.0", "9f2c41d07ab3", ".tmp"} {
		addPlugin(t, filepath.Join(data, "plugins", "kit@market", v), "plugin.json", `{"name": "kit"}`)
	}
	reg := func(version, project string) source.RegisteredPlugin {
		return source.RegisteredPlugin{Name: "kit", Market: "market", Version: version, Project: project}
	}
	for name, c := range map[string]struct {
		given     []source.RegisteredPlugin
		use       string
		removable int
	}{
		"nobody registers any":         {nil, "2.0.0", 4},
		"the user":                     {[]source.RegisteredPlugin{reg("1.9.0", "")}, "1.9.0", 4},
		"the highest of the user":      {[]source.RegisteredPlugin{reg("1.10.0", ""), reg("1.9.0", "")}, "1.10.0", 3},
		"this project before the user": {[]source.RegisteredPlugin{reg("2.0.0", ""), reg("1.9.0", here)}, "1.9.0", 3},
		"another project":              {[]source.RegisteredPlugin{reg("2.0.0", there)}, "", 4},
		"another project and the user": {[]source.RegisteredPlugin{reg("2.0.0", there), reg("1.9.0", "")}, "1.9.0", 3},
		"another plugin":               {[]source.RegisteredPlugin{{Name: "kit", Market: "x", Version: "1.9.0"}}, "2.0.0", 4},
	} {
		e := source.Env{DataDir: data, Workspace: here, Plugins: c.given}
		installed, diags := source.InstalledPlugins(e)
		use, removable := "", 0
		for _, p := range installed {
			if p.Use {
				use += p.Version
			}
			if p.Removable {
				removable++
			}
		}
		if use != c.use || removable != c.removable || len(diags) != 0 || len(installed) != 5 {
			t.Errorf("%s: uses %q, %d removable, of %+v %v", name, use, removable, installed, diags)
		}
	}
}

func TestPluginsAreNamedByPathOrPattern(t *testing.T) {
	t.Parallel()
	ws := tempDir(t)
	for _, p := range []string{"a", "b", "c/d"} {
		addPlugin(t, filepath.Join(ws, "plugins", p), "", "")
	}
	write(t, filepath.Join(ws, "plugins", "readme.txt"), "no plugin")
	e := source.Env{Workspace: ws, OS: "linux", Getenv: func(string) string { return "" }}
	for form, c := range map[string]struct {
		ids   []string
		codes []string
	}{
		"plugin=plugins/a":                   {[]string{"plugin:a"}, nil},
		"plugin=" + ws + "/plugins/a/":       {[]string{"plugin:a"}, nil},
		"plugin=plugins/{a,b}":               {[]string{"plugin:a", "plugin:b"}, nil},
		"plugin=plugins/[ab]":                {[]string{"plugin:a", "plugin:b"}, nil},
		"plugin=plugins/*/d":                 {[]string{"plugin:d"}, nil},
		"plugin=plugins/x*":                  {nil, []string{"path_missing"}},
		"plugin=plugins/**":                  {nil, []string{"path_glob"}},
		"plugin=plugins/[":                   {nil, []string{"path_glob"}},
		"plugin=" + strings.Repeat("*/", 17): {nil, []string{"path_glob"}},
		"plugin=$NOWHERE/x":                  {nil, []string{"path_variable"}},
		"plugin=":                            {nil, []string{"path_missing"}},
		"plugin=later":                       {[]string{"plugin:later"}, nil},
	} {
		list, diags := source.Expand(t.Context(), []string{form, form}, e)
		var ids []string
		for _, s := range list {
			ids = append(ids, s.Info().ID)
		}
		if !slices.Equal(ids, c.ids) || !slices.Equal(slices.Compact(codes(diags)), c.codes) {
			t.Errorf("%s: %v %v", form, ids, diags)
		}
	}
}

func TestAProjectsPluginsStayInTheProject(t *testing.T) {
	t.Parallel()
	repo, outside := tempDir(t), tempDir(t)
	addPlugin(t, filepath.Join(repo, "tools", "kit"), "", "")
	addPlugin(t, filepath.Join(outside, "far"), "", "")
	link(t, filepath.Join(outside, "far"), filepath.Join(repo, "far"))
	e := source.Env{Workspace: repo, Project: true}
	list, diags := source.Expand(t.Context(), []string{
		"plugin=tools/kit", "plugin=" + outside + "/far", "plugin=../x", "plugin=far",
	}, e)
	if len(list) != 1 || !slices.Equal(slices.Compact(codes(diags)), []string{"root_outside_project"}) || len(diags) != 3 {
		for _, s := range list {
			t.Errorf("%+v", s.Info())
		}
		t.Fatal(diags)
	}
	if i := list[0].Info(); i.ID != "plugin:kit" || i.Trust != source.Pending || i.Priority != 0 {
		t.Errorf("%+v", i)
	}
}

func TestInstalledPluginsAreRoots(t *testing.T) {
	t.Parallel()
	data := tempDir(t)
	addPlugin(t, filepath.Join(data, "plugins", "kit@a", "1.0.0"), "plugin.json", `{"name": "kit"}`)
	addPlugin(t, filepath.Join(data, "plugins", "kit@b", "1.0.0"), "plugin.json", `{"name": "kit"}`)
	addPlugin(t, filepath.Join(data, "plugins", "flat"), "plugin.json", `{"name": "flat"}`)
	write(t, filepath.Join(data, "plugins", "installed.json"), "{}")
	three := 3.0
	roots, diags := source.Roots(t.Context(), source.Env{DataDir: data, Overrides: map[string]source.Override{
		"plugin:flat": {Off: true}, "plugin:kit": {Priority: &three},
	}})
	got := map[string]source.Info{}
	for _, r := range roots {
		if i := r.Info(); i.Kind == source.PluginK {
			got[i.ID] = i
		}
	}
	want := []string{"plugin:flat", "plugin:kit", "plugin:kit@b"}
	if ids := slices.Sorted(maps.Keys(got)); !slices.Equal(ids, want) || len(diags) != 0 {
		t.Fatalf("%v %v", ids, diags)
	}
	addPlugin(t, filepath.Join(data, "plugins", "kit@a", "0.9.0"), "", "")
	if _, diags := source.Roots(t.Context(), source.Env{DataDir: data}); !slices.Equal(codes(diags), []string{"plugin_removable"}) {
		t.Errorf("an older version: %v", diags)
	}
	if got["plugin:flat"].Off != source.PluginOff || got["plugin:kit"].Priority != 3 || got["plugin:kit"].Market != "a" {
		t.Errorf("%+v", got)
	}
}

func TestAPluginsFilesAreReusedUntilItIsCalledOtherwise(t *testing.T) {
	t.Parallel()
	dir := addPlugin(t, filepath.Join(tempDir(t), "p"), "plugin.json", `{"name": "one"}`)
	src, first := scanPlugin(t, dir, source.PluginOptions{Now: inAnHour})
	second, err := src.Scan(t.Context(), first)
	if err != nil || second.Entries[0] != first.Entries[0] || second.Stats.FilesReused != 1 {
		t.Errorf("read again: %+v %v", second.Stats, err)
	}
	write(t, filepath.Join(dir, "plugin.json"), `{"name": "two"}`)
	third, err := src.Scan(t.Context(), second)
	if err != nil || third.Entries[0].Source.Namespace != "two" {
		t.Errorf("%+v %v", third.Entries[0].Source, err)
	}
	if ns := source.Namespaced(src, "mine"); ns.Info().Namespace != "mine" {
		t.Errorf("the host's prefix: %+v", ns.Info())
	} else if l, _ := ns.Scan(t.Context(), nil); l.Entries[0].Source.Namespace != "mine" {
		t.Errorf("of its entries: %+v", l.Entries[0].Source)
	}
	if l, err := source.Load(t.Context(), third.Entries[0]); err != nil || !strings.Contains(l.Body, "# checkup") {
		t.Errorf("load: %v %v", l, err)
	}
	if err := os.RemoveAll(dir); err != nil {
		t.Fatal(err)
	}
	if l, err := src.Scan(t.Context(), third); err != nil || len(l.Entries) != 0 || !slices.Equal(codes(l.Diagnostics), []string{"path_missing"}) {
		t.Errorf("gone: %v %v", l, err)
	}
}

func FuzzManifest(f *testing.F) {
	f.Add(`{"name": "a", "skills": ["x", "../y"], "hooks": {}}`)
	f.Add(`{"name": "\u0000:", "skills": "/"}`)
	f.Add(strings.Repeat(`{"a":[`, 50))
	dir := f.TempDir()
	f.Fuzz(func(t *testing.T, text string) {
		write(t, filepath.Join(dir, "plugin.json"), text)
		m, diags := source.ReadManifest(dir)
		if m.Prefix == "" || strings.ContainsAny(m.Prefix, ":@/\\\n ") {
			t.Fatalf("prefix %q", m.Prefix)
		}
		for _, s := range m.Skills {
			if !filepath.IsLocal(s) {
				t.Fatalf("path %q", s)
			}
		}
		for _, d := range diags {
			if d.File == "" || d.Line < 0 || d.Column < 0 {
				t.Fatalf("unlocated %+v", d)
			}
		}
	})
}
