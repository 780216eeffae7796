package mastra

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/deftskills/deft/gate"
	"github.com/deftskills/deft/registry"
	"github.com/deftskills/deft/session"
	"github.com/deftskills/deft/skill"
	"github.com/deftskills/deft/toolset"
)

// desk is a session over a view, with the dialect's tools.
type desk struct {
	t     *testing.T
	view  *registry.View
	s     *session.Session
	turn  *session.Turn
	o     toolset.Options
	clock *host
}

// Snapshot implements session.Snapshots.
func (d *desk) Snapshot() *registry.Snapshot { return check(d.t, d.view) }

// hits is a search that finds what it is told to.
type hits struct {
	found toolset.Found
	query string
	names []string
	topK  int
}

func (h *hits) Search(_ context.Context, _ *registry.Snapshot, query string, names []string, topK int) (toolset.Found, error) {
	h.query, h.names, h.topK = query, names, topK
	return h.found, nil
}

func deskOf(t *testing.T, m *memory) *desk {
	t.Helper()
	return deskIn(t, skill.Mastra, m)
}

// deskIn is a desk of another dialect.
func deskIn(t *testing.T, d skill.Dialect, m *memory) *desk {
	t.Helper()
	h := open(t, setup{dialect: d, fsys: m})
	k := &desk{t: t, view: h.view(), clock: h, o: toolset.Options{Dialect: d, Searcher: &hits{}}}
	k.session()
	return k
}

// session begins another conversation.
func (d *desk) session() *session.Session {
	d.t.Helper()
	s, err := session.New(d.t.Context(), session.Options{Snapshots: d, Dialect: d.o.Dialect, Clock: d.clock.now, Idle: toolset.OnDemandIdle})
	if err != nil {
		d.t.Fatal(err)
	}
	d.s, d.turn = s, nil
	d.next()
	return s
}

// next begins another turn.
func (d *desk) next() {
	d.t.Helper()
	if d.turn != nil {
		d.turn.End()
	}
	var err error
	if d.turn, err = d.s.Begin(d.t.Context(), session.TurnInput{}); err != nil {
		d.t.Fatal(err)
	}
}

func (d *desk) result(tool string, pairs ...any) toolset.Result {
	d.t.Helper()
	args := map[string]any{}
	for i := 0; i < len(pairs); i += 2 {
		args[pairs[i].(string)] = pairs[i+1]
	}
	raw, err := json.Marshal(args)
	if err != nil {
		d.t.Fatal(err)
	}
	for _, x := range toolset.Skills(d.o) {
		if x.Spec().Name == tool {
			res, err := x.Call(d.t.Context(), toolset.Call{Input: raw, Turn: d.turn})
			if err != nil {
				d.t.Fatal(err)
			}
			return res
		}
	}
	d.t.Fatalf("no tool %s", tool)
	return toolset.Result{}
}

// call is the text of an answer that is no error.
func (d *desk) call(tool string, pairs ...any) string {
	d.t.Helper()
	res := d.result(tool, pairs...)
	if res.IsError {
		d.t.Errorf("%s %v: an error: %s", tool, pairs, res.Text)
	}
	return res.Text
}

func (d *desk) read(pairs ...any) string {
	d.t.Helper()
	return d.call("skill_read", append([]any{"skillName", "test-skill"}, pairs...)...)
}

func exposed(d *desk) []string {
	out := toolset.Exposed(d.o, toolset.View{Snapshot: d.turn.Snapshot()})
	slices.Sort(out)
	return out
}

const bodyText = "# Test Skill\n\nBody of test-skill."

func TestT001_TheSet(t *testing.T) {
	t.Parallel()
	want(t, "tools", exposed(deskOf(t, rich())), []string{"skill", "skill_read", "skill_search"})
}

func TestT002_SkillIsExactlyTheBody(t *testing.T) {
	t.Parallel()
	want(t, "text", deskOf(t, inMemory("test-skill")).call("skill", "name", "test-skill"), bodyText)
}

// with is a skill that has these files.
func with(files ...string) *memory {
	m := inMemory("test-skill")
	for _, f := range files {
		m.put("skills/test-skill/"+f, "text of "+f)
	}
	return m
}

func TestT003_References(t *testing.T) {
	t.Parallel()
	want(t, "text", deskOf(t, with("references/b.md", "references/a/c.md")).call("skill", "name", "test-skill"),
		bodyText+"\n\n## References\n- references/a/c.md\n- references/b.md")
}

func TestT004_Scripts(t *testing.T) {
	t.Parallel()
	want(t, "text", deskOf(t, with("scripts/run.sh")).call("skill", "name", "test-skill"), bodyText+"\n\n## Scripts\n- scripts/run.sh")
}

func TestT005_Assets(t *testing.T) {
	t.Parallel()
	want(t, "text", deskOf(t, with("assets/logo.svg")).call("skill", "name", "test-skill"), bodyText+"\n\n## Assets\n- assets/logo.svg")
}

func TestT006_AllThreeInOrder(t *testing.T) {
	t.Parallel()
	want(t, "text", deskOf(t, with("assets/l.svg", "scripts/r.sh", "references/d.md", "docs/x.md")).call("skill", "name", "test-skill"),
		bodyText+"\n\n## References\n- references/d.md\n\n## Scripts\n- scripts/r.sh\n\n## Assets\n- assets/l.svg")
}

func TestT007_NoFilesNothingElse(t *testing.T) {
	t.Parallel()
	want(t, "text", deskOf(t, with("docs/x.md")).call("skill", "name", "test-skill"), bodyText)
}

func TestT008_UnknownNamesTheWholeView(t *testing.T) {
	t.Parallel()
	want(t, "text", deskOf(t, inMemory("b", "a")).call("skill", "name", "x"),
		`Skill "x" not found. Available skills: a (skills/a), b (skills/b)`)
}

func TestT009_UnknownOfNothing(t *testing.T) {
	t.Parallel()
	want(t, "text", deskOf(t, inMemory()).call("skill", "name", "x"), `Skill "x" not found. Available skills: `)
}

func TestT010_ByExactPath(t *testing.T) {
	t.Parallel()
	d := deskOf(t, inMemory("test-skill", "other"))
	for _, sel := range []string{"skills/test-skill", "skills/test-skill/SKILL.md"} {
		want(t, sel, d.call("skill", "name", sel), bodyText)
	}
}

func TestT011_ByUniqueName(t *testing.T) {
	t.Parallel()
	want(t, "text", deskOf(t, inMemory("test-skill", "other")).call("skill", "name", "test-skill"), bodyText)
}

// twice is a view with two skills of one name.
func twice(t *testing.T) *desk {
	m := inMemory("other")
	m.put("one/test-skill/SKILL.md", text("test-skill"))
	m.put("two/test-skill/SKILL.md", text("test-skill"))
	m.put("two/test-skill/references/r.md", "of two")
	h := open(t, setup{fsys: m, forms: []string{"skills", "one", "two"}})
	d := &desk{t: t, view: h.view(), clock: h, o: toolset.Options{Dialect: skill.Mastra, Searcher: &hits{}}}
	d.session()
	return d
}

func TestT012_AmbiguousIsAResult(t *testing.T) {
	t.Parallel()
	d := twice(t)
	res := d.result("skill", "name", "test-skill")
	if !res.IsError || !strings.HasPrefix(res.Text, `Cannot resolve skill "test-skill": multiple local skills found at "one/test-skill", "two/test-skill". `) {
		t.Errorf("%+v", res)
	}
	want(t, "another", strings.HasSuffix(d.call("skill", "name", "other"), "Body of other."), true)
}

// finds sets what the search finds.
func (d *desk) finds(found ...toolset.Hit) *hits {
	h := &hits{found: toolset.Found{Hits: found, Searched: 9}}
	d.o.Searcher = h
	return h
}

// points is a score in the unit of hits.
func points(score float64) int64 { return int64(score*1024 + 0.5) }

func TestT013_NoHits(t *testing.T) {
	t.Parallel()
	d := deskOf(t, inMemory("test-skill"))
	d.finds()
	want(t, "text", d.call("skill_search", "query", "x"), "No results found.")
}

func TestT014_Hit(t *testing.T) {
	t.Parallel()
	d := deskOf(t, inMemory("test-skill"))
	d.finds(toolset.Hit{Address: "test-skill", Score: points(0.85), Snippet: "the preview"})
	want(t, "text", d.call("skill_search", "query", "x"), "[test-skill] (score: 0.85)\nthe preview")
}

func TestT015_LineRange(t *testing.T) {
	t.Parallel()
	d := deskOf(t, inMemory("test-skill"))
	d.finds(toolset.Hit{Address: "test-skill", Score: points(1.5), StartLine: 10, EndLine: 15, Snippet: "p"})
	want(t, "text", d.call("skill_search", "query", "x"), "[test-skill] (lines 10-15) (score: 1.50)\np")
}

func TestT016_LongPreview(t *testing.T) {
	t.Parallel()
	d := deskOf(t, inMemory("test-skill"))
	d.finds(toolset.Hit{Address: "a", Score: points(1), Snippet: strings.Repeat("ü", 250)})
	want(t, "text", d.call("skill_search", "query", "x"), "[a] (score: 1.00)\n"+strings.Repeat("ü", 200)+"...")
}

func TestT017_ExactPreview(t *testing.T) {
	t.Parallel()
	d := deskOf(t, inMemory("test-skill"))
	d.finds(toolset.Hit{Address: "a", Score: points(1), Snippet: strings.Repeat("x", 200)})
	want(t, "text", d.call("skill_search", "query", "x"), "[a] (score: 1.00)\n"+strings.Repeat("x", 200))
}

func TestT018_TwoHits(t *testing.T) {
	t.Parallel()
	d := deskOf(t, inMemory("test-skill"))
	d.finds(toolset.Hit{Address: "a", Score: points(2), Snippet: "p"}, toolset.Hit{Address: "b", Score: points(1), Snippet: "q"})
	want(t, "text", d.call("skill_search", "query", "x"), "[a] (score: 2.00)\np\n\n[b] (score: 1.00)\nq")
}

func TestT019_NamesAndLimitReachTheSearch(t *testing.T) {
	t.Parallel()
	d := deskOf(t, inMemory("a", "b"))
	h := d.finds()
	d.call("skill_search", "query", "x", "skillNames", []string{"b"}, "topK", 3)
	want(t, "query, names, topK", []any{h.query, h.names, h.topK}, []any{"x", []string{"b"}, 3})
	d.call("skill_search", "query", "x")
	want(t, "names, topK", []any{h.names, h.topK}, []any{[]string{}, 5})
}

func TestT020_ReadOfAnUnknownSkill(t *testing.T) {
	t.Parallel()
	got := deskOf(t, rich()).call("skill_read", "skillName", "nope", "path", "a.md")
	want(t, "text", strings.HasPrefix(got, `Skill "nope" not found.`), true)
}

func TestT021_Reference(t *testing.T) {
	t.Parallel()
	want(t, "text", deskOf(t, rich()).read("path", "references/doc.md"), "the doc")
}

func TestT022_Script(t *testing.T) {
	t.Parallel()
	want(t, "text", deskOf(t, rich()).read("path", "scripts/run.sh"), "echo")
}

func TestT023_AssetAsText(t *testing.T) {
	t.Parallel()
	want(t, "text", deskOf(t, with("assets/a.txt")).read("path", "assets/a.txt"), "text of assets/a.txt")
}

func TestT024_MissingFile(t *testing.T) {
	t.Parallel()
	want(t, "text", deskOf(t, rich()).read("path", "nope.md"),
		"File \"nope.md\" not found in skill \"test-skill\".\nAvailable files: references/deep/more.md, references/doc.md, scripts/run.sh, assets/a.bin")
}

func TestT025_MissingFileOfASkillWithoutFiles(t *testing.T) {
	t.Parallel()
	want(t, "text", deskOf(t, inMemory("test-skill")).read("path", "nope.md"), `File "nope.md" not found in skill "test-skill".`)
}

func TestT026_InvalidUTF8(t *testing.T) {
	t.Parallel()
	m := inMemory("test-skill")
	m.put("skills/test-skill/assets/x", "\xff\xfea")
	m.put("skills/test-skill/assets/y", "ab\xffcd")
	want(t, "text", deskOf(t, m).read("path", "assets/y"), "Binary file: skills/test-skill/assets/y (5 bytes)")
}

func TestT027_NUL(t *testing.T) {
	t.Parallel()
	m := inMemory("test-skill")
	m.put("skills/test-skill/assets/x", "ab\x00cd")
	want(t, "text", deskOf(t, m).read("path", "assets/x"), "Binary file: skills/test-skill/assets/x (5 bytes)")
}

// lined is a skill with a file of six lines.
func lined(t *testing.T) *desk {
	m := inMemory("test-skill")
	m.put("skills/test-skill/references/l.md", "1\n2\n3\n4\n5\n6\n")
	return deskOf(t, m)
}

func TestT028_Range(t *testing.T) {
	t.Parallel()
	want(t, "text", lined(t).read("path", "references/l.md", "startLine", 2, "endLine", 4), "references/l.md (lines 2-4 of 6)\n2\n3\n4")
}

func TestT029_NoBoundsNoHeader(t *testing.T) {
	t.Parallel()
	want(t, "text", lined(t).read("path", "references/l.md"), "1\n2\n3\n4\n5\n6\n")
}

func TestT030_BinaryWithBounds(t *testing.T) {
	t.Parallel()
	want(t, "text", deskOf(t, rich()).read("path", "assets/a.bin", "startLine", 1), "Binary file: skills/test-skill/assets/a.bin (2 bytes)")
}

func TestT031_PastTheEnd(t *testing.T) {
	t.Parallel()
	want(t, "text", lined(t).read("path", "references/l.md", "startLine", 7),
		"File \"references/l.md\" has 6 lines (valid range 1-6).\nRequested startLine 7 is past the end of the file. The file has been fully read; stop paginating.")
}

func TestT032_EmptyRange(t *testing.T) {
	t.Parallel()
	want(t, "text", lined(t).read("path", "references/l.md", "startLine", 4, "endLine", 2),
		"File \"references/l.md\" has 6 lines (valid range 1-6).\nRequested range 4-2 is empty because startLine is greater than endLine.")
}

func TestT033_Clamped(t *testing.T) {
	t.Parallel()
	want(t, "text", lined(t).read("path", "references/l.md", "startLine", 0, "endLine", 9999), "references/l.md (lines 1-6 of 6)\n1\n2\n3\n4\n5\n6")
}

func TestT034_EmptyPathAndDirectory(t *testing.T) {
	t.Parallel()
	d := lined(t)
	for _, p := range []string{"", "references"} {
		want(t, p, d.read("path", p), fmt.Sprintf("File %q not found in skill \"test-skill\".\nAvailable files: references/l.md", p))
	}
}

func TestT035_DotsAreRefused(t *testing.T) {
	t.Parallel()
	m := with("notes.txt", "references/a.md")
	d := deskOf(t, m)
	for _, p := range []string{"references/../notes.txt", "../x", `references\..\notes.txt`} {
		want(t, p, d.read("path", p), "Invalid asset path: "+p)
	}
}

func TestT036_SkillFileIsRaw(t *testing.T) {
	t.Parallel()
	want(t, "text", deskOf(t, inMemory("test-skill")).read("path", "SKILL.md"), text("test-skill"))
}

func TestT037_Backslashes(t *testing.T) {
	t.Parallel()
	want(t, "text", deskOf(t, rich()).read("path", `references\doc.md`), "the doc")
}

func TestT038_NoApprovalAndOneCheck(t *testing.T) {
	t.Parallel()
	m := rich()
	d := deskOf(t, m)
	for _, x := range toolset.Skills(d.o) {
		want(t, x.Spec().Name, x.Spec().Tier, gate.ReadOnly)
	}
	lists := func() int { m.mu.Lock(); defer m.mu.Unlock(); return m.lists["skills"] }
	before := lists()
	d.next()
	d.next()
	want(t, "checks within the cooldown", lists(), before)
	m.put("skills/late/SKILL.md", text("late"))
	d.clock.pass(31 * time.Second)
	d.next()
	want(t, "after it", strings.HasSuffix(d.call("skill", "name", "late"), "Body of late."), true)
}

func TestT039_NothingIsKept(t *testing.T) {
	t.Parallel()
	d := deskOf(t, rich())
	first := d.call("skill", "name", "test-skill")
	want(t, "again", d.call("skill", "name", "test-skill"), first)
	want(t, "active", len(d.s.Active()), 0)
	d.next()
	want(t, "in the next turn", d.call("skill", "name", "test-skill"), first)
}

func TestT040_ReadByExactPath(t *testing.T) {
	t.Parallel()
	d := twice(t)
	for _, sel := range []string{"two/test-skill", "two/test-skill/SKILL.md"} {
		want(t, sel, d.call("skill_read", "skillName", sel, "path", "references/r.md"), "of two")
	}
	want(t, "the other", d.call("skill_read", "skillName", "one/test-skill", "path", "references/r.md"), `File "references/r.md" not found in skill "test-skill".`)
}
