package deft

import (
	"testing"

	"github.com/deftskills/deft/registry"
	"github.com/deftskills/deft/route"
	"github.com/deftskills/deft/skill"
)

// Sessions whose Snapshots differ take turns without compiling anything again.
func TestTurnsOfSeveralSnapshotsCompileEachOnce(t *testing.T) {
	t.Parallel()
	var k routers
	var snaps []*registry.Snapshot
	made := map[*registry.Snapshot]*route.Router{}
	for range keptRouters + 1 {
		snaps = append(snaps, &registry.Snapshot{})
	}
	get := func(s *registry.Snapshot) *route.Router { return k.of(s, route.Options{}, skill.Environment{}).router }
	for range 3 {
		for _, s := range snaps[:keptRouters] {
			if r := get(s); made[s] == nil {
				made[s] = r
			} else if made[s] != r {
				t.Fatal("a router was made twice")
			}
		}
	}
	get(snaps[keptRouters]) // takes the place of the one that was asked for longest ago
	if get(snaps[1]) != made[snaps[1]] || get(snaps[0]) == made[snaps[0]] || len(k.list) != keptRouters {
		t.Errorf("%d are kept, not the last ones", len(k.list))
	}
}
