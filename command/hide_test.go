package command

import (
	"encoding/base64"
	"net/url"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// Whatever a program does to a value that is common, its place has the name.
func TestAValueThatWasGivenIsHiddenInEveryForm(t *testing.T) {
	t.Parallel()
	const value = "s3cr3t/+ä value?&=~"
	var v Hider
	if got := v.Hide(value); got != value {
		t.Errorf("before it was given: %q", got)
	}
	v.Give("MAIL_KEY", value)
	v.Give("SHORT", "12345")
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
		got := v.Hide(text)
		if !strings.Contains(got, "[secret:MAIL_KEY]") || strings.Contains(got, "s3cr3t") {
			t.Errorf("%s: %q", name, got)
		}
	}
	if got := v.Hide("pin 12345, nothing else\nhere\n"); got != "pin 12345, nothing else\nhere\n" {
		t.Errorf("changed: %q", got)
	}
	res := Result{Stdout: []byte("xxx " + value[:9]), Stderr: []byte("é" + value), Truncated: true}
	v.HideIn(&res)
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
		var v Hider
		v.Give("K", value)
		if got := v.Hide(before + value + after); strings.Contains(got, value) {
			t.Fatalf("%q", got)
		}
		text := base64.StdEncoding.EncodeToString([]byte(before + value + after))
		got := v.Hide(text[:len(text)/2] + "\n" + text[len(text)/2:])
		if back, err := base64.StdEncoding.DecodeString(strings.ReplaceAll(got, "\n", "")); err == nil && strings.Contains(string(back), value) {
			t.Fatalf("%q", got)
		}
	})
}
