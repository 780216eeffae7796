package registry_test

import (
	"testing"

	"github.com/deftskills/deft/registry"
	"github.com/deftskills/deft/source"
)

// A turn asks for the Snapshot and for skills by name many times: both cost no garbage.
func TestSnapshotAndLookupAllocateNothing(t *testing.T) {
	root := t.TempDir()
	writeSkills(t, root, 200)
	r := opened(t, registry.Config{Sources: []source.Source{source.Dir(root, source.DirOptions{})}})
	for what, call := range map[string]func() bool{
		"Snapshot": func() bool { return r.Snapshot() != nil },
		"Lookup by name": func() bool {
			rec, err := r.Snapshot().Lookup("skill-00042")
			return err == nil && rec.Skill.Name == "skill-00042"
		},
		"LookupForModel by name": func() bool {
			rec, err := r.Snapshot().LookupForModel("skill-00142")
			return err == nil && rec != nil
		},
	} {
		if !call() {
			t.Fatalf("%s finds nothing", what)
		}
		if n := testing.AllocsPerRun(100, func() { call() }); n != 0 {
			t.Errorf("%s allocates %v times", what, n)
		}
	}
}
