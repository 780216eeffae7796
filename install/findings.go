package install

import (
	"context"
	"fmt"
	"slices"

	"github.com/deftskills/deft/install/scan"
	"github.com/deftskills/deft/skill"
)

// Answer is what is done about a kind of finding without looking at it.
type Answer string

// The answers.
const (
	Refuse Answer = "refuse" // unless a person accepts the rule by its name
	Ask    Answer = "ask"
	Allow  Answer = "allow"
)

// ScanPolicy says what an install does about what the scanner found. The zero value
// refuses what blocks and asks about warnings.
type ScanPolicy struct {
	OnBlock Answer // Refuse or Ask; "" = Refuse
	OnWarn  Answer // any; "" = Ask. What was not looked at whole counts as a warning
}

// Scans keeps what a scanner said of a tree. Its methods are for one goroutine.
type Scans interface {
	// Kept returns what these rules said of a tree; ok is false where it is not known.
	Kept(ctx context.Context, tree skill.Digest, rules string) (r scan.Result, ok bool)
	// Keep keeps it. What can't be kept is looked at again.
	Keep(ctx context.Context, tree skill.Digest, r scan.Result)
}

// scan looks at the bytes that would be installed, unless the same rules have looked at
// them before, and says what the policy does about it.
func (i *Installer) scan(ctx context.Context, _ *Fetched, it *Item, c Choice) (*Reason, error) {
	if err := i.look(ctx, it); err != nil || i.o.Scanner == nil {
		return nil, err
	}
	return it.judged(i.o.Policy, c.Accept), nil
}

func (i *Installer) look(ctx context.Context, it *Item) error {
	if i.o.Scanner == nil {
		return nil
	}
	if i.o.Scans != nil {
		if kept, ok := i.o.Scans.Kept(ctx, it.Digest, i.o.Scanner.Rules()); ok {
			it.Scan, it.scanned = kept, true
			return nil
		}
	}
	own, err := treeOf(ctx, it.Files)
	if err != nil {
		return err
	}
	tree, err := own.fs()
	if err != nil {
		return err
	}
	it.Scan, err = i.o.Scanner.Scan(ctx, tree, scan.ScanOptions{Part: scan.Covered})
	return err
}

// keepScan keeps what was found, with the record of the install.
func (i *Installer) keepScan(ctx context.Context, it Item) {
	if i.o.Scanner != nil && i.o.Scans != nil && !it.scanned {
		i.o.Scans.Keep(ctx, it.Digest, it.Scan)
	}
}

// judged says what the policy does about the findings: each rule is one question, or one
// reason to refuse.
func (it *Item) judged(p ScanPolicy, accepted []string) *Reason {
	if p.OnBlock == "" {
		p.OnBlock = Refuse
	}
	if p.OnWarn == "" {
		p.OnWarn = Ask
	}
	for _, kind := range []struct {
		level  scan.Level
		code   string
		answer Answer
	}{{scan.Block, "scan_blocked", p.OnBlock}, {scan.Warn, "scan_warn", p.OnWarn}} {
		for _, told := range byRule(it.Scan.Findings, kind.level, accepted) {
			if why := it.put(Reason{kind.code, told}, kind.answer); why != nil {
				return why
			}
		}
	}
	if !it.Scan.Complete {
		return it.put(Reason{"scan_partial", fmt.Sprintf("%d files were not looked at whole", it.Scan.FilesSkipped)}, p.OnWarn)
	}
	return nil
}

// put asks about a reason, refuses for it, or lets it pass.
func (it *Item) put(why Reason, answer Answer) *Reason {
	switch answer {
	case Allow:
	case Ask:
		it.Asks = append(it.Asks, why)
	default:
		return &why
	}
	return nil
}

// byRule tells the findings of a level, those of one rule in one sentence.
func byRule(findings []scan.Finding, level scan.Level, accepted []string) (told []string) {
	var rules []string
	counts, first := map[string]int{}, map[string]string{}
	for _, f := range findings {
		if f.Level != level || slices.Contains(accepted, f.Rule) {
			continue
		}
		if counts[f.Rule]++; counts[f.Rule] == 1 {
			rules = append(rules, f.Rule)
			first[f.Rule] = fmt.Sprintf("%s:%d: %s: %s", f.File, f.Line, f.Rule, f.Why)
		}
	}
	for _, rule := range rules {
		text := first[rule]
		if more := counts[rule] - 1; more > 0 {
			text = fmt.Sprintf("%s (and %d more)", text, more)
		}
		told = append(told, text)
	}
	return told
}

// taken are the rules of level block and warn that spoke of what was installed: a person
// accepted them by name or by an answer, or the policy lets them pass.
func (it *Item) taken() (rules []string) {
	for _, f := range it.Scan.Findings {
		if f.Level != scan.Info {
			rules = append(rules, f.Rule)
		}
	}
	slices.Sort(rules)
	return slices.Compact(rules)
}
