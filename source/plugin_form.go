package source

import (
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/bmatcuk/doublestar/v4"

	"github.com/deftskills/deft/internal/limits"
	"github.com/deftskills/deft/skill"
)

// pluginForm returns the plugin in a directory, or one for each directory that a
// pattern matches. A plugin that a person names is no more trusted for it: its text is
// somebody else's.
func (e Env) pluginForm(form, path string) ([]Source, []skill.Diagnostic) {
	path, diags := e.located(form, path)
	if path == "" {
		return nil, diags
	}
	info := Info{Priority: formPriority, Origin: "source " + form}
	if e.Project {
		if !within(resolved(staticPart(path)), resolved(Repository(e, e.Workspace))) {
			return nil, []skill.Diagnostic{finding("root_outside_project", path, "plugin %q of the project lies outside of it", path)}
		}
		info.Priority, info.Trust = 0, Pending
	}
	dirs := []string{path}
	if isGlob(path) {
		if dirs, diags = pluginDirs(path, e.Limits.WithDefaults()); len(dirs) == 0 && len(diags) == 0 {
			diags = append(diags, finding("path_missing", path, "pattern %q matches no directory", path))
		}
	}
	var out []Source
	for _, dir := range dirs {
		out = append(out, Plugin(dir, e.pluginOptions(info)))
	}
	return out, diags
}

// pluginDirs returns the directories that a pattern matches, in order. Links are not
// followed on the way, and "**" is refused: a plugin lies where its host put it.
func pluginDirs(path string, l limits.Scan) ([]string, []skill.Diagnostic) {
	base := staticPart(path)
	pattern := strings.TrimPrefix(filepath.ToSlash(path[len(base):]), "/")
	switch {
	case !doublestar.ValidatePattern(pattern), strings.Contains(pattern, "**"):
		return nil, []skill.Diagnostic{finding("path_glob", path, "pattern %q is not valid for plugins", pattern)}
	case braceExpansions(pattern) > l.Braces:
		return nil, []skill.Diagnostic{finding("path_glob", path, "braces of the pattern expand to more than %d", l.Braces)}
	case strings.Count(pattern, "/") >= l.Glob:
		return nil, []skill.Diagnostic{finding("path_glob", path, "pattern has more than %d components", l.Glob)}
	}
	found, err := doublestar.Glob(os.DirFS(base), pattern, doublestar.WithNoFollow())
	if err != nil {
		return nil, []skill.Diagnostic{finding("path_glob", path, "pattern %q cannot be searched: %v", pattern, cause(err))}
	}
	slices.Sort(found)
	var dirs []string
	for _, f := range slices.Compact(found) {
		dir := filepath.Join(base, filepath.FromSlash(f))
		if st, err := os.Stat(dir); err == nil && st.IsDir() && !slices.Contains(ignored, filepath.Base(dir)) {
			dirs = append(dirs, dir)
		}
	}
	return dirs, nil
}
