package cli

import (
	"math"
	"runtime"
	"runtime/debug"
	"runtime/metrics"
)

// memoryRoof is what a process tries to stay below: 100,000 skills take 175 MiB, and
// with the program itself that is less than 250 MB. It is no bound: what needs more
// gets it.
const memoryRoof = 208 << 20

// paceCollections lets the heap of a new process grow to 64 MiB (4 MiB × 1600 %) before
// the first garbage collection. A verb that ends after a fraction of a second, which is
// most of them, so collects nothing: over 10,000 skills that is a quarter of its
// processor time. From then on the pace is the usual one, faster near the roof, until
// what is alive comes near it. A pace that a person set counts.
func paceCollections(getenv func(string) string) {
	if getenv("GOGC") != "" || getenv("GOMEMLIMIT") != "" {
		return
	}
	usual := debug.SetGCPercent(1600)
	debug.SetMemoryLimit(memoryRoof)
	first := true
	afterCollections(func() bool {
		if first {
			first = false
			debug.SetGCPercent(usual)
		}
		live := []metrics.Sample{{Name: "/gc/heap/live:bytes"}}
		if metrics.Read(live); live[0].Value.Uint64() < memoryRoof*15/16 {
			return true
		}
		debug.SetMemoryLimit(math.MaxInt64) // collecting all the time would free nothing
		return false
	})
}

// afterCollections calls again after each collection, one call at a time, until it
// returns false.
func afterCollections(again func() bool) {
	type sentinel struct{ _ [16]byte } // not of a size that is put together with others
	runtime.AddCleanup(new(sentinel), func(f func() bool) {
		if f() {
			afterCollections(f)
		}
	}, again)
}
