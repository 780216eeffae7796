package source

import (
	"context"
	"io/fs"
)

// WithTrust returns src with another trust.
func WithTrust(src Source, t Trust) Source {
	return changed(src, func(i *Info) { i.Trust = t })
}

// WithPriority returns src with another priority.
func WithPriority(src Source, p float64) Source {
	return changed(src, func(i *Info) { i.Priority = p })
}

// Namespaced returns src with a prefix for its names, the way plugins have one.
func Namespaced(src Source, prefix string) Source {
	return changed(src, func(i *Info) { i.Namespace = prefix })
}

// changed asks the source for a copy with another Info, or wraps one that has no
// such method and copies its entries.
func changed(src Source, change func(*Info)) Source {
	if s, ok := src.(interface{ with(func(*Info)) Source }); ok {
		return s.with(change)
	}
	d := &described{inner: src, info: src.Info()}
	change(&d.info)
	return d
}

type described struct {
	inner Source
	info  Info
}

func (d *described) Info() Info { return d.info }

func (d *described) Scan(ctx context.Context, _ *Listing) (*Listing, error) {
	l, err := d.inner.Scan(ctx, nil)
	if err != nil {
		return nil, err
	}
	c := *l
	c.Entries = make([]*Entry, len(l.Entries))
	for i, e := range l.Entries {
		copied := *e
		copied.Source = d.info
		c.Entries[i] = &copied
	}
	return &c, nil
}

func (d *described) Open(ctx context.Context, e *Entry, rel string) (fs.File, error) {
	return d.inner.Open(ctx, e, rel)
}

// Filter returns src with only the entries that keep returns true for. keep must be
// safe for concurrent use and must not change the entry.
func Filter(src Source, keep func(*Entry) bool) Source { return &filtered{src, keep} }

type filtered struct {
	Source
	keep func(*Entry) bool
}

func (f *filtered) Scan(ctx context.Context, prev *Listing) (*Listing, error) {
	l, err := f.Source.Scan(ctx, prev)
	if err != nil {
		return nil, err
	}
	c := *l
	c.Entries = nil
	for _, e := range l.Entries {
		if f.keep(e) {
			c.Entries = append(c.Entries, e)
		}
	}
	return &c, nil
}

func (f *filtered) with(change func(*Info)) Source {
	return &filtered{changed(f.Source, change), f.keep}
}
