//go:build race

package race

// Enabled is true where the race detector watches.
const Enabled = true
