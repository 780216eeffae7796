package mastra

import (
	"context"
	"errors"
	"io/fs"
	"slices"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"github.com/deftskills/deft/registry"
	"github.com/deftskills/deft/search"
	"github.com/deftskills/deft/skill"
	"github.com/deftskills/deft/source"
	"github.com/deftskills/deft/store/blobs"
)

// tree puts files into a store.
func tree(t *testing.T, s blobs.Store, files map[string]string) skill.Tree {
	t.Helper()
	var out skill.Tree
	for name, content := range files {
		out = append(out, skill.FileEntry{Path: name, Blob: put(t, s, content), Size: int64(len(content))})
	}
	slices.SortFunc(out, func(a, b skill.FileEntry) int { return strings.Compare(a.Path, b.Path) })
	return out
}

var (
	older = time.Date(2024, 1, 1, 0, 0, 0, 0, time.UTC)
	newer = time.Date(2025, 1, 1, 0, 0, 0, 0, time.UTC)
)

const png = "\x89PNG\r\n\x1a\n\x00\xff"

// files are those of one version.
func files(name string) map[string]string {
	return map[string]string{"SKILL.md": text(name), "references/doc.md": "the doc of " + name, "assets/a.png": png}
}

func version(t *testing.T, b blobs.Store) fs.FS {
	t.Helper()
	v, err := source.VersionFS(tree(t, b, files("a")), b, older)
	if err != nil {
		t.Fatal(err)
	}
	return v
}

func thereIs(fsys fs.FS, name string) bool {
	_, err := fs.Stat(fsys, name)
	return err == nil
}

// notThere wants an error of what is missing, in the words of the dialect.
func notThere(t *testing.T, err error, words string) {
	t.Helper()
	if !errors.Is(err, fs.ErrNotExist) || !strings.HasPrefix(err.Error(), words) {
		t.Errorf("%v, want %q", err, words)
	}
}

func TestB020_VersionHasAFile(t *testing.T) {
	t.Parallel()
	onEach(t, func(t *testing.T, b blobs.Store) {
		want(t, "exists", thereIs(version(t, b), "references/doc.md"), true)
	})
}

func TestB021_VersionHasAnImpliedDirectory(t *testing.T) {
	t.Parallel()
	onEach(t, func(t *testing.T, b blobs.Store) {
		want(t, "exists", thereIs(version(t, b), "references"), true)
	})
}

func TestB022_VersionHasItsRoot(t *testing.T) {
	t.Parallel()
	onEach(t, func(t *testing.T, b blobs.Store) {
		for _, root := range []string{"", "."} {
			p, err := source.TreePath(root)
			want(t, root, []any{err, thereIs(version(t, b), p)}, []any{nil, true})
		}
	})
}

func TestB023_VersionHasNothingElse(t *testing.T) {
	t.Parallel()
	onEach(t, func(t *testing.T, b blobs.Store) {
		want(t, "exists", thereIs(version(t, b), "references/other.md"), false)
	})
}

func TestB024_StatOfAFile(t *testing.T) {
	t.Parallel()
	onEach(t, func(t *testing.T, b blobs.Store) {
		st, err := fs.Stat(version(t, b), "references/doc.md")
		want(t, "size, kind, time, error", []any{st.Size(), st.Mode().IsRegular(), st.ModTime(), err}, []any{len("the doc of a"), true, older, nil})
	})
}

func TestB025_StatOfADirectory(t *testing.T) {
	t.Parallel()
	onEach(t, func(t *testing.T, b blobs.Store) {
		st, err := fs.Stat(version(t, b), "references")
		want(t, "kind, error", []any{st.IsDir(), err}, []any{true, nil})
	})
}

func TestB026_StatOfAMissingPath(t *testing.T) {
	t.Parallel()
	onEach(t, func(t *testing.T, b blobs.Store) {
		_, err := fs.Stat(version(t, b), "nope")
		notThere(t, err, "Path not found in skill version tree: nope")
	})
}

func TestB027_ReadGivesContent(t *testing.T) {
	t.Parallel()
	onEach(t, func(t *testing.T, b blobs.Store) {
		got, err := fs.ReadFile(version(t, b), "references/doc.md")
		want(t, "text, error", []any{string(got), err}, []any{"the doc of a", nil})
	})
}

func TestB028_ReadOfAMissingFile(t *testing.T) {
	t.Parallel()
	onEach(t, func(t *testing.T, b blobs.Store) {
		_, err := fs.ReadFile(version(t, b), "nope")
		notThere(t, err, "File not found in skill version tree: nope")
	})
}

func TestB029_MissingBlob(t *testing.T) {
	t.Parallel()
	onEach(t, func(t *testing.T, b blobs.Store) {
		v := version(t, b)
		d := skill.FileDigest([]byte(text("a")))
		if ok, err := b.Delete(t.Context(), d); !ok || err != nil {
			t.Fatal(ok, err)
		}
		_, err := fs.ReadFile(v, "SKILL.md")
		notThere(t, err, "Blob not found for hash "+string(d)+" (file: SKILL.md)")
		want(t, "nothing after it", err.Error(), "Blob not found for hash "+string(d)+" (file: SKILL.md)")
	})
}

// listing is the names in a directory, directories with a slash.
func listing(t *testing.T, fsys fs.FS, dir string) []string {
	t.Helper()
	list, err := fs.ReadDir(fsys, dir)
	if err != nil {
		t.Fatal(err)
	}
	var out []string
	for _, e := range list {
		name := e.Name()
		if e.IsDir() {
			name += "/"
		}
		out = append(out, name)
	}
	return out
}

func TestB030_ReadDir(t *testing.T) {
	t.Parallel()
	onEach(t, func(t *testing.T, b blobs.Store) {
		v := version(t, b)
		want(t, "root", listing(t, v, "."), []string{"SKILL.md", "assets/", "references/"})
		want(t, "below", listing(t, v, "references"), []string{"doc.md"})
		_, err := fs.ReadDir(v, "SKILL.md")
		notThere(t, err, "Directory not found in skill version tree: SKILL.md")
	})
}

func TestB031_LeadingDotAndSlashAreTrimmed(t *testing.T) {
	t.Parallel()
	for _, p := range []string{"./SKILL.md", "/SKILL.md", "references/../SKILL.md", "SKILL.md/"} {
		got, err := source.TreePath(p)
		want(t, p, []any{got, err}, []any{"SKILL.md", nil})
	}
}

// compose is a composite of two versions beside a live skill.
func compose(t *testing.T, b blobs.Store, o source.CompositeOptions) fs.FS {
	t.Helper()
	c, err := source.CompositeFS([]source.Mount{
		{Dir: "a", ID: "v1", Tree: tree(t, b, files("a")), CreatedAt: older},
		{Dir: "b", ID: "v2", Tree: tree(t, b, map[string]string{"SKILL.md": text("b")}), CreatedAt: newer},
	}, b, o)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func alive() fs.FS {
	return fstest.MapFS{
		"live/SKILL.md": {Data: []byte(text("live"))}, "a/SKILL.md": {Data: []byte(text("a") + "Live.\n")}, "other/SKILL.md": {Data: []byte(text("other"))},
	}
}

func TestB032_CompositeRootListsMounts(t *testing.T) {
	t.Parallel()
	onEach(t, func(t *testing.T, b blobs.Store) {
		want(t, "root", listing(t, compose(t, b, source.CompositeOptions{}), "."), []string{"a/", "b/"})
	})
}

func TestB033_FirstPartOfAPathIsTheMount(t *testing.T) {
	t.Parallel()
	onEach(t, func(t *testing.T, b blobs.Store) {
		c := compose(t, b, source.CompositeOptions{})
		for _, n := range []string{"a", "b"} {
			got, err := fs.ReadFile(c, n+"/SKILL.md")
			want(t, n, []any{string(got), err}, []any{text(n), nil})
		}
	})
}

func TestB034_MountsDoNotSeeEachOther(t *testing.T) {
	t.Parallel()
	onEach(t, func(t *testing.T, b blobs.Store) {
		c := compose(t, b, source.CompositeOptions{})
		want(t, "files of a", []bool{thereIs(c, "a/references/doc.md"), thereIs(c, "b/references/doc.md")}, []bool{true, false})
	})
}

func TestB035_ListingInsideAMount(t *testing.T) {
	t.Parallel()
	onEach(t, func(t *testing.T, b blobs.Store) {
		want(t, "list", listing(t, compose(t, b, source.CompositeOptions{}), "a"), []string{"SKILL.md", "assets/", "references/"})
	})
}

func TestB036_CompositeHasItsRoot(t *testing.T) {
	t.Parallel()
	onEach(t, func(t *testing.T, b blobs.Store) {
		want(t, "exists", thereIs(compose(t, b, source.CompositeOptions{}), "."), true)
	})
}

func TestB037_CompositeRootIsAsOldAsTheNewestVersion(t *testing.T) {
	t.Parallel()
	onEach(t, func(t *testing.T, b blobs.Store) {
		st, err := fs.Stat(compose(t, b, source.CompositeOptions{}), ".")
		want(t, "kind, time, error", []any{st.IsDir(), st.ModTime(), err}, []any{true, newer, nil})
	})
}

func TestB038_FallbackNamesGoToTheFallback(t *testing.T) {
	t.Parallel()
	onEach(t, func(t *testing.T, b blobs.Store) {
		c := compose(t, b, source.CompositeOptions{Fallback: alive(), FallbackNames: []string{"live", "a"}})
		got, err := fs.ReadFile(c, "a/SKILL.md")
		want(t, "text, error", []any{string(got), err}, []any{text("a") + "Live.\n", nil})
	})
}

func TestB039_UnknownNamesGoToTheFallback(t *testing.T) {
	t.Parallel()
	onEach(t, func(t *testing.T, b blobs.Store) {
		c := compose(t, b, source.CompositeOptions{Fallback: alive()})
		want(t, "exists", thereIs(c, "other/SKILL.md"), true)
	})
}

func TestB040_CompositeRootListsTheFallbacksNames(t *testing.T) {
	t.Parallel()
	onEach(t, func(t *testing.T, b blobs.Store) {
		c := compose(t, b, source.CompositeOptions{Fallback: alive(), FallbackNames: []string{"live"}})
		want(t, "root", listing(t, c, "."), []string{"a/", "b/", "live/"})
	})
}

func TestB041_WithoutAFallbackItIsNotFound(t *testing.T) {
	t.Parallel()
	onEach(t, func(t *testing.T, b blobs.Store) {
		c := compose(t, b, source.CompositeOptions{})
		_, err := fs.Stat(c, "other/SKILL.md")
		notThere(t, err, "Path not found in composite skill source: other/SKILL.md")
		_, err = fs.ReadFile(c, "other/SKILL.md")
		notThere(t, err, "File not found in composite skill source: other/SKILL.md")
		_, err = fs.ReadDir(c, "other")
		notThere(t, err, "Directory not found in composite skill source: other")
	})
}

// composed is a workspace whose skills are stored versions.
func composed(t *testing.T, b blobs.Store) *registry.Snapshot {
	t.Helper()
	return open(t, setup{fsys: compose(t, b, source.CompositeOptions{}), forms: []string{"."}}).view().Snapshot()
}

func TestB042_CompositeIsDiscovered(t *testing.T) {
	t.Parallel()
	onEach(t, func(t *testing.T, b blobs.Store) {
		want(t, "list", paths(composed(t, b)), []string{"a", "b"})
	})
}

func TestB043_CompositeGets(t *testing.T) {
	t.Parallel()
	onEach(t, func(t *testing.T, b blobs.Store) {
		l, err := source.Load(t.Context(), need(t, composed(t, b), "b").Entry)
		want(t, "body, error", []any{strings.TrimSpace(l.Body), err}, []any{"# Test Skill\n\nBody of b.", nil})
	})
}

func TestB044_CompositeIsSearched(t *testing.T) {
	t.Parallel()
	onEach(t, func(t *testing.T, b blobs.Store) {
		x, err := search.Open(search.Options{})
		if err != nil {
			t.Fatal(err)
		}
		defer x.Close()
		if _, err := x.Update(t.Context(), "", composed(t, b)); err != nil {
			t.Fatal(err)
		}
		res, err := x.Search(t.Context(), search.Query{Text: "body"})
		if err != nil || len(res.Hits) != 2 {
			t.Errorf("%+v, %v", res, err)
		}
	})
}

func TestB045_CompositeReadsAReference(t *testing.T) {
	t.Parallel()
	onEach(t, func(t *testing.T, b blobs.Store) {
		got, err := read(t, need(t, composed(t, b), "a"), "references/doc.md")
		want(t, "text, error", []any{got, err}, []any{"the doc of a", nil})
	})
}

func TestB046_CompositeSkillWithoutReferences(t *testing.T) {
	t.Parallel()
	onEach(t, func(t *testing.T, b blobs.Store) {
		want(t, "references", resources(t, need(t, composed(t, b), "b"), "references"), []string{})
	})
}

func TestB052_BinaryIsReadAsBytes(t *testing.T) {
	t.Parallel()
	onEach(t, func(t *testing.T, b blobs.Store) {
		got, err := fs.ReadFile(version(t, b), "assets/a.png")
		want(t, "equal, error", []any{string(got) == png, err}, []any{true, nil})
	})
}

func TestB053_TextIsReadAsText(t *testing.T) {
	t.Parallel()
	onEach(t, func(t *testing.T, b blobs.Store) {
		got, err := fs.ReadFile(version(t, b), "SKILL.md")
		want(t, "text, error", []any{string(got), err}, []any{text("a"), nil})
	})
}

func TestB054_MountedVersionEqualsItsStart(t *testing.T) {
	t.Parallel()
	onEach(t, func(t *testing.T, b blobs.Store) {
		start := fstest.MapFS{}
		for name, content := range files("a") {
			start[name] = &fstest.MapFile{Data: []byte(content)}
		}
		digest, tree, err := skill.TreeDigest(t.Context(), start)
		if err != nil {
			t.Fatal(err)
		}
		for _, content := range files("a") {
			put(t, b, content)
		}
		c, err := source.CompositeFS([]source.Mount{{Dir: "a", Tree: tree}}, b, source.CompositeOptions{})
		if err != nil {
			t.Fatal(err)
		}
		r := need(t, open(t, setup{fsys: c, forms: []string{"."}}).view().Snapshot(), "a")
		again, _, err := source.Tree(t.Context(), r.Entry)
		want(t, "digest, error", []any{again, err}, []any{digest, nil})
		for _, f := range tree {
			got, err := read(t, r, f.Path)
			want(t, f.Path, []any{got == files("a")[f.Path], err}, []any{true, nil})
		}
	})
}

// lying is a store that gives other bytes for one hash.
type lying struct {
	blobs.Store
	about skill.Digest
}

func (l lying) Get(ctx context.Context, d skill.Digest) ([]byte, error) {
	if d == l.about {
		return []byte("other bytes!"), nil
	}
	return l.Store.Get(ctx, d)
}

func TestM020_WrongBytesAreNotServed(t *testing.T) {
	t.Parallel()
	onEach(t, func(t *testing.T, b blobs.Store) {
		d := skill.FileDigest([]byte("the doc of a"))
		v := version(t, lying{b, d})
		_, err := fs.ReadFile(v, "references/doc.md")
		want(t, "hash and path", []bool{errors.Is(err, source.ErrDamaged), strings.Contains(err.Error(), string(d)), strings.Contains(err.Error(), "references/doc.md")}, []bool{true, true, true})
	})
}

func TestM021_PathsStayInTheTree(t *testing.T) {
	t.Parallel()
	onEach(t, func(t *testing.T, b blobs.Store) {
		v, err := source.VersionFS(slices.Concat(tree(t, b, files("a")), tree(t, b, map[string]string{".eslintrc": "{}", "p/SKILL.md": text("p")})), b, older)
		if err != nil {
			t.Fatal(err)
		}
		_, err = fs.ReadFile(v, "../p/SKILL.md")
		want(t, "climbs", err != nil, true)
		_, err = source.TreePath("../p/SKILL.md")
		want(t, "is cleaned to one inside", errors.Is(err, source.ErrOutside), true)
		got, err := fs.ReadFile(v, ".eslintrc")
		want(t, "dot-file, error", []any{string(got), err}, []any{"{}", nil})
	})
}
