package command

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/deftskills/deft/command/sandbox"
)

// Options configures a Runner. Box and Roots are required.
type Options struct {
	Box *sandbox.Box
	// Roots are the workspace: absolute directories that runs start in and may write.
	Roots []string
	// Host is the host's environment, KEY=value. Of it a run gets the least that programs
	// need, and the names in PassEnv.
	Host    []string
	PassEnv []string
	Home    string   // absolute
	Own     []string // the host's own folders: never readable
	Keep    []string // directories of skills and the like, inside a root or not: never writable
	Read    []string // more that has to stay readable; of the user's own configuration
	Write   []string // more that may be written; of the user's own configuration
	Session string   // value of DEFT_SESSION_ID; "" = unset
	// Least is the least level that will do; nil is sandbox.Files. Only the user's own
	// configuration may ask for less.
	Least *sandbox.Level
	// TempRoot is where private copies of scripts are made; "" = /tmp.
	TempRoot string
}

// Runner runs commands in the sandbox: in a directory of the workspace, with the least
// environment, within the bounds of their kind. Safe for concurrent use.
type Runner struct {
	o     Options
	least sandbox.Level
}

// New returns a Runner. Nothing is tried or started before the first run.
func New(o Options) (*Runner, error) {
	switch {
	case o.Box == nil:
		return nil, errors.New("runner options: no sandbox")
	case len(o.Roots) == 0:
		return nil, errors.New("runner options: no workspace")
	case !filepath.IsAbs(o.Home):
		return nil, fmt.Errorf("runner options: home %q is not absolute", o.Home)
	}
	roots := make([]string, 0, len(o.Roots))
	for _, root := range o.Roots {
		real, err := filepath.EvalSymlinks(root)
		if err != nil || !filepath.IsAbs(root) {
			return nil, fmt.Errorf("runner options: workspace %q: not an absolute directory that exists", root)
		}
		roots = append(roots, real)
	}
	o.Roots = roots
	if o.TempRoot == "" {
		o.TempRoot = "/tmp"
	}
	r := &Runner{o: o, least: sandbox.Files}
	if o.Least != nil {
		r.least = *o.Least
	}
	return r, nil
}

// Level is the highest level that works here.
func (r *Runner) Level(ctx context.Context) sandbox.Level { return r.o.Box.Level(ctx) }

// Able implements [Runs].
func (r *Runner) Able(ctx context.Context, least sandbox.Level) error {
	wanted := max(least, r.least)
	found := r.o.Box.Probe(ctx)
	if found.Level < wanted {
		return &sandbox.UnavailableError{Wanted: wanted, Present: found.Level, Why: found.Missing(wanted)}
	}
	return nil
}

// bounds are what a run of one kind may cost.
type bounds struct {
	time, most time.Duration // the default, and the most that a request may ask for
	grace      time.Duration // between the signal that asks and the one that ends
	output     int64         // bytes of each stream; a request may ask for less, or for more where more is known
	memory     int64         // bytes of address space
	processes  int
}

// kinds has a row for every kind of request.
var kinds = map[Kind]bounds{
	KindInline: {time: 10 * time.Second, most: 2 * time.Minute, output: 64 << 10},
	KindScript: {time: 2 * time.Minute, most: 10 * time.Minute, grace: 2 * time.Second, output: 1 << 20},
	KindHook:   {time: 5 * time.Second, most: time.Minute, output: 64 << 10},
	KindTool:   {time: 2 * time.Minute, most: 10 * time.Minute, grace: 2 * time.Second, output: 1 << 20, memory: 4 << 30, processes: 256},
}

// shells start a text, without files of a login or of a person's own.
var shells = map[string][]string{
	"sh":         {"sh", "-c"},
	"bash":       {"bash", "--noprofile", "--norc", "-c"},
	"zsh":        {"zsh", "-f", "-c"},
	"pwsh":       {"pwsh", "-NoProfile", "-NonInteractive", "-Command"},
	"powershell": {"powershell", "-NoProfile", "-NonInteractive", "-Command"},
}

// Run implements [Runs]. The error says why nothing was started: a [*MissingError], ErrDir,
// [sandbox.ErrUnavailable], or what else the sandbox names.
func (r *Runner) Run(ctx context.Context, q Request) (Result, error) {
	none := Result{Exit: -1}
	if err := ctx.Err(); err != nil {
		return none, err
	}
	b, known := kinds[q.Kind]
	if !known {
		return none, fmt.Errorf("request: kind %q is unknown", q.Kind)
	}
	dir, err := r.inside(q.Dir)
	if err != nil {
		return none, err
	}
	c := sandbox.Command{
		Argv: q.Argv, Dir: dir, Env: r.environment(q), Stdin: q.Stdin, Level: max(q.Level, r.least), Policy: r.policy(q.Skill),
		Timeout: b.time, Grace: b.grace, MaxOutput: b.output, Memory: b.memory, Processes: b.processes,
	}
	c.Policy.Network = q.Network
	if q.Timeout > 0 {
		c.Timeout = min(q.Timeout, b.most)
	}
	if q.MaxOutput > 0 {
		c.MaxOutput = q.MaxOutput
	}
	if len(q.Argv) == 0 {
		if c.Argv, err = shell(q, c.Env); err != nil {
			return none, err
		}
	}
	res, err := r.o.Box.Run(ctx, c)
	var start *sandbox.StartError
	if errors.As(err, &start) && start.Step == "exec" && errors.Is(err, fs.ErrNotExist) {
		return res, &MissingError{Program: filepath.Base(c.Argv[0])}
	}
	return res, err
}

// shell is how a text is started.
func shell(q Request, env []string) ([]string, error) {
	name := q.Shell
	if name == "" {
		name = "sh"
	}
	argv, known := shells[name]
	if !known || strings.TrimSpace(q.Script) == "" {
		return nil, fmt.Errorf("request: shell %q is unknown, or there is nothing to run", name)
	}
	path, err := sandbox.LookPath(argv[0], env)
	if err != nil {
		return nil, &MissingError{Program: name}
	}
	return append(append([]string{path}, argv[1:]...), q.Script), nil
}

// inside resolves a directory and keeps it in the workspace.
func (r *Runner) inside(dir string) (string, error) {
	real, err := filepath.EvalSymlinks(dir)
	if err != nil || !filepath.IsAbs(dir) {
		return "", fmt.Errorf("%w: %q is not an absolute directory that exists", ErrDir, dir)
	}
	for _, root := range r.o.Roots {
		if within(real, root) {
			return real, nil
		}
	}
	return "", fmt.Errorf("%w: %q is outside the workspace", ErrDir, dir)
}

// environment is all that a run is told: the least of the host's, names of the skill, and
// what the request adds. Files that a shell would read at its start are not named.
func (r *Runner) environment(q Request) []string {
	env := sandbox.Environment(r.o.Host, slices.Concat(r.o.Roots, r.o.Write), r.o.PassEnv)
	add := func(name, value string) {
		if value != "" {
			env = append(env, name+"="+value)
		}
	}
	add("SKILL_DIR", q.Skill.Dir)
	add("CLAUDE_SKILL_DIR", q.Skill.Dir)
	add("SKILL_NAME", q.Skill.Name)
	add("DEFT_SESSION_ID", r.o.Session)
	for _, kv := range q.Env {
		name, _, ok := strings.Cut(kv, "=")
		if ok && !slices.Contains([]string{"ENV", "BASH_ENV", "PATH", "TMPDIR", "IFS"}, name) && !strings.HasPrefix(name, "LD_") && !strings.HasPrefix(name, "DYLD_") {
			env = append(env, kv)
		}
	}
	return env
}

// policy is what a run may reach. It is made for each run: what is protected depends on
// what lies in the workspace now. A workspace inside the folder of a skill can be read only.
func (r *Runner) policy(s SkillRef) sandbox.Policy {
	p := sandbox.Policy{
		Read:   slices.Clone(r.o.Read),
		Denied: sandbox.Denied(r.o.Home, r.o.Roots, r.o.Own...),
	}
	for _, root := range r.o.Roots {
		p.Protected = append(p.Protected, sandbox.Protected(root, r.o.Home)...)
	}
	keep := slices.Clone(r.o.Keep)
	if s.Dir != "" {
		p.Read = append(p.Read, s.Dir)
		keep = append(keep, s.Dir)
	}
	for _, dir := range slices.Clone(keep) {
		if real, err := filepath.EvalSymlinks(dir); err == nil && real != dir {
			keep = append(keep, real)
		}
	}
	for _, k := range keep {
		inside := func(root string) bool { return within(k, root) }
		if within(k, "/tmp") && !slices.ContainsFunc(r.o.Roots, inside) {
			p.Read = append(p.Read, k) // a private folder takes the place of what is there
		}
	}
	for _, dir := range slices.Concat(r.o.Roots, r.o.Write) {
		if slices.ContainsFunc(keep, func(k string) bool { return within(dir, k) }) {
			p.Read = append(p.Read, dir)
			continue
		}
		p.Write = append(p.Write, dir)
		for _, k := range keep {
			held := func(path string) bool { return within(k, path) }
			if within(k, dir) && !slices.ContainsFunc(p.Protected, held) {
				p.Protected = append(p.Protected, k)
			}
		}
	}
	return p
}

// within reports whether path is dir or below it; both are clean and absolute.
func within(path, dir string) bool {
	return path == dir || strings.HasPrefix(path, strings.TrimSuffix(dir, string(filepath.Separator))+string(filepath.Separator))
}
