package fetch

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"path"
	"slices"
	"strings"

	"github.com/deftskills/deft/install/archive"
)

// SkillServer serves skills over another protocol, which some other room speaks.
type SkillServer interface {
	// List says which skills there are, and reads none of them.
	List(ctx context.Context) ([]ServedSkill, error)
	// Read reads one file of one.
	Read(ctx context.Context, uri string) ([]byte, error)
	Close()
}

// ServedSkill is a skill that a server lists.
type ServedSkill struct {
	URI, Name, Description string
	Files                  []ServedFile
	Changing               bool // the server lists no files: they may be others each time
}

// ServedFile is one file of it.
type ServedFile struct {
	URI    string
	Digest string // sha256:hex; "" = none is given
	Size   int64  // 0 = not given
}

// Bounds of one skill of a server.
const (
	maxServedFiles = 512
	maxServedBytes = 16 << 20
	maxServedFile  = 4 << 20
)

// ErrChanging is a skill of which the server does not say what it consists of.
var ErrChanging = errors.New("mcp_files_unknown")

// Dir is the folder that a skill's address stands for: what lies between the scheme and
// SKILL.md. The error is archive.ErrBadEntry.
func (s ServedSkill) Dir() (string, error) {
	scheme, rest, ok := strings.Cut(s.URI, "://")
	rest, named := strings.CutSuffix(rest, "/SKILL.md")
	if !ok || !named || strings.Trim(scheme, "abcdefghijklmnopqrstuvwxyz0123456789+.-") != "" || slices.Contains([]string{"", "file", "http", "https", "data"}, scheme) {
		return "", fmt.Errorf("%w: %q is no address of a skill", archive.ErrBadEntry, s.URI)
	}
	return servedPath(rest)
}

// servedPath is the path that the rest of an address stands for. What an address can hold
// and a path can't is refused, not mended.
func servedPath(rest string) (string, error) {
	if strings.ContainsAny(rest, "?#") {
		return "", fmt.Errorf("%w: %q (a query or a fragment)", archive.ErrBadEntry, rest)
	}
	parts := strings.Split(rest, "/")
	for i, part := range parts {
		plain, err := url.PathUnescape(part)
		if err != nil || strings.ContainsAny(plain, "/\\") {
			return "", fmt.Errorf("%w: %q (a separator in a part)", archive.ErrBadEntry, rest)
		}
		parts[i] = plain
	}
	at := strings.Join(parts, "/")
	if err := (&archive.Paths{}).Add(at, false); err != nil {
		return "", err
	}
	if path.Clean(at) != at {
		return "", fmt.Errorf("%w: %q", archive.ErrBadEntry, at)
	}
	return at, nil
}

// paths are where the files of a skill go, in the order of its list. All of them are told
// before the first is read.
func (s ServedSkill) paths() (out []string, err error) {
	switch {
	case s.Changing:
		return nil, fmt.Errorf("%w: the server does not list the files of %q", ErrChanging, s.URI)
	case len(s.Files) > maxServedFiles:
		return nil, fmt.Errorf("%w: %q has %d files, at most %d", ErrLimit, s.URI, len(s.Files), maxServedFiles)
	}
	base := strings.TrimSuffix(s.URI, "SKILL.md")
	all := &archive.Paths{}
	total := int64(0)
	for _, f := range s.Files {
		rest, below := strings.CutPrefix(f.URI, base)
		if !below {
			return nil, fmt.Errorf("%w: %q (outside its skill %q)", archive.ErrBadEntry, f.URI, s.URI)
		}
		at, err := servedPath(rest)
		if err == nil {
			err = all.Add(at, false)
		}
		if err != nil {
			return nil, err
		}
		if f.Digest != "" && !sha256Form.MatchString(f.Digest) {
			return nil, fmt.Errorf("%w: %q is no sha256 digest", ErrDigest, f.Digest)
		}
		if f.Size < 0 || f.Size > maxServedFile || total+f.Size > maxServedBytes {
			return nil, fmt.Errorf("%w: %q has more than %d bytes, or a file of more than %d", ErrLimit, s.URI, maxServedBytes, maxServedFile)
		}
		total += f.Size
		out = append(out, at)
	}
	if !slices.Contains(out, "SKILL.md") {
		return nil, fmt.Errorf("%w: the server lists no SKILL.md of %q", archive.ErrFormat, s.URI)
	}
	return out, nil
}

// Copy reads all files of a skill, each of which must be what the list says of it.
func (s ServedSkill) Copy(ctx context.Context, from SkillServer) (files []archive.File, err error) {
	paths, err := s.paths()
	if err != nil {
		return nil, err
	}
	total := int64(0)
	for i, f := range s.Files {
		data, err := from.Read(ctx, f.URI)
		if err != nil {
			return nil, fmt.Errorf("%w: %w", ErrUnreachable, err)
		}
		size := int64(len(data))
		if total += size; size > maxServedFile || total > maxServedBytes {
			return nil, fmt.Errorf("%w: %q has more than %d bytes, or a file of more than %d", ErrLimit, s.URI, maxServedBytes, maxServedFile)
		}
		if f.Size > 0 && size != f.Size {
			return nil, fmt.Errorf("%w: %q has %d bytes, the list says %d", ErrDigest, f.URI, size, f.Size)
		}
		if f.Digest != "" && digestOf(data) != f.Digest {
			return nil, fmt.Errorf("%w: %q is %s, the list says %s", ErrDigest, f.URI, digestOf(data), f.Digest)
		}
		files = append(files, archive.File{Path: paths[i], Data: data})
	}
	return files, nil
}

// Mark identifies what the list says of a skill, "" where it gives no digests.
func (s ServedSkill) Mark() string {
	var lines []string
	for _, f := range s.Files {
		if f.Digest == "" {
			return ""
		}
		lines = append(lines, f.URI+" "+f.Digest+"\n")
	}
	if len(lines) == 0 {
		return ""
	}
	slices.Sort(lines)
	return digestOf([]byte(strings.Join(lines, "")))
}
