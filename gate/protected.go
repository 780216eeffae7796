package gate

import (
	"path/filepath"
	"slices"
	"strings"
)

// The lists below are data: what a stolen or rewritten file would cost decides that
// a name stands here. Names are compared in lower case, since some file systems do.

// secretsBelowHome are never read or written by a tool.
var secretsBelowHome = [...]string{
	".ssh", ".aws", ".gnupg", ".config/gh", ".netrc",
	".mozilla", ".config/google-chrome", ".config/chromium", ".config/bravesoftware", ".config/microsoft-edge",
	"library/application support/google/chrome", "library/application support/firefox", "library/keychains",
	"library/safari", "library/cookies",
	"appdata/local/google/chrome/user data", "appdata/roaming/mozilla",
}

// settingsFolders hold what other agents and editors run or obey.
var settingsFolders = [...]string{
	".agents", ".claude", ".codex", ".copilot", ".cursor", ".deft", ".gemini", ".goose", ".kiro",
	".opencode", ".roo", ".vscode", ".windsurf",
}

// startFiles run when a shell starts.
var startFiles = [...]string{
	".bash_login", ".bash_logout", ".bash_profile", ".bashrc", ".envrc", ".gitconfig", ".login", ".profile",
	".tcshrc", ".zlogin", ".zprofile", ".zshenv", ".zshrc", "config.fish",
}

// denied reports whether no tool may touch path.
func (p PathPolicy) denied(path string) bool {
	for _, root := range p.State {
		if p.holds(root, path) {
			return true
		}
	}
	slashed := strings.ToLower(filepath.ToSlash(path))
	if strings.HasPrefix(slashed, "/proc/") {
		// Environment, memory and open files of processes, this one included.
		last := slashed[strings.LastIndexByte(slashed, '/')+1:]
		return last == "environ" || last == "mem" || strings.Contains(slashed, "/fd/") || strings.Contains(slashed, "/root/")
	}
	for _, home := range []string{p.Home, p.resolved(p.Home)} {
		if home == "" {
			continue
		}
		base := strings.TrimSuffix(strings.ToLower(filepath.ToSlash(home)), "/") + "/"
		below, ok := strings.CutPrefix(slashed, base)
		for _, name := range secretsBelowHome {
			if rest, under := strings.CutPrefix(below, name); ok && under && (rest == "" || rest[0] == '/') {
				return true
			}
		}
	}
	return false
}

// protected reports whether a write to path is ALWAYS_CONFIRM wherever it lies:
// what it changes runs, or is obeyed, later.
func (p PathPolicy) protected(path string) bool {
	elements := strings.Split(strings.ToLower(filepath.ToSlash(path)), "/")
	base := elements[len(elements)-1]
	if strings.HasPrefix(base, ".env") || base == "skill.md" || slices.Contains(startFiles[:], base) {
		return true
	}
	for i, e := range elements[:len(elements)-1] {
		next := elements[i+1]
		switch {
		case slices.Contains(settingsFolders[:], e),
			e == ".git" && (next == "hooks" || next == "config"),
			e == ".github" && next == "workflows":
			return true
		}
	}
	if slices.Contains(settingsFolders[:], base) {
		return true
	}
	return p.inSkill(path)
}

// inSkill reports whether a folder above path, up to the workspace, is a skill.
func (p PathPolicy) inSkill(path string) bool {
	have := p.Exists
	if have == nil {
		have = exists
	}
	stop := filepath.Dir(filepath.Clean(p.Workspace))
	for dir := filepath.Dir(path); dir != stop; dir = filepath.Dir(dir) {
		if have(filepath.Join(dir, "SKILL.md")) {
			return true
		}
		if dir == filepath.Dir(dir) {
			break
		}
	}
	return false
}
