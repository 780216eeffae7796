package toolset

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"regexp"
	"strings"
	"unicode/utf8"

	"github.com/deftskills/deft/gate"
)

const (
	maxExpression = 1024 // bytes of an expression
	maxHitLine    = 400  // bytes of a line that is shown
)

// grepTool searches the text of files.
type grepTool struct{ w *workspace }

const grepSchema = `{"type":"object","properties":{"pattern":{"type":"string","minLength":1,"maxLength":1024},"path":{"type":"string","maxLength":4096},"glob":{"type":"string","maxLength":1024}},"required":["pattern"],"additionalProperties":false}`

func (t *grepTool) Spec() Spec {
	return Spec{
		Name: "grep", Description: description("grep"), Toolset: "files",
		Input: json.RawMessage(grepSchema),
		Tier:  gate.ReadOnly, Mode: Parallel, ReadOnly: true,
	}
}

// hits collects matches; those beyond the limit are counted only.
type hits struct {
	lines []string
	n     int
}

func (t *grepTool) Call(ctx context.Context, c Call) (Result, error) {
	in := parseInput(c.Input)
	pattern, _ := in.text("pattern", maxExpression, true)
	arg, _ := in.text("path", 4096, false)
	glob, filtered := in.text("glob", 1024, false)
	match := func(string) bool { return true }
	if filtered {
		match = matcher(in, glob)
	}
	re, err := regexp.Compile(pattern)
	if err != nil && in.fault == nil {
		in.bad("pattern: %s", show(err.Error()))
	}
	if in.fault != nil {
		return *in.fault, nil
	}
	root, err := t.w.open()
	if err != nil {
		return t.w.refusal(arg, err), nil
	}
	defer root.Close()
	var found hits
	complete, refused, err := t.w.each(ctx, arg, func(rel, below string) error {
		if match(below) {
			found.search(root, rel, re, t.w.refuses)
		}
		return nil
	})
	if refused != nil || err != nil {
		return orZero(refused), err
	}
	if found.n == 0 {
		return Result{Text: in.note() + "No line matches." + more(0, complete)}, nil
	}
	return Result{
		Text: in.note() + strings.Join(found.lines, "\n") + more(found.n, complete),
		Meta: Meta{Truncated: found.n > maxHits || !complete},
	}, nil
}

// search looks through one file. A file that is too large, binary or unreadable has
// no lines to match, and nothing of one that no tool may read is shown or counted.
func (h *hits) search(root *os.Root, rel string, re *regexp.Regexp, refuses func(string) bool) {
	raw, _, err := readWhole(root, rel)
	if err != nil {
		return
	}
	text, ok := decodeText(raw)
	if !ok {
		return
	}
	asked := false
	for i, line := range splitLines(text) {
		if !re.MatchString(line) {
			continue
		}
		if !asked && refuses(rel) {
			return
		}
		asked = true
		if h.n++; h.n <= maxHits {
			h.lines = append(h.lines, fmt.Sprintf("%s:%d: %s", show(rel), i+1, clip(line)))
		}
	}
}

// clip shortens a line on a character border.
func clip(line string) string {
	if len(line) <= maxHitLine {
		return line
	}
	end := maxHitLine
	for !utf8.RuneStart(line[end]) {
		end--
	}
	return line[:end] + "…"
}
