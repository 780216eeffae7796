package source

import (
	"cmp"
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/deftskills/deft/internal/limits"
	"github.com/deftskills/deft/skill"
)

// PluginOff is the reason of skills whose plugin is switched off; see Info.Off.
const PluginOff = "plugin_off"

// PluginOptions configures one plugin. The zero value reads it leniently.
type PluginOptions struct {
	// Info describes the source; Path is set by Plugin. Empty fields get defaults: ID
	// "plugin:" and the prefix, Kind PluginK, untrusted, Namespace and Version of the
	// manifest. Links are followed inside the plugin only.
	Info Info
	// Off lists the plugin's skills as disabled.
	Off bool
	// Strict accepts only what profile plugin-strict accepts: any other skill is listed
	// as invalid with SKILL_SCHEMA_INVALID. Dialect minimax is always strict.
	Strict bool
	// AgentSkills is that option of the strict profile: names and types of the open
	// standard's fields are required.
	AgentSkills bool
	// ExpectedNames are the names that the plugin's host expects, by directory name of
	// the skill; a directory without one is expected to be called like its skill.
	ExpectedNames map[string]string
	Ignore        []string // directories that are skipped beside the built-in list
	Format        Format
	Limits        limits.Scan
	Now           func() time.Time // nil = time.Now
}

// Plugin returns a source that reads the skills of one plugin: those below the paths
// of its manifest, or below skills. Names get the plugin's name as their prefix. The
// manifest is read again at each scan, so dir need not exist; its servers and hooks
// are never started, see ReadManifest.
func Plugin(dir string, o PluginOptions) Source {
	o.Info.Path = filepath.Clean(dir)
	o.Format.Limits = o.Format.Limits.WithDefaults()
	o.Strict = o.Strict || o.Format.Dialect == skill.MiniMax
	if o.Now == nil {
		o.Now = time.Now
	}
	m, _ := ReadManifest(o.Info.Path) // Scan tells what is wrong with it
	s := &pluginSource{o: o, named: o.Info.Namespace != ""}
	s.o.Info = s.describe(m)
	return s
}

type pluginSource struct {
	o     PluginOptions
	named bool // the prefix is the host's, not the manifest's
}

// describe fills in what the manifest says.
func (s *pluginSource) describe(m Manifest) Info {
	i := s.o.Info
	if !s.named {
		i.Namespace = m.Prefix
	}
	i.Kind = cmp.Or(i.Kind, PluginK)
	if i.Market == "" {
		i.Market = filepath.Base(filepath.Dir(unversioned(i.Path)))
	}
	i.Links = LinksStay
	i.Version = cmp.Or(m.Version, i.Version)
	if s.o.Off {
		i.Off = PluginOff
	}
	return withDefaults(i, "plugin:"+i.Namespace)
}

func (s *pluginSource) Info() Info     { return s.o.Info }
func (s *pluginSource) format() Format { return s.o.Format }

func (s *pluginSource) with(change func(*Info)) Source {
	c := *s
	change(&c.o.Info)
	c.named = s.named || c.o.Info.Namespace != s.o.Info.Namespace
	return &c
}

func (s *pluginSource) Open(ctx context.Context, e *Entry, rel string) (fs.File, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	return openEntry(e, rel)
}

// Scan reads the manifest and the skills. See Source.
func (s *pluginSource) Scan(ctx context.Context, prev *Listing) (*Listing, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	dir := s.o.Info.Path
	out := &Listing{Complete: true, Awaited: []string{dir}}
	if st, err := os.Stat(dir); err != nil || !st.IsDir() {
		code, why := "path_missing", "does not exist"
		switch {
		case err == nil:
			why = "is no directory"
		case !errors.Is(err, fs.ErrNotExist):
			code, why, out.Complete = "root_unreadable", "cannot be read: "+cause(err).Error(), false
		}
		out.Diagnostics = append(out.Diagnostics, finding(code, dir, "plugin %q %s", dir, why))
		return out, nil
	}
	m, diags := ReadManifest(dir)
	out.Diagnostics = append(out.Diagnostics, diags...)
	info := s.describe(m)
	out.heed(dir, m)
	if m.broken && s.o.Strict {
		return out, nil
	}
	if prev != nil && slices.ContainsFunc(prev.Entries, func(e *Entry) bool { return e.Source != info }) {
		prev = nil // what entries say of their source has changed
	}
	for _, rel := range m.Skills {
		l, err := s.scanPath(ctx, info, m, rel, prev)
		if err != nil {
			return nil, err
		}
		out.add(l)
	}
	commands, err := s.commands(ctx, info, m, out.Entries, prev)
	if err != nil {
		return nil, err
	}
	out.add(commands)
	slices.SortFunc(out.Entries, func(a, b *Entry) int { return strings.Compare(a.Location, b.Location) })
	out.Entries = slices.CompactFunc(out.Entries, func(a, b *Entry) bool { return a.Location == b.Location })
	if len(out.Entries) == 0 && len(out.Skipped) == 0 && m.MCPServers == nil && m.Hooks == nil && !m.native && len(diags) == 0 {
		at := cmp.Or(m.File, dir)
		out.Diagnostics = append(out.Diagnostics, finding("plugin_empty", at, "plugin %q brings neither skills nor servers nor hooks", info.Namespace))
	}
	return out, nil
}

// heed says what else would change the listing: the manifest, one of a format that goes
// before it, and the folders of skills.
func (l *Listing) heed(dir string, m Manifest) {
	l.Dirs = append(l.Dirs, resolved(dir))
	if at := resolved(filepath.Dir(cmp.Or(m.File, filepath.Join(dir, "x")))); at != l.Dirs[0] && within(at, l.Dirs[0]) {
		l.Dirs = append(l.Dirs, at)
	}
	for _, f := range manifestFiles {
		l.Awaited = append(l.Awaited, filepath.Join(dir, filepath.FromSlash(f.file)))
		if f.format == m.Format {
			break
		}
	}
	for _, rel := range m.Skills {
		l.Awaited = append(l.Awaited, filepath.Join(dir, filepath.FromSlash(rel)))
	}
}

// add takes over what a part of the source found.
func (l *Listing) add(part *Listing) {
	l.Entries = append(l.Entries, part.Entries...)
	l.Diagnostics = append(l.Diagnostics, part.Diagnostics...)
	l.Skipped = append(l.Skipped, part.Skipped...)
	l.Complete = l.Complete && part.Complete
	l.Dirs = append(l.Dirs, part.Dirs...)
	l.Awaited = append(l.Awaited, part.Awaited...)
	l.Stats.Directories += part.Stats.Directories
	l.Stats.FilesRead += part.Stats.FilesRead
	l.Stats.FilesReused += part.Stats.FilesReused
}

// scanPath scans one path of the manifest: a SKILL.md, a directory that holds one, or
// a directory of skills. Links stay in the plugin: what it brings is what was reviewed.
func (s *pluginSource) scanPath(ctx context.Context, info Info, m Manifest, rel string, prev *Listing) (*Listing, error) {
	full := filepath.Join(info.Path, filepath.FromSlash(rel))
	o := DirOptions{
		Info: info, Boundary: info.Path, Format: s.o.Format, Limits: s.o.Limits, Now: s.o.Now, Ignore: s.o.Ignore,
		judge: s.judge(), carried: &info,
	}
	st, err := os.Lstat(full)
	switch {
	case err != nil && !m.declared: // skills need not be there when nobody says so
		return &Listing{Complete: true}, nil
	case err != nil:
		return &Listing{Complete: true, Diagnostics: []skill.Diagnostic{
			finding("path_missing", full, "skills %q of plugin %q does not exist", rel, info.Namespace),
		}}, nil
	case !st.IsDir() && strings.EqualFold(filepath.Base(full), SkillFile):
		o.One, full = true, filepath.Dir(full)
	default:
		o.One = holdsAnySkillFile(full, o.Format.Dialect)
	}
	return Dir(full, o).Scan(ctx, prev)
}

// judge returns how strict the skills are read, nil = leniently.
func (s *pluginSource) judge() func(src []byte, e *Entry, o skill.ParseOptions) {
	if !s.o.Strict {
		return nil
	}
	return func(src []byte, e *Entry, o skill.ParseOptions) {
		report := skill.Validate(skill.Input{
			Source: src, Path: o.Path, DirName: o.DirName, FileName: e.File, Sidecars: o.Sidecars,
			ExpectedName: s.o.ExpectedNames[o.DirName], AgentSkills: s.o.AgentSkills, Limits: o.Limits,
		}, skill.ProfilePluginStrict)
		if report.OK {
			return
		}
		e.Skill.Valid = false
		e.Skill.Diagnostics = report.Diagnostics
	}
}
