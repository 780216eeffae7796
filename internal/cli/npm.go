package cli

import (
	"io"
	"os"
	"path/filepath"

	"github.com/deftskills/deft/install/fetch"
	"github.com/deftskills/deft/source"
)

// npmConfig reads npm's own settings: the person's, then those of the folder that npm
// takes for the project.
func (r *run) npmConfig() *fetch.NPMConfig {
	own := r.env("NPM_CONFIG_USERCONFIG")
	if !filepath.IsAbs(own) {
		own = filepath.Join(r.dirs.Home, ".npmrc")
	}
	files := npmFile(nil, own, true)
	root := source.TrustRoot(source.Env{Workspace: r.cwd, Home: r.dirs.Home}, r.cwd)
	dir := r.cwd
	for dir != root && !exists(filepath.Join(dir, "package.json")) && !exists(filepath.Join(dir, "node_modules")) && filepath.Dir(dir) != dir {
		dir = filepath.Dir(dir)
	}
	if at := filepath.Join(dir, ".npmrc"); at != own {
		files = npmFile(files, at, false)
	}
	return fetch.ReadNPM(files, r.env)
}

// npmFile adds a settings file, where it is one. One of a project is a stranger's: a link
// or a pipe is not read.
func npmFile(files []fetch.NPMFile, at string, own bool) []fetch.NPMFile {
	stat := os.Lstat
	if own {
		stat = os.Stat
	}
	info, err := stat(at)
	if err != nil || !info.Mode().IsRegular() {
		return files
	}
	f, err := os.Open(at)
	if err != nil {
		return files
	}
	defer f.Close()
	text, err := io.ReadAll(io.LimitReader(f, 2<<20)) // more is refused by whoever reads it
	if err != nil {
		return files
	}
	return append(files, fetch.NPMFile{Name: at, Text: text, Own: own})
}
