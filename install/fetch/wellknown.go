package fetch

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"path"
	"regexp"
	"slices"
	"strings"

	"github.com/deftskills/deft/install/archive"
)

// Errors of indexes at well-known addresses.
var (
	// ErrNoIndex is a host that answers, and has no index where one would lie.
	ErrNoIndex = errors.New("wellknown_no_index")
	// ErrSchema is an index of a form that is not known: nothing of it is read.
	ErrSchema = errors.New("wellknown_unknown_schema")
)

// Schema is the form of index that is read and written.
const Schema = "https://schemas.agentskills.io/discovery/0.2.0/schema.json"

// The types of an entry that are read.
const (
	TypeDocument = "skill-md" // one SKILL.md
	TypeArchive  = "archive"  // the folder of a skill, SKILL.md at its root
)

// IndexFolder is where an index lies below a host or a folder of one.
const IndexFolder = ".well-known/agent-skills"

// formerFolder has indexes of the first form, which names files and no digests.
const formerFolder = ".well-known/skills"

// IndexFile is the name of an index.
const IndexFile = "index.json"

const (
	maxIndexed     = 10_000 // entries of an index
	maxIndexedFile = 2_000  // files of one skill, in the first form
	// indexTimes is how many times the time of one fetch all files of an index may take.
	indexTimes = 5
)

var sha256Form = regexp.MustCompile(`^sha256:[0-9a-f]{64}$`)

// WellKnown reads indexes of skills. All that is fetched for one lies on the host that was
// named, after redirects too, or on one of Origins.
type WellKnown struct {
	HTTP    *HTTP
	Origins []string // hosts, or host:port
	Keys    Keys
}

// Index is what a host says that it has.
type Index struct {
	URL        string // of the index itself
	Unverified bool   // of the first form: what is fetched can't be compared with anything
	Entries    []IndexEntry
	Notes      []Note
	Signature  Signature
}

// IndexEntry is one skill of an index.
type IndexEntry struct {
	Name, Description string
	Type              string
	URL               string // absolute; of the first form, of the folder
	Digest            string // "" in the first form
	Files             []string
	Err               error // why it can't be had; nil = nothing is known against it
}

// Index reads the index of host[:port][/path]: that of the path, else that of the host.
// The errors are ErrNoIndex, ErrSchema, ErrSignature, and those of HTTP.
func (w *WellKnown) Index(ctx context.Context, at string) (*Index, error) {
	h, end := w.HTTP.session()
	defer end()
	host, _, _ := strings.Cut(at, "/")
	var none error
	for _, address := range places(at) {
		a := h.document(address)
		a.admit = w.within(host)
		b, err := h.get(ctx, a)
		switch {
		case errors.Is(err, ErrStatus), errors.Is(err, ErrOrigin):
			if none == nil || errors.Is(err, ErrOrigin) {
				none = err
			}
			continue
		case err != nil:
			return nil, err
		}
		x, err := ReadIndex(b.Data, b.URL)
		if errors.Is(err, ErrNoIndex) {
			none = err
			continue
		}
		if err != nil {
			return nil, err
		}
		x.Signature, err = w.Keys.beside(ctx, h, a, b)
		if err == nil && x.Unverified {
			// A signature of names alone says nothing of the files.
			x.Signature, err = w.Keys.Check(nil, nil)
		}
		return x, err
	}
	return nil, fmt.Errorf("%w: %s: %w", ErrNoIndex, at, none)
}

// places are where an index may lie, the newer form first.
func places(at string) (out []string) {
	host, _, _ := strings.Cut(at, "/")
	for _, folder := range []string{IndexFolder, formerFolder} {
		for _, base := range []string{at, host} {
			if place := "https://" + base + "/" + folder + "/" + IndexFile; !slices.Contains(out, place) {
				out = append(out, place)
			}
		}
	}
	return out
}

// within admits the host that was named, and those that a person allowed.
func (w *WellKnown) within(host string) func(*url.URL) error {
	named := hostPort(&url.URL{Scheme: "https", Host: host})
	return func(u *url.URL) error {
		to := hostPort(u)
		if u.Scheme == "https" && (strings.EqualFold(to, named) || slices.ContainsFunc(w.Origins, func(o string) bool {
			return strings.EqualFold(to, hostPort(&url.URL{Scheme: "https", Host: o}))
		})) {
			return nil
		}
		return fmt.Errorf("%w: %s is neither %s nor allowed", ErrOrigin, u.Scheme+"://"+u.Host, host)
	}
}

// rawEntry is an entry as it stands in an index of either form.
type rawEntry struct {
	Name        string   `json:"name"`
	Type        string   `json:"type"`
	Description string   `json:"description"`
	URL         string   `json:"url"`
	Digest      string   `json:"digest"`
	Files       []string `json:"files"`
}

// ReadIndex reads an index that was fetched from an address. One bad entry is its own
// affair. The errors are ErrNoIndex, ErrSchema and ErrLimit.
func ReadIndex(src []byte, from string) (*Index, error) {
	base, err := url.Parse(from)
	if err != nil {
		return nil, fmt.Errorf("%w: %q is no address", ErrNoIndex, Redacted(from))
	}
	var doc struct {
		Schema json.RawMessage   `json:"$schema"`
		Skills []json.RawMessage `json:"skills"`
	}
	if json.Unmarshal(src, &doc) != nil || doc.Skills == nil && doc.Schema == nil {
		return nil, fmt.Errorf("%w: what lies at %s is no index", ErrNoIndex, Redacted(from))
	}
	x := &Index{URL: from, Unverified: doc.Schema == nil}
	var schema string
	if !x.Unverified && (json.Unmarshal(doc.Schema, &schema) != nil || schema != Schema) {
		return nil, fmt.Errorf("%w: %s has the form %.200s; nothing of it was read", ErrSchema, Redacted(from), doc.Schema)
	}
	if len(doc.Skills) > maxIndexed {
		return nil, fmt.Errorf("%w: %d skills in one index, at most %d", ErrLimit, len(doc.Skills), maxIndexed)
	}
	x.entries(doc.Skills, base)
	return x, nil
}

// entries reads the list. Types that are not known are counted.
func (x *Index) entries(list []json.RawMessage, base *url.URL) {
	names := &archive.Paths{}
	seen := map[string]bool{}
	skipped := map[string]int{}
	for n, raw := range list {
		var r rawEntry
		err := json.Unmarshal(raw, &r)
		if err == nil && !x.Unverified && r.Type != TypeDocument && r.Type != TypeArchive {
			skipped[r.Type]++
			continue
		}
		switch {
		case err != nil:
		case r.Name == "" || strings.Contains(r.Name, "/"):
			err = fmt.Errorf("%q is no name", r.Name)
		case seen[r.Name]:
			err = fmt.Errorf("%q is there twice", r.Name)
		default:
			err = names.Add(r.Name, true)
		}
		if err != nil {
			x.Notes = append(x.Notes, Note{NoteEntry, "", fmt.Sprintf("entry %d of the index is left out: %v", n+1, err)})
			continue
		}
		seen[r.Name] = true
		e := IndexEntry{Name: r.Name, Description: r.Description, Type: r.Type, Digest: r.Digest, Files: r.Files}
		if x.Unverified {
			e.Type, e.Digest, r.URL = "", "", url.PathEscape(r.Name)+"/"
		}
		e.URL, e.Err = e.resolve(base, r.URL, x.Unverified)
		x.Entries = append(x.Entries, e)
	}
	for _, kind := range sorted(skipped) {
		x.Notes = append(x.Notes, Note{NoteEntry, "", fmt.Sprintf("%d entries of type %q are left out", skipped[kind], kind)})
	}
}

func sorted(m map[string]int) (keys []string) {
	for k := range m {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	return keys
}

// resolve is the address of an entry, and what is wrong with the entry.
func (e IndexEntry) resolve(base *url.URL, ref string, former bool) (string, error) {
	u, err := base.Parse(ref)
	switch {
	case err != nil, ref == "":
		return "", fmt.Errorf("%w: %q has no address that can be read", ErrUnreachable, e.Name)
	case u.User != nil:
		return "", fmt.Errorf("%w: the address of %q names a user", ErrUnreachable, e.Name)
	case !former && !sha256Form.MatchString(e.Digest):
		return "", fmt.Errorf("%w: the index has no sha256 digest for %q", ErrDigest, e.Name)
	}
	u.Fragment = ""
	return u.String(), nil
}

// Skills gets the files of entries, and for each that can't be had the reason.
func (w *WellKnown) Skills(ctx context.Context, at string, entries []IndexEntry) (files map[string][]archive.File, failed map[string]error) {
	h, end := w.HTTP.session()
	defer end()
	ctx, cancel := context.WithTimeout(ctx, indexTimes*h.Limits.withDefaults().Time)
	defer cancel()
	host, _, _ := strings.Cut(at, "/")
	files, failed = map[string][]archive.File{}, map[string]error{}
	left := h.Limits.bytes(gitBytes)
	for _, e := range entries {
		got, err := w.skill(ctx, h, w.within(host), e)
		for _, f := range got {
			left -= int64(len(f.Data))
		}
		if err == nil && left < 0 {
			err = fmt.Errorf("%w: the skills of the index have more than %d bytes", ErrLimit, h.Limits.bytes(gitBytes))
		}
		if err != nil {
			failed[e.Name] = err
			continue
		}
		files[e.Name] = got
	}
	return files, failed
}

func (w *WellKnown) skill(ctx context.Context, h *HTTP, admit func(*url.URL) error, e IndexEntry) ([]archive.File, error) {
	switch {
	case e.Err != nil:
		return nil, e.Err
	case e.Digest == "":
		return w.former(ctx, h, admit, e)
	}
	data, kept := h.Cache.Contents(e.Digest)
	if !kept {
		a := h.archive(e.URL)
		if e.Type == TypeDocument {
			a.most = h.Limits.withDefaults().Document
		}
		a.admit = admit
		b, err := h.get(ctx, a)
		if err != nil {
			return nil, err
		}
		if b.Digest != e.Digest {
			return nil, fmt.Errorf("%w: what lies at %s is %s, the index says %s", ErrDigest, Redacted(e.URL), b.Digest, e.Digest)
		}
		data = b.Data
	}
	if e.Type == TypeDocument {
		return []archive.File{{Path: "SKILL.md", Data: data}}, nil
	}
	c, err := archive.Read(data, archive.Limits{})
	if err != nil {
		return nil, err
	}
	if !slices.ContainsFunc(c.Files, func(f archive.File) bool { return f.Path == "SKILL.md" }) {
		return nil, fmt.Errorf("%w: no SKILL.md lies at the root of the archive", archive.ErrFormat)
	}
	return c.Files, nil
}

// former gets a skill file by file.
func (w *WellKnown) former(ctx context.Context, h *HTTP, admit func(*url.URL) error, e IndexEntry) (out []archive.File, err error) {
	base, err := url.Parse(e.URL)
	if err != nil {
		return nil, fmt.Errorf("%w: %q has no address that can be read", ErrUnreachable, e.Name)
	}
	if len(e.Files) > maxIndexedFile {
		return nil, fmt.Errorf("%w: %q has %d files, at most %d", ErrLimit, e.Name, len(e.Files), maxIndexedFile)
	}
	paths := &archive.Paths{}
	for _, name := range e.Files { // all of them before the first is asked for
		if err := paths.Add(name, false); err != nil {
			return nil, err
		}
		if path.Clean(name) != name {
			return nil, fmt.Errorf("%w: %q", archive.ErrBadEntry, name)
		}
	}
	if !slices.Contains(e.Files, "SKILL.md") {
		return nil, fmt.Errorf("%w: the index names no SKILL.md for %q", archive.ErrFormat, e.Name)
	}
	left := h.Limits.bytes(archiveBytes)
	for _, name := range e.Files {
		a := h.document(base.ResolveReference(&url.URL{Path: name}).String())
		a.admit, a.stored = admit, true
		b, err := h.get(ctx, a)
		if err != nil {
			return nil, err
		}
		if left -= int64(len(b.Data)); left < 0 {
			return nil, fmt.Errorf("%w: %q has more than %d bytes", ErrLimit, e.Name, h.Limits.bytes(archiveBytes))
		}
		out = append(out, archive.File{Path: name, Data: b.Data})
	}
	return out, nil
}
