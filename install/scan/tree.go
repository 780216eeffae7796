package scan

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path"
	"slices"
	"strings"

	"golang.org/x/text/cases"

	"github.com/deftskills/deft/internal/fold"
	"github.com/deftskills/deft/internal/limits"
	"github.com/deftskills/deft/internal/safetext"
	"github.com/deftskills/deft/skill"
)

// tree is one scan while it runs.
type tree struct {
	ctx     context.Context
	scan    *Scanner
	fsys    fs.FS
	limits  limits.Hazards
	leave   []string
	only    string
	part    Part
	folded  map[string]string // folded path → path as found
	entries int
	bytes   int64
	over    bool // a bound on the whole tree was reached
	page    string
	deeds   []deed
	result  Result
}

// leftOut are folders of history: they are no part of a skill's tree.
func leftOut(name string) bool { return name == ".git" || name == ".hg" || name == ".svn" }

func (t *tree) at(name string) *file { return &file{scan: t.scan, name: name} }

func (t *tree) add(f Finding) {
	if f.Rule != "" {
		t.result.Findings = append(t.result.Findings, f)
	}
}

// partial adds a finding of something that was not read.
func (t *tree) partial(f *file, rule, text string) {
	t.result.Complete = false
	t.add(f.built(rule, 0, 0, text))
}

func (t *tree) dir(p string, depth int) {
	if depth > t.limits.Depth {
		t.result.FilesSkipped++
		t.partial(t.at(p), "ST107", fmt.Sprintf("more than %d directory levels", t.limits.Depth))
		return
	}
	entries, err := fs.ReadDir(t.fsys, p)
	if err != nil {
		t.result.FilesSkipped++
		t.partial(t.at(p), "ST108", cause(err))
	}
	for _, e := range entries {
		name := path.Join(p, e.Name())
		if t.over || t.ctx.Err() != nil {
			return
		}
		if leftOut(e.Name()) || slices.Contains(t.leave, name) || depth == 0 && t.only != "" && name != t.only || t.elsewhere(name, e) {
			continue
		}
		if t.entries++; t.entries > t.limits.Entries {
			t.over = true
			t.result.FilesSkipped++
			t.partial(t.at(name), "ST107", fmt.Sprintf("more than %d files and directories", t.limits.Entries))
			return
		}
		t.entry(name, e, depth)
	}
}

// elsewhere reports whether an entry is of the part that is not looked at.
func (t *tree) elsewhere(name string, e fs.DirEntry) bool {
	switch t.part {
	case Covered:
		return skill.LeftOut(e.Name())
	case Uncovered:
		return !e.IsDir() && !slices.ContainsFunc(strings.Split(name, "/"), skill.LeftOut)
	}
	return false
}

func cause(err error) string {
	var p *fs.PathError
	if errors.As(err, &p) {
		return p.Err.Error()
	}
	return err.Error()
}

func (t *tree) entry(name string, e fs.DirEntry, depth int) {
	t.named(name)
	switch typ := e.Type(); {
	case typ&fs.ModeSymlink != 0:
		t.link(name)
	case typ.IsDir():
		t.dir(name, depth+1)
	case typ.IsRegular():
		t.file(name)
	default:
		t.result.FilesSkipped++
		t.partial(t.at(name), "ST102", typ.String())
	}
}

// named judges a path by its letters alone.
func (t *tree) named(name string) {
	key := cases.Fold().String(fold.NFC(name))
	if other, ok := t.folded[key]; ok && other != name {
		t.add(t.at(name).built("ST106", 0, 0, other+" and "+name))
	}
	t.folded[key] = name
	base := path.Base(name)
	if clean, removed := safetext.Field(base); removed > 0 || strings.Contains(clean, "   ") || doubled(base) {
		t.add(t.at(name).built("ST113", 0, 0, base))
	}
}

// doubled reports whether a name ends as a program and, before that, as a document.
func doubled(base string) bool {
	low := strings.ToLower(base)
	last := path.Ext(low)
	before := path.Ext(strings.TrimSuffix(low, last))
	return slices.Contains([]string{".exe", ".scr", ".com", ".bat", ".cmd", ".ps1", ".vbs", ".msi", ".lnk", ".app", ".dmg", ".pkg", ".jar"}, last) &&
		slices.Contains([]string{".pdf", ".doc", ".docx", ".xls", ".xlsx", ".txt", ".md", ".png", ".jpg", ".jpeg", ".gif", ".csv", ".json", ".html"}, strings.TrimSpace(before))
}

// link judges where a link leads by its text; it is never followed.
func (t *tree) link(name string) {
	target, err := fs.ReadLink(t.fsys, name)
	if err != nil {
		t.result.FilesSkipped++
		t.partial(t.at(name), "ST108", cause(err))
		return
	}
	slash := strings.ReplaceAll(target, `\`, "/")
	to := path.Join(path.Dir(name), slash)
	if path.IsAbs(slash) || strings.Contains(slash, ":") || to == ".." || strings.HasPrefix(to, "../") {
		t.add(t.at(name).built("ST101", 0, 0, "-> "+target))
		return
	}
	t.through(name, to)
}

// through makes sure that the way of a link does not go over another one, which could
// leave, and that it is not into what the scan leaves out.
func (t *tree) through(name, to string) {
	for p := to; p != "."; p = path.Dir(p) {
		if leftOut(path.Base(p)) || slices.Contains(t.leave, p) {
			t.result.FilesSkipped++
			t.partial(t.at(name), "ST108", "leads into "+p)
			return
		}
		if info, err := fs.Lstat(t.fsys, p); err == nil && info.Mode()&fs.ModeSymlink != 0 && p != to {
			t.add(t.at(name).built("ST101", 0, 0, "goes over the link "+p))
			return
		}
	}
}

// file reads one regular file within the bounds.
func (t *tree) file(name string) {
	src, whole, err := t.read(name)
	if err != nil {
		t.result.FilesSkipped++
		t.partial(t.at(name), "ST108", cause(err))
		return
	}
	if !whole {
		t.partial(t.at(name), "ST107", fmt.Sprintf("more than %d bytes, or %d in all", t.limits.File, t.limits.Bytes))
	}
	if t.content(name, src, 0) && whole {
		t.result.FilesRead++
	} else {
		t.result.FilesSkipped++
	}
}

func (t *tree) read(name string) (src []byte, whole bool, err error) {
	f, err := t.fsys.Open(name)
	if err != nil {
		return nil, false, err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return nil, false, err
	}
	if !info.Mode().IsRegular() {
		return nil, false, errors.New("changed while it was opened")
	}
	bound := min(t.limits.File, t.limits.Bytes-t.bytes)
	if src, err = io.ReadAll(io.LimitReader(f, bound+1)); err != nil {
		return nil, false, err
	}
	if whole = int64(len(src)) <= bound; !whole {
		src = src[:bound]
		t.over = bound < t.limits.File
	}
	t.bytes += int64(len(src))
	return src, whole, nil
}

// content judges the bytes of a file or of a member of an archive. It reports whether
// they were read whole.
func (t *tree) content(name string, src []byte, nested int) bool {
	k := kindOf(src)
	f := t.at(name)
	for _, g := range unlike(f, name, src, k) {
		t.add(g)
	}
	switch {
	case k.program:
		t.result.Complete = false
		t.add(f.built("ST103", 0, 0, k.name))
		return false
	case k.archive:
		return t.archive(name, src, k, nested)
	case k.name != "" && !k.text:
		return true
	case binary(src):
		t.partial(f, "ST109", fmt.Sprintf("%d bytes, beginning with % x", len(src), src[:min(8, len(src))]))
		return false
	}
	text := plainText(src)
	found, whole := t.scan.text(name, text)
	t.result.Findings = append(t.result.Findings, found...)
	t.note(name, text)
	if !whole {
		t.partial(f, "ST107", "more places to look at than the bound for one file")
	}
	return whole
}
