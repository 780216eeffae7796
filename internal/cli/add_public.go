package cli

import (
	"context"
	"fmt"

	"github.com/deftskills/deft/install"
)

// addPublic installs what a lock file of other installers names, where there is one. What
// its hash does not fit is refused.
func (r *run) addPublic(ctx context.Context, i *install.Installer, f *install.Fetcher, c install.Choice, doc *addJSON) (bool, error) {
	list, err := install.ReadPublic(c.Scope)
	if err != nil || len(list) == 0 {
		return false, err
	}
	f.Dir = c.Scope.Root
	for _, p := range list {
		got, packs, err := r.publicPackage(ctx, f, p, c.Scope)
		if err != nil {
			why := installFailure(err)
			if why == nil {
				return true, err
			}
			r.note(why.exit)
			doc.Refused = append(doc.Refused, rejectedJSON{p.Name, why.code, why.message})
			continue
		}
		if err := r.carryOut(ctx, i, got, packs, c, doc); err != nil {
			return true, err
		}
	}
	return true, nil
}

// publicPackage fetches what an entry names, and holds it to the entry's hash.
func (r *run) publicPackage(ctx context.Context, f *install.Fetcher, p install.Public, s install.Scope) (*install.Fetched, []install.Package, error) {
	ref, err := p.SourceRef(s)
	if err != nil {
		return nil, nil, err
	}
	f.Choose = nil
	got, err := r.fetch(ctx, f, ref, s)
	if err != nil {
		return nil, nil, err
	}
	packs, err := install.Find(ctx, got, install.FindOptions{})
	if err != nil {
		return nil, nil, err
	}
	pack, ok := p.Pick(packs)
	if !ok {
		return nil, nil, fmt.Errorf("%w: %s has no skill %q", install.ErrFrozen, p.Source, p.Name)
	}
	if same, err := p.Is(ctx, pack); err != nil || !same {
		if err == nil {
			err = fmt.Errorf("%w: the files of %q are not what %s says", install.ErrFrozen, p.Name, r.short(s.Public))
		}
		return nil, nil, err
	}
	return got, []install.Package{pack}, nil
}
