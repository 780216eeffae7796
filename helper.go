package deft

import (
	"os"

	"github.com/deftskills/deft/command/sandbox"
)

// Helper lets the program confine what skills run. A program that wants commands of skills
// calls it first in its main, before it reads anything or starts a goroutine:
//
//	func main() {
//		helper := deft.Helper()
//		…
//
// To confine a command deft starts the own binary once more with the single argument
// __exec; in that process Helper does not return. Everywhere else it does nothing and
// returns the path to give to sandbox.Options.HelperPath; without that no sandbox level
// above none is there. Empty on systems that have no such level.
func Helper() string { return sandbox.Helper(os.Args) }
