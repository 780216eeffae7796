package minimax

import (
	"bytes"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/deftskills/deft/internal/config"
	"github.com/deftskills/deft/skill"
	"github.com/deftskills/deft/source"
)

func openFile(path string) (io.ReadCloser, error) { return os.Open(path) }

// twoBelow makes a workspace two levels below a git root.
func twoBelow(t *testing.T) *world {
	w := newWorld(t)
	w.mkdir(w.ws, ".git")
	w.env.Workspace = w.mkdir(w.ws, "a", "b")
	return w
}

var fixed = []string{
	"external:user-cc", "external:user-codex", "external:user-agents", "agent-user:mavis", "user-global",
	"builtin-seeded", "builtin-agent:mavis", "builtin-global",
}

func TestS01ElevenRootsInOrder(t *testing.T) {
	t.Parallel()
	var want []string
	for _, level := range []string{"$/repo/a/b", "$/repo/a", "$/repo"} {
		for _, id := range []string{"workspace-minimax", "workspace-cc", "workspace-agents"} {
			want = append(want, "external:"+id+":"+level)
		}
	}
	equal(t, "roots", twoBelow(t).rootIDs(), append(want, fixed...))
}

func TestS02DefaultPriorities(t *testing.T) {
	t.Parallel()
	var got []float64
	for _, s := range twoBelow(t).roots() {
		got = append(got, s.Info().Priority)
	}
	equal(t, "priorities", got, []float64{
		65.003, 60.003, 55.003, 65.002, 60.002, 55.002, 65.001, 60.001, 55.001, 40, 35, 30, 100, 0, 20, 10, 0,
	})
}

func TestS03UnsetIsZero(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	for _, s := range w.roots() {
		if i := s.Info(); (i.ID == "user-global" || i.ID == "builtin-global") && i.Priority != 0 {
			t.Errorf("%s has %v", i.ID, i.Priority)
		}
	}
	// Against a root of the same rank a priority below zero loses to them.
	w.settings("skills: {external: {sources: {user-cc: {priority: -1}}}}")
	w.skill(filepath.Join(w.home, ".claude/skills/x"))
	global := w.skill(filepath.Join(w.data, "skills/x"))
	wins(t, w.snapshot(), "x", global)
}

func TestS04RootIdsCarryPath(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	if ids := w.rootIDs(); ids[0] != "external:workspace-minimax:$/repo" {
		t.Errorf("%v", ids)
	}
}

func TestS05Kinds(t *testing.T) {
	t.Parallel()
	var got []source.Kind
	for _, s := range newWorld(t).roots() {
		got = append(got, s.Info().Kind)
	}
	equal(t, "kinds", got, []source.Kind{
		"workspace", "workspace", "workspace", "user", "user", "user", "agent", "global", "builtin", "builtin", "builtin",
	})
	// The rank has project all the same, above workspace.
	w := newWorld(t)
	w.skill(filepath.Join(w.ws, ".minimax/skills/x"))
	mine := w.mkdir(w.root, "mine")
	w.skill(filepath.Join(mine, "x"))
	s := w.snapshot(source.Dir(mine, source.DirOptions{Info: source.Info{Kind: source.Project}, Format: w.env.Format}))
	wins(t, s, "x", filepath.Join(mine, "x"))
}

func TestS06DedupeByKindPathScope(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	bundle := filepath.Join(w.root, "bundle")
	w.env.Bundled = []string{bundle, bundle}
	n := 0
	for _, id := range w.rootIDs() {
		if strings.HasPrefix(id, "builtin-global") {
			n++
		}
	}
	if n != 1 {
		t.Errorf("one directory of one kind is there %d times", n)
	}
	w = newWorld(t)
	w.env.Workspace = w.home // ~/.claude/skills is a root of the workspace and of the user
	n = 0
	for _, s := range w.roots() {
		if s.Info().Path == filepath.Join(w.home, ".claude/skills") {
			n++
		}
	}
	if n != 2 {
		t.Errorf("one directory of two kinds is there %d times", n)
	}
}

func TestS07LegacyAgentNames(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.env.Legacy = []string{"old", "older"}
	got := map[string]float64{}
	for _, s := range w.roots() {
		if i := s.Info(); i.Kind == source.Agent {
			got[strings.TrimPrefix(i.Path, w.data)] = i.Priority
		}
	}
	if len(got) != 3 || got["/agents/mavis/skills"] != 100 || got["/agents/old/skills"] != 90 || got["/agents/older/skills"] != 90 {
		t.Errorf("%v", got)
	}
}

func TestS08BlankAgentName(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.env.Agent = " "
	if !slices.Contains(w.rootIDs(), "agent-user:mavis") {
		t.Errorf("%v", w.rootIDs())
	}
}

func TestS09ExcludeAgentResources(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.env.NoAgent = true
	equal(t, "roots", w.rootIDs()[6:], []string{"user-global", "builtin-seeded", "builtin-global"})
}

func TestS10BlankWorkspace(t *testing.T) {
	t.Parallel()
	for _, blank := range []string{"", " "} {
		w := newWorld(t)
		w.env.Workspace = blank
		equal(t, "roots", w.rootIDs(), fixed)
	}
}

func TestS11DataDirectoryEnvironment(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	for _, row := range []struct {
		vars map[string]string
		want string
	}{
		{map[string]string{"MINIMAX_DATA_DIR": "/one", "MAVIS_DATA_DIR": "/two"}, "/one"},
		{map[string]string{"MAVIS_DATA_DIR": "/two"}, "/two"},
		{nil, filepath.Join(w.home, ".minimax-code")},
	} {
		w.env.Getenv = func(name string) string { return row.vars[name] }
		at := ""
		for _, s := range w.roots() {
			if s.Info().ID == "user-global" {
				at = s.Info().Path
			}
		}
		if at != filepath.Join(row.want, "skills") {
			t.Errorf("%v: %s", row.vars, at)
		}
	}
}

func TestS12ExternalDisabled(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.settings("skills:\n  external:\n    enabled: false\n")
	equal(t, "roots", w.rootIDs(), fixed[3:])
}

func TestS12ExternalDisabledDeft(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.env.Format.Dialect, w.env.External = skill.Deft, false
	if ids := w.rootIDs(); !slices.Contains(ids, "workspace-deft:$/repo") || slices.Contains(ids, "workspace-minimax:$/repo") {
		t.Errorf("deft keeps its own project folder and drops the others: %v", ids)
	}
}

func TestS13OneSourceDisabled(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	all := w.rootIDs()
	w.settings("skills: {external: {sources: {user-cc: {enabled: false}}}}")
	equal(t, "roots", w.rootIDs(), slices.DeleteFunc(all, func(id string) bool { return id == "external:user-cc" }))
}

// priorityOf returns the priority of a root by its id without path.
func (w *world) priorityOf(id string) float64 {
	for _, s := range w.roots() {
		if s.Info().ID == id {
			return s.Info().Priority
		}
	}
	w.t.Fatalf("no root %s", id)
	return 0
}

func TestS14PriorityOverridden(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	for yaml, want := range map[string]float64{"99.5": 99.5, "-3": -3} {
		w.settings("skills: {external: {sources: {user-agents: {priority: " + yaml + "}}}}")
		if got := w.priorityOf("external:user-agents"); got != want {
			t.Errorf("%s: %v", yaml, got)
		}
	}
}

func TestS15PriorityNotFinite(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	for _, yaml := range []string{".inf", `"high"`, ".nan"} {
		w.settings("skills: {external: {sources: {user-agents: {priority: " + yaml + "}}}}")
		if got := w.priorityOf("external:user-agents"); got != 30 {
			t.Errorf("%s: %v", yaml, got)
		}
	}
	if got := codes(w.snapshot()); len(got) > 0 {
		t.Errorf("not silent: %v", got)
	}
}

func TestS16LegacySourceId(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.settings("skills: {external: {sources: {user-claude: {enabled: false}, workspace-claude: {enabled: false}}}}")
	for _, id := range w.rootIDs() {
		if strings.Contains(id, "-cc") {
			t.Errorf("%s is on", id)
		}
	}
}

func TestS17NewIdBeatsLegacy(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	for _, yaml := range []string{"user-claude: {enabled: false}, user-cc: 7", "user-cc: 7, user-claude: {enabled: false}"} {
		w.settings("skills: {external: {sources: {" + yaml + "}}}")
		if got := w.priorityOf("external:user-cc"); got != 40 {
			t.Errorf("%s: %v", yaml, got)
		}
	}
}

func TestS18WrongTypesFallBackAlone(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.settings("skills: {external: {walkUp: \"no\", enabled: false}}")
	if w.env.NoWalkUp || w.env.External {
		t.Errorf("walkUp %v, enabled %v", !w.env.NoWalkUp, w.env.External)
	}
}

func TestS19UnknownSourceIgnored(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.settings("skills: {external: {sources: {other: {enabled: false}, user-cc: {priority: 7}}}, strange: [1]}\nmore: 1\n")
	if got := w.priorityOf("external:user-cc"); got != 7 {
		t.Errorf("%v", got)
	}
}

func TestS20DuplicateWarnInert(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.skill(filepath.Join(w.home, ".claude/skills/x"))
	w.skill(filepath.Join(w.data, "skills/x"), "license: other")
	var dumps [][]byte
	for _, value := range []string{"false", "true"} {
		w.settings("skills: {external: {duplicateWarn: " + value + "}}")
		s := w.snapshot()
		equal(t, "codes", codes(s), nil)
		dumps = append(dumps, s.Dump())
	}
	if !bytes.Equal(dumps[0], dumps[1]) {
		t.Errorf("the Snapshot differs:\n%s\n%s", dumps[0], dumps[1])
	}
}

func TestS21EveryBundledCandidateIsARoot(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	there, missing := w.mkdir(w.root, "one"), filepath.Join(w.root, "two")
	w.skill(filepath.Join(there, "skills/x"))
	w.env.Bundled = []string{there, missing}
	s := w.snapshot()
	wins(t, s, "x", filepath.Join(there, "skills/x"))
	paths := map[string]bool{}
	for _, r := range s.Roots() {
		paths[r.Path] = true
	}
	said := false
	for _, d := range s.Diagnostics {
		said = said || d.Code == "root_unreadable" && d.File == filepath.Join(missing, "skills")
	}
	if !paths[filepath.Join(there, "skills")] || !paths[filepath.Join(missing, "skills")] || !said {
		t.Errorf("roots %v, told %v", paths, said)
	}
}

func TestS22ConfigFileInDataDirectory(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.settings("skills: {external: {sources: {user-cc: {priority: 5}}}}\n")
	if got := w.priorityOf("external:user-cc"); got != 5 {
		t.Errorf("%v", got)
	}
	file := filepath.Join(w.data, "config.yaml")
	before, err := os.Stat(file)
	if err != nil {
		t.Fatal(err)
	}
	// It wins over deft's own file for these keys, and only for these.
	own := w.write(filepath.Join(w.root, "own.yaml"), "skills: {external: {enabled: true, sources: {user-cc: {priority: 9}}}, trust: {project: always}}\n")
	c, _ := config.Load(config.Input{Open: openFile, UserFile: own})
	config.MiniMax(c, openFile, file)
	if p := c.Roots["user-cc"].Priority; p == nil || *p != 5 || c.TrustProject != config.TrustAlways {
		t.Errorf("%+v", c)
	}
	w.settings("skills: {external: {enabled: false}}\n")
	equal(t, "roots", w.rootIDs(), fixed[3:])
	w.snapshot()
	after, err := os.Stat(file)
	if err != nil || after.Size() == 0 || before.Mode() != after.Mode() {
		t.Error("the file was touched")
	}
}
