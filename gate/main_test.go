package gate

import (
	"flag"
	"os"
	"testing"

	"github.com/deftskills/deft/internal/race"
)

// TestMain draws ten thousand cases of each property, fewer where the race detector makes
// each of them slow or where -short wants an answer soon.
func TestMain(m *testing.M) {
	flag.Parse()
	draws := "10000"
	if race.Enabled || testing.Short() {
		draws = "300"
	}
	asked := false
	flag.Visit(func(f *flag.Flag) { asked = asked || f.Name == "rapid.checks" })
	if !asked {
		_ = flag.Set("rapid.checks", draws)
	}
	os.Exit(m.Run())
}
