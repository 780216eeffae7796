// Package sandbox runs one program so that it reaches no farther, lasts no longer and
// costs no more than it was given, and says in every result which [Level] held it.
//
// A [Box] knows how far this machine can confine: it finds out once, by trying. [Box.Run]
// takes a [Command] with the least level that will do. What the machine can't hold does
// not run: the error is an [*UnavailableError], no process is started, and nothing falls
// back to less.
//
// On Linux, above the level none, a program is started by the helper: the own binary once
// more (see [Helper]), which gets a plan on descriptor 3, confines one thread by it, starts
// the program from that thread, and answers on descriptor 4. The helper stays until the
// last process of the run is gone, and ends them all when descriptor 3 is closed: also when
// the host is killed. On macOS the helper becomes the program; on Windows a job object
// holds it, and there is none.
//
// What belongs here: levels, what may be read and written ([Policy]), the limits of a
// run, the helper, the probe. What may not come in: skills, rules of who may run what,
// shells and their quoting, the gate, texts for people. The package reads no environment,
// no configuration and no working directory, and prints nothing.
//
//	levels and what each holds          level.go
//	denied and protected paths          policy.go, trees.go, links_linux.go
//	a run seen from the host            run.go, stop.go, capture.go
//	what the helper is told, and says   plan.go
//	the helper                          helper_linux.go, spawn_linux.go, reap_linux.go
//	the moment between fork and program launch_linux.go
//	files and network: Landlock         landlock_linux.go
//	system calls that are refused       seccomp_linux.go, seccomp_linux_*.go
//	mounts of the level full            mounts_linux.go, holds_linux.go
//	the level full by bubblewrap        bwrap_linux.go
//	what this machine can do            probe.go, probe_linux.go
//	macOS: the profile's text           profile.go
//	macOS: the helper, who belongs      helper_darwin.go, start_darwin.go, family_darwin.go
//	Windows: the job of a run           job_windows.go
//
// The wall is proved by escape_test.go: each test tries to get out.
package sandbox
