package install_test

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"

	"github.com/deftskills/deft/install"
)

// A packed skill is the same bytes twice, whatever the times of its files, and installs
// again with the same digest.
func TestAPackedSkillInstallsAsItWas(t *testing.T) {
	t.Parallel()
	for _, format := range []string{"skill", "tar.gz"} {
		m := newMachine(t)
		m.write("source/one/scripts/run.sh", "#!/bin/sh\n")
		m.write("source/one/.hidden", "kept")
		m.write("source/one/ä ö.txt", "kept")
		m.write("source/one/node_modules/x", "left out")
		if err := os.Chmod(filepath.Join(m.dir, "source/one/scripts/run.sh"), 0o755); err != nil {
			t.Fatal(err)
		}
		first, err := m.installer().Pack(t.Context(), filepath.Join(m.dir, "source", "one"), format)
		if err != nil {
			t.Fatal(err)
		}
		m.write("source/one/data.txt", "first") // another time
		again, err := m.installer().Pack(t.Context(), filepath.Join(m.dir, "source", "one"), format)
		if err != nil || !bytes.Equal(first.Data, again.Data) || first.Files != 5 {
			t.Errorf("%s: the bytes differ, or %d files: %v", format, first.Files, err)
		}
		file := "one." + format
		m.write(file, string(first.Data))
		ref, err := install.ParseSource(filepath.Join(m.dir, file), install.ParseOptions{})
		if err != nil {
			t.Fatal(err)
		}
		f, err := m.fetcher.Fetch(t.Context(), ref)
		if err != nil {
			t.Fatal(err)
		}
		packs, err := install.Find(t.Context(), f, install.FindOptions{})
		if err != nil || len(packs) != 1 || packs[0].Digest != first.Digest || packs[0].Skill.Name != "one" {
			t.Errorf("%s: %+v %v", format, packs, err)
		}
	}
}
