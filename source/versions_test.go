package source_test

import (
	"context"
	"errors"
	"io/fs"
	"slices"
	"strconv"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"github.com/deftskills/deft/skill"
	"github.com/deftskills/deft/source"
)

// blobs are stored contents in memory.
type blobs map[skill.Digest][]byte

func (b blobs) Get(_ context.Context, d skill.Digest) ([]byte, error) {
	data, ok := b[d]
	if !ok {
		return nil, fs.ErrNotExist
	}
	return data, nil
}

// stored puts files into b and returns their tree.
func (b blobs) stored(files map[string]string) skill.Tree {
	var t skill.Tree
	for name, content := range files {
		d := skill.FileDigest([]byte(content))
		b[d] = []byte(content)
		t = append(t, skill.FileEntry{Path: name, Blob: d, Size: int64(len(content)), Exec: strings.HasSuffix(name, ".sh")})
	}
	return t
}

var published = time.Date(2024, 5, 6, 7, 8, 9, 0, time.UTC)

func TestStoredVersionsAreFileSystems(t *testing.T) {
	t.Parallel()
	b := blobs{}
	tree := b.stored(map[string]string{"SKILL.md": text("a"), "scripts/run.sh": "exit 0", "references/deep/x.md": "x", ".hidden": "", "empty": ""})
	v, err := source.VersionFS(tree, b, published)
	if err != nil {
		t.Fatal(err)
	}
	if err := fstest.TestFS(v, "SKILL.md", "scripts/run.sh", "references/deep/x.md", ".hidden", "empty"); err != nil {
		t.Error(err)
	}
	live := fstest.MapFS{"live/SKILL.md": {Data: []byte(text("live"))}}
	c, err := source.CompositeFS([]source.Mount{{Dir: "a", Tree: tree, CreatedAt: published}}, b, source.CompositeOptions{
		Fallback: live, FallbackNames: []string{"live", "gone"},
	})
	if err != nil {
		t.Fatal(err)
	}
	if err := fstest.TestFS(c, "a/SKILL.md", "a/scripts/run.sh", "live/SKILL.md"); err != nil {
		t.Error(err)
	}
}

func TestTreesThatAreNoneAreRefusedByPath(t *testing.T) {
	t.Parallel()
	for _, paths := range [][]string{{"../p/SKILL.md"}, {"/etc/passwd"}, {"a//b"}, {"."}, {""}, {"a", "a"}, {"a", "a/b"}, {"a/b", "a"}} {
		var tree skill.Tree
		for _, p := range paths {
			tree = append(tree, skill.FileEntry{Path: p})
		}
		if _, err := source.VersionFS(tree, blobs{}, published); err == nil || !slices.ContainsFunc(paths, func(p string) bool { return strings.Contains(err.Error(), strconv.Quote(p)) }) {
			t.Errorf("%q: %v", paths, err)
		}
	}
	for _, dirs := range [][]string{{""}, {"."}, {"a/b"}, {".."}, {"a", "a"}} {
		var mounts []source.Mount
		for _, d := range dirs {
			mounts = append(mounts, source.Mount{Dir: d})
		}
		if _, err := source.CompositeFS(mounts, blobs{}, source.CompositeOptions{}); err == nil {
			t.Errorf("mounts %q", dirs)
		}
	}
}

// unanswered is a store that can't be reached.
type unanswered struct{}

var errAway = errors.New("the server is away")

func (unanswered) Get(context.Context, skill.Digest) ([]byte, error) { return nil, errAway }

func TestAVersionWhoseFilesCannotBeReadIsListedAsInvalid(t *testing.T) {
	t.Parallel()
	tree := blobs{}.stored(map[string]string{"SKILL.md": text("a")})
	for _, c := range []struct {
		store      source.BlobReader
		code, says string
	}{
		{blobs{}, "version_damaged_blob", "SKILL.md cannot be read: Blob not found for hash " + string(tree[0].Blob) + " (file: SKILL.md)"},
		{unanswered{}, "file_unreadable", string(tree[0].Blob) + " (file: SKILL.md): the server is away"},
	} {
		src, err := source.Versions(tree, c.store, source.VersionOptions{Name: "a"})
		if err != nil {
			t.Fatal(err)
		}
		l := scan(t, src)
		if len(l.Entries) != 1 || l.Entries[0].Skill.Valid {
			t.Fatalf("%+v", l.Entries)
		}
		if d := l.Entries[0].Skill.Diagnostics[0]; d.Code != c.code || !strings.HasSuffix(d.Message, c.says) {
			t.Errorf("%+v, want %s: …%s", d, c.code, c.says)
		}
	}
}

// A tree that lies about a size would have readers believe it.
func TestAFileOfAnotherSizeThanItsTreeSaysIsDamaged(t *testing.T) {
	t.Parallel()
	b := blobs{}
	tree := b.stored(map[string]string{"SKILL.md": text("a")})
	tree[0].Size++
	v, err := source.VersionFS(tree, b, published)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := fs.ReadFile(v, "SKILL.md"); !errors.Is(err, source.ErrDamaged) {
		t.Error(err)
	}
}

func TestAVersionIsASourceAndADamagedOneSaysSo(t *testing.T) {
	t.Parallel()
	b := blobs{}
	o := source.VersionOptions{Name: "a", ID: "42", CreatedAt: published}
	tree := b.stored(map[string]string{"SKILL.md": text("a"), "references/x.md": "x"})
	src, err := source.Versions(tree, b, o)
	if err != nil {
		t.Fatal(err)
	}
	l := scan(t, src)
	if len(l.Entries) != 1 || !l.Entries[0].Skill.Valid || l.Entries[0].Location != "version:///a@42/SKILL.md" || src.Info().Kind != source.Managed {
		t.Fatalf("%+v", l.Entries)
	}
	if _, err := source.Load(t.Context(), l.Entries[0]); err != nil {
		t.Error(err)
	}
	at := slices.IndexFunc(tree, func(e skill.FileEntry) bool { return e.Path == "references/x.md" })
	b[tree[at].Blob] = []byte("y")
	if _, err := src.Open(t.Context(), l.Entries[0], "references/x.md"); !errors.Is(err, source.ErrDamaged) || !strings.Contains(err.Error(), string(tree[at].Blob)) || !strings.Contains(err.Error(), "references/x.md") {
		t.Errorf("damaged reference: %v", err)
	}
	for d := range b {
		b[d] = []byte("---\nname: a\ndescription: Another.\n---\n")
	}
	fresh, err := source.Versions(tree, b, o)
	if err != nil {
		t.Fatal(err)
	}
	l = scan(t, fresh)
	if len(l.Entries) != 1 || l.Entries[0].Skill.Valid || l.Entries[0].Skill.Diagnostics[0].Code != "version_damaged_blob" {
		t.Errorf("%+v", l.Entries[0].Skill)
	}
}
