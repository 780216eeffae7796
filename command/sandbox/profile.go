package sandbox

import (
	"fmt"
	"path"
	"slices"
	"strings"
	"unicode"
)

// machServices are the services that ordinary programs ask on macOS. No pasteboard, no
// launch services, no security agent: each would act outside the sandbox for its caller.
var machServices = []string{
	"com.apple.SystemConfiguration.configd", "com.apple.cfprefsd.agent", "com.apple.cfprefsd.daemon",
	"com.apple.logd", "com.apple.system.logger", "com.apple.system.notification_center",
	"com.apple.system.opendirectoryd.libinfo", "com.apple.system.opendirectoryd.membership",
}

// Profile is the text that macOS's sandbox-exec -p takes for the policy, with temp as the
// private temporary folder. Paths have to be resolved already. What stands later wins
// there, so that protected paths come after what may be written. A path with a quote, a
// backslash or a control character is an [ErrPolicy].
func Profile(p Policy, temp string) (string, error) {
	var out strings.Builder
	out.WriteString("(version 1)\n(deny default)\n(allow process-fork)\n(allow process-exec)\n" +
		"(allow signal (target same-sandbox))\n(allow sysctl-read)\n")
	out.WriteString("(allow mach-lookup")
	for _, s := range machServices {
		fmt.Fprintf(&out, "\n  (global-name %q)", s)
	}
	out.WriteString(")\n(allow file-read* (subpath \"/\"))\n")
	for _, list := range []struct {
		verb  string
		paths []string
	}{
		{"deny file-read*", p.Denied},
		{"allow file-write*", append(slices.Clone(p.Write), temp, "/dev/null")},
		{"deny file-write*", slices.Concat(p.Denied, p.Protected)},
		// A protected name can't be led astray by moving what it lies in.
		{"deny file-write-unlink", p.above()},
	} {
		if len(list.paths) == 0 {
			continue
		}
		out.WriteString("(" + list.verb)
		for _, path := range list.paths {
			if strings.ContainsFunc(path, func(r rune) bool { return r == '"' || r == '\\' || unicode.IsControl(r) }) {
				return "", fmt.Errorf("%w: path %q: a quote, backslash or control character", ErrPolicy, path)
			}
			kind := "subpath"
			if strings.HasPrefix(path, "/dev/") || list.verb == "deny file-write-unlink" {
				kind = "literal"
			}
			fmt.Fprintf(&out, "\n  (%s \"%s\")", kind, path)
		}
		out.WriteString(")\n")
	}
	if p.Network {
		out.WriteString("(allow network*)\n")
	} else {
		out.WriteString("(deny network*)\n")
	}
	return out.String(), nil
}

// above returns the directories between what may be written and what is protected in it,
// each once.
func (p Policy) above() []string {
	var out []string
	for _, name := range p.Protected {
		for dir := path.Dir(name); ; dir = path.Dir(dir) {
			inside := func(root string) bool { return dir == root || strings.HasPrefix(dir, root+"/") }
			if !slices.ContainsFunc(p.Write, inside) || dir == path.Dir(dir) {
				break
			}
			if !slices.Contains(out, dir) {
				out = append(out, dir)
			}
		}
	}
	return out
}
