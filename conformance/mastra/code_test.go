package mastra

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"strings"
	"testing"

	"github.com/deftskills/deft/registry"
	"github.com/deftskills/deft/skill"
	"github.com/deftskills/deft/source"
)

var format = source.Format{Dialect: skill.Mastra}

func define(name string) source.Definition {
	return source.Definition{
		Name: name, Description: "Does " + name + ".", Content: "Do " + name + ".",
		References: map[string]string{"references/guide.md": "the guide", "references/deep/more.md": "more"},
	}
}

// inline opens a workspace with skills given in code beside those of m.
func inline(t *testing.T, m *memory, defs ...source.Definition) *registry.Snapshot {
	t.Helper()
	return open(t, setup{fsys: m, views: registry.Views{Data: func(context.Context, registry.RequestContext) ([]source.Definition, error) {
		return defs, nil
	}}}).view().Snapshot()
}

func TestD001_OneInlineSkillIsListed(t *testing.T) {
	t.Parallel()
	r := need(t, inline(t, inMemory(), define("x")), "x")
	want(t, "path, type", []string{r.Path(), typeOf(r)}, []string{"inline/x", "local"})
}

func TestD002_SeveralAreAllListed(t *testing.T) {
	t.Parallel()
	want(t, "list", paths(inline(t, inMemory(), define("x"), define("y"))), []string{"inline/x", "inline/y"})
}

func TestD003_GetGivesBodyAndReferences(t *testing.T) {
	t.Parallel()
	r := need(t, inline(t, inMemory(), define("x")), "x")
	l, err := source.Load(t.Context(), r.Entry)
	want(t, "body, error", []any{strings.TrimSpace(l.Body), err}, []any{"Do x.", nil})
	want(t, "references", resources(t, r, "references"), []string{"deep/more.md", "guide.md"})
}

func TestD004_GetByPath(t *testing.T) {
	t.Parallel()
	want(t, "name", need(t, inline(t, inMemory(), define("x")), "inline/x").Skill.Name, "x")
}

func TestD005_UnknownIsNotFound(t *testing.T) {
	t.Parallel()
	want(t, "found", get(t, inline(t, inMemory(), define("x")), "inline/y") == nil, true)
}

func TestD006_Has(t *testing.T) {
	t.Parallel()
	s := inline(t, inMemory(), define("x"))
	want(t, "has", []bool{get(t, s, "x") != nil, get(t, s, "y") != nil}, []bool{true, false})
}

func TestD007_ReferenceContent(t *testing.T) {
	t.Parallel()
	got, err := read(t, need(t, inline(t, inMemory(), define("x")), "x"), "references/guide.md")
	want(t, "text, error", []any{got, err}, []any{"the guide", nil})
}

func TestD008_NoInlineSkills(t *testing.T) {
	t.Parallel()
	want(t, "list", names(inline(t, inMemory())), []string{})
}

func TestD009_MinimalDefinition(t *testing.T) {
	t.Parallel()
	want(t, "error", source.Definition{Name: "x", Description: "d", Content: "c"}.Check(format), nil)
}

func TestD010_ReferencesAreKept(t *testing.T) {
	t.Parallel()
	r := need(t, inline(t, inMemory(), define("x")), "x")
	for name, content := range define("x").References {
		got, err := read(t, r, name)
		want(t, name, []any{got, err}, []any{content, nil})
	}
}

func TestD011_OptionalFieldsAreKept(t *testing.T) {
	t.Parallel()
	no := false
	d := define("x")
	d.Version, d.UserInvocable = "1.2.0", &no
	r := need(t, inline(t, inMemory(), d), "x")
	want(t, "fields", []any{r.Skill.Meta.Version, r.Skill.Meta.UserInvocable}, []any{"1.2.0", false})
}

func TestD012_BadDefinitionsSayWhy(t *testing.T) {
	t.Parallel()
	for name, d := range map[string]source.Definition{
		"Bad_Name": {Name: "Bad_Name", Description: "d", Content: "c"},
		"x":        {Name: "x", Content: "c"},
		"a--b":     {Name: "a--b", Description: "d", Content: "c"},
	} {
		err := d.Check(format)
		want(t, name, err != nil && strings.HasPrefix(err.Error(), `Invalid skill "`+name+`": `), true)
	}
	err := source.Definition{Name: "A--B", Content: "c"}.Check(format)
	want(t, "joined", err != nil && strings.Contains(err.Error(), "; "), true)
}

func TestD013_WithoutARequiredFieldItIsNone(t *testing.T) {
	t.Parallel()
	want(t, "list", names(inline(t, inMemory(), source.Definition{Description: "d", Content: "c"}, source.Definition{Name: "x", Content: "c"})), []string{})
}

// exists says whether a file of the inline skill x is there.
func exists(t *testing.T, rel string, d source.Definition) bool {
	t.Helper()
	f, err := open1(t, rel, d)
	if err != nil {
		want(t, rel+" is absent", errors.Is(err, fs.ErrNotExist), true)
		return false
	}
	f.Close()
	return true
}

func open1(t *testing.T, rel string, d source.Definition) (fs.File, error) {
	t.Helper()
	r := need(t, inline(t, inMemory(), d), d.Name)
	return r.From.Open(t.Context(), r.Entry, rel)
}

func TestD014_WhatExists(t *testing.T) {
	t.Parallel()
	for rel, there := range map[string]bool{".": true, "SKILL.md": true, "references/guide.md": true, "references/no.md": false, "scripts": false, "x": false} {
		want(t, rel, exists(t, rel, define("x")), there)
	}
}

func TestD015_ReferencesExistOnlyIfThereAreAny(t *testing.T) {
	t.Parallel()
	want(t, "with", exists(t, "references", define("x")), true)
	want(t, "without", exists(t, "references", source.Definition{Name: "x", Description: "d", Content: "c"}), false)
}

func TestD016_KindsAndSizes(t *testing.T) {
	t.Parallel()
	for rel, dir := range map[string]bool{".": true, "references": true, "SKILL.md": false, "references/guide.md": false} {
		f, err := open1(t, rel, define("x"))
		if err != nil {
			t.Fatal(err)
		}
		st, err := f.Stat()
		want(t, rel, []any{st.IsDir(), dir || st.Size() > 0, err}, []any{dir, true, nil})
		f.Close()
	}
	want(t, "unknown", exists(t, "no", define("x")), false)
}

func TestD017_SynthesisedFile(t *testing.T) {
	t.Parallel()
	got, err := read(t, need(t, inline(t, inMemory(), define("x")), "x"), "SKILL.md")
	want(t, "header and body", []any{strings.HasPrefix(got, "---\n"), strings.HasSuffix(got, "Do x."), err}, []any{true, true, nil})
}

func TestD018_ReferenceText(t *testing.T) {
	t.Parallel()
	got, err := read(t, need(t, inline(t, inMemory(), define("x")), "x"), "references/deep/more.md")
	want(t, "text, error", []any{got, err}, []any{"more", nil})
}

func TestD019_UnknownFile(t *testing.T) {
	t.Parallel()
	want(t, "exists", exists(t, "references/unknown.md", define("x")), false)
}

func entries(t *testing.T, rel string) []string {
	t.Helper()
	f, err := open1(t, rel, define("x"))
	if err != nil {
		return nil
	}
	defer f.Close()
	list, err := f.(fs.ReadDirFile).ReadDir(-1)
	if err != nil && !errors.Is(err, io.EOF) {
		t.Fatal(err)
	}
	var out []string
	for _, e := range list {
		out = append(out, e.Name())
	}
	return out
}

func TestD020_FoldersAreListed(t *testing.T) {
	t.Parallel()
	want(t, "skill", entries(t, "."), []string{"SKILL.md", "references"})
	want(t, "references", entries(t, "references"), []string{"deep", "guide.md"})
}

func TestD021_UnknownFolderIsEmpty(t *testing.T) {
	t.Parallel()
	want(t, "entries", entries(t, "unknown"), []string{})
}

func TestD022_EmptyInstructionsAreAccepted(t *testing.T) {
	t.Parallel()
	need(t, inline(t, inMemory(), source.Definition{Name: "x", Description: "d"}), "x")
}

func TestD023_InlineHidesTheWorkspaceSkillOfItsName(t *testing.T) {
	t.Parallel()
	s := inline(t, inMemory("x", "y"), define("x"))
	want(t, "list", paths(s), []string{"inline/x", "skills/y"})
	want(t, "resolved", need(t, s, "x").Path(), "inline/x")
}

func TestD024_FunctionRunsOnceARequestAndAgainAfterAFailure(t *testing.T) {
	t.Parallel()
	calls := 0
	h := open(t, setup{fsys: inMemory(), views: registry.Views{Data: func(_ context.Context, c registry.RequestContext) ([]source.Definition, error) {
		if calls++; calls == 1 {
			return nil, errors.New("no answer")
		}
		return []source.Definition{define(c.Value("name").(string))}, nil
	}}})
	c := registry.NewRequest(map[string]any{"name": "x"})
	_, err := h.r.View(t.Context(), registry.Scope{Request: c})
	want(t, "failure", err != nil, true)
	need(t, h.of(c).Snapshot(), "x")
	need(t, h.of(c).Snapshot(), "x")
	want(t, "calls", calls, 2)
}
