package toolset

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/rogpeppe/go-internal/diff"

	"github.com/deftskills/deft/gate"
)

const (
	maxEdits = 200      // edits of one call
	maxDiff  = 64 << 10 // bytes of a difference that is shown
)

// editTool replaces parts of a file.
type editTool struct{ w *workspace }

const editSchema = `{"type":"object","properties":{"path":{"type":"string","minLength":1,"maxLength":4096},"edits":{"type":"array","minItems":1,"maxItems":200,"items":{"type":"object","properties":{"old":{"type":"string","minLength":1},"new":{"type":"string"},"all":{"type":"boolean"}},"required":["old","new"],"additionalProperties":false}}},"required":["path","edits"],"additionalProperties":false}`

func (t *editTool) Spec() Spec {
	return Spec{
		Name: "edit", Description: description("edit"), Toolset: "files",
		Input: json.RawMessage(editSchema),
		Tier:  gate.ConfirmOnce, Mode: Parallel,
	}
}

// oneEdit is one replacement, exact to the byte.
type oneEdit struct {
	Old string `json:"old"`
	New string `json:"new"`
	All bool   `json:"all"`
}

func (t *editTool) Call(ctx context.Context, c Call) (Result, error) { return t.run(ctx, c, true) }

// Diff says what Call would change.
func (t *editTool) Diff(ctx context.Context, c Call) (Result, error) { return t.run(ctx, c, false) }

func (t *editTool) run(ctx context.Context, c Call, commit bool) (Result, error) {
	in := parseInput(c.Input)
	arg, _ := in.text("path", 4096, true)
	var edits []oneEdit
	if raw, ok := in.take("edits"); !ok {
		in.bad("edits is missing")
	} else if err := json.Unmarshal(raw, &edits); err != nil {
		in.bad("edits: got %s, want a list of objects with old and new", kindOf(raw))
	}
	if len(edits) == 0 || len(edits) > maxEdits {
		in.bad("edits: %d entries, want 1 to %d", len(edits), maxEdits)
	}
	if in.fault != nil {
		return *in.fault, nil
	}
	return t.w.change(ctx, arg, false, commit, in.note(), func(old []byte) ([]byte, *Result) { return apply(old, edits) })
}

// apply makes all edits in order. Where every line of the file ends in CRLF, the
// edits' line ends are taken as that: models write LF.
func apply(old []byte, edits []oneEdit) ([]byte, *Result) {
	if bytes.IndexByte(old, 0) >= 0 {
		r := refuse("binary_file", "The file is not text. Nothing was written.")
		return nil, &r
	}
	text := string(old)
	crlf := strings.Contains(text, "\r\n") && strings.Count(text, "\r\n") == strings.Count(text, "\n")
	for i, e := range edits {
		if crlf {
			e.Old, e.New = toCRLF(e.Old), toCRLF(e.New)
		}
		n := strings.Count(text, e.Old)
		switch {
		case e.Old == "":
			r := refuse("bad_args", fmt.Sprintf("edits[%d]: old is empty. Nothing was written.", i))
			return nil, &r
		case n == 0:
			r := refuse("not_found", fmt.Sprintf("edits[%d]: old is not in the file. Read it again and copy the text exactly. Nothing was written.", i))
			return nil, &r
		case n > 1 && !e.All:
			r := refuse("not_unique", fmt.Sprintf("edits[%d]: old occurs %d times. Add lines around it, or set all. Nothing was written.", i, n))
			return nil, &r
		}
		text = strings.ReplaceAll(text, e.Old, e.New)
	}
	return []byte(text), nil
}

func toCRLF(s string) string {
	return strings.ReplaceAll(strings.ReplaceAll(s, "\r\n", "\n"), "\n", "\r\n")
}

// result is the difference in unified form.
func (c change) result(note string) Result {
	from, to := "a/"+c.rel, "b/"+c.rel
	if !c.exists {
		from = "/dev/null"
	}
	text := string(diff.Diff(show(from), c.old, show(to), c.new))
	if _, rest, ok := strings.Cut(text, "\n"); ok && strings.HasPrefix(text, "diff ") {
		text = rest
	}
	cut := len(text) > maxDiff
	if cut {
		end := strings.LastIndexByte(text[:maxDiff], '\n') + 1
		text = fmt.Sprintf("%s[difference cut: %d bytes]", text[:end], len(text))
	}
	return Result{Text: note + text, Meta: Meta{Truncated: cut}}
}
