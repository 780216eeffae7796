package source_test

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/deftskills/deft/source"
)

// More names than a folder may have end the listing of that folder alone, and say so.
func TestR12AFolderOfCountlessNamesIsCutAndNamed(t *testing.T) {
	t.Parallel()
	root := tempDir(t)
	addSkill(t, root, "good")
	crowd := filepath.Join(root, "crowd")
	if err := os.Mkdir(crowd, 0o755); err != nil {
		t.Fatal(err)
	}
	const long = 220
	for i := range 4<<20/long + 100 { // more than the names of one folder may take
		f, err := os.Create(filepath.Join(crowd, fmt.Sprintf("%0*d", long, i)))
		if err != nil {
			t.Fatal(err)
		}
		f.Close()
	}
	l := scan(t, source.Dir(root, source.DirOptions{}))
	equal(t, "skills", dirNames(l), []string{"good"})
	equal(t, "codes", codes(l.Diagnostics), []string{"limit_walk"})
	if l.Complete || !strings.Contains(l.Diagnostics[0].File+l.Diagnostics[0].Message, "crowd") {
		t.Errorf("complete %v: %+v", l.Complete, l.Diagnostics)
	}
}

// Folders that come and go during the walk cost nobody else, and end in no error.
func TestR12FoldersThatVanishDuringTheWalkCostThemselvesOnly(t *testing.T) {
	t.Parallel()
	root, away := tempDir(t), tempDir(t)
	for i := range 30 {
		addSkill(t, root, fmt.Sprintf("group/stays-%02d", i))
		addSkill(t, root, fmt.Sprintf("leaves/away-%02d", i))
	}
	var goes sync.WaitGroup
	done := make(chan struct{})
	goes.Go(func() {
		for {
			select {
			case <-done:
				return
			default:
			}
			for _, name := range []string{"leaves", "leaves/away-03"} {
				out := filepath.Join(away, filepath.Base(name))
				for _, move := range [][2]string{{filepath.Join(root, name), out}, {out, filepath.Join(root, name)}} {
					if err := os.Rename(move[0], move[1]); err != nil {
						t.Error(err)
					}
				}
			}
		}
	})
	src := source.Dir(root, source.DirOptions{})
	for range 100 {
		l := scan(t, src)
		stays := slices.DeleteFunc(dirNames(l), func(n string) bool { return !strings.HasPrefix(n, "stays-") })
		if len(stays) != 30 {
			t.Errorf("%d neighbours of 30", len(stays))
		}
		for _, e := range l.Entries {
			if !e.Skill.Valid && len(e.Skill.Diagnostics) == 0 {
				t.Errorf("%s is invalid without a word", e.Dir)
			}
		}
		if n := len(l.Entries); n != 30 && n != 59 && n != 60 && l.Complete {
			t.Errorf("%d skills, and complete", n)
		}
	}
	close(done)
	goes.Wait()
	if n := len(scan(t, src).Entries); n != 60 {
		t.Errorf("%d skills at the end", n)
	}
}
