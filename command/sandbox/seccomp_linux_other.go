//go:build linux && !amd64 && !arm64

package sandbox

// auditArch is 0: there is no table of calls for this processor, so that nothing above
// Limits is there.
const (
	auditArch   = 0
	foreignFrom = 0
)

var refusedHere, refusedBoth, metaHere, sharedCalls []uint32
