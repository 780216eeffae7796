package cli

import (
	"context"
	"io"
	"os"
	"path/filepath"

	"github.com/deftskills/deft/internal/config"
	"github.com/deftskills/deft/skill"
	"github.com/deftskills/deft/source"
)

// settings reads the files and lays environment and flags over them.
func (r *run) settings() {
	root := repository(r.cwd, r.dirs.Home)
	project := filepath.Join(root, ".deft", "config.yaml")
	// The state is opened only where there is something to trust.
	trusted := r.globals.trustProject || exists(project) && r.folderTrusted(context.Background())
	c, diags := config.Load(config.Input{
		Open:           openRegular,
		UserFile:       filepath.Join(r.dirs.Config, "config.yaml"),
		ProjectFile:    project,
		ProjectRoot:    root,
		ProjectTrusted: trusted,
	})
	if r.globals.dialect == string(skill.MiniMax) {
		if data := source.DataDir(r.sourceEnv()); data != "" {
			config.MiniMax(c, openRegular, filepath.Join(data, "config.yaml"))
		}
	}
	if r.globals.clients != "" {
		c.Clients = config.SplitList(r.globals.clients)
		c.Mark("skills.clients", config.From{Level: config.Flag, File: "--clients"})
	}
	if r.globals.trustProject {
		c.TrustProject = config.TrustAlways
		c.Mark("skills.trust.project", config.From{Level: config.Flag, File: "--trust-project"})
	}
	r.config = c
	r.diags = append(r.diags, diags...)
}

// sourceEnv is what the place of another program's settings depends on.
func (r *run) sourceEnv() source.Env {
	return source.Env{
		Home: r.dirs.Home, DataDir: r.dirs.Data, Getenv: r.env, OS: r.proc.GOOS,
		Format: source.Format{Dialect: skill.Dialect(r.globals.dialect)},
	}
}

// openRegular opens a file of settings: never a device or pipe, which could hang.
func openRegular(path string) (io.ReadCloser, error) {
	st, err := os.Stat(path)
	if err != nil {
		return nil, err
	}
	if !st.Mode().IsRegular() {
		return nil, &os.PathError{Op: "open", Path: path, Err: errNotRegular}
	}
	return os.Open(path)
}

// repository returns the nearest directory from dir up that holds .git, else dir.
// A home directory is no project of the folders below it.
func repository(dir, home string) string {
	for d := dir; ; {
		if _, err := os.Lstat(filepath.Join(d, ".git")); err == nil && (d == dir || d != home) {
			return d
		}
		up := filepath.Dir(d)
		if up == d {
			return dir
		}
		d = up
	}
}

// report shows diagnostics on standard error: errors and warnings always, notes
// with -v, nothing with -q.
func (r *run) report(diags []skill.Diagnostic) {
	for _, d := range diags {
		if r.globals.quiet || d.Level == skill.LevelInfo && !r.globals.verbose {
			continue
		}
		r.diagnostic(d)
	}
}
