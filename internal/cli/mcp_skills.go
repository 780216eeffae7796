package cli

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/deftskills/deft/install/fetch"
	"github.com/deftskills/deft/mcpskills"
)

// skillServer connects to MCP servers for the skills that they serve: to one of the
// settings by its name, under what holds for its tools; to any other by its address, under
// the rules of what is fetched.
func (r *run) skillServer(h *fetch.HTTP) func(context.Context, string) (fetch.SkillServer, error) {
	return func(ctx context.Context, name string) (fetch.SkillServer, error) {
		o := mcpskills.Options{Workspace: r.cwd, Environ: r.proc.Environ, Version: build().Version, Now: r.proc.Now}
		end := func() {}
		if strings.Contains(name, "://") {
			o.Transport, end = h.Guarded()
			o.Servers = []mcpskills.Server{{Name: "source", URL: name}}
		} else {
			s, err := r.skillServerNamed(name)
			if err != nil {
				return nil, err
			}
			o.Servers = []mcpskills.Server{s.start}
		}
		host, err := mcpskills.NewHost(o)
		if err != nil {
			end()
			return nil, fmt.Errorf("%w: %w", fetch.ErrUnreachable, err)
		}
		on, err := host.OpenSkills(ctx, o.Servers[0].Name)
		if err != nil {
			end()
			_ = host.Close() // nothing is open
			if errors.Is(err, fetch.ErrPrivate) {
				return nil, err
			}
			return nil, fmt.Errorf("%w: %w", fetch.ErrUnreachable, err)
		}
		return &skillsOf{on, host, end}, nil
	}
}

// skillServerNamed is a server of the settings that may be started.
func (r *run) skillServerNamed(name string) (server, error) {
	s, err := r.serverNamed(name)
	if err != nil {
		return s, err
	}
	switch {
	case s.set.Off:
		return s, fail(Refused, "mcp_server_off", "the MCP server %q is turned off", name)
	case !s.may():
		return s, fail(Refused, "mcp_server_unapproved", "nobody has approved the MCP server %q, which %s proposes: %s", name, s.set.From.File, s.start.Place()).hinted("hint.mcp_approve", name)
	case s.trouble != "":
		return s, fail(Network, "mcp_server_unavailable", "the MCP server %q cannot be used: %s", name, s.trouble)
	}
	return s, nil
}

// skillsOf is a connection in the words of install/fetch.
type skillsOf struct {
	on   *mcpskills.SkillSource
	host *mcpskills.Host
	end  func()
}

// List implements fetch.SkillServer.
func (s *skillsOf) List(ctx context.Context) ([]fetch.ServedSkill, error) {
	list, err := s.on.List(ctx)
	out := make([]fetch.ServedSkill, 0, len(list))
	for _, k := range list {
		one := fetch.ServedSkill{URI: k.URI, Name: k.Name, Description: k.Description, Changing: k.Changing}
		for _, f := range k.Files {
			one.Files = append(one.Files, fetch.ServedFile(f))
		}
		out = append(out, one)
	}
	return out, err
}

// Read implements fetch.SkillServer.
func (s *skillsOf) Read(ctx context.Context, uri string) ([]byte, error) { return s.on.Read(ctx, uri) }

// Close implements fetch.SkillServer.
func (s *skillsOf) Close() {
	s.on.Close()
	_ = s.host.Close() // it has no other connection
	s.end()
}
