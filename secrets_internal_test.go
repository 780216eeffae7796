package deft

import (
	"context"
	"encoding/base64"
	"errors"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"pgregory.net/rapid"

	"github.com/deftskills/deft/command"
	"github.com/deftskills/deft/command/sandbox"
	"github.com/deftskills/deft/registry"
)

// fixedSecrets are values by key and name.
type fixedSecrets map[string]string

func (f fixedSecrets) Value(_ context.Context, key, name string) (string, error) {
	value, ok := f[key+" "+name]
	if !ok {
		return "", errors.New("locked")
	}
	return value, nil
}

// What is bound to one skill reaches no other, no shell, and nothing that nobody granted;
// without it nothing starts.
func TestVariablesReachTheSkillThatTheyAreBoundToAlone(t *testing.T) {
	t.Parallel()
	base := t.TempDir()
	for dir, header := range map[string]string{
		"home/.claude/skills/mail": "metadata: {requires-env: [KEY]}\n", "home/.claude/skills/other": "", "home/.claude/skills/bare": "metadata: {requires-env: [KEY, LANG]}\n",
		"home/.claude/skills/locked": "metadata: {requires-env: [KEY]}\n", "work/.deft/skills/stray": "metadata: {requires-env: [KEY]}\n",
		"work/.deft/skills/cond": "conditions: {requires_env: [KEY]}\n",
	} {
		text := "---\nname: " + filepath.Base(dir) + "\ndescription: Does it.\n" + header + "---\nDo.\n"
		if err := os.MkdirAll(filepath.Join(base, dir), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(base, dir, "SKILL.md"), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	var started atomic.Int64
	none := sandbox.None
	const value = "the-value-of-mail"
	o := Options{
		Workspace: filepath.Join(base, "work"), Home: filepath.Join(base, "home"), NoBuiltin: true, Project: registry.ProjectAlways,
		Environ: []string{"PATH=" + os.Getenv("PATH"), "KEY=of the host", "LANG=C", "HOME=" + filepath.Join(base, "home")},
		State:   registry.Decisions{Bound: registry.Bindings{"mail": {"KEY", "UNASKED"}, "locked": {"KEY"}, "stray": {"KEY"}, "cond": {"KEY"}}},
		Secrets: fixedSecrets{"mail KEY": value, "mail UNASKED": "unasked-value", "stray KEY": "stray-value"},
		Commands: Commands{Least: &none, Box: sandbox.New(sandbox.Options{TempRoot: t.TempDir(), Start: func(c *exec.Cmd) error {
			started.Add(1)
			return c.Start()
		}})},
	}
	s := sessionOf(t, o)
	for name, c := range map[string]struct{ out, code string }{
		"mail": {"[secret:KEY] ", ""}, "other": {" ", ""}, "bare": {"", "env_missing"}, "locked": {"", "env_unreadable"},
		"stray": {"", "env_untrusted"}, "cond": {"", "env_untrusted"}, "": {" ", ""},
	} {
		before := started.Load()
		q := command.Request{Kind: command.KindInline, Script: `printf '%s %s' "$KEY" "$UNASKED"`, Dir: o.Workspace}
		if name != "" {
			rec, err := s.Snapshot().Lookup(name)
			if err != nil {
				t.Fatal(err)
			}
			q.Skill = refOf(rec)
		}
		res, err := s.runs().Run(t.Context(), q)
		var told *command.ScriptError
		switch {
		case c.code == "" && (err != nil || string(res.Stdout) != c.out):
			t.Errorf("%q: %q %v", name, res.Stdout, err)
		case c.code != "" && (!errors.As(err, &told) || told.Code != c.code || strings.Contains(told.Message, "value")):
			t.Errorf("%q: %v", name, err)
		case (started.Load() > before) != (c.code == ""):
			t.Errorf("%q: %d started", name, started.Load()-before)
		}
	}
	rec, err := s.Snapshot().Lookup("bare")
	if err != nil || strings.Join(rec.NeedsSetup(), " ") != "KEY LANG" || rec.State != registry.Available {
		t.Errorf("%v %+v", err, rec)
	}
	if rec, err := s.Snapshot().Lookup("cond"); err != nil || rec.State != registry.Available {
		t.Errorf("a condition that is bound: %v %v", err, rec.State)
	}
}

// Whatever a program does to a value that is common, its place has the name.
func TestAValueThatWasGivenIsHiddenInEveryForm(t *testing.T) {
	t.Parallel()
	const value = "s3cr3t/+ä value?&=~"
	var v vault
	if got := v.hide(value); got != value {
		t.Errorf("before it was given: %q", got)
	}
	v.give("MAIL_KEY", value)
	v.give("SHORT", "12345")
	b64 := func(s string) string { return base64.StdEncoding.EncodeToString([]byte(s)) }
	lines := func(s string, n int) string {
		var b strings.Builder
		for i := 0; i < len(s); i += n {
			b.WriteString(s[i:min(i+n, len(s))] + "\n")
		}
		return b.String()
	}
	for name, text := range map[string]string{
		"plain":      "key=" + value + ";",
		"twice":      value + value,
		"query":      url.QueryEscape(value),
		"path":       url.PathEscape(value),
		"small hex":  strings.ToLower(url.PathEscape("s3cr3t/+ä value?&=~")),
		"all bytes":  percent(value),
		"base64":     b64(value),
		"base64 url": base64.URLEncoding.EncodeToString([]byte(value)),
		"raw base64": base64.RawStdEncoding.EncodeToString([]byte(value)),
		"after one":  b64("u" + value + "x"),
		"after two":  b64("u:" + value),
		"after more": b64("user:" + value + ":realm"),
		"in lines":   lines(b64(strings.Repeat("-", 40)+value+strings.Repeat("-", 40)), 76),
		"short ones": lines(b64(value), 10),
	} {
		got := v.hide(text)
		if !strings.Contains(got, "[secret:MAIL_KEY]") || strings.Contains(got, "s3cr3t") {
			t.Errorf("%s: %q", name, got)
		}
	}
	if got := v.hide("pin 12345, nothing else\nhere\n"); got != "pin 12345, nothing else\nhere\n" {
		t.Errorf("changed: %q", got)
	}
	res := command.Result{Stdout: []byte("xxx " + value[:9]), Stderr: []byte("é" + value), Truncated: true}
	v.hideIn(&res)
	if string(res.Stdout) != "xxx " || string(res.Stderr) != "é[secret:MAIL_KEY]" {
		t.Errorf("%q %q", res.Stdout, res.Stderr)
	}
}

// In no text does a value of six bytes or more survive, in base64 neither, wherever it
// stands and however long the lines are.
func TestNoValueSurvives(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		value := rapid.StringMatching(`[ -~]{6,60}`).Draw(t, "value")
		before, after := rapid.StringN(0, 20, 40).Draw(t, "before"), rapid.StringN(0, 20, 40).Draw(t, "after")
		var v vault
		v.give("K", value)
		if got := v.hide(before + value + after); strings.Contains(got, value) {
			t.Fatalf("%q", got)
		}
		text := base64.StdEncoding.EncodeToString([]byte(before + value + after))
		got := v.hide(text[:len(text)/2] + "\n" + text[len(text)/2:])
		if back, err := base64.StdEncoding.DecodeString(strings.ReplaceAll(got, "\n", "")); err == nil && strings.Contains(string(back), value) {
			t.Fatalf("%q", got)
		}
	})
}
