package toolset

import (
	"context"
	"encoding/json"
	"fmt"
	"path/filepath"
	"strings"

	"github.com/deftskills/deft/gate"
)

const (
	readLines = 2000
	readBytes = 256 << 10
)

// fileReadTool reads a file of the workspace.
type fileReadTool struct{ w *workspace }

const readSchema = `{"type":"object","properties":{"path":{"type":"string","minLength":1,"maxLength":4096},"offset":{"type":"integer","minimum":1},"limit":{"type":"integer","minimum":1,"maximum":2000}},"required":["path"],"additionalProperties":false}`

func (t *fileReadTool) Spec() Spec {
	return Spec{
		Name: "read", Description: description("read"), Toolset: "files",
		Input: json.RawMessage(readSchema),
		Tier:  gate.ReadOnly, Mode: Parallel, ReadOnly: true,
	}
}

// file reads a file of the workspace, or a kept output.
func (t *fileReadTool) file(arg string) (rel string, raw []byte, err error) {
	if name, ok := t.w.output(arg); ok {
		root, err := t.w.openOutputs()
		if err != nil {
			return arg, nil, err
		}
		defer root.Close()
		raw, _, err := readWhole(root, filepath.ToSlash(name))
		return arg, raw, err
	}
	if rel, err = t.w.relative(arg); err != nil {
		return rel, nil, err
	}
	root, err := t.w.open()
	if err != nil {
		return rel, nil, err
	}
	defer root.Close()
	if raw, _, err = readWhole(root, rel); err != nil {
		return rel, nil, err
	}
	if real, err := target(root, rel); err == nil {
		t.w.seen.put(real, raw)
		t.w.touched(rel)
	}
	return rel, raw, nil
}

func (t *fileReadTool) Call(ctx context.Context, c Call) (Result, error) {
	in := parseInput(c.Input)
	arg, _ := in.text("path", 4096, true)
	offset, limit := in.whole("offset", 1), in.whole("limit", readLines)
	if in.fault != nil {
		return *in.fault, nil
	}
	if err := ctx.Err(); err != nil {
		return Result{}, err
	}
	rel, raw, err := t.file(arg)
	if err != nil {
		return t.w.refusal(arg, err), nil
	}
	text, ok := decodeText(raw)
	if !ok {
		media := mediaType(raw)
		out := Result{Text: fmt.Sprintf("Binary file: %s (%d bytes), %s. It cannot be shown as text.", show(rel), len(raw), media)}
		if strings.HasPrefix(media, "image/") && len(raw) <= maxImage || media == "application/pdf" {
			out.Structured = Image{Media: media, Data: raw}
		}
		return out, nil
	}
	w := window{lines: splitLines(text), from: max(offset, 1), maxLines: readLines, maxBytes: readBytes}
	w.to = w.from + min(max(limit, 1), readLines) - 1
	if w.from > len(w.lines) {
		return Result{Code: "range_empty", Text: fmt.Sprintf("File %s has %d lines; offset %d is past its end.", quote(rel), len(w.lines), w.from)}, nil
	}
	body, first, last, truncated := w.cut("offset")
	if last < len(w.lines) && !truncated {
		body += fmt.Sprintf("\n[more: continue with offset %d]", last+1)
		truncated = true
	}
	return Result{
		Text: fmt.Sprintf("%s%s (lines %d-%d of %d)\n%s", in.note(), show(rel), first, last, len(w.lines), body),
		Meta: Meta{Truncated: truncated},
	}, nil
}
