package cli

import (
	"context"
	"encoding/json"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"strings"

	"github.com/deftskills/deft/install"
	"github.com/deftskills/deft/install/scan"
	"github.com/deftskills/deft/skill"
	"github.com/deftskills/deft/store"
)

// scanner has the rules of deft, those of the settings and those of the flags.
func (r *run) scanner(dirs, disable []string) (*scan.Scanner, error) {
	o := scan.Options{Release: build().Version + " " + build().Commit, Disable: slices.Concat(r.config.Scan.Disable, disable)}
	add := func(shown, dir string) error {
		if st, err := os.Stat(dir); err != nil || !st.IsDir() {
			return usage("%s: no directory", shown).hinted("hint.see_help", "scan")
		}
		o.Rules = append(o.Rules, os.DirFS(dir))
		return nil
	}
	for _, dir := range r.config.Scan.Rules {
		if rest, ok := strings.CutPrefix(dir, "~/"); ok {
			dir = r.dirs.Home + "/" + rest
		}
		if err := add("scan.rules "+dir, dir); err != nil {
			return nil, err
		}
	}
	for _, dir := range dirs {
		if err := add("--rules "+dir, r.abs(dir)); err != nil {
			return nil, err
		}
	}
	s, err := scan.New(o)
	if err != nil {
		return nil, usage("%s", err).hinted("hint.see_help", "scan")
	}
	return s, nil
}

// scanPolicy is what the settings say is done about findings.
func (r *run) scanPolicy() install.ScanPolicy {
	return install.ScanPolicy{OnBlock: install.Answer(r.config.Scan.OnBlock), OnWarn: install.Answer(r.config.Scan.OnWarn)}
}

// keptScans are what the scanner said of trees, in the state. Nothing depends on it: what
// can't be read or kept is looked at again.
type keptScans struct{ r *run }

// Kept implements install.Scans. A result that is not whole is not used again: what was in
// the way may be gone.
func (k keptScans) Kept(ctx context.Context, tree skill.Digest, rules string) (res scan.Result, ok bool) {
	s, err := k.r.openStore(ctx)
	if err != nil {
		return res, false
	}
	kept, err := s.Scan(ctx, tree, rules)
	if err != nil || !kept.Complete || json.Unmarshal(kept.Findings, &res.Findings) != nil {
		return res, false
	}
	res.Complete, res.Rules, res.FilesRead, res.FilesSkipped, res.Blocking = true, rules, kept.Read, kept.Skipped, kept.Blocking
	return res, true
}

// Keep implements install.Scans.
func (k keptScans) Keep(ctx context.Context, tree skill.Digest, res scan.Result) {
	s, err := k.r.openStore(ctx)
	if err != nil {
		return
	}
	findings, err := json.Marshal(res.Findings)
	if err != nil {
		return
	}
	_, _ = s.KeepScan(ctx, store.Scan{
		Tree: tree, Rules: res.Rules, Complete: res.Complete, Read: res.FilesRead, Skipped: res.FilesSkipped,
		Findings: findings, Blocking: res.Blocking,
	})
}

// scanned is one tree and what was found in it.
type scanned struct {
	scan.Result
	digest skill.Digest // "" where the tree has none
	reused bool         // kept from before
	took   bool         // covered holds what was found in the files that the digest is of
	cover  scan.Result
}

// scanOne looks at one tree, opened so that nothing outside it can be reached. What the same
// rules said of the same files before is not sought again.
func (r *run) scanOne(ctx context.Context, s *scan.Scanner, t scanTarget) (out scanned, err error) {
	root, err := os.OpenRoot(t.dir)
	if err != nil {
		return out, fmt.Errorf("%s: %s", t.shown, osReason(err))
	}
	defer root.Close()
	if t.options.Only == "" && len(t.options.Leave) == 0 {
		out.digest = digestOf(ctx, root.FS()) // the scan names what is in the way of one
	}
	if out.digest == "" {
		out.Result, err = s.Scan(ctx, root.FS(), t.options)
		return out, err
	}
	if out.cover, out.reused = (keptScans{r}).Kept(ctx, out.digest, s.Rules()); !out.reused {
		if out.cover, err = s.Scan(ctx, root.FS(), scan.ScanOptions{Part: scan.Covered}); err != nil {
			return out, err
		}
		// Who changes files meanwhile must not have the result of others kept for them.
		out.took = digestOf(ctx, root.FS()) == out.digest
	}
	rest, err := s.Scan(ctx, root.FS(), scan.ScanOptions{Part: scan.Uncovered})
	out.Result = out.cover.With(rest)
	return out, err
}

func digestOf(ctx context.Context, fsys fs.FS) skill.Digest {
	d, _, err := skill.TreeDigest(ctx, fsys)
	if err != nil {
		return ""
	}
	return d
}

// scanOfCode tells what the scanner finds in a skill that is about to be granted.
func (r *run) scanOfCode(ctx context.Context, name, dir string) {
	if dir == "" || r.globals.json {
		return
	}
	s, err := r.scanner(nil, nil)
	if err != nil {
		r.hintf("%s", err)
		return
	}
	res, err := r.scanOne(ctx, s, scanTarget{shown: name, dir: dir})
	if err != nil {
		r.hintf("%s", err)
		return
	}
	if res.took && !r.writing.dryRun {
		keptScans{r}.Keep(ctx, res.digest, res.cover)
	}
	r.err.Printf("  %s\n", r.words.Say("scan.trust", res.Blocking, len(res.Findings)-res.Blocking, res.FilesRead, res.FilesSkipped))
	told := 0
	for _, f := range slices.Backward(res.Findings) {
		if f.Level == scan.Block && told < maxTold {
			told++
			r.err.Printf("    %s:%d: %s (%s): %s\n", f.File, f.Line, f.Why, f.Rule, f.Evidence)
		}
	}
}

const maxTold = 5 // blocking findings that a question of trust shows; deft scan shows all
