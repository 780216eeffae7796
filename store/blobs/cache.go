package blobs

import (
	"cmp"
	"context"
	"io"
	"math"
	"os"
	"slices"
	"sync"
	"time"

	"github.com/deftskills/deft/skill"
)

// CacheSize is how many bytes a Cache keeps unless it is told.
const CacheSize = 1 << 30

const (
	// touchEvery bounds how often a file's time of last use is written.
	touchEvery = time.Minute
	// slack is the part of the bound, one of so many, that may come on top of it before the
	// folder is looked through again, by each process.
	slack = 16
	// staleTemp is how old a half-written file is that nobody writes any more.
	staleTemp = time.Hour
)

// Cache keeps what was read from a place far away in a folder near by. The folder is
// believed no more than the origin: a damaged file is fetched anew. It may be deleted at
// any time, and be shared by several processes. Safe for concurrent use.
type Cache struct {
	Origin Store
	Near   *Dir
	Max    int64            // bytes; 0 = CacheSize
	Now    func() time.Time // nil = time.Now
	// Off is called once when the folder can't be written: then the cache does nothing for
	// the rest of the process; nil = nobody is told.
	Off func(error)

	mu    sync.Mutex
	known bool  // the folder was looked through
	grown int64 // bytes that came since
	off   bool
}

// Get implements Store.
func (c *Cache) Get(ctx context.Context, d skill.Digest) ([]byte, error) {
	if b, err := c.Near.Get(ctx, d); err == nil {
		c.touch(d)
		return b, nil
	}
	b, err := c.Origin.Get(ctx, d)
	if err == nil {
		c.keep(ctx, b)
	}
	return b, err
}

// Put implements Store: what the origin has taken is near by too.
func (c *Cache) Put(ctx context.Context, b []byte) (skill.Digest, error) {
	d, err := c.Origin.Put(ctx, b)
	if err == nil {
		c.keep(ctx, b)
	}
	return d, err
}

// Has implements Store; the origin answers.
func (c *Cache) Has(ctx context.Context, d skill.Digest) (bool, error) { return c.Origin.Has(ctx, d) }

// Delete implements Store. Other machines may keep a copy: it is of the same bytes.
func (c *Cache) Delete(ctx context.Context, d skill.Digest) (bool, error) {
	ok, err := c.Origin.Delete(ctx, d)
	if err == nil {
		_, _ = c.Near.Delete(ctx, d)
	}
	return ok, err
}

// List implements Store; the origin answers.
func (c *Cache) List(ctx context.Context, after skill.Digest, n int) ([]Info, error) {
	return c.Origin.List(ctx, after, n)
}

// Close closes the origin, if that can be closed.
func (c *Cache) Close() error {
	if o, ok := c.Origin.(io.Closer); ok {
		return o.Close()
	}
	return nil
}

func (c *Cache) max() int64 { return cmp.Or(c.Max, CacheSize) }

func (c *Cache) now() time.Time {
	if c.Now == nil {
		return time.Now()
	}
	return c.Now()
}

// touch notes that d was used now.
func (c *Cache) touch(d skill.Digest) {
	hex, err := hexOf(d)
	if err != nil {
		return
	}
	at, now := c.Near.file(hex), c.now()
	if info, err := os.Stat(at); err == nil && now.Sub(info.ModTime()).Abs() >= touchEvery {
		_ = os.Chtimes(at, now, now) // another process may have evicted it
	}
}

// keep puts b into the folder and makes room, if need be.
func (c *Cache) keep(ctx context.Context, b []byte) {
	c.mu.Lock()
	off := c.off
	c.mu.Unlock()
	if off || int64(len(b)) > c.max() {
		return
	}
	d, err := c.Near.Put(ctx, b)
	if ctx.Err() != nil {
		return
	}
	if err == nil {
		c.touch(d) // by the clock of the cache
		err = c.grow(ctx, int64(len(b)))
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if err == nil || ctx.Err() != nil || c.off {
		return
	}
	c.off = true
	if c.Off != nil {
		c.Off(err)
	}
}

// grow counts what came, and makes room when it is due: at first and after each slack.
func (c *Cache) grow(ctx context.Context, n int64) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.grown += n; c.known && c.grown <= c.max()/slack {
		return nil
	}
	c.known, c.grown = true, 0
	return c.evict(ctx)
}

// evict deletes what was not used for longest until nine tenths of the bound are left. The
// file that has just come is the last to go.
func (c *Cache) evict(ctx context.Context) error {
	c.Near.Sweep(c.now().Add(-staleTemp))
	all, err := c.Near.List(ctx, "", math.MaxInt)
	if err != nil {
		return err
	}
	total := int64(0)
	for _, i := range all {
		total += i.Size
	}
	if total <= c.max() {
		return nil
	}
	slices.SortFunc(all, func(a, b Info) int { return cmp.Compare(a.At, b.At) })
	for _, i := range all {
		if total <= c.max()/10*9 {
			return nil
		}
		if _, err := c.Near.Delete(ctx, i.Digest); err != nil {
			return err
		}
		total -= i.Size
	}
	return nil
}
