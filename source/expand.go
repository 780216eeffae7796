package source

import (
	"context"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/deftskills/deft/skill"
)

// Kinds returns every kind, strongest first.
func Kinds() []Kind {
	return []Kind{Managed, DataDef, Project, Agent, User, PluginK, Package, Builtin, MCP}
}

// formPriority is the priority of a source that a person names.
const formPriority = 100

// Expand turns path forms into sources: a glob, a SKILL.md, a directory that holds
// one, a directory to scan; KIND=PATH names another kind than project. Sources of a
// person are trusted unless their kind never is. What a form leads to is judged at
// each scan, so a path may appear later. Relative forms start at the workspace.
func Expand(ctx context.Context, forms []string, e Env) ([]Source, []skill.Diagnostic) {
	var out []Source
	var diags []skill.Diagnostic
	seen := map[string]bool{}
	for _, form := range forms {
		list, d := e.sourcesOf(form)
		diags = append(diags, d...)
		for _, src := range list {
			if i := src.Info(); i.Kind == PluginK || !seen[i.ID] { // Distinct tells plugins apart
				seen[i.ID] = true
				out = append(out, src)
			}
		}
	}
	return Distinct(out), diags
}

// sourcesOf returns the sources of one form: several for a pattern of plugins.
func (e Env) sourcesOf(form string) ([]Source, []skill.Diagnostic) {
	if rest, ok := strings.CutPrefix(form, string(PluginK)+"="); ok {
		return e.pluginForm(form, rest)
	}
	src, diags := e.form(form)
	if src == nil {
		return nil, diags
	}
	return []Source{src}, diags
}

func (e Env) form(form string) (Source, []skill.Diagnostic) {
	info := Info{Kind: Project, Trust: Trusted, Priority: formPriority, Origin: "source " + form}
	explicit := false
	path := form
	if k, rest, ok := strings.Cut(form, "="); ok && slices.Contains(Kinds(), Kind(k)) {
		info.Kind, path, explicit = Kind(k), rest, true
		if info.Kind != Project {
			info.Trust = DefaultTrust(info.Kind)
		}
	}
	typed := e.slashed(path)
	path, diags := e.located(form, path)
	if path == "" {
		return nil, diags
	}
	repo := Repository(e, e.Workspace)
	if e.Project {
		info.Kind, info.Trust, explicit = Project, Pending, false // a project cannot make its own folders stronger
		if !within(resolved(staticPart(path)), resolved(repo)) {
			return nil, []skill.Diagnostic{finding("root_outside_project", path, "source %q of the project lies outside of it", form)}
		}
	}
	if kind := kindOfPath(resolved(staticPart(path)), e.Format.Dialect); kind != "" && !explicit {
		info.Kind, info.Priority = kind, 0
		if !e.Project {
			info.Trust = DefaultTrust(kind)
		}
	}
	if e.Format.Dialect == skill.Blade {
		info.Priority = 0 // the weight of the kind
	}
	info.ID, info.Path = "source:"+path, path
	if info.Kind == Package {
		info.ID = "package:" + path
	} else if explicit || info.Kind == Managed {
		info.ID = string(info.Kind) + ":" + path
	}
	switch {
	case e.Project:
		info.Links = LinksStay
	case e.Format.Dialect == skill.Mastra:
		info.Links = LinksLeave
	}
	o := e.dirOptions(withDefaults(info, info.ID))
	o.Limits = o.Limits.WithDefaults()
	o.Boundary = Repository(e, staticPart(path))
	return &formSource{o: o, typed: typed, workspace: e.Workspace}, nil
}

func (e Env) slashed(path string) string {
	if e.os() == "windows" {
		return strings.ReplaceAll(path, `\`, "/")
	}
	return path
}

// located returns the absolute path of what a person wrote, "" and why there is none.
func (e Env) located(form, path string) (string, []skill.Diagnostic) {
	path = e.slashed(path)
	if path == "" || strings.IndexByte(path, 0) >= 0 {
		return "", []skill.Diagnostic{finding("path_missing", form, "path is empty or holds a NUL")}
	}
	if !e.Project {
		var unknown string
		if path, unknown = e.expandStart(path); unknown != "" {
			return "", []skill.Diagnostic{finding("path_variable", form, "variable %s of %q is not set", unknown, form)}
		}
	}
	if path = e.absolute(path); path == "" {
		return "", []skill.Diagnostic{finding("path_missing", form, "path %q is relative and there is no workspace", form)}
	}
	return path, nil
}

// absolute returns a cleaned absolute path, one trailing separator removed; metacharacters stay.
func (e Env) absolute(path string) string {
	path = filepath.FromSlash(path)
	if !filepath.IsAbs(path) {
		if e.Workspace == "" {
			return ""
		}
		path = filepath.Join(e.Workspace, path)
	}
	return filepath.Clean(path)
}

func resolved(path string) string {
	if real, err := filepath.EvalSymlinks(path); err == nil {
		return real
	}
	return path
}

const globMeta = "*?{}[]"

func isGlob(path string) bool { return strings.ContainsAny(path, globMeta) }

// Globs reports whether a source walks a pattern at each scan.
func Globs(src Source) bool {
	switch s := src.(type) {
	case *formSource:
		return isGlob(s.o.Info.Path)
	case *fsForm:
		return isGlob(s.path)
	}
	return false
}

// staticPart cuts a pattern at the last separator before its first metacharacter.
func staticPart(path string) string {
	i := strings.IndexAny(path, globMeta)
	if i < 0 {
		return path
	}
	cut := strings.LastIndexAny(path[:i], `/`+sep)
	if cut <= 0 {
		return sep
	}
	return path[:cut]
}

// formSource reads one path form; what it is, is judged at each scan.
type formSource struct {
	o         DirOptions
	typed     string // as written
	workspace string
}

func (s *formSource) Info() Info     { return s.o.Info }
func (s *formSource) format() Format { return s.o.Format }

func (s *formSource) with(change func(*Info)) Source {
	c := *s
	change(&c.o.Info)
	return &c
}

func (s *formSource) Open(ctx context.Context, e *Entry, rel string) (fs.File, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	return openEntry(e, rel)
}

func (s *formSource) Scan(ctx context.Context, prev *Listing) (*Listing, error) {
	path := s.o.Info.Path
	if isGlob(path) {
		return s.scanGlob(ctx, prev)
	}
	o := s.o
	o.Required = true
	o.Limits = o.Limits.WithDefaults()
	st, err := os.Stat(path)
	switch {
	case err != nil && os.IsNotExist(err):
		return s.missing(path), nil
	case err == nil && strings.EqualFold(filepath.Base(path), SkillFile):
		o.One, path = true, filepath.Dir(path)
	case err == nil && !st.IsDir():
		return &Listing{Complete: true, Diagnostics: []skill.Diagnostic{
			finding("path_missing", path, "path %q is neither a directory nor a %s", path, SkillFile),
		}}, nil
	default:
		o.One = holdsAnySkillFile(path, o.Format.Dialect)
	}
	return Dir(path, o).Scan(ctx, prev)
}

func (s *formSource) missing(path string) *Listing {
	d := missingForm(path, s.o.Format.Dialect)
	if rel := strings.TrimLeft(s.typed, "/"); rel != s.typed && s.workspace != "" {
		if _, err := os.Stat(filepath.Join(s.workspace, filepath.FromSlash(rel))); err == nil {
			d.Fix = "did you mean \"" + rel + "\"?"
		}
	}
	return &Listing{Complete: true, Diagnostics: []skill.Diagnostic{d}}
}

// holdsAnySkillFile says whether a directory is itself a skill, in any spelling.
func holdsAnySkillFile(dir string, d skill.Dialect) bool {
	if st, err := os.Lstat(filepath.Join(dir, SkillFile)); err == nil {
		return !st.IsDir()
	}
	f, err := os.Open(dir)
	if err != nil {
		return false
	}
	defer f.Close()
	for {
		entries, err := f.ReadDir(1024)
		for _, e := range entries {
			if picked, _ := PickSkillFile([]string{e.Name()}, d); picked != "" && !e.IsDir() {
				return true
			}
		}
		if err != nil {
			return false
		}
	}
}
