package toolset

import (
	"context"
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/deftskills/deft/internal/safetext"
	"github.com/deftskills/deft/session"
	"github.com/deftskills/deft/skill"
)

const (
	maxQuery    = 2048 // characters of a query
	defaultTopK = 5
	maxTopK     = 20
	maxNames    = 200 // entries of names
	descWidth   = 160 // clusters of a description in an answer
)

// searchTool finds skills by what they hold.
type searchTool struct{ shape }

const skillSearchSchema = `{"type":"object","properties":{"query":{"type":"string","minLength":1,"maxLength":2048},"names":{"type":"array","items":{"type":"string","maxLength":512},"maxItems":200},"topK":{"type":"integer","minimum":1,"maximum":20}},"required":["query"],"additionalProperties":false}`

func (t *searchTool) Call(ctx context.Context, c Call) (Result, error) {
	in := t.input(c)
	query, _ := in.text("query", maxQuery*utf8.UTFMax, true)
	names := in.texts("names", maxNames, false)
	topK := min(max(in.whole("topK", t.o.topK()), 1), maxTopK)
	if n := utf8.RuneCountInString(query); n > maxQuery {
		in.bad("query: %d characters, limit %d", n, maxQuery)
	}
	if strings.TrimSpace(query) == "" {
		in.bad("query is empty")
	}
	if in.fault != nil {
		return *in.fault, nil
	}
	addresses, unknown := t.resolve(ctx, c, names)
	var found Found
	if len(names) == 0 || len(addresses) > 0 {
		var err error
		found, err = t.o.Searcher.Search(ctx, c.Turn.Snapshot(), query, addresses, topK)
		if ctx.Err() != nil {
			return Result{}, ctx.Err()
		}
		if err != nil {
			return refuse("search_failed", "The search failed. Go on without it."), nil
		}
	}
	if t.o.Dialect == skill.Mastra {
		return Result{Text: previews(found), Structured: found}, nil
	}
	return Result{Text: in.note() + t.report(found, unknown), Structured: found}, nil
}

// resolve turns names into addresses of skills that the model may see. Nothing tells
// a hidden skill from one that does not exist.
func (t *searchTool) resolve(ctx context.Context, c Call, names []string) (addresses, unknown []string) {
	for _, name := range names {
		rec, ok := c.Turn.Visible(ctx, name, session.ActorModel)
		if !ok {
			unknown = append(unknown, show(name))
			continue
		}
		addresses = append(addresses, rec.Address)
	}
	return addresses, unknown
}

func (t *searchTool) report(f Found, unknown []string) string {
	var parts []string
	if len(f.Hits) == 0 {
		parts = append(parts, fmt.Sprintf("No skill matches. %d skills were searched; go on without one or use other words.", f.Searched))
	}
	weak := true
	for _, h := range f.Hits {
		weak = weak && h.Strength == "weak"
	}
	if weak && len(f.Hits) > 0 {
		parts = append(parts, "Weak matches only; most likely none fits.")
	}
	for _, h := range f.Hits {
		parts = append(parts, hitText(h, f.Hits[0].Score))
	}
	if len(f.Hits) > 0 {
		parts = append(parts, fmt.Sprintf("Load with %s(%q) if it fits the task.", t.o.LoaderName(), show(f.Hits[0].Address)))
	}
	if len(unknown) > 0 {
		parts = append(parts, "Unknown in names: "+strings.Join(unknown, ", "))
	}
	if f.Degraded != "" {
		parts = append(parts, "The search was incomplete: "+show(f.Degraded))
	}
	return strings.Join(parts, "\n\n")
}

func hitText(h Hit, top int64) string {
	score := 1.0
	if top > 0 {
		score = float64(h.Score) / float64(top)
	}
	where := "SKILL.md"
	if h.File != "" {
		where = show(h.File)
	}
	if h.StartLine > 0 {
		where += fmt.Sprintf(":%d-%d", h.StartLine, h.EndLine)
	}
	head := fmt.Sprintf("[%s] %s (score %.2f)", show(h.Address), where, score)
	if h.Strength == "strong" || h.Strength == "weak" {
		head += " " + h.Strength
	}
	desc, _ := safetext.Field(h.Description)
	text := head + "\n" + safetext.Clip(desc, descWidth)
	if h.Snippet != "" {
		text += "\n> " + show(h.Snippet)
	}
	return text
}

const previewWidth = 200 // characters of a preview

// previews is the answer of dialect mastra.
func previews(f Found) string {
	if len(f.Hits) == 0 {
		return "No results found."
	}
	parts := make([]string, 0, len(f.Hits))
	for _, h := range f.Hits {
		head := "[" + show(h.Address) + "]"
		if h.StartLine > 0 {
			head += fmt.Sprintf(" (lines %d-%d)", h.StartLine, h.EndLine)
		}
		text := h.Snippet
		if r := []rune(text); len(r) > previewWidth {
			text = string(r[:previewWidth]) + "..."
		}
		parts = append(parts, fmt.Sprintf("%s (score: %.2f)\n%s", head, float64(h.Score)/scoreUnit, text))
	}
	return strings.Join(parts, "\n\n")
}
