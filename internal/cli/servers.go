package cli

import (
	"context"
	"fmt"
	"log/slog"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/deftskills/deft/gate"
	"github.com/deftskills/deft/internal/config"
	"github.com/deftskills/deft/internal/safetext"
	"github.com/deftskills/deft/mcpskills"
	"github.com/deftskills/deft/skill"
	"github.com/deftskills/deft/toolset"
)

// servers are the MCP servers of a run, and what was found about them beside the turns.
type servers struct {
	once  sync.Once
	list  []server
	host  *mcpskills.Host // nil = there is none that may be started
	mu    sync.Mutex
	found []skill.Diagnostic // not told yet
}

// server is one configured server as it stands here.
type server struct {
	set     config.Server
	start   mcpskills.Server // with the values of variables
	digest  skill.Digest     // of what a person approves; no value of a variable is in it
	project bool             // a project's file proposes it
	plugin  string           // whose it is, NAME@MARKET, and what agreement calls it; "" = of the settings
	part    string
	grants  []string // ids of the approvals of exactly this
	trouble string   // why it cannot be started though it may; "" = nothing
}

// may reports whether it may be started.
func (s server) may() bool {
	return !s.set.Off && (!s.project && s.plugin == "" || len(s.grants) > 0)
}

// approval is what a person approves of, and where that counts.
func (r *run) approval(s server) (name, source string) {
	if s.plugin != "" {
		return s.part, pluginSource(s.plugin)
	}
	return s.set.Name, r.approvalSource()
}

// providers are the servers whose tools a model may call. None is started by that.
func (r *run) providers() []toolset.Provider {
	r.servers.once.Do(r.readServers)
	if r.servers.host == nil {
		return nil
	}
	return r.servers.host.Providers()
}

func (r *run) readServers() {
	var start []mcpskills.Server
	for _, c := range r.config.Servers {
		r.servers.list = append(r.servers.list, r.server(c))
	}
	for _, s := range r.pluginServers(context.Background()) {
		if slices.ContainsFunc(r.servers.list, func(have server) bool { return have.set.Name == s.set.Name }) {
			r.diags = append(r.diags, serverTaken(s))
			continue
		}
		r.servers.list = append(r.servers.list, s)
	}
	for _, s := range r.servers.list {
		c := s.set
		switch {
		case s.set.Off, s.plugin != "" && !s.may(): // those of plugins wait until somebody asks for them
		case !s.may():
			r.diags = append(r.diags, r.serverFinding(s, "mcp_server_unapproved", "%s proposes the MCP server %q, which nobody has approved: %s", c.From.File, c.Name, s.start.Place()))
		case s.trouble != "":
			r.diags = append(r.diags, r.serverFinding(s, "mcp_server_unavailable", "the MCP server %q cannot be used: %s", c.Name, s.trouble))
		default:
			start = append(start, s.start)
		}
	}
	if len(start) == 0 {
		return
	}
	o := mcpskills.Options{Servers: start, Workspace: r.cwd, Environ: r.proc.Environ, Version: build().Version, Report: r.serverReport, Now: r.proc.Now}
	if r.proc.StdinTerminal {
		o.Ask = r.elicit
	}
	host, err := mcpskills.NewHost(o)
	if err != nil { // each server was checked: two of one name cannot be
		r.diags = append(r.diags, skill.Finding("mcp_server_unavailable", "", "MCP servers: %v", err))
		return
	}
	r.servers.host = host
}

func (r *run) serverFinding(s server, code, format string, args ...any) skill.Diagnostic {
	d := skill.Finding(code, s.set.From.File, format, args...)
	d.Line = s.set.From.Line
	return d
}

// server is a server of the settings as it would be started.
func (r *run) server(c config.Server) server {
	s := server{set: c, project: c.From.Level == config.Project}
	s.start = mcpskills.Server{
		Name: c.Name, Command: c.Command, Args: c.Args, URL: c.URL, Timeout: time.Duration(c.Timeout), Roots: c.Roots,
		Env: map[string]string{}, Headers: map[string]string{},
	}
	if rest, ok := strings.CutPrefix(c.Command, "~/"); ok {
		s.start.Command = filepath.Join(r.dirs.Home, rest)
	}
	if s.project {
		s.start.Dir = filepath.Dir(filepath.Dir(c.From.File)) // the folder that holds .deft
	}
	for _, t := range c.Tiers {
		tier, _ := gate.ParseTier(t.Tier)
		s.start.Tiers = append(s.start.Tiers, mcpskills.TierRule{Pattern: t.Tool, Tier: tier})
	}
	// What is approved names the variables: their values change, and are secrets. No text
	// that is written out can begin with NUL.
	for name, v := range c.Env {
		s.start.Env[name] = v.Text
		if v.Env != "" {
			s.start.Env[name] = "\x00" + v.Env
		}
	}
	for header, name := range c.Headers {
		s.start.Headers[header] = "\x00" + name
	}
	s.digest = s.start.Digest()
	for _, values := range []map[string]string{s.start.Env, s.start.Headers} {
		for key, v := range values {
			if name, isName := strings.CutPrefix(v, "\x00"); isName {
				if values[key] = r.env(name); values[key] == "" {
					s.trouble = fmt.Sprintf("the variable %s is not set", name)
				}
			}
		}
	}
	if err := s.start.Check(); err != nil {
		s.trouble = err.Error()
	}
	if s.project {
		s.grants = r.approvals(s)
	}
	return s
}

// approvalSource is where an approval of a server counts: in this project alone.
func (r *run) approvalSource() string { return "mcp:" + r.projectRoot() }

// approvals are the ids of the standing approvals of exactly this server here. State that
// cannot be read approves nothing.
func (r *run) approvals(s server) []string {
	st, err := r.load(context.Background())
	if err != nil {
		return nil
	}
	var ids []string
	for _, g := range st.Grants {
		if g.Tree == s.digest && g.Name == s.set.Name && g.Source == r.approvalSource() {
			ids = append(ids, g.ID)
		}
	}
	return ids
}

// serverReport keeps what happens to a server until it can be told: it comes at any time,
// and nothing may break a line of an answer. A verb that logs logs it.
func (r *run) serverReport(d skill.Diagnostic) {
	if r.logs != nil {
		slog.New(r.logs).Warn(d.Message, "category", "servers", "event", d.Code)
		return
	}
	r.servers.mu.Lock()
	defer r.servers.mu.Unlock()
	r.servers.found = append(r.servers.found, d)
}

// tellServers tells what happened to servers since it was called last.
func (r *run) tellServers() {
	r.servers.mu.Lock()
	found := r.servers.found
	r.servers.found = nil
	r.servers.mu.Unlock()
	r.report(found)
}

// closeServers ends what was started.
func (r *run) closeServers() error {
	if r.servers.host == nil {
		return nil
	}
	err := r.servers.host.Close()
	r.tellServers()
	return err
}

// serverChecks name the servers of the settings. None is started for that.
func (r *run) serverChecks() []check {
	r.providers()
	var list []check
	for _, s := range r.servers.list {
		state := "doctor.server"
		switch {
		case s.set.Off:
			state = "doctor.server_off"
		case !s.may():
			state = "doctor.server_waits"
		}
		list = append(list, check{
			ID: "mcp_server", Level: skill.LevelInfo, File: s.set.From.File, Line: s.set.From.Line,
			Message: r.words.Say(state, s.set.Name, safetext.Line(s.start.Place())),
		})
	}
	return list
}

// elicit puts a question of a server to the person at the terminal. It implements
// mcpskills.Asker.
func (r *run) elicit(ctx context.Context, q mcpskills.Question) (map[string]any, bool, error) {
	r.asking.Lock()
	defer r.asking.Unlock()
	p := r.person()
	if p == nil || ctx.Err() != nil {
		return nil, false, errNobody
	}
	p.Printf("\n%s\n", r.words.Say("mcp.asks", q.Server))
	prefixed(p, "│ ", "", q.Message)
	p.Printf("%s ", r.words.Say("mcp.asks_answer", q.Server))
	t := terminal{r}
	if word, err := t.line(ctx); err != nil || word != "y" && word != "yes" {
		return nil, false, err
	}
	values := map[string]any{}
	for _, f := range q.Fields {
		v, given, err := t.field(ctx, p, f)
		if err != nil {
			return nil, false, err
		}
		if given {
			values[f.Name] = v
		}
	}
	return values, true, nil
}

// field reads one value until it is of the kind that is asked for; an empty line leaves
// out what need not be given.
func (t terminal) field(ctx context.Context, p *safetext.Printer, f mcpskills.Field) (any, bool, error) {
	hint := f.Type
	if len(f.Choices) > 0 {
		hint = strings.Join(f.Choices, ", ")
	}
	for {
		p.Printf("%s (%s) %s: ", f.Title, hint, f.About)
		line, err := t.line(ctx)
		if err != nil {
			return nil, false, err
		}
		if line == "" && !f.Required {
			return nil, false, nil
		}
		if v, ok := valueOf(f, line); ok {
			return v, true, nil
		}
	}
}

// valueOf reads a line as a value of a field.
func valueOf(f mcpskills.Field, line string) (any, bool) {
	switch f.Type {
	case "integer":
		n, err := strconv.ParseInt(line, 10, 64)
		return n, err == nil
	case "number":
		n, err := strconv.ParseFloat(line, 64)
		return n, err == nil && n-n == 0
	case "boolean":
		yes := line == "y" || line == "yes" || line == "true"
		return yes, yes || line == "n" || line == "no" || line == "false"
	}
	return line, len(f.Choices) == 0 || slices.Contains(f.Choices, line)
}
