package install

import (
	"strings"
	"testing"

	"github.com/deftskills/deft/install/scan"
)

func TestFindingsArePutToThePolicyRuleByRule(t *testing.T) {
	t.Parallel()
	finding := func(rule string, level scan.Level) scan.Finding {
		return scan.Finding{Rule: rule, Level: level, File: "SKILL.md", Line: 7, Why: "why"}
	}
	both := []scan.Finding{
		finding("RX001", scan.Block), finding("RX001", scan.Block), finding("EX001", scan.Block),
		finding("PE001", scan.Warn), finding("PE001", scan.Warn), finding("HK101", scan.Info),
	}
	for name, tt := range map[string]struct {
		policy   ScanPolicy
		accepted []string
		partial  bool
		refused  string
		asks     []string
	}{
		"nothing is said":       {refused: "scan_blocked SKILL.md:7: RX001: why (and 1 more)"},
		"one rule is taken":     {accepted: []string{"RX001"}, refused: "scan_blocked SKILL.md:7: EX001: why"},
		"both are":              {accepted: []string{"RX001", "EX001"}, asks: []string{"scan_warn PE001 (and 1 more)"}},
		"all are":               {accepted: []string{"RX001", "EX001", "PE001"}},
		"blocks are asked":      {policy: ScanPolicy{OnBlock: Ask, OnWarn: Allow}, asks: []string{"scan_blocked RX001", "scan_blocked EX001"}},
		"warnings refuse":       {policy: ScanPolicy{OnWarn: Refuse}, accepted: []string{"RX001", "EX001"}, refused: "scan_warn SKILL.md:7: PE001: why"},
		"what was not read":     {accepted: []string{"RX001", "EX001", "PE001"}, partial: true, asks: []string{"scan_partial"}},
		"that refuses":          {policy: ScanPolicy{OnWarn: Refuse}, accepted: []string{"RX001", "EX001", "PE001"}, partial: true, refused: "scan_partial"},
		"that passes":           {policy: ScanPolicy{OnWarn: Allow}, accepted: []string{"RX001", "EX001"}, partial: true},
		"a word that is no one": {policy: ScanPolicy{OnWarn: "never mind"}, accepted: []string{"RX001", "EX001"}, refused: "scan_warn"},
	} {
		it := Item{Scan: scan.Result{Complete: !tt.partial, Findings: both}}
		why, refused := it.judged(tt.policy, tt.accepted), ""
		if why != nil {
			refused = why.Code + " " + why.Message
		}
		if !strings.HasPrefix(refused, tt.refused) || (tt.refused == "") != (why == nil) {
			t.Errorf("%s: refused %q, want %q", name, refused, tt.refused)
		}
		if why == nil && len(it.Asks) != len(tt.asks) {
			t.Errorf("%s: asks %v, want %v", name, it.Asks, tt.asks)
			continue
		}
		for i, want := range tt.asks {
			code, text, _ := strings.Cut(want, " ")
			if rule, more, _ := strings.Cut(text, " "); it.Asks[i].Code != code || !strings.Contains(it.Asks[i].Message, rule) || !strings.HasSuffix(it.Asks[i].Message, more) {
				t.Errorf("%s: asks %v, want %v", name, it.Asks[i], want)
			}
		}
		if got := strings.Join(it.taken(), " "); got != "EX001 PE001 RX001" {
			t.Errorf("%s: taken %s", name, got)
		}
	}
}
