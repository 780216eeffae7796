package cli

import (
	"context"
	"errors"
	"path/filepath"

	"github.com/spf13/pflag"

	"github.com/deftskills/deft/install"
	"github.com/deftskills/deft/skill"
)

func packVerb() verb {
	var out, format string
	return verb{
		name: "pack", args: "NAME|DIR", min: 1, max: 1, group: groupWrite, joins: true, effects: effects{reads: true, writes: true}, names: true,
		short: "one file of a skill, the same bytes each time",
		long: "The skill is checked and looked at first. The file holds one folder of the skill's name, without\n" +
			"times, owners and records of where it came from. deft add installs it again, with the same digest.",
		flags: func(f *pflag.FlagSet) {
			f.StringVarP(&out, "output", "o", "", "the `FILE`; default NAME.skill here")
			f.StringVar(&format, "format", "skill", "`skill` (a zip) or tar.gz")
		},
		run: func(ctx context.Context, r *run, args []string) error { return r.pack(ctx, args[0], out, format) },
	}
}

// packJSON is what deft pack tells.
type packJSON struct {
	Name    string       `json:"name"`
	Path    string       `json:"path"`
	Digest  skill.Digest `json:"digest"` // of the tree
	Files   int          `json:"files"`
	Bytes   int          `json:"bytes"`
	Written bool         `json:"written"`
}

// skillDir is the folder of a skill that is named by its folder or its name.
func (r *run) skillDir(ctx context.Context, arg string) (string, error) {
	dir := r.abs(arg)
	if exists(filepath.Join(dir, "SKILL.md")) {
		return dir, nil
	}
	e, err := r.open(ctx)
	if err != nil {
		return "", err
	}
	rec, err := find(e.Snapshot(), arg)
	if err != nil {
		return "", err
	}
	if rec.RealDir == "" {
		return "", fail(Negative, "pack_refused", "skill %q lies in no folder of this machine", rec.Skill.Name)
	}
	return rec.RealDir, nil
}

func (r *run) pack(ctx context.Context, arg, out, format string) error {
	if format != "skill" && format != "tar.gz" {
		return usage("--format %s is not known", format).hinted("hint.one_of", "skill, tar.gz")
	}
	dir, err := r.skillDir(ctx, arg)
	if err != nil {
		return err
	}
	i, err := r.installer()
	if err != nil {
		return err
	}
	p, err := i.Pack(ctx, dir, format)
	if errors.Is(err, install.ErrPack) {
		return fail(Negative, "pack_refused", "%s", err)
	}
	if err != nil {
		return err
	}
	if out == "" {
		out = p.Name + "." + format
	}
	doc := packJSON{p.Name, r.abs(out), p.Digest, p.Files, len(p.Data), !r.writing.dryRun}
	if err := r.files().Write(doc.Path, p.Data, 0o644); err != nil {
		return err
	}
	if r.globals.json {
		r.printJSON(doc)
		return nil
	}
	r.out.Printf("%s\n", r.words.Say(r.orDry("pack.done", "pack.dry"), p.Name, r.short(doc.Path), p.Files))
	return nil
}
