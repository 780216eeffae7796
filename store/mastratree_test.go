package store_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/deftskills/deft/skill"
	"github.com/deftskills/deft/store"
	"github.com/deftskills/deft/store/blobs"
)

func hexOf(content string) string {
	return strings.TrimPrefix(string(skill.FileDigest([]byte(content))), "sha256:")
}

func TestAMastraTreeIsReadAndWrittenAgainAsItWas(t *testing.T) {
	t.Parallel()
	src := fmt.Sprintf(`{"entries":{"SKILL.md":{"blobHash":%q,"size":1,"mimeType":"text/markdown"},`+
		`"assets/a.png":{"blobHash":%q,"size":2,"mimeType":"image/png","encoding":"base64","sourceEncoding":"base64"},`+
		`"assets/old.png":{"blobHash":%q,"size":3,"mimeType":"image/png"}},"version":{"a":1}}`, hexOf("s"), hexOf("\x00\xff"), hexOf("old"))
	tree, err := store.ReadMastraTree([]byte(src))
	if err != nil {
		t.Fatal(err)
	}
	if again, err := json.Marshal(tree); err != nil || string(again) != src {
		t.Errorf("%s\n%s\n%v", again, src, err)
	}
	want := skill.Tree{
		{Path: "SKILL.md", Blob: skill.FileDigest([]byte("s")), Size: 1}, {Path: "assets/a.png", Blob: skill.FileDigest([]byte("\x00\xff")), Size: 2},
		{Path: "assets/old.png", Blob: skill.FileDigest([]byte("old")), Size: 3},
	}
	if !slices.Equal(tree.Tree(), want) || tree.Files[1].Encoding != store.EncodeB64 || tree.Files[2].Encoding != "" {
		t.Errorf("%+v", tree)
	}
	rows := store.MastraRows(func(_ context.Context, hash string) (string, error) {
		return map[string]string{hexOf("s"): "s", hexOf("\x00\xff"): "AP8=", hexOf("old"): "old"}[hash], nil
	})
	fsys, err := blobs.Files(tree.Tree(), rows, time.Time{})
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]string{"SKILL.md": "s", "assets/a.png": "\x00\xff", "assets/old.png": "old"} {
		if got, err := fs.ReadFile(fsys, name); err != nil || string(got) != want {
			t.Errorf("%s: %q %v", name, got, err)
		}
	}
}

func TestAMastraTreeThatIsNoneIsRefusedByPath(t *testing.T) {
	t.Parallel()
	entry := func(more string) string { return fmt.Sprintf(`{"blobHash":%q,"size":1%s}`, hexOf("s"), more) }
	for _, c := range []struct{ src, want string }{
		{``, "object"}, {`[]`, "object"}, {`{}`, "entries"}, {`{"entries":[]}`, "entries"}, {`{"entries":{}} {}`, "after its end"}, {`{"entries":{}}}`, "after its end"},
		{`{"entries":{},"entries":{}}`, "twice"}, {`{"entries":{"a":` + entry("") + `,"a":` + entry("") + `}}`, `"a" twice`},
		{`{"entries":{"a":` + entry("") + `,"./a":` + entry("") + `}}`, `"a"`}, {`{"entries":{"a":` + entry("") + `,"a/b":` + entry("") + `}}`, `"a`},
		{`{"entries":{"../p/SKILL.md":` + entry("") + `}}`, `"../p/SKILL.md"`}, {`{"entries":{"a/../../b":` + entry("") + `}}`, `"a/../../b"`},
		{`{"entries":{"":` + entry("") + `}}`, `""`}, {`{"entries":{"a\\b":` + entry("") + `}}`, `a\\b`}, {`{"entries":{"a\u0000":` + entry("") + `}}`, `a\x00`},
		{`{"entries":{"a":{"size":1}}}`, "blobHash"}, {`{"entries":{"a":{"blobHash":"sha256:00","size":1}}}`, "blobHash"}, {`{"entries":{"a":` + strings.ToUpper(entry("")) + `}}`, "blobHash"},
		{`{"entries":{"a":{"blobHash":"` + hexOf("s") + `"}}}`, "size"}, {`{"entries":{"a":{"blobHash":"` + hexOf("s") + `","size":-1}}}`, "size"},
		{`{"entries":{"a":{"blobHash":"` + hexOf("s") + `","size":1.5}}}`, "size"}, {`{"entries":{"a":{"blobHash":"` + hexOf("s") + `","size":16777217}}}`, `"a"`},
		{`{"entries":{"a":` + entry(`,"encoding":"hex"`) + `}}`, "encoding"}, {`{"entries":{"a":` + entry(`,"mimeType":1`) + `}}`, "mimeType"}, {`{"entries":{"a":` + entry(`,"size":1`) + `}}`, "twice"},
		{`{"entries":{"a":` + entry(`,"mimeType":"\ud800"`) + `}}`, "UTF-8"}, {`{"entries":{"` + strings.Repeat("d/", 20) + `f":` + entry("") + `}}`, "levels"},
	} {
		if _, err := store.ReadMastraTree([]byte(c.src)); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%.90s: %v, want %s", c.src, err, c.want)
		}
	}
	var many []string
	for i := range 2001 {
		many = append(many, fmt.Sprintf("%q:%s", fmt.Sprint(i), entry("")))
	}
	if _, err := store.ReadMastraTree([]byte(`{"entries":{` + strings.Join(many, ",") + `}}`)); err == nil || !strings.Contains(err.Error(), "2001 files") {
		t.Errorf("%v", err)
	}
}

func TestContentsThatAreNoTextAreMarkedAsBase64(t *testing.T) {
	t.Parallel()
	b := blobs.NewMemory()
	contents := map[string]string{
		"SKILL.md": "s\r\n", "a.png": "\x89PNG", "looks-like-text.png": "text", "font.woff": "wO\xff\xfe\x00", "nul.txt": "a\x00b", "noext": "x", "a.svg": "<svg/>", "empty.bin": "",
	}
	var tree skill.Tree
	for name, content := range contents {
		d, err := b.Put(t.Context(), []byte(content))
		if err != nil {
			t.Fatal(err)
		}
		tree = append(tree, skill.FileEntry{Path: name, Blob: d, Size: int64(len(content))})
	}
	out, err := store.MastraTreeOf(t.Context(), tree, b, map[string]string{"noext": "application/zip"})
	if err != nil {
		t.Fatal(err)
	}
	rows := map[string]string{}
	var marked []string
	for _, f := range out.Files {
		rows[f.Hash] = f.Row([]byte(contents[f.Path]))
		if f.Encoding != "" {
			marked = append(marked, f.Path)
		}
	}
	if want := []string{"a.png", "font.woff", "looks-like-text.png", "noext", "nul.txt"}; !slices.Equal(marked, want) {
		t.Errorf("%q, want %q", marked, want)
	}
	reader := store.MastraRows(func(_ context.Context, hash string) (string, error) {
		row, ok := rows[hash]
		if !ok {
			return "", fs.ErrNotExist
		}
		return row, nil
	})
	for name, content := range contents {
		if got, err := reader.Get(t.Context(), skill.FileDigest([]byte(content))); err != nil || string(got) != content {
			t.Errorf("%s: %q %v", name, got, err)
		}
	}
	rows[hexOf("s\r\n")] = "s\n"
	if _, err := reader.Get(t.Context(), skill.FileDigest([]byte("s\r\n"))); !errors.Is(err, blobs.ErrDamaged) {
		t.Errorf("another text: %v", err)
	}
	if _, err := reader.Get(t.Context(), skill.FileDigest([]byte("gone"))); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("gone: %v", err)
	}
	if _, err := reader.Get(t.Context(), "md5:0"); !errors.Is(err, blobs.ErrDigest) {
		t.Errorf("no digest: %v", err)
	}
}

// FuzzMastraTree: what is read is written and read again as the same, and its files lie
// below its root.
func FuzzMastraTree(f *testing.F) {
	for _, seed := range []string{
		fmt.Sprintf(`{"entries":{"SKILL.md":{"blobHash":%q,"size":1,"mimeType":"text/markdown"},"./d/a.png":{"blobHash":%q,"size":2,"encoding":"base64","x":[1]}},"y":null}`, hexOf("s"), hexOf("t")),
		`{"entries":{}}`, `{"entries":{"../a":{}}}`, `{"entries":{"a":{"blobHash":"","size":1e3}}}`, `[`, "\xff",
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, src []byte) {
		tree, err := store.ReadMastraTree(src)
		if err != nil {
			return
		}
		for _, e := range tree.Tree() {
			if !fs.ValidPath(e.Path) || e.Path == "." {
				t.Fatalf("path %q", e.Path)
			}
		}
		out, err := json.Marshal(tree)
		if err != nil {
			t.Fatal(err)
		}
		again, err := store.ReadMastraTree(out)
		if err != nil || again.Tree().Digest() != tree.Tree().Digest() {
			t.Fatalf("%s: %v", out, err)
		}
		if twice, err := json.Marshal(again); err != nil || string(twice) != string(out) {
			t.Fatalf("%s\n%s\n%v", out, twice, err)
		}
	})
}
