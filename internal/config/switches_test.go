package config

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

func patterns(list []Entry) []string {
	out := []string{}
	for _, e := range list {
		out = append(out, e.Pattern)
	}
	return out
}

func TestSwitchesOfBothFilesStayApart(t *testing.T) {
	t.Parallel()
	user := `skills:
  deny: [surf, "docs-*"]
  default_off: poetry
  profile: work
  profiles:
    work: {include: [lint], extends: base}
    base:
      exclude: [old]
`
	project := "skills:\n  enable: [poetry]\n  allow_only: []\n  profile: team\n  deny: [x]\n"
	c, diags := load(t, user, project, true)
	if len(diags) != 0 {
		t.Fatalf("diagnostics: %v", diags)
	}
	for what, diff := range map[string]string{
		"deny":         cmp.Diff([]string{"surf", "docs-*"}, patterns(c.User.Deny)),
		"default_off":  cmp.Diff([]string{"poetry"}, patterns(c.User.DefaultOff)),
		"project":      cmp.Diff([]string{"poetry"}, patterns(c.Project.Enable)),
		"project deny": cmp.Diff([]string{"x"}, patterns(c.Project.Deny)),
		"profile":      cmp.Diff([]string{"lint"}, patterns(c.Profiles["work"].Include)),
	} {
		if diff != "" {
			t.Errorf("%s: %s", what, diff)
		}
	}
	if c.Project.AllowOnly == nil || c.User.AllowOnly != nil || c.Profiles["work"].Extends != "base" || c.User.Profile != "work" || c.Project.Profile != "team" {
		t.Errorf("got %+v %+v %+v", c.User, c.Project, c.Profiles)
	}
	if got := c.User.Deny[0].From; got != (From{User, "/user/config.yaml", 2}) {
		t.Errorf("place: %+v", got)
	}
	if c, _ := load(t, user, project, false); len(c.Project.Deny) != 0 || c.Project.Profile != "" || len(c.User.Deny) != 2 {
		t.Errorf("untrusted: %+v", c.Project)
	}
}

func TestABadSwitchIsSkippedAlone(t *testing.T) {
	t.Parallel()
	c, diags := load(t, "skills:\n  deny: [a, [b], '', c]\n  enable: {a: b}\n  profiles: {p: [x], q: {include: 3}}\n", "skills: {profiles: {p: {}}, trust: {project: always}}\n", true)
	want := []string{
		"config_value:/user/config.yaml:2", "config_value:/user/config.yaml:2", "config_value:/user/config.yaml:3",
		"config_value:/user/config.yaml:4", "config_unknown:/repo/.deft/config.yaml:1", "config_unknown:/repo/.deft/config.yaml:1",
	}
	for i := range diags {
		diags[i] = diags[i][:len(diags[i])-2]
	}
	if diff := cmp.Diff(want, diags); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]string{"a", "c"}, patterns(c.User.Deny)); diff != "" {
		t.Error(diff)
	}
	if c.User.Enable != nil || c.TrustProject != TrustAsk || c.Profiles["q"].Include[0].Pattern != "3" {
		t.Errorf("got %+v %+v", c.User, c.Profiles)
	}
}
