package skill

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path"
	"strings"

	"github.com/deftskills/deft/internal/limits"
)

// sidecarNames are the files beside SKILL.md that say something about the skill.
func sidecarNames() []string { return []string{"SKILL.config.json", "agents/openai.yaml"} }

// ValidateDir judges the skill in directory dir of fsys by p's rules, choosing its
// file as the open standard does: SKILL.md, then skill.md; dir may also name that
// file itself. shown is the path that messages print and whose last element is the
// directory's name, "" for dir. What is no readable skill directory is one error:
// path_missing, path_not_directory, skill_file_missing, file_unreadable,
// file_special or limit_file. No special file is ever opened.
func ValidateDir(fsys fs.FS, dir, shown string, p Profile) Report {
	in, d := ReadInput(fsys, dir, shown, p)
	if d != nil {
		return Report{Profile: p, Path: d.File, Diagnostics: []Diagnostic{*d}}
	}
	return Validate(in, p)
}

// ReadInput reads what Validate needs from directory dir of fsys; see ValidateDir.
// The diagnostic is nil exactly when there is something to judge.
func ReadInput(fsys fs.FS, dir, shown string, p Profile) (Input, *Diagnostic) {
	if shown == "" {
		shown = dir
	}
	dir = path.Clean(dir)
	shown = strings.TrimRight(shown, "/")
	info, err := fs.Stat(fsys, dir)
	if err == nil && !info.IsDir() && strings.EqualFold(path.Base(dir), "SKILL.md") {
		dir, shown = path.Dir(dir), shownParent(shown)
		info, err = fs.Stat(fsys, dir)
	}
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return Input{}, pathFault("path_missing", shown, "Path does not exist: "+shown, "correct the path")
	case err != nil:
		return Input{}, unreadable(shown, err)
	case !info.IsDir():
		return Input{}, pathFault("path_not_directory", shown, "Not a directory: "+shown, "give the skill's directory")
	}
	file, d := chooseFile(fsys, dir, shown)
	if d != nil {
		return Input{}, d
	}
	in := Input{
		Path: path.Join(shown, file), FileName: file, DirName: shownBase(dir, shown),
	}
	l := limits.DefaultSkill()
	if in.Source, d = readBounded(fsys, path.Join(dir, file), in.Path, l.File); d != nil {
		return Input{}, d
	}
	for _, name := range sidecarNames() {
		if b, d := readBounded(fsys, path.Join(dir, name), name, l.Sidecar); d == nil {
			if in.Sidecars == nil {
				in.Sidecars = map[string][]byte{}
			}
			in.Sidecars[name] = b
		}
	}
	if p == ProfileClaudeAI {
		in.Files = packageFiles(fsys, dir, l.TreeFiles)
	}
	return in, nil
}

// chooseFile finds the skill's file by its exact name. Stat follows links, so that a
// linked file is judged like a file; a file system that folds names would take
// Skill.md for SKILL.md, so the name is looked up in the listing where there is one.
func chooseFile(fsys fs.FS, dir, shown string) (string, *Diagnostic) {
	for _, name := range []string{"SKILL.md", "skill.md"} {
		info, err := fs.Stat(fsys, path.Join(dir, name))
		switch {
		case errors.Is(err, fs.ErrNotExist):
			continue
		case err != nil:
			return "", unreadable(path.Join(shown, name), err)
		case !info.Mode().IsRegular():
			return "", pathFault("file_special", path.Join(shown, name),
				fmt.Sprintf("%s is not a regular file", path.Join(shown, name)), "make it a readable regular file")
		}
		if entries, err := fs.ReadDir(fsys, dir); err != nil || holds(entries, name) {
			return name, nil
		}
	}
	return "", pathFault("skill_file_missing", shown, "Missing required file: SKILL.md", "write SKILL.md")
}

func holds(entries []fs.DirEntry, name string) bool {
	for _, e := range entries {
		if e.Name() == name {
			return true
		}
	}
	return false
}

// readBounded reads at most limit bytes of a regular file, and one more to know.
func readBounded(fsys fs.FS, name, shown string, limit int64) ([]byte, *Diagnostic) {
	if info, err := fs.Stat(fsys, name); err != nil || !info.Mode().IsRegular() {
		return nil, pathFault("file_special", shown, shown+" is not a regular file", "make it a readable regular file")
	}
	f, err := fsys.Open(name)
	if err != nil {
		return nil, unreadable(shown, err)
	}
	defer f.Close()
	b, err := io.ReadAll(io.LimitReader(f, limit+1))
	if err != nil {
		return nil, unreadable(shown, err)
	}
	if int64(len(b)) > limit {
		d := pathFault("limit_file", shown, fmt.Sprintf("limit_file: file of more than %d bytes", limit), "shorten; move detail to references/")
		d.Line = 1
		return nil, d
	}
	return b, nil
}

// packageFiles lists what a package of dir would hold, up to a bound.
func packageFiles(fsys fs.FS, dir string, most int) []string {
	files := []string{}
	_ = fs.WalkDir(fsys, dir, func(p string, e fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return fs.SkipDir
		case e.IsDir() && LeftOut(e.Name()):
			return fs.SkipDir
		case len(files) >= most:
			return fs.SkipAll
		case !e.IsDir():
			files = append(files, strings.TrimPrefix(strings.TrimPrefix(p, dir), "/"))
		}
		return nil
	})
	return files
}

// ReadProperties reads the standard's fields of the skill in directory dir of fsys
// as the reference's reader does: a file that cannot be parsed, or one without name
// or description, is an error with the reference's text; nothing else is judged.
func ReadProperties(fsys fs.FS, dir, shown string) (Properties, error) {
	if shown == "" {
		shown = dir
	}
	r := ValidateDir(fsys, dir, shown, ProfileAgentskills)
	for _, d := range r.Diagnostics {
		switch d.Code {
		case "skill_file_missing", "path_missing", "path_not_directory":
			return Properties{}, fmt.Errorf("SKILL.md not found in %s", shown)
		case "key_unknown", "name_length", "name_case", "name_hyphens", "name_chars", "name_mark",
			"name_directory", "description_long", "type_mismatch", "value_range":
			continue
		}
		return Properties{}, errors.New(d.Message)
	}
	return r.Properties, nil
}

func pathFault(code, shown, message, fix string) *Diagnostic {
	return &Diagnostic{Code: code, Level: LevelError, File: shown, Offset: -1, Message: message, Fix: fix}
}

func unreadable(shown string, err error) *Diagnostic {
	return pathFault("file_unreadable", shown, fmt.Sprintf("%s cannot be read: %v", shown, osCause(err)), "make it a readable regular file")
}

// shownParent and shownBase work on paths as people wrote them, of any system.
func shownParent(shown string) string {
	if i := strings.LastIndexAny(shown, `/\`); i > 0 {
		return shown[:i]
	}
	return "."
}

func shownBase(dir, shown string) string {
	if i := strings.LastIndexAny(shown, `/\`); i >= 0 {
		shown = shown[i+1:]
	}
	if shown == "" || shown == "." || shown == ".." {
		return path.Base(dir)
	}
	return shown
}
