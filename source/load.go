package source

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/deftskills/deft/internal/limits"
	"github.com/deftskills/deft/skill"
)

// Loaded is the text of one skill at one moment.
type Loaded struct {
	Skill *skill.Skill // the entry's, or a new reading when Drift is true
	Raw   []byte       // the bytes of SKILL.md
	Body  string       // the text after the header, line ends LF, {{DATA_DIR}} expanded
	File  string       // dialect minimax alone: the whole file, {{DATA_DIR}} expanded
	Drift bool         // the file is not what discovery saw: judge trust again
}

// Load reads the SKILL.md of an entry once, compares it with the digest of
// discovery and returns its body. A file that changed since is parsed again and
// gets a drift diagnostic; ErrInvalid when what is there now (or was there at
// discovery) is no usable skill. Safe for concurrent use.
func Load(ctx context.Context, e *Entry) (Loaded, error) {
	f, err := e.From.Open(ctx, e, "")
	if err != nil {
		return Loaded{}, fmt.Errorf("skill %q: %w", e.Skill.Name, err)
	}
	defer f.Close()
	max := limits.DefaultSkill().File
	st, err := f.Stat()
	if err != nil {
		return Loaded{}, fmt.Errorf("skill %q: %w", e.Skill.Name, err)
	}
	if st.Size() > max {
		return Loaded{}, fmt.Errorf("skill %q: file has %d bytes; the limit is %d", e.Skill.Name, st.Size(), max)
	}
	w := appendWriter{make([]byte, 0, st.Size()+512)}
	if _, err := io.Copy(&w, io.LimitReader(f, max+1)); err != nil {
		return Loaded{}, fmt.Errorf("skill %q: %w", e.Skill.Name, err)
	}
	if int64(len(w.b)) > max {
		return Loaded{}, fmt.Errorf("skill %q: file has more than %d bytes; the limit is %d", e.Skill.Name, max, max)
	}
	l := Loaded{Skill: e.Skill, Raw: w.b}
	if skill.FileDigest(w.b) != e.Skill.File {
		l.Drift = true
		l.Skill = reparse(ctx, e, w.b)
	}
	if !l.Skill.Valid {
		return l, fmt.Errorf("skill %q: %w", e.Skill.Name, ErrInvalid)
	}
	body := l.Skill.Body
	l.Body = skill.NormaliseBody(string(w.b[min(body.Start, int64(len(w.b))):min(body.End, int64(len(w.b)))]))
	o := formatOf(e)
	l.Body = skill.ExpandDataDir(l.Body, o.DataDir, o.Dialect)
	if o.Dialect == skill.MiniMax {
		l.File = skill.ExpandDataDir(string(w.b), o.DataDir, o.Dialect)
	}
	return l, nil
}

// formatOf is how the entry's source reads files; a source that does not say reads as
// dialect deft.
func formatOf(e *Entry) Format {
	if f, ok := e.From.(interface{ format() Format }); ok {
		return f.format()
	}
	return Format{}
}

// reparse reads a skill that changed under its entry, sidecars included.
func reparse(ctx context.Context, e *Entry, src []byte) *skill.Skill {
	sides := map[string][]byte{}
	for _, name := range sidecars {
		if f, err := e.From.Open(ctx, e, name); err == nil {
			if b, err := io.ReadAll(io.LimitReader(f, limits.DefaultSkill().Sidecar+1)); err == nil {
				sides[name] = b
			}
			f.Close()
		}
	}
	o := skill.ParseOptions{
		Path: e.Location, DirName: path.Base(filepath.ToSlash(e.Dir)),
		TargetDirName: path.Base(filepath.ToSlash(e.RealDir)), Sidecars: sides,
	}
	f := formatOf(e)
	o.Dialect, o.Limits, o.DataDir = f.Dialect, f.Limits, f.DataDir
	if e.Dir != "" {
		o.Path = filepath.Join(e.Dir, e.File)
	} else {
		o.DirName = path.Base(e.inner)
		o.TargetDirName = o.DirName
	}
	if e.isCommand() {
		o.DirName = CommandName(e.File)
		o.TargetDirName = o.DirName
	}
	s := skill.Parse(src, o)
	if e.isCommand() {
		asCommand(s)
	}
	add(s, finding("drift", o.Path, "%s changed since it was discovered", SkillFile))
	return s
}

func (s *dirSource) format() Format { return s.o.Format }
func (s *fsSource) format() Format  { return s.o.Format }

// Resource is one file of a skill beside SKILL.md.
type Resource struct {
	Path string // slash-separated, relative to the skill
	Size int64  // bytes
	Exec bool   // has an execute bit
}

// ResourceDepth is how many levels below a skill Resources lists.
const ResourceDepth = 4

// resourceNames bounds how many names of one directory Resources looks at.
const resourceNames = 20_000

// Resources lists the files of a skill, sorted bytewise by path, at most
// ResourceDepth levels and 2,000 files; SKILL.md itself and the ignore list of
// scans are left out. Links are not followed.
func Resources(ctx context.Context, e *Entry) ([]Resource, error) {
	max := limits.DefaultSkill().TreeFiles
	var out []Resource
	var list func(rel string, depth int) error
	list = func(rel string, depth int) error {
		entries, err := readDir(ctx, e, rel)
		if err != nil {
			return err
		}
		for _, d := range entries {
			name := join(strings.TrimPrefix(rel, "."), d.Name())
			switch {
			case len(out) >= max || ctx.Err() != nil:
				return ctx.Err()
			case d.IsDir() && depth < ResourceDepth && !slices.Contains(ignored, d.Name()):
				if err := list(name, depth+1); err != nil && depth == 0 {
					return err
				}
			case d.Type().IsRegular() && name != e.File:
				if st, err := d.Info(); err == nil {
					out = append(out, Resource{name, st.Size(), st.Mode()&0o111 != 0})
				}
			}
		}
		return nil
	}
	if err := list(".", 0); err != nil {
		return nil, fmt.Errorf("skill %q: %w", e.Skill.Name, err)
	}
	slices.SortFunc(out, func(a, b Resource) int { return strings.Compare(a.Path, b.Path) })
	return out, nil
}

func readDir(ctx context.Context, e *Entry, rel string) ([]fs.DirEntry, error) {
	f, err := e.From.Open(ctx, e, rel)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	d, ok := f.(fs.ReadDirFile)
	if !ok {
		return nil, &fs.PathError{Op: "readdir", Path: rel, Err: errors.New("not a directory")}
	}
	entries, err := d.ReadDir(resourceNames)
	if errors.Is(err, io.EOF) {
		err = nil
	}
	slices.SortFunc(entries, func(a, b fs.DirEntry) int { return strings.Compare(a.Name(), b.Name()) })
	return entries, err
}

// cleanRel checks a path below a skill: relative, inside, no NUL. "" is the skill file.
func cleanRel(e *Entry, rel string) (string, error) {
	if rel == "" {
		return e.File, nil
	}
	if strings.IndexByte(rel, 0) >= 0 || strings.HasPrefix(rel, "/") || filepath.IsAbs(rel) || !filepath.IsLocal(filepath.FromSlash(rel)) {
		return "", fmt.Errorf("path %q: %w", rel, ErrOutside)
	}
	return path.Clean(rel), nil
}

// openEntry opens a file or directory of a skill on the local disk, confined by an
// os.Root on the skill's real directory: links may lead anywhere inside it and
// nowhere else. Only regular files and directories are returned.
func openEntry(e *Entry, rel string) (fs.File, error) {
	if rel == "" && e.RealFile != "" {
		return openReal(e.RealFile)
	}
	rel, err := cleanRel(e, rel)
	if err != nil {
		return nil, err
	}
	root, err := openRoot(e.RealDir)
	if err != nil {
		return nil, err
	}
	defer root.Close()
	f, err := openIn(root, rel)
	if err != nil {
		if strings.Contains(err.Error(), "escapes from parent") { // os.Root has no error value for it
			err = fmt.Errorf("path %q: %w", rel, ErrOutside)
		}
		return nil, err
	}
	return regularOrDir(f, rel)
}

// regularOrDir passes f on unless its descriptor says that it is something else.
func regularOrDir(f fs.File, rel string) (fs.File, error) {
	st, err := f.Stat()
	if err == nil && !st.Mode().IsRegular() && !st.IsDir() {
		err = fmt.Errorf("path %q: %w", rel, ErrSpecial)
	}
	if err != nil {
		f.Close()
		return nil, err
	}
	return f, nil
}
