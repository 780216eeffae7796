package cli

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/spf13/pflag"

	"github.com/deftskills/deft/registry"
	"github.com/deftskills/deft/source"
)

// maxRead bounds one file that read shows.
const maxRead = 16 << 20

func readVerb() verb {
	var lines string
	return verb{
		name: "read", args: "NAME PATH", min: 2, max: 2, group: groupSkill, effects: effects{reads: true}, names: true,
		short: "one file of a skill", joins: true,
		long:  "PATH is relative to the skill; it cannot leave it.",
		flags: func(f *pflag.FlagSet) { f.StringVar(&lines, "lines", "", "only the lines `A-B`, counted from 1") },
		run: func(ctx context.Context, r *run, args []string) error {
			return r.readFile(ctx, args[0], args[1], lines)
		},
	}
}

func (r *run) readFile(ctx context.Context, name, path, lines string) error {
	from, to, err := lineRange(lines)
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
	data, err := fileOf(ctx, rec, path)
	if err != nil {
		return err
	}
	if !utf8.Valid(data) {
		return fail(Negative, "not_utf8", "file %q of skill %q is not text", path, rec.Skill.Name)
	}
	all := strings.SplitAfter(string(data), "\n")
	if all[len(all)-1] == "" {
		all = all[:len(all)-1]
	}
	text, shown := string(data), (*[2]int)(nil)
	if from > 0 {
		if from > len(all) {
			return fail(Negative, "lines_outside", "file %q has %d lines", path, len(all)).hinted("hint.lines", len(all))
		}
		to = min(to, len(all))
		text, shown = strings.Join(all[from-1:to], ""), &[2]int{from, to}
	}
	if r.globals.json {
		r.printJSON(struct {
			Name  string  `json:"name"`
			Path  string  `json:"path"`
			Lines *[2]int `json:"lines"`
			Total int     `json:"total_lines"`
			Text  string  `json:"text"`
		}{rec.Skill.Name, path, shown, len(all), text})
		return nil
	}
	r.text(text)
	return nil
}

// text prints a file: harmless on a terminal, byte for byte elsewhere.
func (r *run) text(s string) {
	if r.out.Policy().Terminal {
		r.out.Text(s)
		return
	}
	r.out.Bytes([]byte(s))
}

// fileOf reads one file of a skill through its source, which confines it.
func fileOf(ctx context.Context, rec *registry.Record, path string) ([]byte, error) {
	f, err := rec.From.Open(ctx, rec.Entry, path)
	for _, same := range spellings(rec, path) {
		if err == nil {
			break
		}
		f, err = rec.From.Open(ctx, rec.Entry, same)
	}
	switch {
	case errors.Is(err, fs.ErrNotExist):
		missing := fail(Negative, "file_missing", "file %q of skill %q: not there", path, rec.Skill.Name)
		if files := filesOf(ctx, rec); files != "" {
			return nil, missing.hinted("hint.files", files)
		}
		return nil, missing
	case err != nil:
		return nil, fail(Refused, "file_refused", "file %q of skill %q: %s", path, rec.Skill.Name, err)
	}
	defer f.Close()
	if st, err := f.Stat(); err != nil || st.IsDir() {
		return nil, fail(Negative, "file_missing", "file %q of skill %q is a folder", path, rec.Skill.Name)
	}
	data, err := readAllUpTo(f, nil, maxRead)
	if err != nil {
		return nil, fmt.Errorf("file %q of skill %q: %w", path, rec.Skill.Name, err)
	}
	return data, nil
}

// spellings are other ways to write a path in a skill: as it is shown, from the root of
// the disk on, and with the separators of another system.
func spellings(rec *registry.Record, path string) []string {
	slashed := strings.ReplaceAll(path, `\`, "/")
	var out []string
	for _, dir := range []string{rec.Dir, rec.RealDir} {
		if rel, ok := strings.CutPrefix(slashed, filepath.ToSlash(dir)+"/"); ok && dir != "" {
			out = append(out, rel)
		}
	}
	if slashed != path {
		out = append(out, slashed)
	}
	return out
}

// maxFiles bounds how many files a message names.
const maxFiles = 10

// filesOf names the files of a skill, "" where they cannot be told.
func filesOf(ctx context.Context, rec *registry.Record) string {
	_, files, err := source.Tree(ctx, rec.Entry)
	if err != nil {
		return ""
	}
	var names []string
	for _, f := range files {
		if len(names) == maxFiles {
			names = append(names, "…")
			break
		}
		names = append(names, f.Path)
	}
	return strings.Join(names, ", ")
}

// lineRange reads A-B, A- or A.
func lineRange(s string) (from, to int, err error) {
	if s == "" {
		return 0, 0, nil
	}
	a, b, dash := strings.Cut(s, "-")
	from, err = strconv.Atoi(a)
	to = from
	if err == nil && dash {
		to = 1<<31 - 1
		if b != "" {
			to, err = strconv.Atoi(b)
		}
	}
	if err != nil || from < 1 || to < from {
		return 0, 0, usage("lines %q are no range", s).hinted("hint.range")
	}
	return from, to, nil
}
