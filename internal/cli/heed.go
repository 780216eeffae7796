package cli

import (
	"context"
	"sync"
)

// heed makes the skills anew when another process decides something, as soon as the
// state tells: the watcher of folders asks it only now and then. What cannot be watched is
// seen at the next turn still. Stop waits until nothing of it runs.
func (r *run) heed(ctx context.Context) (stop func()) {
	ctx, cancel := context.WithCancel(ctx)
	decided := make(chan struct{}, 1) // many changes at once are one
	var work sync.WaitGroup
	work.Go(func() {
		defer close(decided)
		s, err := r.openStore(ctx)
		if err != nil {
			return
		}
		last, err := s.Changes().Last(ctx)
		if err != nil {
			return
		}
		for _, err := range s.Changes().Watch(ctx, last) {
			if err != nil {
				continue // said where the state is needed
			}
			select {
			case decided <- struct{}{}:
			default:
			}
		}
	})
	work.Go(func() {
		for range decided {
			_, _ = r.engine.Refresh(ctx)
		}
	})
	return func() { cancel(); work.Wait() }
}
