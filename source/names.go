package source

import (
	"maps"
	"slices"
	"strings"

	"github.com/deftskills/deft/internal/packed"
)

// names are what the names of one listed directory were, sorted, and when.
type names struct {
	stamp FileStamp
	items []item // never changed
}

// list returns the names of a directory in order. One whose stamp is that of the former
// listing is not listed again: on file systems that are known for it, the times of a
// directory change with every name that comes, goes or becomes something else.
func (w *walker) list(p place) (items []item, cut bool, err error) {
	at, native, _ := p.t.folder(p.rel) // before the names: what comes after that shows in the next stamp
	was, known := w.former.folders[p.real]
	if known = known && native && was.stamp == at; known {
		items = was.items
	} else if items, cut, err = p.t.list(p.rel, w.o.Limits.NameBytes); err == nil {
		slices.SortFunc(items, func(a, b item) int { return strings.Compare(a.name, b.name) })
	}
	if err == nil && !cut && native && (known || !w.young(at)) {
		if w.out.folders == nil {
			w.out.folders = map[string]names{}
		}
		w.out.folders[p.real] = names{at, items}
	}
	return items, cut, err
}

// packFolders walks the listed directories of an index.
func packFolders(c *packed.Codec, all *map[string]names) {
	paths := slices.AppendSeq([]string{}, maps.Keys(*all))
	slices.Sort(paths)
	c.Texts(&paths)
	if c.Reading() && !c.Bad {
		*all = make(map[string]names, len(paths))
	}
	for _, path := range paths {
		f := (*all)[path]
		stamp(c, &f.stamp)
		packed.List(c, &f.items, func(it *item) {
			c.Text(&it.name)
			typ := int(it.typ)
			c.Integer(&typ)
			it.typ = nodeType(typ)
		})
		if c.Reading() {
			(*all)[path] = f
		}
	}
}
