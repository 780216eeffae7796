package source

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/deftskills/deft/internal/fold"
	"github.com/deftskills/deft/skill"
)

// maxCommands bounds the command files of one plugin.
const maxCommands = 500

// isCommand reports whether an entry is a command file of a plugin: its name is the file's,
// and only a person starts it.
func (e *Entry) isCommand() bool {
	return e.Source.Kind == PluginK && e.File != "" && !strings.EqualFold(e.File, SkillFile)
}

// CommandName is what a command file is called: its name without the ending; "" = it is no
// such file.
func CommandName(file string) string {
	base := path.Base(file)
	if ext := path.Ext(base); strings.EqualFold(ext, ".md") && !strings.EqualFold(base, SkillFile) && !strings.HasPrefix(base, ".") {
		return strings.TrimSuffix(base, ext)
	}
	return ""
}

// asCommand makes a skill that was just parsed one that only a person starts, whatever its
// header says.
func asCommand(s *skill.Skill) {
	// A command needs no header: its file's name says what it is.
	s.Diagnostics = slices.DeleteFunc(s.Diagnostics, func(d skill.Diagnostic) bool { return d.Code == "header_missing" })
	s.Meta.DisableModelInvocation, s.Meta.UserInvocable = true, true
}

// commands reads the command files of a plugin. One that is called like a skill of the
// plugin is reported and left out.
func (s *pluginSource) commands(ctx context.Context, info Info, m Manifest, skills []*Entry, prev *Listing) (*Listing, error) {
	out := &Listing{Complete: true}
	if len(m.Commands) == 0 {
		return out, nil
	}
	root, err := openRoot(resolved(info.Path))
	if err != nil {
		out.Complete = false
		return out, nil //nolint:nilerr // the skills of the plugin say that it can't be read
	}
	defer root.Close()
	taken := map[string]string{}
	for _, e := range skills {
		taken[fold.Key(e.Skill.Name)] = e.Location
	}
	files := 0
	for _, rel := range m.Commands {
		for _, file := range s.commandFiles(root, rel, out) {
			if err := ctx.Err(); err != nil {
				return nil, err
			}
			if files++; files > maxCommands {
				out.Complete = false
				out.Diagnostics = append(out.Diagnostics, finding("limit_root", info.Path, "plugin %q has more than %d command files", info.Namespace, maxCommands))
				return out, nil
			}
			at := filepath.Join(info.Path, filepath.FromSlash(file))
			if other, ok := taken[fold.Key(CommandName(file))]; ok {
				out.Diagnostics = append(out.Diagnostics, finding("command_shadowed", at, "command %q is not read: %s has the name", CommandName(file), other))
				continue
			}
			e := s.command(root, file, at, info, prev)
			taken[fold.Key(e.Skill.Name)] = e.Location
			out.Entries = append(out.Entries, e)
		}
	}
	return out, nil
}

// commandFiles are those that a path of the manifest names: the file, or those of a folder.
func (s *pluginSource) commandFiles(root *os.Root, rel string, out *Listing) (files []string) {
	st, err := root.Lstat(filepath.FromSlash(rel))
	switch {
	case errors.Is(err, fs.ErrNotExist):
		out.Awaited = append(out.Awaited, filepath.Join(s.o.Info.Path, filepath.FromSlash(rel)))
	case err != nil:
		out.Complete = false
	case st.Mode().IsRegular() && CommandName(rel) != "":
		files = append(files, rel)
	case st.IsDir():
		entries, err := fs.ReadDir(root.FS(), rel)
		if err != nil {
			out.Complete = false
		}
		for _, e := range entries {
			if e.Type().IsRegular() && CommandName(e.Name()) != "" {
				files = append(files, path.Join(rel, e.Name()))
			}
		}
		out.Dirs = append(out.Dirs, resolved(filepath.Join(s.o.Info.Path, filepath.FromSlash(rel))))
	}
	slices.Sort(files)
	return files
}

// command reads one command file, or takes it from the former listing where its stamp says
// that nothing changed.
func (s *pluginSource) command(root *os.Root, file, at string, info Info, prev *Listing) *Entry {
	e := &Entry{Source: info, From: s, File: filepath.Base(at)}
	e.Location, e.Dir = fileLocation(filepath.Dir(at), e.File)
	e.RealDir = resolved(e.Dir)
	o := s.commandOptions(e)
	max := s.o.Format.Limits.File
	f, err := openIn(root, filepath.FromSlash(file))
	if err == nil {
		f, err = regular(f)
	}
	if err != nil {
		e.Skill = invalid(o, finding("file_unreadable", at, "%s cannot be read: %v", e.File, cause(err)))
		return e
	}
	defer f.Close()
	src, before, after, err := readFile(f, at, nil, max)
	now := s.o.Now().UnixNano()
	e.Stamp = Stamp{File: after, Racy: before != after || now-after.MtimeNS < int64(racy)}
	switch {
	case err != nil:
		e.Skill = invalid(o, finding("file_unreadable", at, "%s cannot be read: %v", e.File, cause(err)))
		return e
	case before.Size > max || int64(len(src)) > max:
		e.Skill = invalid(o, finding("limit_file", at, "%s has more than %d bytes", e.File, max))
		return e
	}
	if prev != nil {
		for _, old := range prev.Entries {
			if old.Location == e.Location && old.Source == info && old.read() && old.Skill.File == skill.FileDigest(src) {
				return restamped(old, e.Stamp)
			}
		}
	}
	e.Skill = skill.Parse(src, o)
	asCommand(e.Skill)
	return e
}

func (s *pluginSource) commandOptions(e *Entry) skill.ParseOptions {
	name := CommandName(e.File)
	return skill.ParseOptions{
		Dialect: s.o.Format.Dialect, Limits: s.o.Format.Limits, DataDir: s.o.Format.DataDir,
		Path: filepath.Join(e.Dir, e.File), DirName: name, TargetDirName: name,
	}
}
