package command

import (
	"fmt"
	"reflect"
	"slices"
	"testing"
	"time"

	"go.yaml.in/yaml/v3"

	"github.com/deftskills/deft/skill"
)

// shellFields are the values of the shell field with what they say.
var shellFields = []struct {
	yaml string
	want Decl
	code string
}{
	{"", Decl{Enabled: true}, ""},
	{"null", Decl{Enabled: true}, ""},
	{"true", Decl{Enabled: true}, ""},
	{"yes", Decl{Enabled: true}, ""},
	{"'on'", Decl{Enabled: true}, ""},
	{"1", Decl{Enabled: true}, ""},
	{"'true'", Decl{Enabled: true}, ""},
	{"TRUE", Decl{Enabled: true}, ""},
	{"false", Decl{}, ""},
	{"'no'", Decl{}, ""},
	{"off", Decl{}, ""},
	{"'0'", Decl{}, ""},
	{"0", Decl{}, ""},
	{"all", Decl{Enabled: true, List: List{All: true}}, ""},
	{"bash", Decl{Enabled: true, Program: "bash"}, ""},
	{"pwsh", Decl{Enabled: true, Program: "pwsh"}, ""},
	{"git status", Decl{Enabled: true, List: Prefixes("git status")}, ""},
	{"[git status, pnpm test]", Decl{Enabled: true, List: Prefixes("git status", "pnpm test")}, ""},
	{"[]", Decl{List: List{Limited: true}}, ""},
	{"['  ']", Decl{List: List{Limited: true}}, ""},
	{"{enabled: false, allowlist: [git status]}", Decl{List: Prefixes("git status")}, ""},
	{"{allowlist: all}", Decl{Enabled: true, List: List{All: true}}, ""},
	{"{allowlist: []}", Decl{List: List{Limited: true}}, ""},
	{"{enabled: true, allowlist: [git log], program: bash, on_error: abort, timeout: 5, parallel: true}", Decl{
		Enabled: true, List: Prefixes("git log"), Program: "bash", OnError: Abort, Timeout: 5 * time.Second, Parallel: true,
	}, ""},
	{"{timeout: 2s}", Decl{Enabled: true, Timeout: 2 * time.Second}, ""},
	{"{colour: red}", Decl{Enabled: true}, "shell_key"},
	{"{timeout: 60}", Decl{}, "shell_type"},
	{"{timeout: .nan}", Decl{}, "shell_type"},
	{"{program: fish}", Decl{}, "shell_type"},
	{"{allowlist: git status}", Decl{}, "shell_type"},
	{"{on_error: ignore}", Decl{}, "shell_type"},
	{"[1, 2]", Decl{}, "shell_type"},
	{"[[a]]", Decl{}, "shell_type"},
	{"''", Decl{}, "shell_type"},
	{"42", Decl{}, "shell_type"},
	{"1.5", Decl{}, "shell_type"},
}

// decoded returns a value as a decoder of YAML gives it, and as a header's node.
func decoded(t *testing.T, text string) []any {
	t.Helper()
	if text == "" {
		return []any{nil, (*skill.Node)(nil)}
	}
	var v any
	if err := yaml.Unmarshal([]byte(text), &v); err != nil {
		t.Fatal(err)
	}
	s := skill.Parse([]byte("---\nname: x\ndescription: y\nshell: "+text+"\n---\n"), skill.ParseOptions{})
	return []any{v, s.Raw().Get("shell")}
}

func TestShellField(t *testing.T) {
	t.Parallel()
	for _, tt := range shellFields {
		for i, v := range decoded(t, tt.yaml) {
			got, diags := ParseShell(v, "")
			code := ""
			if len(diags) > 0 {
				code = diags[0].Code
			}
			if !reflect.DeepEqual(got, tt.want) || code != tt.code {
				t.Errorf("shell: %s (form %d): %+v %s, want %+v %s", tt.yaml, i, got, code, tt.want, tt.code)
			}
		}
	}
	if got, _ := ParseShell("sh", skill.ClaudeCode); got.Program != "" || !slices.Equal(got.List.Prefixes, []string{"sh"}) {
		t.Errorf("sh in claude-code: %+v", got)
	}
}

// probes are commands with which rules are compared.
var probes = []string{"git status", "git status --short", "git log", "git statusx", "git -C x status", "git status; id", "id", "pnpm test"}

// may is what a rule would run, said in another way than the code says it.
func may(l List, line string) bool {
	if !l.Limited {
		return true
	}
	for _, p := range l.Prefixes {
		if line == p || len(line) > len(p) && line[:len(p)+1] == p+" " && line != "git status; id" {
			return true
		}
	}
	return false
}

func TestNoDeclarationGivesMoreThanHostAndSourceDo(t *testing.T) {
	t.Parallel()
	hosts := []Policy{{Mode: Allow}, {Mode: Allow, List: List{All: true}}, {Mode: Allow, List: Prefixes("git")}, {Mode: Deny}, {}}
	var sources []Policy
	for _, kind := range []string{"managed", "user", "builtin", "project", "agent", "plugin", "package", "mcp", "data", "other"} {
		for _, trust := range []string{"trusted", "workspace", "remote", "untrusted", "pending", ""} {
			sources = append(sources, SourcePolicy(Origin{Kind: kind, Trust: trust}))
			for _, mode := range []Mode{"", Allow, Deny, Inherit} {
				sources = append(sources, SourcePolicy(Origin{Kind: kind, Trust: trust, Granted: true, Data: true, Mode: mode}))
				if s := SourcePolicy(Origin{Kind: kind, Trust: trust, Mode: mode}); Effective(Policy{Mode: Allow}, s, Decl{Enabled: true}).On && trust != "trusted" {
					t.Errorf("%s %s %s: runs without a grant", kind, trust, mode)
				}
			}
		}
	}
	sources = append(sources, Policy{Mode: Allow, List: Prefixes("git status", "pnpm")}, Policy{Mode: Inherit, Trusted: true, List: Prefixes("git log")})
	rows := 0
	for _, sh := range shellFields {
		d, _ := ParseShell(decoded(t, sh.yaml)[0], "")
		for _, h := range hosts {
			for _, s := range sources {
				rows++
				r := Effective(h, s, d)
				on := h.Mode == Allow && (s.Mode == Allow || s.Mode == Inherit && s.Trusted)
				if r.On && (!on || !d.Enabled) || !r.On && (on && d.Enabled || r.Why == "") {
					t.Fatalf("host %+v, source %+v, shell %s: on %v, why %q", h, s, sh.yaml, r.On, r.Why)
				}
				if !r.On {
					continue
				}
				for _, line := range probes {
					ran := !r.List.limits()
					if words, why := (&insertion{marked: line, prefix: "%deft"}).words(r.List); r.List.limits() {
						ran = why == "" && len(words) > 0
					}
					if want := may(h.List, line) && may(s.List, line) && (may(d.List, line) || d.List.All); ran != want {
						t.Fatalf("host %+v, source %+v, shell %s: %q runs: %v, want %v", h, s, sh.yaml, line, ran, want)
					}
				}
			}
		}
	}
	if rows < 200 {
		t.Errorf("only %d rows", rows)
	}
}

func TestAllFromASourceThatIsNotAllowedIsSaid(t *testing.T) {
	t.Parallel()
	all := Decl{Enabled: true, List: List{All: true}}
	r := Effective(Policy{Mode: Allow}, Policy{Mode: Inherit, Trusted: true}, all)
	if len(r.Diagnostics) != 1 || r.Diagnostics[0].Code != "shell_all_ignored" || r.List.All {
		t.Errorf("rule %+v", r)
	}
	if r := Effective(Policy{Mode: Allow}, Policy{Mode: Allow}, all); len(r.Diagnostics) > 0 || !r.List.All {
		t.Errorf("rule %+v", r)
	}
}

func TestListsIntersectByWords(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ a, b, want []string }{
		{[]string{"git"}, []string{"git status"}, []string{"git status"}},
		{[]string{"git status"}, []string{"git"}, []string{"git status"}},
		{[]string{"git status"}, []string{"git log"}, nil},
		{[]string{"git stat"}, []string{"git status"}, nil},
		{[]string{"git "}, []string{"'git' log"}, []string{"'git' log"}},
		{[]string{"git; id"}, []string{"git"}, nil},
		{nil, []string{"git"}, nil},
	} {
		if got := Prefixes(tt.a...).And(Prefixes(tt.b...)); !slices.Equal(got.Prefixes, tt.want) || !got.Limited {
			t.Errorf("%q and %q: %+v, want %q", tt.a, tt.b, got, tt.want)
		}
	}
}

func TestListModeIsOneSimpleCommandOfFixedWords(t *testing.T) {
	t.Parallel()
	l := Prefixes("git status", "echo")
	for line, want := range map[string]string{
		"git status": "git status", "git status --short": "git status --short", "  git   status ": "git status",
		`git "status" 'a b'`: "git status a b", `echo \;`: "echo ;",
		"git statusx": "", "git -C x status": "", "git status; id": "", "git status & id": "", "git status &": "", "git status && id": "",
		"git status | id": "", "! git status": "", "git status > f": "", "git status $X": "", "git status ${X}": "", "git status *": "",
		"git status `id`": "", "git status $(id)": "", "X=1 git status": "", "git status # x": "", "git status\nid": "", "(git status)": "",
		"{ git status; }": "", "git status ~": "", "git status <(id)": "", "git status;": "", "": "", "git status {a,b}": "", "if git status; then id; fi": "",
	} {
		words, why := (&insertion{marked: line, prefix: "%deft"}).words(l)
		if got := joined(words); got != want || (why == "") != (want != "") {
			t.Errorf("%q: words %q (%s), want %q", line, got, why, want)
		}
	}
}

func joined(words []string) string {
	out := ""
	for i, w := range words {
		if i > 0 {
			out += " "
		}
		out += w
	}
	return out
}

func TestSourcePolicyByKindAndTrust(t *testing.T) {
	t.Parallel()
	got := ""
	for _, k := range []string{"user", "project", "data", "mcp"} {
		for _, trust := range []string{"trusted", "workspace", "untrusted"} {
			r := Effective(Policy{Mode: Allow}, SourcePolicy(Origin{Kind: k, Trust: trust}), Decl{Enabled: true})
			got += fmt.Sprintf("%s %s: %v %s\n", k, trust, r.On, r.Why)
		}
	}
	want := `user trusted: true 
user workspace: false untrusted skill
user untrusted: false untrusted skill
project trusted: true 
project workspace: false untrusted skill
project untrusted: false untrusted skill
data trusted: false data skill
data workspace: false data skill
data untrusted: false untrusted skill
mcp trusted: false source policy
mcp workspace: false source policy
mcp untrusted: false untrusted skill
`
	if got != want {
		t.Errorf("policies:\n%s", got)
	}
}
