package registry_test

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path"
	"slices"
	"strings"
	"testing"

	"github.com/deftskills/deft/registry"
	"github.com/deftskills/deft/skill"
	"github.com/deftskills/deft/source"
)

// copyOf is one skill of a table: where it lies and what its source is.
type copyOf struct {
	id       string // of the source; "" = the kind
	kind     source.Kind
	name     string // "" = x
	dir      string // folder below the source; "" = the name
	meta     string // a line of the header
	priority float64
	near     int
	root     string // path of the source; "" = /ID
	file     string // "" = SKILL.md
	real     string // real directory; "" = the directory
	plugin   string
	legacy   bool
}

// shelf is a source of the entries of a table.
type shelf struct {
	info    source.Info
	entries []*source.Entry
}

func (s *shelf) Info() source.Info { return s.info }
func (s *shelf) Scan(context.Context, *source.Listing) (*source.Listing, error) {
	return &source.Listing{Entries: s.entries, Complete: true}, nil
}
func (s *shelf) Open(context.Context, *source.Entry, string) (fs.File, error) {
	return nil, fs.ErrNotExist
}

// shelves makes one source for each id, in the order of the table.
func shelves(d skill.Dialect, copies []copyOf) []source.Source {
	var out []source.Source
	at := map[string]*shelf{}
	for _, c := range copies {
		id, name := cmp.Or(c.id, string(c.kind)), cmp.Or(c.name, "x")
		root := cmp.Or(c.root, "/"+id)
		s := at[id]
		if s == nil {
			s = &shelf{info: source.Info{
				ID: id, Kind: c.kind, Path: root, Priority: c.priority, Nearness: c.near, Trust: source.Trusted,
				Namespace: c.plugin, Legacy: c.legacy,
			}}
			at[id] = s
			out = append(out, s)
		}
		dir, file := path.Join(root, cmp.Or(c.dir, name)), cmp.Or(c.file, source.SkillFile)
		text := "---\nname: " + name + "\ndescription: From " + dir + "\n" + c.meta + "\n---\n# T\n\nDo.\n"
		s.entries = append(s.entries, &source.Entry{
			Skill:  skill.Parse([]byte(text), skill.ParseOptions{Dialect: d, Path: dir + "/" + file, DirName: path.Base(dir)}),
			Source: s.info, From: s, Location: "file://" + dir + "/" + file, Dir: dir, RealDir: cmp.Or(c.real, dir), File: file,
		})
	}
	for _, s := range at {
		slices.SortFunc(s.entries, func(a, b *source.Entry) int { return strings.Compare(a.Location, b.Location) })
	}
	return out
}

func judged(t *testing.T, d skill.Dialect, copies []copyOf, change ...func(*registry.Config)) *registry.Snapshot {
	t.Helper()
	c := registry.Config{Sources: shelves(d, copies), Dialect: d, Workspace: "/ws"}
	for _, f := range change {
		f(&c)
	}
	return snapshot(t, c)
}

// verdicts lists every record as "directory state address", in the order of locations.
func verdicts(s *registry.Snapshot) []string {
	var out []string
	for _, r := range s.All {
		out = append(out, r.Dir+" "+string(r.State)+" "+r.Address)
	}
	return out
}

func codesOfSnapshot(s *registry.Snapshot) []string {
	var out []string
	for _, d := range s.Diagnostics {
		out = append(out, d.Code)
	}
	return out
}

// precedence is a table test of one dialect: what each pair comes to.
type precedence struct {
	name   string
	copies []copyOf
	want   []string // verdicts
	codes  []string // of diagnostics
}

func check(t *testing.T, d skill.Dialect, rows []precedence) {
	t.Helper()
	for _, row := range rows {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			s := judged(t, d, row.copies)
			if got := verdicts(s); !slices.Equal(got, row.want) {
				t.Errorf("verdicts\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(row.want, "\n"))
			}
			if got := codesOfSnapshot(s); !slices.Equal(got, row.codes) {
				t.Errorf("codes %v, want %v", got, row.codes)
			}
			slices.Reverse(row.copies)
			if back := verdicts(judged(t, d, row.copies)); d != skill.Blade && !slices.Equal(back, row.want) {
				t.Errorf("the order of sources decides: %v", back)
			}
		})
	}
}

// chain wants each kind to win over the next, an equal copy of one level apart.
func chain(t *testing.T, d skill.Dialect, kinds ...source.Kind) {
	t.Helper()
	for i := range kinds[:len(kinds)-1] {
		s := judged(t, d, []copyOf{{kind: kinds[i+1], priority: 0}, {kind: kinds[i]}})
		for _, r := range s.All {
			if won := r.State == registry.Available; won != (r.Source.Kind == kinds[i]) {
				t.Errorf("%s against %s: the %s copy is %s", kinds[i], kinds[i+1], r.Source.Kind, r.State)
			}
		}
	}
}

func TestPolicyOfDeft(t *testing.T) {
	t.Parallel()
	chain(t, skill.Deft, source.Kinds()...)
	check(t, skill.Deft, []precedence{
		{
			"nearness before priority",
			[]copyOf{{id: "near", kind: source.Project, priority: 1}, {id: "far", kind: source.Project, near: 1, priority: 9}},
			[]string{"/far/x shadowed x@far", "/near/x available x"}, []string{"copies_differ"},
		},
		{
			"priority, then location",
			[]copyOf{{id: "b", kind: source.User, priority: 1}, {id: "a", kind: source.User}, {id: "c", kind: source.User, priority: 1}},
			[]string{"/a/x shadowed x@a", "/b/x available x", "/c/x shadowed x@c"}, []string{"copies_differ", "copies_differ"},
		},
		{
			"names compare folded",
			[]copyOf{{id: "a", kind: source.Project, name: "X"}, {id: "b", kind: source.User}},
			[]string{"/a/X available X", "/b/x shadowed x@b"}, []string{"copies_differ"},
		},
	})
}

func TestPolicyOfAgentSkills(t *testing.T) {
	t.Parallel()
	chain(t, skill.AgentSkills, source.Project, source.User)
	check(t, skill.AgentSkills, []precedence{
		{
			"a warning on each collision",
			[]copyOf{{id: "b", kind: source.User}, {id: "a", kind: source.User}},
			[]string{"/a/x available x", "/b/x shadowed x@b"}, []string{"copies_differ"},
		},
		{
			"case makes two names",
			[]copyOf{{id: "a", kind: source.User, name: "X"}, {id: "b", kind: source.User}},
			[]string{"/a/X available X", "/b/x available x"}, []string{"handle_collision"},
		},
	})
}

func TestPolicyOfMiniMax(t *testing.T) {
	t.Parallel()
	chain(t, skill.MiniMax, source.Project, source.WorkspaceK, source.Agent, source.User, source.Builtin)
	check(t, skill.MiniMax, []precedence{
		{
			"global and user are one rank, priority decides",
			[]copyOf{{kind: source.Global, priority: 1}, {kind: source.User, priority: 40}},
			[]string{"/global/x shadowed x@global", "/user/x available x"}, nil,
		},
		{
			"a tie goes to the smaller location",
			[]copyOf{{id: "b", kind: source.User}, {id: "a", kind: source.Global}},
			[]string{"/a/x available x", "/b/x shadowed x@b"}, nil,
		},
		{
			"case makes two names",
			[]copyOf{{id: "a", kind: source.User, name: "X"}, {id: "b", kind: source.User}},
			[]string{"/a/X available X", "/b/x available x"}, nil,
		},
		{
			"one file that two sources reach is two entries",
			[]copyOf{{id: "a", kind: source.WorkspaceK, priority: 60, real: "/r/x"}, {id: "b", kind: source.WorkspaceK, priority: 55, real: "/r/x"}},
			[]string{"/a/x available x", "/b/x shadowed x@b"}, nil,
		},
	})
}

func TestPolicyOfBlade(t *testing.T) {
	t.Parallel()
	chain(t, skill.Blade, source.Managed, source.DataDef, source.Project, source.User, source.PluginK, source.Builtin, source.MCP)
	check(t, skill.Blade, []precedence{
		{
			"a source's own weight goes before that of its kind",
			[]copyOf{{kind: source.Managed}, {kind: source.MCP, priority: 501}},
			[]string{"/managed/x shadowed x@managed", "/mcp/x available x"}, []string{"copies_differ"},
		},
		{
			"the last source wins",
			[]copyOf{{id: "b", kind: source.User}, {id: "a", kind: source.User}},
			[]string{"/a/x available x", "/b/x shadowed x@b"}, []string{"copies_differ"},
		},
		{
			"in one source the bytewise later directory wins",
			[]copyOf{{kind: source.User, dir: "a"}, {kind: source.User, dir: "b"}},
			[]string{"/user/a shadowed x@user", "/user/b available x"}, []string{"copies_differ"},
		},
		{
			"one real path counts once, at the higher source",
			[]copyOf{{id: "a", kind: source.User, real: "/r/x", priority: 20}, {id: "b", kind: source.User, real: "/r/x", priority: 10}},
			[]string{"/a/x available x"}, nil,
		},
		{
			"one real path counts once, at the later source",
			[]copyOf{{id: "a", kind: source.User, real: "/r/x"}, {id: "b", kind: source.User, real: "/r/x"}},
			[]string{"/b/x available x"}, nil,
		},
	})
}

func TestPolicyOfMastra(t *testing.T) {
	t.Parallel()
	check(t, skill.Mastra, []precedence{
		{
			"across types all are listed, the local one has the name",
			[]copyOf{{id: "ext", kind: source.Package}, {id: "managed", kind: source.Managed}, {id: "ws", kind: source.Project}},
			[]string{"/ext/x available x@ext", "/managed/x available x@managed", "/ws/x available x"}, []string{"copies_differ"},
		},
		{
			"of one type nobody has the name",
			[]copyOf{{id: "a", kind: source.Project}, {id: "b", kind: source.Project}, {id: "ext", kind: source.Package}},
			[]string{"/a/x available x@a", "/b/x available x@b", "/ext/x available x@ext"}, nil,
		},
	})
	s := judged(t, skill.Mastra, []copyOf{{id: "a", kind: source.Project}, {id: "b", kind: source.Project}})
	_, err := s.Lookup("x")
	var amb *registry.AmbiguousError
	if !errors.As(err, &amb) || !strings.HasPrefix(err.Error(), `Cannot resolve skill "x": multiple local skills found at "/a/x", "/b/x".`) {
		t.Errorf("%v", err)
	}
	for _, sel := range []string{"/b/x", "/b/x/SKILL.md", "file:///b/x/SKILL.md"} {
		if r, err := s.Lookup(sel); err != nil || r.Dir != "/b/x" {
			t.Errorf("%s: %v %v", sel, r, err)
		}
	}
	if _, err := s.Lookup("X"); err == nil {
		t.Error("a name is folded")
	}
}

func TestPolicyOfMinara(t *testing.T) {
	t.Parallel()
	chain(t, skill.Minara, source.Builtin, source.Project)
	id := "metadata:\n  minara:\n    id: market.watch"
	check(t, skill.Minara, []precedence{
		{
			"ids make one skill, not names",
			[]copyOf{{kind: source.Builtin, name: "a", meta: id}, {kind: source.User, name: "b", meta: id}},
			[]string{"/builtin/a available a", "/user/b shadowed b@user"}, nil,
		},
		{
			"of equal rank the first by location, the other is rejected and stays visible",
			[]copyOf{{id: "q", kind: source.User, name: "a", meta: id}, {id: "p", kind: source.Project, name: "b", meta: id}},
			[]string{"/p/b available b", "/q/a shadowed a@q"}, []string{"id_duplicate"},
		},
	})
	s := judged(t, skill.Minara, []copyOf{{kind: source.User, name: "a", meta: id}})
	if r, err := s.Lookup("market.watch"); err != nil || r.Skill.Name != "a" {
		t.Errorf("%v %v", r, err)
	}
	if r, err := s.Lookup("a"); err == nil {
		t.Errorf("found %s by its name, not its id", r.Dir)
	}
}

func TestPolicyOfClaudeCode(t *testing.T) {
	t.Parallel()
	chain(t, skill.ClaudeCode, source.Managed, source.User, source.Project, source.Builtin, source.Kind("synced"))
	check(t, skill.ClaudeCode, []precedence{
		{
			"the directory is the name, the nearer project wins",
			[]copyOf{
				{id: "near", kind: source.Project, name: "one", dir: "x", root: "/ws/.claude/skills"},
				{id: "far", kind: source.Project, name: "two", dir: "x", root: "/.claude/skills", near: 1},
			},
			[]string{"/.claude/skills/x shadowed x@far", "/ws/.claude/skills/x available x"}, []string{"copies_differ"},
		},
		{
			"a nested clash keeps an address of its folder",
			[]copyOf{
				{id: "ws", kind: source.Project, root: "/ws/.claude/skills", near: 1},
				{id: "shop", kind: source.Project, root: "/ws/packages/shop/.claude/skills"},
			},
			[]string{"/ws/.claude/skills/x available x", "/ws/packages/shop/.claude/skills/x available packages/shop:x"}, nil,
		},
		{
			"a skill goes before a command file",
			[]copyOf{{id: "cmd", kind: source.User, file: "x.md", dir: "commands"}, {id: "ws", kind: source.Project}},
			[]string{"/cmd/commands shadowed commands@cmd", "/ws/x available x"}, []string{"copies_differ"},
		},
	})
	s := judged(t, skill.ClaudeCode, []copyOf{{kind: source.User, name: "shown", dir: "deploy"}})
	if r, err := s.Lookup("deploy"); err != nil || r.Dir != "/user/deploy" {
		t.Errorf("%v %v", r, err)
	}
	if _, err := s.Lookup("Deploy"); err == nil {
		t.Error("a command is folded")
	}
}

func TestPolicyOfCodex(t *testing.T) {
	t.Parallel()
	check(t, skill.Codex, []precedence{{
		"all of one name are listed",
		[]copyOf{{id: "b", kind: source.User}, {id: "a", kind: source.Project}, {id: "c", kind: source.Project, real: "/b/x"}},
		[]string{"/a/x available x", "/b/x available x@b"}, nil,
	}})
}

func TestLookupOfMiniMax(t *testing.T) {
	t.Parallel()
	s := judged(t, skill.MiniMax, []copyOf{
		{kind: source.User, name: "docx"}, {id: "p", kind: source.PluginK, name: "Skill", plugin: "Plug"},
		{id: "q", kind: source.User, name: "p:s"},
	})
	for sel, dir := range map[string]string{
		"docx": "/user/docx", " docx\n": "/user/docx", "plug:skill": "/p/Skill", " PLUG:Skill ": "/p/Skill", "p:s": "/q/p:s",
		"file:///user/docx/SKILL.md": "/user/docx",
	} {
		if r, err := s.LookupForModel(sel); err != nil || r.Dir != dir {
			t.Errorf("%q: %v %v", sel, r, err)
		}
	}
	for _, sel := range []string{"Docx", "/docx", "", "skill", "nothing"} {
		if r, err := s.Lookup(sel); err == nil {
			t.Errorf("%q finds %s", sel, r.Dir)
		}
	}
	var unknown *registry.UnknownError
	if _, err := s.Lookup("  "); !errors.As(err, &unknown) || unknown.Selector != "unknown-skill" {
		t.Errorf("%v", err)
	}
}

func TestEveryPolicyRanksEveryKind(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("policies.json")
	if err != nil {
		t.Fatal(err)
	}
	var all map[skill.Dialect]struct{ Kinds []string }
	if err := json.Unmarshal(text, &all); err != nil {
		t.Fatal(err)
	}
	for _, d := range skill.Dialects() {
		if _, ok := all[d]; !ok {
			t.Errorf("%s has no policy", d)
		}
		ranked := strings.Fields(strings.Join(all[d].Kinds, " "))
		for _, k := range append(source.Kinds(), source.WorkspaceK, source.Global) {
			if n := len(slices.DeleteFunc(slices.Clone(ranked), func(s string) bool { return s != string(k) })); n != 1 {
				t.Errorf("%s ranks %s %d times", d, k, n)
			}
		}
	}
}
