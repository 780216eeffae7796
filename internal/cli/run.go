package cli

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"runtime/debug"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/deftskills/deft"
	"github.com/deftskills/deft/agent"
	"github.com/deftskills/deft/command"
	"github.com/deftskills/deft/command/sandbox"
	"github.com/deftskills/deft/gate"
	"github.com/deftskills/deft/internal/atomicfile"
	"github.com/deftskills/deft/internal/cli/text"
	"github.com/deftskills/deft/internal/config"
	"github.com/deftskills/deft/internal/safetext"
	"github.com/deftskills/deft/internal/telemetry"
	"github.com/deftskills/deft/search"
	"github.com/deftskills/deft/skill"
	"github.com/deftskills/deft/source"
	"github.com/deftskills/deft/store"
	"github.com/deftskills/deft/store/blobs"
)

// Process is everything of the operating system that a run may touch.
type Process struct {
	Args           []string // without the program's name
	Environ        []string // KEY=VALUE
	Dir            string   // the working directory, absolute
	GOOS           string   // a Go name: linux, darwin, windows
	Stdin          io.Reader
	Stdout, Stderr io.Writer
	// StdinTerminal and the two others say whether a person is at that end.
	StdinTerminal, StdoutTerminal, StderrTerminal bool
	Width                                         int // columns of the terminal; 0 = unknown
	// OpenTerminal opens the terminal that controls the process, for questions when
	// standard error leads elsewhere; nil = there is none.
	OpenTerminal func() (io.Writer, error)
	Now          func() time.Time
	// Divert has the next interrupt call f instead of ending the run, once, until restored;
	// nil = interrupts end the run.
	Divert  func(f func()) (restore func())
	Managed string // the settings file of whoever runs the machine; "" = that of the system
	Helper  string // what confines commands: the result of deft.Helper; empty = nothing does
	// Places are further kinds of places of blobs, with a look at the environment; nil = none.
	Places func(env func(string) string) blobs.Places
	// Patience says how long a run may take to end after an interrupt; nil = as it likes.
	Patience func(time.Duration)
}

func (p *Process) patient(d time.Duration) {
	if p.Patience != nil {
		p.Patience(d)
	}
}

// Getenv returns a variable, "" when it is not set.
func (p *Process) Getenv(name string) string {
	for i := len(p.Environ) - 1; i >= 0; i-- {
		if k, v, ok := strings.Cut(p.Environ[i], "="); ok && k == name {
			return v
		}
	}
	return ""
}

// app is one run of the program: flags, printers, and how it ends.
type app struct {
	proc    Process
	verbs   []verb
	globals globals
	writing writing
	root    *cobra.Command
	out     *safetext.Printer
	err     *safetext.Printer
	tty     *safetext.Printer // of a question; nil until one is asked
	in      *bufio.Reader
	limit   *io.LimitedReader // of in, for each line
	words   text.Words
	exit    Exit

	awaiting sync.Mutex
	awaited  chan spoken // the line that is read now; nil = none is

	boxOnce   sync.Once
	confining *sandbox.Box // see box
}

// Run runs one command line and returns its exit code. It touches nothing of the
// operating system but what p holds and the files that p's environment leads to.
func Run(ctx context.Context, p Process) Exit { return runVerbs(ctx, p, verbs()) }

func runVerbs(ctx context.Context, p Process, verbs []verb) (exit Exit) {
	a := &app{proc: p, verbs: verbs, words: text.Load(locale(p.Getenv))}
	a.printers()
	defer func() {
		if fault := recover(); fault != nil {
			exit = a.fault(fault, debug.Stack())
		}
	}()
	a.root = a.tree()
	if err := a.root.ExecuteContext(ctx); err != nil {
		a.fail(usage("%s", err), false)
	}
	if err := a.out.Err(); err != nil && a.exit == Done {
		a.fail(fail(Partial, "output", "%s", err), false)
	}
	return a.exit
}

// printers makes the two printers; colour is for terminals that want it.
func (a *app) printers() {
	color := !a.globals.noColor && !a.globals.plain && a.proc.Getenv("NO_COLOR") == "" && a.proc.Getenv("TERM") != "dumb"
	policy := func(terminal bool) safetext.Policy {
		return safetext.Policy{Terminal: terminal && !a.globals.plain, Color: terminal && color, Width: a.proc.Width}
	}
	a.out = safetext.NewPrinter(a.proc.Stdout, policy(a.proc.StdoutTerminal && !a.globals.json))
	a.err = safetext.NewPrinter(a.proc.Stderr, policy(a.proc.StderrTerminal))
}

// tree makes the command tree from the verbs.
func (a *app) tree() *cobra.Command {
	top := verb{name: "deft", max: -1, run: func(_ context.Context, r *run, args []string) error { return r.app.unknown(args) }}
	root := top.command(a)
	a.globals.bind(root.PersistentFlags())
	root.SetArgs(a.proc.Args)
	root.SetOut(a.out)
	root.SetErr(a.err)
	root.SetIn(a.proc.Stdin)
	root.CompletionOptions.DisableDefaultCmd = true
	for i := range a.verbs {
		c := a.verbs[i].command(a)
		root.AddCommand(c)
		if a.verbs[i].name == "help" {
			root.SetHelpCommand(c)
		}
	}
	return root
}

// flagError keeps the error of a wrong flag and lets cobra end without one.
func (a *app) flagError(c *cobra.Command, err error) error {
	a.globals.json = a.globals.json || slices.Contains(a.proc.Args, "--json")
	f := usage("%s", strings.ToLower(err.Error()[:1])+err.Error()[1:])
	f.hinted("hint.see_help_flag", c.CommandPath())
	if name, found := strings.CutPrefix(err.Error(), "unknown flag: --"); found {
		var flags []string
		c.Flags().VisitAll(func(f *pflag.Flag) { flags = append(flags, "--"+f.Name) })
		if near := closest("--"+name, flags, 3); len(near) > 0 {
			f.hinted("hint.closest", strings.Join(near, ", "))
		}
	}
	a.fail(f, false)
	return nil
}

// start runs one verb.
func (a *app) start(ctx context.Context, v *verb, args []string) {
	r := &run{app: a, verb: v}
	err := r.prepare()
	a.printers()
	if err == nil {
		err = v.checkArgs(args)
	}
	if err == nil && a.globals.timeout > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, a.globals.timeout)
		defer cancel()
	}
	if err == nil && v.run == nil {
		err = a.showHelp(v)
	} else if err == nil {
		err = v.run(ctx, r, args)
		if ctx.Err() != nil && err != nil && ctx.Err() == context.Canceled {
			err = ctx.Err()
		}
	}
	if shut := r.close(); err == nil {
		err = shut
	}
	if err != nil && err != errNegative {
		a.fail(err, r.talking)
	}
	if err == errNegative {
		r.note(Negative)
	}
	a.exit = worst(append(r.codes, a.exit)...)
}

// fail prints an error in the form that the run asked for and keeps its exit code.
func (a *app) fail(err error, networked bool) {
	f := failureOf(err, networked)
	a.exit = worst(a.exit, f.exit)
	if a.globals.json {
		type problem struct {
			Code    string `json:"code"`
			Message string `json:"message"`
			Hint    string `json:"hint"`
			// Host is the code of the dialect's own host, with a status.
			Host *hubCode `json:"host,omitempty"`
		}
		a.printJSON(map[string]problem{"error": {f.code, f.message, text.Load("en").Say(f.hint, f.with...), f.host}})
		return
	}
	a.err.Printf("%s %s\n", a.err.Paint(safetext.Red, a.words.Say("error")), f.message)
	if f.host != nil {
		a.err.Printf("%s (%d)\n", f.host.Code, f.host.Status)
	}
	if f.hint != "" {
		a.err.Printf("hint: %s\n", a.words.Say(f.hint, f.with...))
	}
}

// printJSON writes one document.
func (a *app) printJSON(v any) {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	if err := enc.Encode(v); err != nil {
		panic(err)
	}
	a.out.Bytes(b.Bytes())
}

// fault records a panic of ours and says where.
func (a *app) fault(value any, stack []byte) Exit {
	dirs, _, err := config.FindDirs(config.Places{
		Getenv: a.proc.Getenv, GOOS: a.proc.GOOS, Base: a.globals.home, Dir: a.proc.Dir,
	})
	dir := dirs.State
	if err != nil {
		dir = os.TempDir()
	}
	path := filepath.Join(dir, "log", "panic-"+a.proc.Now().UTC().Format("20060102-150405")+".log")
	log := fmt.Appendf(nil, "deft %s\npanic: %v\n\n%s", build().Version, value, stack)
	f := fail(Fault, "panic", "deft: a fault of its own; log %s", path)
	if err := makeDir(filepath.Dir(path)); err != nil {
		f.message = fmt.Sprintf("deft: a fault of its own: %v", value)
	} else if err := atomicfile.Write(path, log, 0o600); err != nil {
		f.message = fmt.Sprintf("deft: a fault of its own: %v", value)
	}
	a.exit = Done
	a.fail(f.hinted("hint.panic"), false)
	return Fault
}

// run is one verb at work.
type run struct {
	*app
	verb     *verb
	dirs     config.Dirs
	config   *config.Config
	env      func(string) string
	cwd      string
	codes    []Exit
	diags    []skill.Diagnostic // of settings and flags
	managed  string             // the settings file of the machine
	rules    gate.RuleSet       // of the settings
	hooks    []command.Hook     // of the settings
	agent    *agent.Definition  // that the session runs as; nil = the person's own
	place    string             // where the tools of the session run, where a job says it; "" = as the settings say
	talking  bool               // a provider is being asked
	engine   *deft.Engine
	only     source.Source   // the one source of this run; nil = those of the settings
	vectors  search.Embedder // of a verb that wants vectors, where there is one
	news     *news           // of a conversation; nil for other verbs
	found    uint64          // version of the Snapshot that a person was told of; 0 = none
	store    *store.Store    // what the person decided; nil until it is asked for
	latest   readSettings    // guarded by reading, as are the three that follow
	standing *store.State    // as it was read last; nil until it was
	saved    []store.SkillState
	// followed are the switches that were handed on, by their former keys.
	followed map[string]store.SkillState
	keeper   *keeper     // of the conversation; nil = none is kept
	former   *former     // the conversation that goes on; nil = it is a new one
	gate     *store.Gate // of the store; guarded by recording
	shelf    *shelf      // where published files are; nil until it is asked for

	servers servers
	seen    *telemetry.Telemetry // nil = nobody collects
	scraped bool                 // figures are kept for /metrics
	logs    slog.Handler         // of a verb that logs; nil = nothing is logged

	opening, reading, recording, asking sync.Mutex
}

// close frees what the run opened.
func (r *run) close() error {
	errs := []error{r.closeServers(), r.closeTelemetry()}
	if r.engine != nil {
		errs = append(errs, r.engine.Close())
	}
	r.keeper.close()
	errs = append(errs, r.shelf.close())
	if r.store != nil {
		errs = append(errs, r.store.Close())
	}
	return errors.Join(errs...)
}

// note adds an exit code that does not stop the run.
func (r *run) note(e Exit) { r.codes = append(r.codes, e) }

// docWords are the words of what may end in a document: English with --json.
func (a *app) docWords() text.Words {
	if a.globals.json {
		return text.Load("en")
	}
	return a.words
}

// hintf writes a note for people on standard error, unless -q.
func (r *run) hintf(format string, args ...any) {
	if !r.globals.quiet {
		r.err.Printf(format+"\n", args...)
	}
}

// prepare reads environment, directories and settings.
func (r *run) prepare() error {
	r.env = r.proc.Getenv
	if err := r.globals.environment(r.env); err != nil {
		return err
	}
	r.words = text.Load(r.globals.lang)
	dirs, diags, err := config.FindDirs(config.Places{Getenv: r.env, GOOS: r.proc.GOOS, Base: r.globals.home, Dir: r.proc.Dir})
	if err != nil {
		return usage("%s", err).hinted("hint.home")
	}
	r.dirs, r.diags = dirs, diags
	r.cwd = r.proc.Dir
	if dir := r.globals.cwd; dir != "" {
		if !filepath.IsAbs(dir) {
			dir = filepath.Join(r.cwd, dir)
		}
		r.cwd = filepath.Clean(dir)
		if st, err := os.Stat(r.cwd); err != nil || !st.IsDir() {
			return usage("workspace %q is no directory", r.globals.cwd).hinted("hint.cwd")
		}
	}
	r.settings()
	return nil
}

// abs makes a path that a person typed absolute.
func (r *run) abs(path string) string {
	if filepath.IsAbs(path) {
		return filepath.Clean(path)
	}
	return filepath.Join(r.cwd, path)
}
