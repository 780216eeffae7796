package sandbox

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// Policy is what a run may reach. All paths are absolute. What exists is resolved before
// the run starts, so that a link leads nowhere new.
type Policy struct {
	// Read names paths that have to stay readable though they lie in a folder for
	// temporary files, such as the directory of a skill. All else of the file system can
	// be read anyway, save Denied.
	Read []string
	// Write names directories in which the run may create, change and remove: workspace
	// roots, and caches named by the user.
	Write []string
	// Denied can't be read, whether or not it exists yet. See [Denied].
	Denied []string
	// Protected lies inside Write and can't be written, created, removed or renamed. See
	// [Protected].
	Protected []string
	// Network leaves out what keeps the run off the network.
	Network bool
}

// credentials are below a home and never readable, because what is in them opens other doors.
var credentials = []string{
	".ssh", ".aws", ".gnupg", ".kube", ".docker", ".config/gh", ".config/gcloud", ".azure",
	".netrc", ".git-credentials", ".npmrc", ".pypirc",
	".mozilla", ".config/google-chrome", ".config/chromium", ".config/BraveSoftware", ".config/microsoft-edge",
	"snap/firefox", "snap/chromium", "Library/Application Support/Google/Chrome", "Library/Application Support/Firefox",
	"Library/Safari", "Library/Keychains", "Library/Cookies",
	".password-store", ".local/share/keyrings", ".local/share/kwalletd", ".config/keepassxc", ".config/1Password", ".config/Bitwarden",
	".claude/.credentials.json", ".claude.json", ".codex/auth.json", ".gemini/oauth_creds.json", ".config/github-copilot",
}

// Denied returns what no run may read: credentials below home, the folders of browsers and
// password stores, the system's secrets, the homes of other people save one that a root
// lies in, and own, which are the host's own folders (deft's state and configuration).
func Denied(home string, roots []string, own ...string) []string {
	list := []string{"/etc/shadow", "/etc/shadow-", "/etc/gshadow", "/etc/gshadow-", "/etc/sudoers", "/etc/sudoers.d"}
	for _, c := range credentials {
		list = append(list, filepath.Join(home, c))
	}
	others := []string{"/root"}
	for _, homes := range []string{"/home", "/Users"} {
		entries, _ := os.ReadDir(homes) // a system without it has no homes there
		for _, e := range entries {
			if e.IsDir() {
				others = append(others, filepath.Join(homes, e.Name()))
			}
		}
	}
	for _, other := range others {
		in := func(path string) bool { return within(path, other) }
		if !in(home) && !slices.ContainsFunc(roots, in) {
			list = append(list, other)
		}
	}
	return append(list, own...)
}

// protectedNames are below a workspace root and decide what others run or believe later.
var protectedNames = []string{
	".gitmodules", ".deft", ".agents", ".claude", ".codex", ".cursor",
	".vscode", ".idea", ".mcp.json", ".envrc", "AGENTS.md", "CLAUDE.md",
}

// gitNames are what in a directory of git makes it start programs, or leads to a directory
// that does.
var gitNames = []string{"hooks", "config", "config.worktree", "commondir", "info"}

// maxModules bounds the depth at which directories of submodules are looked for: they
// stand below .git/modules by their paths.
const maxModules = 8

// gitDirs returns the directories of git below root's .git: its own, and those of its
// submodules. What starts programs there is told by gitNames.
func gitDirs(root string) []string {
	dirs := []string{filepath.Join(root, ".git")}
	var walk func(dir string, depth int)
	walk = func(dir string, depth int) {
		entries, err := os.ReadDir(dir)
		if err != nil || depth == 0 {
			return // no submodules, or none that the run could reach
		}
		for _, e := range entries {
			path := filepath.Join(dir, e.Name())
			if !e.IsDir() {
				continue
			}
			if _, err := os.Lstat(filepath.Join(path, "HEAD")); err != nil {
				walk(path, depth-1)
				continue
			}
			dirs = append(dirs, path)
			walk(filepath.Join(path, "modules"), depth-1)
		}
	}
	walk(filepath.Join(root, ".git/modules"), maxModules)
	return dirs
}

// shellFiles are read by a shell at its start.
var shellFiles = []string{
	".bashrc", ".bash_profile", ".bash_login", ".bash_logout", ".profile", ".zshrc", ".zshenv", ".zprofile", ".zlogin",
	".config/fish", ".inputrc", ".gitconfig", ".config/git",
}

// Protected returns what stays as it is in a workspace with the given root, whether or
// not it exists: hooks and settings of git, settings of agents and editors, instructions
// for agents, and the files that a shell reads at its start if home is inside.
func Protected(root, home string) []string {
	var list []string
	for _, n := range protectedNames {
		list = append(list, filepath.Join(root, n))
	}
	for _, dir := range gitDirs(root) {
		for _, n := range gitNames {
			list = append(list, filepath.Join(dir, n))
		}
	}
	// Linked worktrees, whose own directories lead to their common one.
	trees, _ := os.ReadDir(filepath.Join(root, ".git/worktrees")) // seldom there
	for _, t := range trees {
		for _, n := range []string{"commondir", "config.worktree", "gitdir"} {
			list = append(list, filepath.Join(root, ".git/worktrees", t.Name(), n))
		}
	}
	if text, err := os.ReadFile(filepath.Join(root, ".git")); err == nil {
		// A worktree: the real directory is elsewhere, and its name stands in this file.
		list = append(list, filepath.Join(root, ".git"))
		if dir, ok := strings.CutPrefix(strings.TrimSpace(string(text)), "gitdir:"); ok {
			dir = strings.TrimSpace(dir)
			if !filepath.IsAbs(dir) {
				dir = filepath.Join(root, dir)
			}
			list = append(list, filepath.Clean(dir))
		}
	}
	if home != "" && within(home, root) {
		for _, n := range shellFiles {
			list = append(list, filepath.Join(home, n))
		}
	}
	return list
}

// within reports whether path is dir or below it; both are clean and absolute.
func within(path, dir string) bool {
	return path == dir || dir == "/" || strings.HasPrefix(path, dir+string(filepath.Separator))
}

// resolve returns the policy with every path clean and resolved, in the meaning that the
// kernel will give it. A denied path stands both as named and as it resolves.
func (p Policy) resolve() (Policy, error) {
	out := Policy{Network: p.Network}
	for _, list := range []struct {
		from []string
		to   *[]string
		both bool
	}{{p.Read, &out.Read, false}, {p.Write, &out.Write, false}, {p.Denied, &out.Denied, true}, {p.Protected, &out.Protected, true}} {
		for _, path := range list.from {
			if !filepath.IsAbs(path) || strings.ContainsRune(path, 0) {
				return Policy{}, fmt.Errorf("%w: path %q: not absolute", ErrPolicy, path)
			}
			named := filepath.Join(resolveParent(filepath.Dir(path)), filepath.Base(path))
			real, err := filepath.EvalSymlinks(named)
			switch {
			case err == nil && list.both && real != named:
				*list.to = append(*list.to, named, real)
			case err == nil:
				*list.to = append(*list.to, real)
			case list.both:
				*list.to = append(*list.to, named)
			}
		}
	}
	for _, w := range append(append([]string{}, out.Write...), out.Read...) {
		for _, d := range out.Denied {
			if within(w, d) {
				return Policy{}, fmt.Errorf("%w: %s is inside %s, which is denied", ErrPolicy, w, d)
			}
		}
	}
	for _, w := range out.Write {
		for _, d := range out.Protected {
			if within(w, d) {
				return Policy{}, fmt.Errorf("%w: %s is inside %s, which is protected", ErrPolicy, w, d)
			}
		}
	}
	return out, nil
}

// resolveParent resolves as much of dir as exists.
func resolveParent(dir string) string {
	dir = filepath.Clean(dir)
	if real, err := filepath.EvalSymlinks(dir); err == nil || dir == filepath.Dir(dir) {
		if err != nil {
			return dir
		}
		return real
	}
	return filepath.Join(resolveParent(filepath.Dir(dir)), filepath.Base(dir))
}
