// Command deft is the skills runtime for AI agents; package cli is all of it.
package main

import (
	"os"

	"github.com/deftskills/deft/internal/cli"
)

func main() { os.Exit(cli.Main()) }
