package deft

import (
	"context"
	"fmt"
	"slices"

	"github.com/deftskills/deft/registry"
	"github.com/deftskills/deft/skill"
	"github.com/deftskills/deft/source"
)

// mostDrift is how many changed files are named; the rest is counted.
const mostDrift = 20

// Drift tells how a skill differs from what a person granted last: a line for each file
// that came ("+ PATH"), went ("- PATH") or changed ("~ PATH"), and one for each tool that
// its header asks for since. nil = it is what was granted, it was never granted, or it
// needs no grant.
func (e *Engine) Drift(ctx context.Context, r *registry.Record) []string {
	if r.Source.Trust == source.Trusted {
		return nil
	}
	given := grantsOf(e.judge.decided().Grants, r)
	if len(given) == 0 {
		return nil
	}
	tree, files, err := source.Tree(ctx, r.Entry)
	switch {
	case err != nil:
		return []string{"its files cannot be read: " + err.Error()}
	case slices.ContainsFunc(given, func(g registry.Grant) bool { return g.Tree == tree }):
		return nil
	}
	last := given[len(given)-1]
	var out []string
	if was, ok := e.formerTree(last.Tree); ok {
		out = diffTrees(was, files)
	} else {
		out = []string{"files of it changed"}
	}
	for _, tool := range r.Skill.Meta.AllowedTools.Entries {
		if !slices.Contains(last.Tools, tool) {
			out = append(out, "+ tool "+tool)
		}
	}
	return out
}

// formerTree is the list of files that a person saw, where the host kept it.
func (e *Engine) formerTree(d skill.Digest) (skill.Tree, bool) {
	if e.o.Trees == nil {
		return nil, false
	}
	was, ok := e.o.Trees(d)
	return was, ok && was.Digest() == d
}

// diffTrees names what differs between two lists of files, sorted by path.
func diffTrees(was, now skill.Tree) []string {
	at := func(t skill.Tree, path string) (skill.FileEntry, bool) {
		i := slices.IndexFunc(t, func(f skill.FileEntry) bool { return f.Path == path })
		if i < 0 {
			return skill.FileEntry{}, false
		}
		return t[i], true
	}
	var paths []string
	for _, f := range slices.Concat(was, now) {
		paths = append(paths, f.Path)
	}
	slices.Sort(paths)
	var out []string
	for _, path := range slices.Compact(paths) {
		a, had := at(was, path)
		b, has := at(now, path)
		switch {
		case !had:
			out = append(out, "+ "+path)
		case !has:
			out = append(out, "- "+path)
		case a.Blob != b.Blob || a.Size != b.Size:
			out = append(out, "~ "+path)
		}
	}
	if more := len(out) - mostDrift; more > 0 {
		out = append(out[:mostDrift], fmt.Sprintf("and %d more", more))
	}
	return out
}
