package source

import "io/fs"

// nodeType is what the walk needs to know about a name, never following a link.
type nodeType uint8

const (
	typeAbsent nodeType = iota
	typeFile
	typeDir
	typeLink
	typeSpecial // FIFO, socket, device
)

func typeOf(m fs.FileMode) nodeType {
	switch {
	case m.IsRegular():
		return typeFile
	case m.IsDir():
		return typeDir
	case m&fs.ModeSymlink != 0:
		return typeLink
	}
	return typeSpecial
}

// item is one name of a directory.
type item struct {
	name string // may be cut out of a larger text: what keeps it makes a copy
	typ  nodeType
}

// tree is what the walk needs from a file system. Paths are slash-separated and
// relative to the tree; "" is its root. No method follows a link in any component,
// so a name that is exchanged for a link between two calls leads nowhere.
type tree interface {
	// list returns the names of a directory; cut says that their bytes passed max.
	list(rel string, max int64) (items []item, cut bool, err error)
	// look describes one name. An absent one is typeAbsent without an error.
	look(rel string) (FileStamp, nodeType, error)
	// folder stamps a directory; the stamp is zero where there is none. native says that
	// its times tell whether a name in it changed, leaf that no directory lies in it; both
	// only where that is certain.
	folder(rel string) (stamp FileStamp, native, leaf bool)
	// read returns a regular file's bytes, in buf where they fit, and its stamps before
	// and after. Of a file with more than max bytes at most a few more are read.
	read(rel string, buf []byte, max int64) (src []byte, before, after FileStamp, err error)
	close()
}

// folderOf is folder of a tree that knows no more than look says.
func folderOf(t tree, rel string) (stamp FileStamp, native, leaf bool) {
	stamp, typ, err := t.look(rel)
	if err != nil || typ != typeDir {
		return FileStamp{}, false, false
	}
	return stamp, false, false
}

// DirID identifies the directory that path leads to, however it was reached; ok is
// false where there is none.
func DirID(path string) (id [2]uint64, ok bool) {
	id, isDir, err := dirID(path)
	return id, err == nil && isDir
}
