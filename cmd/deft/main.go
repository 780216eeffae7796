// Command deft is the skills runtime for AI agents; package cli is all of it.
package main

import (
	"os"

	library "github.com/deftskills/deft"
	"github.com/deftskills/deft/internal/cli"
	"github.com/deftskills/deft/store/blobs"
	"github.com/deftskills/deft/store/blobs3"
)

func main() {
	helper := library.Helper() // first: as the helper of a sandbox it does not return
	os.Exit(cli.Main(helper, buckets))
}

// buckets are the places of blobs that the program alone knows: who imports the library
// does not link the client of a server.
func buckets(env func(string) string) blobs.Places {
	return blobs.Places{"s3": func(address string) (blobs.Store, error) {
		s, err := blobs3.Open(address, blobs3.Options{Env: env})
		if err != nil {
			return nil, err
		}
		return s, nil
	}}
}
