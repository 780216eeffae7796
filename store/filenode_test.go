package store_test

import (
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/deftskills/deft/skill"
	"github.com/deftskills/deft/store"
)

const skillText = "---\nname: a\ndescription: Does a.\n---\n\n# A\r\n"

func textNode(name, content string) store.FileNode {
	return store.FileNode{Name: name, Type: store.NodeFile, Content: content}
}

func bytesNode(name, content string) store.FileNode {
	return store.FileNode{Name: name, Type: store.NodeFile, Encoding: store.EncodeB64, Content: base64.StdEncoding.EncodeToString([]byte(content))}
}

func folderNode(name string, children ...store.FileNode) store.FileNode {
	return store.FileNode{Name: name, Type: store.NodeFolder, Children: children}
}

func TestStoredNodesAreTheFilesOfADirectory(t *testing.T) {
	t.Parallel()
	woff := "wO\x00\xff\xfe"
	nodes := []store.FileNode{
		textNode("SKILL.md", skillText), folderNode("references", textNode("doc.md", "one\r\ntwo"), folderNode("deep", textNode("e\u0301.md", ""))),
		folderNode("assets", bytesNode("a.woff", woff)), textNode(".eslintrc", "{}"), {Name: "run.sh", Type: store.NodeFile, Content: "exit 0", Exec: true},
		folderNode(".git", textNode("HEAD", "left out")), folderNode("empty"),
	}
	got, err := store.FilesOf(t.Context(), nodes)
	if err != nil {
		t.Fatal(err)
	}
	dir := fstest.MapFS{
		"SKILL.md": {Data: []byte(skillText)}, "references/doc.md": {Data: []byte("one\r\ntwo")}, "references/deep/\u00e9.md": {},
		"assets/a.woff": {Data: []byte(woff)}, ".eslintrc": {Data: []byte("{}")}, "run.sh": {Data: []byte("exit 0"), Mode: 0o755},
	}
	digest, tree, err := skill.TreeDigest(t.Context(), dir)
	if err != nil || got.Tree.Digest() != digest || !slices.Equal(got.Tree, tree) {
		t.Fatalf("%v\n%v, %v", got.Tree, tree, err)
	}
	fsys, err := got.FS()
	if err != nil {
		t.Fatal(err)
	}
	for name, f := range dir {
		if data, err := fs.ReadFile(fsys, name); err != nil || string(data) != string(f.Data) {
			t.Errorf("%s: %q %v", name, data, err)
		}
	}
}

func TestStoredNodesThatContradictThemselvesAreRefused(t *testing.T) {
	t.Parallel()
	deep := textNode("f", "")
	for range 20 {
		deep = folderNode("d", deep)
	}
	loop := []store.FileNode{folderNode("x"), folderNode("y")}
	loop[0].Children, loop[1].Children = loop, loop
	for name, c := range map[string]struct {
		nodes []store.FileNode
		code  string
		text  string
	}{
		"folder with content":    {[]store.FileNode{{Name: "d", Type: store.NodeFolder, Content: "x"}}, "publish_bad_node", `"d" must not have content`},
		"folder with encoding":   {[]store.FileNode{{Name: "d", Type: store.NodeFolder, Encoding: "utf-8"}}, "publish_bad_node", `"d" must not have an encoding`},
		"folder with type":       {[]store.FileNode{{Name: "d", Type: store.NodeFolder, MIME: "text/plain"}}, "publish_bad_node", `"d" must not have a media type`},
		"executable folder":      {[]store.FileNode{{Name: "d", Type: store.NodeFolder, Exec: true}}, "publish_bad_node", `"d" must not be executable`},
		"file with children":     {[]store.FileNode{{Name: "f", Type: store.NodeFile, Children: []store.FileNode{textNode("g", "")}}}, "publish_bad_node", `"f" must not have children`},
		"unknown type":           {[]store.FileNode{{Name: "f", Type: "link"}}, "publish_bad_node", `"f" has type "link"`},
		"no type":                {[]store.FileNode{{Name: "f"}}, "publish_bad_node", `"f" has type ""`},
		"unknown encoding":       {[]store.FileNode{{Name: "f", Type: store.NodeFile, Encoding: "hex"}}, "publish_bad_node", `"f" has encoding "hex"`},
		"no media type":          {[]store.FileNode{{Name: "f", Type: store.NodeFile, MIME: "a/b/c\n"}}, "publish_bad_node", `"f" has media type`},
		"binary as text":         {[]store.FileNode{{Name: "f", Type: store.NodeFile, MIME: "image/png", Content: "x"}}, "publish_bad_node", "must be base64"},
		"archive as text":        {[]store.FileNode{folderNode("d", store.FileNode{Name: "f", Type: store.NodeFile, MIME: "Application/ZIP", Encoding: "utf-8"})}, "publish_bad_node", `"d/f"`},
		"text that is no UTF-8":  {[]store.FileNode{textNode("f", "\xff")}, "publish_bad_node", `"f" must contain valid UTF-8`},
		"one path twice":         {[]store.FileNode{textNode("a", ""), textNode("a", "")}, "publish_duplicate_path", `Duplicate stored skill file path: "a"`},
		"file and folder":        {[]store.FileNode{textNode("a", ""), folderNode("a")}, "publish_duplicate_path", `Duplicate stored skill file path: "a"`},
		"case":                   {[]store.FileNode{folderNode("D", textNode("a", "")), folderNode("d", textNode("b", ""))}, "publish_duplicate_path", `Duplicate stored skill file path: "d"`},
		"composed, decomposed":   {[]store.FileNode{folderNode("d", textNode("e\u0301", ""), textNode("\u00e9", ""))}, "publish_duplicate_path", "Duplicate stored skill file path: \"d/\u00e9\""},
		"sharp s":                {[]store.FileNode{textNode("stra\u00dfe", ""), textNode("STRASSE", "")}, "publish_duplicate_path", `Duplicate stored skill file path: "STRASSE"`},
		"too deep":               {[]store.FileNode{deep}, "limit_tree", "levels"},
		"children of themselves": {loop, "limit_tree", "nodes"},
		"too many":               {make2001(), "limit_tree", "files"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := store.FilesOf(t.Context(), c.nodes)
			if err == nil || codeOf(err) != c.code || !strings.Contains(err.Error(), c.text) {
				t.Errorf("%v (%s), want %s: %s", err, codeOf(err), c.code, c.text)
			}
		})
	}
}

func make2001() []store.FileNode {
	var nodes []store.FileNode
	for i := range 2001 {
		nodes = append(nodes, textNode(fmt.Sprint(i), ""))
	}
	return nodes
}

func codeOf(err error) string {
	var tree *skill.TreeError
	if errors.As(err, &tree) {
		return tree.Diagnostic.Code
	}
	return store.Code(err)
}

func TestNamesOfStoredNodesAreOnePart(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"", ".", "..", "a/b", "/", `a\b`, "a\x00", "a\nb", "a\u0085", "\xff"} {
		_, err := store.FilesOf(t.Context(), []store.FileNode{textNode(name, "")})
		if want := fmt.Sprintf("Invalid stored skill file name: %q", name); err == nil || err.Error() != want || store.Code(err) != "publish_bad_name" {
			t.Errorf("%v, want %s", err, want)
		}
	}
	_, err := store.FilesOf(t.Context(), []store.FileNode{folderNode("docs", textNode("..", ""))})
	if err == nil || err.Error() != `Invalid stored skill file name: ".." in "docs"` {
		t.Errorf("%v", err)
	}
	for _, name := range []string{"...", ".x", "a b", "\u6587.md", "-"} {
		if _, err := store.FilesOf(t.Context(), []store.FileNode{textNode(name, "")}); err != nil {
			t.Errorf("%q: %v", name, err)
		}
	}
}

func TestBase64IsReadInItsOneForm(t *testing.T) {
	t.Parallel()
	for _, bad := range []string{"YQ", "YQ=", "YR==", "YQ==\n", "Y Q==", "_-==", "YQ==YQ==", "=", "@@@@", "YQ=\n="} {
		n := store.FileNode{Name: "f", Type: store.NodeFile, Encoding: store.EncodeB64, Content: bad}
		_, err := store.FilesOf(t.Context(), []store.FileNode{folderNode("assets", n)})
		if want := `Stored skill file "assets/f" must contain valid base64 content in canonical form`; err == nil || err.Error() != want || store.Code(err) != "publish_bad_base64" {
			t.Errorf("%q: %v", bad, err)
		}
	}
}

func TestMediaTypesAreToldByNameThenByContent(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ data, want string }{
		"a.md": {"", "text/markdown"}, "A.PNG": {"", "image/png"}, "x.yml": {"", "application/yaml"}, "a.svg": {"", "image/svg+xml"},
		"LICENSE": {"MIT", "text/plain"}, "x": {"\x89PNG\r\n\x1a\n", "image/png"}, "font.woff": {"wOFF\x00", "font/woff"}, "y": {"a\x00", "application/octet-stream"},
	} {
		if got := store.MediaType(name, []byte(c.data)); got != c.want {
			t.Errorf("%s: %s, want %s", name, got, c.want)
		}
	}
}

func TestNodesOfJSONAreExact(t *testing.T) {
	t.Parallel()
	nodes, err := store.DecodeNodes([]byte(`[{"id":"1","name":"a","type":"file","content":"\ud83d\ude00\\ud800","mimeType":"text/plain"}]`))
	if err != nil || len(nodes) != 1 || nodes[0].Content != "\U0001f600\\ud800" || nodes[0].MIME != "text/plain" {
		t.Errorf("%+v %v", nodes, err)
	}
	for _, bad := range []string{
		"", "{}", "null x", "[{\"name\":\"\xff\"}]", `[{"content":"\ud800"}]`, `[{"content":"\udc00\ud800"}]`, `[{"content":"\ud800\ud800"}]`,
		`[{"content":1}]`, `[{"name":"a"}`,
	} {
		if _, err := store.DecodeNodes([]byte(bad)); err == nil {
			t.Errorf("%q is read", bad)
		}
	}
}

// FuzzNodes: whatever is read as nodes is refused, or is files with paths of their own that
// come back as what was said.
func FuzzNodes(f *testing.F) {
	for _, seed := range []string{
		`[{"name":"SKILL.md","type":"file","content":"x"},{"name":"a","type":"folder","children":[{"name":"b","type":"file","encoding":"base64","content":"AP8="}]}]`,
		`[{"name":"..","type":"file"}]`, `[{"name":"A","type":"file"},{"name":"a","type":"folder"}]`, `[]`, `null`, `[{"name":"a\u0000","type":"file","content":"\ud83d"}]`,
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, src []byte) {
		nodes, err := store.DecodeNodes(src)
		if err != nil {
			return
		}
		set, err := store.FilesOf(t.Context(), nodes)
		if err != nil {
			if codeOf(err) == "" {
				t.Fatalf("no code: %v", err)
			}
			return
		}
		fsys, err := set.FS()
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range set.Tree {
			data, err := fs.ReadFile(fsys, e.Path)
			if err != nil || !fs.ValidPath(e.Path) || int64(len(data)) != e.Size {
				t.Fatalf("%q: %d bytes, %v", e.Path, len(data), err)
			}
		}
		again, err := json.Marshal(nodes)
		if err != nil {
			t.Fatal(err)
		}
		back, err := store.DecodeNodes(again)
		if err != nil {
			t.Fatal(err)
		}
		if same, err := store.FilesOf(t.Context(), back); err != nil || same.Tree.Digest() != set.Tree.Digest() {
			t.Fatalf("another tree: %v", err)
		}
	})
}
