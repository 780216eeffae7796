package cli

import (
	"runtime"
	"runtime/debug"
)

// firstCollection lets the heap of a new process grow to 64 MiB (4 MiB × 1600 %) before
// the first garbage collection, and has the usual pace from then on. A verb that ends
// after a fraction of a second, which is most of them, collects nothing: over 10,000
// skills that is a quarter of its processor time. A pace that a person set counts.
func firstCollection(getenv func(string) string) {
	if getenv("GOGC") != "" || getenv("GOMEMLIMIT") != "" {
		return
	}
	usual := debug.SetGCPercent(1600)
	type sentinel struct{ _ [16]byte } // of a size that is not shared with other objects
	runtime.AddCleanup(new(sentinel), func(percent int) { debug.SetGCPercent(percent) }, usual)
}
