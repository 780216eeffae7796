package blobs

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"iter"
	"maps"
	"slices"
	"strings"
	"sync"

	"github.com/deftskills/deft/skill"
	"github.com/deftskills/deft/source"
)

// Errors that callers tell apart; each message names the digest.
var (
	// ErrDigest is a text that is no digest.
	ErrDigest = errors.New("blob_digest")
	// ErrMissing is a blob that is not there. It is a fs.ErrNotExist too.
	ErrMissing = fmt.Errorf("blob_missing: %w", fs.ErrNotExist)
	// ErrDamaged is a blob with other bytes than its digest says. It is a
	// source.ErrDamaged too.
	ErrDamaged = fmt.Errorf("blob_damaged: %w", source.ErrDamaged)
	// ErrTooLarge is a blob over MaxSize.
	ErrTooLarge = errors.New("blob_too_large")
	// ErrUnavailable is a place of blobs that does not answer, or refuses.
	ErrUnavailable = errors.New("blob_unavailable")
	// ErrDSN is a text that names no place of blobs.
	ErrDSN = errors.New("store_dsn")
)

// MaxSize is the most that one blob may have, in bytes.
const MaxSize = 64 << 20

// Store keeps contents by digest. Implementations are safe for concurrent use, also by
// several processes.
type Store interface {
	// Put keeps b and returns its digest. Putting what is there does nothing.
	Put(ctx context.Context, b []byte) (skill.Digest, error)
	// Get returns the bytes of d, verified. ErrMissing, ErrDamaged, ErrDigest.
	Get(ctx context.Context, d skill.Digest) ([]byte, error)
	// Has reports whether d is there, whatever its bytes.
	Has(ctx context.Context, d skill.Digest) (bool, error)
	// Delete takes d away; false says that it was not there.
	Delete(ctx context.Context, d skill.Digest) (bool, error)
	// List returns up to n digests after one, in their order; "" = from the first.
	List(ctx context.Context, after skill.Digest, n int) ([]Info, error)
}

// Info describes one blob.
type Info struct {
	Digest skill.Digest
	Size   int64 // bytes
	At     int64 // when it was put, microseconds UTC; 0 = unknown
}

// How many blobs PutMany and GetMany move at once.
const putWidth, getWidth = 8, 16

// PutMany keeps every blob of a map, eight at a time. Each key is compared with its bytes
// first: none is kept if one differs or is too large.
func PutMany(ctx context.Context, s Store, all map[skill.Digest][]byte) error {
	for d, b := range all {
		if _, err := hexOf(d); err != nil {
			return err
		}
		if err := CheckSize(len(b)); err != nil {
			return err
		}
		if _, err := verified(d, b); err != nil {
			return err
		}
	}
	return each(ctx, putWidth, maps.Values(all), func(ctx context.Context, b []byte) error {
		_, err := s.Put(ctx, b)
		return err
	})
}

// each calls f for every value, width at a time. The first error ends the others.
func each[T any](ctx context.Context, width int, all iter.Seq[T], f func(context.Context, T) error) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	var wg sync.WaitGroup
	free := make(chan struct{}, width)
	for v := range all {
		free <- struct{}{}
		if ctx.Err() != nil {
			break
		}
		wg.Go(func() {
			defer func() { <-free }()
			if err := f(ctx, v); err != nil {
				cancel(err)
			}
		})
	}
	wg.Wait()
	return context.Cause(ctx)
}

// GetMany returns those of a list that are there, asked for sixteen at a time. A damaged
// one is an error that names it.
func GetMany(ctx context.Context, s Store, list []skill.Digest) (map[skill.Digest][]byte, error) {
	out := make(map[skill.Digest][]byte, len(list))
	var mu sync.Mutex
	err := each(ctx, getWidth, slices.Values(list), func(ctx context.Context, d skill.Digest) error {
		b, err := s.Get(ctx, d)
		if errors.Is(err, ErrMissing) {
			return nil
		}
		if err != nil {
			return err
		}
		mu.Lock()
		defer mu.Unlock()
		out[d] = b
		return nil
	})
	if err != nil {
		return nil, err
	}
	return out, nil
}

// CheckDigest returns ErrDigest for a text that is no digest.
func CheckDigest(d skill.Digest) error {
	_, err := hexOf(d)
	return err
}

// CheckSize returns ErrTooLarge for more bytes than one blob may have.
func CheckSize(n int) error {
	if n > MaxSize {
		return fmt.Errorf("%w: %d bytes, at most %d", ErrTooLarge, n, MaxSize)
	}
	return nil
}

// hexOf is the 64 digits of a digest.
func hexOf(d skill.Digest) (string, error) {
	hex, ok := strings.CutPrefix(string(d), "sha256:")
	if !ok || len(hex) != 64 || strings.Trim(hex, "0123456789abcdef") != "" {
		return "", fmt.Errorf("%w: want sha256:<64 hex>, not %q", ErrDigest, d)
	}
	return hex, nil
}

// verified returns b, unless its bytes are not those of d.
func verified(d skill.Digest, b []byte) ([]byte, error) {
	if skill.FileDigest(b) != d {
		return nil, fmt.Errorf("%w: %s", ErrDamaged, d)
	}
	return b, nil
}

// Memory is a Store that ends with the process.
type Memory struct {
	mu  sync.RWMutex
	all map[skill.Digest][]byte
}

// NewMemory returns an empty one.
func NewMemory() *Memory { return &Memory{all: map[skill.Digest][]byte{}} }

// Put implements Store.
func (m *Memory) Put(ctx context.Context, b []byte) (skill.Digest, error) {
	if err := CheckSize(len(b)); err != nil {
		return "", err
	}
	if err := ctx.Err(); err != nil {
		return "", err
	}
	d := skill.FileDigest(b)
	m.mu.Lock()
	defer m.mu.Unlock()
	if _, ok := m.all[d]; !ok {
		m.all[d] = slices.Clone(b)
	}
	return d, nil
}

// Get implements Store.
func (m *Memory) Get(ctx context.Context, d skill.Digest) ([]byte, error) {
	if _, err := hexOf(d); err != nil {
		return nil, err
	}
	m.mu.RLock()
	defer m.mu.RUnlock()
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	b, ok := m.all[d]
	if !ok {
		return nil, fmt.Errorf("%w: %s", ErrMissing, d)
	}
	return append([]byte{}, b...), nil
}

// Has implements Store.
func (m *Memory) Has(ctx context.Context, d skill.Digest) (bool, error) {
	if _, err := hexOf(d); err != nil {
		return false, err
	}
	m.mu.RLock()
	defer m.mu.RUnlock()
	_, ok := m.all[d]
	return ok, ctx.Err()
}

// Delete implements Store.
func (m *Memory) Delete(ctx context.Context, d skill.Digest) (bool, error) {
	if _, err := hexOf(d); err != nil {
		return false, err
	}
	if err := ctx.Err(); err != nil {
		return false, err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	_, ok := m.all[d]
	delete(m.all, d)
	return ok, nil
}

// List implements Store.
func (m *Memory) List(ctx context.Context, after skill.Digest, n int) ([]Info, error) {
	if after != "" {
		if _, err := hexOf(after); err != nil {
			return nil, err
		}
	}
	m.mu.RLock()
	defer m.mu.RUnlock()
	var out []Info
	for d, b := range m.all {
		if d > after {
			out = append(out, Info{Digest: d, Size: int64(len(b))})
		}
	}
	slices.SortFunc(out, func(a, b Info) int { return strings.Compare(string(a.Digest), string(b.Digest)) })
	return out[:max(0, min(n, len(out)))], ctx.Err()
}
