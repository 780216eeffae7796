package search

import (
	"flag"
	"os"
	"testing"

	"github.com/deftskills/deft/internal/race"
)

func TestMain(m *testing.M) {
	flag.Parse()
	if race.Enabled {
		_ = flag.Set("rapid.checks", "10") // the ordinary run draws more
	}
	os.Exit(m.Run())
}
