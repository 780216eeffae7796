package cli

import (
	"context"
	"errors"
	"io"
	"path/filepath"
	"strings"
	"sync"

	"github.com/deftskills/deft/skill"
	"github.com/deftskills/deft/store"
	"github.com/deftskills/deft/store/blobs"
)

// blobPlace is where the files of published versions are: by flag, environment or the
// person's settings, else the folder of this machine's own.
func (r *run) blobPlace() string {
	if r.config != nil && r.config.Blobs != "" {
		return r.config.Blobs
	}
	return "file:" + r.ownBlobs().Path
}

// ownBlobs is the folder of contents that this machine has installed.
func (r *run) ownBlobs() *blobs.Dir {
	return &blobs.Dir{Path: filepath.Join(r.dirs.Data, "blobs"), Aside: filepath.Join(r.dirs.State, "damaged")}
}

// publishedBlobs is where the files of published versions are. It is opened with the first call
// of it; what is read from a place far away stays in the cache directory.
func (r *run) publishedBlobs() blobs.Store {
	r.opening.Lock()
	defer r.opening.Unlock()
	if r.shelf == nil {
		r.shelf = &shelf{open: sync.OnceValues(r.openBlobs)}
	}
	return r.shelf
}

func (r *run) openBlobs() (blobs.Store, error) {
	var more blobs.Places
	if r.proc.Places != nil {
		more = r.proc.Places(r.env)
	}
	own := r.ownBlobs()
	place := r.blobPlace()
	s, err := blobs.Open(place, own.Aside, more)
	if err != nil {
		return nil, err
	}
	if strings.HasPrefix(place, "file:") {
		return s, nil
	}
	return &blobs.Cache{Origin: s, Near: &blobs.Dir{Path: filepath.Join(r.dirs.Cache, "blobs")}, Off: func(err error) {
		r.hintf("%s", r.words.Say("blobs.cache_off", err))
	}}, nil
}

// blobExits are the exit codes of what a place of blobs says, by sentinel.
var blobExits = []struct {
	err  error
	exit Exit
	hint string
}{
	{blobs.ErrDSN, Usage, ""}, {blobs.ErrUnavailable, Network, "hint.blobs_away"}, {blobs.ErrDamaged, Damaged, ""}, {blobs.ErrMissing, Damaged, ""},
	{blobs.ErrTooLarge, Negative, ""},
}

// blobFailure is an error of a place of blobs as the run ends with it; nil = it is another.
func blobFailure(err error) *failure {
	for _, known := range blobExits {
		if errors.Is(err, known.err) {
			code, _, _ := strings.Cut(known.err.Error(), ":")
			f := fail(known.exit, code, "%s", strings.TrimPrefix(err.Error(), code+": "))
			if known.hint != "" {
				f.hinted(known.hint)
			}
			return f
		}
	}
	return nil
}

// shelf is a place of blobs that is opened with the first call.
type shelf struct {
	open func() (blobs.Store, error)
	mu   sync.Mutex
	has  blobs.Store // once it was opened
}

func (s *shelf) store() (blobs.Store, error) {
	has, err := s.open()
	if err == nil {
		s.mu.Lock()
		s.has = has
		s.mu.Unlock()
	}
	return has, err
}

func (s *shelf) close() error {
	if s == nil {
		return nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if c, ok := s.has.(io.Closer); ok {
		return c.Close()
	}
	return nil
}

// Put implements blobs.Store.
func (s *shelf) Put(ctx context.Context, b []byte) (skill.Digest, error) {
	to, err := s.store()
	if err != nil {
		return "", err
	}
	return to.Put(ctx, b)
}

// Get implements blobs.Store.
func (s *shelf) Get(ctx context.Context, d skill.Digest) ([]byte, error) {
	from, err := s.store()
	if err != nil {
		return nil, err
	}
	return from.Get(ctx, d)
}

// Has implements blobs.Store.
func (s *shelf) Has(ctx context.Context, d skill.Digest) (bool, error) {
	in, err := s.store()
	if err != nil {
		return false, err
	}
	return in.Has(ctx, d)
}

// Delete implements blobs.Store.
func (s *shelf) Delete(ctx context.Context, d skill.Digest) (bool, error) {
	in, err := s.store()
	if err != nil {
		return false, err
	}
	return in.Delete(ctx, d)
}

// List implements blobs.Store.
func (s *shelf) List(ctx context.Context, after skill.Digest, n int) ([]blobs.Info, error) {
	in, err := s.store()
	if err != nil {
		return nil, err
	}
	return in.List(ctx, after, n)
}

// countBlobs counts what a place holds.
func countBlobs(ctx context.Context, s blobs.Store) (n int, bytes int64, err error) {
	const page = 1000
	for after := skill.Digest(""); ; {
		list, err := s.List(ctx, after, page)
		for _, i := range list {
			n, bytes = n+1, bytes+i.Size
		}
		if err != nil || len(list) < page {
			return n, bytes, err
		}
		after = list[page-1].Digest
	}
}

// blobChecks tells how much is in the folder of this machine, and in the place of published
// files where that is another.
func (r *run) blobChecks(ctx context.Context) []check {
	own := r.ownBlobs()
	places := []struct {
		name  string
		store blobs.Store
	}{{"file:" + own.Path, own}}
	if place := r.blobPlace(); place != places[0].name {
		places = append(places, struct {
			name  string
			store blobs.Store
		}{store.Masked(place), r.publishedBlobs()})
	}
	var list []check
	for _, p := range places {
		n, size, err := countBlobs(ctx, p.store)
		name := r.short(strings.TrimPrefix(p.name, "file:"))
		if err != nil {
			c := check{ID: "blob_unavailable", Level: skill.LevelError, Message: err.Error(), Fix: r.words.Say("doctor.blobs_fix")}
			if f := blobFailure(err); f != nil {
				c.ID, c.Message = f.code, f.message
			}
			list = append(list, c)
			continue
		}
		list = append(list, check{ID: "blobs", Level: skill.LevelInfo, Message: r.words.Say("doctor.blobs", n, size, name)})
	}
	return list
}
