package cli

import (
	"context"
	"slices"

	"github.com/deftskills/deft/internal/config"
	"github.com/deftskills/deft/internal/safetext"
	"github.com/deftskills/deft/skill"
	"github.com/deftskills/deft/store"
)

func mcpVerb() verb {
	reads, writes := effects{reads: true}, effects{reads: true, writes: true}
	return verb{
		name: "mcp", args: "list|tools|approve|revoke", max: -1, group: groupHouse, joins: true, effects: reads,
		short: "servers of tools (MCP): which there are, what they offer",
		long: "Servers stand under mcp.servers in your settings. One that a project's settings propose\n" +
			"is started only when the folder is trusted and you approved its exact command or address.",
		below: []verb{
			{name: "list", effects: reads, short: "the servers of the settings; none is started",
				run: func(_ context.Context, r *run, _ []string) error { return r.mcpList() }},
			{name: "tools", args: "[NAME]", max: 1, effects: effects{reads: true, network: true, runsCode: true}, short: "start the servers and list their tools with their tiers",
				run: func(ctx context.Context, r *run, args []string) error { return r.mcpTools(ctx, args) }},
			{name: "approve", args: "NAME", min: 1, max: 1, effects: writes, short: "let a server of this project be started, exactly as it is",
				run: func(ctx context.Context, r *run, args []string) error { return r.mcpApprove(ctx, args[0]) }},
			{name: "revoke", args: "NAME", min: 1, max: 1, effects: writes, short: "take the approval of a server back",
				run: func(ctx context.Context, r *run, args []string) error { return r.mcpRevoke(ctx, args[0]) }},
		},
	}
}

// mcpJSON is the document of every verb below mcp.
type mcpJSON struct {
	Servers []serverJSON `json:"servers"`
	Changed bool         `json:"changed"`
	Written bool         `json:"written"`
}

type serverJSON struct {
	Name   string       `json:"name"`
	Place  string       `json:"place"`  // the command line, or the address
	State  string       `json:"state"`  // ready, off, unapproved, unavailable
	Reason string       `json:"reason"` // of unavailable
	Digest skill.Digest `json:"digest"` // of what an approval is bound to
	From   config.From  `json:"from"`
	Tools  []mcpTool    `json:"tools"` // of mcp tools
}

type mcpTool struct {
	Name        string `json:"name"` // for the model and for rules
	Tier        string `json:"tier"`
	Description string `json:"description"`
}

// state is how a server stands before it is started.
func (s server) state() (state, reason string) {
	switch {
	case s.set.Off:
		return "off", ""
	case !s.may():
		return "unapproved", ""
	case s.trouble != "":
		return "unavailable", s.trouble
	}
	return "ready", ""
}

func (s server) json() serverJSON {
	out := serverJSON{Name: s.set.Name, Place: s.start.Place(), Digest: s.digest, From: s.set.From, Tools: []mcpTool{}}
	out.State, out.Reason = s.state()
	return out
}

// mcpDocument tells of every server.
func (r *run) mcpDocument() mcpJSON {
	r.providers()
	doc := mcpJSON{Servers: []serverJSON{}}
	for _, s := range r.servers.list {
		doc.Servers = append(doc.Servers, s.json())
	}
	return doc
}

// mcpShow prints a document, and what was found on the way.
func (r *run) mcpShow(doc mcpJSON) {
	r.report(r.diags)
	if len(doc.Servers) == 0 {
		r.hintf("%s", r.words.Say("mcp.none"))
	}
	if r.globals.json {
		r.printJSON(doc)
		return
	}
	for _, s := range doc.Servers {
		r.out.Printf("%-16s %-12s %s\n", s.Name, s.State, safetext.Line(s.Place))
		if s.Reason != "" {
			r.out.Printf("  %s\n", s.Reason)
		}
		for _, t := range s.Tools {
			r.out.Printf("  %-40s %-14s %s\n", t.Name, t.Tier, safetext.Clip(safetext.Line(t.Description), 60))
		}
	}
}

func (r *run) mcpList() error {
	r.mcpShow(r.mcpDocument())
	return nil
}

func (r *run) mcpTools(ctx context.Context, args []string) error {
	doc := r.mcpDocument()
	if len(args) > 0 {
		if _, err := r.serverNamed(args[0]); err != nil {
			return err
		}
		doc.Servers = slices.DeleteFunc(doc.Servers, func(s serverJSON) bool { return s.Name != args[0] })
	}
	for _, p := range r.providers() {
		i := slices.IndexFunc(doc.Servers, func(s serverJSON) bool { return s.Name == p.Name() })
		if i < 0 {
			continue
		}
		got := p.Provide(ctx)
		if err := ctx.Err(); err != nil {
			return err
		}
		if got.Away != "" {
			doc.Servers[i].State, doc.Servers[i].Reason = "unavailable", got.Away
			r.note(Partial)
		}
		for _, t := range got.Tools {
			spec := t.Spec()
			doc.Servers[i].Tools = append(doc.Servers[i].Tools, mcpTool{spec.Name, spec.Tier.String(), spec.Description})
		}
	}
	r.mcpShow(doc)
	r.tellServers()
	return nil
}

// serverNamed finds a server of the settings.
func (r *run) serverNamed(name string) (server, error) {
	r.providers()
	var names []string
	for _, s := range r.servers.list {
		if s.set.Name == name {
			return s, nil
		}
		names = append(names, s.set.Name)
	}
	f := fail(Usage, "mcp_server_unknown", "no MCP server is named %q", name)
	if near := closest(name, names, 3); len(near) > 0 {
		return server{}, f.hinted("hint.closest", near[0])
	}
	return server{}, f
}

func (r *run) mcpApprove(ctx context.Context, name string) error {
	s, err := r.serverNamed(name)
	if err != nil {
		return err
	}
	if s.may() || s.set.Off {
		return r.mcpDone(s, false, "mcp.already")
	}
	p := r.err
	if !r.globals.json {
		p.Printf("%s\n", p.Paint(safetext.Bold, r.words.Say("mcp.head", s.set.Name, s.set.From.File)))
		p.Printf("  %s\n", safetext.Line(s.start.Place()))
		for _, key := range sortedKeys(s.set.Env) {
			v := s.set.Env[key]
			p.Printf("  %s=%s\n", key, safetext.Line(orElse(v.Text, "$"+v.Env)))
		}
		for _, key := range sortedKeys(s.set.Headers) {
			p.Printf("  %s: $%s\n", key, s.set.Headers[key])
		}
	}
	if err := r.askTrust("mcp.ask", s.set.Name); err != nil {
		return err
	}
	if !r.writing.dryRun {
		st, err := r.openStore(ctx)
		if err != nil {
			return err
		}
		name, source := r.approval(s)
		if _, err := st.GrantSkill(ctx, store.Grant{Name: name, Source: source, Tree: s.digest, By: "cli"}); err != nil {
			return err
		}
	}
	return r.mcpDone(s, true, r.orDry("mcp.approved", "mcp.approved_dry"))
}

func (r *run) mcpRevoke(ctx context.Context, name string) error {
	s, err := r.serverNamed(name)
	if err != nil {
		return err
	}
	if len(s.grants) == 0 {
		return fail(Negative, "mcp_server_unapproved", "the MCP server %q has no approval here", name)
	}
	if !r.writing.dryRun {
		st, err := r.openStore(ctx)
		if err != nil {
			return err
		}
		if err := st.Revoke(ctx, "cli", s.grants...); err != nil {
			return err
		}
	}
	return r.mcpDone(s, true, r.orDry("mcp.revoked", "mcp.revoked_dry"))
}

// mcpDone tells the outcome for one server.
func (r *run) mcpDone(s server, changed bool, key string) error {
	if r.globals.json {
		r.printJSON(mcpJSON{Servers: []serverJSON{s.json()}, Changed: changed, Written: changed && !r.writing.dryRun})
		return nil
	}
	r.out.Printf("%s\n", r.words.Say(key, s.set.Name))
	return nil
}
