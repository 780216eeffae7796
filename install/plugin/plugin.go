package plugin

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"

	"github.com/deftskills/deft/internal/fold"
	"github.com/deftskills/deft/internal/limits"
	"github.com/deftskills/deft/skill"
	"github.com/deftskills/deft/source"
)

// Plugin is one plugin with all that it carries.
type Plugin struct {
	source.Manifest
	Skills   []Skill  // by folder
	Commands []string // names of command files that no skill shadows
	Agents   []string // files of definitions of agents
	Hooks    []Hook
	Servers  []Server
	// Found is what is wrong with it; paths are those that Read was given.
	Found []skill.Diagnostic
}

// Skill is a skill of a plugin, as far as an install looks at it by itself.
type Skill struct {
	Name    string
	Dir     string // in the plugin, slash-separated
	Licence string // as its header has it
	Problem string // why it can't be used; "" = it can
}

// maxSkillDepth is how deep below a path of the manifest a skill may lie.
const maxSkillDepth = 4

// Read reads a plugin that is a tree of files. dir is what its directory is called, for
// its name where no manifest gives one, and for findings.
func Read(fsys fs.FS, dir string) Plugin {
	m, found := source.ReadManifestIn(fsys, dir)
	p := Plugin{Manifest: m, Found: found}
	for _, rel := range m.Skills {
		p.skills(fsys, rel)
	}
	slices.SortFunc(p.Skills, func(a, b Skill) int { return strings.Compare(a.Dir, b.Dir) })
	p.Skills = slices.CompactFunc(p.Skills, func(a, b Skill) bool { return a.Dir == b.Dir })
	for _, file := range p.markdown(fsys, m.Commands) {
		name := source.CommandName(file)
		if i := slices.IndexFunc(p.Skills, func(s Skill) bool { return fold.Key(s.Name) == fold.Key(name) }); i >= 0 {
			p.note("command_shadowed", file, "command %q is not read: the skill in %s has the name", name, p.Skills[i].Dir)
			continue
		}
		p.Commands = append(p.Commands, name)
	}
	p.Agents = p.markdown(fsys, m.Agents)
	p.readHooks(fsys)
	p.readServers(fsys)
	return p
}

// Plain is a file system of the disk in which nothing is opened but regular files and
// folders: a pipe would never end.
func Plain(fsys fs.FS) fs.FS { return plain{fsys} }

type plain struct{ fs.FS }

func (p plain) Open(name string) (fs.File, error) {
	st, err := fs.Stat(p.FS, name)
	if err != nil {
		return nil, err
	}
	if !st.IsDir() && !st.Mode().IsRegular() {
		return nil, &fs.PathError{Op: "open", Path: name, Err: fs.ErrInvalid}
	}
	return p.FS.Open(name)
}

// Text is a field of the manifest that holds a text; "" = it does not.
func (p Plugin) Text(field string) (s string) {
	_ = json.Unmarshal(p.Fields[field], &s) // what is no text is none
	return s
}

// Empty reports whether a plugin brings nothing that a person could use or agree to.
func (p Plugin) Empty() bool {
	return len(p.Skills)+len(p.Commands)+len(p.Hooks)+len(p.Servers) == 0
}

// Bad returns the finding that keeps a plugin from being installed: a manifest that can't
// be read, or a path in it that leads out. ok is false where there is none.
func (p Plugin) Bad() (d skill.Diagnostic, ok bool) {
	for _, d := range p.Found {
		if d.Code == "plugin_bad_path" || d.Code == "plugin_manifest" {
			return d, true
		}
	}
	return d, false
}

func (p *Plugin) note(code, file, format string, args ...any) {
	p.Found = append(p.Found, skill.Finding(code, file, format, args...)) //nolint:govet // the formats are this room's
}

// skills takes the skills at one path of the manifest: a SKILL.md, the folder of one, or a
// folder of them. A SKILL.md below another belongs to it.
func (p *Plugin) skills(fsys fs.FS, rel string) {
	if path.Base(rel) == source.SkillFile {
		rel = path.Dir(rel)
	}
	depth := strings.Count(rel, "/")
	_ = fs.WalkDir(fsys, rel, func(at string, d fs.DirEntry, err error) error {
		if err != nil || !d.IsDir() {
			return nil //nolint:nilerr // a path that is not there brings nothing
		}
		src, err := fs.ReadFile(fsys, path.Join(at, source.SkillFile))
		switch {
		case err == nil:
			p.Skills = append(p.Skills, skillOf(at, src))
			return fs.SkipDir
		case strings.Count(at, "/")-depth >= maxSkillDepth:
			return fs.SkipDir
		}
		return nil
	})
}

func skillOf(dir string, src []byte) Skill {
	s := skill.Parse(src, skill.ParseOptions{Path: path.Join(dir, source.SkillFile), DirName: path.Base(dir)})
	out := Skill{Name: s.Name, Dir: dir, Licence: s.Meta.License}
	if !s.Valid {
		out.Problem = "its SKILL.md can't be read"
		for _, d := range s.Diagnostics {
			if d.Level == skill.LevelError {
				out.Problem = fmt.Sprintf("line %d: %s", d.Line, d.Message)
				break
			}
		}
	}
	return out
}

// markdown lists the command files, or definitions, at a list of paths.
func (p *Plugin) markdown(fsys fs.FS, paths []string) (files []string) {
	for _, rel := range paths {
		st, err := fs.Stat(fsys, rel)
		switch {
		case err != nil:
		case !st.IsDir() && source.CommandName(rel) != "":
			files = append(files, rel)
		case st.IsDir():
			entries, _ := fs.ReadDir(fsys, rel) // a folder that can't be read brings nothing
			for _, e := range entries {
				if e.Type().IsRegular() && source.CommandName(e.Name()) != "" {
					files = append(files, path.Join(rel, e.Name()))
				}
			}
		}
	}
	slices.Sort(files)
	return slices.Compact(files)
}

// values resolves a field of the manifest that holds a value or names files with values.
// key is what a file may wrap its value in.
func (p *Plugin) values(fsys fs.FS, raw json.RawMessage, key string) (out []any) {
	var one string
	var files []string
	switch {
	case len(raw) == 0:
		return nil
	case json.Unmarshal(raw, &one) == nil:
		files = []string{one}
	case json.Unmarshal(raw, &files) != nil:
		files = nil
	}
	if files == nil {
		return p.value(raw, p.File, key)
	}
	for _, name := range files {
		for _, v := range []string{"${CLAUDE_PLUGIN_ROOT}/", "${PLUGIN_ROOT}/"} {
			name = strings.TrimPrefix(name, v)
		}
		name = path.Clean(name)
		if !fs.ValidPath(name) {
			p.note("plugin_bad_path", p.File, "%s names %q, which leads out of the plugin", key, name)
			continue
		}
		src, err := readBounded(fsys, name)
		if err != nil {
			p.note("plugin_manifest", name, "%s cannot be read: %v", key, err)
			continue
		}
		out = append(out, p.value(src, name, key)...)
	}
	return out
}

func readBounded(fsys fs.FS, name string) ([]byte, error) {
	st, err := fs.Stat(fsys, name)
	if err != nil {
		return nil, err
	}
	if most := limits.DefaultPlugin().Manifest; !st.Mode().IsRegular() || st.Size() > most {
		return nil, fmt.Errorf("it is no plain file of at most %d bytes", most)
	}
	return fs.ReadFile(fsys, name)
}

// value decodes one value, out of what a file wraps it in.
func (p *Plugin) value(src []byte, file, key string) []any {
	src = bytes.TrimPrefix(src, []byte("\uFEFF"))
	if len(bytes.TrimSpace(src)) == 0 {
		return nil
	}
	var v any
	if err := json.Unmarshal(src, &v); err != nil {
		p.note("plugin_manifest", file, "%s is no usable JSON: %v", key, err)
		return nil
	}
	if m, ok := v.(map[string]any); ok {
		if inner, wrapped := m[key]; wrapped {
			v = inner
		}
	}
	if v == nil {
		return nil
	}
	return []any{v}
}
