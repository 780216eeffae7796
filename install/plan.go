package install

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/deftskills/deft/install/licence"
	"github.com/deftskills/deft/install/scan"
	"github.com/deftskills/deft/internal/fold"
	"github.com/deftskills/deft/skill"
	"github.com/deftskills/deft/store/blobs"
)

// Installer brings skills in, and takes out what it brought. Its methods are for one
// goroutine; several processes wait for each other by a lock file.
type Installer struct{ o Options }

// Options are what an Installer works with. Blobs, Trees, State and Program are
// required.
type Options struct {
	Blobs    blobs.Store
	Trees    blobs.Trees
	State    string        // the state directory: unfinished changes, what was replaced, the lock
	Program  string        // what writes records, such as "deft 1.2"
	Scanner  *scan.Scanner // nil = nothing is looked at
	Policy   ScanPolicy
	Scans    Scans // nil = every tree is looked at anew
	Licences licence.Options
	// EnforceLocal holds local sources to their licence too; else it is only shown.
	EnforceLocal bool
	Reserved     []string // names that no skill may take, such as those of built-in ones
	Now          func() time.Time
	Recorder     Recorder // nil = nothing is recorded
	// LockWait is how long another process is waited for; 0 = 10 s, negative = not at all.
	LockWait time.Duration
}

// New returns an Installer.
func New(o Options) *Installer {
	if o.Now == nil {
		o.Now = time.Now
	}
	return &Installer{o}
}

// Choice is what of a source a person wants, and where.
type Choice struct {
	Scope      Scope
	Agents     []Agent  // into whose folders each skill is linked
	Copy       bool     // copies instead of links
	Force      bool     // what is in the way is moved aside, another origin's skill replaced
	Unlicensed bool     // skills without a licence pass
	Accept     []string // rules of the scanner whose findings are taken
	Pin        string
	NeededBy   map[string]string // by name: who needs a skill that nobody named; it is asked about
	For        []string          // of a plugin; see Entry.For
	Expected   map[string]Entry  // by name: a lock that has to be kept to the byte; nil = none

	action string // what it is recorded as; "" = DidInstall
	base   *Entry // what an update began from, and must find; nil = anything
}

// What a plan does with one skill.
const (
	Install = "install" // nothing of that name is there
	Replace = "replace" // another tree takes the place
	Same    = "same"    // it is there already
)

// Item is one skill of a plan.
type Item struct {
	Package
	Name    string // of its folder
	Target  string // absolute
	Action  string
	Licence licence.Verdict
	Scan    scan.Result
	Links   []Link
	Asks    []Reason // questions that a person has to answer
	Refused *Reason  // why it is not installed; nil = it may be
	Before  *Entry   // what the lock has of that name

	scanned bool // Scan was kept from before
}

// CodeBusy is why a change is not made whose skill another process has changed meanwhile.
const CodeBusy = "install_busy"

// Reason is a code and the words for a person.
type Reason struct{ Code, Message string }

// Link is an entry in an agent's folder.
type Link struct{ Agent, Path string }

// Plan is what an install would do. Nothing on disk has changed.
type Plan struct {
	Origin Origin
	Notes  []string
	Items  []Item
	choice Choice

	unverified bool
	signed     string
}

// Plan decides about each of a list of packages by itself.
func (i *Installer) Plan(ctx context.Context, f *Fetched, packages []Package, c Choice) (*Plan, error) {
	lock, err := ReadLock(c.Scope.Lock, c.Scope.Name == "project")
	if err != nil {
		return nil, err
	}
	p := &Plan{Origin: f.Origin, choice: c, unverified: f.Unverified, signed: f.Signature.Key}
	if f.Signature.Note != "" {
		p.Notes = append(p.Notes, f.Signature.Note)
	}
	for _, n := range f.Notes {
		p.Notes = append(p.Notes, strings.TrimSpace(n.Path+" "+n.Message))
	}
	taken := map[string]string{}
	for _, pack := range packages {
		item, err := i.item(ctx, f, pack, lock, c)
		if err != nil {
			return nil, err
		}
		if other, ok := taken[item.Name]; ok && item.Refused == nil {
			item.Refused = &Reason{"install_name_taken", fmt.Sprintf("%s of the same source has the name too", other)}
		}
		taken[item.Name] = path.Join(pack.Dir, "SKILL.md")
		p.Items = append(p.Items, item)
	}
	return p, nil
}

// check says why one skill may not be installed, nil where it may.
type check func(context.Context, *Fetched, *Item, Choice) (*Reason, error)

// item runs the checks in the order in which each needs those before it.
func (i *Installer) item(ctx context.Context, f *Fetched, pack Package, lock *Lock, c Choice) (Item, error) {
	it := Item{Package: pack, Name: pack.Version}
	if pack.Skill != nil {
		it.Name = c.Scope.nameOf(pack.Skill)
	}
	if pack.Problem != "" {
		it.Refused = &Reason{"skill_invalid", pack.Problem}
		if rest, bad := strings.CutPrefix(pack.Problem, ErrBadName.Error()+": "); bad {
			it.Refused = &Reason{ErrBadName.Error(), rest}
		}
		return it, nil
	}
	it.Target = filepath.Join(c.Scope.Skills, it.Name)
	if e, ok := lock.part(c.Scope)[c.Scope.key(it.Name)]; ok {
		it.Before = &e
	}
	if why, ok := c.NeededBy[it.Name]; ok {
		it.Asks = append(it.Asks, Reason{CodeNeeded, why})
	}
	for _, step := range []check{i.expected, i.name, i.place, i.verified, i.licence, i.scan} {
		why, err := step(ctx, f, &it, c)
		if err != nil {
			return it, err
		}
		if why != nil {
			it.Refused = why
			return it, nil
		}
	}
	return it, nil
}

// targetName is the folder's name: the form of the skill's name that people type.
func targetName(s *skill.Skill) string {
	if s.Handle != "" {
		return s.Handle
	}
	return s.Name
}

// nameOf is the name of a skill's folder in a scope.
func (s Scope) nameOf(k *skill.Skill) string {
	if s.Minara {
		return string(k.ID())
	}
	return targetName(k)
}

// expected holds a package to a lock.
func (i *Installer) expected(_ context.Context, f *Fetched, it *Item, c Choice) (*Reason, error) {
	if c.Expected == nil {
		return nil, nil
	}
	want, ok := c.Expected[it.Name]
	switch {
	case !ok:
		return &Reason{"lock_frozen", "the lock file does not name it"}, nil
	case want.Tree != it.Digest:
		return &Reason{"lock_frozen", fmt.Sprintf("its files are %s, the lock file has %s", it.Digest, want.Tree)}, nil
	}
	if at := it.Origin(f.Origin).Commit; want.Source.Commit != "" && at != want.Source.Commit {
		return &Reason{"lock_frozen", fmt.Sprintf("the source is at %s, the lock file at %s", at, want.Source.Commit)}, nil
	}
	return nil, nil
}

// verified asks about what nothing can be compared with.
func (i *Installer) verified(_ context.Context, f *Fetched, it *Item, _ Choice) (*Reason, error) {
	if f.Unverified && it.Action != Same {
		it.Asks = append(it.Asks, Reason{"wellknown_unverified", "the index has no digests: what was fetched may not be what was published"})
	}
	return nil, nil
}

// name compares with what is there by that name, or by one that looks like it.
func (i *Installer) name(_ context.Context, f *Fetched, it *Item, c Choice) (*Reason, error) {
	if err := CheckName(it.Name); err != nil {
		return &Reason{"install_bad_name", err.Error()}, nil
	}
	if c.Scope.MiniMax && !miniMaxName.MatchString(it.Name) {
		return &Reason{"install_bad_name", fmt.Sprintf("%q is not of the form that names have there: a letter, then at most 63 of a-z, 0-9, _ and -", it.Name)}, nil
	}
	others := slices.Clone(i.o.Reserved)
	entries, err := os.ReadDir(c.Scope.Skills)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("install: %w", err)
	}
	for _, e := range entries {
		if !strings.HasPrefix(e.Name(), ".") {
			others = append(others, e.Name())
		}
	}
	for _, other := range others {
		switch {
		case other == it.Name && slices.Contains(i.o.Reserved, other) && !c.Force:
			return &Reason{"install_name_taken", fmt.Sprintf("a built-in skill is called %q", other)}, nil
		case other == it.Name:
		case fold.Key(other) == fold.Key(it.Name):
			return &Reason{"install_name_taken", fmt.Sprintf("it differs from %q only in case or form of letters", other)}, nil
		case fold.Skeleton(other) == fold.Skeleton(it.Name):
			it.Asks = append(it.Asks, Reason{"install_look_alike", fmt.Sprintf("look-alike of %q", other)})
		}
	}
	if it.Before != nil && !sameOrigin(it.Before.Source, f.Origin) && !c.Force {
		return &Reason{"install_name_taken", fmt.Sprintf("%q is installed from %s", it.Name, it.Before.Source.URL)}, nil
	}
	return nil, nil
}

func sameOrigin(a, b Origin) bool {
	return a.Type == b.Type && strings.TrimSuffix(a.URL, ".git") == strings.TrimSuffix(b.URL, ".git")
}

// place looks at the target and at the folders of agents.
func (i *Installer) place(ctx context.Context, _ *Fetched, it *Item, c Choice) (*Reason, error) {
	info, err := os.Lstat(it.Target)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		it.Action = Install
	case err != nil:
		return nil, fmt.Errorf("install: %w", err)
	case it.Before == nil && !c.Force:
		return &Reason{"install_occupied", it.Target + " is there, and deft did not put it there"}, nil
	default:
		it.Action = Replace
		if tree, err := treeAt(ctx, it.Target); info.IsDir() && err == nil && tree.Digest() == it.Digest {
			it.Action = Same
		} else if it.Before != nil && err == nil && tree.Digest() != it.Before.Tree && !c.Force {
			return &Reason{"update_kept", fmt.Sprintf("%s has local edits in %s", it.Name, strings.Join(i.changed(ctx, it.Before.Tree, tree), ", "))}, nil
		}
	}
	it.Links = c.Scope.links(c.Agents, it.Name)
	if out := c.Scope.leavesRoot(it.Links); out != "" {
		return &Reason{"install_outside", out + " is a link out of the work tree"}, nil
	}
	for _, l := range it.Links {
		if _, err := os.Lstat(l.Path); err == nil && !c.Force && !i.ours(l.Path, it) {
			return &Reason{"install_occupied", l.Path + " is there, and deft did not put it there"}, nil
		}
	}
	return nil, nil
}

// ours reports whether an entry of an agent's folder is the one that deft made for the
// skill: a link to the canonical copy, or a copy with our record.
func (i *Installer) ours(at string, it *Item) bool {
	info, err := os.Lstat(at)
	if err != nil || it.Before == nil {
		return false
	}
	if info.Mode().Type() == fs.ModeSymlink {
		return leadsTo(at, it.Target)
	}
	p, err := ReadProvenance(at)
	return err == nil && p.Name == it.Name && sameOrigin(p.Source, it.Before.Source)
}

// leadsTo compares what a link says, by its parts, with a path: where the path is gone
// too there is nothing else to compare.
func leadsTo(link, target string) bool {
	to, err := os.Readlink(link)
	if err != nil {
		return false
	}
	if !filepath.IsAbs(to) {
		dir, err := filepath.EvalSymlinks(filepath.Dir(link))
		if err != nil {
			dir = filepath.Dir(link)
		}
		to = filepath.Join(dir, to)
	}
	real, err := filepath.EvalSymlinks(filepath.Dir(target))
	if err != nil {
		real = filepath.Dir(target)
	}
	return filepath.Clean(to) == filepath.Clean(target) || filepath.Clean(to) == filepath.Join(real, filepath.Base(target))
}

func (i *Installer) licence(ctx context.Context, f *Fetched, it *Item, c Choice) (*Reason, error) {
	tree, err := f.fs(ctx)
	if err != nil {
		return nil, err
	}
	parts := it.Parts
	if it.Skill != nil {
		parts = []Part{{it.Dir, it.Skill.Meta.License}}
	}
	if it.Licence, err = licenceOf(tree, parts, i.o.Licences); err != nil {
		return nil, err
	}
	if f.licensed != "" && it.Licence.Decision == licence.None {
		if v, ok := licence.OfName(f.licensed, i.o.Licences); ok {
			it.Licence = v
		}
	}
	if (f.Origin.Type == Local || f.Origin.Type == Published) && !i.o.EnforceLocal {
		return nil, nil
	}
	switch v := it.Licence; v.Decision {
	case licence.Refuse:
		return &Reason{"licence_refused", v.Evidence}, nil
	case licence.Contradiction:
		return &Reason{"licence_contradiction", v.Evidence}, nil
	case licence.None:
		if !c.Unlicensed {
			return &Reason{"licence_none", v.Evidence}, nil
		}
	case licence.Warn:
		it.Asks = append(it.Asks, Reason{"licence_warn", v.SPDX})
	}
	return nil, nil
}
