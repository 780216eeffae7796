package skill

import (
	"slices"

	"github.com/yuin/goldmark"
	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/text"
)

// RegionKind says how a piece of code is written.
type RegionKind uint8

// The kinds of code.
const (
	FencedCode   RegionKind = iota // between ``` or ~~~ lines, or to the end when they do not close
	IndentedCode                   // four blanks or a tab
	CodeSpan                       // `inline`
)

// Region is a piece of code in a body: the bytes [Start, End), without fences and
// backquotes. Info is the info string of a fence, "" for the other kinds.
type Region struct {
	Start, End int
	Kind       RegionKind
	Info       string
}

// CodeRegions returns what is code in body as CommonMark defines it, in lists and
// quotes too, in the order of the text and without overlaps. It is the only judge of
// what is code: placeholders and inline commands ask it.
func CodeRegions(body []byte) []Region {
	var out []Region
	doc := goldmark.DefaultParser().Parse(text.NewReader(shallow(body)))
	// The walk cannot fail: the callback never returns an error.
	_ = ast.Walk(doc, func(n ast.Node, entering bool) (ast.WalkStatus, error) {
		if !entering {
			return ast.WalkContinue, nil
		}
		switch n := n.(type) {
		case *ast.FencedCodeBlock:
			r := Region{Kind: FencedCode}
			if n.Info != nil {
				r.Info = string(n.Info.Segment.Value(body))
			}
			out = appendLines(out, r, n.Lines())
			return ast.WalkSkipChildren, nil
		case *ast.CodeBlock:
			out = appendLines(out, Region{Kind: IndentedCode}, n.Lines())
			return ast.WalkSkipChildren, nil
		case *ast.CodeSpan:
			out = appendSpan(out, n)
			return ast.WalkSkipChildren, nil
		}
		return ast.WalkContinue, nil
	})
	slices.SortStableFunc(out, func(a, b Region) int { return a.Start - b.Start })
	return out
}

func appendLines(out []Region, r Region, lines *text.Segments) []Region {
	if lines.Len() == 0 {
		return out
	}
	r.Start, r.End = lines.At(0).Start, lines.At(lines.Len()-1).Stop
	return append(out, r)
}

// appendSpan covers a span's texts from the first to the last.
func appendSpan(out []Region, n *ast.CodeSpan) []Region {
	r := Region{Kind: CodeSpan, Start: -1}
	for c := n.FirstChild(); c != nil; c = c.NextSibling() {
		t, ok := c.(*ast.Text)
		if !ok {
			continue
		}
		if r.Start < 0 {
			r.Start = t.Segment.Start
		}
		r.End = max(r.End, t.Segment.Stop)
	}
	if r.Start < 0 || r.End <= r.Start {
		return out
	}
	return append(out, r)
}

// inCode reports whether the byte at lies in one of the sorted regions.
func inCode(regions []Region, at int) bool {
	i, ok := slices.BinarySearchFunc(regions, at, func(r Region, at int) int { return r.Start - at })
	if ok {
		return true
	}
	return i > 0 && at < regions[i-1].End
}
