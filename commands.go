package deft

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"github.com/deftskills/deft/command"
	"github.com/deftskills/deft/command/sandbox"
	"github.com/deftskills/deft/registry"
	"github.com/deftskills/deft/session"
)

// Commands says how what skills want to have run is confined, and what the host allows of
// it. The zero value runs nothing: there is no Box. All of it is the host's or the
// person's own word; nothing of a project or a skill may reach it.
type Commands struct {
	// Box confines every run; see Helper and sandbox.New. nil = nothing is run.
	Box *sandbox.Box
	// Read and Write are more paths that runs may read and write, absolute, such as the
	// cache of a compiler. A path inside a protected one makes runs fail.
	Read, Write []string
	// Own are the host's own folders beside the skills: settings, state, records. No run
	// reads them, and so no skill may lie in them.
	Own []string
	// PassEnv are names of Options.Environ that runs see beside the few that they need.
	PassEnv []string
	// Least is the least level that will do; nil = sandbox.Files. A run takes the highest
	// that works here.
	Least *sandbox.Level
	// TempRoot is where private copies of scripts are made; "" = /tmp.
	TempRoot string
	// Inline is what the host says of commands in the texts of skills. The zero Mode counts
	// as command.Allow: what sources and trust forbid stays forbidden.
	Inline command.Policy
	// NoShell leaves out the shell tool for the model, which is there with the tools for
	// files; NoScripts the tool that runs scripts of skills.
	NoShell, NoScripts bool
	// Record keeps what became of each command of a text; its error fails the load. nil =
	// they are not kept.
	Record func(context.Context, session.CommandEvent) error
	// Hooks lets hooks of skills run commands; false = only hooks that are words.
	Hooks bool
}

// runs runs the commands of one session: in its workspace, kept from the folders of every
// skill that it knows. It is made with the session; each call sees the session's newest
// Snapshot. Safe for concurrent use.
type runs struct {
	e *Engine
	w *work

	mu     sync.Mutex
	of     *registry.Snapshot // that the runner was made for
	runner *command.Runner
}

// Run implements command.Runs.
func (r *runs) Run(ctx context.Context, q command.Request) (command.Result, error) {
	runner, err := r.now()
	if err != nil {
		return command.Result{Exit: -1}, err
	}
	if q.Env, q.Network, err = r.given(ctx, q.Skill, q.Env); err != nil {
		return command.Result{Exit: -1}, err
	}
	res, err := runner.Run(ctx, q)
	r.e.vault.HideIn(&res)
	return res, err
}

// RunScript runs one script of a skill; see command.Runner.
func (r *runs) RunScript(ctx context.Context, q command.ScriptRequest) (command.Result, error) {
	runner, err := r.now()
	if err != nil {
		return command.Result{Exit: -1}, err
	}
	if q.Env, q.Network, err = r.given(ctx, q.Skill, q.Env); err != nil {
		return command.Result{Exit: -1}, err
	}
	res, err := runner.RunScript(ctx, q)
	r.e.vault.HideIn(&res)
	return res, err
}

// given is what a run is told beside the least that every run is, and whether it may reach
// the network: what the session's layers say, what the call adds, and what a person bound
// to the skill.
func (r *runs) given(ctx context.Context, s command.SkillRef, more []string) (env []string, network bool, err error) {
	if r.w.inner != nil {
		set := r.w.inner.Effective().Env
		for _, name := range slices.Sorted(maps.Keys(set)) {
			env = append(env, name+"="+set[name])
		}
	}
	env = append(env, more...)
	snap := r.w.view.Snapshot()
	// By its folder: meanwhile another skill may have come to the address.
	i := slices.IndexFunc(snap.All, func(rec *registry.Record) bool {
		if s.Dir == "" {
			return s.Address != "" && rec.Address == s.Address && rec.Dir == ""
		}
		return rec.Skill.Name == s.Name && filepath.Clean(rec.Dir) == filepath.Clean(s.Dir)
	})
	if i < 0 {
		return env, false, nil
	}
	own, err := r.e.vault.of(ctx, r.e, snap.All, snap.All[i], slices.Concat(r.e.o.base(), env))
	return append(env, own...), r.e.networked(ctx, snap, snap.All[i]), err
}

// Networked reports whether commands of a skill reach the network: a person said so in
// their own settings, and the skill's code counts.
func (e *Engine) Networked(ctx context.Context, rec *registry.Record) bool {
	return e.networked(ctx, e.Snapshot(), rec)
}

func (e *Engine) networked(ctx context.Context, snap *registry.Snapshot, rec *registry.Record) bool {
	return e.judge.decided().Networked(rec, snap.All) && e.granted(ctx, rec)
}

// Able implements command.Runs.
func (r *runs) Able(ctx context.Context, least sandbox.Level) error {
	runner, err := r.now()
	if err != nil {
		return err
	}
	return runner.Able(ctx, least)
}

var errNoHome = errors.New("no home is known, so nothing can be kept from a command")

// now returns the runner for the session's newest Snapshot.
func (r *runs) now() (*command.Runner, error) {
	o := r.e.o
	if o.Home == "" {
		return nil, errNoHome
	}
	if !r.w.place.here() {
		return nil, fmt.Errorf("%w: commands run at %s alone", sandbox.ErrUnavailable, r.w.place.name)
	}
	snap := r.w.view.Snapshot()
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.runner != nil && r.of == snap {
		return r.runner, nil
	}
	c := o.Commands
	if c.Box == nil {
		// It has no helper, so no level above the lowest works, and the error names that.
		c.Box, c.Least = sandbox.New(sandbox.Options{}), nil
	}
	session := ""
	if r.w.inner != nil {
		session = r.w.inner.ID()
	}
	runner, err := command.New(command.Options{
		Box: c.Box, Roots: []string{o.Workspace}, Host: o.Environ, PassEnv: c.PassEnv, Home: o.Home, Own: c.Own,
		Keep: skillFolders(snap), Read: c.Read, Write: c.Write, Session: session, Least: r.w.place.least(c.Least), TempRoot: c.TempRoot,
	})
	if err != nil {
		return nil, err
	}
	r.of, r.runner = snap, runner
	return runner, nil
}

// texts says how commands of texts are run.
func (r *runs) texts() session.Commands {
	c := r.e.o.Commands
	if c.Inline.Mode == "" {
		c.Inline.Mode = command.Allow
	}
	return session.Commands{Host: c.Inline, Runs: r, Dir: r.e.o.Workspace, Audit: c.Record}
}

// skillFolders are the directories that no run may write, because what is in them is read
// as instructions later: every place that skills are looked for in, and each skill that
// lies elsewhere.
func skillFolders(snap *registry.Snapshot) []string {
	var out []string
	add := func(dir string) {
		if !filepath.IsAbs(dir) || slices.Contains(out, dir) {
			return
		}
		out = append(out, dir)
	}
	for _, root := range snap.Roots() {
		add(root.Path)
	}
	roots := slices.Clone(out)
	for _, rec := range snap.All {
		for _, dir := range []string{rec.Dir, rec.RealDir} {
			below := func(root string) bool {
				return dir == root || strings.HasPrefix(dir, strings.TrimSuffix(root, string(filepath.Separator))+string(filepath.Separator))
			}
			if dir != "" && !slices.ContainsFunc(roots, below) {
				add(dir)
			}
		}
	}
	return out
}
