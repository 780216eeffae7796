package cli

import (
	"context"
	"path/filepath"
	"strings"

	"github.com/deftskills/deft"
	"github.com/deftskills/deft/command"
	"github.com/deftskills/deft/command/sandbox"
	"github.com/deftskills/deft/internal/config"
	"github.com/deftskills/deft/skill"
)

// box is what confines the commands of this run; what the machine can hold is found out
// once, when it is first asked.
func (a *app) box() *sandbox.Box {
	a.boxOnce.Do(func() {
		a.confining = sandbox.New(sandbox.Options{HelperPath: a.proc.Helper, TempRoot: orElse(a.proc.Getenv("TMPDIR"), a.proc.Getenv("TEMP"))})
	})
	return a.confining
}

// commands says how what skills want to have run is confined in this run. Data and cache
// are no folders of ours in this sense: the first holds skills, the second nothing secret.
func (r *run) commands() deft.Commands {
	c := deft.Commands{
		Box: r.app.box(), TempRoot: r.proc.Getenv("TMPDIR"), Own: []string{r.dirs.Config, r.dirs.State, r.dirs.Run},
		Record: r.recordCommand, Hooks: r.config.Commands.Hooks,
		Read: r.paths(r.config.Commands.Read), Write: r.paths(r.config.Commands.Write), PassEnv: r.config.Commands.PassEnv,
	}
	set := r.config.Commands
	if level, err := sandbox.ParseLevel(set.Level); err == nil {
		c.Least = &level
	}
	c.Inline = command.Policy{Mode: command.Allow}
	for _, in := range []config.Inline{set.User, set.Project} {
		if in.Off {
			c.Inline.Mode = command.Deny
		}
		if in.Allow != nil {
			c.Inline.List = c.Inline.List.And(command.Prefixes(in.Allow...))
		}
	}
	if !r.verb.effects.runsCode || r.writing.dryRun {
		c.Inline, c.Hooks = command.Policy{Mode: command.Deny, Off: "nothing is run here"}, false
	}
	return c
}

// paths returns paths of the settings, "~" replaced.
func (r *run) paths(list []string) []string {
	var out []string
	for _, p := range list {
		if rest, ok := strings.CutPrefix(p, "~"); ok {
			p = filepath.Join(r.dirs.Home, rest)
		}
		out = append(out, p)
	}
	return out
}

// signalsABI is the version of Landlock from which signals to other processes of the same
// person are held without a namespace of processes.
const signalsABI = 6

// sandboxChecks tells how far commands of skills can be confined here, and by what.
func (r *run) sandboxChecks(ctx context.Context) []check {
	f := r.app.box().Probe(ctx)
	top := check{ID: "sandbox_level", Level: skill.LevelInfo, Message: r.words.Say("doctor.sandbox", f.Level)}
	switch {
	case f.Level < sandbox.Files:
		top.Level, top.Message, top.Fix = skill.LevelWarning, r.words.Say("doctor.sandbox_low", f.Level), r.words.Say("doctor.sandbox_low_fix")
		if r.proc.GOOS != "linux" {
			top.Level, top.Fix = skill.LevelInfo, "" // no setting of this system brings more
		}
	case f.Level < sandbox.Full && r.proc.GOOS == "linux":
		top.Message += "; " + r.words.Say("doctor.sandbox_no_new")
		if f.ABI < signalsABI {
			top.Message += "; " + r.words.Say("doctor.sandbox_signals", f.ABI)
		}
	case f.BwrapPath != "":
		top.Message += " (" + f.BwrapPath + ")"
	}
	list := []check{top}
	if level, err := sandbox.ParseLevel(r.config.Commands.Level); err == nil && level < sandbox.Files {
		list = append(list, check{
			ID: "sandbox_lowered", Level: skill.LevelWarning, Message: r.words.Say("doctor.sandbox_lowered", level), Fix: r.words.Say("doctor.sandbox_lowered_fix"),
		})
	}
	return append(append(list, r.shellCheck(f)), r.sandboxParts(f)...)
}

// shellCheck tells whether a model gets the tools that run something, and why not.
func (r *run) shellCheck(f sandbox.Findings) check {
	least := sandbox.Files
	if level, err := sandbox.ParseLevel(r.config.Commands.Level); err == nil {
		least = level
	}
	c := check{ID: "shell_tool", Level: skill.LevelInfo, Message: r.words.Say("doctor.shell", f.Level)}
	if f.Level < least {
		c.Message = r.words.Say("doctor.shell_none", f.Missing(least))
		return c
	}
	if _, err := sandbox.LookPath("bash", sandbox.Environment(r.proc.Environ, []string{r.cwd}, nil)); err != nil {
		c.Level, c.Message, c.Fix = skill.LevelWarning, r.words.Say("doctor.shell_bash"), r.words.Say("doctor.shell_bash_fix")
	}
	return c
}

// sandboxParts tells of each means of confining by itself.
func (r *run) sandboxParts(f sandbox.Findings) []check {
	var list []check
	for _, part := range []struct {
		name   string
		found  sandbox.Finding
		needed bool // without it commands of skills do not run
	}{
		{"helper", f.Helper, true}, {"landlock", f.Landlock, true}, {"seccomp", f.Seccomp, true},
		{"namespaces", f.Namespaces, false}, {"bwrap", f.Bwrap, false},
	} {
		c := check{ID: "sandbox_" + part.name, Level: skill.LevelInfo, Message: r.words.Say("doctor.sandbox_there", part.name)}
		if part.found.Detail != "" {
			c.Message += " (" + part.found.Detail + ")"
		}
		if !part.found.OK {
			c.Message = r.words.Say("doctor.sandbox_missing", part.name, part.found.Detail)
			if part.name != "bwrap" || !f.Namespaces.OK {
				c.Fix = r.words.Say("doctor.sandbox_" + part.name + "_fix")
			}
			if r.proc.GOOS == "linux" && (part.needed && f.Helper.OK || part.name == "helper") {
				c.Level = skill.LevelWarning
			}
		}
		list = append(list, c)
	}
	return list
}
