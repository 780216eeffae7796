package store

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"slices"
	"strings"

	"github.com/deftskills/deft/internal/fault"
	"github.com/deftskills/deft/skill"
	"github.com/deftskills/deft/store/blobs"
)

// PublishOptions says how files become a version. Blobs is required.
type PublishOptions struct {
	Label   string // semantic version, unique within the skill; "" = none
	Note    string // for people
	By      string // who publishes
	Draft   bool   // the version is not offered yet
	Channel string // that leads to it afterwards; "" = none
	Force   bool   // a version of its own even where the newest has the same files
	Path    string // where the files come from, for people; "" = "/"
	DryRun  bool   // nothing is kept: the Version is the one that would be, without an ID
	// AllowWarnings publishes what Check warns of.
	AllowWarnings bool

	// Blobs is where the contents go.
	Blobs blobs.Store
	// Check looks at the files before anything is kept, for what dangers and which licence
	// they have; nil = nobody looks.
	Check func(ctx context.Context, c Candidate) (Verdict, error)
}

// Candidate is a skill that is to be published. Its header has passed strict validation.
type Candidate struct {
	Skill  *skill.Skill
	Files  fs.FS // what will be kept, to the byte
	Tree   skill.Tree
	Digest skill.Digest // of Tree
}

// Verdict is what a check says of a Candidate.
type Verdict struct {
	Licence  json.RawMessage // an object, kept with the version; empty = none
	Scan     string          // what identifies the scan; kept with the version
	Refused  []string        // reasons against it, each a line; none = it may be published
	Warnings []string        // what a person has to allow, each a line
}

// Snapshot is what a version says of itself without its files.
type Snapshot struct {
	Name        string         `json:"name"`
	Description string         `json:"description"`
	Title       string         `json:"title,omitempty"`
	License     string         `json:"license,omitempty"`
	Header      map[string]any `json:"header"`               // every field as it is written; scalars are texts
	References  []string       `json:"references,omitempty"` // paths below the folder of that name
	Scripts     []string       `json:"scripts,omitempty"`
	Assets      []string       `json:"assets,omitempty"`
}

// PublishDir publishes the skill whose SKILL.md lies at the top of fsys, with every file
// below it, to the byte. Nothing is kept of what is refused: by its files or their bounds
// (*PublishError, *skill.TreeError), by strict validation or by Check (*PublishError with
// the code publish_blocked), by the state of the skill (ErrLabelTaken). A process that dies
// on the way leaves contents that nothing refers to. Give it an os.Root's FS where another
// process may write.
func (s *Store) PublishDir(ctx context.Context, fsys fs.FS, o PublishOptions) (Version, error) {
	set := &FileSet{Blobs: blobs.NewMemory(), MIME: map[string]string{}}
	var err error
	_, set.Tree, err = skill.TreeFiles(ctx, fsys, func(e skill.FileEntry, data []byte) error {
		set.MIME[e.Path] = MediaType(e.Path, data)
		_, err := set.Blobs.Put(ctx, data)
		return err
	})
	var tree *skill.TreeError
	if errors.As(err, &tree) {
		code := map[string]string{
			"tree_special": "publish_not_regular", "tree_link_escape": "publish_not_regular", "tree_case_clash": "publish_duplicate_path",
		}[tree.Diagnostic.Code]
		if code != "" {
			return Version{}, &PublishError{code, tree.Diagnostic.File, tree.Error()}
		}
	}
	if err != nil {
		return Version{}, fmt.Errorf("publish: %w", err)
	}
	return s.publish(ctx, set, o)
}

// PublishFiles is PublishDir for files that another program keeps as values: the same
// files give the same version.
func (s *Store) PublishFiles(ctx context.Context, nodes []FileNode, o PublishOptions) (Version, error) {
	set, err := FilesOf(ctx, nodes)
	if err != nil {
		return Version{}, err // in words that hosts know
	}
	return s.publish(ctx, set, o)
}

const skillFile = "SKILL.md"

func (s *Store) publish(ctx context.Context, set *FileSet, o PublishOptions) (Version, error) {
	n := NewVersion{
		Label: o.Label, Note: o.Note, By: o.By, Channel: o.Channel, Draft: o.Draft, Force: o.Force, Tree: set.Tree, Types: set.MIME,
	}
	c, err := set.candidate(ctx, cmp.Or(o.Path, "/"))
	if err != nil {
		return Version{}, err
	}
	n.Name, n.Title, n.Description, n.Tags = c.Skill.Name, c.Skill.Title, c.Skill.Description, c.Skill.Meta.Tags
	if n.Snapshot, err = json.Marshal(snapshotOf(c)); err != nil {
		return Version{}, fmt.Errorf("publish: %w", err)
	}
	if err := n.check(); err != nil {
		return Version{}, err
	}
	var verdict Verdict
	if o.Check != nil {
		if verdict, err = o.Check(ctx, c); err != nil {
			return Version{}, fmt.Errorf("publish: %w", err)
		}
	}
	if !o.AllowWarnings {
		verdict.Refused = append(verdict.Refused, verdict.Warnings...)
	}
	if len(verdict.Refused) > 0 {
		return Version{}, blocked(verdict.Refused)
	}
	n.Licence, n.Scan = verdict.Licence, verdict.Scan
	if o.Blobs == nil && !o.DryRun {
		return Version{}, fmt.Errorf("%w: no place for the contents", ErrInvalid)
	}
	if o.DryRun {
		v, err := s.Versions().foresee(ctx, n)
		v.Warnings = append(v.Warnings, verdict.Warnings...)
		return v, err
	}
	if err := s.putBlobs(ctx, set, o.Blobs); err != nil {
		return Version{}, err
	}
	v, err := s.Versions().Publish(ctx, n)
	v.Warnings = append(v.Warnings, verdict.Warnings...)
	return v, err
}

func blocked(why []string) error {
	return &PublishError{"publish_blocked", skillFile, strings.Join(why, "\n")}
}

// candidate holds the header to the strict rules.
func (f *FileSet) candidate(ctx context.Context, from string) (c Candidate, err error) {
	src, side := []byte(nil), map[string][]byte{}
	paths := make([]string, 0, len(f.Tree))
	found := false
	for _, e := range f.Tree {
		paths = append(paths, e.Path)
		switch e.Path {
		case skillFile, skill.SidecarConfig, skill.SidecarOpenAI:
			data, err := f.Blobs.Get(ctx, e.Blob)
			if err != nil {
				return c, fmt.Errorf("publish: %w", err)
			}
			if e.Path == skillFile {
				src, found = data, true
			} else {
				side[e.Path] = data
			}
		}
	}
	if !found {
		return c, &PublishError{"publish_no_skill_md", skillFile, "SKILL.md not found in " + from}
	}
	var why []string
	for _, d := range skill.Validate(skill.Input{Source: src, Sidecars: side, Files: paths}, skill.ProfileDeft).Diagnostics {
		if d.Level == skill.LevelError {
			why = append(why, fmt.Sprintf("%s:%d: %s (%s)", d.File, d.Line, d.Message, d.Code))
		}
	}
	c = Candidate{Skill: skill.Parse(src, skill.ParseOptions{Path: skillFile, Sidecars: side}), Tree: f.Tree, Digest: f.Tree.Digest()}
	if name, ok := c.Skill.Raw().Get("name").Text(); len(why) == 0 && (!ok || strings.TrimSpace(name) == "") {
		why = append(why, "SKILL.md:1: the header gives no name (name_missing)")
	}
	if len(why) > 0 {
		return c, blocked(why)
	}
	c.Files, err = f.FS()
	return c, err
}

// putBlobs puts the contents of a version where they stay.
func (s *Store) putBlobs(ctx context.Context, set *FileSet, to blobs.Store) error {
	all := map[skill.Digest][]byte{}
	for _, e := range set.Tree {
		if all[e.Blob] != nil {
			continue
		}
		data, err := set.Blobs.Get(ctx, e.Blob)
		if err != nil {
			return fmt.Errorf("publish: %w", err)
		}
		all[e.Blob] = data
	}
	if err := s.Refs().Unmark(ctx, slices.Collect(maps.Keys(all))...); err != nil {
		return err
	}
	if err := fault.Err("publish.blobs"); err != nil {
		return fmt.Errorf("publish: %w", err)
	}
	if err := blobs.PutMany(ctx, to, all); err != nil {
		return fmt.Errorf("publish: %w", err)
	}
	return nil
}

func snapshotOf(c Candidate) Snapshot {
	out := Snapshot{Name: c.Skill.Name, Description: c.Skill.Description, Title: c.Skill.Title, License: c.Skill.Meta.License}
	out.Header, _ = headerValue(c.Skill.Raw()).(map[string]any)
	for _, e := range c.Tree {
		folder, rest, _ := strings.Cut(e.Path, "/")
		for name, list := range map[string]*[]string{"references": &out.References, "scripts": &out.Scripts, "assets": &out.Assets} {
			if folder == name && rest != "" {
				*list = append(*list, rest)
			}
		}
	}
	return out
}

// headerValue is a node as JSON knows it; no type is guessed for a scalar.
func headerValue(n *skill.Node) any {
	switch {
	case n.IsNull():
		return nil
	case n.Kind == skill.MappingNode:
		out := map[string]any{}
		for i := range n.Len() {
			key, value := n.Pair(i)
			out[key.Value] = headerValue(value)
		}
		return out
	case n.Kind == skill.SequenceNode:
		out := make([]any, 0, n.Len())
		for _, item := range n.Content {
			out = append(out, headerValue(item))
		}
		return out
	}
	return n.Value
}
