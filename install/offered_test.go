package install_test

import (
	"context"
	"io"
	"path/filepath"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"github.com/deftskills/deft/install"
	"github.com/deftskills/deft/source"
	"github.com/deftskills/deft/store"
	"github.com/deftskills/deft/store/blobs"
)

// shelf is a store with blobs, and what it offers as a source.
type shelf struct {
	s     *store.Store
	blobs *blobs.Memory
	src   source.Source
}

func newShelf(t *testing.T) shelf {
	t.Helper()
	s, err := store.Open(t.Context(), store.Options{DB: "sqlite:" + filepath.Join(t.TempDir(), "state", "deft.db"), Busy: time.Minute})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	b := blobs.NewMemory()
	v := &install.VersionStore{Open: func(context.Context) (*store.Store, error) { return s, nil }, Blobs: b}
	return shelf{s, b, install.Offered(v, source.Info{}, source.Format{})}
}

func (s shelf) publish(t *testing.T, name, body string) store.Version {
	t.Helper()
	v, err := s.s.PublishDir(t.Context(), fstest.MapFS{
		"SKILL.md": {Data: []byte("---\nname: " + name + "\ndescription: Does it. Use when asked.\n---\n" + body + "\n")},
	}, store.PublishOptions{Blobs: s.blobs})
	if err != nil {
		t.Fatal(err)
	}
	return v
}

func (s shelf) scan(t *testing.T, prev *source.Listing) *source.Listing {
	t.Helper()
	list, err := s.src.Scan(t.Context(), prev)
	if err != nil {
		t.Fatal(err)
	}
	return list
}

func (s shelf) body(t *testing.T, e *source.Entry) string {
	t.Helper()
	f, err := s.src.Open(t.Context(), e, "")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	data, err := io.ReadAll(f)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

func TestAConversationGoesOnWithTheVersionThatItBeganWith(t *testing.T) {
	t.Parallel()
	s := newShelf(t)
	if list := s.scan(t, nil); len(list.Entries) != 0 || len(list.Diagnostics) != 0 {
		t.Fatalf("nothing was published: %+v", list)
	}
	s.publish(t, "form", "One.")
	first := s.scan(t, nil)
	if len(first.Entries) != 1 || first.Entries[0].Source.Trust != source.Untrusted || !first.Entries[0].Skill.Valid {
		t.Fatalf("%+v", first)
	}
	s.publish(t, "form", "Two.")
	second := s.scan(t, first)
	if len(second.Entries) != 1 || second.Entries[0].Location == first.Entries[0].Location || second.Entries[0].Skill.Digest == first.Entries[0].Skill.Digest {
		t.Fatalf("%+v", second.Entries)
	}
	if got := s.body(t, second.Entries[0]); !strings.Contains(got, "Two.") {
		t.Error(got)
	}
	if got := s.body(t, first.Entries[0]); !strings.Contains(got, "One.") {
		t.Error(got)
	}
}

func TestADamagedVersionTakesNothingFromItsNeighbours(t *testing.T) {
	t.Parallel()
	s := newShelf(t)
	s.publish(t, "good", "Good.")
	bad := s.publish(t, "bad", "Bad.")
	tree, err := s.s.Trees().Get(t.Context(), bad.Tree)
	if err != nil {
		t.Fatal(err)
	}
	if ok, err := s.blobs.Delete(t.Context(), tree[0].Blob); !ok || err != nil {
		t.Fatal(ok, err)
	}
	list := s.scan(t, nil)
	valid := map[string]bool{}
	for _, e := range list.Entries {
		valid[e.Skill.Name] = e.Skill.Valid
	}
	if len(list.Entries) != 2 || !valid["good"] || valid["bad"] {
		t.Errorf("%v", valid)
	}
}
