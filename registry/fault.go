package registry

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"github.com/deftskills/deft/source"
)

// faults remembers the first source of a scan that broke its contract.
type faults struct {
	mu  sync.Mutex
	err error
}

// watching returns src so that a panic of it is an error, and its faults are remembered.
func (f *faults) watching(src source.Source) source.Source { return &guarded{src, f} }

type guarded struct {
	source.Source
	faults *faults
}

func (g *guarded) Scan(ctx context.Context, prev *source.Listing) (l *source.Listing, err error) {
	defer func() {
		if p := recover(); p != nil {
			l, err = nil, fmt.Errorf("%w: it panicked: %v", source.ErrContract, p)
		}
		if errors.Is(err, source.ErrContract) {
			g.faults.mu.Lock()
			defer g.faults.mu.Unlock()
			if g.faults.err == nil {
				g.faults.err = fmt.Errorf("source %q: %w", g.Info().ID, err)
			}
		}
	}()
	return g.Source.Scan(ctx, prev)
}
