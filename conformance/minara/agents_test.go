package minara

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/deftskills/deft"
	"github.com/deftskills/deft/agent"
	"github.com/deftskills/deft/agent/model/scripted"
	"github.com/deftskills/deft/gate"
	"github.com/deftskills/deft/internal/cli"
	"github.com/deftskills/deft/registry"
	"github.com/deftskills/deft/source"
)

// defined keeps a definition below a home and has the session run as it.
func defined(t *testing.T, definition string) func(*deft.Options, *deft.SessionOptions) {
	t.Helper()
	home := t.TempDir()
	dir := filepath.Join(home, ".deft", "agents")
	if err := os.MkdirAll(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "me.md"), []byte("---\nname: me\n"+definition+"---\nYou are me.\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	return func(o *deft.Options, so *deft.SessionOptions) {
		// Agents are found in a home, of which nothing else counts here.
		o.Home, o.OnlySources, o.NoBuiltin, o.Project = home, false, true, registry.ProjectNever
		o.Roots = map[string]source.Override{}
		e, err := deft.Open(t.Context(), *o)
		if err != nil {
			t.Fatal(err)
		}
		defer e.Close()
		d, err := e.Agent(t.Context(), "me")
		if err != nil {
			t.Fatal(err)
		}
		so.Agent = &d
	}
}

// outcomes are the calls of a turn with what became of them.
func (a *alarm) outcomes() string {
	var out []string
	for _, e := range a.of(agent.ToolFinished) {
		out = append(out, strings.TrimSpace(e.Call.Tool+" "+e.Call.Code))
	}
	return strings.Join(out, ", ")
}

func TestMinara_AG01_OtherSkillsAreUnknown(t *testing.T) {
	t.Parallel()
	a := newAlarm(t, abc("", "", ""), defined(t, "skill_ids: [a]\n"), calls("activate_skills", map[string]any{"ids": []string{"b"}}), scripted.Step{Text: "done"})
	a.run(typed("go"))
	call := a.of(agent.ToolFinished)[0].Call
	want(t, "b", []bool{call.IsError, strings.Contains(call.Output, "unknown: b") || strings.Contains(call.Output, "skill_unknown")}, []bool{true, true})
	prompt := fmt.Sprint(a.m.Requests()[0].System) + a.asked(0)
	want(t, "prompt", []bool{strings.Contains(prompt, "Body of a."), strings.Contains(prompt, "Does b.")}, []bool{true, false})
}

func TestMinara_AG02_OtherToolsAreRefused(t *testing.T) {
	t.Parallel()
	a := newAlarm(t, abc("", "", ""), defined(t, "tool_names: [get_price, tool_invoke]\n"),
		calls("echo", map[string]any{}), calls("tool_invoke", map[string]any{"tool": "echo", "input": map[string]any{}}), calls("get_price", map[string]any{}), scripted.Step{Text: "done"})
	a.run(typed("go"))
	want(t, "outcomes", a.outcomes(), "echo unknown_tool, echo unknown_tool, get_price")
}

func TestMinara_AG03_TheSameHoweverItIsRun(t *testing.T) {
	t.Parallel()
	const definition = "tools: [read, write]\nrisk_tier_max: 1\n"
	steps := []scripted.Step{
		calls("write", map[string]any{"path": "x", "content": "y"}), calls("glob", map[string]any{"pattern": "*"}), scripted.Step{Text: "done"},
	}
	const same = "write deny ceiling, glob deny unknown_tool"
	for _, origin := range []gate.Origin{gate.Interactive, gate.Workflow, gate.Cron} {
		a := newAlarm(t, abc("", "", ""), defined(t, definition), steps...)
		in := typed("go")
		in.Origin, in.Stages = origin, 0b1111
		a.run(in)
		var got []string
		for _, r := range a.rows {
			got = append(got, fmt.Sprint(r.Tool, " ", r.Verdict, " ", r.Code))
		}
		want(t, string(origin), strings.Join(got, ", "), same)
	}
	want(t, "cli", asked(t, definition), "write deny, glob deny")
}

// asked runs the definition by the command line and returns what the gate said.
func asked(t *testing.T, definition string) string {
	t.Helper()
	var o deft.Options
	var so deft.SessionOptions
	o.Workspace = t.TempDir()
	defined(t, definition)(&o, &so)
	script := filepath.Join(o.Workspace, "script.yaml")
	if err := os.WriteFile(script, []byte("steps:\n"+
		"  - calls: [{name: write, input: {path: x, content: y}}]\n  - calls: [{name: glob, input: {pattern: '*'}}]\n  - text: done\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	var out, errs bytes.Buffer
	exit := cli.Run(t.Context(), cli.Process{
		Args: []string{"ask", "--dialect", "minara", "--agent", "me", "--model", "scripted:" + script, "--json", "go"}, Environ: []string{"HOME=" + o.Home}, Dir: o.Workspace,
		GOOS: "linux", Stdin: strings.NewReader(""), Stdout: &out, Stderr: &errs, Now: time.Now, Managed: filepath.Join(o.Workspace, "none"),
	})
	var doc struct {
		Tools []struct{ Name, Decision string }
	}
	if err := json.Unmarshal(out.Bytes(), &doc); err != nil || exit != cli.Refused {
		t.Fatalf("exit %d: %v\n%s%s", exit, err, &out, &errs)
	}
	var got []string
	for _, call := range doc.Tools {
		got = append(got, call.Name+" "+call.Decision)
	}
	return strings.Join(got, ", ")
}

func TestMinara_AG04_EachTriggerStartsItWithItsOrigin(t *testing.T) {
	t.Parallel()
	for trigger, origin := range map[string]gate.Origin{"manual": gate.Interactive, "cron": gate.Cron, "event": gate.Event, "webhook": gate.Webhook} {
		a := newAlarm(t, abc("", "", ""), defined(t, "triggers: ["+trigger+"]\n"), calls("get_price", map[string]any{}), scripted.Step{Text: "done"})
		in := typed("go")
		if in.Origin = origin; origin != gate.Interactive {
			in.Signal = signal(t, nil)
			in.Signal.Source = string(origin)
		}
		want(t, trigger, a.run(in).Stop, agent.StopEnd)
		want(t, "origin of "+trigger, a.rows[0].Origin, origin)
		other := typed("go")
		if other.Origin = gate.Interactive; origin == gate.Interactive {
			other.Origin = gate.Cron
		}
		want(t, "another than "+trigger, a.run(other).Stop, agent.StopRefused)
	}
}

func TestMinara_AG05_TheLowerCeilingCounts(t *testing.T) {
	t.Parallel()
	a := newAlarm(t, abc("", "", ""), defined(t, "risk_tier_max: 4\n"), calls("place_order", map[string]any{}), scripted.Step{Text: "done"})
	in := typed("go")
	in.Ceiling = gate.ConfirmOnce
	a.run(in)
	want(t, "row", []any{a.last(), a.rows[0].Ceiling}, []any{"place_order MANUAL_ONLY deny ceiling", gate.ConfirmOnce})
}
