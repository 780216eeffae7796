package config

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestWhatConfinesCommandsIsThePersonsOwn(t *testing.T) {
	t.Parallel()
	c, diags := load(t, `sandbox:
  level: full
  read: [~/tools]
  write: [/var/cache/x, ~/.cache/go-build]
  env: [GOPROXY]
inline: {allow: [git log, make test]}
hooks: {commands: true}
skills: {sources: [{path: a, shell: allow, hooks: inherit}]}
`, `inline: {enabled: false, allow: git log}
sandbox: {level: none, write: [/]}
hooks: {commands: true}
skills: {sources: [{path: b, shell: deny}, {path: c, shell: allow}]}
`, true)
	want := []string{
		"config_unknown:/repo/.deft/config.yaml:2:1", "config_unknown:/repo/.deft/config.yaml:3:1", "config_value:/repo/.deft/config.yaml:4:m",
	}
	if diff := cmp.Diff(want, diags); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff(Commands{
		Level: "full", Read: []string{"~/tools"}, Write: []string{"/var/cache/x", "~/.cache/go-build"}, PassEnv: []string{"GOPROXY"}, Hooks: true,
		User: Inline{Allow: []string{"git log", "make test"}}, Project: Inline{Off: true, Allow: []string{"git log"}},
	}, c.Commands); diff != "" {
		t.Error(diff)
	}
	if s := c.Sources; s[0].Shell != "allow" || s[0].Hooks != "inherit" || s[1].Shell != "deny" || s[2].Shell != "" {
		t.Errorf("sources %+v", s)
	}
}

func TestTheNetworkOfASkillIsThePersonsWord(t *testing.T) {
	t.Parallel()
	const text = "skills:\n  mail: {network: allow}\n  \"web@x\": {network: allow, env: {}}\n  off: {network: deny}\n  odd: {network: some}\n"
	c, diags := load(t, text, text, true)
	if diff := cmp.Diff([]string{"mail", "web@x"}, c.Network); diff != "" || len(diags) != 5 {
		t.Errorf("%s %q", diff, diags)
	}
}

func TestWhatOfTheSandboxCannotBeReadOpensNothing(t *testing.T) {
	t.Parallel()
	c, diags := load(t, "sandbox: {level: low, write: [cache, 1], env: [A=b]}\ninline: {enabled: maybe, allow: {}}\n", "", false)
	if len(diags) != 6 || c.Commands.Level != "" || len(c.Commands.Write)+len(c.Commands.PassEnv) > 0 || c.Commands.User.Off || c.Commands.User.Allow == nil {
		t.Errorf("%+v, %q", c.Commands, diags)
	}
}
