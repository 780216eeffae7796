package archive

import (
	"fmt"
	"path"
	"regexp"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/cases"

	"github.com/deftskills/deft/internal/fold"
)

// The longest part of a path and the longest path that file systems keep, in bytes.
const (
	maxPart = 255
	maxPath = 1024
)

var (
	drive  = regexp.MustCompile(`^[A-Za-z]:`)
	device = regexp.MustCompile(`(?i)^(con|nul|aux|prn|com[0-9¹²³]|lpt[0-9¹²³]|conin\$|conout\$)(\..*)?$`)
)

// Device reports whether Windows reads a name as that of a device, whatever its ending.
func Device(name string) bool { return device.MatchString(name) }

func bad(name, why string) error { return fmt.Errorf("%w: %q (%s)", ErrBadEntry, name, why) }

// clean is a name without what means nothing: "./" in front and "/" behind. Names that
// need more are bad.
func clean(name string) string {
	return strings.TrimSuffix(strings.TrimPrefix(name, "./"), "/")
}

// Paths are the names of one archive or tree, to find those that one file system would
// take for the same.
type Paths struct {
	Depth int               // parts that a path may have; 0 = 16
	spelt map[string]string // folded path of a file or folder to its spelling
	isDir map[string]bool   // by spelling; only a folder may be named twice
}

// Add checks one name against the rules and against those before it. The error is
// ErrBadEntry.
func (p *Paths) Add(name string, dir bool) error {
	depth := p.Depth
	if depth == 0 {
		depth = defaultDepth
	}
	if p.spelt == nil {
		p.spelt, p.isDir = map[string]string{}, map[string]bool{}
	}
	at := clean(name)
	if dir && (at == "" || at == ".") {
		return nil
	}
	if why := badPath(at, depth); why != "" {
		return bad(name, why)
	}
	for end := 0; end < len(at); {
		next := strings.IndexByte(at[end+1:], '/')
		last := next < 0
		if end += 1 + next; last {
			end = len(at)
		}
		part, folder := at[:end], !last || dir
		folded := cases.Fold().String(fold.NFC(part))
		before, seen := p.spelt[folded]
		switch {
		case seen && before != part:
			return bad(name, fmt.Sprintf("the same as %q where case or form of letters mean nothing", before))
		case seen && p.isDir[part] != folder:
			return bad(name, "both a file and a folder")
		case seen && !folder:
			return bad(name, "there twice")
		}
		p.spelt[folded], p.isDir[part] = part, folder
	}
	return nil
}

// badPath says why a path may not be in an archive, on any system; "" = it may.
func badPath(p string, depth int) string {
	switch {
	case p == "":
		return "empty"
	case !utf8.ValidString(p):
		return "no UTF-8"
	case len(p) > maxPath:
		return fmt.Sprintf("longer than %d bytes", maxPath)
	case strings.HasPrefix(p, "/"), drive.MatchString(p):
		return "absolute"
	case strings.Contains(p, `\`):
		return "a backslash"
	case strings.IndexFunc(p, unicode.IsControl) >= 0:
		return "a control character"
	case strings.Count(p, "/")+1 > depth:
		return fmt.Sprintf("deeper than %d", depth)
	}
	for part := range strings.SplitSeq(p, "/") {
		switch {
		case part == "..":
			return "leaves the root"
		case part == "." || part == "":
			return "a part that means nothing"
		case len(part) > maxPart:
			return fmt.Sprintf("a part longer than %d bytes", maxPart)
		case Device(part):
			return "the name of a device"
		case strings.HasSuffix(part, ".") || strings.HasSuffix(part, " "):
			return "a dot or a blank at the end"
		case strings.Contains(part, ":"):
			return "a colon, which some systems read as a stream"
		}
	}
	return ""
}

// badTarget says why a link may not lead there.
func badTarget(name, to string) string {
	switch {
	case to == "", strings.HasPrefix(to, "/"), drive.MatchString(to), strings.Contains(to, `\`), strings.IndexFunc(to, unicode.IsControl) >= 0:
		return "a link that leaves the root"
	}
	at := path.Join(path.Dir(name), to)
	if at == ".." || strings.HasPrefix(at, "../") {
		return "a link that leaves the root"
	}
	return ""
}
