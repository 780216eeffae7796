package install

import (
	"context"
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/deftskills/deft/install/archive"
	"github.com/deftskills/deft/install/fetch"
	"github.com/deftskills/deft/skill"
	"github.com/deftskills/deft/source"
)

// Package is one skill of a source.
type Package struct {
	Skill    *skill.Skill
	Dir      string // in the source; "" = its root
	Internal bool   // its author offers it only to those who name it
	Files    []archive.File
	Tree     skill.Tree
	Digest   skill.Digest // of Tree
	// Version is that of a plugin, which has no Skill but Parts.
	Version string
	Parts   []Part
	Commit  string // of this skill, where its source has none as a whole; else ""
	// Problem is why it can't be chosen, "" where it can.
	Problem string
	// pristine is the source's own package, where Files hold a person's changes too: what
	// records compare with.
	pristine *Package
}

// own is the package as its source has it.
func (p Package) own() Package {
	if p.pristine != nil {
		return *p.pristine
	}
	return p
}

// Origin is where the package came from, of a source that came from o.
func (p Package) Origin(o Origin) Origin {
	o.Subpath = p.Dir
	if p.Commit != "" {
		o.Commit = p.Commit
	}
	return o
}

// maxPackageDepth is how deep a SKILL.md may lie to be found by itself.
const maxPackageDepth = 6

// pruned are folders in which no skill is looked for.
var pruned = []string{"node_modules", ".git", "vendor", ".venv", "venv", "__pycache__", "dist", "build", "testdata"}

// FindOptions says what of a source is offered.
type FindOptions struct {
	Nested bool // the skill at the top brings those below it along, as files
	Flat   bool // single files in a folder skills are skills too, of the file's name
}

// Find returns the skills of a source, by folder. A SKILL.md below another skill belongs
// to that skill, unless that one lies at the top.
func Find(ctx context.Context, f *Fetched, o FindOptions) ([]Package, error) {
	var dirs []string
	for _, file := range f.Files {
		if path.Base(file.Path) == source.SkillFile && f.asked(dirOf(file.Path)) {
			dirs = append(dirs, dirOf(file.Path))
		}
	}
	slices.Sort(dirs)
	var out []Package
	for _, dir := range dirs {
		if f.private(dir, dirs) {
			continue
		}
		p, err := f.pack(ctx, dir, dirs, o)
		if err != nil {
			return nil, err
		}
		out = append(out, p)
	}
	for _, file := range f.Files {
		if !f.flat(file.Path, o) || slices.Contains(dirs, strings.TrimSuffix(file.Path, ".md")) {
			continue
		}
		p := Package{Dir: file.Path, Commit: f.commits[dirOf(file.Path)], Files: []archive.File{{Path: source.SkillFile, Data: file.Data}}}
		if err := f.read(ctx, &p, file.Path); err != nil {
			return nil, err
		}
		out = append(out, p)
	}
	return out, nil
}

// flat reports whether a single file is a skill: the one that was asked for, or with Flat
// each directly in the folder skills of what was asked for.
func (f *Fetched) flat(at string, o FindOptions) bool {
	name, root := strings.ToLower(path.Base(at)), f.Origin.Subpath
	if path.Ext(at) != ".md" || name == "skill.md" || strings.HasPrefix(name, "readme") || !kept(at) {
		return false
	}
	dir := dirOf(at)
	return at == root || o.Flat && path.Base(dir) == "skills" && (dir == root || dir == path.Join(root, "skills"))
}

// asked reports whether a skill in a folder is offered: it lies below the folder that was
// asked for, not too deep, and in no folder of tools.
func (f *Fetched) asked(dir string) bool {
	root := f.Origin.Subpath
	if len(f.roots) > 0 && (root == "" || slices.Contains(f.roots, root)) {
		at := slices.IndexFunc(f.roots, func(r string) bool { return dir == r || strings.HasPrefix(dir, r+"/") || r == "" })
		if at < 0 {
			return false
		}
		root = f.roots[at]
	}
	switch {
	case dir == root:
		return true
	case root != "" && !strings.HasPrefix(dir, root+"/"):
		return false
	}
	parts := strings.Split(strings.TrimPrefix(strings.TrimPrefix(dir, root), "/"), "/")
	return len(parts) <= maxPackageDepth && !slices.ContainsFunc(parts, func(p string) bool { return slices.Contains(pruned, p) })
}

// private reports whether a folder lies below another skill's, the one at the top apart.
func (f *Fetched) private(dir string, dirs []string) bool {
	return slices.ContainsFunc(dirs, func(above string) bool {
		return above != f.Origin.Subpath && above != dir && strings.HasPrefix(dir, above+"/")
	})
}

func (f *Fetched) pack(ctx context.Context, dir string, dirs []string, o FindOptions) (Package, error) {
	p := Package{Dir: dir, Commit: f.commits[dir]}
	for _, file := range below(f.Files, dir) {
		if !kept(file.Path) || dir == f.Origin.Subpath && !o.Nested && slices.ContainsFunc(dirs, func(d string) bool {
			return d != dir && strings.HasPrefix(path.Join(dir, file.Path), d+"/")
		}) {
			continue
		}
		p.Files = append(p.Files, file)
	}
	return p, f.read(ctx, &p, path.Join(dir, source.SkillFile))
}

// read fills in what the files of a package say; shown is its SKILL.md in the source.
func (f *Fetched) read(ctx context.Context, p *Package, shown string) error {
	c, err := treeOf(ctx, p.Files)
	if err != nil {
		return err
	}
	p.Tree, p.Digest = c.tree, c.tree.Digest()
	side := map[string][]byte{}
	var src []byte
	for _, file := range p.Files {
		switch file.Path {
		case source.SkillFile:
			src = file.Data
		case skill.SidecarConfig, skill.SidecarOpenAI:
			side[file.Path] = file.Data
		}
	}
	p.Skill = skill.Parse(src, skill.ParseOptions{Path: shown, DirName: p.folder(), Sidecars: side})
	p.Internal = p.Skill.Meta.Internal
	p.Problem = f.problem(*p)
	return nil
}

// folder is the name that a skill has by where it lies.
func (p Package) folder() string { return strings.TrimSuffix(path.Base("/"+p.Dir), ".md") }

// kept reports whether a path is part of a skill: no part of it is what tools leave.
func kept(p string) bool {
	return !slices.ContainsFunc(strings.Split(p, "/"), left)
}

// problem says why a package can't be installed as it is.
func (f *Fetched) problem(p Package) string {
	if !p.Skill.Valid {
		for _, d := range p.Skill.Diagnostics {
			if d.Level == skill.LevelError {
				return fmt.Sprintf("%s line %d: %s", d.File, d.Line, d.Message)
			}
		}
		return "its SKILL.md can't be read"
	}
	if err := p.checkNames(); err != nil {
		return err.Error()
	}
	return f.badPath(p.Dir)
}

// badPath is what was left out below a folder because some system can't have its path.
func (f *Fetched) badPath(dir string) string {
	for _, n := range f.Notes {
		if n.Code == fetch.NoteBadPath && (dir == "" || strings.HasPrefix(n.Path, dir+"/")) {
			return n.Message
		}
	}
	return ""
}

// checkNames holds the name that the header gives to the rules too: a skill that is read
// under its folder's name instead was written to be put elsewhere.
func (p Package) checkNames() error {
	if raw := p.Skill.Raw(); raw != nil {
		if name, ok := raw.Get("name").Text(); ok && strings.TrimSpace(name) != "" {
			if err := CheckName(strings.TrimSpace(name)); err != nil {
				return err
			}
		}
	}
	return CheckName(p.Skill.Name)
}
