package install

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"

	"github.com/deftskills/deft/install/archive"
	"github.com/deftskills/deft/install/licence"
	"github.com/deftskills/deft/skill"
	"github.com/deftskills/deft/source"
)

// Part is a folder of a source whose licence counts for a plugin: its own, and those of the
// skills in it.
type Part struct {
	Dir     string // in the source; "" = its root
	Licence string // what its header or manifest says
}

// FS is everything that was fetched as one file system.
func (f *Fetched) FS(ctx context.Context) (fs.FS, error) { return f.fs(ctx) }

// With is the source with one more file, which takes the place of one with its path.
func (f *Fetched) With(file archive.File) *Fetched {
	out := &Fetched{Origin: f.Origin, Notes: f.Notes, licensed: f.licensed}
	for _, have := range f.Files {
		if have.Path != file.Path {
			out.Files = append(out.Files, have)
		}
	}
	out.Files = append(out.Files, file)
	slices.SortFunc(out.Files, func(a, b archive.File) int { return strings.Compare(a.Path, b.Path) })
	return out
}

// Bundle makes a plugin that lies in a folder of a source one package. Install it in a
// PluginScope.
func (f *Fetched) Bundle(ctx context.Context, dir, version string, parts []Part) (Package, error) {
	p := Package{Dir: dir, Version: version, Parts: parts, Problem: f.badPath(dir)}
	for _, file := range below(f.Files, dir) {
		if kept(file.Path) {
			p.Files = append(p.Files, file)
		}
	}
	c, err := treeOf(ctx, p.Files)
	if err != nil {
		return p, err
	}
	p.Tree, p.Digest = c.tree, c.tree.Digest()
	return p, nil
}

// TreeAt is the digest of what is installed in a folder, as lock files have it.
func TreeAt(ctx context.Context, dir string) (skill.Digest, error) {
	tree, err := treeAt(ctx, dir)
	if err != nil {
		return "", err
	}
	return tree.Digest(), nil
}

// order is how much a verdict weighs among those of the parts of one package.
var order = []licence.Decision{licence.Allow, licence.Warn, licence.None, licence.Contradiction, licence.Refuse}

// licenceOf is the worst verdict of a list of folders. A part that says nothing has the
// licence of the first.
func licenceOf(tree fs.FS, parts []Part, o licence.Options) (worst licence.Verdict, err error) {
	for n, part := range parts {
		dir := part.Dir
		if dir == "" {
			dir = "."
		}
		src, err := fs.ReadFile(tree, path.Join(dir, source.SkillFile))
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return worst, fmt.Errorf("install: %w", err)
		}
		v, err := licence.Decide(tree, dir, part.Licence, src, o)
		if err != nil {
			return worst, err
		}
		weight := func(v licence.Verdict) int { return slices.Index(order, v.Decision) }
		switch {
		case n == 0:
			worst = v
		case v.Decision == licence.None:
		case weight(v) > weight(worst):
			worst = v
		}
	}
	return worst, nil
}
