package httpapi

import (
	"sync"
	"time"
)

// Rates, each a second and at once: of one webhook, and of failed proofs from one address.
const (
	hookRate, hookBurst     = 5, 50
	strikeRate, strikeBurst = 2, 10
)

// maxBuckets bounds what strangers can make this process remember.
const maxBuckets = 4096

// buckets lets a number of events a second pass for each key. The zero map is ready.
type buckets struct {
	rate, burst float64

	mu  sync.Mutex
	all map[string]bucket
}

type bucket struct {
	left float64
	at   time.Time
}

// take reports whether one more event may pass, and if not after how many seconds one
// may.
func (b *buckets) take(key string, now time.Time) (ok bool, wait int) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.all == nil {
		b.all = map[string]bucket{}
	}
	one, known := b.all[key]
	if !known {
		b.forget(now)
		one = bucket{b.burst, now}
	}
	one.left, one.at = min(b.burst, one.left+max(now.Sub(one.at).Seconds(), 0)*b.rate), now
	if ok = one.left >= 1; ok {
		one.left--
	} else {
		wait = 1 + int((1-one.left)/b.rate)
	}
	b.all[key] = one
	return ok, wait
}

// forget makes room: full buckets say nothing. If none is full, all are dropped.
func (b *buckets) forget(now time.Time) {
	if len(b.all) < maxBuckets {
		return
	}
	for key, one := range b.all {
		if one.left+now.Sub(one.at).Seconds()*b.rate >= b.burst {
			delete(b.all, key)
		}
	}
	if len(b.all) >= maxBuckets {
		clear(b.all)
	}
}
