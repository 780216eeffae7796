package toolrule

import (
	"encoding/json"
	"net/url"
	"path/filepath"
	"slices"
	"strings"

	"github.com/deftskills/deft/internal/shellcmd"
)

// alias maps every name that a tool list may use to the name of the tool in deft.
// Skills in the field are written for the names of several clients. Matching is
// case-sensitive, so each spelling stands here. Changing a file has one name only:
// who may not write may not edit either.
var alias = map[string]string{
	"Read": "read", "read_file": "read", "View": "read", "view": "read",
	"Write": "write", "write_file": "write", "Edit": "write", "edit": "write",
	"MultiEdit": "write", "edit_file": "write", "str_replace": "write", "NotebookEdit": "write",
	"Bash": "bash", "shell": "bash", "Shell": "bash",
	"Glob": "glob", "Grep": "grep",
	"WebFetch": "web_fetch", "webfetch": "web_fetch",
	"TodoWrite": "todo", "TodoRead": "todo",
	"Skill": "skill", "activate_skills": "skill", "Task": "task", "Agent": "task",
}

// Canonical returns the one name of a tool for matching; unknown names stay.
func Canonical(name string) string {
	if c, ok := alias[name]; ok {
		return c
	}
	return name
}

// AlwaysCallable reports whether no skill's list may take the tool away: without
// these a session could not leave or read what limits it. Host and user may.
func AlwaysCallable(tool string) bool {
	switch tool {
	case "skill", "activate_skills", "deactivate_skill", "skill_read":
		return true
	}
	return false
}

// Call is a tool call as patterns see it. A nil part means that the call has none,
// and then a spec of that kind matches only in a deny list.
type Call struct {
	Tool     string
	Commands [][]string // of a shell tool: the words of each simple command
	Unproved bool       // the command line holds more than Commands tells: nothing covers it
	Paths    []string   // of a file tool: each form of the path, absolute, slash-separated
	Host     string     // of a network tool
	Skills   []string   // of a tool that starts skills: their names
	Dir      string     // the workspace, absolute, slash-separated
	Home     string     // "" = "~/" matches nothing
}

// Describe builds the Call of a tool from its arguments. resolve follows links of a
// path; with it a path has two forms, as given and resolved, and an allow has to
// cover both. nil = no file system is asked.
func Describe(tool string, args json.RawMessage, dir, home string, resolve func(string) string) Call {
	c := Call{Tool: tool, Dir: filepath.ToSlash(dir), Home: filepath.ToSlash(home)}
	var a struct {
		Command, Path, URL string
		FilePath           string `json:"file_path"`
		Name, Skill        string
		IDs                []string
	}
	_ = json.Unmarshal(args, &a) // a wrong type leaves its field empty: nothing is allowed by it
	switch Canonical(tool) {
	case "bash":
		c.Commands, c.Unproved = commands(a.Command)
	case "skill":
		c.Skills = Names(a.Name, a.Skill, a.IDs)
	case "web_fetch":
		if u, err := url.Parse(a.URL); err == nil {
			c.Host = strings.ToLower(u.Hostname())
		}
	case "read", "write", "glob", "grep":
		p := a.Path
		if p == "" {
			p = a.FilePath
		}
		if !filepath.IsAbs(p) {
			p = filepath.Join(dir, p)
		}
		p = filepath.Clean(p)
		c.Paths = []string{filepath.ToSlash(p)}
		if resolve != nil {
			if r := filepath.ToSlash(resolve(p)); r != c.Paths[0] {
				c.Paths = append(c.Paths, r)
			}
		}
	}
	return c
}

// Names are the names of skills that a call gives, in whichever of its arguments.
func Names(name, other string, more []string) []string {
	return slices.DeleteFunc(append([]string{name, other}, more...), func(s string) bool { return s == "" })
}

// commands returns the simple commands of a line; unproved says that something of it is
// in none of them: what no one can read, an expansion, an assignment, a file that is written.
func commands(line string) (list [][]string, unproved bool) {
	script, err := shellcmd.Parse(line)
	if err != nil {
		return shellcmd.Rough(line), true
	}
	unproved = len(script.Refused) > 0 || len(script.Commands) == 0 ||
		slices.ContainsFunc(script.Redirects, func(r shellcmd.Redirect) bool { return r.Writes })
	for _, c := range script.Commands {
		words := make([]string, 0, len(c.Words))
		unproved = unproved || len(c.Assigns) > 0
		for _, w := range c.Words {
			unproved = unproved || !w.Fixed || w.Tilde || w.Glob
			words = append(words, w.Text)
		}
		if len(words) > 0 {
			list = append(list, words)
		}
	}
	return list, unproved
}
