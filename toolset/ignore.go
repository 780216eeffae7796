package toolset

import (
	"io/fs"
	"path"
	"strings"

	"github.com/bmatcuk/doublestar/v4"
)

const (
	ignoreFile  = ".gitignore"
	maxIgnore   = 256 << 10 // bytes of one ignore file
	maxPatterns = 2000      // patterns of one ignore file
)

// ignoreRule is one line of an ignore file.
type ignoreRule struct {
	glob    string // doublestar, relative to the folder of the file
	negated bool
	folders bool // matches folders only
}

// parseIgnore reads an ignore file. A line that is no pattern ignores nothing.
func parseIgnore(text string) []ignoreRule {
	var out []ignoreRule
	for _, line := range strings.Split(text, "\n") {
		line = strings.TrimSuffix(line, "\r")
		if !strings.HasSuffix(line, `\ `) {
			line = strings.TrimRight(line, " \t")
		}
		if line == "" || line[0] == '#' || len(out) == maxPatterns {
			continue
		}
		var r ignoreRule
		if line[0] == '!' {
			r.negated, line = true, line[1:]
		}
		line = strings.TrimPrefix(line, `\`) // \# and \!
		if strings.HasSuffix(line, "/") {
			r.folders, line = true, strings.TrimRight(line, "/")
		}
		anchored := strings.Contains(line, "/")
		r.glob = strings.TrimPrefix(line, "/")
		if !anchored {
			r.glob = "**/" + r.glob
		}
		if r.glob == "" || !doublestar.ValidatePattern(r.glob) {
			continue
		}
		out = append(out, r)
	}
	return out
}

// ignores holds the rules of the folders of one walk, by folder.
type ignores map[string][]ignoreRule

// load reads the ignore file of a folder, if there is one.
func (g ignores) load(fsys fs.FS, dir string) {
	name := path.Join(dir, ignoreFile)
	st, err := fs.Stat(fsys, name)
	if err != nil || !st.Mode().IsRegular() || st.Size() > maxIgnore {
		return
	}
	if raw, err := fs.ReadFile(fsys, name); err == nil {
		g[dir] = parseIgnore(string(raw))
	}
}

// match reports whether rel is ignored. The nearest folder that says anything
// decides, in it the last line.
func (g ignores) match(rel string, folder bool) bool {
	for dir := path.Dir(rel); ; dir = path.Dir(dir) {
		rules := g[dir]
		below := rel
		if dir != "." {
			below = strings.TrimPrefix(rel, dir+"/")
		}
		for i := len(rules) - 1; i >= 0; i-- {
			r := rules[i]
			if r.folders && !folder {
				continue
			}
			if ok, err := doublestar.Match(r.glob, below); err == nil && ok {
				return !r.negated
			}
		}
		if dir == "." {
			return false
		}
	}
}
