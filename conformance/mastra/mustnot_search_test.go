package mastra

import (
	"context"
	"errors"
	"io/fs"
	"slices"
	"strings"
	"testing"

	"github.com/deftskills/deft/registry"
	"github.com/deftskills/deft/search"
	"github.com/deftskills/deft/skill"
	"github.com/deftskills/deft/source"
)

// indexOf is an index over a Snapshot in a dialect.
func indexOf(t *testing.T, d skill.Dialect, s *registry.Snapshot) *search.Index {
	t.Helper()
	x, err := search.Open(search.Options{Dialect: d})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = x.Close() })
	update(t, x, s)
	return x
}

func TestM003_AReferenceThatCannotBeReadFailsNoSearch(t *testing.T) {
	t.Parallel()
	everyDialect(t, func(t *testing.T, d skill.Dialect) {
		m := inMemory("a", "b")
		m.put("skills/a/references/locked.md", "zebra")
		m.put("skills/b/references/doc.md", "zebra")
		m.refuse["skills/a/references/locked.md"] = fs.ErrPermission
		hits := found(t, indexOf(t, d, open(t, setup{dialect: d, fsys: m}).view().Snapshot()), search.Query{Text: "zebra"})
		want(t, "hits", places(hits), []string{"b references/doc.md"})
		linked := found(t, indexOf(t, d, registryOf(t, linked(t, d))), search.Query{Text: "secret"})
		want(t, "hits outside", len(linked), 0)
	})
}

// registryOf is the Snapshot that a record is of.
func registryOf(t *testing.T, r *registry.Record) *registry.Snapshot {
	t.Helper()
	reg, err := registry.Open(t.Context(), registry.Config{Dialect: skill.Deft, Sources: []source.Source{r.From}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { reg.Close() })
	return reg.Snapshot()
}

// twins are two skills of one name whose texts have a word each.
func twins(t *testing.T) *registry.Snapshot {
	t.Helper()
	m := inMemory()
	m.put("one/x/SKILL.md", text("x")+"zebra\n")
	m.put("two/x/SKILL.md", text("x")+"okapi\n")
	return own(t, setup{fsys: m, forms: []string{"one", "two"}}).view().Snapshot()
}

func TestM005_AHitIsOfItsOwnText(t *testing.T) {
	t.Parallel()
	s := twins(t)
	x := indexOf(t, skill.Deft, s)
	winner := need(t, s, "x")
	words := map[string]string{"one/x": "zebra", "two/x": "okapi"}
	for path, word := range words {
		for _, h := range found(t, x, search.Query{Text: word}) {
			if !strings.Contains(h.Location, path) || !strings.Contains(h.Matches[0].Snippet, word) {
				t.Errorf("%s in %s: %+v; the winner is %s", word, path, h, winner.Location)
			}
		}
	}
	want(t, "the winner is found", len(found(t, x, search.Query{Text: words[winner.Path()]})), 1)
}

func TestM006_AShadowedSkillTakesNoPlace(t *testing.T) {
	t.Parallel()
	m := inMemory("other")
	m.put("skills/x/SKILL.md", text("x")+strings.Repeat("zebra ", 20)+"\n")
	m.put("skills/other/SKILL.md", text("other")+"One zebra.\n")
	h := own(t, setup{fsys: m, views: registry.Views{Data: func(context.Context, registry.RequestContext) ([]source.Definition, error) {
		return []source.Definition{{Name: "x", Description: "From code.", Content: "Nothing of that."}}, nil
	}}})
	hits := found(t, indexOf(t, skill.Deft, h.view().Snapshot()), search.Query{Text: "zebra", TopK: 1})
	want(t, "hits", places(hits), []string{"other SKILL.md"})
}

func TestM007_HitsOfSeveralViewsAreNotMoreThanAskedFor(t *testing.T) {
	t.Parallel()
	m := inMemory("a", "b", "c", "d")
	x := indexOf(t, skill.Deft, own(t, setup{fsys: m}).view().Snapshot())
	for _, mode := range []search.Mode{search.Auto, ""} {
		res, err := x.Search(t.Context(), search.Query{Text: "body", TopK: 2, Mode: mode})
		want(t, "hits, error", []any{len(res.Hits), err}, []any{2, nil})
	}
}

func TestM008_HeadersAreSearched(t *testing.T) {
	t.Parallel()
	m := inMemory()
	m.put("skills/quartz-cutter/SKILL.md", "---\nname: quartz-cutter\ndescription: Polishes obsidian.\nmetadata:\n  hermes: {tags: [feldspar]}\n---\nBody.\n")
	x := indexOf(t, skill.Deft, own(t, setup{fsys: m}).view().Snapshot())
	for _, word := range []string{"quartz", "obsidian", "feldspar"} {
		want(t, word, len(found(t, x, search.Query{Text: word})), 1)
	}
}

func TestM009_APartOfAChineseRunIsFound(t *testing.T) {
	t.Parallel()
	m := inMemory()
	m.put("skills/x/SKILL.md", "---\nname: x\ndescription: d\n---\n把季度销售报表导出为电子表格。\n")
	x := indexOf(t, skill.Deft, own(t, setup{fsys: m}).view().Snapshot())
	for _, part := range []string{"销售报表", "电子表格", "报表"} {
		want(t, part, len(found(t, x, search.Query{Text: part})), 1)
	}
}

func TestM033_AHitNamesTheFileThatMatched(t *testing.T) {
	t.Parallel()
	x := indexOf(t, skill.Deft, own(t, setup{fsys: library()}).view().Snapshot())
	want(t, "hits", places(found(t, x, search.Query{Text: "syzygy"})), []string{"tides references/moon.md"})
}

func TestM031_ManualSkillsAreNotTheModels(t *testing.T) {
	t.Parallel()
	m := inMemory("other")
	m.put("skills/x/SKILL.md", "---\nname: x\ndescription: d\ndisable-model-invocation: true\n---\nBody.\n")
	s := own(t, setup{fsys: m}).view().Snapshot()
	_, err := s.LookupForModel("x")
	var unknown *registry.UnknownError
	want(t, "refused, suggested", []bool{errors.As(err, &unknown), unknown != nil && slices.Contains(unknown.Suggestions, "x")}, []bool{true, false})
	want(t, "a person finds it", need(t, s, "x").Skill.Name, "x")
}
