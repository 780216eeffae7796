package mastra

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"github.com/deftskills/deft/internal/pgtest"
	"github.com/deftskills/deft/skill"
	"github.com/deftskills/deft/source"
	"github.com/deftskills/deft/store"
	"github.com/deftskills/deft/store/blobs"
)

// publisher is a store with its blobs.
type publisher struct {
	*store.Store
	blobs blobs.Store
}

// publishing runs a line on real stores: a machine's own, and a server's database with
// contents in a bucket.
func publishing(t *testing.T, f func(t *testing.T, p publisher)) {
	t.Helper()
	for _, at := range backends() {
		t.Run(at.name, func(t *testing.T) {
			t.Parallel()
			address := "sqlite:" + filepath.Join(t.TempDir(), "deft.db")
			if at.server {
				address = pgtest.From(t, "mastra", migrated)
			}
			s, err := store.Open(t.Context(), store.Options{DB: address, Busy: time.Minute})
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() {
				if err := s.Close(); err != nil {
					t.Error(err)
				}
			})
			f(t, publisher{s, at.open(t)})
		})
	}
}

// migrated brings an empty database to the schema.
func migrated(address string) error {
	s, err := store.Open(context.Background(), store.Options{DB: address})
	if err != nil {
		return err
	}
	_, err = s.Migrate(context.Background())
	return errors.Join(err, s.Close())
}

func (p publisher) dir(t *testing.T, files map[string]string) (store.Version, error) {
	t.Helper()
	fsys := fstest.MapFS{}
	for name, content := range files {
		fsys[name] = &fstest.MapFile{Data: []byte(content)}
	}
	return p.PublishDir(t.Context(), fsys, store.PublishOptions{Blobs: p.blobs, Path: "skills/a", By: "ann"})
}

// published wants the files to be published, and returns the version with its tree.
func (p publisher) published(t *testing.T, files map[string]string) (store.Version, skill.Tree) {
	t.Helper()
	v, err := p.dir(t, files)
	if err != nil {
		t.Fatal(err)
	}
	return v, p.tree(t, v)
}

func (p publisher) tree(t *testing.T, v store.Version) skill.Tree {
	t.Helper()
	tree, err := p.Trees().Get(t.Context(), v.Tree)
	if err != nil {
		t.Fatal(err)
	}
	return tree
}

func snapshotOf(t *testing.T, v store.Version) (s store.Snapshot) {
	t.Helper()
	if err := json.Unmarshal(v.Snapshot, &s); err != nil {
		t.Fatal(err)
	}
	return s
}

func pathsOf(tree skill.Tree) []string {
	var out []string
	for _, e := range tree {
		out = append(out, e.Path)
	}
	return out
}

func TestB001_SingleFileSkill(t *testing.T) {
	t.Parallel()
	publishing(t, func(t *testing.T, p publisher) {
		v, tree := p.published(t, map[string]string{"SKILL.md": text("a")})
		s := snapshotOf(t, v)
		want(t, "snapshot", []string{s.Name, s.Description, s.License}, []string{"a", "Does a.", "MIT"})
		want(t, "tree, blobs", []any{pathsOf(tree), len(stored(t, p.blobs))}, []any{[]string{"SKILL.md"}, 1})
	})
}

func TestB002_FoldersAreInTreeAndSnapshot(t *testing.T) {
	t.Parallel()
	publishing(t, func(t *testing.T, p publisher) {
		v, tree := p.published(t, mixed())
		s := snapshotOf(t, v)
		want(t, "references", s.References, []string{"doc.md"})
		want(t, "scripts", s.Scripts, []string{"run.sh"})
		want(t, "assets", s.Assets, []string{"a.png", "again.png", "font.woff", "note.png"})
		want(t, "tree", pathsOf(tree), []string{
			"SKILL.md", "assets/a.png", "assets/again.png", "assets/font.woff", "assets/note.png", "references/doc.md", "scripts/run.sh",
		})
	})
}

func TestB003_EqualFilesAreOneBlob(t *testing.T) {
	t.Parallel()
	publishing(t, func(t *testing.T, p publisher) {
		_, tree := p.published(t, map[string]string{"SKILL.md": text("a"), "references/x.md": "same", "references/y.md": "same"})
		want(t, "entries, blobs", []int{len(tree), len(stored(t, p.blobs))}, []int{3, 2})
	})
}

func TestB004_HashIsOfTheContent(t *testing.T) {
	t.Parallel()
	publishing(t, func(t *testing.T, p publisher) {
		_, tree := p.published(t, map[string]string{"SKILL.md": text("a")})
		want(t, "hash", tree[0].Blob, "sha256:"+hash(text("a")))
	})
}

func TestB005_MediaTypesByExtension(t *testing.T) {
	t.Parallel()
	for name, kind := range map[string]string{
		"SKILL.md": "text/markdown", "a.txt": "text/plain", "a.json": "application/json", "a.js": "text/javascript", "a.ts": "text/typescript",
		"a.py": "text/x-python", "a.sh": "text/x-shellscript", "a.html": "text/html", "a.css": "text/css", "a.svg": "image/svg+xml",
		"a.PNG": "image/png", "d/a.jpg": "image/jpeg", "a.jpeg": "image/jpeg", "a.gif": "image/gif", "a.webp": "image/webp", "a.pdf": "application/pdf",
		"a.yaml": "application/yaml", "a.yml": "application/yaml", "a.csv": "text/csv", "a.xml": "application/xml",
	} {
		want(t, name, store.MediaType(name, nil), kind)
	}
	want(t, "by content", store.MediaType("noext", []byte(png)), "image/png")
	publishing(t, func(t *testing.T, p publisher) {
		v, _ := p.published(t, files("a"))
		kept, err := p.Trees().Types(t.Context(), v.Tree)
		want(t, "of a version, error", []any{kept, err}, []any{map[string]string{"SKILL.md": "text/markdown", "assets/a.png": "image/png", "references/doc.md": "text/markdown"}, nil})
	})
}

func TestB006_NoSkillFile(t *testing.T) {
	t.Parallel()
	publishing(t, func(t *testing.T, p publisher) {
		_, err := p.dir(t, map[string]string{"README.md": "x", "deep/SKILL.md": text("a")})
		want(t, "error, code, blobs", []any{err, store.Code(err), len(stored(t, p.blobs))}, []any{"SKILL.md not found in skills/a", "publish_no_skill_md", 0})
	})
}

func TestB007_NestedDirectoriesHaveTheirFullPaths(t *testing.T) {
	t.Parallel()
	publishing(t, func(t *testing.T, p publisher) {
		v, tree := p.published(t, map[string]string{"SKILL.md": text("a"), "references/deep/er/x.md": "x"})
		want(t, "tree", pathsOf(tree), []string{"SKILL.md", "references/deep/er/x.md"})
		want(t, "snapshot", snapshotOf(t, v).References, []string{"deep/er/x.md"})
	})
}

func TestB008_EveryHeaderFieldIsInTheSnapshot(t *testing.T) {
	t.Parallel()
	publishing(t, func(t *testing.T, p publisher) {
		v, _ := p.published(t, map[string]string{"SKILL.md": "---\nname: a\ndescription: Does a.\nlicense: MIT\ncompatibility: any\n" +
			"metadata:\n  author: ann\n  version: \"1.0\"\nuser-invocable: false\nallowed-tools: Read Grep\n---\n\nBody.\n"})
		header := snapshotOf(t, v).Header
		meta, _ := header["metadata"].(map[string]any)
		for name, value := range map[string]string{
			"name": "a", "description": "Does a.", "license": "MIT", "compatibility": "any", "user-invocable": "false", "allowed-tools": "Read Grep",
		} {
			want(t, name, header[name], value)
		}
		want(t, "metadata", meta, map[string]any{"author": "ann", "version": "1.0"})
	})
}

func TestB009_PublishStoresEveryBlob(t *testing.T) {
	t.Parallel()
	publishing(t, func(t *testing.T, p publisher) {
		_, tree := p.published(t, mixed())
		for _, e := range tree {
			got, err := p.blobs.Get(t.Context(), e.Blob)
			want(t, e.Path, []any{string(got) == mixed()[e.Path], err}, []any{true, nil})
		}
	})
}

func TestB010_PublishingTwiceChangesNothing(t *testing.T) {
	t.Parallel()
	publishing(t, func(t *testing.T, p publisher) {
		first, _ := p.published(t, mixed())
		blobs := stored(t, p.blobs)
		again, _ := p.published(t, mixed())
		all, err := p.Versions().List(t.Context(), "a")
		want(t, "created", []bool{first.Created, again.Created}, []bool{true, false})
		want(t, "id, versions, blobs, error", []any{again.ID, len(all), stored(t, p.blobs), err}, []any{first.ID, 1, blobs, nil})
	})
}

func TestB057_PublishFromStoredFiles(t *testing.T) {
	t.Parallel()
	publishing(t, func(t *testing.T, p publisher) {
		v, err := p.PublishFiles(t.Context(), nodes(), store.PublishOptions{Blobs: p.blobs})
		if err != nil {
			t.Fatal(err)
		}
		s := snapshotOf(t, v)
		want(t, "snapshot", []any{s.Name, s.References, s.Scripts, s.Assets},
			[]any{"a", []string{"doc.md"}, []string{"run.sh"}, []string{"a.png", "again.png", "font.woff", "note.png"}})
		for _, e := range p.tree(t, v) {
			got, err := p.blobs.Get(t.Context(), e.Blob)
			want(t, e.Path, []any{string(got) == mixed()[e.Path], err}, []any{true, nil})
		}
	})
}

func TestB058_StoredFilesAreTheTreeOfTheDirectory(t *testing.T) {
	t.Parallel()
	publishing(t, func(t *testing.T, p publisher) {
		dir, _ := p.published(t, mixed())
		files, err := p.PublishFiles(t.Context(), nodes(), store.PublishOptions{Blobs: p.blobs})
		want(t, "tree, version, created, error", []any{files.Tree, files.ID, files.Created, err}, []any{dir.Tree, dir.ID, false, nil})
	})
}

func TestB066_StoredFilesNeedASkillFile(t *testing.T) {
	t.Parallel()
	publishing(t, func(t *testing.T, p publisher) {
		_, err := p.PublishFiles(t.Context(), []store.FileNode{folderNode("deep", fileNode("SKILL.md", text("a")))}, store.PublishOptions{Blobs: p.blobs, Path: "skills/a"})
		want(t, "error, code, blobs", []any{err, store.Code(err), len(stored(t, p.blobs))}, []any{"SKILL.md not found in skills/a", "publish_no_skill_md", 0})
	})
}

// chosen is the version that a skill's strategy leads to, "live" for none.
func (p publisher) chosen(t *testing.T, c store.VersionChoice) string {
	t.Helper()
	if _, err := p.Versions().Choose(t.Context(), "a", c); err != nil {
		t.Fatal(err)
	}
	c, err := p.Versions().Chosen(t.Context(), "a")
	if err != nil {
		t.Fatal(err)
	}
	name := map[store.Strategy]string{store.UseLatest: "latest", store.UsePin: c.Value, "": ""}
	want, ok := name[c.Strategy]
	if !ok {
		return string(c.Strategy)
	}
	v, err := p.Versions().Find(t.Context(), "a", want)
	if err != nil {
		t.Fatal(err)
	}
	return v.ID
}

func TestB067_StrategiesChooseTheVersion(t *testing.T) {
	t.Parallel()
	want(t, "their names", []store.Strategy{store.UseLatest, store.UsePin, store.UseLive}, []string{"latest", "pin", "live"})
	publishing(t, func(t *testing.T, p publisher) {
		one, _ := p.published(t, files("a"))
		two, _ := p.published(t, mixed())
		s, err := p.Versions().Skill(t.Context(), "a")
		want(t, "active, status, error", []any{s.Active, s.Status, err}, []any{two.ID, "published", nil})
		want(t, "nobody chose", p.chosen(t, store.VersionChoice{}), two.ID)
		want(t, "pin", p.chosen(t, store.VersionChoice{Strategy: store.UsePin, Value: one.ID}), one.ID)
		want(t, "live", p.chosen(t, store.VersionChoice{Strategy: store.UseLive}), "live")
		want(t, "latest", p.chosen(t, store.VersionChoice{Strategy: store.UseLatest}), two.ID)
	})
}

func TestM019_BytesDoNotChangeOnPublish(t *testing.T) {
	t.Parallel()
	publishing(t, func(t *testing.T, p publisher) {
		files := map[string]string{
			"SKILL.md": strings.ReplaceAll(text("a"), "\n", "\r\n"), "a.woff": woff, "a.zip": "PK\x03\x04\x00\xff\xfe", "b.unknown": "\x80\x81\r\n\x00", "c.txt": "\xef\xbb\xbfbom\r\n", ".dot": "d",
		}
		_, tree := p.published(t, files)
		v, err := source.VersionFS(tree, p.blobs, older)
		if err != nil {
			t.Fatal(err)
		}
		for name, content := range files {
			got, err := fs.ReadFile(v, name)
			want(t, name, []any{string(got) == content, err}, []any{true, nil})
		}
	})
}

var errFull = errors.New("no room for blobs")

// full is a store of blobs that takes none.
type full struct{ blobs.Store }

func (full) Put(context.Context, []byte) (skill.Digest, error) { return "", errFull }

func TestM022_PublishIsBoundedAndWhole(t *testing.T) {
	t.Parallel()
	publishing(t, func(t *testing.T, p publisher) {
		many := map[string]string{"SKILL.md": text("a")}
		for i := range 2000 {
			many[fmt.Sprintf("references/%d.md", i)] = "x"
		}
		for name, files := range map[string]map[string]string{
			"files":    many,
			"depth":    {"SKILL.md": text("a"), strings.Repeat("d/", 17) + "x.md": "x"},
			"one file": {"SKILL.md": text("a"), "big.bin": strings.Repeat("x", 16<<20+1)},
			"header":   {"SKILL.md": "---\nname: a\ndescription: [\n---\nBody.\n"},
			"name":     {"SKILL.md": "---\ndescription: Does a.\n---\nBody.\n"},
		} {
			_, err := p.dir(t, files)
			want(t, name+" refused", err != nil, true)
		}
		want(t, "blobs of what was refused", len(stored(t, p.blobs)), 0)
		_, err := publisher{p.Store, full{p.blobs}}.dir(t, files("a"))
		want(t, "without its blobs", errors.Is(err, errFull), true)
		skills, err := p.Versions().Skills(t.Context())
		want(t, "skills, error", []any{len(skills), err}, []any{0, nil})
	})
}
