package install

import (
	"bytes"
	"context"
	"crypto/sha1"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/text/collate"
	"golang.org/x/text/language"

	"github.com/deftskills/deft/internal/atomicfile"
	"github.com/deftskills/deft/internal/fault"
	"github.com/deftskills/deft/skill"
	"github.com/deftskills/deft/store/blobs"
)

// Two lock files that other installers keep. They are written only where they are there
// already, in the one form of each that is known; whatever else is in them stays.
const (
	publicProject = "skills-lock.json" // form 1, in a project
	publicUser    = ".skill-lock.json" // form 3, of a person
)

// publicVersion is the form that is known of a public lock file.
func publicVersion(file string) int {
	if filepath.Base(file) == publicProject {
		return 1
	}
	return 3
}

// publish brings a public lock file to what a change did. The note is why it was left as
// it is. A file that is not there is not made.
func (i *Installer) publish(ctx context.Context, n intent) (note string, err error) {
	if n.Scope.Public == "" {
		return "", nil
	}
	src, err := readSmall(n.Scope.Public)
	if errors.Is(err, fs.ErrNotExist) {
		return "", nil
	}
	if err != nil {
		return "", fmt.Errorf("lock: %w", err)
	}
	if src, err = united(n.Scope.Public, src); err != nil {
		return err.Error() + "; it is left as it is", nil
	}
	var version int
	whole, err := object(src)
	skills, bad := object(whole["skills"])
	if err != nil || bad != nil {
		return fmt.Sprintf("lock_damaged: %s can't be read and is left as it is", n.Scope.Public), nil
	}
	if json.Unmarshal(whole["version"], &version) != nil || version != publicVersion(n.Scope.Public) {
		return fmt.Sprintf("lock_unknown_version: %s has form %s, only %d is known; it is left as it is", n.Scope.Public,
			whole["version"], publicVersion(n.Scope.Public)), nil
	}
	if n.Entry == nil {
		if _, ok := skills[n.Name]; !ok {
			return "", nil
		}
		delete(skills, n.Name)
	} else if skills[n.Name], err = i.publicEntry(ctx, n, skills[n.Name]); err != nil {
		return "", err
	}
	if whole["skills"], err = encoded(skills); err != nil {
		return "", err
	}
	out, err := encoded(whole)
	if err != nil {
		return "", err
	}
	var pretty bytes.Buffer
	if err := json.Indent(&pretty, out, "", "  "); err != nil {
		return "", fmt.Errorf("lock: %w", err)
	}
	if err := fault.Err("install.publiclock"); err != nil {
		return "", fmt.Errorf("lock %s: %w", n.Scope.Public, err)
	}
	return "", atomicfile.Write(n.Scope.Public, pretty.Bytes(), 0o644)
}

// object is a JSON object, and an empty one for null.
func object(src []byte) (m map[string]json.RawMessage, err error) {
	if err := json.Unmarshal(src, &m); err != nil {
		return nil, err
	}
	if m == nil {
		m = map[string]json.RawMessage{}
	}
	return m, nil
}

// encoded is JSON without the escapes that are for web pages: foreign values stay as
// they were written.
func encoded(v any) ([]byte, error) {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return nil, fmt.Errorf("lock: %w", err)
	}
	return b.Bytes(), nil
}

// publicEntry is an entry as other installers read it, over what was there.
func (i *Installer) publicEntry(ctx context.Context, n intent, before json.RawMessage) (json.RawMessage, error) {
	entry, err := object(before)
	if err != nil {
		entry = map[string]json.RawMessage{} // none, or one that is no object: it is made anew
	}
	tree, err := i.o.Trees.Get(ctx, n.Entry.Tree)
	if err != nil {
		return nil, err
	}
	source, kind := publicSource(n.Entry.Source)
	set := map[string]string{"source": source, "sourceType": kind, "skillPath": skillPath(n.Entry.Source), "ref": n.Entry.Source.Ref}
	if publicVersion(n.Scope.Public) == 1 {
		if set["computedHash"], err = folderHash(ctx, i.o.Blobs, tree, collated); err != nil {
			return nil, err
		}
	} else {
		now := i.o.Now().UTC().Format("2006-01-02T15:04:05.000Z07:00")
		set["sourceUrl"], set["updatedAt"] = n.Entry.Source.URL, now
		if _, ok := entry["installedAt"]; !ok {
			set["installedAt"] = now
		}
		if set["skillFolderHash"], err = gitTree(ctx, i.o.Blobs, tree); err != nil {
			return nil, err
		}
	}
	for key, v := range set {
		if v == "" {
			delete(entry, key)
			continue
		}
		if entry[key], err = encoded(v); err != nil {
			return nil, err
		}
	}
	return encoded(entry)
}

// skillPath is the file of a skill in its source.
func skillPath(o Origin) string {
	if path.Ext(o.Subpath) == ".md" {
		return o.Subpath
	}
	return path.Join(o.Subpath, "SKILL.md")
}

// publicSource is how other installers name a source.
func publicSource(o Origin) (source, kind string) {
	switch o.Type {
	case Local:
		return o.URL, "local"
	case WellKnown:
		return "https://" + o.URL, "well-known"
	case NPM, MCP:
		return o.Source().String(), string(o.Type)
	}
	for host, kind := range map[string]string{"https://github.com/": "github", "https://gitlab.com/": "gitlab"} {
		if rest, ok := strings.CutPrefix(o.URL, host); ok {
			return strings.TrimSuffix(rest, ".git"), kind
		}
	}
	return o.URL, "git"
}

// collated orders paths as other installers do, by the root collation.
func collated(paths []string) { collate.New(language.Und).SortStrings(paths) }

// folderHash is SHA-256 over path and contents of every file, in an order.
func folderHash(ctx context.Context, b blobs.Store, tree skill.Tree, order func([]string)) (string, error) {
	at := map[string]skill.Digest{}
	var paths []string
	for _, f := range tree {
		at[f.Path] = f.Blob
		paths = append(paths, f.Path)
	}
	order(paths)
	h := sha256.New()
	for _, p := range paths {
		data, err := b.Get(ctx, at[p])
		if err != nil {
			return "", err
		}
		h.Write([]byte(p))
		h.Write(data)
	}
	return hex.EncodeToString(h.Sum(nil)), nil
}

// gitTree is the id that git gives to a folder with these files.
func gitTree(ctx context.Context, b blobs.Store, tree skill.Tree) (string, error) {
	type node struct{ name, mode, id string }
	var nodes []node
	below := map[string]skill.Tree{}
	for _, f := range tree {
		if dir, rest, ok := strings.Cut(f.Path, "/"); ok {
			f.Path = rest
			below[dir] = append(below[dir], f)
			continue
		}
		data, err := b.Get(ctx, f.Blob)
		if err != nil {
			return "", err
		}
		mode := "100644"
		if f.Exec {
			mode = "100755"
		}
		nodes = append(nodes, node{f.Path, mode, gitObject("blob", data)})
	}
	for dir, list := range below {
		id, err := gitTree(ctx, b, list)
		if err != nil {
			return "", err
		}
		nodes = append(nodes, node{dir, "40000", id})
	}
	slices.SortFunc(nodes, func(a, b node) int { return strings.Compare(gitOrder(a.name, a.mode), gitOrder(b.name, b.mode)) })
	var body bytes.Buffer
	for _, n := range nodes {
		id, err := hex.DecodeString(n.id)
		if err != nil {
			return "", fmt.Errorf("lock: %w", err)
		}
		body.WriteString(n.mode + " " + n.name + "\x00")
		body.Write(id)
	}
	return gitObject("tree", body.Bytes()), nil
}

// gitOrder is the name as git compares it: a folder's ends with a slash.
func gitOrder(name, mode string) string {
	if mode == "40000" {
		return name + "/"
	}
	return name
}

func gitObject(kind string, data []byte) string {
	h := sha1.New() // git's own names of objects; nothing is trusted for them
	fmt.Fprintf(h, "%s %d\x00", kind, len(data))
	h.Write(data)
	return hex.EncodeToString(h.Sum(nil))
}
