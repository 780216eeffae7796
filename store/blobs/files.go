package blobs

import (
	"io/fs"
	"time"

	"github.com/deftskills/deft/skill"
	"github.com/deftskills/deft/source"
)

// Files returns the files of a tree, whose contents are in s, as source.VersionFS does.
func Files(t skill.Tree, s Store, at time.Time) (fs.FS, error) { return source.VersionFS(t, s, at) }
