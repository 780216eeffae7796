package gate

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"strings"
)

// TableRow is one row of a table of shell rules with what EvalBash said of it.
type TableRow struct {
	Line    int
	Rules   string
	Command string
	Want    Verdict
	Why     string // of the table
	Got     BashVerdict
}

// Unsafe reports a row where a question or a refusal was due and less came.
func (r TableRow) Unsafe() bool {
	return r.Want != Allow && r.Got.Verdict == Allow || r.Want == Deny && r.Got.Verdict != Deny
}

// Friction reports a row that should run without a question and would not.
func (r TableRow) Friction() bool { return r.Want == Allow && r.Got.Verdict != Allow }

// TableReport is a table of shell rules that was judged.
type TableReport struct {
	Rows             []TableRow
	Allows           int // rows that should be allowed
	Unsafe, Friction int
}

// maxFriction is the part of the allow rows that may cost a needless question.
const maxFriction = 0.1

// Passes reports no unsafe row and needless questions on at most a tenth of the rows
// that should be allowed.
func (t TableReport) Passes() bool {
	return t.Unsafe == 0 && float64(t.Friction) <= maxFriction*float64(t.Allows)
}

// CheckTable judges a table: tab-separated columns rule, command as a JSON string,
// verdict, why, under one header line. An error names the line.
func CheckTable(r io.Reader, env ShellEnv) (TableReport, error) {
	var out TableReport
	lines := bufio.NewScanner(r)
	lines.Buffer(nil, 1<<20)
	for n := 1; lines.Scan(); n++ {
		if n == 1 || strings.TrimSpace(lines.Text()) == "" {
			continue
		}
		columns := strings.Split(lines.Text(), "\t")
		if len(columns) < 3 {
			return out, fmt.Errorf("line %d: %d columns, and rule, command, verdict are needed", n, len(columns))
		}
		row := TableRow{Line: n, Rules: columns[0], Want: Verdict(columns[2]), Why: strings.Join(columns[3:], " ")}
		if err := json.Unmarshal([]byte(columns[1]), &row.Command); err != nil {
			return out, fmt.Errorf("line %d: command: %w", n, err)
		}
		switch row.Want {
		case Allow, Ask, Deny:
		default:
			return out, fmt.Errorf("line %d: verdict %q is none of allow, ask, deny", n, clip(columns[2]))
		}
		row.Got = EvalBash(ParseRules(row.Rules), row.Command, env)
		out.count(row)
	}
	return out, lines.Err()
}

func (t *TableReport) count(row TableRow) {
	t.Rows = append(t.Rows, row)
	if row.Want == Allow {
		t.Allows++
	}
	if row.Unsafe() {
		t.Unsafe++
	}
	if row.Friction() {
		t.Friction++
	}
}
