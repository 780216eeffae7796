package cli

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/pflag"

	"github.com/deftskills/deft/builtin"
	"github.com/deftskills/deft/install"
	"github.com/deftskills/deft/install/archive"
	"github.com/deftskills/deft/install/fetch"
	"github.com/deftskills/deft/install/licence"
	"github.com/deftskills/deft/internal/lockfile"
	"github.com/deftskills/deft/skill"
	"github.com/deftskills/deft/source"
	"github.com/deftskills/deft/store/blobs"
)

// installFlags are the flags that the verbs of installed skills share.
type installFlags struct {
	project, global bool
	agents          []string
	allowHTTP       bool
	useProxy        bool
	origins         []string
}

// bindNetwork are the flags of verbs that ask the sources of skills.
func (o *installFlags) bindNetwork(f *pflag.FlagSet) {
	f.BoolVar(&o.allowHTTP, "allow-http", false, "also addresses without TLS")
	f.StringArrayVar(&o.origins, "allow-origin", nil, "an index may name files on `HOST` too; may be repeated")
	f.BoolVar(&o.useProxy, "use-proxy", false, "through the proxy that the environment names")
}

func (o *installFlags) bind(f *pflag.FlagSet) {
	f.BoolVar(&o.project, "project", false, "the skills of this work tree; default inside one")
	f.BoolVar(&o.global, "global", false, "the person's own skills; default elsewhere")
}

// scope is where the skills of a run are installed.
func (r *run) scope(o installFlags) (install.Scope, error) {
	root := source.TrustRoot(source.Env{Workspace: r.cwd, Home: r.dirs.Home}, r.cwd)
	switch {
	case o.project && o.global:
		return install.Scope{}, usage("--project and --global exclude each other")
	case skill.Dialect(r.globals.dialect) == skill.Minara:
		return install.External(r.dirs.Data), nil
	case skill.Dialect(r.globals.dialect) == skill.MiniMax:
		return r.miniMaxScope(o)
	case slices.Equal(o.agents, []string{"deft"}):
		return install.Own(r.dirs.Data), nil
	case o.project, !o.global && exists(filepath.Join(root, ".git")):
		return r.straight(install.Project(root)), nil
	}
	return r.straight(r.userScope()), nil
}

// allAgents is the table of clients with the paths of this machine.
func (r *run) allAgents() []install.Agent {
	return install.Agents(func(dir string) string {
		if rest, ok := strings.CutPrefix(dir, "~"); ok {
			return r.dirs.Home + rest
		}
		name, rest, _ := strings.Cut(strings.TrimPrefix(dir, "$"), "/")
		switch v := r.env(name); {
		case !strings.HasPrefix(dir, "$"):
			return dir
		case v != "":
			return filepath.Join(v, rest)
		case name == "XDG_CONFIG_HOME":
			return filepath.Join(r.dirs.Home, ".config", rest)
		}
		return ""
	})
}

// chosenAgents are those that a person named, or those whose folders are on this machine.
func (r *run) chosenAgents(names []string) ([]install.Agent, error) {
	all := r.allAgents()
	if slices.Equal(names, []string{"all"}) {
		return all, nil
	}
	switch d := skill.Dialect(r.globals.dialect); {
	case d == skill.MiniMax, len(names) == 0 && (d == skill.Minara || d == skill.ClaudeCode || d == skill.Codex):
		return nil, nil // what it installs is for itself; agents of dialect minimax are its own
	}
	if len(names) == 0 {
		return slices.DeleteFunc(all, func(a install.Agent) bool {
			return a.User == "" || filepath.Dir(a.User) == r.dirs.Home || !exists(filepath.Dir(a.User))
		}), nil
	}
	var out []install.Agent
	for _, name := range names {
		if name == "deft" {
			continue
		}
		i := slices.IndexFunc(all, func(a install.Agent) bool { return a.ID == name })
		if i < 0 {
			var ids []string
			for _, a := range all {
				ids = append(ids, a.ID)
			}
			return nil, usage("agent %q is not known", name).hinted("hint.one_of", strings.Join(closest(name, ids, 3), ", "))
		}
		out = append(out, all[i])
	}
	return out, nil
}

func (r *run) installer() (*install.Installer, error) {
	scanner, err := r.scanner(nil, nil)
	if err != nil {
		return nil, err
	}
	return install.New(install.Options{
		Blobs:   r.ownBlobs(),
		Trees:   blobs.Trees{Path: filepath.Join(r.dirs.Data, "trees")},
		State:   r.dirs.State,
		Program: "deft " + build().Version,
		Scanner: scanner, Policy: r.scanPolicy(), Scans: keptScans{r}, Licences: licence.Options{Allow: r.config.Install.Licences}, Reserved: builtinNames(), Now: r.proc.Now,
		Recorder: &installRecord{r: r}, LockWait: r.lockWait(),
	}), nil
}

// builtinNames are those of the skills that come with the program.
func builtinNames() []string {
	names, _ := fs.Glob(builtin.FS(), "*/SKILL.md") // the pattern is a good one
	for i := range names {
		names[i] = path.Dir(names[i])
	}
	return names
}

func (r *run) fetcher(o installFlags) (*install.Fetcher, error) {
	c := r.config.Install
	f := &install.Fetcher{Home: r.dirs.Home, Dir: r.cwd, Versions: r.published(), Origins: slices.Concat(c.Origins, o.origins), HTTP: &fetch.HTTP{
		Private: c.PrivateHosts, Plain: o.allowHTTP, Cache: &fetch.Cache{Dir: filepath.Join(r.dirs.Cache, "downloads")},
	}}
	var err error
	if f.Keys, err = fetch.ReadKeys(r.config.Signing.Keys); err != nil {
		return nil, fail(Usage, "config", "trust.keys: %s", err)
	}
	f.Keys.Require = r.config.Signing.Require
	f.NPM, f.Serve = r.npmConfig(), r.skillServer(f.HTTP)
	if o.useProxy {
		f.HTTP.Proxy = fetch.ProxyOf(r.env)
	}
	if c.CAFile != "" {
		pem, err := os.ReadFile(r.abs(c.CAFile))
		if err != nil {
			return nil, fail(Usage, "config", "install.ca_file: %s", osReason(err))
		}
		if f.HTTP.CA, err = fetch.Roots(pem); err != nil {
			return nil, fail(Usage, "config", "install.ca_file: %s: %s", r.short(c.CAFile), err)
		}
	}
	f.Git = &fetch.Git{Env: r.env, Private: c.PrivateHosts, CA: c.CAFile, Proxy: f.HTTP.Proxy}
	if git, err := lookPath(r.env("PATH"), "git"); err == nil {
		f.Git.Program = git
	}
	return f, nil
}

// lookPath finds a program by the PATH of the run, in absolute folders alone.
func lookPath(path, name string) (string, error) {
	for _, dir := range filepath.SplitList(path) {
		if !filepath.IsAbs(dir) {
			continue
		}
		if at, err := exec.LookPath(filepath.Join(dir, name)); err == nil {
			return at, nil
		}
	}
	return "", exec.ErrNotFound
}

// lockWait is --lock-wait as locks take it: 0 is no wait at all.
func (r *run) lockWait() time.Duration {
	if r.globals.lockWait == 0 {
		return -1
	}
	return r.globals.lockWait
}

// installExits are the exit codes of what the rooms of installs say, by sentinel.
var installExits = []struct {
	err  error
	exit Exit
}{
	{install.ErrUnrecognised, Usage}, {install.ErrPassword, Usage}, {install.ErrBadRef, Usage}, {install.ErrBadURL, Usage},
	{install.ErrBadName, Usage}, {install.ErrLockLocal, Usage}, {fetch.ErrNoRef, Negative}, {fetch.ErrNoDir, Negative},
	{install.ErrMissing, Partial}, {install.ErrLockUnknown, Partial}, {install.ErrFrozen, Negative}, {install.ErrLockMerge, Negative}, {install.ErrLockNewer, Damaged}, {install.ErrLockDamaged, Damaged},
	{fetch.ErrPrivate, Refused}, {fetch.ErrTimeout, Network}, {fetch.ErrStatus, Network}, {fetch.ErrLimit, Network},
	{archive.ErrBadEntry, Network}, {archive.ErrLimit, Network}, {archive.ErrFormat, Network}, {fetch.ErrUnreachable, Network},
	{fetch.ErrOrigin, Refused}, {fetch.ErrChanging, Network}, {fetch.ErrSignature, Refused}, {fetch.ErrSchema, Partial}, {fetch.ErrDigest, Network}, {fetch.ErrNoIndex, Network},
	{install.ErrNotOffered, Negative}, {install.ErrUnresolved, Negative}, {install.ErrNoVersion, Negative},
	{install.ErrProtected, Refused}, {install.ErrTwo, Refused}, {install.ErrLocation, Usage}, {install.ErrOutside, Refused},
}

// reasonExits are those of why one skill was not installed.
var reasonExits = map[string]Exit{
	"install_bad_name": Usage, "skill_invalid": Negative, "lock_frozen": Negative, "update_kept": Partial, install.CodeBusy: Busy,
}

func installFailure(err error) *failure {
	if errors.Is(err, lockfile.ErrBusy) {
		return fail(Busy, "install_busy", "%s", err)
	}
	for _, known := range installExits {
		if errors.Is(err, known.err) {
			code, _, _ := strings.Cut(known.err.Error(), ":")
			f := fail(known.exit, code, "%s", strings.TrimPrefix(err.Error(), known.err.Error()+": "))
			f.cause = err
			return f
		}
	}
	return nil
}

// reasonExit is the exit code of a refusal of one skill.
func reasonExit(code string) Exit {
	if e, ok := reasonExits[code]; ok {
		return e
	}
	for _, known := range installExits {
		if known.err.Error() == code {
			return known.exit
		}
	}
	return Refused
}

// answers puts the questions of a plan to the person.
func (r *run) answers() install.Answers {
	return install.Answers{Accept: func(_ context.Context, it install.Item, ask install.Reason) (bool, error) {
		if r.writing.yes && ask.Code != "scan_blocked" { // what blocks is taken rule by rule
			return true, nil
		}
		p := r.person()
		if p == nil {
			return false, nil
		}
		key := "add.ask"
		if ask.Code == install.CodeNeeded {
			key = "add.ask_needed"
		}
		p.Printf("%s [y/N] ", r.words.Say(key, it.Name, r.reason(ask)))
		answer, err := r.readLine()
		return err == nil && (answer == "y" || answer == "yes"), nil
	}}
}

// askedAbout are the codes of what is refused only for want of an answer.
var askedAbout = []string{install.CodeNeeded, "install_look_alike", "licence_warn", "scan_warn", "scan_partial", "wellknown_unverified"}

// reason is a code's words for a person, with what it is about.
func (r *run) reason(why install.Reason) string {
	return fmt.Sprintf("%s (%s)", why.Message, why.Code)
}

// relative is a path against a root, as a record keeps it on every system. One outside
// the root is relative too: a sibling checkout lies beside every checkout.
func relative(root, at string) (string, error) {
	rel, err := filepath.Rel(root, at)
	if err != nil {
		return "", fail(Usage, "lock_local_path", "%s has no path relative to %s", at, root)
	}
	if rel = filepath.ToSlash(rel); rel != "." && !strings.HasPrefix(rel, "../") && rel != ".." {
		rel = "./" + rel
	}
	return rel, nil
}

func (r *run) userScope() install.Scope {
	public := filepath.Join(r.dirs.Home, ".agents")
	if state := r.env("XDG_STATE_HOME"); filepath.IsAbs(state) {
		public = filepath.Join(state, "skills")
	}
	return install.User(r.dirs.Home, r.dirs.Data, public)
}

// personal are the scopes of what is a person's own wherever deft runs.
func (r *run) personal() []install.Scope {
	// What one dialect put into the folder of another program, the others find there too.
	return append([]install.Scope{
		r.userScope(), install.Own(r.dirs.Data), install.External(r.dirs.Data), r.claudeScope(r.userScope()),
	}, r.miniMaxScopes()...)
}

func (r *run) installLocks() (files []string) {
	for _, s := range r.personal() {
		files = append(files, s.Lock)
	}
	if lock := r.pluginScope("", "").Lock; !slices.Contains(files, lock) {
		files = append(files, lock)
	}
	return files
}

// installedDirs are the folders of skills that were brought in among the person's own. A
// lock file that can't be read makes every skill of its folder one of them: which are the
// person's own can't be told.
func (r *run) installedDirs() (dirs []string, diags []skill.Diagnostic) {
	for _, s := range r.personal() {
		lock, err := install.ReadLock(s.Lock, false)
		names := []string{}
		if lock != nil {
			names = lock.Names()
		}
		if err != nil && !errors.Is(err, install.ErrLockNewer) {
			diags = append(diags, skill.Finding("lock_damaged", s.Lock, "%s", err))
			entries, _ := os.ReadDir(s.Skills)
			for _, e := range entries {
				names = append(names, e.Name())
			}
		}
		for _, name := range names {
			if at, err := filepath.EvalSymlinks(filepath.Join(s.Skills, name)); err == nil {
				dirs = append(dirs, at)
			}
		}
	}
	return dirs, diags
}
