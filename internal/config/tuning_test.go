package config

import (
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// loadText reads a user's file and returns its findings as code:line:column.
func loadText(text string) (*Config, []string) {
	c, diags := Load(Input{UserFile: "/c", Open: func(string) (io.ReadCloser, error) { return io.NopCloser(strings.NewReader(text)), nil }})
	var got []string
	for _, d := range diags {
		got = append(got, fmt.Sprintf("%s:%d:%d", d.Code, d.Line, d.Column))
	}
	return c, got
}

func TestTuningIsRead(t *testing.T) {
	t.Parallel()
	c, diags := load(t, `skills:
  walk: {ceilings: [/srv, ~/project], depth: 16, ignore: generated}
  builtin: {enabled: false, seed: true}
  watch: {enabled: false, debounce: 50, max_wait: 2 s, poll: 1m}
  refresh: {cooldown: 0, blocking: true}
  sources:
    - {path: a, kind: plugin, namespace: mine, priority: -3.5, trust: untrusted, enabled: true}
`, "", false)
	if len(diags) != 0 {
		t.Fatalf("diagnostics: %v", diags)
	}
	want := Tuning{
		Walk:    Walk{Ceilings: []string{"/srv", "~/project"}, Depth: 16, Ignore: []string{"generated"}},
		Builtin: Builtin{Seed: true},
		Watch:   Watch{Debounce: Duration(50 * time.Millisecond), MaxWait: Duration(2 * time.Second), Poll: Duration(time.Minute)},
		Refresh: Refresh{Blocking: true},
	}
	if diff := cmp.Diff(want, c.Tuning); diff != "" {
		t.Error(diff)
	}
	if s := c.Sources[0]; s.Kind != "plugin" || s.Namespace != "mine" || *s.Priority != -3.5 || s.Trust != "untrusted" || s.Off {
		t.Errorf("source: %+v", s)
	}
	if got, want := c.From("skills.watch.max_wait"), (From{User, "/user/config.yaml", 4}); got != want {
		t.Errorf("place: %+v", got)
	}
	text, err := json.Marshal(c.Settings())
	if err != nil || !strings.Contains(string(text), `"key":"skills.watch.debounce","value":"50ms"`) {
		t.Errorf("printed: %s %v", text, err)
	}
}

func TestTuningThatCannotBeUsedFallsBackAlone(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"walk: {depth: 0}":                         "config_value:2:17",
		"walk: {depth: 17}":                        "config_value:2:17",
		"walk: {depth: 1.5}":                       "config_value:2:17",
		"walk: {depth: [3]}":                       "config_value:2:17",
		"walk: {ceilings: [work, /srv]}":           "config_value:2:21",
		"walk: {ceilings: {a: b}}":                 "config_value:2:20",
		"walk: {ignore: [a/b]}":                    "config_value:2:19",
		"walk: {ignore: ['..', x]}":                "config_value:2:19",
		"walk: [1]":                                "config_value:2:9",
		"walk: {width: 3}":                         "config_unknown:2:10",
		"builtin: {enabled: sometimes}":            "config_value:2:22",
		"watch: {debounce: fast}":                  "config_value:2:21",
		"watch: {debounce: 0}":                     "config_value:2:21",
		"watch: {debounce: -5ms}":                  "config_value:2:21",
		"watch: {poll: 1ms}":                       "config_value:2:17",
		"watch: {max_wait: 5000h}":                 "config_value:2:21",
		"watch: {max_wait: .inf}":                  "config_value:2:21",
		"watch: {max_wait: 1e300}":                 "config_value:2:21",
		"watch: {debounce: 3s}":                    "config_value:2:1",
		"watch: {max_wait: 10ms}":                  "config_value:2:1",
		"refresh: {cooldown: [1]}":                 "config_value:2:23",
		"sources: [{path: a, namespace: 'a:b'}]":   "config_value:2:34",
		"sources: [{path: a, kind: data}]":         "config_value:2:29",
		"sources: [{path: a, priority: .nan}]":     "config_value:2:33",
		"external: {sources: {x: {priority: hi}}}": "config_value:2:38",
	} {
		_, got := loadText("skills:\n  " + text + "\n")
		if len(got) != 1 || got[0] != want {
			t.Errorf("%s: %v, want %s", text, got, want)
		}
	}
	c, _ := loadText("skills:\n  watch: {debounce: 3s}\n")
	if c.Tuning.Watch.MaxWait != Duration(3*time.Second) {
		t.Errorf("a longest wait below the quiet time: %+v", c.Tuning.Watch)
	}
	c, _ = loadText("skills:\n  walk: {ignore: ['..', x], depth: 99}\n")
	if diff := cmp.Diff(Walk{Ignore: []string{"x"}}, c.Tuning.Walk); diff != "" {
		t.Error(diff)
	}
}

func TestAProjectSetsNothingThatWidens(t *testing.T) {
	t.Parallel()
	project := `skills:
  external: {enabled: true}
  clients: [cursor]
  walk: {ceilings: [/]}
  profiles: {a: {}}
  trust: {project: always}
  builtin: {seed: true}
  watch: {enabled: false}
  refresh: {cooldown: 1s}
  sources:
    - {path: inside, trust: trusted, kind: managed}
    - {path: inside, namespace: north}
model: a/b
models: {a: {}}
`
	c, diags := load(t, "skills: {external: {enabled: false}}", project, true)
	if len(diags) != 12 {
		t.Errorf("%d findings: %v", len(diags), diags)
	}
	for _, d := range diags {
		if !strings.HasPrefix(d, "config_unknown:/repo/.deft/config.yaml:") {
			t.Errorf("reported as %s", d)
		}
	}
	if diff := cmp.Diff(defaultTuning(), c.Tuning); diff != "" || c.External || c.Clients != nil || c.TrustProject != TrustAsk || c.Model != "" || len(c.Models) != 0 {
		t.Errorf("widened: %s %+v", diff, c)
	}
	if len(c.Sources) != 2 || c.Sources[0].Trust != "" || c.Sources[1].Namespace != "" {
		t.Errorf("sources: %+v", c.Sources)
	}
}
