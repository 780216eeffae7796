package install

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"

	"github.com/deftskills/deft/install/archive"
	"github.com/deftskills/deft/install/fetch"
	"github.com/deftskills/deft/install/licence"
	"github.com/deftskills/deft/store"
	"github.com/deftskills/deft/store/blobs"
)

// ErrNotOffered is a published skill that is not offered any more, or not yet: a version
// of it has to be named.
var ErrNotOffered = errors.New("install_not_offered")

// VersionStore gives the published versions that deft: sources name.
type VersionStore struct {
	Open  func(ctx context.Context) (*store.Store, error)
	Blobs blobs.Store
}

// published gets the files of a published version. The record keeps what was asked for as
// the ref, and the number of the version that it led to as the commit.
func (f *Fetcher) published(ctx context.Context, r SourceRef) (*Fetched, error) {
	if f.Versions == nil {
		return nil, fmt.Errorf("%w: no store is at hand for %s", ErrUnrecognised, r)
	}
	s, err := f.Versions.Open(ctx)
	if err != nil {
		return nil, err
	}
	p, err := s.Versions().Skill(ctx, r.URL)
	if err != nil {
		return nil, err
	}
	if r.Ref == "" && p.Status != store.Published {
		return nil, fmt.Errorf("%w: %s is %s: name a version", ErrNotOffered, r.URL, p.Status)
	}
	v, err := s.Versions().Find(ctx, r.URL, r.Ref)
	if err != nil {
		return nil, err
	}
	if v.Status() == store.Draft {
		return nil, fmt.Errorf("%w: version %s of %s is a draft", ErrNotOffered, v, r.URL)
	}
	tree, err := s.Trees().Get(ctx, v.Tree)
	if err != nil {
		return nil, err
	}
	out := &Fetched{Origin: Origin{Type: Published, URL: p.Name, Ref: r.Ref, Commit: fmt.Sprint(v.Number)}}
	for _, e := range tree {
		data, err := f.Versions.Blobs.Get(ctx, e.Blob)
		if err != nil {
			return nil, fmt.Errorf("%s version %s: %s: %w", p.Name, v, e.Path, err)
		}
		out.Files = append(out.Files, archive.File{Path: e.Path, Data: data, Exec: e.Exec})
	}
	if v.Status() == store.Archived || p.Status == store.Archived {
		out.Notes = append(out.Notes, fetch.Note{Code: "version_archived", Message: fmt.Sprintf("version %s of %s is archived", v, p.Name)})
	}
	var was licence.Verdict
	if json.Unmarshal(v.Licence, &was) == nil {
		out.licensed = was.SPDX
	}
	return out, nil
}

// Clean is fsys without what tools leave in a skill's folder, as it is installed.
func Clean(fsys fs.FS) fs.FS { return clean{fsys} }

// Vet is what publishing asks of a skill: what the scanner finds in it, by the policy,
// and which licence it has. The licence decides nothing about a person's own skills,
// unless EnforceLocal says so. Accept are the rules whose findings are taken.
func (i *Installer) Vet(ctx context.Context, c store.Candidate, accept []string) (out store.Verdict, err error) {
	f := &Fetched{Origin: Origin{Type: Local}, whole: c.Files}
	it := Item{Package: Package{Skill: c.Skill, Tree: c.Tree, Digest: c.Digest}, Name: c.Skill.Name}
	for _, e := range c.Tree {
		data, err := fs.ReadFile(c.Files, e.Path)
		if err != nil {
			return out, fmt.Errorf("publish: %w", err)
		}
		it.Files = append(it.Files, archive.File{Path: e.Path, Data: data, Exec: e.Exec})
	}
	for _, look := range []check{i.name, i.licence, i.scan} {
		why, err := look(ctx, f, &it, Choice{Accept: accept, Force: true})
		if err != nil {
			return out, err
		}
		if why != nil {
			out.Refused = append(out.Refused, why.Message+" ("+why.Code+")")
		}
	}
	for _, ask := range it.Asks {
		out.Warnings = append(out.Warnings, ask.Message+" ("+ask.Code+")")
	}
	if out.Licence, err = json.Marshal(it.Licence); err != nil {
		return out, fmt.Errorf("publish: %w", err)
	}
	if i.o.Scanner != nil {
		out.Scan = i.o.Scanner.Rules()
		if len(out.Refused) == 0 {
			i.keepScan(ctx, it)
		}
	}
	return out, nil
}
