package registry

import (
	"slices"

	"github.com/deftskills/deft/internal/fold"
)

// Lookalikes returns pairs of records whose names are two and look like one: of each
// look-alike name the strongest record, and another. Records that cannot be read are
// left out. Sorted by the location of the second.
func (s *Snapshot) Lookalikes() [][2]*Record {
	records := slices.DeleteFunc(slices.Clone(s.All), func(r *Record) bool { return r.State == Invalid })
	stronger := func(a, b *Record) bool {
		if usable(a) != usable(b) {
			return usable(a)
		}
		return trustRank(a.Source.Trust) < trustRank(b.Source.Trust)
	}
	first := map[string]*Record{} // by skeleton: the record whose name others resemble
	for _, r := range records {
		skel := fold.Skeleton(r.Skill.Key)
		if f := first[skel]; f == nil || stronger(r, f) {
			first[skel] = r
		}
	}
	var out [][2]*Record
	for _, r := range records {
		if f := first[fold.Skeleton(r.Skill.Key)]; f != r && f.Skill.Key != r.Skill.Key {
			out = append(out, [2]*Record{f, r})
		}
	}
	return out
}
