package cli

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/spf13/pflag"
)

func docsVerb() verb {
	var check bool
	return verb{
		name: "docs", args: "skills", max: -1, group: groupWrite, effects: effects{reads: true, writes: true}, joins: true,
		short: "pages made from what the skills say of themselves",
		below: []verb{{
			name: "skills", args: "[DIR]", max: 1, effects: effects{reads: true, writes: true},
			short: "write the catalog pages of the built-in and of the project's skills into DIR",
			long: "DIR is docs/skills where nothing is said. The pages depend on the SKILL.md files of the program\n" +
				"and of the workspace alone, so that they are the same on every machine.\n" +
				"Exit code 1 with --check: a page is not what would be written.",
			flags: func(f *pflag.FlagSet) {
				f.BoolVar(&check, "check", false, "write nothing; say which pages are stale")
			},
			run: func(ctx context.Context, r *run, args []string) error {
				dir := filepath.Join("docs", "skills")
				if len(args) == 1 {
					dir = args[0]
				}
				return r.docsSkills(ctx, r.abs(dir), check)
			},
		}},
	}
}

// pageJSON is one page: written, same, or, with --check, stale.
type pageJSON struct {
	Path   string `json:"path"`
	Status string `json:"status"`
	Skills int    `json:"skills"`
}

type docsJSON struct {
	Pages []pageJSON `json:"pages"`
	OK    bool       `json:"ok"`
}

func (r *run) docsSkills(ctx context.Context, dir string, check bool) error {
	snap, err := r.snapshot(ctx)
	if err != nil {
		return err
	}
	doc := docsJSON{Pages: []pageJSON{}, OK: true}
	for _, p := range skillPages(snap, r.cwd) {
		path := filepath.Join(dir, p.name)
		old, err := os.ReadFile(path)
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("page: %w", err)
		}
		status := "same"
		if err != nil || !bytes.Equal(old, p.text) {
			status = "stale"
			doc.OK = false
			if !check {
				if err := r.writePage(path, p.text); err != nil {
					return err
				}
				if doc.OK = true; !r.writing.dryRun {
					status = "written"
				}
			}
		}
		doc.Pages = append(doc.Pages, pageJSON{path, status, p.skills})
	}
	if r.globals.json {
		r.printJSON(doc)
	} else {
		for _, p := range doc.Pages {
			r.out.Printf("%-8s %s\n", r.words.Say("docs."+p.Status), p.Path)
		}
	}
	if !doc.OK {
		r.hintf("%s", r.words.Say("docs.renew"))
		return errNegative
	}
	return nil
}

func (r *run) writePage(path string, text []byte) error {
	if !r.writing.dryRun {
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			return fmt.Errorf("page: %w", err)
		}
	}
	if err := r.files().Write(path, text, 0o644); err != nil {
		return fmt.Errorf("page: %w", err)
	}
	return nil
}
