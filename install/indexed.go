package install

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/deftskills/deft/install/fetch"
	"github.com/deftskills/deft/internal/lockfile"
)

// Indexed is a skill in an index at a well-known address.
type Indexed struct {
	Packed
	Index   string // path of the index
	File    string // path of the archive, beside it
	SHA256  string // of the archive, as the index has it
	Skills  int    // entries of the index, those of others too
	Changed bool   // the index was, or would be, another
}

// indexName is what a skill may be called in an index.
var indexName = regexp.MustCompile(`^[a-z0-9]([a-z0-9-]{0,62}[a-z0-9])?$`)

// The largest index that is written: what readers take.
const maxIndex = 4 << 20

// PublishIndex puts the skill in a folder into the index of another, to be served at a
// well-known address: an archive with SKILL.md at its root, and an entry with its digest.
// The entries of others and keys that are not known stay as they are. An archive is called
// by its digest and written first, so that a reader of the index, old or new, finds what
// that names; archives of former versions stay. write replaces a file as a whole; nil
// writes nothing. The errors are ErrPack, and of an index that is there fetch.ErrSchema,
// fetch.ErrNoIndex and fetch.ErrLimit: it is left as it is.
func (i *Installer) PublishIndex(ctx context.Context, dir, to string, write func(path string, data []byte) error) (out Indexed, err error) {
	p, packed, err := i.packable(ctx, dir)
	if out.Packed = packed; err != nil {
		return out, err
	}
	if !indexName.MatchString(out.Name) || strings.Contains(out.Name, "--") {
		return out, fmt.Errorf("%w: in an index no skill is called %q: a-z, 0-9 and single hyphens", ErrPack, out.Name)
	}
	if p.Skill.Name != out.Name || strings.TrimSpace(p.Skill.Description) == "" {
		return out, fmt.Errorf("%w: readers of an index want the name %q and a description in the header", ErrPack, out.Name)
	}
	if out.Data, err = writeTar("", p); err != nil {
		return out, err
	}
	out.SHA256 = fetch.Digest(out.Data)
	folder := filepath.Join(to, filepath.FromSlash(fetch.IndexFolder))
	name := out.Name + "-" + strings.TrimPrefix(out.SHA256, "sha256:")[:16] + ".tar.gz"
	out.Index, out.File = filepath.Join(folder, fetch.IndexFile), filepath.Join(folder, name)
	if write == nil {
		_, err = out.entry(p.Skill.Description, name)
		return out, err
	}
	if err := os.MkdirAll(i.o.State, 0o700); err != nil {
		return out, fmt.Errorf("publish: %w", err)
	}
	// One index at a time: two that are published at once both stand in it.
	lock, err := lockfile.Exclusive(ctx, filepath.Join(i.o.State, "index.lock"), lockfile.Options{Verb: "publish", Now: i.o.Now})
	if err != nil {
		return out, err
	}
	defer func() { err = errors.Join(err, lock.Release()) }()
	index, err := out.entry(p.Skill.Description, name)
	if err != nil {
		return out, err
	}
	if err := write(out.File, out.Data); err != nil {
		return out, err
	}
	if !out.Changed {
		return out, nil
	}
	return out, write(out.Index, index)
}

// entry is the index with the skill in it.
func (x *Indexed) entry(description, url string) ([]byte, error) {
	before, err := readIndexFile(x.Index)
	if err != nil {
		return nil, err
	}
	whole, list, err := indexParts(x.Index, before)
	if err != nil {
		return nil, err
	}
	entry, err := encoded(map[string]string{"name": x.Name, "type": fetch.TypeArchive, "description": description, "url": url, "digest": x.SHA256})
	if err != nil {
		return nil, err
	}
	list = slices.DeleteFunc(list, func(raw json.RawMessage) bool { return nameOf(raw) == x.Name })
	list = append(list, entry)
	slices.SortStableFunc(list, func(a, b json.RawMessage) int { return strings.Compare(nameOf(a), nameOf(b)) })
	x.Skills = len(list)
	if whole["skills"], err = encoded(list); err != nil {
		return nil, err
	}
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	if err := enc.Encode(whole); err != nil {
		return nil, fmt.Errorf("publish: %w", err)
	}
	if b.Len() > maxIndex {
		return nil, fmt.Errorf("%w: the index would have %d bytes, readers take %d", fetch.ErrLimit, b.Len(), maxIndex)
	}
	x.Changed = !bytes.Equal(before, b.Bytes())
	return b.Bytes(), nil
}

// readIndexFile reads an index that is there, nil where none is.
func readIndexFile(at string) ([]byte, error) {
	f, err := os.Open(at)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("publish: %w", err)
	}
	defer f.Close()
	src, err := io.ReadAll(io.LimitReader(f, maxIndex+1))
	switch {
	case err != nil:
		return nil, fmt.Errorf("publish: %w", err)
	case len(src) > maxIndex:
		return nil, fmt.Errorf("%w: %s has more than %d bytes; it is left as it is", fetch.ErrLimit, at, maxIndex)
	}
	return src, nil
}

// indexParts takes an index apart; nil is an empty one.
func indexParts(at string, src []byte) (whole map[string]json.RawMessage, list []json.RawMessage, err error) {
	schema, err := encoded(fetch.Schema)
	if err != nil || src == nil {
		return map[string]json.RawMessage{"$schema": schema}, nil, err
	}
	if json.Unmarshal(src, &whole) != nil || whole == nil || whole["skills"] != nil && json.Unmarshal(whole["skills"], &list) != nil {
		return nil, nil, fmt.Errorf("%w: %s is no index; it is left as it is", fetch.ErrNoIndex, at)
	}
	var form string
	if json.Unmarshal(whole["$schema"], &form) != nil || form != fetch.Schema {
		return nil, nil, fmt.Errorf("%w: %s has the form %.200s; it is left as it is", fetch.ErrSchema, at, whole["$schema"])
	}
	return whole, list, nil
}

// nameOf is the name of an entry, "" where it has none.
func nameOf(raw json.RawMessage) string {
	var e struct {
		Name any `json:"name"`
	}
	_ = json.Unmarshal(raw, &e) // of another shape: it has none
	name, _ := e.Name.(string)
	return name
}
