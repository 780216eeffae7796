package sandbox

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// fixedEnv is the same in every run: programs are told that nobody is there to answer.
var fixedEnv = []string{
	"TERM=dumb", "NO_COLOR=1", "CI=1", "GIT_TERMINAL_PROMPT=0", "PAGER=cat", "GIT_PAGER=cat",
}

// passedEnv are the host's names that every run sees; LC_* stands for all that start so.
var passedEnv = []string{"HOME", "USER", "LANG", "TZ"}

// Environment returns the least environment of a run, sorted: of host (KEY=value) only
// HOME, USER, LANG, LC_*, TZ, the names of pass, and a PATH of absolute directories that
// exist and lie outside writable, so that no run can put a program in the way of the next.
// TMPDIR is added by the run itself.
func Environment(host, writable, pass []string) []string {
	out := slices.Clone(fixedEnv)
	for _, kv := range host {
		name, value, ok := strings.Cut(kv, "=")
		switch {
		case !ok || name == "TMPDIR" || name == "ENV" || name == "BASH_ENV":
		case name == "PATH":
			out = append(out, "PATH="+cleanPath(value, writable))
		case slices.Contains(passedEnv, name), strings.HasPrefix(name, "LC_"), slices.Contains(pass, name):
			out = append(out, kv)
		}
	}
	slices.Sort(out)
	return out
}

func cleanPath(value string, writable []string) string {
	var kept []string
	for _, dir := range filepath.SplitList(value) {
		real, err := filepath.EvalSymlinks(dir)
		if err != nil || !filepath.IsAbs(dir) || slices.Contains(kept, dir) {
			continue
		}
		inside := func(w string) bool {
			return within(real, resolveParent(w)) || within(filepath.Clean(dir), filepath.Clean(w))
		}
		if info, err := os.Stat(real); err == nil && info.IsDir() && !slices.ContainsFunc(writable, inside) {
			kept = append(kept, dir)
		}
	}
	return strings.Join(kept, string(os.PathListSeparator))
}
