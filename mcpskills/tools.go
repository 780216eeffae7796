package mcpskills

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/deftskills/deft/gate"
	"github.com/deftskills/deft/internal/safetext"
	"github.com/deftskills/deft/toolset"
)

// The codes of findings about servers.
const (
	codeUnavailable = "mcp_server_unavailable"
	codeRefused     = "mcp_tool_schema_refused"
	codeDouble      = "mcp_tool_duplicate"
	codeChanged     = "mcp_tool_changed"
	codeCut         = "mcp_tools_cut"
)

const (
	longestName  = 64   // what providers of models take
	longestAbout = 4096 // characters of a description
)

// tool is one tool of a server. It implements toolset.Tool.
type tool struct {
	p       *provider
	name    string // at the server
	spec    toolset.Spec
	accepts json.RawMessage
}

// Spec implements toolset.Tool.
func (t *tool) Spec() toolset.Spec { return t.spec }

// Accepts is what the gate holds arguments against; see agent.Accepter.
func (t *tool) Accepts() json.RawMessage { return t.accepts }

// mapped is the name of a tool for a model before it is cut: of letters that every
// provider takes.
func mapped(server, name string) string {
	return "mcp__" + server + "__" + strings.Map(func(r rune) rune {
		if r == '-' || r == '_' || r >= '0' && r <= '9' || r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' {
			return r
		}
		return '_'
	}, name)
}

// hashed is a name that is cut, and told from others by a hash of the whole one.
func hashed(name, whole string) string {
	sum := sha256.Sum256([]byte(whole))
	mark := "_" + hex.EncodeToString(sum[:4])
	return name[:min(len(name), longestName-len(mark))] + mark
}

// names gives the tools of one server their names for a model: "" for the second of two
// that cannot be told apart.
func names(server string, tools []string) []string {
	count := map[string]int{}
	seen := map[string]bool{}
	for _, name := range tools {
		if !seen[name] {
			seen[name] = true
			count[mapped(server, name)]++
		}
	}
	out, taken := make([]string, len(tools)), map[string]bool{}
	for i, name := range tools {
		short := mapped(server, name)
		if len(short) > longestName || count[short] > 1 {
			short = hashed(short, "mcp__"+server+"__"+name)
		}
		if name != "" && !taken[short] {
			out[i] = short
			taken[short] = true
		}
	}
	return out
}

// take makes tools of a list. The caller holds mu.
func (p *provider) take(list []*mcp.Tool) {
	list = slices.DeleteFunc(list, func(t *mcp.Tool) bool { return t == nil })
	plain := make([]string, len(list))
	for i, t := range list {
		plain[i] = t.Name
	}
	p.tools = nil
	for i, name := range names(p.s.Name, plain) {
		shown, _ := safetext.Field(plain[i])
		shown = safetext.Clip(shown, 100)
		if name == "" {
			p.once(codeDouble, shown, "of two tools named %q of the MCP server %q one is left out", shown, p.s.Name)
			continue
		}
		t, err := p.tool(list[i], name)
		if err != nil {
			p.once(codeRefused, shown, "the tool %q of the MCP server %q is left out: %s", shown, p.s.Name, err)
			continue
		}
		if was, listed := p.marks[name]; listed && was != t.spec.Mark {
			p.h.report(codeChanged, p.s.Name, "the tool %q of the MCP server %q is not what it was: what was answered about it before does not count any more", shown, p.s.Name)
		}
		p.marks[name] = t.spec.Mark
		p.tools = append(p.tools, t)
	}
	slices.SortFunc(p.tools, func(a, b *tool) int { return strings.Compare(a.spec.Name, b.spec.Name) })
}

// once reports a finding about a tool the first time. The caller holds mu.
func (p *provider) once(code, name, format string, args ...any) {
	if key := code + " " + name; !p.told[key] {
		p.told[key] = true
		p.h.report(code, p.s.Name, format, args...)
	}
}

// tool makes one tool. The error says why it is left out.
func (p *provider) tool(t *mcp.Tool, name string) (*tool, error) {
	shown, accepts, err := schemas(t.InputSchema)
	if err != nil {
		return nil, err
	}
	out := &tool{p: p, name: t.Name, accepts: accepts}
	out.spec = toolset.Spec{
		Name: name, Description: about(p.s.Name, t), Toolset: "mcp__" + p.s.Name, Input: shown,
		Tier: p.s.tierOf(t), Mode: toolset.Parallel, Source: "mcp", Trust: "untrusted",
	}
	out.spec.ReadOnly = out.spec.Tier == gate.ReadOnly
	// What the server says, not what is made of it: a hidden character is a change too.
	said, err := json.Marshal([]any{t.Name, t.Title, t.Description, t.InputSchema, t.Annotations})
	if err != nil {
		return nil, err
	}
	sum := sha256.Sum256(said)
	out.spec.Mark = "sha256:" + hex.EncodeToString(sum[:])
	return out, nil
}

// about is the description of a tool: cleaned line by line, with where it comes from.
func about(server string, t *mcp.Tool) string {
	text := t.Description
	if text == "" {
		text = t.Title
	}
	return strings.TrimSpace(prose(text) + fmt.Sprintf("\n(Tool of the MCP server %q.)", server))
}

// prose cleans a text of several lines for a model.
func prose(text string) string {
	const enough = 16 * longestAbout // bytes: more than the characters that are kept
	text = strings.ToValidUTF8(text[:min(len(text), enough)], "")
	var lines []string
	for line := range strings.Lines(text) {
		clean, _ := safetext.Field(line)
		if clean != "" || len(lines) > 0 && lines[len(lines)-1] != "" {
			lines = append(lines, clean)
		}
	}
	return safetext.Clip(strings.TrimSpace(strings.Join(lines, "\n")), longestAbout)
}

// tierOf is the tier of a tool: what the person says of it, else ALWAYS_CONFIRM. What the
// server says of it only raises that: "read-only" is a stranger's word.
func (s Server) tierOf(t *mcp.Tool) gate.Tier {
	tier, ok := s.tier(t.Name)
	if !ok {
		return gate.AlwaysConfirm
	}
	hints := t.Annotations
	if hints == nil {
		hints = &mcp.ToolAnnotations{}
	}
	destroys := hints.DestructiveHint != nil && *hints.DestructiveHint || hints.DestructiveHint == nil && !hints.ReadOnlyHint
	if destroys {
		return max(tier, gate.AlwaysConfirm)
	}
	if hints.OpenWorldHint != nil && *hints.OpenWorldHint {
		return max(tier, gate.ConfirmOnce)
	}
	return tier
}
