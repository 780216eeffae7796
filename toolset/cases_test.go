package toolset

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/deftskills/deft/gate"
	"github.com/deftskills/deft/internal/casetest"
	"github.com/deftskills/deft/internal/toolrule"
	"github.com/deftskills/deft/session"
	"github.com/deftskills/deft/source"
)

// user is a source over one more folder of skills.
func user(id, dir string) source.Source {
	return source.Dir(dir, source.DirOptions{Info: source.Info{ID: id, Kind: source.User}})
}

func TestCase016BothNamesFindTheSkill(t *testing.T) {
	t.Parallel()
	c := casetest.Open(t, "016")
	alone := newHouse(t, c.Path("home", ".claude", "skills"))
	res := alone.call(NameSkill, args("name", "send-mail"))
	if res.IsError || !strings.Contains(res.Text, "# mailer") || !strings.Contains(res.Text, "Its name is mailer.") {
		t.Error(res.Text)
	}
	both := newHouse(t, c.Path("home", ".claude", "skills"), user("project", c.Path("project", ".claude", "skills")))
	if res := both.call(NameSkill, args("name", "send-mail")); !strings.Contains(res.Text, "# send-mail") {
		t.Error(res.Text)
	}
}

func TestCase038ManualOnly(t *testing.T) {
	t.Parallel()
	h := newHouse(t, casetest.Open(t, "038").Path("project", ".claude", "skills"))
	if res := h.call(NameSkill, args("name", "deploy")); res.Code != "skill_manual_only" || !strings.Contains(res.Text, "/deploy") || !strings.Contains(res.Text, "do not imitate") {
		t.Error(res.Text)
	}
	names, rest, _ := session.Slash("/deploy to staging", func(n string) bool { return n == "deploy" })
	res, err := h.turn.Activate(t.Context(), session.Request{Names: names, Args: rest, HasArgs: true, Actor: session.ActorUser})
	if err != nil || !strings.Contains(res.Text, "Deploy to staging.") {
		t.Error(res.Text, err)
	}
	h.turn.End()
	if h.turn, err = h.s.Begin(t.Context(), session.TurnInput{Text: "please use the deploy skill"}); err != nil {
		t.Fatal(err)
	}
	if res := h.call(NameSkill, args("name", "deploy")); res.IsError {
		t.Error(res.Text)
	}
}

func TestCase039EveryListedNameLoads(t *testing.T) {
	t.Parallel()
	c := casetest.Open(t, "039")
	h := newHouse(t, c.Path("project", ".claude", "skills"), user("home", c.Path("home", ".agents", "skills")),
		source.Namespaced(user("kit", c.Path("plugins", "kit", "skills")), "kit"))
	shown := map[string]bool{}
	for _, r := range h.snap.Winners {
		shown[r.Address] = true
		if res := h.call(NameSkill, args("name", r.Address)); res.IsError {
			t.Errorf("%s: %s", r.Address, res.Text)
		}
	}
	if !shown["p1"] || !shown["h1"] || !shown["l1"] || !shown["kit:k1"] {
		t.Error(shown)
	}
}

func TestCase040WrongNamesEnd(t *testing.T) {
	t.Parallel()
	h := newHouse(t, casetest.Open(t, "040").Path("project", ".agents", "skills"))
	if res := h.call(NameSkill, args("name", "reprot")); !strings.Contains(res.Text, "Close: report.") || strings.Contains(res.Text, "<skill") {
		t.Error(res.Text)
	}
	var last Result
	for _, p := range []string{"Document 1", "guide.pdf", "doc1.md"} {
		last = h.call(NameSkillRead, args("name", "report", "path", p))
		if !strings.Contains(last.Text, "Files: assets/logo.svg, references/guide.md") {
			t.Error(last.Text)
		}
	}
	if last.Retry != RetryFinal {
		t.Error(last.Text)
	}
	if res := h.call(NameSkillRead, args("name", "report", "path", "references")); res.Code != "is_a_folder" {
		t.Error(res.Code)
	}
}

// quiet keeps no rows.
type quiet struct{}

func (quiet) Record(context.Context, gate.Row) error { return nil }

func TestCase044ListsRestrict(t *testing.T) {
	t.Parallel()
	c := casetest.Open(t, "044")
	table, err := gate.NewTable(
		gate.Tool{Name: "read", Tier: gate.ReadOnly}, gate.Tool{Name: "grep", Tier: gate.ReadOnly}, gate.Tool{Name: "write", Tier: gate.ConfirmOnce},
		gate.Tool{Name: "bash", Tier: gate.AlwaysConfirm}, gate.Tool{Name: "skill", Tier: gate.ReadOnly},
	)
	if err != nil {
		t.Fatal(err)
	}
	g, err := gate.New(gate.Options{Tools: table, Audit: quiet{}, Answerable: true, Paths: gate.PathPolicy{Workspace: c.Project}})
	if err != nil {
		t.Fatal(err)
	}
	h := newHouse(t, c.Path("project", ".claude", "skills"))
	for skillName, want := range map[string]map[string]string{
		"reader": {"read": "read_only", "grep": "read_only", "write": "skill_restricts", "bash": "skill_restricts", "skill": "read_only"},
		"locked": {"read": "read_only", "write": "skill_restricts", "bash": "skill_restricts", "skill": "read_only"},
	} {
		h.next()
		if res := h.call(NameSkill, args("name", skillName)); res.IsError {
			t.Fatal(res.Text)
		}
		for tool, code := range want {
			input := json.RawMessage(`{"path":"a.md"}`)
			if tool == "bash" || tool == "skill" {
				input = json.RawMessage(`{"command":"ls"}`)
			}
			d := g.Explain(gate.Call{Tool: tool, Args: input, Origin: gate.Interactive, Session: "s", Dir: c.Project, Skills: h.s.ActiveSkills()})
			if d.Code != code || code == "skill_restricts" && !strings.Contains(d.Reason, skillName) {
				t.Errorf("%s, %s: %s %s", skillName, tool, d.Code, d.Reason)
			}
		}
		h.call(NameDeactivate, args("name", skillName))
	}
}

func TestCase053FilesAreTheSkills(t *testing.T) {
	t.Parallel()
	c := casetest.Open(t, "053")
	h := newHouse(t, c.Path("home", ".claude", "skills"))
	text := h.call(NameSkill, args("name", "report")).Text
	if dir := filepath.ToSlash(c.Path("home", ".claude", "skills", "report")); strings.Count(text, dir) != 1 {
		t.Error(text)
	}
	if res := h.call(NameSkillRead, args("name", "report", "path", "references/spec.md")); !strings.Contains(res.Text, "SPEC OF THE SKILL") {
		t.Error(res.Text)
	}
	if res := h.call(NameSkillRead, args("name", "report", "path", "references/none.md")); !strings.Contains(res.Text, "Files: references/spec.md, scripts/count.sh.") {
		t.Error(res.Text)
	}
}

func shellLine(t *testing.T, line string) toolrule.Call {
	t.Helper()
	input, err := json.Marshal(args("command", line))
	if err != nil {
		t.Fatal(err)
	}
	return toolrule.Describe("bash", input, "", "", nil)
}

func TestCase054DirectoryInTextAndRule(t *testing.T) {
	t.Parallel()
	c := casetest.Open(t, "054")
	h := newHouse(t, c.Path("home", "skills of jo's"))
	dir := filepath.ToSlash(c.Path("home", "skills of jo's", "stamper"))
	text := h.call(NameSkill, args("name", "stamper")).Text
	command := `sh "` + dir + `/scripts/stamp.sh" in.txt`
	if !strings.Contains(text, "Run: "+command+"\nAlso: sh \""+dir+"/scripts/stamp.sh\" out.txt\nKeep: $HOME ${PATH}") {
		t.Error(text)
	}
	rule := toolrule.ParseList(h.s.ActiveSkills()[0].Allow.Entries)
	if _, ok := rule.Covers(shellLine(t, command)); !ok {
		t.Errorf("%v does not cover %s", rule, command)
	}
	if _, ok := rule.Covers(shellLine(t, `sh "`+dir+`/scripts/other.sh"`)); ok {
		t.Error("the rule is too wide")
	}
}

func TestCase072NothingOutsideIsRead(t *testing.T) {
	t.Parallel()
	c := casetest.Open(t, "072")
	h := newHouse(t, c.Path("project", ".agents", "skills"))
	names, err := os.ReadFile(c.Path("names.txt"))
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range strings.Split(strings.TrimSpace(string(names)), "\n") {
		h.next()
		res := h.call(NameSkill, args("name", name))
		if !strings.HasPrefix(res.Text, "No skill ") {
			t.Errorf("%s: %s", name, res.Text)
		}
	}
	paths, err := os.ReadFile(c.Path("paths.txt"))
	if err != nil {
		t.Fatal(err)
	}
	for _, line := range strings.Split(strings.TrimSpace(string(paths)), "\n") {
		path, want, _ := strings.Cut(line, "\t")
		h.next()
		res := h.call(NameSkillRead, args("name", "kit", "path", path))
		if res.IsError != strings.HasPrefix(want, "no") {
			t.Errorf("%s: %s", line, res.Text)
		}
	}
}

func TestCase079AliasesAreAccepted(t *testing.T) {
	t.Parallel()
	h := newHouse(t, casetest.Open(t, "079").Path("project", ".agents", "skills"))
	for i, key := range []string{"name", "skill", "skill_name", "skillName"} {
		h.next()
		if res := h.call(NameSkill, args(key, "one", "args", fmt.Sprint(i))); res.IsError || !strings.Contains(res.Text, fmt.Sprint("ARGUMENTS: ", i)) {
			t.Errorf("%s: %s", key, res.Text)
		}
	}
}
