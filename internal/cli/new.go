package cli

import (
	"context"
	_ "embed"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/pflag"

	"github.com/deftskills/deft/skill"
)

//go:embed template/skill.md
var skillTemplate string

// newOptions are the flags of deft new.
type newOptions struct {
	in, description string
	user, project   bool
}

func newVerb() verb {
	var o newOptions
	return verb{
		name: "new", args: "NAME", min: 1, max: 1, group: groupWrite, effects: effects{reads: true, writes: true},
		short: "a new skill from a good template", brief: "a new skill from a template; AGENTS.md from the project",
		long: "The skill's folder is made here; --project and --user make it where deft finds it.\n" +
			"An existing one is never touched.",
		flags: func(f *pflag.FlagSet) {
			f.StringVar(&o.in, "in", "", "the folder that gets the skill's folder, a `DIR`")
			f.BoolVar(&o.project, "project", false, "among the skills of the workspace, in .deft/skills")
			f.BoolVar(&o.user, "user", false, "among your own skills, for every workspace")
			f.StringVar(&o.description, "description", "", "what it does and when to use it, as `TEXT`")
		},
		run: func(_ context.Context, r *run, args []string) error { return r.newSkill(o, args[0]) },
	}
}

func (r *run) newSkill(o newOptions, name string) error {
	parent := r.cwd
	switch {
	case o.in != "" && (o.user || o.project) || o.user && o.project:
		return usage("--in, --project and --user are one choice").hinted("hint.see_help", "new")
	case o.project:
		parent = filepath.Join(r.cwd, ".deft", "skills")
	case o.in != "":
		parent = r.abs(o.in)
	case o.user:
		parent = filepath.Join(r.dirs.Data, "skills")
	}
	text := newText(name, o.description)
	if err := r.acceptable(name, text); err != nil {
		return err
	}
	dir := filepath.Join(parent, name)
	if _, err := os.Lstat(dir); err == nil {
		return fail(Refused, "exists", "skill %q exists: %s", name, dir).hinted("hint.other_name")
	}
	path := filepath.Join(dir, "SKILL.md")
	if err := r.files().Write(path, text, 0o644); err != nil {
		return fmt.Errorf("skill %q: %w", name, err)
	}
	if r.globals.json {
		r.printJSON(map[string]any{"name": name, "path": path, "written": !r.writing.dryRun})
		return nil
	}
	r.out.Printf("%s\n", path)
	r.hintf("hint: %s", r.words.Say("hint.new", path))
	return nil
}

// newText fills the template. The description is quoted, so that any text is a
// valid value. It is a plain replacement: a program that can execute a
// text/template keeps every exported method of every type it links, which made
// this binary a third larger.
func newText(name, description string) []byte {
	if description == "" {
		description = "Say what it does, then when to use it, with the words people ask with."
	}
	words := strings.Fields(strings.ReplaceAll(name, "-", " "))
	if len(words) > 0 {
		first := []rune(words[0])
		words[0] = strings.ToUpper(string(first[:1])) + string(first[1:])
	}
	quoted := `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`, "\n", " ").Replace(description) + `"`
	return []byte(strings.NewReplacer("{{.Name}}", name, "{{.Title}}", strings.Join(words, " "),
		"{{.Description}}", quoted).Replace(skillTemplate))
}

// acceptable judges the new file by the open standard before anything is written.
func (r *run) acceptable(name string, text []byte) error {
	report := skill.Validate(skill.Input{Source: text, Path: "SKILL.md", DirName: name}, skill.ProfileAgentskills)
	for _, d := range report.Diagnostics {
		if d.Level == skill.LevelError {
			return usage("skill %q: %s", name, d.Message).hinted("hint.skill_name")
		}
	}
	return nil
}
