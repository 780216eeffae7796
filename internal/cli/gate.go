package cli

import (
	"context"
	"os"

	"github.com/spf13/pflag"

	"github.com/deftskills/deft/gate"
)

func gateVerb() verb {
	return verb{
		name: "gate", args: "check", max: -1, group: groupHouse, joins: true, effects: effects{reads: true},
		short: "what the rules for tool calls say, without running anything",
		below: []verb{gateCheckVerb()},
	}
}

// gateCheckFlags are the flags of deft gate check.
type gateCheckFlags struct {
	rules          []string
	command, table string
}

func gateCheckVerb() verb {
	var o gateCheckFlags
	return verb{
		name: "check", effects: effects{reads: true},
		short: "judge a shell command by rules; nothing runs and nothing is recorded",
		long: "A rule is allow, ask or deny, a blank, and Tool(specifier): \"allow Bash(git:*)\". Deny beats ask beats allow.\n" +
			"A table has the columns rule, command (a JSON string), verdict and why under one header line.\n" +
			"Exit code 1: the command is not allowed; or the table has a row that is answered too freely, or\n" +
			"needless questions on more than a tenth of the rows that should be allowed.",
		flags: func(f *pflag.FlagSet) {
			f.StringArrayVar(&o.rules, "rule", nil, "`RULE`; may be repeated")
			f.StringVar(&o.command, "command", "", "the shell command, `C`")
			f.StringVar(&o.table, "table", "", "judge every row of `FILE`")
		},
		run: func(_ context.Context, r *run, _ []string) error { return r.gateCheck(o) },
	}
}

func (r *run) gateCheck(o gateCheckFlags) error {
	env := gate.ShellEnv{Dir: r.cwd, Home: r.dirs.Home}
	switch {
	case o.table != "" && (o.command != "" || len(o.rules) > 0):
		return usage("--table and --rule or --command exclude each other")
	case o.table != "":
		return r.gateTable(o.table, env)
	case len(o.rules) == 0:
		return usage("no --rule and no --table is given").hinted("hint.see_help", "gate check")
	}
	rules := make([]gate.Rule, len(o.rules))
	for i, text := range o.rules {
		if rules[i] = gate.ParseRule(text); rules[i].Err != nil {
			return usage("rule %q: %s", text, rules[i].Err).hinted("hint.see_help", "gate check")
		}
	}
	return r.gateCommand(rules, o.command, env)
}

// judgedJSON is one judged command.
type judgedJSON struct {
	Command string       `json:"command"`
	Verdict gate.Verdict `json:"verdict"`
	Rule    string       `json:"rule,omitempty"`
	Reason  string       `json:"reason,omitempty"`
	Tier    string       `json:"tier"`
	Parts   []partJSON   `json:"parts"`
}

// partJSON is one simple command of it.
type partJSON struct {
	Text    string       `json:"text"`
	Verdict gate.Verdict `json:"verdict"`
	Rule    string       `json:"rule,omitempty"`
	Reason  string       `json:"reason,omitempty"`
}

func (r *run) gateCommand(rules []gate.Rule, command string, env gate.ShellEnv) error {
	v := gate.EvalBash(rules, command, env)
	tier, _ := gate.ShellTier(command, env)
	doc := judgedJSON{Command: command, Verdict: v.Verdict, Rule: v.Rule, Reason: v.Reason, Tier: tier.String(), Parts: []partJSON{}}
	for _, p := range v.Parts {
		doc.Parts = append(doc.Parts, partJSON(p))
	}
	if r.globals.json {
		r.printJSON(doc)
	} else {
		r.out.Printf("%s  %s\n", doc.Verdict, because(doc.Rule, doc.Reason))
		for _, p := range doc.Parts {
			r.out.Printf("  %-5s  %s  %s\n", p.Verdict, p.Text, because(p.Rule, p.Reason))
		}
	}
	if v.Verdict != gate.Allow {
		return errNegative
	}
	return nil
}

func because(rule, reason string) string {
	switch {
	case rule == "":
		return reason
	case reason == "":
		return "by " + rule
	}
	return "by " + rule + ": " + reason
}

// tableJSON is a judged table.
type tableJSON struct {
	Rows     int       `json:"rows"`
	Allows   int       `json:"allows"`
	Unsafe   int       `json:"unsafe"`
	Friction int       `json:"friction"`
	Misses   []rowJSON `json:"misses"`
}

// rowJSON is a row whose answer is another than the table's.
type rowJSON struct {
	Line    int          `json:"line"`
	Rules   string       `json:"rules"`
	Command string       `json:"command"`
	Want    gate.Verdict `json:"want"`
	Got     gate.Verdict `json:"got"`
	Unsafe  bool         `json:"unsafe"`
	Reason  string       `json:"reason,omitempty"`
}

func (r *run) gateTable(path string, env gate.ShellEnv) error {
	path = r.abs(path)
	if err := plainFile(path, false); err != nil {
		return err
	}
	f, err := os.Open(path)
	if err != nil {
		return usage("%s", err)
	}
	defer f.Close()
	report, err := gate.CheckTable(f, env)
	if err != nil {
		return usage("%s: %s", path, err)
	}
	doc := tableJSON{Rows: len(report.Rows), Allows: report.Allows, Unsafe: report.Unsafe, Friction: report.Friction, Misses: []rowJSON{}}
	for _, row := range report.Rows {
		if row.Got.Verdict != row.Want {
			doc.Misses = append(doc.Misses, rowJSON{row.Line, row.Rules, row.Command, row.Want, row.Got.Verdict, row.Unsafe(), row.Got.Reason})
		}
	}
	if r.globals.json {
		r.printJSON(doc)
	} else {
		r.out.Printf("%d rows, %d to be allowed: %d answered too freely, %d needless questions\n", doc.Rows, doc.Allows, doc.Unsafe, doc.Friction)
		for _, m := range doc.Misses {
			r.out.Printf("%s:%d: %s, want %s: %s: %s\n", path, m.Line, m.Got, m.Want, m.Command, m.Reason)
		}
	}
	if !report.Passes() {
		return errNegative
	}
	return nil
}
