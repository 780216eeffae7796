// Command deft is the skills runtime for AI agents; package cli is all of it.
package main

import (
	"os"

	library "github.com/deftskills/deft"
	"github.com/deftskills/deft/internal/cli"
)

func main() {
	helper := library.Helper() // first: as the helper of a sandbox it does not return
	os.Exit(cli.Main(helper))
}
