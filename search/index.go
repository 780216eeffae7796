package search

import (
	"context"

	"github.com/deftskills/deft/registry"
)

// Index answers queries over skills. Any number of goroutines may search while one
// updates; a query sees one generation from beginning to end.
type Index struct {
	opt Options
}

// UpdateReport says what an Update found.
type UpdateReport struct{ Added, Changed, Removed, Unchanged int }

// Stats describes an index or scope.
type Stats struct {
	Skills     int
	Terms      int
	Postings   int   // bytes
	Bytes      int64 // of postings, dictionary and lengths
	Segments   int
	Generation uint64
	Pending    int // skills that the next search will read first
}

// Open returns an empty index.
func Open(o Options) (*Index, error) { return &Index{opt: o.withDefaults()}, nil }

// Update makes the scope hold the winners of snap.
func (x *Index) Update(ctx context.Context, scope string, snap *registry.Snapshot) (UpdateReport, error) {
	return UpdateReport{}, nil
}

// Search answers q.
func (x *Index) Search(ctx context.Context, q Query) (Result, error) { return Result{}, nil }

// Stats describes the default scope.
func (x *Index) Stats() Stats { return Stats{} }

// Drop forgets a scope.
func (x *Index) Drop(scope string) error { return nil }

// Close ends the index.
func (x *Index) Close() error { return nil }

// Scan answers q without an index.
func Scan(ctx context.Context, snap *registry.Snapshot, q Query) (Result, error) {
	return Result{Mode: Text}, nil
}
