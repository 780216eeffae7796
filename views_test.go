package deft_test

import (
	"context"
	"errors"
	"io/fs"
	"testing"
	"testing/fstest"

	"github.com/deftskills/deft"
	"github.com/deftskills/deft/registry"
	"github.com/deftskills/deft/search"
)

func tenant(name string) fs.FS {
	return fstest.MapFS{"skills/" + name + "/SKILL.md": {Data: []byte("---\nname: " + name + "\ndescription: Weighs zebras.\n---\n# T\n\nzebra\n")}}
}

func TestViewsOfAnEngineSearchTheirOwnSkillsOnly(t *testing.T) {
	t.Parallel()
	trees := map[string]fs.FS{"a": tenant("alpha"), "b": tenant("beta")}
	e, err := deft.Open(t.Context(), deft.Options{
		Workspace: t.TempDir(),
		Paths:     func(context.Context, registry.RequestContext) ([]string, error) { return []string{"skills"}, nil },
		FS: func(_ context.Context, c registry.RequestContext) (fs.FS, error) {
			tree := trees[c.Value("tenant").(string)]
			return tree, nil
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	defer e.Close()
	for id, name := range map[string]string{"a": "alpha", "b": "beta"} {
		v, err := e.View(t.Context(), registry.Scope{Request: registry.NewRequest(map[string]any{"tenant": id})})
		if err != nil {
			t.Fatal(err)
		}
		res, err := e.SearchView(t.Context(), v, search.Query{Text: "zebra"})
		if err != nil || len(res.Hits) != 1 || res.Hits[0].Name != name {
			t.Errorf("%s: %v %v", id, res.Hits, err)
		}
		v.Close()
	}
	_, err = e.View(t.Context(), registry.Scope{Request: registry.NewRequest(map[string]any{"tenant": "nobody"})})
	if !errors.Is(err, registry.ErrNoFilesystem) {
		t.Errorf("a tenant without a file system: %v", err)
	}
}
