package sandbox

// helperWord is the only argument that makes the own binary the helper.
const helperWord = "__exec"

// Descriptors of the helper. The host holds the other end of both.
const (
	planFD   = 3 // the plan as one line of JSON; then a T asks for SIGTERM; its end ends the run
	reportFD = 4 // one event a line
)

// plan is all that the helper knows.
type plan struct {
	Argv   []string `json:"argv"`
	Env    []string `json:"env"`
	Dir    string   `json:"dir"`
	Level  Level    `json:"level"`
	Limits []bound  `json:"limits"`
	// Processes ends the run when more processes than this belong to it; 0 leaves it to
	// the kernel, which does not hold the superuser.
	Processes int     `json:"processes,omitempty"`
	Rules     []rule  `json:"rules,omitempty"`
	Network   bool    `json:"network,omitempty"`
	Mounts    *mounts `json:"mounts,omitempty"`
	Profile   string  `json:"profile,omitempty"` // of macOS, in place of rules
	Try       *trial  `json:"try,omitempty"`

	by string // bubblewrap's path, for a run at full by it; not told to the helper
}

// bound is one resource limit, by the number that the system has for it.
type bound struct {
	Resource int    `json:"resource"`
	Value    uint64 `json:"value"`
}

// mounts is what the level full sees of the file system: all of it read-only, save these.
type mounts struct {
	Temp  string   `json:"temp"`  // shown as /tmp
	Write []string `json:"write"` // stays writable
	Read  []string `json:"read"`  // lies in /tmp and stays to be seen
	Hold  []hold   `json:"hold"`
	Cover []string `json:"cover"` // shown empty
	// Made names the host's namespaces where bubblewrap has made all this already.
	Made []string `json:"made,omitempty"`
}

// hold makes a path a mount: its name can't be removed or renamed then.
type hold struct {
	Path     string `json:"path"`
	ReadOnly bool   `json:"ro,omitempty"`
}

// trial asks the helper to confine itself and try to get out, instead of starting a program.
type trial struct {
	Denied string `json:"denied"` // a file to be read and written: must fail
	Write  string `json:"write"`  // a directory to write in: must succeed
}

// event is one line of the helper's report.
type event struct {
	Ready     bool   `json:"ready,omitempty"`
	Group     int    `json:"group,omitempty"` // the process group of the program, as the helper sees it
	Step      string `json:"step,omitempty"`  // what went wrong, before anything ran
	Error     string `json:"error,omitempty"`
	Errno     int    `json:"errno,omitempty"`
	Quota     string `json:"quota,omitempty"`
	Ended     bool   `json:"ended,omitempty"`
	Exit      int    `json:"exit,omitempty"`
	Signal    string `json:"signal,omitempty"`
	Survivors int    `json:"survivors,omitempty"`
}
