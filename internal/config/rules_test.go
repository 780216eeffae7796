package config

import (
	"io"
	"io/fs"
	"slices"
	"strings"
	"testing"
)

// loadLayers reads the files of the machine, the person and the project.
func loadLayers(managed, user, project string, trusted bool) (*Config, []string) {
	texts := map[string]string{"/etc/deft/config.yaml": managed, "/user/config.yaml": user, "/repo/.deft/config.yaml": project}
	c, diags := Load(Input{
		Open: func(path string) (io.ReadCloser, error) {
			if texts[path] == "" {
				return nil, fs.ErrNotExist
			}
			return io.NopCloser(strings.NewReader(texts[path])), nil
		},
		ManagedFile: "/etc/deft/config.yaml", UserFile: "/user/config.yaml", ProjectFile: "/repo/.deft/config.yaml", ProjectRoot: "/repo", ProjectTrusted: trusted,
	})
	var codes []string
	for _, d := range diags {
		codes = append(codes, d.Code)
	}
	return c, codes
}

func texts(list []ToolRule) []string {
	var out []string
	for _, r := range list {
		out = append(out, string(r.From.Level)+":"+itoa(r.From.Line)+" "+r.Rule)
	}
	return out
}

func TestRulesOfAllFilesAddUp(t *testing.T) {
	t.Parallel()
	project := "permissions:\n  allow: [Write]\n  ask: Bash\n  deny: [Read(a)]\npolicy: {raise: {note: ALWAYS_CONFIRM}, tier_overrides: {x: {tier: READ_ONLY, reason: r}}}\nmodel: a/b\n"
	c, codes := loadLayers("permissions: {deny: [send]}\nmodel: a/b\n", "permissions:\n  deny: [Bash(rm:*), Skill(x)]\n  deny_model: [Skill(y)]\n", project, true)
	for name, got := range map[string]struct {
		list []ToolRule
		want []string
	}{
		"allow": {c.Permissions.Allow, []string{"project:2 Write"}},
		"ask":   {c.Permissions.Ask, []string{"project:3 Bash"}},
		"deny":  {c.Permissions.Deny, []string{"managed:1 send", "user:2 Bash(rm:*)", "user:2 Skill(x)", "project:4 Read(a)"}},
		"model": {c.Permissions.DenyModel, []string{"user:3 Skill(y)"}},
	} {
		if !slices.Equal(texts(got.list), got.want) {
			t.Errorf("%s: %q, want %q", name, texts(got.list), got.want)
		}
	}
	if root := c.Permissions.Ask[0].Root; root != "/repo" || c.Permissions.Deny[0].Root != "" {
		t.Errorf("a project's paths count from %q", root)
	}
	if len(c.Policy.Raise) != 1 || len(c.Policy.TierOverrides) != 0 || c.Model != "" || !c.ProjectTrusted {
		t.Errorf("%+v, model %q", c.Policy, c.Model)
	}
	if want := []string{"config_unknown", "config_unknown", "config_unknown"}; !slices.Equal(codes, want) {
		t.Errorf("%q, want %q: the machine's model, the project's override and model", codes, want)
	}
}

func TestOfAFolderThatNobodyTrustsOnlyWhatIsStricterCounts(t *testing.T) {
	t.Parallel()
	project := "permissions: {allow: [Write], ask: [Bash], deny: [Read], deny_model: [Skill(x)], more: 1}\npolicy: {raise: {note: {tier: MANUAL_ONLY, reason: why}}, programs: {git: /x}}\nskills: {deny: [a]}\n"
	c, codes := loadLayers("", "", project, false)
	p := c.Permissions
	if len(p.Allow) != 0 || len(p.Ask) != 1 || len(p.Deny) != 1 || len(p.DenyModel) != 1 || len(c.Project.Deny) != 0 || len(c.Policy.Programs) != 0 || c.ProjectTrusted {
		t.Errorf("%+v, %+v", p, c.Policy)
	}
	if len(c.Policy.Raise) != 1 || c.Policy.Raise[0].Tier != "MANUAL_ONLY" || c.Policy.Raise[0].Reason != "why" {
		t.Errorf("%+v", c.Policy.Raise)
	}
	if !slices.Equal(codes, []string{"project_config_ignored"}) {
		t.Error(codes)
	}
}

func TestRulesThatAreNoTextStayWhereTheyStand(t *testing.T) {
	t.Parallel()
	c, codes := loadLayers("", "permissions:\n  deny: [{a: b}, x]\n  allow:\n", "", false)
	if got := texts(c.Permissions.Deny); !slices.Equal(got, []string{"user:2 ", "user:2 x"}) || len(c.Permissions.Allow) != 0 {
		t.Errorf("%q", got)
	}
	if !slices.Equal(codes, []string{"config_value"}) {
		t.Error(codes)
	}
}

func TestTiersAndProgramsOfThePolicy(t *testing.T) {
	t.Parallel()
	c, codes := loadLayers("", `policy:
  raise: {a: manual_only, b: much}
  tier_overrides:
    c: {tier: READ_ONLY, reason: why}
    d: {tier: READ_ONLY}
    e: {tier: none, reason: why}
  programs: {git: [/usr/bin/git, bin/git], go: /usr/bin/go}
  strict_stage: true
`, "", false)
	if r := c.Policy.Raise; len(r) != 2 || r[0].Tier != "MANUAL_ONLY" || r[1].Tier != "MANUAL_ONLY" {
		t.Errorf("a tier that is none raises to the greatest: %+v", r)
	}
	if o := c.Policy.TierOverrides; len(o) != 1 || o[0].Tool != "c" || o[0].From.Line != 4 {
		t.Errorf("%+v", o)
	}
	if p := c.Policy.Programs; !slices.Equal(p["git"], []string{"/usr/bin/git"}) || !slices.Equal(p["go"], []string{"/usr/bin/go"}) || !c.Policy.StrictStages {
		t.Errorf("%+v", c.Policy)
	}
	if len(codes) != 5 {
		t.Errorf("%q: b, d, e twice, and the relative path", codes)
	}
	if from := c.From("policy.programs"); from.Level != User || from.Line != 7 {
		t.Errorf("%+v", from)
	}
}

func TestTheMachinesFileLiesBesideItsSkills(t *testing.T) {
	t.Parallel()
	for system, want := range map[string]string{
		"linux": "/etc/deft/config.yaml", "darwin": "/Library/Application Support/deft/config.yaml", "windows": "",
	} {
		if got := ManagedFile(Places{GOOS: system, Getenv: func(string) string { return "" }}); got != want {
			t.Errorf("%s: %q, want %q", system, got, want)
		}
	}
}
