package deft

import (
	"context"
	"embed"
	"io/fs"
	"maps"
	"path/filepath"
	"slices"
	"strings"

	"github.com/deftskills/deft/builtin"
	"github.com/deftskills/deft/registry"
	"github.com/deftskills/deft/skill"
	"github.com/deftskills/deft/source"
)

// MiniMaxOptions is what dialect minimax may be told beside the common options. The
// zero value is a plain host.
type MiniMaxOptions struct {
	LegacyAgents   []string // former names of the agent, whose folders still count
	NoAgentFolders bool     // leave out the folders of the agent
	LinksOutside   bool     // linked folders of the workspace may leave it
	Bundled        []string // folders with skills and agents/NAME/skills; none = those in the binary
	Selected       []string // the agent's list of skills; nil = all
	Extension      []string // the extension's list of skills; nil = all
	Beta           func(flag string) bool
	Disabled       registry.Deactivator // skills that are switched off by location
}

// builtins makes the sources of the skills in the binary. Dialect minimax has two
// roots for them.
func (o Options) builtins(env source.Env) []source.Source {
	at := func(id, agent string, priority float64, tree fs.FS) source.Source {
		return source.FS(tree, source.DirOptions{
			Info:   source.Info{ID: id, Kind: source.Builtin, Agent: agent, Priority: priority, Trust: source.Trusted, Origin: "built in"},
			Format: env.Format,
		})
	}
	switch {
	case o.Dialect != skill.MiniMax:
		return []source.Source{at("builtin", "", 0, o.Builtin)}
	case len(o.MiniMax.Bundled) > 0:
		return nil // they are among the roots
	}
	out := []source.Source{at("builtin-global", "", 0, o.Builtin)}
	if agent := strings.TrimSpace(o.Agent); !o.MiniMax.NoAgentFolders {
		if agent == "" {
			agent = "mavis"
		}
		const priority = 10 // as the root table of the dialect has it
		out = append([]source.Source{at("builtin-agent:"+agent, agent, priority, embed.FS{})}, out...)
	}
	return out
}

// filters is what hides winners in dialect minimax.
func (o Options) filters() registry.Filters {
	m := o.MiniMax
	f := registry.Filters{Selected: m.Selected, Extension: m.Extension, Disabled: m.Disabled}
	if o.Host != nil {
		f.Gate = builtin.Gate{Host: *o.Host}
	}
	for _, p := range o.Providers {
		f.Servers = append(f.Servers, p.Name())
	}
	return f
}

// seed writes the built-in skills to the disk, where dialect minimax reads them. What
// fails is a diagnostic: the skills in the binary are there all the same.
func (o Options) seed(ctx context.Context, env source.Env) []skill.Diagnostic {
	data := source.DataDir(env)
	if !o.Seed || data == "" {
		return nil
	}
	dir := filepath.Join(data, ".builtin-skills")
	done, err := builtin.Seed(ctx, builtin.SeedOptions{
		Dir: dir, Sources: []fs.FS{o.Builtin}, Backup: filepath.Join(data, "backup"), Now: o.Clock,
	})
	var out []skill.Diagnostic
	failed := func(file, message string) {
		spec, _ := skill.LookupCode("seed_failed")
		out = append(out, skill.Diagnostic{Code: spec.Code, Level: spec.Level, Fix: spec.Fix, File: file, Offset: -1, Message: message})
	}
	if err != nil {
		failed(dir, err.Error())
	}
	for _, name := range slices.Sorted(maps.Keys(done.Failed)) {
		failed(filepath.Join(dir, name), "built-in skill cannot be written: "+done.Failed[name])
	}
	return out
}
