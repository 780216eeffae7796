package store_test

import (
	"sync"
	"testing"
)

// once gives every test one address, however often it asks.
type once struct {
	mu  sync.Mutex
	got map[string]string
}

func newOnce() *once { return &once{got: map[string]string{}} }

func (o *once) of(t *testing.T, make func(*testing.T) string) string {
	t.Helper()
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.got[t.Name()] == "" {
		o.got[t.Name()] = make(t)
	}
	return o.got[t.Name()]
}
