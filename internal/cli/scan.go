package cli

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/pflag"

	"github.com/deftskills/deft/install/scan"
	"github.com/deftskills/deft/internal/safetext"
	"github.com/deftskills/deft/skill"
)

// scanFlags are the flags of deft scan.
type scanFlags struct {
	rules, disable []string
	model          string
}

func scanVerb() verb {
	var o scanFlags
	return verb{
		name: "scan", args: "PATH…", min: 1, max: -1, group: groupWrite, joins: true, effects: effects{reads: true, network: true},
		short: "look for what is dangerous in the files of skills",
		long: "PATH is a skill's folder, its SKILL.md, any other file, or a folder of skills. Nothing is run\n" +
			"and no link is followed. What is found is listed with its place and a level: block, warn or info.\n" +
			"Nothing found is no promise: it only says that no rule spoke.\n" +
			"Exit code 1 means a finding of level block; 4, that something could not be read whole.",
		flags: func(f *pflag.FlagSet) {
			f.StringArrayVar(&o.rules, "rules", nil, "more rules, from the *.yaml files of `DIR`; may be repeated")
			f.StringArrayVar(&o.disable, "disable", nil, "leave out the rule `ID`; may be repeated")
			f.StringVar(&o.model, "model", "", "have the configured model read the texts too, or `PROVIDER/NAME`; they are sent to it")
			f.Lookup("model").NoOptDefVal = configuredModel
		},
		run: func(ctx context.Context, r *run, args []string) error { return r.scan(ctx, o, args) },
	}
}

// scanJSON is what deft scan tells.
type scanJSON struct {
	Targets  []targetJSON `json:"targets"`
	Blocking int          `json:"blocking"`
	Rules    string       `json:"rules"`    // digest of the rules
	Disabled []string     `json:"disabled"` // ids that were left out
}

// targetJSON is one tree that was looked at.
type targetJSON struct {
	Path         string         `json:"path"`
	Digest       skill.Digest   `json:"digest"` // of the tree; "" where it has none
	Complete     bool           `json:"complete"`
	FilesRead    int            `json:"files_read"`
	FilesSkipped int            `json:"files_skipped"`
	Findings     []scan.Finding `json:"findings"`
	Reused       bool           `json:"reused"` // found before in the same files by the same rules
}

// scanTarget is a tree before it is looked at.
type scanTarget struct {
	shown, dir string
	options    scan.ScanOptions
}

func (r *run) scan(ctx context.Context, o scanFlags, args []string) error {
	s, err := r.scanner(o.rules, o.disable)
	if err != nil {
		return err
	}
	var ask scan.Ask
	if o.model != "" {
		if ask, err = r.reader(ctx, o.model); err != nil {
			return err
		}
	}
	doc := scanJSON{Targets: []targetJSON{}, Rules: s.Rules(), Disabled: append([]string{}, s.Disabled()...)}
	for _, arg := range args {
		targets, err := r.scanTargets(arg)
		if err != nil {
			return err
		}
		for _, t := range targets {
			res, err := r.scanOne(ctx, s, t)
			if err == nil && ask != nil {
				res.Result, err = r.readToo(ctx, s, ask, t, res.Result)
			}
			if err != nil {
				return err
			}
			doc.Targets = append(doc.Targets, targetJSON{t.shown, res.digest, res.Complete, res.FilesRead, res.FilesSkipped, res.Findings, res.reused})
			doc.Blocking += res.Blocking
			if !res.Complete {
				r.note(Partial)
			}
			if !r.globals.json {
				r.showScan(t.shown, res.Result)
			}
		}
	}
	if r.globals.json {
		r.printJSON(doc)
	}
	if doc.Blocking > 0 {
		return errNegative
	}
	return nil
}

// scanTargets returns the trees that a path means: a skill, a single file, or the skills
// of a folder and then what lies there beside them.
func (r *run) scanTargets(arg string) ([]scanTarget, error) {
	if arg == "" {
		return nil, usage("a path is empty").hinted("hint.see_help", "scan")
	}
	path := r.abs(arg)
	st, err := os.Stat(path)
	if err != nil {
		return nil, fail(Negative, "path_missing", "%s: %s", arg, osReason(err))
	}
	switch {
	case !st.IsDir() && strings.EqualFold(filepath.Base(path), "SKILL.md"):
		return []scanTarget{{shown: arg, dir: filepath.Dir(path)}}, nil
	case !st.IsDir():
		return []scanTarget{{arg, filepath.Dir(path), scan.ScanOptions{Only: filepath.Base(path)}}}, nil
	case isSkill(path):
		return []scanTarget{{shown: arg, dir: path}}, nil
	}
	var list []scanTarget
	var leave []string
	for _, found := range r.skillsAt(arg) {
		if found == arg {
			break
		}
		list = append(list, scanTarget{shown: found, dir: r.abs(found)})
		if rel, err := filepath.Rel(path, r.abs(found)); err == nil {
			leave = append(leave, filepath.ToSlash(rel))
		}
	}
	return append(list, scanTarget{arg, path, scan.ScanOptions{Leave: leave}}), nil
}

func osReason(err error) string {
	var p *fs.PathError
	if errors.As(err, &p) {
		return p.Err.Error()
	}
	return err.Error()
}

// scanColor is the colour of a level.
func scanColor(l scan.Level) safetext.Style {
	switch l {
	case scan.Block:
		return safetext.Red
	case scan.Warn:
		return safetext.Yellow
	}
	return safetext.Dim
}

// showScan writes the findings of one tree and what was read of it.
func (r *run) showScan(shown string, res scan.Result) {
	counts := map[scan.Level]int{}
	for _, f := range res.Findings {
		counts[f.Level]++
		place := filepath.ToSlash(filepath.Join(shown, f.File))
		if strings.EqualFold(filepath.Base(shown), f.File) {
			place = shown
		}
		if f.Line > 0 {
			place = fmt.Sprintf("%s:%d:%d", place, f.Line, max(f.Column, 1))
		}
		r.out.Printf("%s: %s: %s (%s)\n", place, r.out.Paint(scanColor(f.Level), string(f.Level)), f.Why, f.Rule)
		if f.Evidence != "" {
			r.out.Printf("  %s\n", f.Evidence)
		}
	}
	found := r.words.Say("scan.none")
	if len(res.Findings) > 0 {
		var parts []string
		for _, l := range []scan.Level{scan.Block, scan.Warn, scan.Info} {
			if counts[l] > 0 {
				parts = append(parts, fmt.Sprintf("%d %s", counts[l], l))
			}
		}
		found = strings.Join(parts, ", ")
	}
	line := r.words.Say("scan.read", found, res.FilesRead, res.FilesSkipped)
	if !res.Complete {
		line = r.words.Say("scan.partial", line)
	}
	r.out.Printf("%s: %s\n", shown, line)
}
