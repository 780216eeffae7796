package store

import (
	"cmp"
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io/fs"
	"mime"
	"path"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/cases"

	"github.com/deftskills/deft/internal/fold"
	"github.com/deftskills/deft/internal/limits"
	"github.com/deftskills/deft/skill"
	"github.com/deftskills/deft/store/blobs"
)

// Kinds of a FileNode, and how its content is written.
const (
	NodeFile   = "file"
	NodeFolder = "folder"
	EncodeText = "utf-8" // the content is the text; "" means the same
	EncodeB64  = "base64"
)

// FileNode is one file or folder of a skill that another program keeps as values, such
// as the rows of an editor, and as their JSON.
type FileNode struct {
	Name     string     `json:"name"`               // one part of a path
	Type     string     `json:"type"`               // NodeFile or NodeFolder
	Content  string     `json:"content,omitempty"`  // of a file; "" = an empty one
	Encoding string     `json:"encoding,omitempty"` // of Content: "", EncodeText or EncodeB64
	MIME     string     `json:"mimeType,omitempty"` // what people are shown; "" = told by the name
	Exec     bool       `json:"exec,omitempty"`
	Children []FileNode `json:"children,omitempty"` // of a folder
}

// PublishError is why files are not published. Code is publish_no_skill_md,
// publish_bad_name, publish_duplicate_path, publish_bad_node, publish_bad_base64,
// publish_not_regular or publish_blocked; Path is what is at fault, below the skill.
type PublishError struct{ Code, Path, Message string }

// Error is the message, in the words that hosts know.
func (e *PublishError) Error() string { return e.Message }

// FileSet is the checked files of a skill, in memory.
type FileSet struct {
	Tree  skill.Tree // without what never counts, see skill.TreeDigest
	Blobs *blobs.Memory
	MIME  map[string]string // by path: what was said, else what is told by name and content
}

// FS returns the files as a read-only file system.
func (f *FileSet) FS() (fs.FS, error) { return blobs.Files(f.Tree, f.Blobs, time.Time{}) }

// maxNodes is the most bytes of JSON that are read as nodes: a tree at its bound, as
// base64, and its names.
const maxNodes = 128 << 20

// DecodeNodes reads a JSON array of nodes. Keys that FileNode does not have mean nothing.
// A text that JSON's decoder would have changed, such as half of a surrogate pair, is
// refused: contents are never other bytes than were sent.
func DecodeNodes(src []byte) ([]FileNode, error) {
	switch {
	case len(src) > maxNodes:
		return nil, fmt.Errorf("stored skill files: %d bytes, at most %d", len(src), maxNodes)
	case !exactText(src):
		return nil, fmt.Errorf("stored skill files: a text is not UTF-8")
	}
	var nodes []FileNode
	if err := json.Unmarshal(src, &nodes); err != nil {
		return nil, fmt.Errorf("stored skill files: %w", err)
	}
	return nodes, nil
}

// exactText reports whether each text of a JSON document has an exact meaning: valid
// UTF-8, and surrogates in pairs.
func exactText(src []byte) bool {
	if !utf8.Valid(src) {
		return false
	}
	unit := func(at int) uint64 {
		if at+6 > len(src) || src[at] != '\\' || src[at+1] != 'u' {
			return 0
		}
		n, err := strconv.ParseUint(string(src[at+2:at+6]), 16, 16)
		if err != nil {
			return 0
		}
		return n
	}
	for i := 0; i < len(src); i++ {
		if src[i] != '\\' {
			continue
		}
		switch high := unit(i); {
		case high >= 0xdc00 && high < 0xe000:
			return false
		case high >= 0xd800 && high < 0xdc00:
			if low := unit(i + 6); low < 0xdc00 || low >= 0xe000 {
				return false
			}
			i += 11
		default:
			i++ // what is escaped
		}
	}
	return true
}

// FilesOf checks nodes and returns their files. An error is a *PublishError that names
// the node, a *skill.TreeError for files over the bounds of a skill, or ctx's.
func FilesOf(ctx context.Context, nodes []FileNode) (*FileSet, error) {
	c := collecting{ctx: ctx, set: &FileSet{Blobs: blobs.NewMemory(), MIME: map[string]string{}}, seen: map[string]bool{}}
	if err := c.folder("", nodes, 0); err != nil {
		return nil, err
	}
	slices.SortFunc(c.set.Tree, func(a, b skill.FileEntry) int { return strings.Compare(a.Path, b.Path) })
	fsys, err := c.set.FS()
	if err != nil {
		return nil, err
	}
	if _, c.set.Tree, err = skill.TreeDigest(ctx, fsys); err != nil {
		return nil, err
	}
	return c.set, nil
}

type collecting struct {
	ctx   context.Context
	set   *FileSet
	seen  map[string]bool // paths as a file system that folds names has them
	nodes int
}

func (c *collecting) folder(dir string, nodes []FileNode, depth int) error {
	l := limits.DefaultSkill()
	for _, n := range nodes {
		if err := c.ctx.Err(); err != nil {
			return err
		}
		if !nodeName(n.Name) {
			return invalidName(dir, n.Name)
		}
		p := path.Join(dir, fold.NFC(n.Name))
		if c.nodes++; c.nodes > 2*l.TreeFiles || depth > l.TreeDepth {
			return &skill.TreeError{Diagnostic: skill.Finding("limit_tree", p, "more than %d nodes or %d levels", 2*l.TreeFiles, l.TreeDepth)}
		}
		key := cases.Fold().String(p)
		if c.seen[key] {
			return &PublishError{"publish_duplicate_path", p, fmt.Sprintf("Duplicate stored skill file path: %q", p)}
		}
		c.seen[key] = true
		if why := n.wrong(); why != "" {
			return &PublishError{"publish_bad_node", p, fmt.Sprintf("Stored skill %s %q %s", n.kind(), p, why)}
		}
		add := c.file
		if n.Type == NodeFolder {
			add = func(p string, n FileNode) error { return c.folder(p, n.Children, depth+1) }
		}
		if err := add(p, n); err != nil {
			return err
		}
	}
	return nil
}

func (c *collecting) file(p string, n FileNode) error {
	data := []byte(n.Content)
	if n.Encoding == EncodeB64 {
		var err error
		if data, err = canonical(n.Content); err != nil {
			return &PublishError{"publish_bad_base64", p, fmt.Sprintf("Stored skill file %q must contain valid base64 content in canonical form", p)}
		}
	}
	d, err := c.set.Blobs.Put(c.ctx, data)
	if err != nil {
		return fmt.Errorf("stored skill file %q: %w", p, err)
	}
	c.set.MIME[p] = cmp.Or(n.MIME, MediaType(p, data))
	c.set.Tree = append(c.set.Tree, skill.FileEntry{Path: p, Blob: d, Size: int64(len(data)), Exec: n.Exec})
	return nil
}

// canonical decodes base64 that has one way to be written: padded, no white space, and
// nothing in the bits that are left over.
func canonical(text string) ([]byte, error) {
	data, err := base64.StdEncoding.Strict().DecodeString(text)
	if err != nil {
		return nil, err
	}
	if len(text) != base64.StdEncoding.EncodedLen(len(data)) { // the decoder skips line ends
		return nil, base64.CorruptInputError(len(text))
	}
	return data, nil
}

// nodeName reports whether a name is one part of a path.
func nodeName(name string) bool {
	return name != "" && name != "." && name != ".." && utf8.ValidString(name) &&
		!strings.ContainsFunc(name, func(r rune) bool { return r == '/' || r == '\\' || unicode.IsControl(r) })
}

func invalidName(dir, name string) error {
	text := fmt.Sprintf("Invalid stored skill file name: %q", name)
	if dir != "" {
		text += fmt.Sprintf(" in %q", dir)
	}
	return &PublishError{"publish_bad_name", path.Join(dir, strconv.Quote(name)), text}
}

func (n FileNode) kind() string {
	if n.Type == NodeFolder {
		return "folder"
	}
	return "file"
}

// wrong says what of a node contradicts itself, "" where nothing does.
func (n FileNode) wrong() string {
	for _, rule := range []struct {
		broken bool
		why    string
	}{
		{n.Type != NodeFile && n.Type != NodeFolder, fmt.Sprintf("has type %q, want file or folder", n.Type)},
		{n.Type == NodeFolder && n.Content != "", "must not have content"},
		{n.Type == NodeFolder && n.Encoding != "", "must not have an encoding"},
		{n.Type == NodeFolder && n.MIME != "", "must not have a media type"},
		{n.Type == NodeFolder && n.Exec, "must not be executable"},
		{n.Type == NodeFile && len(n.Children) > 0, "must not have children"},
		{!slices.Contains([]string{"", EncodeText, EncodeB64}, n.Encoding), fmt.Sprintf("has encoding %q, want utf-8 or base64", n.Encoding)},
		{!mediaType(n.MIME), fmt.Sprintf("has media type %q, which is none", n.MIME)},
		{n.Encoding != EncodeB64 && binaryType(n.MIME), fmt.Sprintf("has the binary media type %q, so its encoding must be base64", n.MIME)},
		{n.Encoding != EncodeB64 && !utf8.ValidString(n.Content), "must contain valid UTF-8, or base64 that says so"},
	} {
		if rule.broken {
			return rule.why
		}
	}
	return ""
}

func mediaType(m string) bool {
	_, _, err := mime.ParseMediaType(m)
	return m == "" || err == nil && !strings.ContainsFunc(m, unicode.IsControl)
}
