//go:build linux && (amd64 || arm64)

package sandbox

import "golang.org/x/sys/unix"

// refusedBoth are refused calls that not every processor has.
var refusedBoth = []uint32{unix.SYS_KEXEC_FILE_LOAD}

// sharedCalls reach memory, queues and counters that programs of one user share by number
// or name, which no rule on files sees. Full has its own.
var sharedCalls = []uint32{
	unix.SYS_SHMGET, unix.SYS_SHMAT, unix.SYS_SHMCTL, unix.SYS_MSGGET, unix.SYS_MSGSND, unix.SYS_MSGRCV, unix.SYS_MSGCTL,
	unix.SYS_SEMGET, unix.SYS_SEMOP, unix.SYS_SEMTIMEDOP, unix.SYS_SEMCTL, unix.SYS_MQ_OPEN, unix.SYS_MQ_UNLINK,
}
