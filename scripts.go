package deft

import (
	"context"
	"errors"
	"slices"

	"github.com/deftskills/deft/command"
	"github.com/deftskills/deft/registry"
	"github.com/deftskills/deft/skill"
	"github.com/deftskills/deft/source"
	"github.com/deftskills/deft/toolset"
)

// shell returns the tools that run something in the workspace, none where the host runs
// nothing; w is nil for their descriptions.
func (e *Engine) shell(w *work) []toolset.Tool {
	if e.o.Commands.Box == nil || e.o.Home == "" || e.o.NoFiles || e.o.Commands.NoShell {
		return nil
	}
	o := toolset.ShellOptions{Dialect: e.o.Dialect, Dir: e.o.Workspace, Runs: &runs{}}
	if w != nil {
		o.Runs = w.runs
	}
	return toolset.Shell(o)
}

// runsScripts reports whether skills may run their scripts here at all.
func (o Options) runsScripts() bool {
	return o.Commands.Box != nil && o.Home != "" && !o.Commands.NoScripts
}

// scripts runs scripts of skills for one session.
type scripts struct {
	e *Engine
	w *work
}

// Able says whether there is what confines them; toolset shows no skill_run otherwise.
func (s scripts) Able(ctx context.Context) error { return s.w.runs.Able(ctx, 0) }

// Run implements toolset.ScriptRunner: the script runs as it was when its skill was
// granted, or as it is where the source is trusted.
func (s scripts) Run(ctx context.Context, c toolset.ScriptCall) (command.Result, error) {
	none := command.Result{Exit: -1}
	tree, err := s.e.approved(ctx, c.Skill)
	if err != nil {
		return none, err
	}
	return s.w.runs.RunScript(ctx, command.ScriptRequest{
		Skill: refOf(c.Skill), Tree: tree, Script: c.Script, Args: c.Args, Stdin: []byte(c.Stdin), Dir: s.e.o.Workspace,
	})
}

// refOf names a skill to what runs its commands.
func refOf(r *registry.Record) command.SkillRef {
	return command.SkillRef{Name: r.Skill.Name, Address: r.Address, Dir: r.Dir, Digest: r.Skill.Digest}
}

// approved returns the tree that a person granted of a skill and that lies there now, ""
// where its source is trusted and any will do.
func (e *Engine) approved(ctx context.Context, r *registry.Record) (skill.Digest, error) {
	if r.Source.Trust == source.Trusted {
		return "", nil
	}
	given := grantsOf(e.judge.decided().Grants, r)
	if len(given) == 0 {
		return "", &command.ScriptError{Code: "skill_not_active", Message: "nobody granted the skill"}
	}
	tree, _, err := source.Tree(ctx, r.Entry)
	switch {
	case ctx.Err() != nil:
		return "", ctx.Err()
	case err != nil, !slices.ContainsFunc(given, func(g registry.Grant) bool { return g.Tree == tree }):
		return "", errors.Join(&command.ScriptError{Code: "script_drift", Message: "the skill's files are not the ones that were approved"}, err)
	}
	return tree, nil
}
