package cli

import (
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/pflag"

	"github.com/deftskills/deft/internal/safetext"
	"github.com/deftskills/deft/registry"
	"github.com/deftskills/deft/skill"
)

// exportOptions are the flags of deft export.
type exportOptions struct {
	host, out   string
	fix, noLoss bool
}

func exportVerb() verb {
	var o exportOptions
	return verb{
		name: "export", args: "NAME", min: 1, max: 1, group: groupWrite, effects: effects{reads: true, writes: true}, names: true,
		short: "a skill as another host reads it, and what that host loses", brief: "for other hosts, as one file, as versions",
		long: "The new SKILL.md goes to standard output, or with --out into a folder together with the files\n" +
			"beside it. Hosts: " + strings.Join(hosts(), ", ") + ".",
		flags: func(f *pflag.FlagSet) {
			f.StringVar(&o.host, "for", "", "the `HOST`; required")
			f.BoolVar(&o.fix, "fix", false, "make name and description valid for the host")
			f.BoolVar(&o.noLoss, "no-loss", false, "exit code 1 when the host loses anything")
			f.StringVar(&o.out, "out", "", "write the skill's folder into `DIR`")
		},
		run: func(ctx context.Context, r *run, args []string) error { return r.export(ctx, o, args[0]) },
	}
}

func (r *run) export(ctx context.Context, o exportOptions, name string) error {
	if o.host == "" {
		return usage("export needs --for HOST").hinted("hint.one_of", strings.Join(hosts(), ", "))
	}
	profiles, err := profilesOf([]string{o.host})
	if err != nil {
		return err
	}
	snap, err := r.snapshot(ctx)
	if err != nil {
		return err
	}
	rec, err := find(snap, name)
	if err != nil {
		return err
	}
	text, files, loss, err := exported(ctx, rec, profiles[0], o.fix)
	if err != nil {
		return err
	}
	written := ""
	if o.out != "" && (!o.noLoss || len(loss) == 0) {
		if written, err = r.writeExport(r.abs(o.out), text, files, rec); err != nil {
			return err
		}
	}
	if r.globals.json {
		r.printJSON(struct {
			Name    string       `json:"name"`
			Host    string       `json:"host"`
			SkillMD string       `json:"skill_md"`
			Files   []string     `json:"files"`
			Losses  []skill.Loss `json:"losses"`
			Written string       `json:"written"`
		}{rec.Skill.Name, string(profiles[0]), string(text), sortedKeys(files), orEmptyList(loss), written})
	} else {
		r.showExport(text, loss, written)
	}
	if o.noLoss && len(loss) > 0 {
		return errNegative
	}
	return nil
}

func (r *run) showExport(text []byte, loss []skill.Loss, written string) {
	for _, l := range loss {
		place := l.Key
		if l.Line > 0 {
			place = fmt.Sprintf("%s (line %d)", l.Key, l.Line)
		}
		r.err.Printf("%s %s: %s\n", r.err.Paint(safetext.Yellow, string(l.Action)), place, orElse(l.Effect, r.words.Say("export.no_effect")))
	}
	if written != "" {
		r.out.Printf("%s\n", written)
		return
	}
	r.text(string(text))
}

// exported reads a skill with its sidecars and turns it into what the host reads.
func exported(ctx context.Context, rec *registry.Record, p skill.Profile, fix bool) ([]byte, map[string][]byte, []skill.Loss, error) {
	src, err := fileOf(ctx, rec, "")
	if err != nil {
		return nil, nil, nil, err
	}
	o := skill.ExportOptions{Fix: fix, Sidecars: map[string][]byte{}}
	for _, name := range []string{"SKILL.config.json", "agents/openai.yaml"} {
		if data, err := fileOf(ctx, rec, name); err == nil {
			o.Sidecars[name] = data
		}
	}
	s := rec.Skill
	if fix {
		fixed, applied := skill.Fix(src, s.Diagnostics)
		if len(applied) > 0 {
			src = fixed
			s = skill.Parse(src, skill.ParseOptions{Path: rec.Location, DirName: filepath.Base(rec.Dir), Sidecars: o.Sidecars})
		}
	}
	text, files, loss, err := skill.ExportWith(s, src, p, o)
	if err != nil {
		return nil, nil, nil, fail(Negative, "skill_invalid", "%s", err).hinted("hint.explain", rec.Address)
	}
	return text, files, loss, nil
}

// writeExport writes SKILL.md and the files beside it into a folder of the skill's
// name, and returns that folder. Other files of the skill are not part of a form.
func (r *run) writeExport(parent string, text []byte, files map[string][]byte, rec *registry.Record) (string, error) {
	name := skill.Parse(text, skill.ParseOptions{DirName: rec.Skill.Name}).Name
	if name == "" || !filepath.IsLocal(name) || strings.ContainsAny(name, `/\`) {
		return "", fail(Refused, "name_unsafe", "skill %q: the name is no folder's name", name).hinted("hint.other_name")
	}
	dir := filepath.Join(parent, name)
	if exists(filepath.Join(dir, "SKILL.md")) {
		return "", fail(Refused, "exists", "skill %q exists: %s", name, dir).hinted("hint.other_name")
	}
	paths := append([]string{"SKILL.md"}, slices.DeleteFunc(sortedKeys(files), func(p string) bool { return !filepath.IsLocal(p) })...)
	for _, path := range paths {
		data := files[path]
		if path == "SKILL.md" {
			data = text
		}
		if err := r.files().Write(filepath.Join(dir, filepath.FromSlash(path)), data, 0o644); err != nil {
			return "", fmt.Errorf("export of %q: %w", name, err)
		}
	}
	return dir, nil
}
