package agent

import "sync"

// inbox is how other goroutines have something done on the loop's: told, counted, asked.
// Whatever is posted runs there, one after the other, in the order of posting. It never
// blocks who posts; what is posted after the turn's end is dropped with it.
type inbox struct {
	bell chan struct{} // rings when something was posted

	mu   sync.Mutex
	list []func()
}

func newInbox() *inbox { return &inbox{bell: make(chan struct{}, 1)} }

func (b *inbox) post(f func()) {
	b.mu.Lock()
	b.list = append(b.list, f)
	b.mu.Unlock()
	select {
	case b.bell <- struct{}{}:
	default:
	}
}

// serve runs what was posted. It is called by the loop's goroutine alone.
func (b *inbox) serve() {
	for {
		b.mu.Lock()
		list := b.list
		b.list = nil
		b.mu.Unlock()
		if len(list) == 0 {
			return
		}
		for _, f := range list {
			f()
		}
	}
}

// until serves while done is open; false = the other channel came first.
func (b *inbox) until(done, or <-chan struct{}) bool {
	for {
		b.serve()
		select {
		case <-b.bell:
		case <-done:
			b.serve()
			return true
		case <-or:
			return false
		}
	}
}
