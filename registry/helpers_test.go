package registry_test

import (
	"context"
	"errors"
	"time"

	"github.com/deftskills/deft/registry"
	"github.com/deftskills/deft/source"
)

func asUnknown(err error, to **registry.UnknownError) bool { return errors.As(err, to) }

// laterClock is far enough ahead that no file of the test is young.
func laterClock() func() time.Time {
	return func() time.Time { return time.Now().Add(time.Hour) }
}

// slowSource tells when a scan starts and waits to be released.
type slowSource struct {
	source.Source
	started, release chan struct{}
}

func (s *slowSource) Scan(ctx context.Context, prev *source.Listing) (*source.Listing, error) {
	s.started <- struct{}{}
	<-s.release
	return s.Source.Scan(ctx, prev)
}

// changing gives the decisions that a test has set last.
type changing struct{ now registry.Decisions }

func (c *changing) Decide(context.Context) registry.Decisions { return c.now }
