package sandbox

import "golang.org/x/sys/unix"

// auditArch is the word by which the kernel names this processor.
const auditArch = unix.AUDIT_ARCH_X86_64

// foreignFrom is the first number of the x32 range, a second set of the same calls.
const foreignFrom = 0x40000000

// refusedHere are calls that only this processor has.
var refusedHere = []uint32{
	unix.SYS_IOPL, unix.SYS_IOPERM, unix.SYS_MODIFY_LDT, unix.SYS_USELIB, unix.SYS_USTAT, unix.SYS_SYSFS, unix.SYS_CREATE_MODULE,
}

// metaHere are the older forms of calls that change modes, owners and times.
var metaHere = []uint32{
	unix.SYS_CHMOD, unix.SYS_CHOWN, unix.SYS_LCHOWN, unix.SYS_UTIME, unix.SYS_UTIMES, unix.SYS_FUTIMESAT,
}
