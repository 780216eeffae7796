package cli

import (
	"context"
	"encoding/json"
	"errors"
	"sort"
	"strings"

	"github.com/deftskills/deft/agent"
	"github.com/deftskills/deft/gate"
	"github.com/deftskills/deft/internal/safetext"
)

// terminal puts the gate's questions to the person at the terminal.
type terminal struct{ r *run }

var errNobody = errors.New("no terminal")

// Confirm shows all of a call, never a part of it, and reads the answer. A person
// consents to what will run, so nothing is cut from the arguments.
func (t terminal) Confirm(ctx context.Context, q agent.Question) (gate.Answer, error) {
	p := t.r.person()
	if p == nil {
		return gate.Answer{}, errNobody
	}
	t.r.asking.Lock()
	defer t.r.asking.Unlock()
	t.show(p, q)
	manual := q.Decision.Tier != gate.ReadOnly && q.Decision.Tier != gate.ConfirmOnce && q.Decision.Tier != gate.AlwaysConfirm
	w := t.r.words
	switch {
	case manual:
		p.Printf("%s ", w.Say("confirm.typed", q.Call.Tool))
	case remembers(q) && takes(q, gate.Always):
		p.Printf("%s ", w.Say(lastingWords(q)))
	case remembers(q):
		p.Printf("%s ", w.Say(t.onceWords(q)))
	default:
		p.Printf("%s ", w.Say("confirm.each"))
	}
	line, err := t.line(ctx)
	if err != nil {
		return gate.Answer{}, err
	}
	word, rest, _ := strings.Cut(line, " ")
	switch {
	case manual && line == q.Call.Tool:
		return gate.Answer{Reply: gate.Once, Typed: line}, nil
	case manual:
		return gate.Answer{Reply: gate.No}, nil
	case word == "y" || word == "yes":
		return gate.Answer{Reply: gate.Once}, nil
	case (word == "s" || word == "session") && remembers(q):
		return gate.Answer{Reply: gate.ForSession}, nil
	}
	if a, ok := lasting(q, word, rest); ok {
		return a, nil
	}
	return gate.Answer{Reply: gate.No, Message: strings.TrimSpace(rest)}, nil
}

// line reads an answer; a cancelled turn does not wait for it.
func (t terminal) line(ctx context.Context) (string, error) {
	line, taken := t.r.nextSaid()
	select {
	case a := <-line:
		taken()
		return a.line, a.err
	case <-ctx.Done():
		return "", ctx.Err()
	}
}

// show prints the whole question: tool, tier, reason, folder, placement, skills and
// every argument. Texts of several lines are shown line by line behind a bar, so that
// they cannot look like part of the question.
func (t terminal) show(p *safetext.Printer, q agent.Question) {
	w := t.r.words
	if len(q.Together) > 0 {
		t.together(p, q)
		return
	}
	name := safetext.Clip(safetext.Line(q.Call.Tool), 64)
	p.Printf("\n%s\n", p.Paint(safetext.Bold, w.Say("confirm.head", name, q.Decision.Tier.String(), q.Decision.Reason)))
	p.Printf("  %s\n", w.Say("confirm.where", q.Call.Dir, orElse(q.Call.Placement, "local")))
	for _, a := range q.Agents {
		p.Printf("  %s\n", w.Say("confirm.sub_agent", safetext.Clip(safetext.Line(a), 128)))
	}
	for _, a := range q.Active {
		p.Printf("  %s\n", w.Say("confirm.skill", safetext.Clip(safetext.Line(a.Name), 64), a.SourceID, a.Location))
	}
	if q.Call.Via == "hook" {
		p.Printf("  %s\n", t.r.hookBehind(q))
	} else if q.For.Name != "" {
		p.Printf("  %s\n", t.text(q))
	} else if len(q.Active) == 0 {
		p.Printf("  %s\n", w.Say("confirm.no_skill"))
	}
	t.starts(p, q)
	t.parts(p, q)
	t.confined(p, q)
	t.arguments(p, q.Call.Args, replaces(q.Diff))
	difference(p, q.Diff)
}

// replaces reports whether a difference says all that the texts of a call do, and what was
// there before.
func replaces(diff string) bool { return diff != "" && !strings.HasPrefix(diff, "--- /dev/null") }

// difference prints what a file would become, line by line.
func difference(p *safetext.Printer, diff string) {
	if !replaces(diff) {
		return
	}
	for line := range strings.SplitSeq(strings.TrimSuffix(diff, "\n"), "\n") {
		switch {
		case strings.HasPrefix(line, "-"):
			p.Printf("  %s\n", p.Paint(safetext.Red, line))
		case strings.HasPrefix(line, "+"):
			p.Printf("  %s\n", p.Paint(safetext.Green, line))
		default:
			p.Printf("  %s\n", line)
		}
	}
}

// arguments prints all of a call's arguments, sorted by name; changed = but for those that a
// difference shows.
func (t terminal) arguments(p *safetext.Printer, raw json.RawMessage, changed bool) {
	var args map[string]json.RawMessage
	if json.Unmarshal(raw, &args) != nil {
		p.Printf("  %s\n", string(raw))
		return
	}
	keys := make([]string, 0, len(args))
	for k := range args {
		keys = append(keys, k)
	}
	sort.Strings(keys)
	for _, k := range keys {
		if changed && (k == "content" || k == "edits") {
			continue
		}
		var text string
		var edits []map[string]any
		switch {
		case json.Unmarshal(args[k], &text) == nil:
			value(p, k, text)
		case k == "edits" && json.Unmarshal(args[k], &edits) == nil:
			p.Printf("  %s:\n", k)
			for _, e := range edits {
				change(p, e)
			}
		default:
			value(p, k, string(args[k]))
		}
	}
}

// confined tells of a call that starts programs how far they are confined, and of a script
// which files it is one of.
func (t terminal) confined(p *safetext.Printer, q agent.Question) {
	if !q.Tool.Runs {
		return
	}
	ctx := context.Background()
	p.Printf("  %s\n", t.r.words.Say("confirm.sandbox", t.r.app.box().Level(ctx).String()))
	t.network(ctx, p, q.For.Address)
	var args struct{ Name string }
	if q.Tool.Shell != "" || json.Unmarshal(q.Call.Args, &args) != nil || t.r.engine == nil {
		return
	}
	for _, a := range q.Active {
		if a.Record == nil || a.Name != args.Name && a.Address != args.Name {
			continue
		}
		if code, err := t.r.engine.Code(ctx, a.Record); err == nil {
			p.Printf("  %s\n", t.r.words.Say("confirm.tree", string(code.Tree)))
		}
		t.network(ctx, p, a.Address)
	}
}

// value prints one argument, whole.
func value(p *safetext.Printer, name, text string) {
	if !strings.Contains(text, "\n") {
		p.Printf("  %s: %s\n", name, text)
		return
	}
	p.Printf("  %s:\n", name)
	prefixed(p, "│ ", "", text)
}

// change prints one edit as a difference, and whatever else it says.
func change(p *safetext.Printer, edit map[string]any) {
	for _, key := range sortedKeys(edit) {
		text, isText := edit[key].(string)
		switch {
		case key == "old" && isText:
			prefixed(p, "- ", safetext.Red, text)
		case key == "new" && isText: // sorted before "old": kept for the end
		default:
			p.Printf("    %s: %s\n", key, compact(edit[key]))
		}
	}
	if text, ok := edit["new"].(string); ok {
		prefixed(p, "+ ", safetext.Green, text)
	}
}

// prefixed prints every line of text behind a mark.
func prefixed(p *safetext.Printer, mark string, style safetext.Style, text string) {
	for line := range strings.SplitSeq(strings.TrimSuffix(text, "\n"), "\n") {
		if style == "" {
			p.Printf("  %s%s\n", mark, line)
		} else {
			p.Printf("    %s\n", p.Paint(style, mark+line))
		}
	}
}
