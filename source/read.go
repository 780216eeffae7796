package source

import (
	"errors"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/deftskills/deft/internal/progress"
	"github.com/deftskills/deft/skill"
)

// sidecars are the files beside SKILL.md that say more about a skill, in the order
// of Stamp.Sidecars.
var sidecars = [2]string{"SKILL.config.json", "agents/openai.yaml"}

// racy is how young a file may be at a scan so that its times do not prove that it
// is unchanged: file systems keep times in steps of up to two seconds.
const racy = 2 * time.Second

type visitState uint8

const (
	notSkill visitState = iota // no exact SKILL.md: the directory must be listed
	isSkill
	reused
	isLink // SKILL.md is a link: decided in order, not in parallel
	failed
)

type visit struct {
	state   visitState
	entry   *Entry
	finding *skill.Diagnostic // of a failed visit
}

var buffers = sync.Pool{New: func() any { b := make([]byte, 0, 16<<10); return &b }}

// visit looks for exact SKILL.md in one directory without listing it.
func (w *walker) visit(p place) visit {
	if w.o.NamesOnly && !w.o.One {
		if old := w.known(p); old != nil && old.File == SkillFile && old.RealFile == "" && (old.RealDir == p.real || old.Dir == "") {
			return visit{state: reused, entry: old}
		}
	}
	if w.former.entries == nil { // nothing to reuse: opening says more than looking
		if v, ok := w.cold(p); ok {
			return v
		}
	}
	stamp, typ, err := p.t.look(join(p.rel, SkillFile))
	if err == nil {
		switch typ {
		case typeAbsent:
			return visit{state: notSkill}
		case typeLink:
			return visit{state: isLink}
		}
	}
	return w.load(p, SkillFile, stamp, typ, err)
}

// cold opens exact SKILL.md at once. Whatever is odd about it is left to the careful
// way, which looks first.
func (w *walker) cold(p place) (visit, bool) {
	buf := buffers.Get().(*[]byte)
	defer buffers.Put(buf)
	max := w.o.Format.Limits.File
	src, before, after, err := p.t.read(join(p.rel, SkillFile), *buf, max)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return visit{state: notSkill}, true
	case err != nil || before != after || int64(len(src)) > max || before.Size > max:
		return visit{}, false
	}
	*buf = src[:0]
	stamp := w.surroundings(p, nil)
	stamp.File = after
	return w.build(p, SkillFile, "", src, stamp, false, nil), true
}

// load reads the skill of one directory, or takes it from the former listing when
// its stamp says that nothing changed.
func (w *walker) load(p place, file string, stamp FileStamp, typ nodeType, err error) visit {
	switch {
	case err != nil:
		return w.broken(p, file, finding(w.unreadable("stat", err), p.dir+sep+file, "%s cannot be read: %v", file, cause(err)))
	case typ != typeFile:
		return w.broken(p, file, finding("file_special", p.dir+sep+file, "%s is not a regular file", file))
	}
	return w.parse(p, file, "", stamp, func(buf []byte, max int64) ([]byte, FileStamp, error) {
		src, _, after, err := p.t.read(join(p.rel, file), buf, max)
		return src, after, err
	})
}

type reader func(buf []byte, max int64) ([]byte, FileStamp, error)

// parse turns one skill file into an entry. realFile is set when the file is a link.
func (w *walker) parse(p place, file, realFile string, before FileStamp, read reader) visit {
	max := w.o.Format.Limits.File
	if before.Size > max {
		return w.broken(p, file, finding("limit_file", p.dir+sep+file, "%s has %d bytes; the limit is %d", file, before.Size, max))
	}
	old := w.known(p)
	if old != nil && (old.File != file || old.RealFile != realFile || (old.RealDir != p.real && old.Dir != "")) {
		old = nil
	}
	stamp := w.surroundings(p, old)
	stamp.File = before
	if old != nil && old.Stamp.Same(stamp) {
		if old.Stamp.Dir != stamp.Dir {
			stamp.Racy = old.Stamp.Racy
			old = restamped(old, stamp)
		}
		return visit{state: reused, entry: old}
	}
	name := p.dir + sep + file
	buf := buffers.Get().(*[]byte)
	defer buffers.Put(buf)
	src, after, err := read(*buf, max)
	changed := false
	if err == nil && after != before && w.rule().faultOut {
		return w.broken(p, file, finding("changed_during_read", name, "%s changed while it was read", file))
	}
	if err == nil && after != before { // written to since the look: once more, then take what is there
		before = after
		src, after, err = read(*buf, max)
		changed = err == nil && after != before
	}
	switch {
	case errors.Is(err, ErrSpecial):
		return w.broken(p, file, finding("file_special", name, "%s is not a regular file", file))
	case err != nil:
		return w.broken(p, file, finding(w.unreadable("read", err), name, "%s cannot be read: %v", file, cause(err)))
	case int64(len(src)) > max:
		return w.broken(p, file, finding("limit_file", name, "%s has more than %d bytes", file, max))
	}
	*buf = src[:0]
	stamp.File = after
	return w.build(p, file, realFile, src, stamp, changed, old)
}

// build makes the entry of a file that was read. A file that says what it said when
// old was read keeps the Skill of old, so that a touch is no change.
func (w *walker) build(p place, file, realFile string, src []byte, stamp Stamp, changed bool, old *Entry) visit {
	w.read.Add(1)
	stamp.Racy = changed || w.young(stamp.File)
	if old != nil && !changed && stamp.Sidecars == nil && old.Stamp.Sidecars == nil && old.read() && skill.FileDigest(src) == old.Skill.File {
		progress.Add(w.ctx, 1)
		return visit{state: isSkill, entry: restamped(old, stamp)}
	}
	e := w.entry(p, file, realFile)
	e.Stamp = stamp
	o := w.options(p, e, w.readSidecars(p, stamp.Sidecars))
	e.Skill = skill.Parse(src, o)
	if w.o.judge != nil {
		w.o.judge(src, e, o)
	}
	if file != SkillFile {
		add(e.Skill, finding("file_name", p.dir+sep+file, "file is called %q; its name is %s", file, SkillFile))
	}
	if changed {
		add(e.Skill, finding("changed_during_read", p.dir+sep+file, "%s changed while it was read", file))
	}
	return visit{state: isSkill, entry: e}
}

// young says whether a file was changed so shortly ago, or in the future, that another
// change may leave its times as they are.
func (w *walker) young(st FileStamp) bool {
	now := w.o.Now().UnixNano()
	return now-st.MtimeNS < int64(racy) || now-st.CtimeNS < int64(racy)
}

// restamped is an entry with another stamp and the very same skill.
func restamped(e *Entry, s Stamp) *Entry {
	c := *e
	c.Stamp = s
	return &c
}

// Whole reports whether the entry is a usable skill whose file was read in one piece,
// not while it was written to.
func (e *Entry) Whole() bool {
	return e.Skill.Valid && e.read()
}

// read says whether the entry's file was read in one piece.
func (e *Entry) read() bool {
	return e.Skill.File != "" && !slices.ContainsFunc(e.Skill.Diagnostics, func(d skill.Diagnostic) bool { return strings.HasSuffix(d.Code, "changed_during_read") })
}

// add attaches a finding to a skill that nobody else has seen yet.
func add(s *skill.Skill, d skill.Diagnostic) { s.Diagnostics = append(s.Diagnostics, d) }

// broken makes the entry of a skill whose file cannot be read: listed, never offered.
func (w *walker) broken(p place, file string, d skill.Diagnostic) visit {
	if own := w.code(d.Code); w.rule().faultOut && (own != d.Code || strings.HasPrefix(own, "skill_")) {
		said := finding(own, d.File, "%s", d.Message)
		return visit{state: failed, finding: &said}
	}
	e := w.entry(p, file, "")
	e.Skill = invalid(w.options(p, e, nil), d)
	return visit{state: isSkill, entry: e}
}

// invalid returns a skill that has a directory's name, one finding and nothing else.
func invalid(o skill.ParseOptions, d skill.Diagnostic) *skill.Skill {
	s := skill.Parse(nil, o)
	s.Valid, s.Diagnostics = false, []skill.Diagnostic{d}
	return s
}

func (w *walker) entry(p place, file, realFile string) *Entry {
	progress.Add(w.ctx, 1)
	loc, dir := fileLocation(p.dir, file)
	if w.rule().real {
		loc, _ = fileLocation(p.real, file)
		loc = realScheme + loc[len(fileScheme):]
	}
	real := p.real
	if real == dir {
		real = dir // one string for both
	}
	if file != SkillFile {
		file = strings.Clone(file)
	}
	info := &w.o.Info
	if w.o.carried != nil {
		info = w.o.carried
	}
	return &Entry{
		Source: *info, From: w.src, Location: loc, Dir: dir, RealDir: real,
		Group: p.group, File: file, RealFile: realFile,
	}
}

func (w *walker) options(p place, e *Entry, sides map[string][]byte) skill.ParseOptions {
	path := strings.TrimPrefix(e.Location, fileScheme) // mostly the path itself: no text of its own
	if !lies(path, e.Dir, e.File) {
		path = e.Dir + sep + e.File
	}
	return skill.ParseOptions{
		Dialect: w.o.Format.Dialect, Limits: w.o.Format.Limits, DataDir: w.o.Format.DataDir,
		Path: path, DirName: filepath.Base(p.dir), TargetDirName: filepath.Base(p.real), Sidecars: sides,
	}
}

// surroundings stamps a skill's directory and looks at both sidecars without opening
// them. The directory comes first: whatever appears after that shows in its next stamp.
func (w *walker) surroundings(p place, old *Entry) Stamp {
	var s Stamp
	dir, _, leaf := p.t.folder(p.rel)
	if dir.Dev != 0 && !w.young(dir) { // only real inodes change when a name comes
		s.Dir = dir
	}
	if old != nil && old.Stamp.Sidecars == nil && s.Dir != (FileStamp{}) && s.Dir == old.Stamp.Dir {
		return s
	}
	for i, name := range sidecars {
		if parent, _, below := strings.Cut(name, "/"); below {
			if leaf {
				continue
			}
			if _, typ, err := p.t.look(join(p.rel, parent)); err == nil && typ == typeAbsent {
				continue
			}
			s.Dir = FileStamp{} // a file that appears below says nothing to the directory above
		}
		st, typ, err := p.t.look(join(p.rel, name))
		if err != nil || typ == typeAbsent || typ == typeDir {
			continue
		}
		if s.Sidecars == nil {
			s.Sidecars = new([2]FileStamp)
		}
		s.Sidecars[i] = st
	}
	return s
}

// readSidecars reads the sidecars that exist. One that cannot be read is handed over
// as a byte that no parser accepts, so that the skill says so and the rest loads.
func (w *walker) readSidecars(p place, stamps *[2]FileStamp) map[string][]byte {
	if stamps == nil {
		return nil
	}
	unreadable := []byte{0}
	got := map[string][]byte{}
	for i, name := range sidecars {
		if stamps[i] == (FileStamp{}) {
			continue
		}
		got[name] = unreadable
		max := w.o.Format.Limits.Sidecar
		if src, _, err := w.readSidecar(p, name, max); err == nil {
			got[name] = src
		}
	}
	return got
}

func (w *walker) readSidecar(p place, name string, max int64) ([]byte, FileStamp, error) {
	src, st, _, err := p.t.read(join(p.rel, name), nil, max)
	if err == nil || w.o.Info.Links == LinksNone {
		return src, st, err
	}
	real, lerr := filepath.EvalSymlinks(filepath.Join(p.dir, filepath.FromSlash(name)))
	if lerr != nil || !w.mayLead(real) {
		return nil, st, err
	}
	f, err := openRegular(real)
	if err != nil {
		return nil, st, err
	}
	defer f.Close()
	src, st, _, err = readFile(f, real, nil, max)
	return src, st, err
}

// regular passes f on if its descriptor says that it is a regular file.
func regular[F fs.File](f F) (F, error) {
	st, err := f.Stat()
	if err == nil && !st.Mode().IsRegular() {
		err = ErrSpecial
	}
	if err != nil {
		f.Close()
		var none F
		return none, err
	}
	return f, nil
}
