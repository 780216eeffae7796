package toolset

import (
	"context"
	"encoding/json"
	"path"
	"strconv"
	"strings"

	"github.com/bmatcuk/doublestar/v4"

	"github.com/deftskills/deft/gate"
)

// globTool lists files by name.
type globTool struct{ w *workspace }

const globSchema = `{"type":"object","properties":{"pattern":{"type":"string","minLength":1,"maxLength":1024},"path":{"type":"string","maxLength":4096}},"required":["pattern"],"additionalProperties":false}`

func (t *globTool) Spec() Spec {
	return Spec{
		Name: "glob", Description: description("glob"), Toolset: "files",
		Input: json.RawMessage(globSchema),
		Tier:  gate.ReadOnly, Mode: Parallel, ReadOnly: true,
	}
}

func (t *globTool) Call(ctx context.Context, c Call) (Result, error) {
	in := parseInput(c.Input)
	pattern, _ := in.text("pattern", 1024, true)
	arg, _ := in.text("path", 4096, false)
	match := matcher(in, pattern)
	if in.fault != nil {
		return *in.fault, nil
	}
	var hits []string
	n := 0
	complete, refused, err := t.w.each(ctx, arg, func(rel, below string) error {
		if match(below) && !t.w.refuses(rel) {
			if n++; n <= maxHits {
				hits = append(hits, show(rel))
			}
		}
		return nil
	})
	if refused != nil || err != nil {
		return orZero(refused), err
	}
	if n == 0 {
		return Result{Text: in.note() + "No file matches." + more(n, complete)}, nil
	}
	return Result{
		Text: in.note() + strings.Join(hits, "\n") + more(n, complete), Structured: hits,
		Meta: Meta{Truncated: n > maxHits || !complete},
	}, nil
}

// matcher compiles a glob. One without a slash also matches a file's own name.
func matcher(in *input, pattern string) func(rel string) bool {
	pattern = strings.TrimPrefix(strings.ReplaceAll(pattern, `\`, "/"), "./")
	if !doublestar.ValidatePattern(pattern) || strings.Count(pattern, "{") > 8 {
		in.bad("pattern is no glob")
		return nil
	}
	return func(rel string) bool {
		ok, err := doublestar.Match(pattern, rel)
		if err == nil && !ok && !strings.Contains(pattern, "/") {
			ok, err = doublestar.Match(pattern, path.Base(rel))
		}
		return err == nil && ok
	}
}

// each walks the folder (or visits the file) that arg names; below is the path
// relative to that folder.
func (w *workspace) each(ctx context.Context, arg string, visit func(rel, below string) error) (complete bool, refused *Result, err error) {
	start := "."
	if strings.TrimSpace(arg) != "" {
		if start, err = w.relative(arg); err != nil {
			r := w.refusal(arg, err)
			return false, &r, nil
		}
	}
	root, err := w.open()
	if err != nil {
		r := w.refusal(arg, err)
		return false, &r, nil
	}
	defer root.Close()
	complete, err = w.walk(ctx, root.FS(), start, func(rel string) error {
		below := rel
		if start != "." && rel != start {
			below = strings.TrimPrefix(rel, start+"/")
		}
		return visit(rel, below)
	})
	if ctx.Err() != nil {
		return false, nil, ctx.Err()
	}
	if err != nil {
		r := w.refusal(arg, err)
		return false, &r, nil
	}
	return complete, nil, nil
}

func orZero(r *Result) Result {
	if r == nil {
		return Result{}
	}
	return *r
}

func plural(n int, word string) string { return strconv.Itoa(n) + " " + word }
