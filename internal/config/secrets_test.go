package config

import (
	"io"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/deftskills/deft/skill"
)

// loadTexts loads a person's and a trusted project's file and returns whole findings.
func loadTexts(t *testing.T, user, project string) (*Config, []skill.Diagnostic) {
	t.Helper()
	files := fstest.MapFS{"user.yaml": {Data: []byte(user)}, "project.yaml": {Data: []byte(project)}}
	return Load(Input{
		Open:     func(path string) (io.ReadCloser, error) { return files.Open(strings.TrimPrefix(path, "/")) },
		UserFile: "/user.yaml", ProjectFile: "/project.yaml", ProjectRoot: "/", ProjectTrusted: true,
	})
}

func TestVariablesAreBoundByThePersonsFileAlone(t *testing.T) {
	t.Parallel()
	const text = `
skills:
  mail:
    env:
      KEY: {file: ~/key}
      USER_NAME: {env: MAIL_USER}
      TOKEN: {command: [pass, show, mail]}
      WRITTEN: s3cret-value
      BOTH: {env: A, file: /b}
      NONE: {}
      RELATIVE: {file: key}
      WORDS: {command: "pass show mail"}
      DEEP: {command: [a, {b: c}]}
      "A B": {env: A}
  "mail@user-agents":
    env: {KEY: {env: OTHER}}
  typo: [x]
  other: {evn: {}}
`
	c, diags := loadTexts(t, text, "")
	mail := c.Secrets["mail"]
	if len(c.Secrets) != 2 || len(mail) != 3 || mail["KEY"].File != "~/key" || mail["USER_NAME"].Env != "MAIL_USER" ||
		strings.Join(mail["TOKEN"].Command, " ") != "pass show mail" || mail["KEY"].From.Line != 5 || c.Secrets["mail@user-agents"]["KEY"].Env != "OTHER" {
		t.Errorf("%+v", c.Secrets)
	}
	codes := map[string]int{}
	for _, d := range diags {
		codes[d.Code]++
		if strings.Contains(d.Message+d.Fix, "s3cret") {
			t.Errorf("a value is told: %+v", d)
		}
		if d.Line == 0 {
			t.Errorf("no place: %+v", d)
		}
	}
	if codes["config_unknown"] != 2 || codes["config_value"] < 7 {
		t.Errorf("%v: %+v", codes, diags)
	}
	c, diags = loadTexts(t, "", "skills: {mail: {env: {KEY: {env: A}}}}")
	if len(c.Secrets) != 0 || len(diags) != 1 || diags[0].Code != "config_unknown" {
		t.Errorf("%+v %+v", c.Secrets, diags)
	}
}
