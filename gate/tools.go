package gate

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/google/jsonschema-go/jsonschema"

	"github.com/deftskills/deft/internal/toolrule"
)

// Tool is what the gate knows of one registered tool.
type Tool struct {
	Name   string
	Set    string          // the toolset that grants may name in place of the tool; "" = none
	Tier   Tier            // zero counts as ManualOnly
	Schema json.RawMessage // JSON Schema of the arguments; empty = any object
	Paths  []PathArg       // arguments that name files; nil = FileArgs(Name)
	Steers bool            // it steers skills: no skill's list takes it away, the host's may

	// Shell is the top-level argument that holds a shell command, "command" for a tool
	// that rules call Bash, "" = none. Such a command raises the tier to what it does: a
	// tool that declares ReadOnly runs what is proved to only read unasked. Where the tool
	// has an argument "dir", the command starts there, below the call's Dir.
	Shell string

	// Mark tells this tool from another of the same name, such as the digest of what a
	// server says of it: an answer that was remembered for one mark is none for another.
	Mark string

	// Commands are the shell commands that a call counts as, each as its words, for rules
	// that ask or deny: one match of any is enough. They allow nothing. nil = none. It must
	// be pure and safe for concurrent use.
	Commands func(Call) [][]string

	// Raise looks at one call and returns its tier and why. A tier below Tier
	// counts for nothing; nil = never. It must be pure and safe for concurrent use.
	Raise func(Call) (Tier, string)
}

// Table holds the registered tools. It is safe for concurrent use. A call that is being
// judged while the table changes is judged by the tools of before or of after.
type Table struct{ now atomic.Pointer[registered] }

// registered is what a table holds at one moment; it never changes.
type registered struct {
	tools   map[string]Tool
	schemas map[string]*jsonschema.Resolved
	names   []string
}

// Become makes t hold what other holds, for tools that come and go while the gate stands.
func (t *Table) Become(other *Table) { t.now.Store(other.now.Load()) }

// NewTable compiles the tools' schemas. It fails for an empty or repeated name and
// for a schema that cannot be used: a tool whose arguments cannot be checked must
// not be callable.
func NewTable(tools ...Tool) (*Table, error) { return new(Schemas).NewTable(tools...) }

// Schemas keeps compiled schemas, so that the tables of many sessions with the same tools
// share them. The zero value is ready to use; safe for concurrent use.
type Schemas struct {
	mu    sync.Mutex
	known map[string]*jsonschema.Resolved // by their text
}

// maxSchemas bounds how many are kept: more tools than any host has.
const maxSchemas = 1000

// compile returns a compiled schema, that of before for a text that it has seen.
func (s *Schemas) compile(src json.RawMessage) (*jsonschema.Resolved, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if r := s.known[string(src)]; r != nil {
		return r, nil
	}
	r, err := compileSchema(src)
	if err != nil || len(s.known) >= maxSchemas {
		return r, err
	}
	if s.known == nil {
		s.known = map[string]*jsonschema.Resolved{}
	}
	s.known[string(src)] = r
	return r, nil
}

// NewTable is NewTable with the schemas that are known.
func (s *Schemas) NewTable(tools ...Tool) (*Table, error) {
	t := &registered{tools: map[string]Tool{}, schemas: map[string]*jsonschema.Resolved{}}
	for _, tool := range tools {
		if tool.Name == "" {
			return nil, fmt.Errorf("tool table: a tool without a name")
		}
		if _, twice := t.tools[tool.Name]; twice {
			return nil, fmt.Errorf("tool table: two tools named %q", tool.Name)
		}
		tool.Tier = tool.Tier.known()
		if tool.Paths == nil {
			tool.Paths = FileArgs(tool.Name)
		}
		if tool.Shell == "" && toolrule.Canonical(tool.Name) == "bash" {
			tool.Shell = "command"
		}
		t.tools[tool.Name] = tool
		if len(tool.Schema) == 0 {
			continue
		}
		resolved, err := s.compile(tool.Schema)
		if err != nil {
			return nil, fmt.Errorf("tool %q: input schema: %w", tool.Name, err)
		}
		t.schemas[tool.Name] = resolved
	}
	t.names = slices.Sorted(maps.Keys(t.tools))
	table := &Table{}
	table.now.Store(t)
	return table, nil
}

// Tool returns the registered tool of that name.
func (t *Table) Tool(name string) (Tool, bool) {
	tool, ok := t.now.Load().tools[name]
	return tool, ok
}

// Names returns every registered name, sorted.
func (t *Table) Names() []string { return slices.Clone(t.now.Load().names) }

func compileSchema(src json.RawMessage) (*jsonschema.Resolved, error) {
	var s jsonschema.Schema
	if err := json.Unmarshal(src, &s); err != nil {
		return nil, err
	}
	return s.Resolve(nil)
}

// closeNames returns at most three names of visible that resemble name, best first.
func closeNames(name string, visible []string) []string {
	type scored struct {
		name string
		d    int
	}
	bound := max(2, len(name)/3)
	var near []scored
	for _, v := range visible {
		if len(v) > 256 || len(name) > 256 {
			continue
		}
		if d := editDistance(name, v); d <= bound {
			near = append(near, scored{v, d})
		}
	}
	slices.SortFunc(near, func(a, b scored) int {
		if a.d != b.d {
			return a.d - b.d
		}
		if a.name < b.name {
			return -1
		}
		return 1
	})
	out := make([]string, 0, 3)
	for _, n := range near[:min(3, len(near))] {
		out = append(out, n.name)
	}
	return out
}

func editDistance(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			cost := diagonal
			if a[i] != b[j] {
				cost++
			}
			diagonal = row[j+1]
			row[j+1] = min(cost, row[j]+1, row[j+1]+1)
		}
	}
	return row[len(b)]
}
