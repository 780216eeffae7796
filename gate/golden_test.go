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

// TestCodesOfTiersOriginsStagesCeilingsAndRules holds the answer to every combination. A
// run of equal answers over the 16 stage sets is written once, with its length.
func TestCodesOfTiersOriginsStagesCeilingsAndRules(t *testing.T) {
	t.Parallel()
	tools := map[Tier]string{ReadOnly: "skill", ConfirmOnce: "note", AlwaysConfirm: "send", ManualOnly: "swap"}
	var b strings.Builder
	for _, verdict := range []Verdict{"", Allow, Ask, Deny} {
		var rules []Rule
		for _, tool := range tools {
			if verdict != "" {
				rules = append(rules, NewRule(verdict, tool))
			}
		}
		g, _ := testGate(t, func(o *Options) { o.Rules.Rules = rules })
		if verdict != "" {
			fmt.Fprintf(&b, "with a rule to %s:\n", verdict)
		}
		writeCodes(&b, g, tools)
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

// writeCodes writes the answers of one gate.
func writeCodes(b *strings.Builder, g Gate, tools map[Tier]string) {
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
					d := g.Explain(Call{Tool: tools[tier], Args: json.RawMessage("{}"), Origin: origin, Ceiling: ceiling, Stages: names})
					answer := string(d.Verdict) + " " + d.Code
					if answer != last && n > 0 {
						runs = append(runs, fmt.Sprintf("%d×%s", n, last))
						n = 0
					}
					last = answer
					n++
				}
				fmt.Fprintf(b, "%s %q ceiling %d: %s\n", tier, origin, ceiling, strings.Join(append(runs, fmt.Sprintf("%d×%s", n, last)), ", "))
			}
		}
	}
}
