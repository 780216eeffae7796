package install

import (
	"testing"

	"github.com/deftskills/deft/install/archive"
)

func TestHashesOfAFolderAreThoseOfOtherInstallersAndOfGit(t *testing.T) {
	t.Parallel()
	var files []archive.File
	for name, text := range map[string]string{
		"SKILL.md": "x", "readme.md": "b\r\n", "_private.md": "c", "10.txt": "d", "2.txt": "e", "scripts/Run.sh": "f",
		"scripts/run2.sh": "g", "Refs/ä.md": "h", "a-b.md": "i", "a_b.md": "j",
	} {
		files = append(files, archive.File{Path: name, Data: []byte(text)})
	}
	c, err := treeOf(t.Context(), files)
	if err != nil {
		t.Fatal(err)
	}
	if got, err := folderHash(t.Context(), c, c.tree, collated); err != nil || got != "a08a8c65b4ff07a011bf991b2178d0a6d4ee6b04fb8983c2e79a9e2dcde5270a" {
		t.Errorf("computedHash %s, %v", got, err)
	}
	if got, err := gitTree(t.Context(), c, c.tree); err != nil || got != "0ad73cd297923dbd95039a36f5907fbd80b2cdfc" {
		t.Errorf("tree of git %s, %v", got, err)
	}
}
