package gate

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"unicode"
)

// PathArg says which argument of a tool names a file.
type PathArg struct {
	Key   string // top-level argument; absent = the call's directory
	Write bool   // the tool changes the file
	Under string // argument that Key is relative to; "" = the call's directory
	Glob  bool   // a pattern: the part before its first wildcard counts
}

// FileArgs returns the path arguments of the file tools that deft brings, nil for
// any other name.
func FileArgs(tool string) []PathArg {
	switch tool {
	case "read":
		return []PathArg{{Key: "path"}}
	case "write", "edit":
		return []PathArg{{Key: "path", Write: true}}
	case "grep":
		return []PathArg{{Key: "path"}}
	case "glob":
		return []PathArg{{Key: "path"}, {Key: "pattern", Under: "path", Glob: true}}
	}
	return nil
}

// PathPolicy says which files are whose. All paths are absolute. The zero value
// knows no workspace: then every read is outside and asks, every write is
// ALWAYS_CONFIRM.
type PathPolicy struct {
	Workspace string
	Home      string   // "" = the deny list of the home directory is not applied
	Readable  []string // further roots that are read like the workspace: skill roots
	State     []string // deft's own state and configuration: no tool touches them

	// Confined says that the file tools reach nothing outside Workspace, Readable and
	// the folders of active skills: then nobody is asked for what could not be done.
	Confined bool

	// Resolve follows links in path as far as it exists and returns the rest
	// unchanged; nil = the file system's.
	Resolve func(path string) (string, error)
	// Exists reports whether a file is there; nil = the file system's.
	Exists func(path string) bool

	known map[string]string // where the roots lead, see fixed
}

// fixed returns p with the links of its roots followed once. A root that is not there
// yet is looked at again each time, since it may come as a link.
func (p PathPolicy) fixed() PathPolicy {
	p.known = nil
	known := map[string]string{}
	have := p.Exists
	if have == nil {
		have = func(path string) bool { _, err := os.Lstat(path); return err == nil }
	}
	for _, root := range append(append([]string{p.Workspace, p.Home}, p.Readable...), p.State...) {
		if root != "" && have(root) {
			known[root] = p.resolved(root)
		}
	}
	p.known = known
	return p
}

// fault is why a path is refused.
type fault struct{ code, message string }

// place is one judged path of a call.
type place struct {
	tier        Tier   // the least
	dir         string // its directory, relative to the workspace where it is inside
	plain, real string // absolute, as given and with links followed
}

// judge judges one path of a call in dir, or says why it is refused.
func (p PathPolicy) judge(dir, path string, write bool, skills []ActiveSkill) (place, *fault) {
	if why := oddPath(path); why != "" {
		return place{}, &fault{CodeBadPath, why}
	}
	plain, real, err := p.both(dir, path)
	if err != nil {
		return place{}, &fault{CodeBadPath, err.Error()}
	}
	for _, form := range []string{plain, real} {
		if p.denied(form) {
			return place{}, &fault{CodePathDenied, "no tool touches this path"}
		}
	}
	if p.Confined && !(p.reaches(plain, skills) && p.reaches(real, skills)) {
		return place{}, &fault{CodeOutside, "file tools reach nothing outside the workspace"}
	}
	tier := max(p.tier(plain, write, skills), p.tier(real, write, skills))
	return place{tier, p.relative(filepath.Dir(real)), plain, real}, nil
}

// ReadDenied reports whether no tool may read path. Tools that walk folders ask it
// for each file they come to.
func (p PathPolicy) ReadDenied(path string) bool {
	plain, real, err := p.both(p.Workspace, path)
	return err != nil || p.denied(plain) || p.denied(real)
}

// both returns path made absolute and cleaned, and the same with links followed. A
// rule that only looked at the name would be passed by a link, one that only looked
// at the target by a rename.
func (p PathPolicy) both(dir, path string) (plain, real string, err error) {
	if strings.HasPrefix(path, "~/") && p.Home != "" {
		path = filepath.Join(p.Home, path[2:])
	}
	if !filepath.IsAbs(path) {
		if !filepath.IsAbs(dir) {
			return "", "", fmt.Errorf("a relative path without a directory to start from")
		}
		path = filepath.Join(dir, path)
	}
	plain = filepath.Clean(path)
	resolve := p.Resolve
	if resolve == nil {
		resolve = resolveExisting
	}
	real, err = resolve(plain)
	return plain, real, err
}

// resolveExisting follows links on the deepest existing parent. What is not there is found
// by one look, before the way to it is walked.
func resolveExisting(path string) (string, error) {
	rest := ""
	for at := path; ; {
		if _, err := os.Lstat(at); err == nil {
			real, err := filepath.EvalSymlinks(at)
			if err != nil {
				// A link to nothing or in a circle: writing through it would create a
				// file at a place that nobody has looked at.
				return "", fmt.Errorf("a link that leads nowhere: %s", filepath.Base(at))
			}
			return filepath.Join(real, rest), nil
		}
		up := filepath.Dir(at)
		if up == at {
			return path, nil
		}
		rest = filepath.Join(filepath.Base(at), rest)
		at = up
	}
}

// follower follows the links of the paths of one call and looks at each folder once.
type follower struct {
	p          PathPolicy
	dirs, seen map[string]string
}

func newFollower(p PathPolicy) *follower {
	return &follower{p, map[string]string{}, map[string]string{}}
}

// real is where an absolute, clean path leads, "" where it leads nowhere.
func (f *follower) real(path string) string {
	if real, ok := f.seen[path]; ok {
		return real
	}
	real := f.look(path)
	f.seen[path] = real
	return real
}

func (f *follower) look(path string) string {
	resolve := f.p.Resolve
	if resolve == nil {
		resolve = resolveExisting
	}
	dir := filepath.Dir(path)
	if f.p.Resolve == nil && dir != path {
		parent, ok := f.dirs[dir]
		if !ok {
			parent, _ = resolve(dir) // "" with an error
			f.dirs[dir] = parent
		}
		if parent == "" {
			return ""
		}
		path = filepath.Join(parent, filepath.Base(path))
		if info, err := os.Lstat(path); err != nil || info.Mode()&fs.ModeSymlink == 0 {
			return path
		}
	}
	real, err := resolve(path)
	if err != nil {
		return ""
	}
	return real
}

func (p PathPolicy) tier(path string, write bool, skills []ActiveSkill) Tier {
	switch {
	case write && (!p.holds(p.Workspace, path) || p.protected(path)):
		return AlwaysConfirm
	case write:
		return ConfirmOnce
	case p.reaches(path, skills):
		return ReadOnly
	}
	return ConfirmOnce
}

// reaches reports whether path is in the workspace, a readable root or the folder of
// an active skill.
func (p PathPolicy) reaches(path string, skills []ActiveSkill) bool {
	return p.holds(p.Workspace, path) ||
		slices.ContainsFunc(p.Readable, func(root string) bool { return p.holds(root, path) }) ||
		slices.ContainsFunc(skills, func(s ActiveSkill) bool { return p.holds(s.Dir, path) })
}

// holds reports whether path is root or below it, in either form of root.
func (p PathPolicy) holds(root, path string) bool {
	return within(path, root) || within(path, p.resolved(root))
}

func (p PathPolicy) resolved(root string) string {
	if root == "" {
		return ""
	}
	if real, ok := p.known[root]; ok {
		return real
	}
	resolve := p.Resolve
	if resolve == nil {
		resolve = resolveExisting
	}
	if real, err := resolve(root); err == nil {
		return real
	}
	return root
}

func (p PathPolicy) relative(dir string) string {
	if rel, err := filepath.Rel(p.resolved(p.Workspace), dir); err == nil && filepath.IsLocal(rel) {
		return filepath.ToSlash(rel)
	}
	return filepath.ToSlash(dir)
}

// within reports whether path is root or below it. An empty root holds nothing.
func within(path, root string) bool {
	if root == "" {
		return false
	}
	rel, err := filepath.Rel(root, path)
	return err == nil && filepath.IsLocal(rel)
}

// oddPath names what makes a path mean something else than it shows.
func oddPath(path string) string {
	for _, r := range path {
		if unicode.IsControl(r) || unicode.Is(unicode.Bidi_Control, r) {
			return fmt.Sprintf("the path holds the control character %U", r)
		}
	}
	slashed := strings.ReplaceAll(path, `\`, "/")
	for i, element := range strings.Split(slashed, "/") {
		drive := i == 0 && len(element) == 2 && element[1] == ':'
		if filepath.Separator == '\\' && !drive && strings.ContainsRune(element, ':') {
			return "the path names an alternate data stream"
		}
		if filepath.Separator == '\\' && element != "" && !filepath.IsLocal(element) && element != ".." && !drive {
			return "the path names a device"
		}
	}
	return ""
}

func exists(path string) bool {
	info, err := os.Lstat(path)
	return err == nil && info.Mode()&fs.ModeDir == 0
}

// value returns the path that the argument names, or why there is none to judge.
func (a PathArg) value(object map[string]any, dir string) (path, fault string) {
	text := func(key string) (string, bool) {
		v, ok := object[key]
		if !ok || key == "" {
			return "", true
		}
		s, isText := v.(string)
		return s, isText
	}
	path, ok := text(a.Key)
	under, ok2 := text(a.Under)
	if !ok || !ok2 {
		return "", "the path is no text"
	}
	if a.Glob {
		if i := strings.IndexAny(path, "*?[{"); i >= 0 {
			if strings.Contains(path[i:], "..") {
				return "", "the pattern climbs out of its folder"
			}
			path = path[:strings.LastIndexByte(path[:i], '/')+1]
		}
	}
	if under != "" && !filepath.IsAbs(path) && !strings.HasPrefix(path, "~/") {
		path = strings.TrimSuffix(under, "/") + "/" + path
	}
	if path == "" {
		path = dir
	}
	return path, ""
}
