package skill

import (
	"io/fs"
	"net/url"
	"path"
	"regexp"
	"strings"
)

var (
	inlineLink = regexp.MustCompile(`\]\(\s*<?([^)\s<>]+)>?(?:\s+["'(][^)]*)?\)`)
	linkTarget = regexp.MustCompile(`(?m)^ {0,3}\[[^\]\n]+\]:[ \t]*<?([^\s<>]+)`)
	urlScheme  = regexp.MustCompile(`^[A-Za-z][A-Za-z0-9+.-]*:`)
	// bundled is a path in code that can only mean a file of the skill: the folders
	// that the standard names, and an extension.
	bundled = regexp.MustCompile("(?:^|[\\s\"'`(=])((?:\\./)?(?:references|scripts|assets)/[A-Za-z0-9_./-]*[A-Za-z0-9_-]\\.[A-Za-z0-9]+)")
)

// lintTargets bounds the files that are looked for: each costs a listing of its folder.
const lintTargets = 1000

// lintLinks looks for the bundled files that the body names.
func lintLinks(r *lintRun) {
	if r.o.FS == nil {
		return
	}
	seen := map[string]bool{}
	for _, re := range []*regexp.Regexp{inlineLink, linkTarget} {
		for _, m := range re.FindAllStringSubmatchIndex(r.body, -1) {
			if !inCode(r.code, m[0]) {
				r.link(r.body[m[2]:m[3]], m[2], seen)
			}
		}
	}
	for _, c := range r.code {
		text := r.body[c.Start:c.End]
		for _, m := range bundled.FindAllStringSubmatchIndex(text, -1) {
			if end := text[m[3]:]; end != "" && strings.ContainsRune("*{<$[/", rune(end[0])) {
				continue // a pattern, not a path
			}
			r.link(text[m[2]:m[3]], c.Start+m[2], seen)
		}
	}
}

// link judges one target once.
func (r *lintRun) link(target string, offset int, seen map[string]bool) {
	if urlScheme.MatchString(target) || strings.HasPrefix(target, "#") || strings.HasPrefix(target, "/") ||
		strings.ContainsAny(target, "{}$*\\") {
		return
	}
	target, _, _ = strings.Cut(target, "#")
	target, _, _ = strings.Cut(target, "?")
	if plain, err := url.PathUnescape(target); err == nil {
		target = plain
	}
	p := path.Clean(target)
	if p == "." || seen[p] || strings.ContainsRune(p, 0) || len(seen) >= lintTargets || r.full() {
		return
	}
	seen[p] = true
	line, col := r.place(offset)
	if p == ".." || strings.HasPrefix(p, "../") {
		r.add("link_missing", LevelWarning, line, col, "correct the path", "path %q leaves the skill", clip(p, 120))
		return
	}
	switch found, exact := lookFor(r.o.FS, p); {
	case found == "":
		r.add("link_missing", LevelWarning, line, col, "correct the path", "no file %q in the skill", clip(p, 120))
	case !exact:
		r.add("link_missing", LevelError, line, col, "correct the path", "no file %q in the skill, but %q", clip(p, 120), clip(found, 120))
	case strings.Count(p, "/") > 1:
		r.add("link_deep", LevelInfo, line, col, "flatten", "file %q is %d levels below SKILL.md", clip(p, 120), strings.Count(p, "/"))
	}
}

// lookFor finds p by listing each directory on the way, so that a file system that
// folds names does not hide a difference that others see.
func lookFor(fsys fs.FS, p string) (found string, exact bool) {
	dir, exact := ".", true
	for part := range strings.SplitSeq(p, "/") {
		entries, err := fs.ReadDir(fsys, dir)
		if err != nil {
			return "", false
		}
		name := ""
		for _, e := range entries {
			if e.Name() == part {
				name = part
				break
			}
			if name == "" && strings.EqualFold(e.Name(), part) {
				name = e.Name()
			}
		}
		if name == "" {
			return "", false
		}
		exact = exact && name == part
		dir = path.Join(dir, name)
	}
	return dir, exact
}

func lintNested(r *lintRun) {
	if r.o.FS == nil {
		return
	}
	seen := 0
	_ = fs.WalkDir(r.o.FS, ".", func(p string, e fs.DirEntry, err error) error {
		if seen++; seen > 2*r.o.Limits.TreeFiles {
			return fs.SkipAll
		}
		switch {
		case err != nil, e.IsDir() && (LeftOut(e.Name()) || strings.Count(p, "/") >= r.o.Limits.TreeDepth):
			return fs.SkipDir
		case !e.IsDir() && strings.EqualFold(e.Name(), "SKILL.md") && p != e.Name():
			r.add("nested_skill", LevelInfo, 1, 1, "not a skill of its own", "%q lies inside this skill", p)
		}
		return nil
	})
}
