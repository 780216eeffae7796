package cli

import (
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/deftskills/deft/internal/config"
	"github.com/deftskills/deft/skill"
	"github.com/deftskills/deft/source"
	"github.com/deftskills/deft/store"
)

// settings reads the files and lays environment and flags over them.
func (r *run) settings() {
	// The state is opened only where there is something to trust.
	_, project := r.settingsFiles()
	r.managed = orElse(r.proc.Managed, config.ManagedFile(config.Places{Getenv: r.env, GOOS: r.proc.GOOS}))
	if exists(project) {
		// Where the state is kept stands in the person's own file.
		r.config, _ = r.readSettings(false)
	}
	trusted := r.globals.trustProject || exists(project) && r.folderTrusted(context.Background())
	c, diags := r.readSettings(trusted)
	r.config = c
	r.rules = toolRules(c)
	var found []skill.Diagnostic
	r.hooks, found = hostHooks(c)
	r.diags = append(append(r.diags, diags...), append(r.rules.Diagnostics(), found...)...)
	r.latest = readSettings{r.settingsStamp(), trusted, c, nil}
}

// settingsFiles are the person's file and the project's.
func (r *run) settingsFiles() (user, project string) {
	return filepath.Join(r.dirs.Config, "config.yaml"), filepath.Join(repository(r.cwd, r.dirs.Home), ".deft", "config.yaml")
}

func (r *run) readSettings(trusted bool) (*config.Config, []skill.Diagnostic) {
	user, project := r.settingsFiles()
	c, diags := config.Load(config.Input{
		Open:           openRegular,
		ManagedFile:    r.managed,
		UserFile:       user,
		ProjectFile:    project,
		ProjectRoot:    repository(r.cwd, r.dirs.Home),
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
	if r.globals.db != "" {
		c.DB = r.globals.db
		c.Mark("db", r.globals.dbFrom)
	}
	if r.globals.blobs != "" {
		c.Blobs = r.globals.blobs
		c.Mark("blobs", r.globals.blobsFrom)
	}
	if r.env("DEFT_STATS") != "" {
		c.Stats = !saysOff(r.env("DEFT_STATS"))
		c.Mark("stats", config.From{Level: config.Env, File: "DEFT_STATS"})
	}
	if v := r.env("DO_NOT_TRACK"); v != "" && !saysOff(v) {
		c.Stats = false
		c.Mark("stats", config.From{Level: config.Env, File: "DO_NOT_TRACK"})
	}
	if r.globals.trustProject {
		c.TrustProject = config.TrustAlways
		c.Mark("skills.trust.project", config.From{Level: config.Flag, File: "--trust-project"})
	}
	return c, diags
}

// saysOff reports whether a variable says no.
func saysOff(value string) bool {
	return slices.Contains([]string{"off", "0", "false", "no"}, strings.ToLower(strings.TrimSpace(value)))
}

// readSettings is what the files said when they were read last.
type readSettings struct {
	stamp   string
	trusted bool
	config  *config.Config
	diags   []skill.Diagnostic // that the start of the run had not
}

// settingsStamp differs when a file of settings does.
func (r *run) settingsStamp() string {
	user, project := r.settingsFiles()
	var out string
	for _, file := range append([]string{r.managed, user, project}, r.installLocks()...) {
		if st, err := os.Stat(file); err == nil {
			out += fmt.Sprint(st.Size(), " ", st.ModTime().UnixNano(), ";")
		} else {
			out += "-;"
		}
	}
	return out
}

// settingsNow are the settings as they stand, read again where a file changed or the
// folder's trust did. What a run began with, its places above all, it keeps: only
// switches, profiles and plugins are taken from here.
func (r *run) settingsNow(st store.State) (*config.Config, []skill.Diagnostic) {
	trusted := r.globals.trustProject
	if root := r.projectRoot(); !trusted {
		trusted = slices.ContainsFunc(st.Folders, func(f store.Folder) bool { return f.Root == root && !f.Refused })
	}
	return r.settingsFor(func(bool) bool { return trusted })
}

// settingsFor is settingsNow with the folder's trust, given what it was.
func (r *run) settingsFor(trust func(was bool) bool) (*config.Config, []skill.Diagnostic) {
	r.reading.Lock()
	defer r.reading.Unlock()
	trusted := trust(r.latest.trusted)
	_, project := r.settingsFiles()
	now := r.settingsStamp()
	if now == r.latest.stamp && (trusted == r.latest.trusted || !exists(project)) {
		return r.latest.config, r.latest.diags
	}
	c, diags := r.readSettings(trusted)
	diags = slices.DeleteFunc(diags, func(d skill.Diagnostic) bool { return slices.Contains(r.diags, d) })
	r.latest = readSettings{now, trusted, c, diags}
	return c, diags
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
