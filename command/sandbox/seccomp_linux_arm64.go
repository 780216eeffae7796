package sandbox

import "golang.org/x/sys/unix"

// auditArch is the word by which the kernel names this processor.
const auditArch = unix.AUDIT_ARCH_AARCH64

// foreignFrom is 0: this processor has one set of numbers for one word.
const foreignFrom = 0

// refusedHere are calls that only this processor has: none.
var refusedHere []uint32

// metaHere are older forms of calls that change modes, owners and times: none here.
var metaHere []uint32
