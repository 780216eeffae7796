package cli

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"

	"github.com/deftskills/deft/internal/atomicfile"
	"github.com/deftskills/deft/skill"
	"github.com/deftskills/deft/store"
)

// maxTree bounds a kept list of files.
const maxTree = 4 << 20

// treeFile is where the list of files of a granted tree is kept: what a person saw, to tell
// later what changed. It grants nothing.
func (r *run) treeFile(d skill.Digest) string {
	return filepath.Join(r.dirs.State, "trees", strings.TrimPrefix(string(d), "sha256:")+".json")
}

// keepTree keeps the list of files of a tree that has a grant. Without it a later change is
// told without names.
func (r *run) keepTree(ctx context.Context, s *store.Store, t skill.Tree) {
	if grants, err := s.Grants(ctx); err == nil {
		r.sweepTrees(grants)
	}
	file := r.treeFile(t.Digest())
	if _, kept := r.keptTree(t.Digest()); kept {
		return
	}
	text, err := json.Marshal(t)
	if err == nil {
		err = os.MkdirAll(filepath.Dir(file), 0o700)
	}
	if err == nil {
		err = atomicfile.Write(file, text, 0o600)
	}
	if err != nil {
		r.hintf("%s", r.words.Say("trust.tree_unkept", err.Error()))
	}
}

// sweepTrees removes what no grant needs, also what a killed process left.
func (r *run) sweepTrees(grants []store.Grant) {
	keep := map[string]bool{}
	for _, g := range grants {
		keep[r.treeFile(g.Tree)] = true
	}
	dir := filepath.Dir(r.treeFile(""))
	files, _ := os.ReadDir(dir)
	for _, f := range files {
		if path := filepath.Join(dir, f.Name()); !keep[path] {
			_ = os.Remove(path) // what stays goes with the next one
		}
	}
}

// keptTree is a list that keepTree kept.
func (r *run) keptTree(d skill.Digest) (skill.Tree, bool) {
	file := r.treeFile(d)
	if st, err := os.Stat(file); err != nil || !st.Mode().IsRegular() || st.Size() > maxTree {
		return nil, false
	}
	text, err := os.ReadFile(file)
	if err != nil {
		return nil, false
	}
	var t skill.Tree
	err = json.Unmarshal(text, &t)
	return t, err == nil
}

// showDrift shows what changed since a skill was granted last.
func (r *run) showDrift(lines []string) {
	if len(lines) == 0 || r.globals.json {
		return
	}
	r.err.Printf("  %s\n", r.words.Say("trust.drift"))
	for _, line := range lines {
		r.err.Printf("    %s\n", line)
	}
}
