package config

import (
	"io"
	"io/fs"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// read lays a user's and a project's text over the defaults.
func readServers(user, project string, trusted bool) (*Config, []string) {
	files := map[string]string{"/home/config.yaml": user, "/repo/.deft/config.yaml": project}
	c, diags := Load(Input{
		Open: func(path string) (io.ReadCloser, error) {
			if files[path] == "" {
				return nil, fs.ErrNotExist
			}
			return io.NopCloser(strings.NewReader(files[path])), nil
		},
		UserFile: "/home/config.yaml", ProjectFile: "/repo/.deft/config.yaml", ProjectRoot: "/repo", ProjectTrusted: trusted,
	})
	var codes []string
	for _, d := range diags {
		codes = append(codes, d.Code)
	}
	return c, codes
}

func TestServersOfToolsAreRead(t *testing.T) {
	t.Parallel()
	c, codes := readServers(`mcp:
  servers:
    a: {command: prog, args: [x, "1"], env: {K: v, L: {env: M}}, timeout: 2m, roots: true, tiers: {"get_*": read_only, put: CONFIRM_ONCE}}
    b: {url: "https://example.com/mcp", headers_env: {Authorization: AUTH}, tools: false}
`, "", true)
	want := []Server{
		{
			Name: "a", Command: "prog", Args: []string{"x", "1"}, Env: map[string]EnvValue{"K": {Text: "v"}, "L": {Env: "M"}}, Timeout: Duration(2 * time.Minute),
			Roots: true, Tiers: []ToolTier{{"get_*", "READ_ONLY"}, {"put", "CONFIRM_ONCE"}}, From: From{User, "/home/config.yaml", 3},
		},
		{Name: "b", URL: "https://example.com/mcp", Headers: map[string]string{"Authorization": "AUTH"}, Off: true, From: From{User, "/home/config.yaml", 4}},
	}
	if diff := cmp.Diff(want, c.Servers); diff != "" || len(codes) > 0 {
		t.Errorf("%v %s", codes, diff)
	}
}

func TestAServerThatMakesNoSenseIsSkipped(t *testing.T) {
	t.Parallel()
	c, codes := readServers(`mcp:
  servers:
    Upper: {command: x}
    both: {command: x, url: "https://x"}
    neither: {args: [x]}
    near: {command: ./run.sh}
    badtier: {command: x, tiers: {"[": READ_ONLY, a: SOMETIMES}}
    text: hello
    good: {command: x}
`, "", true)
	var names []string
	for _, s := range c.Servers {
		names = append(names, s.Name)
	}
	if got := strings.Join(names, " "); got != "badtier good" || len(c.Servers[0].Tiers) != 0 {
		t.Errorf("servers %s, %+v", got, c.Servers)
	}
	if len(codes) != 9 || slices.ContainsFunc(codes, func(c string) bool { return c != "config_value" }) {
		t.Errorf("%d findings %v", len(codes), codes)
	}
}

func TestAProjectOnlyProposesServers(t *testing.T) {
	t.Parallel()
	const user = "mcp: {servers: {mine: {command: x}}}\n"
	const project = "mcp: {servers: {mine: {command: evil}, theirs: {command: ./bin/y, tiers: {a: READ_ONLY}, roots: true}}}\n"
	c, codes := readServers(user, project, true)
	if len(c.Servers) != 2 || c.Servers[0].Command != "x" || c.Servers[1].From.Level != Project || c.Servers[1].Roots || c.Servers[1].Tiers != nil {
		t.Errorf("servers %+v", c.Servers)
	}
	if got := strings.Join(codes, " "); got != "config_unknown config_unknown" {
		t.Errorf("findings %s", got)
	}
	if c, _ := readServers(user, project, false); len(c.Servers) != 1 {
		t.Errorf("a folder that nobody trusts: %+v", c.Servers)
	}
}
