package install

import (
	"context"
	"fmt"
	"io/fs"
	"strings"
	"sync"

	"github.com/deftskills/deft/skill"
	"github.com/deftskills/deft/source"
)

// Offered returns a source of the published versions that are used: those that a person
// chose, else those that are offered. What was published since the last scan is there with
// the next one. Its kind is managed; publishing wins no trust: unless info says otherwise
// it has that of a stranger's text, and a skill of the person's own keeps its name.
func Offered(v *VersionStore, info source.Info, format source.Format) source.Source {
	if info.Kind == "" {
		info.Kind = source.Managed
	}
	if info.ID == "" {
		info.ID = "store"
	}
	if info.Trust == "" {
		info.Trust = source.Untrusted
	}
	return &offered{versions: v, o: source.CompositeOptions{Info: info, Format: format}}
}

type offered struct {
	versions *VersionStore
	o        source.CompositeOptions

	mu  sync.Mutex
	now source.Source   // of the last scan; nil = there was none
	ids map[string]bool // of the versions in it
}

// Info implements source.Source.
func (s *offered) Info() source.Info { return s.o.Info }

// Scan implements source.Source. A store that can't be read lists nothing and says why.
func (s *offered) Scan(ctx context.Context, prev *source.Listing) (*source.Listing, error) {
	src, diags, err := s.mounted(ctx)
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	if err != nil {
		return &source.Listing{Diagnostics: []skill.Diagnostic{skill.Finding("root_unreadable", s.o.Info.ID, "published versions: %s", err)}}, nil
	}
	list, err := src.Scan(ctx, prev)
	if err != nil {
		return nil, err
	}
	if len(diags) > 0 {
		out := *list
		out.Diagnostics, out.Complete = append(diags, list.Diagnostics...), false
		list = &out
	}
	return list, nil
}

func (s *offered) mounted(ctx context.Context) (source.Source, []skill.Diagnostic, error) {
	st, err := s.versions.Open(ctx)
	if err != nil {
		return nil, nil, err
	}
	offers, err := st.Versions().Offers(ctx)
	if err != nil {
		return nil, nil, err
	}
	mounts, diags := make([]source.Mount, 0, len(offers)), []skill.Diagnostic{}
	for _, o := range offers {
		mount := source.Mount{Dir: o.Name, ID: o.ID, Tree: o.Files, CreatedAt: o.CreatedAt}
		if o.Damaged == nil { // one that can't be mounted takes nothing from the others
			o.Damaged = CheckName(o.Name)
		}
		if o.Damaged == nil {
			_, o.Damaged = source.CompositeFS([]source.Mount{mount}, s.versions.Blobs, source.CompositeOptions{})
		}
		if o.Damaged != nil {
			diags = append(diags, skill.Finding("version_damaged_blob", o.Name, "version %s: %s", o.Version, o.Damaged))
			continue
		}
		mounts = append(mounts, mount)
	}
	src, err := source.Composite(mounts, s.versions.Blobs, s.o)
	if err != nil {
		return nil, nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.now, s.ids = src, map[string]bool{}
	for _, m := range mounts {
		s.ids[m.ID] = true
	}
	return src, diags, nil
}

// Open implements source.Source. A conversation that goes on with the version that it began
// with reads that one, whichever is offered now.
func (s *offered) Open(ctx context.Context, e *source.Entry, rel string) (fs.File, error) {
	_, id, _ := strings.Cut(strings.TrimSuffix(e.Location, "/"+source.SkillFile), "@")
	s.mu.Lock()
	src, current := s.now, s.ids[id]
	s.mu.Unlock()
	if !current {
		var err error
		if src, err = s.former(ctx, e.Skill.Name, id); err != nil {
			return nil, fmt.Errorf("%s: %w", e.Location, err)
		}
	}
	return src.Open(ctx, e, rel)
}

func (s *offered) former(ctx context.Context, name, id string) (source.Source, error) {
	st, err := s.versions.Open(ctx)
	if err != nil {
		return nil, err
	}
	v, err := st.Versions().Find(ctx, name, id)
	if err != nil {
		return nil, err
	}
	tree, err := st.Trees().Get(ctx, v.Tree)
	if err != nil {
		return nil, err
	}
	return source.Versions(tree, s.versions.Blobs, source.VersionOptions{Name: v.Name, ID: v.ID, CreatedAt: v.CreatedAt, Info: s.o.Info, Format: s.o.Format})
}
