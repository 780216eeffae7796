package install

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"path/filepath"
	"slices"
	"strings"
)

// ErrLockUnknown is a lock file of another installer in a form that is not known.
var ErrLockUnknown = errors.New("lock_unknown_version")

// ErrFrozen is what a source has and a lock file does not say.
var ErrFrozen = errors.New("lock_frozen")

// Public is one skill of a lock file of other installers.
type Public struct {
	Name, Source, Type, Ref, Path, Hash string
}

// ReadPublic reads the lock file of other installers in a scope, by name; one that is not
// there is empty. It comes with a clone: nothing in it is believed but what is checked.
func ReadPublic(s Scope) ([]Public, error) {
	if s.Public == "" {
		return nil, nil
	}
	src, err := readSmall(s.Public)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("lock: %w", err)
	}
	if src, err = united(s.Public, src); err != nil {
		return nil, err
	}
	var file struct {
		Version json.RawMessage
		Skills  map[string]json.RawMessage
	}
	if err := json.Unmarshal(src, &file); err != nil {
		return nil, fmt.Errorf("%w: %s: %w", ErrLockDamaged, s.Public, err)
	}
	if want := publicVersion(s.Public); string(file.Version) != fmt.Sprint(want) {
		return nil, fmt.Errorf("%w: %s has form %.20s, only %d is known", ErrLockUnknown, s.Public, cmp.Or(string(file.Version), "none"), want)
	}
	out := make([]Public, 0, len(file.Skills))
	for name, raw := range file.Skills {
		var e struct {
			Source          string `json:"source"`
			SourceType      string `json:"sourceType"`
			Ref             string `json:"ref"`
			SkillPath       string `json:"skillPath"`
			ComputedHash    string `json:"computedHash"`
			SkillFolderHash string `json:"skillFolderHash"`
		}
		if json.Unmarshal(raw, &e) != nil {
			out = append(out, Public{Name: name}) // of no source that is known; its neighbours are read
			continue
		}
		p := Public{name, e.Source, e.SourceType, e.Ref, e.SkillPath, e.ComputedHash}
		if filepath.Base(s.Public) == publicUser {
			p.Hash = e.SkillFolderHash
		}
		out = append(out, p)
	}
	slices.SortFunc(out, func(a, b Public) int { return strings.Compare(a.Name, b.Name) })
	return out, nil
}

// publicHosts are where the sources lie that other installers name by their host.
var publicHosts = map[string]string{"github": "https://github.com/", "gitlab": "https://gitlab.com/"}

// SourceRef is where a skill comes from, by the rules for what a person writes. A project
// names folders of this machine only by paths that hold in every checkout.
func (p Public) SourceRef(s Scope) (SourceRef, error) {
	text := p.Source
	switch host, known := publicHosts[p.Type]; {
	case p.Type == "local":
		if s.Name == "project" && (filepath.IsAbs(text) || strings.HasPrefix(text, "~") || strings.HasPrefix(text, "file:")) {
			return SourceRef{}, fmt.Errorf("%w: %q is there in this checkout alone", ErrLockLocal, text)
		}
		if !filepath.IsAbs(text) && !strings.HasPrefix(text, ".") {
			text = "./" + text
		}
	case known && !strings.Contains(text, "://"):
		text = host + strings.TrimSuffix(text, ".git") + ".git"
	case !known && p.Type != "git":
		return SourceRef{}, fmt.Errorf("%w: sources of kind %q are not known: %s", ErrUnrecognised, p.Type, p.Source)
	}
	if p.Ref != "" && p.Type != "local" {
		text += "#" + p.Ref
	}
	r, err := ParseSource(text, ParseOptions{})
	if err == nil && (r.Kind == Local) != (p.Type == "local") {
		err = fmt.Errorf("%w: %q is no %s source", ErrBadURL, p.Source, p.Type)
	}
	return r, err
}

// Pick is the package of a source that a lock file of other installers means.
func (p Public) Pick(packs []Package) (Package, bool) {
	dir := path.Dir(path.Clean("/" + p.Path))[1:]
	at := slices.IndexFunc(packs, func(have Package) bool {
		if p.Path != "" && path.Base(p.Path) == "SKILL.md" {
			return have.Dir == dir
		}
		return have.Skill != nil && (have.Skill.Name == p.Name || targetName(have.Skill) == p.Name)
	})
	if at < 0 {
		return Package{}, false
	}
	return packs[at], true
}

// Is reports whether a package has the hash that a lock file of other installers has for
// it. They take one of two orders of paths; of repositories the user's file has git's own
// name of the folder.
func (p Public) Is(ctx context.Context, pack Package) (bool, error) {
	c, err := treeOf(ctx, pack.Files)
	if err != nil {
		return false, err
	}
	for _, hash := range []func() (string, error){
		func() (string, error) { return folderHash(ctx, c.Memory, c.tree, collated) },
		func() (string, error) { return folderHash(ctx, c.Memory, c.tree, slices.Sort[[]string]) },
		func() (string, error) { return gitTree(ctx, c.Memory, c.tree) },
	} {
		if got, err := hash(); err != nil || got == p.Hash {
			return err == nil, err
		}
	}
	return false, nil
}
