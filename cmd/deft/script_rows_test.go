//go:build unix

package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/deftskills/deft/gate"
)

// rows writes the entries of one kind of deft audit that are new since the last rows into
// the file rows of the story's folder, one line of JSON each: the gate's as gate.Row.
func rows(ts *testscript.TestScript, neg bool, args []string) {
	kind := "gate"
	if len(args) == 1 {
		kind = args[0]
	}
	if neg || len(args) > 1 {
		ts.Fatalf("usage: rows [workflow|skill|gate|tool]")
	}
	seen, _ := ts.Value(rowsKey{}).(*seenRows)
	var lines strings.Builder
	for _, e := range recorded(ts) {
		key := fmt.Sprint(e)
		if e.Kind != kind || seen.known[key] {
			continue
		}
		seen.known[key] = true
		line, err := e.line()
		ts.Check(err)
		lines.Write(line)
		lines.WriteByte('\n')
	}
	ts.Check(os.WriteFile(filepath.Join(ts.Getenv("WORK"), "rows"), []byte(lines.String()), 0o600))
}

type rowsKey struct{}

// seenRows are the entries that a story has read.
type seenRows struct{ known map[string]bool }

// entry is one of deft audit.
type entry struct {
	Time    time.Time       `json:"ts"`
	Kind    string          `json:"kind"`
	Trace   string          `json:"trace_id"`
	Session string          `json:"session"`
	What    string          `json:"what"`
	Verdict string          `json:"verdict"`
	Detail  string          `json:"detail"`
	Fields  json.RawMessage `json:"fields"`
}

func (e entry) line() ([]byte, error) {
	var r gate.Row
	if e.Kind != "gate" {
		return json.Marshal(e)
	}
	if err := json.Unmarshal(e.Fields, &r); err != nil {
		return nil, err
	}
	r.Time, r.Trace, r.Session, r.Tool, r.Verdict, r.Code = e.Time, e.Trace, e.Session, e.What, gate.Verdict(e.Verdict), e.Detail
	return json.Marshal(r)
}

// recorded runs deft audit.
func recorded(ts *testscript.TestScript) []entry {
	deft, err := exec.LookPath("deft")
	ts.Check(err)
	cmd := exec.Command(deft, "audit", "--json")
	cmd.Dir = ts.Getenv("WORK")
	for _, name := range []string{"HOME", "PATH", "LANG", "WORK", "TMPDIR", "DEFT_DB"} {
		if v := ts.Getenv(name); v != "" {
			cmd.Env = append(cmd.Env, name+"="+v)
		}
	}
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	var doc struct {
		Entries []entry `json:"entries"`
	}
	if json.Unmarshal(out, &doc) != nil {
		ts.Fatalf("deft audit: %v: %s%s", err, out, stderr.String())
	}
	return doc.Entries
}

// patch changes a file as a bad disk or a stranger would.
func patch(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 3 || len(args[1]) != len(args[2]) {
		ts.Fatalf("usage: patch FILE OLD NEW, of one length")
	}
	path := ts.MkAbs(args[0])
	src, err := os.ReadFile(path)
	ts.Check(err)
	if !bytes.Contains(src, []byte(args[1])) {
		ts.Fatalf("%s holds no %q", args[0], args[1])
	}
	ts.Check(os.WriteFile(path, bytes.ReplaceAll(src, []byte(args[1]), []byte(args[2])), 0o600))
}
