package toolset

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"

	"github.com/deftskills/deft/gate"
)

const maxContent = 1 << 20 // bytes of one content, as of all arguments of a call

// Differ is implemented by tools that change files. Diff says what a call would
// change, and changes nothing; a host shows it beside the question.
type Differ interface {
	Diff(ctx context.Context, c Call) (Result, error)
}

// writeTool writes a whole file.
type writeTool struct{ w *workspace }

const writeSchema = `{"type":"object","properties":{"path":{"type":"string","minLength":1,"maxLength":4096},"content":{"type":"string","maxLength":1048576}},"required":["path","content"],"additionalProperties":false}`

func (t *writeTool) Spec() Spec {
	return Spec{
		Name: "write", Description: description("write"), Toolset: "files",
		Input: json.RawMessage(writeSchema),
		Tier:  gate.ConfirmOnce, Mode: Parallel,
	}
}

func (t *writeTool) Call(ctx context.Context, c Call) (Result, error) { return t.run(ctx, c, true) }

// Diff says what Call would change.
func (t *writeTool) Diff(ctx context.Context, c Call) (Result, error) { return t.run(ctx, c, false) }

func (t *writeTool) run(ctx context.Context, c Call, commit bool) (Result, error) {
	in := parseInput(c.Input)
	arg, _ := in.text("path", 4096, true)
	content, _ := in.text("content", maxContent, true)
	if in.fault != nil {
		return *in.fault, nil
	}
	return t.w.change(ctx, arg, true, commit, in.note(), func([]byte) ([]byte, *Result) { return []byte(content), nil })
}

// change plans a write, carries it out if commit is set, and answers with the difference.
func (w *workspace) change(ctx context.Context, arg string, create, commit bool, note string, makeNew func([]byte) ([]byte, *Result)) (Result, error) {
	w.writes.Lock()
	defer w.writes.Unlock()
	root, err := w.open()
	if err != nil {
		return w.refusal(arg, err), nil
	}
	defer root.Close()
	planned, refused := w.plan(root, arg, create, makeNew)
	if refused != nil {
		return *refused, nil
	}
	if planned.exists && bytes.Equal(planned.old, planned.new) {
		return Result{Text: note + fmt.Sprintf("%s is unchanged: it holds this text already.", quote(planned.rel)), Code: "unchanged"}, nil
	}
	if commit {
		if err := w.commit(ctx, root, planned); err != nil {
			if ctx.Err() != nil {
				return Result{}, ctx.Err()
			}
			return w.refusal(arg, err), nil
		}
	}
	res := planned.result(note)
	if commit {
		res.Meta.Wrote = []string{planned.rel}
	}
	return res, nil
}
