package source_test

import (
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/deftskills/deft/source"
)

func TestCommandFilesOfAPluginAreSkillsThatAPersonStarts(t *testing.T) {
	t.Parallel()
	dir := addPlugin(t, tempDir(t), ".claude-plugin/plugin.json", `{"name": "north"}`)
	write(t, filepath.Join(dir, "commands/deploy.md"), "---\ndescription: Deploys.\ndisable-model-invocation: false\nuser-invocable: false\n---\nDeploy $ARGUMENTS.\n")
	write(t, filepath.Join(dir, "commands/plain.md"), "Tidies up.\n")
	write(t, filepath.Join(dir, "commands/Checkup.md"), "Has the name of a skill.\n")
	write(t, filepath.Join(dir, "commands/note.txt"), "no command\n")
	src, l := scanPlugin(t, dir, source.PluginOptions{Now: inAnHour})
	var got []string
	for _, e := range l.Entries {
		if e.Skill.Meta.DisableModelInvocation != strings.HasSuffix(filepath.Dir(e.Location), "commands") || !e.Skill.Meta.UserInvocable || !e.Skill.Valid {
			t.Errorf("%s: %+v", e.Location, e.Skill.Meta)
		}
		got = append(got, e.Skill.Name)
	}
	if !slices.Equal(got, []string{"deploy", "plain", "checkup"}) || !slices.Equal(codes(l.Diagnostics), []string{"command_shadowed"}) {
		t.Errorf("%v %v", got, l.Diagnostics)
	}
	// What did not change is the very same skill; what is loaded after a change is a command still.
	again, err := src.Scan(t.Context(), l)
	if err != nil || again.Entries[0].Skill != l.Entries[0].Skill {
		t.Errorf("read again: %v", err)
	}
	write(t, filepath.Join(dir, "commands/deploy.md"), "Deploys otherwise.\n")
	loaded, err := source.Load(t.Context(), l.Entries[0])
	if err != nil || !loaded.Drift || loaded.Skill.Name != "deploy" || !loaded.Skill.Meta.DisableModelInvocation || loaded.Body != "Deploys otherwise.\n" {
		t.Errorf("%+v %v", loaded, err)
	}
	// A format without commands has none.
	other := addPlugin(t, tempDir(t), "plugin.json", `{"name": "south", "commands": "./commands"}`)
	write(t, filepath.Join(other, "commands/deploy.md"), "Deploys.\n")
	if _, l := scanPlugin(t, other, source.PluginOptions{}); len(l.Entries) != 1 {
		t.Errorf("%d entries", len(l.Entries))
	}
}

func TestCommandsNeverLeaveThePlugin(t *testing.T) {
	t.Parallel()
	top := tempDir(t)
	write(t, filepath.Join(top, "outside/secret.md"), "secret\n")
	dir := addPlugin(t, filepath.Join(top, "p"), ".claude-plugin/plugin.json", `{"name": "p", "commands": ["../outside", "./c"]}`)
	write(t, filepath.Join(dir, "c/fine.md"), "Fine.\n")
	link(t, filepath.Join(top, "outside/secret.md"), filepath.Join(dir, "c/link.md"))
	_, l := scanPlugin(t, dir, source.PluginOptions{})
	if len(l.Entries) != 2 || !slices.Equal(codes(l.Diagnostics), []string{"plugin_bad_path"}) {
		t.Errorf("%d entries, %v", len(l.Entries), l.Diagnostics)
	}
}

func TestAManifestOfATreeReadsAsOneOfTheDisk(t *testing.T) {
	t.Parallel()
	tree := fstest.MapFS{
		".claude-plugin/plugin.json": {Data: []byte(`{"version": "1.0", "skills": ["./s", "../t"]}`)},
		".mcp.json":                  {Data: []byte(`{}`)}, "agents/a.md": {Data: []byte("x")},
	}
	m, diags := source.ReadManifestIn(tree, "/plugins/north/1.0")
	if m.Prefix != "north" || m.Format != source.FormatClaudeCode || !slices.Equal(m.Skills, []string{"s"}) || string(m.MCPServers) != `"./.mcp.json"` ||
		!slices.Equal(m.Agents, []string{"agents"}) || !slices.Equal(codes(diags), []string{"plugin_bad_path"}) {
		t.Errorf("%+v %v", m, diags)
	}
}
