package minimax

import (
	"context"
	"encoding/json"
	"path/filepath"
	"strings"
	"testing"

	"github.com/deftskills/deft/builtin"
	"github.com/deftskills/deft/gate"
	"github.com/deftskills/deft/registry"
	"github.com/deftskills/deft/session"
	"github.com/deftskills/deft/skill"
	"github.com/deftskills/deft/source"
	"github.com/deftskills/deft/toolset"
)

// talk is a session over a Snapshot with the dialect's skill tool.
type talk struct {
	t    *testing.T
	snap *registry.Snapshot
	s    *session.Session
	turn *session.Turn
	tool toolset.Tool
}

func (k *talk) Snapshot() *registry.Snapshot { return k.snap }

func newTalk(t *testing.T, s *registry.Snapshot, change ...func(*session.Options)) *talk {
	t.Helper()
	k := &talk{t: t, snap: s}
	o := session.Options{Snapshots: k, Dialect: skill.MiniMax}
	for _, f := range change {
		f(&o)
	}
	var err error
	if k.s, err = session.New(t.Context(), o); err != nil {
		t.Fatal(err)
	}
	if k.turn, err = k.s.Begin(t.Context(), session.TurnInput{}); err != nil {
		t.Fatal(err)
	}
	tools := toolset.Skills(toolset.Options{Dialect: o.Dialect})
	if o.Dialect == skill.MiniMax && len(tools) != 1 {
		t.Fatalf("%d tools", len(tools))
	}
	k.tool = tools[0]
	return k
}

func (k *talk) load(ctx context.Context, name string) (toolset.Result, error) {
	raw, err := json.Marshal(map[string]string{"name": name})
	if err != nil {
		k.t.Fatal(err)
	}
	return k.tool.Call(ctx, toolset.Call{Input: raw, Turn: k.turn})
}

// says wants the tool to answer a name with a text.
func (k *talk) says(name, want string) {
	k.t.Helper()
	got, err := k.load(k.t.Context(), name)
	if err != nil || got.Text != want {
		k.t.Errorf("%q: %q %v, want %q", name, got.Text, err, want)
	}
}

// one is a world with the skill x in the data directory.
func one(t *testing.T, lines ...string) *world {
	w := newWorld(t)
	w.skill(filepath.Join(w.global(), "x"), lines...)
	return w
}

// loaded is the whole answer for a skill that w.skill wrote.
func loaded(name, at string, lines ...string) string {
	return "# Skill: " + name + "\nLocation: files://" + at + "/SKILL.md\n\n" + text(filepath.Base(at), lines...)
}

const missing = "Local skill not found: "

func TestT01Schema(t *testing.T) {
	t.Parallel()
	spec := newTalk(t, one(t).snapshot()).tool.Spec()
	is(t, "schema", string(spec.Input), `{"type":"object","properties":{"name":{"type":"string"}},"required":["name"]}`)
	is(t, "name", spec.Name, "skill")
	if spec.Mode != toolset.Parallel || spec.Tier != gate.ReadOnly {
		t.Errorf("%+v", spec)
	}
}

func TestT02Found(t *testing.T) {
	t.Parallel()
	w := one(t, "license: MIT")
	k := newTalk(t, w.snapshot())
	k.says("x", loaded("x", filepath.Join(w.global(), "x"), "license: MIT"))
	if a := k.s.Active(); len(a) != 1 || a[0].Name != "x" {
		t.Errorf("%v", a)
	}
}

func TestT03LocationEncoded(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.write(filepath.Join(w.global(), "a b#c", "SKILL.md"), text("x"))
	newTalk(t, w.snapshot()).says("x", "# Skill: x\nLocation: files://"+w.global()+"/a%20b%23c/SKILL.md\n\n"+text("x"))
}

func TestT04NoLocation(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	data := source.Data([]source.Definition{{Name: "d", Description: "Data.", Content: "Do."}}, source.DataOptions{Format: w.env.Format})
	got, err := newTalk(t, w.snapshot(data)).load(t.Context(), "d")
	if err != nil || !strings.HasPrefix(got.Text, "# Skill: d\n\n---\n") || strings.Contains(got.Text, "Location:") {
		t.Errorf("%q %v", got.Text, err)
	}
}

func TestT05NotFoundIsNormal(t *testing.T) {
	t.Parallel()
	k := newTalk(t, one(t).snapshot())
	for range 4 { // nothing is added after three either
		got, err := k.load(t.Context(), "xx")
		if err != nil || got.IsError || got.Text != missing+"xx" {
			t.Errorf("%+v %v", got, err)
		}
	}
}

func TestT06SameAnswerForAllAbsences(t *testing.T) {
	t.Parallel()
	off := newCabinet(t)
	w := one(t, "requiresBeta: b")
	off.turn(t, "files://"+filepath.Join(w.global(), "off", "SKILL.md"), true)
	w.skill(filepath.Join(w.global(), "off"))
	w.skill(filepath.Join(w.global(), "unlisted"), "listed: false")
	w.config.Filters.Disabled = off
	k := newTalk(t, w.snapshot())
	for _, name := range []string{"x", "off", "unlisted", "absent", "a/b", "x@user"} {
		got, err := k.load(t.Context(), name)
		if err != nil || got.IsError || got.Text != missing+name || got.Code != "skill_unknown" {
			t.Errorf("%s: %+v %v", name, got, err)
		}
	}
	w = newWorld(t)
	w.skill(filepath.Join(w.agent(), "x"))
	w.config.Filters.Gate = blocked("gate")
	newTalk(t, w.snapshot()).says("x", missing+"x")
}

func TestT06SameAnswerForAllAbsencesDeft(t *testing.T) {
	t.Parallel()
	k := newTalk(t, one(t).snapshot(), func(o *session.Options) { o.Dialect = skill.Deft })
	got, err := k.load(t.Context(), "absent")
	if err != nil || !got.IsError || got.Code != "skill_unknown" || !strings.HasPrefix(got.Text, `No skill "absent".`) {
		t.Errorf("%+v %v", got, err)
	}
}

func TestT07TrimmedAndBlank(t *testing.T) {
	t.Parallel()
	w := one(t)
	k := newTalk(t, w.snapshot())
	k.says(" x ", loaded("x", filepath.Join(w.global(), "x")))
	k.says(" ", missing+"unknown-skill")
}

func TestT08SlashNotStripped(t *testing.T) {
	t.Parallel()
	k := newTalk(t, one(t).snapshot())
	k.says("/x", missing+"/x")
	k.says("`x`", missing+"`x`")
}

func TestT09ExactCaseStandalone(t *testing.T) {
	t.Parallel()
	newTalk(t, one(t).snapshot()).says("X", missing+"X")
}

// plugged adds a plugin plug with the skill s.
func plugged(w *world) source.Source {
	dir := w.mkdir(w.root, "plugins/plug/skills")
	w.skill(filepath.Join(dir, "s"))
	return source.Namespaced(source.Dir(dir, source.DirOptions{
		Info: source.Info{ID: "plugin:plug", Kind: source.PluginK}, Format: w.env.Format,
	}), "plug")
}

func TestT10PluginNormalisedByTheTool(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	k := newTalk(t, w.snapshot(plugged(w)))
	for _, name := range []string{" Plug:S ", "plug:s", "PLUG:s"} {
		if got, err := k.load(t.Context(), name); err != nil || got.IsError || !strings.Contains(got.Text, "plugins/plug/skills/s/SKILL.md") {
			t.Errorf("%s: %q %v", name, got.Text, err)
		}
	}
}

func TestT11StandaloneBeforePluginByTheTool(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.write(filepath.Join(w.global(), "own", "SKILL.md"), text("plug:s"))
	newTalk(t, w.snapshot(plugged(w))).says("plug:s", "# Skill: plug:s\nLocation: files://"+w.global()+"/own/SKILL.md\n\n"+text("plug:s"))
}

func TestT12AmbiguousRaises(t *testing.T) {
	t.Parallel()
	got, err := newTalk(t, legacy(t).snapshot()).load(t.Context(), "x")
	if err != nil || !got.IsError || got.Code != "AMBIGUOUS_SKILL_NAME" || strings.Count(got.Text, "files://") != 2 {
		t.Errorf("%+v %v", got, err)
	}
}

func TestT13DescriptionDemands(t *testing.T) {
	t.Parallel()
	d := newTalk(t, one(t).snapshot()).tool.Spec().Description
	for _, demand := range []string{
		"only when the user names a skill, or when the task clearly matches", "the exact name", "keep its plugin prefix",
		"alone in its step", "read it fully", "claim nothing",
	} {
		if !strings.Contains(d, demand) {
			t.Errorf("%q is not in %q", demand, d)
		}
	}
}

// cancelling ends a context once the text was read.
type cancelling struct {
	cancel context.CancelFunc
	reads  int
}

func (c *cancelling) Load(_ context.Context, r *registry.Record) (session.Body, error) {
	c.reads++
	c.cancel()
	return session.Body{Skill: r.Skill, Text: "x", File: "x", Line: 1, Lines: 1}, nil
}

func TestT14Aborted(t *testing.T) {
	t.Parallel()
	w := one(t)
	before, cancel := context.WithCancel(t.Context())
	cancel()
	k := newTalk(t, w.snapshot())
	if _, err := k.load(before, "x"); err == nil || len(k.s.Active()) > 0 {
		t.Errorf("%v %v", err, k.s.Active())
	}
	after, cancel := context.WithCancel(t.Context())
	bodies := &cancelling{cancel: cancel}
	k = newTalk(t, w.snapshot(), func(o *session.Options) { o.Bodies = bodies })
	if _, err := k.load(after, "x"); err == nil || len(k.s.Active()) > 0 || bodies.reads != 1 {
		t.Errorf("%v %v %d reads", err, k.s.Active(), bodies.reads)
	}
}

func TestT15RepeatLoadsAgain(t *testing.T) {
	t.Parallel()
	w := one(t)
	k := newTalk(t, w.snapshot())
	want := loaded("x", filepath.Join(w.global(), "x"))
	k.says("x", want)
	k.says("x", want)
}

func TestT16NoFileListing(t *testing.T) {
	t.Parallel()
	w := one(t)
	dir := filepath.Join(w.global(), "x")
	w.write(filepath.Join(dir, "references/a.md"), "A")
	w.write(filepath.Join(dir, "scripts/a.sh"), "#!/bin/sh")
	newTalk(t, w.snapshot()).says("x", loaded("x", dir))
}

func TestT17CuDesktopNeedsMode(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.skill(filepath.Join(w.root, "bundle/skills/cu-desktop"))
	w.config.Filters.Gate = builtin.Gate{Host: builtin.Host{MiniMax: true}}
	newTalk(t, w.snapshot()).says("cu-desktop", missing+"cu-desktop")
	w.config.Filters.Gate = builtin.Gate{Host: builtin.Host{MiniMax: true, Features: []string{"cu-desktop"}}}
	newTalk(t, w.snapshot()).says("cu-desktop", loaded("cu-desktop", filepath.Join(w.root, "bundle/skills/cu-desktop")))
}
