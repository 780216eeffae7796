package store

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/deftskills/deft/internal/fold"
	"github.com/deftskills/deft/internal/limits"
	"github.com/deftskills/deft/skill"
	"github.com/deftskills/deft/store/blobs"
)

// MastraTree is the files of one version as Mastra keeps them: an object with the key
// entries, in which each path has a hash. What else a tree and its entries hold is kept
// and written again.
type MastraTree struct {
	Files []MastraFile // by path
	rest  []member
}

// MastraFile is one entry of a MastraTree.
type MastraFile struct {
	Path     string // cleaned: relative, without "." and ".."
	Hash     string // SHA-256 of the raw bytes, 64 lower-case hexadecimal digits
	Size     int64  // of the raw bytes
	MIME     string // "" = not said
	Encoding string // EncodeB64: rows have the bytes as base64; else as text
	rest     []member
}

// member is one key of a JSON object.
type member struct {
	key   string
	value json.RawMessage
}

// maxMastraTree is the most bytes of one tree: 2,000 entries of 2 KiB.
const maxMastraTree = 4 << 20

// ReadMastraTree reads a tree. It is refused as a whole, by path, when an entry has no
// hash, leads out of the tree or stands below another, when two are of one path, and when
// there are more files or bytes than a skill may have.
func ReadMastraTree(src []byte) (MastraTree, error) {
	t, err := readMastraTree(src)
	if err != nil {
		return MastraTree{}, fmt.Errorf("skill version tree: %w", err)
	}
	return t, nil
}

func readMastraTree(src []byte) (t MastraTree, err error) {
	if len(src) > maxMastraTree {
		return t, fmt.Errorf("%d bytes, at most %d", len(src), maxMastraTree)
	}
	if !exactText(src) {
		return t, fmt.Errorf("a text is not UTF-8")
	}
	top, err := members(src)
	if err != nil {
		return t, err
	}
	at := slices.IndexFunc(top, func(m member) bool { return m.key == "entries" })
	if at < 0 {
		return t, fmt.Errorf("has no entries")
	}
	entries, err := members(top[at].value)
	if err != nil {
		return t, fmt.Errorf("entries: %w", err)
	}
	t.rest = slices.Delete(top, at, at+1)
	for _, m := range entries {
		f, err := readMastraFile(m)
		if err != nil {
			return t, fmt.Errorf("path %q: %w", m.key, err)
		}
		t.Files = append(t.Files, f)
	}
	slices.SortFunc(t.Files, func(a, b MastraFile) int { return strings.Compare(a.Path, b.Path) })
	return t, t.check()
}

// check holds the bounds of a skill, and refuses paths that no directory could have.
func (t MastraTree) check() error {
	l, size := limits.DefaultSkill(), int64(0)
	if len(t.Files) > l.TreeFiles {
		return fmt.Errorf("%d files, at most %d", len(t.Files), l.TreeFiles)
	}
	for _, f := range t.Files {
		size += f.Size
		switch {
		case f.Size > l.TreeFile || size > l.TreeBytes:
			return fmt.Errorf("path %q: more than %d bytes, or %d in all", f.Path, l.TreeFile, l.TreeBytes)
		case strings.Count(f.Path, "/") > l.TreeDepth:
			return fmt.Errorf("path %q: more than %d levels", f.Path, l.TreeDepth)
		}
	}
	_, err := blobs.Files(t.Tree(), nil, time.Time{})
	return err
}

// members reads the keys of an object, each of which may be there once.
func members(src []byte) (out []member, err error) {
	d := json.NewDecoder(bytes.NewReader(src))
	if tok, err := d.Token(); err != nil || tok != json.Delim('{') {
		return nil, fmt.Errorf("is not an object")
	}
	seen := map[string]bool{}
	for d.More() {
		tok, err := d.Token()
		if err != nil {
			return nil, err
		}
		m := member{key: fmt.Sprint(tok)}
		if seen[m.key] {
			return nil, fmt.Errorf("has key %q twice", m.key)
		}
		seen[m.key] = true
		if err := d.Decode(&m.value); err != nil {
			return nil, err
		}
		out = append(out, m)
	}
	if _, err := d.Token(); err != nil {
		return nil, err
	}
	if _, err := d.Token(); err != io.EOF {
		return nil, fmt.Errorf("goes on after its end")
	}
	return out, nil
}

func readMastraFile(m member) (f MastraFile, err error) {
	if f.Path, err = blobs.Path(m.key); err != nil {
		return f, err
	}
	if f.Path == "." || strings.ContainsFunc(f.Path, func(r rune) bool { return r == '\\' || unicode.IsControl(r) }) {
		return f, fmt.Errorf("is not one of a file")
	}
	list, err := members(m.value)
	if err != nil {
		return f, err
	}
	f.Size = -1
	known := map[string]any{"blobHash": &f.Hash, "size": &f.Size, "mimeType": &f.MIME, "encoding": &f.Encoding}
	for _, m := range list {
		if into, ok := known[m.key]; !ok {
			f.rest = append(f.rest, m)
		} else if err := json.Unmarshal(m.value, into); err != nil {
			return f, fmt.Errorf("%s: %w", m.key, err)
		}
	}
	switch {
	case len(f.Hash) != 64 || strings.Trim(f.Hash, "0123456789abcdef") != "":
		return f, fmt.Errorf("blobHash %.80q: want 64 hexadecimal digits", f.Hash)
	case f.Size < 0:
		return f, fmt.Errorf("size: want the number of bytes")
	case !slices.Contains([]string{"", EncodeText, EncodeB64}, f.Encoding):
		return f, fmt.Errorf("encoding %.40q: want utf-8 or base64", f.Encoding)
	}
	return f, nil
}

// Tree returns the files as other rooms know them. None is executable: that system does
// not say.
func (t MastraTree) Tree() skill.Tree {
	tree := make(skill.Tree, 0, len(t.Files))
	for _, f := range t.Files {
		tree = append(tree, skill.FileEntry{Path: fold.NFC(f.Path), Blob: skill.Digest("sha256:" + f.Hash), Size: f.Size})
	}
	slices.SortFunc(tree, func(a, b skill.FileEntry) int { return strings.Compare(a.Path, b.Path) })
	return tree
}

// MastraTreeOf returns a tree in Mastra's form. Contents that a text can't hold are marked
// as base64, whatever their name. mime has the types that are not told by the name; nil =
// none.
func MastraTreeOf(ctx context.Context, tree skill.Tree, b blobs.Store, mime map[string]string) (MastraTree, error) {
	var out MastraTree
	for _, e := range tree {
		data, err := b.Get(ctx, e.Blob)
		if err != nil {
			return MastraTree{}, fmt.Errorf("skill version tree: path %q: %w", e.Path, err)
		}
		f := MastraFile{Path: e.Path, Hash: strings.TrimPrefix(string(e.Blob), "sha256:"), Size: e.Size, MIME: mime[e.Path]}
		if f.MIME == "" {
			f.MIME = MediaType(e.Path, data)
		}
		if binaryType(f.MIME) || !utf8.Valid(data) || bytes.IndexByte(data, 0) >= 0 {
			f.Encoding = EncodeB64
		}
		out.Files = append(out.Files, f)
	}
	slices.SortFunc(out.Files, func(a, b MastraFile) int { return strings.Compare(a.Path, b.Path) })
	return out, nil
}

// MarshalJSON writes the tree with its entries by path.
func (t MastraTree) MarshalJSON() ([]byte, error) {
	var entries []member
	for _, f := range t.Files {
		list := []member{{"blobHash", jsonValue(f.Hash)}, {"size", jsonValue(f.Size)}}
		if f.MIME != "" {
			list = append(list, member{"mimeType", jsonValue(f.MIME)})
		}
		if f.Encoding != "" {
			list = append(list, member{"encoding", jsonValue(f.Encoding)})
		}
		entries = append(entries, member{f.Path, object(append(list, f.rest...))})
	}
	return object(append([]member{{"entries", object(entries)}}, t.rest...)), nil
}

func jsonValue(v any) json.RawMessage {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil { // texts and numbers do not fail
		return json.RawMessage("null")
	}
	return bytes.TrimSpace(b.Bytes())
}

func object(list []member) json.RawMessage {
	var b bytes.Buffer
	b.WriteByte('{')
	for i, m := range list {
		if i > 0 {
			b.WriteByte(',')
		}
		b.Write(jsonValue(m.key))
		b.WriteByte(':')
		b.Write(m.value)
	}
	b.WriteByte('}')
	return b.Bytes()
}

// Row is what Mastra's table of contents has for data in a file.
func (f MastraFile) Row(data []byte) string {
	if f.Encoding == EncodeB64 {
		return base64.StdEncoding.EncodeToString(data)
	}
	return string(data)
}

// MastraRows returns the content that Mastra's table has for a hash: a text, or base64. The
// error of a hash that is not there wraps fs.ErrNotExist.
type MastraRows func(ctx context.Context, hash string) (string, error)

// Get returns the bytes of a row. One hash has one row, which is of the form of the file
// that came first, so the form is told by the hash: bytes that are not those of d are
// blobs.ErrDamaged.
func (r MastraRows) Get(ctx context.Context, d skill.Digest) ([]byte, error) {
	hash, ok := strings.CutPrefix(string(d), "sha256:")
	if !ok {
		return nil, fmt.Errorf("%w: want sha256:<64 hex>, not %q", blobs.ErrDigest, d)
	}
	row, err := r(ctx, hash)
	if err != nil {
		return nil, err
	}
	if skill.FileDigest([]byte(row)) == d {
		return []byte(row), nil
	}
	if data, err := canonical(row); err == nil && skill.FileDigest(data) == d {
		return data, nil
	}
	return nil, fmt.Errorf("%w: %s", blobs.ErrDamaged, d)
}
