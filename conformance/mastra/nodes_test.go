package mastra

import (
	"encoding/base64"
	"errors"
	"fmt"
	"testing"

	"github.com/deftskills/deft/store"
)

func fileNode(name, content string) store.FileNode {
	return store.FileNode{Name: name, Type: store.NodeFile, Content: content}
}

func binaryNode(name, content, mime string) store.FileNode {
	return store.FileNode{Name: name, Type: store.NodeFile, Content: base64.StdEncoding.EncodeToString([]byte(content)), Encoding: store.EncodeB64, MIME: mime}
}

func folderNode(name string, children ...store.FileNode) store.FileNode {
	return store.FileNode{Name: name, Type: store.NodeFolder, Children: children}
}

// nodes are mixed files as values.
func nodes() []store.FileNode {
	return []store.FileNode{
		fileNode("SKILL.md", text("a")),
		folderNode("references", fileNode("doc.md", "the doc of a")),
		folderNode("scripts", fileNode("run.sh", "exit 0\r\n")),
		folderNode("assets", binaryNode("a.png", png, "image/png"), binaryNode("again.png", png, ""), binaryNode("font.woff", woff, "font/woff"), fileNode("note.png", "a note")),
	}
}

// collected are the contents of nodes by path, and what was said of their types.
func collected(t *testing.T, list ...store.FileNode) (map[string]string, map[string]string, error) {
	t.Helper()
	set, err := store.FilesOf(t.Context(), list)
	if err != nil {
		return nil, nil, err
	}
	out := map[string]string{}
	for _, e := range set.Tree {
		data, err := set.Blobs.Get(t.Context(), e.Blob)
		if err != nil {
			t.Fatal(err)
		}
		out[e.Path] = string(data)
	}
	return out, set.MIME, nil
}

// refused wants nodes to be refused with exactly these words.
func refused(t *testing.T, words, code string, list ...store.FileNode) {
	t.Helper()
	_, _, err := collected(t, list...)
	var refusal *store.PublishError
	if !errors.As(err, &refusal) || err.Error() != words || refusal.Code != code {
		t.Errorf("%v, want %q (%s)", err, words, code)
	}
}

func TestB059_OnlyExplicitBase64IsDecoded(t *testing.T) {
	t.Parallel()
	got, mime, err := collected(t, binaryNode("a.bin", png, "application/x-thing"), fileNode("b.txt", "AP8="), binaryNode("c.txt", "plain", "text/plain"))
	want(t, "contents, error", []any{got, err}, []any{map[string]string{"a.bin": png, "b.txt": "AP8=", "c.txt": "plain"}, nil})
	want(t, "types, as said or told", mime, map[string]string{"a.bin": "application/x-thing", "b.txt": "text/plain", "c.txt": "text/plain"})
	publishing(t, func(t *testing.T, p publisher) {
		v, err := p.PublishFiles(t.Context(), []store.FileNode{fileNode("SKILL.md", text("a")), binaryNode("a.bin", png, "application/x-thing")}, store.PublishOptions{Blobs: p.blobs})
		if err != nil {
			t.Fatal(err)
		}
		kept, err := p.Trees().Types(t.Context(), v.Tree)
		want(t, "types that are kept, error", []any{kept, err}, []any{map[string]string{"SKILL.md": "text/markdown", "a.bin": "application/x-thing"}, nil})
	})
}

func TestB060_OlderTextUnderABinaryNameStaysText(t *testing.T) {
	t.Parallel()
	got, _, err := collected(t, fileNode("logo.png", "iVBORw0KGgo="), fileNode("a.woff", "not decoded"))
	want(t, "contents, error", []any{got, err}, []any{map[string]string{"logo.png": "iVBORw0KGgo=", "a.woff": "not decoded"}, nil})
}

func TestB061_BadBase64(t *testing.T) {
	t.Parallel()
	for _, bad := range []string{"AP8", "AP9=", "AP8=\n", " AP8=", "_w==", "not base64!"} {
		n := binaryNode("a.png", "", "image/png")
		n.Content = bad
		refused(t, `Stored skill file "assets/a.png" must contain valid base64 content in canonical form`, "publish_bad_base64", folderNode("assets", n))
	}
}

func TestB062_DuplicatePath(t *testing.T) {
	t.Parallel()
	refused(t, `Duplicate stored skill file path: "docs/a.md"`, "publish_duplicate_path", folderNode("docs", fileNode("a.md", "1"), fileNode("a.md", "2")))
	refused(t, `Duplicate stored skill file path: "Docs"`, "publish_duplicate_path", folderNode("docs"), folderNode("Docs"))
}

func TestB063_InvalidNames(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"", ".", "..", "a/b", `a\b`, "a\x00b"} {
		refused(t, fmt.Sprintf("Invalid stored skill file name: %q", name), "publish_bad_name", fileNode("SKILL.md", text("a")), fileNode(name, ""))
	}
}

func TestB064_FoldersWithContentAndFilesWithChildren(t *testing.T) {
	t.Parallel()
	full, parent := folderNode("docs"), fileNode("a.md", "")
	full.Content, parent.Children = "text", []store.FileNode{fileNode("b.md", "")}
	refused(t, `Stored skill folder "docs" must not have content`, "publish_bad_node", full)
	refused(t, `Stored skill file "a.md" must not have children`, "publish_bad_node", parent)
}

func TestB065_MissingContentIsAnEmptyFile(t *testing.T) {
	t.Parallel()
	list, err := store.DecodeNodes([]byte(`[{"name":"a.md","type":"file"},{"name":"b.bin","type":"file","encoding":"base64"}]`))
	if err != nil {
		t.Fatal(err)
	}
	got, _, err := collected(t, list...)
	want(t, "contents, error", []any{got, err}, []any{map[string]string{"a.md": "", "b.bin": ""}, nil})
}
