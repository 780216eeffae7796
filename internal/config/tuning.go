package config

import (
	"encoding/json"
	"fmt"
	"math"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"go.yaml.in/yaml/v3"
)

// Tuning is how skills are looked for and how changes are noticed.
type Tuning struct {
	Walk    Walk
	Builtin Builtin
	Watch   Watch
	Refresh Refresh
	Search  Search
}

// Search is what may make vectors for deft search: skills.search. Model and BaseURL
// are both set, or there are none.
type Search struct {
	Model   string // of an embeddings endpoint
	BaseURL string // up to, and without, /embeddings
	KeyEnv  string // the variable that holds the key; "" = none is sent
	Dim     int    // numbers in a vector; 0 = as many as come
}

// Walk bounds the search for skills: skills.walk.
type Walk struct {
	Ceilings []string // absolute, or below "~": where the walk-up ends, themselves left out
	Depth    int      // group folders below a root, 1 to 16; 0 = the default
	Ignore   []string // names of directories that are skipped too
}

// Builtin is about the skills that come with the program: skills.builtin.
type Builtin struct {
	Enabled bool
	Seed    bool   // write them to the data directory
	Region  string // two letters of a country, for skills that are not offered in some; "" = not said
}

// Watch says how changes are noticed: skills.watch.
type Watch struct {
	Enabled  bool
	Debounce Duration // quiet time before a refresh
	MaxWait  Duration // the longest from the first change to a refresh; never below Debounce
	Poll     Duration // between looks at what cannot be watched
}

// Refresh says when skills are looked at again without a change: skills.refresh.
type Refresh struct {
	Cooldown Duration // between two checks
	Blocking bool     // a turn waits for the check
}

// The bounds of the settings above. A shorter pause would look at the disk all the
// time, a longer one is a mistake of unit.
const (
	maxDepth    = 16
	minPause    = time.Millisecond
	maxPause    = time.Hour
	maxCooldown = 24 * time.Hour
	minPoll     = 100 * time.Millisecond
	maxDim      = 16384
)

func defaultTuning() Tuning {
	return Tuning{
		Builtin: Builtin{Enabled: true},
		Watch:   Watch{Enabled: true, Debounce: Duration(200 * time.Millisecond), MaxWait: Duration(time.Second), Poll: Duration(5 * time.Second)},
		Refresh: Refresh{Cooldown: Duration(30 * time.Second)},
	}
}

// Duration is a time that reads and prints as text: 200ms, 1.5s, 2m.
type Duration time.Duration

// MarshalJSON prints the duration as text.
func (d Duration) MarshalJSON() ([]byte, error) { return json.Marshal(time.Duration(d).String()) }

// tuningKeys are the keys of Tuning below skills.
func (l *loader) tuningKeys() table {
	t := &l.config.Tuning
	sub := func(keys table) setter {
		return func(key string, _, v *yaml.Node) { l.mapping(v, key+".", func() table { return keys }) }
	}
	return table{
		"walk": sub(table{
			"ceilings": l.list(&t.Walk.Ceilings, func(s string) bool {
				return filepath.IsAbs(s) || s == "~" || strings.HasPrefix(s, "~/")
			}, "an absolute directory"),
			"depth":  l.whole(&t.Walk.Depth, 1, maxDepth),
			"ignore": l.list(&t.Walk.Ignore, directoryName, "the name of a directory"),
		}),
		"builtin": sub(table{"enabled": l.boolean(&t.Builtin.Enabled), "seed": l.boolean(&t.Builtin.Seed),
			"region": l.text(&t.Builtin.Region, country, "two letters of a country")}),
		"watch": sub(table{
			"enabled":  l.boolean(&t.Watch.Enabled),
			"debounce": l.duration(&t.Watch.Debounce, minPause, maxPause),
			"max_wait": l.duration(&t.Watch.MaxWait, minPause, maxPause),
			"poll":     l.duration(&t.Watch.Poll, minPoll, maxPause),
		}),
		"refresh": sub(table{
			"cooldown": l.duration(&t.Refresh.Cooldown, 0, maxCooldown),
			"blocking": l.boolean(&t.Refresh.Blocking),
		}),
		"search": sub(table{
			"model":    l.text(&t.Search.Model, func(s string) bool { return s != "" }, "a model's name"),
			"base_url": l.text(&t.Search.BaseURL, address, "an http or https address"),
			"key_env":  l.text(&t.Search.KeyEnv, variable, "a variable's name"),
			"dim":      l.whole(&t.Search.Dim, 1, maxDim),
		}),
	}
}

// settle mends values that contradict each other.
func (l *loader) settle() {
	w := &l.config.Tuning.Watch
	if w.MaxWait >= w.Debounce {
		return
	}
	at := l.config.From("skills.watch.max_wait")
	if at.Level == Default {
		at = l.config.From("skills.watch.debounce")
	}
	l.path = at.File
	l.bad(&yaml.Node{Line: at.Line, Column: 1}, fmt.Sprintf("skills.watch.max_wait, %s, is below skills.watch.debounce; %s is used",
		time.Duration(w.MaxWait), time.Duration(w.Debounce)), "write a max_wait that is not below debounce")
	w.MaxWait = w.Debounce
}

// userKeys are the keys that a project's file cannot set, whoever trusts the folder.
var userKeys = []string{
	"web", "install", "scan", "stats",
	"skills.external", "skills.clients", "skills.plugins", "skills.walk", "skills.profiles", "skills.trust", "skills.builtin", "skills.watch",
	"skills.refresh", "model", "models", "policy.tier_overrides", "policy.programs", "policy.strict_stage", "sandbox", "hooks", "telemetry",
}

// usersOnly reports a key that a project's file may not hold; false for any other.
func (l *loader) usersOnly(k *yaml.Node, prefix string) bool {
	if l.level != Project || !slices.Contains(userKeys, prefix+k.Value) {
		return false
	}
	l.add(l.located(k, "config_unknown", fmt.Sprintf("key %q counts in your own config.yaml only; a project cannot set it", prefix+k.Value),
		"remove the key here, and write it in your own config.yaml if you want it"))
	return true
}

// settings lists the keys of Tuning.
func (t *Tuning) settings() []Setting {
	return []Setting{
		{Key: "skills.walk.ceilings", Value: orEmpty(t.Walk.Ceilings)},
		{Key: "skills.walk.depth", Value: t.Walk.Depth},
		{Key: "skills.walk.ignore", Value: orEmpty(t.Walk.Ignore)},
		{Key: "skills.builtin.enabled", Value: t.Builtin.Enabled},
		{Key: "skills.builtin.seed", Value: t.Builtin.Seed},
		{Key: "skills.builtin.region", Value: t.Builtin.Region},
		{Key: "skills.watch.enabled", Value: t.Watch.Enabled},
		{Key: "skills.watch.debounce", Value: t.Watch.Debounce},
		{Key: "skills.watch.max_wait", Value: t.Watch.MaxWait},
		{Key: "skills.watch.poll", Value: t.Watch.Poll},
		{Key: "skills.refresh.cooldown", Value: t.Refresh.Cooldown},
		{Key: "skills.refresh.blocking", Value: t.Refresh.Blocking},
		{Key: "skills.search.model", Value: t.Search.Model},
		{Key: "skills.search.base_url", Value: t.Search.BaseURL},
		{Key: "skills.search.key_env", Value: t.Search.KeyEnv},
		{Key: "skills.search.dim", Value: t.Search.Dim},
	}
}

func address(s string) bool {
	return strings.HasPrefix(s, "http://") || strings.HasPrefix(s, "https://")
}

func variable(s string) bool { return s != "" && !strings.ContainsAny(s, "= ") }

func country(s string) bool {
	return len(s) == 2 && strings.Trim(strings.ToLower(s), "abcdefghijklmnopqrstuvwxyz") == ""
}

func directoryName(s string) bool {
	return s != "" && s != "." && s != ".." && !strings.ContainsAny(s, "/\\\x00")
}

// prefixName is what may stand before a skill's name in an address.
func prefixName(s string) bool { return directoryName(s) && !strings.ContainsAny(s, ":@ \t\n") }

// list takes a list of texts, or one alone; an entry that is none is skipped alone.
func (l *loader) list(into *[]string, valid func(string) bool, want string) setter {
	return func(key string, _, v *yaml.Node) {
		nodes := []*yaml.Node{v}
		if v.Kind == yaml.SequenceNode {
			nodes = v.Content
		} else if v.Kind != yaml.ScalarNode || v.Tag == "!!null" {
			l.bad(v, fmt.Sprintf("%s is %s, not a list; the default stays", key, describe(v)), "write a list; each entry is "+want)
			return
		}
		var list []string
		for i, n := range nodes {
			if n.Kind != yaml.ScalarNode || !valid(n.Value) {
				l.bad(n, fmt.Sprintf("%s[%d] is %s, not %s; it is skipped", key, i, describe(n), want), "write "+want)
				continue
			}
			list = append(list, n.Value)
		}
		*into = list
		l.config.Mark(key, l.from(v))
	}
}

// whole takes a whole number between two bounds.
func (l *loader) whole(into *int, low, high int) setter {
	return func(key string, _, v *yaml.Node) {
		n, err := strconv.Atoi(v.Value)
		if v.Kind != yaml.ScalarNode || err != nil || n < low || n > high {
			l.bad(v, fmt.Sprintf("%s is %s, not a whole number from %d to %d; the default stays", key, describe(v), low, high),
				fmt.Sprintf("write a whole number from %d to %d", low, high))
			return
		}
		*into = n
		l.config.Mark(key, l.from(v))
	}
}

// duration takes a time with its unit, or a number of milliseconds.
func (l *loader) duration(into *Duration, low, high time.Duration) setter {
	return func(key string, _, v *yaml.Node) {
		d, ok := readDuration(v)
		if !ok || d < low || d > high {
			l.bad(v, fmt.Sprintf("%s is %s, not a time from %s to %s; the default stays", key, describe(v), low, high),
				"write a time with its unit, as in 200ms or 5s")
			return
		}
		*into = Duration(d)
		l.config.Mark(key, l.from(v))
	}
}

func readDuration(v *yaml.Node) (time.Duration, bool) {
	if v.Kind != yaml.ScalarNode {
		return 0, false
	}
	text := strings.ReplaceAll(v.Value, " ", "")
	if ms, err := strconv.ParseFloat(text, 64); err == nil && !math.IsNaN(ms) && math.Abs(ms) < 1e12 {
		return time.Duration(ms * float64(time.Millisecond)), true
	}
	d, err := time.ParseDuration(text)
	return d, err == nil
}
