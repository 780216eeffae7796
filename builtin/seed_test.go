package builtin

import (
	"encoding/json"
	"flag"
	"io/fs"
	"os"
	"path/filepath"
	"reflect"
	"testing"
	"time"
)

var update = flag.Bool("update", false, "write .seed-fingerprints.json anew")

func TestBuildAndRunFingerprintsAgree(t *testing.T) {
	t.Parallel()
	now, err := Fingerprint(FS())
	if err != nil {
		t.Fatal(err)
	}
	if *update {
		text, err := json.MarshalIndent(now, "", "  ")
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(".seed-fingerprints.json", append(text, '\n'), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	built, err := Built()
	if err != nil || !reflect.DeepEqual(built, now) {
		t.Errorf("a skill changed since the fingerprints were taken; run go test -update: %v %+v", err, built)
	}
}

func TestEveryShippedSkillIsKnownToTheGate(t *testing.T) {
	t.Parallel()
	for _, name := range append(names(t), Excluded()...) {
		if !Known(name) {
			t.Errorf("%s has no row in gates.json", name)
		}
	}
}

func TestSeedingKeepsWhatAPersonChanged(t *testing.T) {
	t.Parallel()
	data := t.TempDir()
	o := SeedOptions{
		Dir: filepath.Join(data, ".builtin-skills"), Sources: []fs.FS{FS()}, Backup: filepath.Join(data, "backup"),
		Now: func() time.Time { return time.Unix(1700000000, 0) },
	}
	if _, err := Seed(t.Context(), o); err != nil {
		t.Fatal(err)
	}
	mine := filepath.Join(o.Dir, "init", "mine.md")
	if err := os.WriteFile(mine, []byte("mine"), 0o644); err != nil {
		t.Fatal(err)
	}
	o.Enabled = func(name string) bool { return name != "init" } // another fingerprint
	done, err := Seed(t.Context(), o)
	if err != nil || done.Backup == "" {
		t.Fatalf("%+v %v", done, err)
	}
	if text, err := os.ReadFile(filepath.Join(done.Backup, "init", "mine.md")); err != nil || string(text) != "mine" {
		t.Errorf("%q %v", text, err)
	}
	if _, err := os.Stat(filepath.Join(done.Backup, backupNote)); err != nil {
		t.Error(err)
	}
	if _, err := os.Stat(mine); err == nil {
		t.Error("the folder was not written anew")
	}
	if again, err := Seed(t.Context(), o); err != nil || again.Writes != 0 {
		t.Errorf("%+v %v", again, err)
	}
	o.Enabled = nil
	if done, err = Seed(t.Context(), o); err != nil || done.Backup != "" {
		t.Errorf("a folder that nobody touched was kept: %+v %v", done, err)
	}
}
