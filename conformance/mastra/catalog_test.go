package mastra

import (
	"context"
	"encoding/json"
	"encoding/xml"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/fstest"
	"time"

	"github.com/deftskills/deft"
	"github.com/deftskills/deft/agent"
	"github.com/deftskills/deft/agent/model/scripted"
	"github.com/deftskills/deft/catalog"
	"github.com/deftskills/deft/gate"
	"github.com/deftskills/deft/internal/suitetest"
	"github.com/deftskills/deft/registry"
	"github.com/deftskills/deft/skill"
	"github.com/deftskills/deft/source"
	"github.com/deftskills/deft/toolset"
)

var tools = catalog.ToolNames{Skill: "skill", Read: "skill_read", Search: "skill_search"}

// formatted is what the dialect shows of a Snapshot.
func formatted(t *testing.T, s *registry.Snapshot, edits ...func(*catalog.Input)) catalog.Catalog {
	t.Helper()
	in := catalog.Input{Snapshot: s, Dialect: skill.Mastra, Tools: tools}
	for _, edit := range edits {
		edit(&in)
	}
	c, err := catalog.New(catalog.Config{Counter: catalog.Estimate()}).Render(t.Context(), in)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func as(f catalog.Format) func(*catalog.Input) { return func(in *catalog.Input) { in.Format = f } }

func first(in *catalog.Input) { in.Mode = catalog.ModeSearch }

// two is a workspace of two skills.
func two(t *testing.T) *registry.Snapshot {
	t.Helper()
	return open(t, setup{fsys: inMemory("beta", "alpha")}).view().Snapshot()
}

// none is a workspace without skills.
func none(t *testing.T) *registry.Snapshot {
	t.Helper()
	return open(t, setup{fsys: inMemory()}).view().Snapshot()
}

// holds wants text to say all of it.
func holds(t *testing.T, text string, parts ...string) {
	t.Helper()
	for _, p := range parts {
		if !strings.Contains(text, p) {
			t.Errorf("%q is not in\n%s", p, text)
		}
	}
}

const goldenXML = `<available_skills>
  <skill>
    <name>alpha</name>
    <description>Does alpha.</description>
    <location>skills/alpha/SKILL.md</location>
    <source>local</source>
  </skill>
  <skill>
    <name>beta</name>
    <description>Does beta.</description>
    <location>skills/beta/SKILL.md</location>
    <source>local</source>
  </skill>
</available_skills>`

const goldenJSON = `Available Skills:

[
  {
    "name": "alpha",
    "description": "Does alpha.",
    "location": "skills/alpha/SKILL.md",
    "source": "local"
  },
  {
    "name": "beta",
    "description": "Does beta.",
    "location": "skills/beta/SKILL.md",
    "source": "local"
  }
]`

const goldenMarkdown = `# Available Skills

- **alpha** [local] (skills/alpha/SKILL.md): Does alpha.
- **beta** [local] (skills/beta/SKILL.md): Does beta.`

func TestP001_IdsAndTheFormatOption(t *testing.T) {
	t.Parallel()
	want(t, "id, name", []string{catalog.ProcessorID, catalog.ProcessorName}, []string{"skills-processor", "Skills Processor"})
	want(t, "format", formatted(t, two(t), as(catalog.JSON)).Report.Format, catalog.JSON)
}

func TestP002_HostsGetNameDescriptionLicense(t *testing.T) {
	t.Parallel()
	var got []string
	for _, r := range two(t).Winners {
		got = append(got, r.Skill.Name, r.Skill.Description, r.Skill.Meta.License)
	}
	want(t, "listing", got, []string{"alpha", "Does alpha.", "MIT", "beta", "Does beta.", "MIT"})
	want(t, "none", len(none(t).Winners), 0)
}

func TestP003_XMLAndGuidanceByDefault(t *testing.T) {
	t.Parallel()
	c := formatted(t, two(t))
	want(t, "format", c.Report.Format, catalog.XML)
	holds(t, c.Prefix(), "<available_skills>\n  <skill>")
	holds(t, c.Aside(), "`skill`")
}

func TestP004_HeadingOfJSON(t *testing.T) {
	t.Parallel()
	want(t, "start", strings.HasPrefix(formatted(t, two(t), as(catalog.JSON)).Prefix(), "Available Skills:\n\n["), true)
}

func TestP005_HeadingOfMarkdown(t *testing.T) {
	t.Parallel()
	want(t, "start", strings.HasPrefix(formatted(t, two(t), as(catalog.Markdown)).Prefix(), "# Available Skills\n\n- "), true)
}

func TestP006_LocationIsThePathWithItsFile(t *testing.T) {
	t.Parallel()
	s := two(t)
	for i, e := range shownBy(t, formatted(t, s), catalog.XML) {
		want(t, "location", e.Location, s.Winners[i].Path()+"/SKILL.md")
	}
}

// shownBy reads a block back.
func shownBy(t *testing.T, c catalog.Catalog, f catalog.Format) []catalog.Shown {
	t.Helper()
	shown, err := catalog.Parse(skill.Mastra, f, c.Stable.Text)
	if err != nil {
		t.Fatal(err)
	}
	return shown
}

// moved is a host's formatter of locations.
func moved(s *registry.Snapshot) map[string]string {
	out := map[string]string{}
	for _, r := range s.Winners {
		out[r.Address] = "sandbox://" + r.Path() + "/SKILL.md"
	}
	return out
}

func TestP007_TheHostsFormatterOfLocations(t *testing.T) {
	t.Parallel()
	s := two(t)
	for _, f := range []catalog.Format{catalog.XML, catalog.JSON, catalog.Markdown} {
		c := formatted(t, s, as(f), func(in *catalog.Input) { in.Locations = moved(s) })
		for _, e := range shownBy(t, c, f) {
			want(t, string(f), e.Location, "sandbox://skills/"+e.Name+"/SKILL.md")
		}
	}
}

func TestP008_GuidanceOnLocations(t *testing.T) {
	t.Parallel()
	holds(t, formatted(t, two(t)).Aside(), "The location identifies a skill", "may not exist for you", "with `skill_read`", "by its exact location")
}

func TestP009_FormattedLocationsAreAliases(t *testing.T) {
	t.Parallel()
	v := open(t, setup{fsys: inMemory("alpha", "beta")}).view()
	s := v.Snapshot()
	for _, r := range s.Winners {
		v.Registry().Alias(moved(s)[r.Address], r.Path())
	}
	c := formatted(t, v.Snapshot(), func(in *catalog.Input) { in.Locations = moved(s) })
	for _, e := range shownBy(t, c, catalog.XML) {
		want(t, "found", need(t, v.Snapshot(), e.Location).Skill.Name, e.Name)
	}
}

func TestP010_WithoutAliasesGoByName(t *testing.T) {
	t.Parallel()
	text := formatted(t, two(t), func(in *catalog.Input) { in.NoAliases = true }).Aside()
	holds(t, text, "The location is information only", "by its name")
	want(t, "locations", strings.Contains(text, "exact location"), false)
}

func TestP011_NoSkillsNothing(t *testing.T) {
	t.Parallel()
	c := formatted(t, none(t))
	want(t, "injected", c.Prefix()+c.Aside(), "")
}

func TestP012_SearchFirstIsAHintOnly(t *testing.T) {
	t.Parallel()
	c := formatted(t, two(t), first)
	holds(t, c.Prefix(), "`skill_search`")
	want(t, "block", c.Stable.Text+c.Aside(), "")
	want(t, "names", strings.Contains(c.Prefix(), "alpha") || strings.Contains(c.Prefix(), "available_skills"), false)
}

func TestP013_SearchFirstWithoutASource(t *testing.T) {
	t.Parallel()
	holds(t, formatted(t, &registry.Snapshot{}, first).Prefix(), "`skill_search`")
	m := inMemory("a")
	h := open(t, setup{fsys: m})
	v := h.view()
	m.put("skills/b/SKILL.md", text("b"))
	h.pass(time.Minute)
	want(t, "a given one is refreshed", formatted(t, check(t, v), first).Report.Total, 2)
}

func TestP014_SearchFirstWithoutTheToolIsNothing(t *testing.T) {
	t.Parallel()
	c := formatted(t, two(t), first, func(in *catalog.Input) { in.Tools.Search = "" })
	want(t, "injected", c.Prefix()+c.Aside(), "")
}

func TestP015_SearchToolNotInTheStepIsNothing(t *testing.T) {
	t.Parallel()
	// A host that takes the tool out of a step renders the step without it.
	r := catalog.New(catalog.Config{Counter: catalog.Estimate()})
	in := catalog.Input{Snapshot: two(t), Dialect: skill.Mastra, Mode: catalog.ModeSearch, Tools: tools}
	for _, has := range []bool{true, false, true} {
		if in.Tools.Search = ""; has {
			in.Tools.Search = "skill_search"
		}
		c, err := r.Render(t.Context(), in)
		want(t, "injected", []any{c.Prefix() != "", err}, []any{has, nil})
	}
}

// workspace opens an engine over skills on the disk.
func workspace(t *testing.T, o deft.Options, names ...string) *deft.Engine {
	t.Helper()
	var dirs []string
	for _, n := range names {
		dirs = append(dirs, "skills/"+n)
	}
	o.Workspace, o.Dialect, o.NoBuiltin = onDisk(t, skillsAt(dirs...)), skill.Mastra, true
	o.Sources = append(o.Sources, filepath.Join(o.Workspace, "skills"))
	return suitetest.Engine(t, o)
}

var request = deft.Input{Text: "hello", Origin: gate.Interactive, Principal: "user"}

// planned is a turn up to its first request.
func planned(t *testing.T, e *deft.Engine) deft.Plan {
	t.Helper()
	p, err := suitetest.Session(t, e).Plan(t.Context(), request)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// blockOf returns a block of a prompt, "" where it has none.
func blockOf(blocks []agent.Block, name string) string {
	for _, b := range blocks {
		if b.Name == name {
			return b.Text
		}
	}
	return ""
}

func TestP016_TheTraceSaysModeCountFormat(t *testing.T) {
	t.Parallel()
	rep := planned(t, workspace(t, deft.Options{}, "alpha", "beta")).Plan.Catalog.Report
	want(t, "record", []any{rep.Mode, rep.Shown, rep.Format}, []any{catalog.ModeStable, 2, catalog.XML})
}

func TestP017_TheCatalogIsTheDefault(t *testing.T) {
	t.Parallel()
	want(t, "mode", formatted(t, two(t)).Report.Mode, catalog.ModeStable)
}

func TestP018_TheRequestReachesTheRefreshOnce(t *testing.T) {
	t.Parallel()
	asked := 0
	m := inMemory("a")
	h := open(t, setup{views: registry.Views{FS: func(_ context.Context, c registry.RequestContext) (fs.FS, error) {
		asked++
		want(t, "request", c.Value("user"), "u1")
		return m, nil
	}}})
	v := h.of(registry.NewRequest(map[string]any{"user": "u1"}))
	h.pass(time.Minute)
	check(t, v)
	check(t, v)
	want(t, "asked", asked, 1)
}

func TestP019_ARefreshThatNeverEndsBlocksNoStep(t *testing.T) {
	t.Parallel()
	m := inMemory("a")
	h := open(t, setup{fsys: m, async: true})
	v := h.view()
	_, release := slowly(m)
	defer release()
	h.pass(time.Minute)
	want(t, "step", names(check(t, v)), []string{"a"})
}

// flaky is a source whose next scans fail.
type flaky struct {
	source.Source
	fails atomic.Bool
}

func (f *flaky) Scan(ctx context.Context, prev *source.Listing) (*source.Listing, error) {
	if f.fails.Load() {
		return nil, errors.New("out of order")
	}
	return f.Source.Scan(ctx, prev)
}

// failing is a workspace whose next refresh fails, and what the host is told.
func failing(t *testing.T) (*registry.View, func() []string) {
	t.Helper()
	tree := fstest.MapFS{"a/SKILL.md": {Data: []byte(text("a")), ModTime: past}}
	src := &flaky{Source: source.FS(tree, source.DirOptions{Info: source.Info{ID: "flaky", Kind: source.User, Trust: source.Trusted}, Format: format})}
	var told []string
	h := open(t, setup{fsys: inMemory(), sources: []source.Source{src}, report: func(d skill.Diagnostic) {
		told = append(told, d.Code+": "+d.Message)
	}})
	v := h.view()
	want(t, "before", names(v.Snapshot()), []string{"a"})
	src.fails.Store(true)
	h.pass(time.Minute)
	return v, func() []string { return told }
}

func TestP020_AFailingRefreshKeepsTheOldCatalog(t *testing.T) {
	t.Parallel()
	v, _ := failing(t)
	before := formatted(t, v.Snapshot())
	want(t, "step", formatted(t, check(t, v)).Stable, before.Stable)
	holds(t, before.Stable.Text, "<name>a</name>")
}

func TestP021_TheWarningGoesToTheHostsLogger(t *testing.T) {
	t.Parallel()
	v, told := failing(t)
	check(t, v)
	holds(t, strings.Join(told(), "\n"), "out of order")
}

func TestP022_ABlockingRefreshWaits(t *testing.T) {
	t.Parallel()
	m := inMemory("a")
	h := open(t, setup{fsys: m})
	v := h.view()
	m.put("skills/b/SKILL.md", text("b"))
	h.pass(time.Minute)
	want(t, "step", names(check(t, v)), []string{"a", "b"})
}

func TestP023_ABlockingRefreshThatFailsStopsNothing(t *testing.T) {
	t.Parallel()
	v, _ := failing(t)
	for range 3 {
		want(t, "step", names(check(t, v)), []string{"a"})
	}
}

func TestP024_SortedByName(t *testing.T) {
	t.Parallel()
	v := open(t, setup{fsys: inMemory("b", "c", "a"), forms: []string{"skills/c", "skills/a", "skills/b"}}).view()
	var got []string
	for _, e := range shownBy(t, formatted(t, v.Snapshot()), catalog.XML) {
		got = append(got, e.Name)
	}
	want(t, "names", got, []string{"a", "b", "c"})
}

func TestP025_AliasesAreShownOnce(t *testing.T) {
	t.Parallel()
	v := open(t, setup{fsys: inMemory("a"), forms: []string{"skills", "skills/a", "skills/a/SKILL.md"}}).view()
	var got []string
	for _, e := range shownBy(t, formatted(t, v.Snapshot()), catalog.XML) {
		got = append(got, e.Name, e.Location)
	}
	want(t, "entries", got, []string{"a", "skills/a/SKILL.md"})
}

// steps runs a turn of two steps and returns what stood in the system text of each.
func steps(t *testing.T, e *deft.Engine) (prompts []string, refreshes uint64) {
	t.Helper()
	m := scripted.New("two steps", scripted.Script{Steps: []scripted.Step{{Calls: []scripted.Call{{Name: "skill", Input: map[string]string{"name": "alpha"}}}}, {Text: "done"}}})
	s, err := e.NewSession(t.Context(), deft.SessionOptions{Model: m})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	before := e.Snapshot().Version
	for _, err := range s.Run(t.Context(), request) {
		if err != nil {
			t.Fatal(err)
		}
	}
	for _, r := range m.Requests() {
		text := ""
		for _, b := range r.System {
			text += b.Text + "\n"
		}
		prompts = append(prompts, text)
	}
	return prompts, e.Snapshot().Version - before
}

func TestP026_InjectedOnEveryStep(t *testing.T) {
	t.Parallel()
	got, _ := steps(t, workspace(t, deft.Options{}, "alpha", "beta"))
	want(t, "steps", len(got), 2)
	for _, system := range got {
		holds(t, system, "<name>alpha</name>", "never call a skill's name as a tool")
	}
}

func TestP027_RefreshedOnTheFirstStepOnly(t *testing.T) {
	t.Parallel()
	_, refreshes := steps(t, workspace(t, deft.Options{Cooldown: time.Nanosecond, Blocking: true}, "alpha"))
	want(t, "at most one", refreshes <= 1, true)
}

func TestP028_NoSkillsSupportNothing(t *testing.T) {
	t.Parallel()
	p := planned(t, workspace(t, deft.Options{}))
	want(t, "blocks", blockOf(p.Blocks, "catalog")+blockOf(p.Blocks, "guidance"), "")
}

func TestP029_SkillsAreNotTools(t *testing.T) {
	t.Parallel()
	holds(t, formatted(t, two(t)).Aside(), "A skill is not a tool", "never call a skill's name")
}

func TestP030_AnEmptyListIsAnEmptyBlock(t *testing.T) {
	t.Parallel()
	for f, block := range map[catalog.Format]string{
		catalog.XML: "<available_skills>\n</available_skills>", catalog.JSON: "Available Skills:\n\n[]", catalog.Markdown: "# Available Skills",
	} {
		want(t, string(f), formatted(t, none(t), as(f)).Stable.Text, block)
	}
}

func TestP031_XMLGolden(t *testing.T) {
	t.Parallel()
	want(t, "block", formatted(t, two(t)).Stable.Text, goldenXML)
}

func TestP032_TheCallersListStays(t *testing.T) {
	t.Parallel()
	s := *two(t)
	slices.Reverse(s.Winners)
	before := slices.Clone(s.Winners)
	want(t, "sorted", strings.HasPrefix(formatted(t, &s).Stable.Text, goldenXML[:50]), true)
	want(t, "list", slices.Equal(s.Winners, before), true)
}

func TestP033_XMLIsEscaped(t *testing.T) {
	t.Parallel()
	m := inMemory()
	m.put("skills/a/SKILL.md", "---\nname: a\ndescription: \"a & b < c > d \\\" e ' f\"\n---\n")
	c := formatted(t, open(t, setup{fsys: m}).view().Snapshot())
	holds(t, c.Stable.Text, "<description>a &amp; b &lt; c &gt; d &quot; e &apos; f</description>")
	var doc struct {
		Skill struct {
			Description string `xml:"description"`
		} `xml:"skill"`
	}
	want(t, "an XML reader", xml.Unmarshal([]byte(c.Stable.Text), &doc), nil)
	want(t, "description", doc.Skill.Description, `a & b < c > d " e ' f`)
}

func TestP034_JSONAndMarkdownGolden(t *testing.T) {
	t.Parallel()
	text := formatted(t, two(t), as(catalog.JSON)).Stable.Text
	want(t, "json", text, goldenJSON)
	want(t, "a JSON reader", json.Valid([]byte(strings.TrimPrefix(text, "Available Skills:\n\n"))), true)
	want(t, "markdown", formatted(t, two(t), as(catalog.Markdown)).Stable.Text, goldenMarkdown)
}

func TestP035_TheFormatterWritesWhatIsInjected(t *testing.T) {
	t.Parallel()
	e := workspace(t, deft.Options{}, "alpha", "beta")
	want(t, "block", blockOf(planned(t, e).Blocks, "catalog"), formatted(t, e.Snapshot()).Stable.Text)
}

func TestP036_NoBudget(t *testing.T) {
	t.Parallel()
	var names []string
	for i := range 1000 {
		names = append(names, fmt.Sprintf("skill-%03d", i))
	}
	rep := formatted(t, open(t, setup{fsys: inMemory(names...)}).view().Snapshot(), func(in *catalog.Input) { in.Budget.Window = 8000 }).Report
	want(t, "full, budget", []int{rep.Full, rep.Budget}, []int{1000, 0})
}

func TestP037_AddedUnlessLoadedOnDemand(t *testing.T) {
	t.Parallel()
	for mode, listed := range map[toolset.OnDemand]bool{"": true, toolset.OnDemandOnly: false, toolset.OnDemandBeside: true} {
		p := planned(t, workspace(t, deft.Options{SkillTools: toolset.Options{OnDemand: mode}}, "alpha"))
		want(t, "listed "+string(mode), strings.Contains(blockOf(p.Blocks, "catalog"), "<name>alpha</name>"), listed)
	}
}
