package mcpskills

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"pgregory.net/rapid"

	"github.com/deftskills/deft/gate"
)

func TestATierIsThePersonsAndHintsOnlyRaiseIt(t *testing.T) {
	t.Parallel()
	yes, no := true, false
	s := Server{Tiers: []TierRule{{"get_*", gate.ReadOnly}, {"get_secret", gate.ManualOnly}, {"put", gate.ConfirmOnce}}}
	harmless := &mcp.ToolAnnotations{ReadOnlyHint: true}
	for _, c := range []struct {
		name  string
		hints *mcp.ToolAnnotations
		want  gate.Tier
	}{
		{"other", nil, gate.AlwaysConfirm},
		{"other", &mcp.ToolAnnotations{ReadOnlyHint: true, DestructiveHint: &no, OpenWorldHint: &no}, gate.AlwaysConfirm},
		{"get_it", harmless, gate.ReadOnly},
		{"get_it", nil, gate.AlwaysConfirm},
		{"get_it", &mcp.ToolAnnotations{DestructiveHint: &no}, gate.ReadOnly},
		{"get_it", &mcp.ToolAnnotations{ReadOnlyHint: true, OpenWorldHint: &yes}, gate.ConfirmOnce},
		{"get_it", &mcp.ToolAnnotations{ReadOnlyHint: true, DestructiveHint: &yes}, gate.AlwaysConfirm},
		{"get_secret", harmless, gate.ManualOnly},
		{"put", &mcp.ToolAnnotations{DestructiveHint: &no}, gate.ConfirmOnce},
		{"put", &mcp.ToolAnnotations{DestructiveHint: &yes}, gate.AlwaysConfirm},
	} {
		if got := s.tierOf(&mcp.Tool{Name: c.name, Annotations: c.hints}); got != c.want {
			t.Errorf("%s %+v: %s, want %s", c.name, c.hints, got, c.want)
		}
	}
}

func TestNamesAreFitAndTellToolsApart(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		tools := rapid.SliceOfN(rapid.OneOf(rapid.StringMatching(`[a-c./ ]{1,3}`), rapid.StringMatching(`[ab]{50,80}`), rapid.String()), 1, 12).Draw(t, "tools")
		server := rapid.StringMatching(`[a-z0-9][a-z0-9-]{0,63}`).Draw(t, "server")
		got := names(server, tools)
		by, left := map[string]string{}, map[string]bool{}
		for i, name := range got {
			if name == "" {
				if tools[i] != "" && !left[tools[i]] && !contains(got[:i], tools[:i], tools[i]) {
					t.Fatalf("%q is left out", tools[i])
				}
				continue
			}
			if len(name) > 64 || strings.Trim(name, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-") != "" {
				t.Fatalf("%q of %q", name, tools[i])
			}
			if other, taken := by[name]; taken {
				t.Fatalf("%q and %q are %q", other, tools[i], name)
			}
			by[name] = tools[i]
		}
	})
	if got := names("s", []string{"a.b", "a/b", "ab"}); got[0] != "mcp__s__a_b_"+got[0][12:] || got[0] == got[1] || got[2] != "mcp__s__ab" {
		t.Errorf("got %q", got)
	}
}

// contains reports whether a tool of that name has one.
func contains(given, tools []string, name string) bool {
	for i := range tools {
		if tools[i] == name && given[i] != "" {
			return true
		}
	}
	return false
}

func TestWhatIsApprovedIsTheExactServer(t *testing.T) {
	t.Parallel()
	base := Server{Name: "a", Command: "x", Args: []string{"1", "2"}, Env: map[string]string{"K": "v"}}
	same := base
	same.Tiers, same.Timeout = []TierRule{{"*", gate.ReadOnly}}, 5
	if same.Digest() != base.Digest() {
		t.Error("the person's own words change it")
	}
	for name, change := range map[string]func(*Server){
		"name": func(s *Server) { s.Name = "b" }, "command": func(s *Server) { s.Command = "y" },
		"argument": func(s *Server) { s.Args = []string{"1 2"} }, "env": func(s *Server) { s.Env = map[string]string{"K": "w"} },
		"dir": func(s *Server) { s.Dir = "/x" }, "url": func(s *Server) { s.URL = "https://x" }, "roots": func(s *Server) { s.Roots = true },
		"header": func(s *Server) { s.Headers = map[string]string{"A": "b"} },
	} {
		other := base
		change(&other)
		if other.Digest() == base.Digest() {
			t.Errorf("another %s is the same server", name)
		}
	}
}

func TestAServerThatMakesNoSenseIsRefused(t *testing.T) {
	t.Parallel()
	for _, s := range []Server{
		{Name: "A", Command: "x"}, {Name: "", Command: "x"}, {Name: "a"}, {Name: "a", Command: "x", URL: "https://x"},
		{Name: "a", Command: "x\x00"}, {Name: "a", URL: "ftp://x"}, {Name: "a", URL: "https://u:p@x"},
		{Name: "a", URL: "http://example.com", Headers: map[string]string{"A": "b"}},
	} {
		if _, err := NewHost(Options{Servers: []Server{s}}); err == nil {
			t.Errorf("%+v is taken", s)
		}
	}
	for _, s := range []Server{{Name: "a-1", URL: "http://127.0.0.1:1", Headers: map[string]string{"A": "b"}}, {Name: "0", URL: "http://example.com"}} {
		if _, err := NewHost(Options{Servers: []Server{s}}); err != nil {
			t.Error(err)
		}
	}
	twice := Server{Name: "a", Command: "x"}
	if _, err := NewHost(Options{Servers: []Server{twice, twice}}); err == nil {
		t.Error("two of one name are taken")
	}
}

func FuzzSchema(f *testing.F) {
	f.Add(`{"type":"object","properties":{"x":{"$ref":"#/$defs/y"}},"$defs":{"y":{"type":"string"}}}`)
	f.Add(`{"$ref":"#"}`)
	f.Fuzz(func(t *testing.T, src string) {
		var doc any
		if json.Unmarshal([]byte(src), &doc) != nil {
			return
		}
		shown, accepts, err := schemas(doc)
		if err != nil {
			return
		}
		if _, err := gate.NewTable(gate.Tool{Name: "t", Schema: accepts}); err != nil {
			t.Fatalf("%s: %v", shown, err)
		}
	})
}
