package sandbox

import "fmt"

// Level is how far a run is confined. Higher levels hold all that lower ones hold.
type Level int

// The levels, from the least.
const (
	// None is a process group of its own, a deadline and a bound on output.
	None Level = iota
	// Limits adds resource limits, a private temporary folder, closed descriptors, no
	// new privileges, and the end of every process that the run leaves behind.
	Limits
	// Files adds that only the policy's paths can be read and written, and that there
	// is no network.
	Files
	// Full adds a world of its own: mounts, processes, users, network.
	Full
)

var levelNames = [...]string{"none", "limits", "files", "full"}

// String is the level's name: none, limits, files or full.
func (l Level) String() string {
	if l < None || l > Full {
		return fmt.Sprintf("level %d", int(l))
	}
	return levelNames[l]
}

// MarshalText gives the level's name.
func (l Level) MarshalText() ([]byte, error) { return []byte(l.String()), nil }

// UnmarshalText reads a level's name.
func (l *Level) UnmarshalText(text []byte) error {
	got, err := ParseLevel(string(text))
	*l = got
	return err
}

// ParseLevel returns the level of a name. An unknown name is an error, and the level
// then is Full, so that a caller who overlooks the error demands too much.
func ParseLevel(name string) (Level, error) {
	for i, n := range levelNames {
		if n == name {
			return Level(i), nil
		}
	}
	return Full, fmt.Errorf("sandbox level %q: not one of none, limits, files, full", name)
}
