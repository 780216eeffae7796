package mastra

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"unsafe"

	"github.com/deftskills/deft/catalog"
	"github.com/deftskills/deft/skill"
	"github.com/deftskills/deft/toolset"
)

func TestM017_NotFoundNamesNothingHidden(t *testing.T) {
	t.Parallel()
	m := inMemory("visible")
	m.put("skills/visibly/SKILL.md", "---\nname: visibly\ndescription: d\ndisable-model-invocation: true\n---\nb\n")
	for i := range 30 {
		name := fmt.Sprintf("other-%02d", i)
		m.put("skills/"+name+"/SKILL.md", text(name))
	}
	said := deskIn(t, skill.Deft, m).result("skill", "name", "visibl").Text
	want(t, "the close one, the hidden one, the whole catalog",
		[]bool{strings.Contains(said, "visible"), strings.Contains(said, "visibly"), strings.Contains(said, "other-17")}, []bool{true, false, false})
}

func TestM018_FailedCallsAreResults(t *testing.T) {
	t.Parallel()
	d := deskIn(t, skill.Deft, inMemory("a"))
	for _, tool := range toolset.Skills(d.o) {
		if tool.Spec().Name == "tool_invoke" {
			continue // it is another call by the time a tool is called
		}
		for _, input := range []string{`{}`, `null`, `[]`, `{"name": 3}`, `{"name": "a", "path": "../../x"}`, `{"name": "a", "path": "\u0000"}`, `{"name": "nope", "path": "x"}`, `{"name`} {
			res, err := tool.Call(t.Context(), toolset.Call{Input: json.RawMessage(input), Turn: d.turn})
			if err != nil || res.Text == "" {
				t.Errorf("%s %s: %q, %v", tool.Spec().Name, input, res.Text, err)
			}
		}
	}
}

func TestM034_ReadingIsBoundedAndStaysInside(t *testing.T) {
	t.Parallel()
	m := inMemory("a")
	m.put("skills/a/notes.txt", "the notes")
	m.put("skills/a/references/long.md", strings.Repeat("a line of forty characters, more or less\n", 50_000))
	d := deskIn(t, skill.Deft, m)
	want(t, "inside", strings.Contains(d.call("skill_read", "name", "a", "path", "references/../notes.txt"), "the notes"), true)
	if n := len(d.call("skill_read", "name", "a", "path", "references/long.md")); n > 300<<10 {
		t.Errorf("%d bytes for the model", n)
	}
}

// many is a library that no budget holds whole.
func many(t *testing.T, n int) catalog.Input {
	t.Helper()
	m := inMemory()
	for i := range n {
		name := fmt.Sprintf("skill-%04d", i)
		m.put("skills/"+name+"/SKILL.md", text(name))
	}
	return catalog.Input{Snapshot: own(t, setup{fsys: m}).view().Snapshot(), Tools: tools, Budget: catalog.Budget{Window: 50_000}}
}

func TestM025_EqualInputsGiveTheTextThatWasKept(t *testing.T) {
	t.Parallel()
	c, in := catalog.New(catalog.Config{Counter: catalog.Estimate()}), many(t, 50)
	first, err := c.Render(t.Context(), in)
	if err != nil {
		t.Fatal(err)
	}
	second, err := c.Render(t.Context(), in)
	want(t, "the same text, error", []any{unsafe.StringData(first.Stable.Text) == unsafe.StringData(second.Stable.Text), err}, []any{true, nil})
}

func TestM026_ACatalogHasABudgetAndSaysWhatItCuts(t *testing.T) {
	t.Parallel()
	in := many(t, 200)
	in.Mode = catalog.ModeStable
	c, err := catalog.New(catalog.Config{Counter: catalog.Estimate()}).Render(t.Context(), in)
	if err != nil {
		t.Fatal(err)
	}
	if n, limit := c.Report.Used, c.Report.Budget; n > limit || limit == 0 {
		t.Errorf("%d of %d", n, limit)
	}
	if !strings.Contains(c.Prefix(), "200") {
		t.Errorf("nothing says how many there are:\n%.600s", c.Prefix())
	}
}
