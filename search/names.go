package search

import (
	"cmp"
	"iter"
	"slices"
	"sort"
	"strings"
)

// nameKey says which document may be called by a name of that hash.
type nameKey struct{ hash, doc uint32 }

func (k nameKey) compare(o nameKey) int {
	return cmp.Or(cmp.Compare(k.hash, o.hash), cmp.Compare(k.doc, o.doc))
}

// hashOf is FNV-1a: it stays the same over versions, since it is kept on disk.
func hashOf(s string) uint32 {
	h := uint32(2166136261)
	for i := range len(s) {
		h = (h ^ uint32(s[i])) * 16777619
	}
	return h
}

// calledNames yields every name by which a query may call the document, folded.
func (d *document) calledNames() iter.Seq[string] {
	return func(yield func(string) bool) {
		name := foldName(d.Name)
		if !yield(name) || !yield(foldName(name+"@"+d.Source)) {
			return
		}
		if d.Address != d.Name && !yield(foldName(d.Address)) {
			return
		}
		for _, a := range d.Aliases {
			if !yield(foldName(a)) {
				return
			}
		}
	}
}

// named returns the living documents that are called by a folded name, in order.
func (p part) named(name string) (docs []uint32) {
	h, s := hashOf(name), p.segment
	for i := sort.Search(len(s.names), func(i int) bool { return s.names[i].hash >= h }); i < len(s.names) && s.names[i].hash == h; i++ {
		doc := s.names[i].doc
		if !p.alive(doc) || len(docs) > 0 && docs[len(docs)-1] == doc {
			continue
		}
		for n := range p.docs[doc].calledNames() {
			if n == name {
				docs = append(docs, doc)
				break
			}
		}
	}
	return docs
}

// promote puts the skills that were called by name before all others.
func promote(list []*found, named []found, k int) []*found {
	if len(named) == 0 {
		return list
	}
	high := int64(0)
	if len(list) > 0 {
		high = list[0].score
	}
	for i := range named {
		high = max(high, named[i].score)
	}
	first := make([]*found, 0, len(named)+len(list))
	for i := range named {
		named[i].score = high + exactBonus
		first = append(first, &named[i])
	}
	slices.SortFunc(first, (*found).before)
	first = append(first, list...)
	return first[:min(len(first), k)]
}

var nameFolds = strings.NewReplacer(" ", "-", "_", "-")

// foldName makes names comparable: as folded, with "_" and blanks as "-".
func foldName(s string) string {
	if plainName(s) {
		return s
	}
	return nameFolds.Replace(folded(s))
}

// plainName reports whether folding leaves the name as it is: nearly all are.
func plainName(s string) bool {
	for i := range len(s) {
		if c := s[i]; (c < 'a' || c > 'z') && (c < '0' || c > '9') && c != '-' && c != '@' && c != '.' && c != '/' && c != ':' {
			return false
		}
	}
	return true
}
