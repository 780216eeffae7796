package archive

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"maps"
	"path"
	"slices"
	"strings"
)

// Errors that callers tell apart; each message names the entry or the bound.
var (
	// ErrBadEntry is an entry that could do harm, or that contradicts another.
	ErrBadEntry = errors.New("archive_bad_entry")
	// ErrLimit is an archive that holds more than it may.
	ErrLimit = errors.New("archive_limit")
	// ErrFormat is what is no archive, or a damaged one.
	ErrFormat = errors.New("archive_format")
)

// File is one regular file.
type File struct {
	Path string // cleaned, relative, "/" between its parts
	Data []byte
	Exec bool // some execute bit was set
}

// Limits bounds one archive. A field that is 0 has the default.
type Limits struct {
	In      int64 // bytes packed; 64 MiB
	Out     int64 // bytes unpacked; 256 MiB
	Ratio   int64 // unpacked against packed, above 1 MiB; 100
	Entries int   // 10,000
	Depth   int   // parts of a path; 16
}

func (l Limits) withDefaults() Limits {
	for _, d := range []struct {
		field *int64
		is    int64
	}{{&l.In, 64 << 20}, {&l.Out, 256 << 20}, {&l.Ratio, 100}} {
		if *d.field == 0 {
			*d.field = d.is
		}
	}
	if l.Entries == 0 {
		l.Entries = 10_000
	}
	if l.Depth == 0 {
		l.Depth = defaultDepth
	}
	return l
}

const defaultDepth = 16

// freeOut is how much an archive may unpack to whatever its ratio.
const freeOut = 1 << 20

// Contents is an archive that was read.
type Contents struct {
	Files []File   // by path
	Notes []string // what was left out, such as links to folders
}

// reading gathers the entries of one archive.
type reading struct {
	l     Limits
	in    int64
	out   int64
	count int
	paths Paths
	files map[string]File
	links map[string]string // path to where it leads
	notes []string
}

// Read reads a zip, a tar or a gzipped tar; which one, its first bytes say. One folder
// that holds everything is taken off, unless a SKILL.md lies in it.
func Read(data []byte, l Limits) (Contents, error) {
	l = l.withDefaults()
	r := &reading{l: l, paths: Paths{Depth: l.Depth}, in: int64(len(data)), files: map[string]File{}, links: map[string]string{}}
	if r.in > r.l.In {
		return Contents{}, fmt.Errorf("%w: %d bytes, at most %d", ErrLimit, r.in, r.l.In)
	}
	var err error
	switch {
	case bytes.HasPrefix(data, []byte("PK\x03\x04")), bytes.HasPrefix(data, []byte("PK\x05\x06")):
		err = r.zip(data)
	case bytes.HasPrefix(data, []byte{0x1f, 0x8b}):
		var z *gzip.Reader
		if z, err = gzip.NewReader(bytes.NewReader(data)); err == nil {
			err = r.tar(z)
		}
	case len(data) >= 512 && string(data[257:262]) == "ustar":
		err = r.tar(bytes.NewReader(data))
	default:
		return Contents{}, fmt.Errorf("%w: neither zip nor tar", ErrFormat)
	}
	if err == nil {
		err = r.resolve()
	}
	if err != nil {
		if !errors.Is(err, ErrBadEntry) && !errors.Is(err, ErrLimit) {
			err = fmt.Errorf("%w: %w", ErrFormat, err)
		}
		return Contents{}, err
	}
	return Contents{Files: strip(r.files), Notes: r.notes}, nil
}

func (r *reading) tar(in io.Reader) error {
	t := tar.NewReader(in)
	for {
		h, err := t.Next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		switch h.Typeflag {
		case tar.TypeXGlobalHeader:
			continue // comments of the whole, such as git's commit
		case tar.TypeReg, tar.TypeDir, tar.TypeSymlink:
		default:
			return bad(h.Name, "neither file nor folder")
		}
		if err := r.entry(h.Name, h.Typeflag == tar.TypeDir); err != nil {
			return err
		}
		switch name := clean(h.Name); h.Typeflag {
		case tar.TypeSymlink:
			if err := r.link(name, h.Linkname); err != nil {
				return err
			}
		case tar.TypeReg:
			if err := r.keep(name, t, h.Size, h.Mode&0o111 != 0); err != nil {
				return err
			}
		}
	}
}

// entry checks one name before a byte of it is read.
func (r *reading) entry(name string, dir bool) error {
	if r.count++; r.count > r.l.Entries {
		return tooMany(r.l)
	}
	return r.paths.Add(name, dir)
}

func tooMany(l Limits) error { return fmt.Errorf("%w: more than %d entries", ErrLimit, l.Entries) }

// keep reads one file, no more than the archive may still unpack to. A size that lies is
// found by reading.
func (r *reading) keep(name string, in io.Reader, size int64, exec bool) error {
	left := r.l.Out - r.out
	if most := r.l.Ratio * r.in; most > freeOut {
		left = min(left, most-r.out)
	} else {
		left = min(left, freeOut-r.out)
	}
	if size > left {
		return fmt.Errorf("%w: %q would make it larger than %d bytes, or %d times what is packed", ErrLimit, name, r.l.Out, r.l.Ratio)
	}
	data, err := io.ReadAll(io.LimitReader(in, left+1))
	if err != nil {
		return fmt.Errorf("%q: %w", name, err)
	}
	if int64(len(data)) > left {
		return fmt.Errorf("%w: %q would make it larger than %d bytes, or %d times what is packed", ErrLimit, name, r.l.Out, r.l.Ratio)
	}
	if int64(len(data)) != size {
		return bad(name, fmt.Sprintf("%d bytes where %d are announced", len(data), size))
	}
	r.out += size
	r.files[name] = File{Path: name, Data: data, Exec: exec}
	return nil
}

// link notes where a link leads; one that leads out ends the reading at once.
func (r *reading) link(name, to string) error {
	if why := badTarget(name, to); why != "" {
		return bad(name, why)
	}
	r.links[name] = to
	return nil
}

// resolve puts the contents of what links lead to in their place.
func (r *reading) resolve() error {
	for _, name := range slices.Sorted(maps.Keys(r.links)) {
		to := r.links[name]
		at := path.Join(path.Dir(name), to)
		for above := at; above != "."; above = path.Dir(above) {
			if _, link := r.links[above]; link {
				return bad(name, "a link that goes through another")
			}
		}
		f, ok := r.files[at]
		if !ok {
			r.notes = append(r.notes, fmt.Sprintf("%s is a link to %s, which is no file; it is left out", name, to))
			continue
		}
		if r.out += int64(len(f.Data)); r.out > r.l.Out {
			return fmt.Errorf("%w: links make it larger than %d bytes", ErrLimit, r.l.Out)
		}
		f.Path = name
		r.files[name] = f
	}
	return nil
}

// strip takes off the one folder that holds everything, as most archives have it.
func strip(files map[string]File) []File {
	list := make([]File, 0, len(files))
	top, same := "", true
	for _, name := range slices.Sorted(maps.Keys(files)) {
		first, _, below := strings.Cut(name, "/")
		same = same && below && (top == "" || top == first)
		top = first
		list = append(list, files[name])
	}
	if _, skill := files[top+"/SKILL.md"]; !same || skill {
		return list
	}
	for i := range list {
		list[i].Path = strings.TrimPrefix(list[i].Path, top+"/")
	}
	return list
}
