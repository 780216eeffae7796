package progress

import (
	"sync"
	"testing"
)

func TestACounterTravelsInItsContext(t *testing.T) {
	t.Parallel()
	var c Counter
	ctx := With(t.Context(), &c)
	Add(ctx, 1)
	Begin(ctx, "index", 100)
	var group sync.WaitGroup
	for range 10 {
		group.Go(func() { Add(ctx, 2) })
	}
	group.Wait()
	if stage, done, total := c.Now(); stage != "index" || done != 20 || total != 100 {
		t.Errorf("%s %d of %d", stage, done, total)
	}
	Begin(t.Context(), "nobody watches", 1)
	Add(t.Context(), 1)
}
