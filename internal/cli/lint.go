package cli

import (
	"context"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/pflag"

	"github.com/deftskills/deft/internal/evals"
	"github.com/deftskills/deft/internal/safetext"
	"github.com/deftskills/deft/internal/tokens"
	"github.com/deftskills/deft/skill"
)

// lintOptions are the flags of deft lint.
type lintOptions struct {
	hosts       []string
	strict, fix bool
	tools       string // a file
	known       hostTools
}

func lintVerb() verb {
	var o lintOptions
	return verb{
		name: "lint", args: "PATH…", min: 1, max: -1, group: groupWrite, effects: effects{reads: true, writes: true},
		short: "strict check of skills, for deft or another host, and advice", brief: "strict check of skills, and a look for what is dangerous",
		long: "PATH is a skill's folder, its SKILL.md, or a folder of skills. Hosts: " + strings.Join(hosts(), ", ") + ".\n" +
			"Exit code 1 means an error, with --strict also a warning.",
		flags: func(f *pflag.FlagSet) {
			f.StringArrayVar(&o.hosts, "for", nil, "the rules of `HOST`; may be repeated; default deft")
			f.BoolVar(&o.strict, "strict", false, "a warning fails too")
			f.StringVar(&o.tools, "tools", "", "what the host registers, `FILE` of {\"tools\": [NAME], \"keys\": {PROVIDER: VARIABLE}}")
			f.BoolVar(&o.fix, "fix", false, "apply the repairs that need no judgement")
		},
		run: func(ctx context.Context, r *run, args []string) error { return r.lint(ctx, o, args) },
	}
}

func hosts() []string {
	var names []string
	for _, p := range skill.Profiles() {
		names = append(names, string(p))
	}
	return names
}

// profilesOf reads --for.
func profilesOf(names []string) ([]skill.Profile, error) {
	var list []skill.Profile
	for _, name := range names {
		p := skill.Profile(strings.ToLower(name))
		if !slices.Contains(skill.Profiles(), p) {
			return nil, usage("host %q is not known", name).hinted("hint.one_of", strings.Join(hosts(), ", "))
		}
		list = append(list, p)
	}
	if len(list) == 0 {
		list = []skill.Profile{skill.ProfileDeft}
	}
	return list, nil
}

// lintFile is the verdict of all asked profiles on one file.
type lintFile struct {
	Path        string             `json:"path"`
	OK          bool               `json:"ok"`
	Diagnostics []skill.Diagnostic `json:"diagnostics"`
	Fixed       []string           `json:"fixed"` // codes of repairs that were applied
	shown       string             // the file of its diagnostics
}

func parsed(in skill.Input) *skill.Skill {
	return skill.Parse(in.Source, skill.ParseOptions{Path: in.Path, DirName: in.DirName, Sidecars: in.Sidecars})
}

func (r *run) lint(ctx context.Context, o lintOptions, args []string) error {
	profiles, err := profilesOf(o.hosts)
	if err != nil {
		return err
	}
	if o.known, err = r.readHostTools(o.tools); err != nil {
		return err
	}
	var names []string
	for _, p := range profiles {
		names = append(names, string(p))
	}
	files, seen := []lintFile{}, []skill.Linted{}
	for _, arg := range args {
		if arg == "" {
			return usage("a path is empty").hinted("hint.see_help", "lint")
		}
		for _, path := range r.skillsAt(arg) {
			if err := ctx.Err(); err != nil {
				return err
			}
			f, err := r.lintOne(path, profiles, o, &seen)
			if err != nil {
				return err
			}
			files = append(files, f)
		}
	}
	r.lintTogether(ctx, files, seen)
	failed := 0
	for i := range files {
		if files[i].judge(o.strict); !files[i].OK {
			failed++
		}
	}
	if r.globals.json {
		r.printJSON(map[string]any{"profile": strings.Join(names, ","), "files": files, "ok": failed == 0, "failed": failed})
	} else {
		for _, f := range files {
			r.showLint(f)
		}
		r.out.Printf("%d of %d pass for %s\n", len(files)-failed, len(files), strings.Join(names, ", "))
	}
	if failed > 0 {
		return errNegative
	}
	return nil
}

func (r *run) showLint(f lintFile) {
	for _, code := range f.Fixed {
		r.out.Printf("%s: %s %s\n", f.Path, r.out.Paint(safetext.Green, "fixed"), code)
	}
	for _, d := range f.Diagnostics {
		r.writeDiagnostic(r.out, d)
	}
	if f.OK {
		r.out.Printf("%s: %s\n", f.Path, r.out.Paint(safetext.Green, "ok"))
	}
}

// skillsAt returns the skills that a path means: itself, or those in the folders
// below it when it is no skill but holds some.
func (r *run) skillsAt(arg string) []string {
	if isSkill(r.abs(arg)) {
		return []string{arg}
	}
	var found []string
	base := r.abs(arg)
	_ = filepath.WalkDir(base, func(path string, e fs.DirEntry, err error) error {
		rel, relErr := filepath.Rel(base, path)
		switch {
		case err != nil || relErr != nil || !e.IsDir():
			return nil
		case path != base && slices.Contains(ignoredFolders, e.Name()), strings.Count(rel, string(filepath.Separator)) >= 6:
			return fs.SkipDir
		case isSkill(path):
			found = append(found, filepath.Join(arg, rel))
			return fs.SkipDir
		}
		return nil
	})
	if len(found) == 0 {
		return []string{arg}
	}
	return found
}

// ignoredFolders are never searched for skills.
var ignoredFolders = []string{".git", ".hg", ".svn", ".jj", "node_modules", ".venv", "venv", "__pycache__", ".cache"}

func isSkill(path string) bool {
	st, err := os.Stat(path)
	if err != nil || !st.IsDir() {
		return err == nil
	}
	entries, err := os.ReadDir(path)
	return err == nil && slices.ContainsFunc(entries, func(e fs.DirEntry) bool { return strings.EqualFold(e.Name(), "SKILL.md") })
}

// judge sets the verdict.
func (f *lintFile) judge(strict bool) {
	f.OK = !slices.ContainsFunc(f.Diagnostics, func(d skill.Diagnostic) bool {
		return d.Level == skill.LevelError || strict && d.Level == skill.LevelWarning
	})
}

// lintTogether adds the advice that takes more than one skill: what the linted ones
// share, and ids that neither they nor the skills of this machine have.
func (r *run) lintTogether(ctx context.Context, files []lintFile, seen []skill.Linted) {
	found := skill.LintLibrary(seen)
	if slices.ContainsFunc(seen, func(l skill.Linted) bool { t := l.Skill.Meta.Routing; return t != nil && len(t.CoActivate) > 0 }) {
		var ids []string
		if snap, err := r.snapshot(ctx); err == nil {
			for _, rec := range snap.Winners {
				ids = append(ids, string(rec.Skill.ID()))
			}
		}
		for _, l := range seen {
			ids = append(ids, string(l.Skill.ID()))
		}
		known := skill.NewNameSet(ids...)
		for _, l := range seen {
			for _, d := range skill.Lint(l.Skill, nil, skill.LintOptions{Path: l.Path, IDs: known}) {
				if d.Code == "co_activate_unknown" {
					found = append(found, d)
				}
			}
		}
	}
	for i := range files {
		for _, d := range found {
			if d.File == files[i].shown {
				files[i].Diagnostics = append(files[i].Diagnostics, d)
			}
		}
	}
}

func (r *run) lintOne(shown string, profiles []skill.Profile, o lintOptions, seen *[]skill.Linted) (lintFile, error) {
	diags, in := r.judge(shown, profiles, o.known)
	f := lintFile{Path: shown, Fixed: []string{}}
	if o.fix && in != nil {
		moved, err := r.repair(&f, *in)
		if err != nil {
			return f, err
		}
		if len(f.Fixed) > 0 && !r.writing.dryRun {
			f.Path = moved
			diags, in = r.judge(moved, profiles, o.known)
		}
	}
	f.Diagnostics = append([]skill.Diagnostic{}, diags...)
	if in != nil {
		f.shown = in.Path
		if !slices.ContainsFunc(*seen, func(l skill.Linted) bool { return l.Path == in.Path }) {
			*seen = append(*seen, skill.Linted{Path: in.Path, Skill: parsed(*in)})
		}
	}
	return f, nil
}

// repair applies the repairs that need no judgement, whatever host was asked for:
// they are deft's own. It returns the path of the skill afterwards: a folder that had
// the skill's name gets its new one.
func (r *run) repair(f *lintFile, in skill.Input) (string, error) {
	shown, dir := f.Path, r.folder(f.Path)
	diags := skill.Validate(in, skill.ProfileDeft).Diagnostics
	out, applied := skill.Fix(in.Source, diags)
	path := filepath.Join(dir, in.FileName)
	if len(applied) > 0 {
		if err := r.files().Write(path, out, 0o644); err != nil {
			return shown, fmt.Errorf("%s: %w", path, err)
		}
		for _, d := range applied {
			f.Fixed = append(f.Fixed, d.Code)
		}
	}
	if in.FileName != "SKILL.md" {
		if err := r.files().Rename(path, filepath.Join(dir, "SKILL.md")); err != nil {
			return shown, err
		}
		f.Fixed = append(f.Fixed, "file_name")
		if filepath.Base(shown) == in.FileName {
			shown = filepath.Join(filepath.Dir(shown), "SKILL.md")
		}
	}
	name := skill.Parse(out, skill.ParseOptions{DirName: in.DirName}).Name
	to := filepath.Join(filepath.Dir(dir), name)
	has := func(list []skill.Diagnostic, codes ...string) bool {
		return slices.ContainsFunc(list, func(d skill.Diagnostic) bool { return slices.Contains(codes, d.Code) })
	}
	if !has(applied, "name_case", "name_chars", "name_hyphens", "name_length") || has(diags, "name_directory") ||
		name == in.DirName || skill.UnsafeName(name) || exists(to) || dir == r.abs(".") {
		return shown, nil
	}
	if err := r.files().Rename(dir, to); err != nil {
		return shown, err
	}
	f.Fixed = append(f.Fixed, "name_directory")
	if filepath.Base(shown) == "SKILL.md" {
		return filepath.Join(filepath.Dir(filepath.Dir(shown)), name, "SKILL.md"), nil
	}
	return filepath.Join(filepath.Dir(shown), name), nil
}

// folder is the directory of a skill that was named by it or by its file.
func (r *run) folder(shown string) string {
	path := r.abs(shown)
	if st, err := os.Stat(path); err == nil && !st.IsDir() {
		return filepath.Dir(path)
	}
	return path
}

// judge gives the verdicts of the profiles and the advice on one skill; the input
// is nil when there was nothing to judge. Equal findings are one.
func (r *run) judge(shown string, profiles []skill.Profile, known hostTools) ([]skill.Diagnostic, *skill.Input) {
	var diags []skill.Diagnostic
	add := func(list []skill.Diagnostic) {
		for _, d := range list {
			if !slices.Contains(diags, d) {
				diags = append(diags, d)
			}
		}
	}
	path := r.abs(shown)
	fsys := os.DirFS(filepath.Dir(path))
	var in skill.Input
	for _, p := range profiles {
		var fault *skill.Diagnostic
		if in, fault = skill.ReadInput(fsys, filepath.Base(path), shown, p); fault != nil {
			return append(diags, *fault), nil
		}
		if in.DirName == "" || in.DirName == "." {
			in.DirName = filepath.Base(r.folder(shown))
		}
		add(skill.Validate(in, p).Diagnostics)
	}
	s := parsed(in)
	o := skill.LintOptions{Path: in.Path, FileName: in.FileName, Tokens: tokens.O200k().Count}
	o.Dialect = skill.Dialect(r.globals.dialect)
	known.into(&o)
	if root, err := os.OpenRoot(r.folder(shown)); err == nil {
		defer root.Close()
		o.FS = root.FS()
		add(evals.LintTriggers(o.FS, filepath.ToSlash(filepath.Dir(in.Path))))
	}
	if s.Valid {
		body := strings.ReplaceAll(string(in.Source[s.Body.Start:s.Body.End]), "\r\n", "\n")
		add(skill.Lint(s, []byte(body), o))
	}
	return diags, &in
}
