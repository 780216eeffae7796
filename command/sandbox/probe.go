package sandbox

import "slices"

// Finding is what was found out about one means of confining.
type Finding struct {
	OK     bool
	Detail string // a version, or what is missing, for a person
}

// Findings is what a machine can hold. The zero value holds nothing.
type Findings struct {
	Level      Level
	Helper     Finding // the own binary, started once more
	Landlock   Finding
	ABI        int     // of Landlock; 0 without it
	Seccomp    Finding // refusing system calls
	Namespaces Finding // the level full from this process
	Bwrap      Finding // the level full by bubblewrap
	Seatbelt   Finding // macOS, where it stands for Landlock and seccomp
	BwrapPath  string  // bubblewrap, where full is by it; else empty
}

// by is the program that makes the namespaces of level; empty: nobody but this one.
func (f Findings) by(level Level) string {
	if level < Full || f.Namespaces.OK {
		return ""
	}
	return f.BwrapPath
}

// Missing names the first thing that keeps level from being there, or nothing.
func (f Findings) Missing(level Level) string {
	if level <= f.Level {
		return ""
	}
	type need struct {
		from Level
		name string
		Finding
	}
	list := []need{
		{Limits, "helper", f.Helper}, {Files, "landlock", f.Landlock}, {Files, "seccomp", f.Seccomp},
		{Full, "namespaces", f.Namespaces},
	}
	if f.Seatbelt != (Finding{}) {
		list = slices.Replace(list, 1, 3, need{Files, "seatbelt", f.Seatbelt})
	}
	for _, need := range list {
		if level >= need.from && !need.OK {
			text := need.name + ": " + orElse(need.Detail, "not there")
			if need.name == "namespaces" && f.Bwrap.Detail != "" {
				text += "; bwrap: " + f.Bwrap.Detail
			}
			return text
		}
	}
	return "not there"
}
