package install_test

import (
	"errors"
	"math/rand/v2"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/deftskills/deft/install"
	"github.com/deftskills/deft/internal/race"
)

// A bit that flips in anything that is stored of a skill is found, and the file is named:
// by verify, or by whatever reads it.
func TestR04AFlippedBitIsFound(t *testing.T) {
	t.Parallel()
	m := newMachine(t)
	m.write("source/one/run.sh", "#!/bin/sh\n")
	if err := os.Chmod(filepath.Join(m.dir, "source/one/run.sh"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := m.add(t.Context(), "one"); err != nil {
		t.Fatal(err)
	}
	each := 40
	switch {
	case os.Getenv("DEFT_TEST_FULL") != "":
		each = 1 << 20
	case race.Enabled:
		each = 6
	}
	sound, err := install.ReadLock(m.scope.Lock, false)
	if err != nil {
		t.Fatal(err)
	}
	r, flips := rand.New(rand.NewPCG(4, 4)), 0
	for _, pattern := range []string{"data/blobs/sha256/*/*", "data/trees/*.json", "data/deft.lock", "home/.agents/skills/one/*", "home/.agents/skills/one/.deft-skill.json"} {
		files, err := filepath.Glob(filepath.Join(m.dir, pattern))
		if err != nil || len(files) == 0 {
			t.Fatalf("%s: %q %v", pattern, files, err)
		}
		for _, file := range files {
			whole, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			info, err := os.Stat(file)
			if err != nil {
				t.Fatal(err)
			}
			put := func(b []byte) {
				t.Helper()
				if err := errors.Join(os.Remove(file), os.WriteFile(file, b, info.Mode().Perm())); err != nil {
					t.Fatal(err)
				}
			}
			for n := range min(each, 8*len(whole)) {
				bit := n
				if each < 8*len(whole) {
					bit = r.IntN(8 * len(whole))
				}
				flipped := slices.Clone(whole)
				flipped[bit/8] ^= 1 << (bit % 8)
				put(flipped)
				m.finds(file, bit, sound)
				flips++
			}
			put(whole)
		}
	}
	if list, err := m.installer().Verify(t.Context(), m.scope, m.agents, nil); err != nil || len(list) != 1 || list[0].State != install.OK {
		t.Errorf("all flipped back: %+v %v", list, err)
	}
	t.Logf("R04 %d flips", flips)
}

// finds wants that verify tells of a flipped bit, by the file.
func (m *machine) finds(file string, bit int, sound *install.Lock) {
	m.t.Helper()
	list, err := m.installer().Verify(m.t.Context(), m.scope, m.agents, nil)
	said := ""
	if err != nil {
		said = err.Error()
	}
	for _, st := range list {
		if st.State != install.OK {
			said += st.State + " " + st.Why + " " + strings.Join(slices.Concat(st.Diff.Changed, st.Diff.Missing, st.Diff.Extra, st.Diff.Mode), " ")
		}
	}
	if said == "" && file == m.scope.Lock {
		// Names of fields are read in any case of letters: nothing else was said.
		now, err := install.ReadLock(m.scope.Lock, false)
		if err == nil && reflect.DeepEqual(now.Skills["one"].Tree, sound.Skills["one"].Tree) {
			return
		}
	}
	if !strings.Contains(said, filepath.Base(file)) {
		m.t.Errorf("%s, bit %d: %q", file, bit, said)
	}
}
