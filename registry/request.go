package registry

import (
	"context"
	"io/fs"

	"github.com/deftskills/deft/source"
)

// RequestContext is what a host knows of one request. Two values are the same request
// only if one is a copy of the other: equal contents, an id for example, make no two
// requests one. The zero value is the empty context of calls that belong to no request.
// Safe for concurrent use.
type RequestContext struct{ r *request }

type request struct {
	values map[string]any
	turn   chan struct{} // held by the one that resolves
	done   map[*Registry]resolved
}

// NewRequest returns the context of a new request. values is copied; nil is empty.
func NewRequest(values map[string]any) RequestContext {
	r := &request{values: make(map[string]any, len(values)), turn: make(chan struct{}, 1), done: map[*Registry]resolved{}}
	for k, v := range values {
		r.values[k] = v
	}
	return RequestContext{r}
}

// Value returns what the host put under a key, nil if nothing.
func (c RequestContext) Value(key string) any {
	if c.r == nil {
		return nil
	}
	return c.r.values[key]
}

// resolved is what the host's functions say of one request.
type resolved struct {
	paths []string
	fsys  fs.FS
	data  []source.Definition
}

// resolve asks the host's functions, once a request; what failed is asked again. The
// answers live as long as the request does.
func (r *Registry) resolve(ctx context.Context, c RequestContext) (resolved, error) {
	if c.r == nil {
		return r.c.Views.ask(ctx, c)
	}
	select {
	case c.r.turn <- struct{}{}:
		defer func() { <-c.r.turn }()
	case <-ctx.Done():
		return resolved{}, ctx.Err()
	}
	if known, ok := c.r.done[r]; ok {
		return known, nil
	}
	got, err := r.c.Views.ask(ctx, c)
	if err == nil {
		c.r.done[r] = got
	}
	return got, err
}

// ask calls the host's functions.
func (v *Views) ask(ctx context.Context, c RequestContext) (got resolved, err error) {
	if v.Paths != nil {
		if got.paths, err = v.Paths(ctx, c); err != nil {
			return resolved{}, err
		}
	}
	if v.Data != nil {
		if got.data, err = v.Data(ctx, c); err != nil {
			return resolved{}, err
		}
	}
	switch {
	case v.Reads != nil:
		got.fsys = v.Reads
	case v.FS != nil:
		if got.fsys, err = v.FS(ctx, c); err != nil {
			return resolved{}, err
		}
		if got.fsys == nil {
			return resolved{}, ErrNoFilesystem
		}
	}
	return got, nil
}
