package cli

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/deftskills/deft/command"
	"github.com/deftskills/deft/install"
	"github.com/deftskills/deft/install/plugin"
	"github.com/deftskills/deft/internal/config"
	"github.com/deftskills/deft/skill"
	"github.com/deftskills/deft/source"
)

// readPlugin reads a plugin of this machine. One that can't be read carries nothing.
func readPlugin(dir string) plugin.Plugin {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return plugin.Plugin{}
	}
	defer root.Close()
	return plugin.Read(plugin.Plain(root.FS()), dir)
}

// acting are the plugins in force that were installed, and have hooks or servers. Only for
// them anything beside manifests is read.
func (r *run) acting(ctx context.Context) []carried {
	if _, own := r.pluginLayout(); own {
		return nil // they are that program's to run
	}
	lock, err := r.pluginLock()
	if err != nil || len(lock.Plugins) == 0 {
		return nil
	}
	list, _ := r.installedPlugins(ctx)
	var out []carried
	for _, p := range list {
		if !p.Use || p.Off {
			continue
		}
		if m, _ := source.ReadManifest(p.Dir); m.Hooks == nil && m.MCPServers == nil {
			continue
		}
		if c := carriedAt(ctx, p, lock); c.sound() && len(c.Hooks)+len(c.Servers) > 0 {
			out = append(out, c)
		}
	}
	return out
}

// pluginHooks are the hooks of plugins that a person agreed to, as they stand now. They
// count as a skill's, never as the person's own.
func (r *run) pluginHooks(ctx context.Context) []command.Hook {
	var out []command.Hook
	var have agreements
	for _, c := range r.acting(ctx) {
		if have == nil {
			have = r.agreements(ctx)
		}
		for _, h := range c.Hooks {
			if d := h.Digest(c.tree); len(have[agreementKey(c.key(), h.ID, d)]) > 0 {
				h.Skill = command.SkillRef{Name: c.InstalledPlugin.Name, Address: pluginSource(c.key()), Dir: c.Dir, Digest: c.tree}
				out = append(out, h.Hook)
			}
		}
	}
	return out
}

// pluginStands reports whether a plugin is in force, and to the byte what was agreed to.
func (r *run) pluginStands(ctx context.Context, s command.SkillRef) bool {
	list, _ := r.installedPlugins(ctx)
	tree, err := install.TreeAt(ctx, s.Dir)
	return err == nil && tree == s.Digest && slices.ContainsFunc(list, func(p source.InstalledPlugin) bool { return p.Dir == s.Dir && p.Use && !p.Off })
}

// pluginServers are the servers of plugins, each with the agreements to it.
func (r *run) pluginServers(ctx context.Context) (out []server) {
	var have agreements
	for _, c := range r.acting(ctx) {
		for _, s := range c.Servers {
			if have == nil {
				have = r.agreements(ctx)
			}
			out = append(out, r.pluginServer(c, s, have))
		}
	}
	return out
}

func (r *run) pluginServer(c carried, s plugin.Server, have agreements) server {
	at, fromEnv := s.At(c.Dir)
	set := config.Server{
		Name: s.Alias(c.Prefix), Command: at.Command, Args: at.Args, URL: at.URL, Headers: at.Headers, Env: map[string]config.EnvValue{},
		From: config.From{Level: config.User, File: orElse(c.File, c.Dir)},
	}
	if strings.HasPrefix(at.Command, "./") || strings.HasPrefix(at.Command, "../") {
		set.Command = filepath.Join(c.Dir, filepath.FromSlash(at.Command))
	}
	for key, v := range at.Env {
		set.Env[key] = config.EnvValue{Text: v}
	}
	for key, v := range fromEnv {
		set.Env[key] = config.EnvValue{Env: v}
	}
	out := r.server(set)
	out.plugin, out.part, out.digest = c.key(), s.ID, s.Digest(c.tree)
	out.start.Dir = filepath.Join(c.Dir, filepath.FromSlash(at.Dir))
	out.grants = have[agreementKey(c.key(), s.ID, out.digest)]
	if s.Problem != "" {
		out.trouble = s.Problem
	}
	return out
}

// serverTaken is the finding that a plugin's server has a name that another has.
func serverTaken(s server) skill.Diagnostic {
	return skill.Finding("mcp_server_unavailable", s.set.From.File, "the MCP server %q of the plugin %s is left out: another server has the name", s.set.Name, s.plugin)
}
