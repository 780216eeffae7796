package install

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/deftskills/deft/install/archive"
)

// maxName is the longest name of a target, in code points; the standard's bound.
const maxName = 64

// CheckName refuses a name that is no single component of a path on every system:
// whoever writes a header must not choose where it is put. The error is ErrBadName.
func CheckName(name string) error {
	why := ""
	switch {
	case strings.TrimSpace(name) == "":
		why = "it is empty"
	case !utf8.ValidString(name):
		why = "it is no UTF-8"
	case utf8.RuneCountInString(name) > maxName:
		why = fmt.Sprintf("it has %d characters, more than %d", utf8.RuneCountInString(name), maxName)
	case name == "." || name == "..":
		why = "it is a place relative to another"
	case strings.ContainsAny(name, `/\`):
		why = "it holds a path separator"
	case strings.ContainsAny(name, `:*?"<>|`):
		why = "it holds a character that some systems read otherwise"
	case strings.IndexFunc(name, func(r rune) bool { return unicode.IsControl(r) || unicode.Is(unicode.Cf, r) }) >= 0:
		why = "it holds a control or invisible character"
	case archive.Device(name):
		why = "it is the name of a device"
	case strings.HasSuffix(name, ".") || strings.HasSuffix(name, " ") || strings.HasPrefix(name, " "):
		why = "it begins or ends with a blank, or ends with a dot"
	case strings.HasPrefix(name, "-"):
		why = "it begins like an option"
	default:
		return nil
	}
	return fmt.Errorf("%w: %q: %s", ErrBadName, name, why)
}
