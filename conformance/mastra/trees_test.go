package mastra

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io/fs"
	"strings"
	"testing"

	"github.com/deftskills/deft/skill"
	"github.com/deftskills/deft/source"
	"github.com/deftskills/deft/store"
	"github.com/deftskills/deft/store/blobs"
)

const woff = "wO\xff\xfe\x00"

// mixed are files of every kind: assets of known and unknown types, and a text whose name
// says that it is an image.
func mixed() map[string]string {
	f := files("a")
	f["assets/font.woff"], f["assets/again.png"], f["assets/note.png"], f["scripts/run.sh"] = woff, png, "a note", "exit 0\r\n"
	return f
}

// marked is the tree of mixed files as that system keeps it, by path.
func marked(t *testing.T, b blobs.Store) map[string]store.MastraFile {
	t.Helper()
	m, err := store.MastraTreeOf(t.Context(), tree(t, b, mixed()), b, nil)
	if err != nil {
		t.Fatal(err)
	}
	out := map[string]store.MastraFile{}
	for _, f := range m.Files {
		out[f.Path] = f
	}
	return out
}

func hash(content string) string {
	return strings.TrimPrefix(string(skill.FileDigest([]byte(content))), "sha256:")
}

func TestB047_BinaryEntriesAreMarked(t *testing.T) {
	t.Parallel()
	onEach(t, func(t *testing.T, b blobs.Store) {
		all := marked(t, b)
		for name, mark := range map[string]string{
			"SKILL.md": "", "references/doc.md": "", "scripts/run.sh": "", "assets/a.png": "base64", "assets/font.woff": "base64",
		} {
			want(t, name, all[name].Encoding, mark)
		}
	})
}

func TestB048_MarkedContentIsTheBytes(t *testing.T) {
	t.Parallel()
	onEach(t, func(t *testing.T, b blobs.Store) {
		for name, content := range map[string]string{"assets/a.png": png, "assets/font.woff": woff} {
			got, err := base64.StdEncoding.DecodeString(marked(t, b)[name].Row([]byte(content)))
			want(t, name, []any{string(got) == content, err}, []any{true, nil})
		}
	})
}

func TestB049_SizeIsOfTheRawBytes(t *testing.T) {
	t.Parallel()
	onEach(t, func(t *testing.T, b blobs.Store) {
		all := marked(t, b)
		for name, content := range mixed() {
			want(t, name, all[name].Size, len(content))
		}
	})
}

func TestB050_HashIsOfTheRawBytes(t *testing.T) {
	t.Parallel()
	onEach(t, func(t *testing.T, b blobs.Store) {
		all := marked(t, b)
		for name, content := range mixed() {
			want(t, name, all[name].Hash, hash(content))
		}
	})
}

func TestB051_EqualBinariesAreOneBlob(t *testing.T) {
	t.Parallel()
	onEach(t, func(t *testing.T, b blobs.Store) {
		all := marked(t, b)
		want(t, "hash", all["assets/again.png"].Hash, all["assets/a.png"].Hash)
		want(t, "blobs", len(stored(t, b)), len(mixed())-1)
	})
}

// rows is that system's table of contents, by hash.
func rows(all map[string]string) store.MastraRows {
	return func(_ context.Context, hash string) (string, error) {
		content, ok := all[hash]
		if !ok {
			return "", fs.ErrNotExist
		}
		return content, nil
	}
}

// ofMastra are the files of a tree in its JSON form.
func ofMastra(t *testing.T, src string, r store.MastraRows) fs.FS {
	t.Helper()
	m, err := store.ReadMastraTree([]byte(src))
	if err != nil {
		t.Fatal(err)
	}
	v, err := source.VersionFS(m.Tree(), r, older)
	if err != nil {
		t.Fatal(err)
	}
	return v
}

func TestB055_OlderTreesAreText(t *testing.T) {
	t.Parallel()
	old := fmt.Sprintf(`{"entries":{"SKILL.md":{"blobHash":%q,"size":%d,"mimeType":"text/markdown"},"./assets/note.png":{"blobHash":%q,"size":6,"mimeType":"image/png"}}}`,
		hash(text("a")), len(text("a")), hash("a note"))
	v := ofMastra(t, old, rows(map[string]string{hash(text("a")): text("a"), hash("a note"): "a note"}))
	for name, content := range map[string]string{"SKILL.md": text("a"), "assets/note.png": "a note"} {
		got, err := fs.ReadFile(v, name)
		want(t, name, []any{string(got), err}, []any{content, nil})
	}
	onEach(t, func(t *testing.T, b blobs.Store) {
		m, err := store.MastraTreeOf(t.Context(), tree(t, b, files("a")), b, nil)
		if err != nil {
			t.Fatal(err)
		}
		out, err := json.Marshal(m)
		if err != nil {
			t.Fatal(err)
		}
		var doc struct {
			Entries map[string]struct {
				BlobHash, MimeType string
				Size               int
			}
		}
		if err := json.Unmarshal(out, &doc); err != nil {
			t.Fatal(err)
		}
		for name, content := range files("a") {
			e := doc.Entries[name]
			want(t, name, []any{e.BlobHash, e.Size, e.MimeType}, []any{hash(content), len(content), store.MediaType(name, nil)})
		}
	})
}

func TestB056_AnExistingTextRowKeepsWorking(t *testing.T) {
	t.Parallel()
	onEach(t, func(t *testing.T, b blobs.Store) {
		note := marked(t, b)["assets/note.png"]
		want(t, "mark of the new entry", note.Encoding, "base64")
		for name, row := range map[string]string{"as it was": "a note", "as it would be written": note.Row([]byte("a note"))} {
			got, err := rows(map[string]string{note.Hash: row}).Get(t.Context(), skill.FileDigest([]byte("a note")))
			want(t, name, []any{string(got), err}, []any{"a note", nil})
		}
	})
}
