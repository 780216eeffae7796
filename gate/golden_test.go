package gate

import (
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

var update = flag.Bool("update", false, "write the golden files anew")

// TestCodesOfTiersOriginsGrantsStagesCeilingsAndRules holds the answer to every combination,
// with a grant and without. A run of equal answers over the 16 stage sets is written once,
// with its length; of the answers with a grant, the lines that differ.
func TestCodesOfTiersOriginsGrantsStagesCeilingsAndRules(t *testing.T) {
	t.Parallel()
	tools := map[Tier]string{ReadOnly: "skill", ConfirmOnce: "note", AlwaysConfirm: "send", ManualOnly: "swap"}
	var b strings.Builder
	for _, verdict := range []Verdict{"", Allow, Ask, Deny} {
		var rules []Rule
		var grants []Grant
		for _, tool := range tools {
			if verdict != "" {
				rules = append(rules, NewRule(verdict, tool))
			}
			grants = append(grants, testGrant(tool, func(g *Grant) { g.Tool = tool }))
		}
		change := func(o *Options) { o.Rules.Rules = rules }
		without, _, _ := grantGate(t, change)
		with, _, _ := grantGate(t, change, grants...)
		if verdict != "" {
			fmt.Fprintf(&b, "with a rule to %s:\n", verdict)
		}
		plain := codeLines(without, tools)
		b.WriteString(strings.Join(plain, "\n") + "\n")
		for i, line := range codeLines(with, tools) {
			if line != plain[i] {
				fmt.Fprintf(&b, "granted: %s\n", line)
			}
		}
	}
	const path = "testdata/codes.txt"
	if *update {
		_ = os.MkdirAll("testdata", 0o755)
		if err := os.WriteFile(path, []byte(b.String()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), b.String()); diff != "" {
		t.Error(diff)
	}
}

// codeLines are the answers of one gate.
func codeLines(g Gate, tools map[Tier]string) (lines []string) {
	stages := []string{"discover", "evaluate", "decide", "manage"}
	for tier := ReadOnly; tier <= ManualOnly; tier++ {
		for _, origin := range []Origin{Interactive, Cron, Webhook, Event, Workflow, "robot", ""} {
			for ceiling := Tier(0); ceiling <= ManualOnly; ceiling++ {
				var runs []string
				last, n := "", 0
				for set := range 16 {
					var names []string
					for i, s := range stages {
						if set>>i&1 == 1 {
							names = append(names, s)
						}
					}
					d := g.Explain(Call{Tool: tools[tier], Args: json.RawMessage("{}"), Origin: origin, Principal: "job:btc", Ceiling: ceiling, Stages: names})
					answer := string(d.Verdict) + " " + d.Code
					if answer != last && n > 0 {
						runs = append(runs, fmt.Sprintf("%d×%s", n, last))
						n = 0
					}
					last = answer
					n++
				}
				lines = append(lines, fmt.Sprintf("%s %q ceiling %d: %s", tier, origin, ceiling, strings.Join(append(runs, fmt.Sprintf("%d×%s", n, last)), ", ")))
			}
		}
	}
	return lines
}
