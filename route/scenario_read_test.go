package route

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"
)

func TestABadScenarioIsAFindingWithItsPlaceAndItsNeighboursStay(t *testing.T) {
	t.Parallel()
	for src, want := range map[string]string{
		"id: a\nkind: primary\nkeywords: [x]\nsuggested_skill_ids: [s]\nplaybook: |\n  do\nexamples: [e]\n": "",
		"":                                       "1:1 scenario is no mapping of keys",
		"id: [":                                  "1:1 scenario is not YAML",
		"id: a\nkind: other\n":                   "2:7 kind is not primary or composable",
		"id: a\nkind: primary\ntier: 1\n":        `3:1 key "tier" is not known here`,
		"kind: primary\n":                        "1:1 id is missing",
		"id: A B\nkind: primary\n":               "1:5 id is not 1 to 128 of",
		"id: a\nkind: primary\nkeywords: word\n": "3:11 keywords is not a list",
		"id: a\nid: b\nkind: primary\n":          `2:1 key "id" stands twice`,
		"id: a\nkind: primary\nplaybook: [x]\n":  "3:11 playbook is not a text",
	} {
		s, diags := ParseScenario([]byte(src), "/s.yaml")
		if want == "" {
			if s == nil || len(diags) > 0 || !s.Primary || s.Playbook != "do\n" {
				t.Errorf("%q: %+v, %v", src, s, diags)
			}
			continue
		}
		if s != nil || len(diags) == 0 {
			t.Errorf("%q: taken", src)
			continue
		}
		if got := fmt.Sprintf("%d:%d %s", diags[0].Line, diags[0].Column, diags[0].Message); !strings.HasPrefix(got, want) || diags[0].Code != "scenario_invalid" {
			t.Errorf("%q: %s, want %s", src, got, want)
		}
	}
}

func FuzzScenario(f *testing.F) {
	f.Add([]byte("id: a\nkind: primary\nkeywords: [x, 1]\n"))
	f.Add([]byte("&a [*a]"))
	f.Fuzz(func(t *testing.T, src []byte) {
		s, diags := ParseScenario(src, filepath.Join("/", "s.yaml"))
		if (s == nil) != (len(diags) > 0) {
			t.Errorf("%+v with %v", s, diags)
		}
		if s != nil {
			CompileScenarios([]Scenario{*s}).Match(string(src))
		}
	})
}
