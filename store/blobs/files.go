package blobs

import (
	"io/fs"
	"time"

	"github.com/deftskills/deft/skill"
	"github.com/deftskills/deft/source"
)

// Files returns the files of a tree, whose contents are in b, as source.VersionFS does.
func Files(t skill.Tree, b source.BlobReader, at time.Time) (fs.FS, error) {
	return source.VersionFS(t, b, at)
}

// Path cleans a path of a tree, as source.TreePath does.
func Path(p string) (string, error) { return source.TreePath(p) }
