package config

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestScanIsReadFromThePersonsOwnFile(t *testing.T) {
	t.Parallel()
	const text = "scan: {on_block: ask, on_warn: refuse, rules: [~/rules, /srv/rules], disable: PM101}\n"
	c, got := loadText(text)
	want := Scan{OnBlock: "ask", OnWarn: "refuse", Rules: []string{"~/rules", "/srv/rules"}, Disable: []string{"PM101"}}
	if diff := cmp.Diff(want, c.Scan); diff != "" || len(got) > 0 {
		t.Error(diff, got)
	}
	for text, want := range map[string]string{
		"scan: {on_block: allow}\n":            "[config_value:1:18]",
		"scan: {on_warn: never}\n":             "[config_value:1:17]",
		"scan: {rules: [rules]}\n":             "[config_value:1:16]",
		"scan: {disable: [anything at all]}\n": "[config_value:1:18]",
		"scan: {off: true}\n":                  "[config_unknown:1:8]",
	} {
		c, got := loadText(text)
		if diff := cmp.Diff(defaultScan(), c.Scan); diff != "" || fmt.Sprint(got) != want {
			t.Errorf("%s: %s %v, want %s", text, diff, got, want)
		}
	}
	c, diags := load(t, "", text, true)
	if diff := cmp.Diff(defaultScan(), c.Scan); diff != "" || len(diags) != 1 || !strings.Contains(diags[0], "config_unknown") {
		t.Errorf("of a project: %s %v", diff, diags)
	}
}
