//go:build unix

package store

import (
	"bytes"
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/deftskills/deft/skill"
)

// A flipped bit is found, or it lies where nothing is kept: it never reads as another
// decision. What is found is never written over.
func TestR04FlippedBitIsNeverAnotherDecision(t *testing.T) {
	t.Parallel()
	s := open(t)
	want := fill(t, s)
	must(t, s.Close())
	whole, err := os.ReadFile(s.Path())
	must(t, err)
	r := rand.New(rand.NewPCG(1, 2))
	found := 0
	const flips = 400
	dir := t.TempDir()
	for i := range flips {
		flipped := slices.Clone(whole)
		at := r.IntN(len(flipped))
		if i < 100 {
			at = i // the header and the start of the schema, byte by byte
		}
		flipped[at] ^= 1 << r.IntN(8)
		path := filepath.Join(dir, fmt.Sprint(i), "deft.db")
		must(t, os.Mkdir(filepath.Dir(path), 0o700), os.WriteFile(path, flipped, 0o600))
		f, err := Open(t.Context(), Options{DB: path})
		must(t, err)
		got, loadErr := f.Load(t.Context())
		switch {
		case loadErr == nil:
			got.Version = want.Version
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("byte %d: %s", at, diff)
			}
		case !errors.Is(loadErr, ErrDamaged) && !errors.Is(loadErr, ErrNewerSchema):
			t.Errorf("byte %d: %v", at, loadErr)
		default:
			found++
			if len(got.Folders)+len(got.Grants) > 0 {
				t.Errorf("byte %d: damaged state trusts", at)
			}
			if err := f.States().Set(t.Context(), SkillState{Name: "x", Switch: On}); err == nil {
				t.Errorf("byte %d: written over", at)
			}
		}
		must(t, f.Close())
		if now, err := os.ReadFile(path); err != nil || loadErr != nil && !bytes.Equal(now, flipped) {
			t.Errorf("byte %d: the file changed, %v", at, err)
		}
	}
	if found < flips/20 {
		t.Errorf("only %d of %d flips were found", found, flips)
	}
}

// damageRow turns the trusted folder into another one, behind the checksum's back.
func damageRow(t *testing.T, path string) {
	t.Helper()
	data, err := os.ReadFile(path)
	must(t, err)
	i := bytes.Index(data, []byte("Bash(git:*)"))
	if i < 0 {
		t.Fatal("no grant in the file")
	}
	copy(data[i:], "Bash(gut:*)")
	must(t, os.WriteFile(path, data, 0o600))
}

func TestDamagedStateTrustsNothingAndKeepsDenies(t *testing.T) {
	t.Parallel()
	s := open(t)
	want := fill(t, s)
	for name, body := range map[string]string{"a": "one", "b": "two"} {
		_, err := s.Memories("/w", "me").Keep(t.Context(), name, body, 10)
		must(t, err)
	}
	must(t, s.Close())
	damageRow(t, s.Path())
	damaged, err := os.ReadFile(s.Path())
	must(t, err)
	s = reopen(t, s.Path())
	ctx := t.Context()
	got, err := s.Load(ctx)
	if !errors.Is(err, ErrDamaged) || Code(err) != "store_damaged" || !strings.HasPrefix(err.Error(), "state is damaged: "+s.Path()+": ") {
		t.Fatalf("%v", err)
	}
	want.Version, want.Folders, want.Grants = 0, nil, nil
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if _, ok, err := s.Granted(ctx, digest("t")); ok || !errors.Is(err, ErrDamaged) {
		t.Errorf("granted: %v, %v", ok, err)
	}
	if err := s.States().Set(ctx, SkillState{Name: "x", Switch: On}); !errors.Is(err, ErrDamaged) {
		t.Errorf("set: %v", err)
	}
	if f := s.Check(ctx); len(f) == 0 || f[0].Code != "store_damaged" || f[0].Level != skill.LevelError || f[0].Fix == "" {
		t.Errorf("%v", f)
	}
	if now, err := os.ReadFile(s.Path()); err != nil || !bytes.Equal(now, damaged) {
		t.Errorf("the damaged file was written over: %v", err)
	}

	other := reopen(t, s.Path()) // holds the old file open
	_, _ = other.Load(ctx)
	a, err := s.SetAside(ctx)
	if err != nil || a.Switches != 2 || a.Profiles != 1 || a.Choices != 1 || a.Rows != 2 {
		t.Fatalf("%+v, %v", a, err)
	}
	if moved, err := os.ReadFile(a.Moved); err != nil || !bytes.Equal(moved, damaged) || !strings.HasPrefix(a.Moved, filepath.Join(filepath.Dir(s.Path()), "damaged", "deft.db-2")) {
		t.Errorf("%s: %v", a.Moved, err)
	}
	if notes, err := s.Memories("/w", "me").All(ctx); err != nil || notes["a"] != "one" || notes["b"] != "two" {
		t.Errorf("notes %v, %v", notes, err)
	}
	for _, s := range []*Store{s, other} {
		if diff := cmp.Diff(want, load(t, s), decisions()); diff != "" {
			t.Error(diff)
		}
	}
	fill(t, s)
	if f := s.Check(ctx); len(f) != 2 || f[0].Code != "store_schema" || f[1].Code != "store_set_aside" {
		t.Errorf("%v", f)
	}
	if a, err := s.SetAside(ctx); err != nil || a.Moved != "" {
		t.Errorf("sound state: %+v, %v", a, err)
	}
}

func TestFileThatIsNoDatabaseIsSetAside(t *testing.T) {
	t.Parallel()
	for what, data := range map[string]string{"text": strings.Repeat("not a database\n", 500), "cut": ""} {
		s := open(t)
		fill(t, s)
		must(t, s.Close())
		if what == "cut" {
			whole, err := os.ReadFile(s.Path())
			must(t, err)
			data = string(whole[:len(whole)/2])
		}
		must(t, os.WriteFile(s.Path(), []byte(data), 0o600))
		s = reopen(t, s.Path())
		if st, err := s.Load(t.Context()); !errors.Is(err, ErrDamaged) || len(st.Folders)+len(st.Grants) > 0 {
			t.Errorf("%s: %v", what, err)
		}
		if a, err := s.SetAside(t.Context()); err != nil || a.Moved == "" {
			t.Errorf("%s: %+v, %v", what, a, err)
		}
		fill(t, s)
	}
}

func TestKilledSetAsideIsFinishedByTheNextCall(t *testing.T) {
	t.Parallel()
	s := open(t)
	want := fill(t, s)
	must(t, s.Close())
	damageRow(t, s.Path())
	cmd, out := command(t, "aside", s.Path(), "DEFT_FAULT=damage.move=kill")
	var exit *exec.ExitError
	if err := cmd.Run(); !errors.As(err, &exit) || exit.ExitCode() != -1 {
		t.Fatalf("%v\n%s", err, out)
	}
	want.Folders, want.Grants = nil, nil
	if diff := cmp.Diff(want, load(t, reopen(t, s.Path())), decisions()); diff != "" {
		t.Error(diff)
	}
}

// grown returns a Store that knows one schema more than this release.
func grown(t *testing.T, path string, now func() time.Time) *Store {
	t.Helper()
	s, err := Open(t.Context(), Options{DB: path, Release: "2.0", Now: now})
	must(t, err)
	t.Cleanup(func() { must(t, s.Close()) })
	more := fstest.MapFS{}
	known := embedded("sqlite")
	names, err := fs.Glob(known, "*.sql")
	must(t, err)
	for _, name := range names {
		text, err := fs.ReadFile(known, name)
		must(t, err)
		more[name] = &fstest.MapFile{Data: text}
	}
	next := fileOf(s).latest + 1
	more[fmt.Sprintf("%04d_more.sql", next)] = &fstest.MapFile{Data: fmt.Appendf(nil, "-- +goose Up\nCREATE TABLE more (x TEXT) STRICT;\n"+
		"UPDATE meta SET value = '%d' WHERE key = 'schema';\nPRAGMA user_version = %[1]d;\n", next)}
	fileOf(s).migrations = more
	fileOf(s).latest, err = latestSchema(fileOf(s).migrations)
	must(t, err)
	return s
}

func TestMigrationKeepsTheStateAndACopyOfTheOld(t *testing.T) {
	t.Parallel()
	old := open(t)
	want := fill(t, old)
	s := grown(t, old.Path(), nil)
	if diff := cmp.Diff(want, load(t, s)); diff != "" {
		t.Error(diff)
	}
	copies, err := filepath.Glob(filepath.Join(filepath.Dir(old.Path()), "backup", "deft-2.0-*.db"))
	if err != nil || len(copies) != 1 {
		t.Fatalf("%v, %v", copies, err)
	}
	if diff := cmp.Diff(want, load(t, reopen(t, copies[0]))); diff != "" {
		t.Error(diff)
	}
	// This release reads the newer schema, whose floor is 1, and does not write it.
	if diff := cmp.Diff(want, load(t, old)); diff != "" {
		t.Error(diff)
	}
	if err := old.States().Set(t.Context(), SkillState{Name: "x", Switch: On}); !errors.Is(err, ErrNewerSchema) {
		t.Errorf("%v", err)
	}
	must(t, s.States().Set(t.Context(), SkillState{Name: "x", Switch: On}))
	_, err = fileOf(s).handle.write.Exec(fmt.Sprintf("UPDATE meta SET value = '%d' WHERE key = 'compat_floor'", fileOf(s).latest))
	must(t, err)
	if st, err := old.Load(t.Context()); !errors.Is(err, ErrNewerSchema) || len(st.Folders) > 0 {
		t.Errorf("above the floor: %v", err)
	}
}

func TestOlderSchemaIsLeftAloneWhenToldSo(t *testing.T) {
	t.Parallel()
	old := open(t)
	fill(t, old)
	s := grown(t, old.Path(), nil)
	fileOf(s).o.NoMigrate = true
	if diff := cmp.Diff(load(t, old), load(t, s)); diff != "" {
		t.Errorf("what was decided counts: %s", diff)
	}
	if err := s.read(t.Context(), func(querier) error { return nil }); !errors.Is(err, ErrReadOnly) {
		t.Errorf("records, which it may not have: %v", err)
	}
	if err := s.States().Set(t.Context(), SkillState{Name: "x", Switch: On}); !errors.Is(err, ErrReadOnly) {
		t.Errorf("%v", err)
	}
	load(t, old)
}

func TestThreeBackupsStay(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for _, name := range []string{"deft-9.0-20260101T000000.000Z.db", "deft-1.0-20260401T000000.000Z.db", "deft-1.0-20260301T000000.000Z.db", "deft-2.0-20260201T000000.000Z.db", "other"} {
		must(t, os.WriteFile(filepath.Join(dir, name), nil, 0o600))
	}
	must(t, keepLast(dir, backupsKept))
	left, err := os.ReadDir(dir)
	if err != nil || len(left) != 4 {
		t.Errorf("%v, %v", left, err)
	}
	if _, err := os.Stat(filepath.Join(dir, "deft-9.0-20260101T000000.000Z.db")); err == nil {
		t.Error("the oldest stays")
	}
}

// Published versions come out of a damaged database, and what keeps their contents; a skill
// whose version was lost is there without one.
func TestPublishedVersionsAreSalvaged(t *testing.T) {
	t.Parallel()
	s, ctx := open(t), t.Context()
	fill(t, s)
	tree := func(text string) skill.Tree {
		return skill.Tree{{Path: "SKILL.md", Blob: skill.FileDigest([]byte(text))}}
	}
	for _, name := range []string{"whole", "lost"} {
		_, err := s.Versions().Publish(ctx, NewVersion{Name: name, Tree: tree(name), Channel: "stable"})
		must(t, err)
	}
	must(t, s.Close())
	damageRow(t, s.Path())
	db, err := sql.Open("sqlite", s.Path())
	must(t, err)
	for _, statement := range []string{
		"DELETE FROM channels WHERE skill_id = (SELECT id FROM skills WHERE name = 'lost')",
		"DELETE FROM skill_versions WHERE skill_id = (SELECT id FROM skills WHERE name = 'lost')", "DELETE FROM blob_refs",
	} {
		_, err := db.ExecContext(ctx, statement)
		must(t, err)
	}
	must(t, db.Close())
	s = reopen(t, s.Path())
	_, err = s.SetAside(ctx)
	must(t, err)
	offers, err := s.Versions().Offers(ctx)
	must(t, err)
	lost, err := s.Versions().Skill(ctx, "lost")
	must(t, err)
	kept, err := s.Refs().Kept(ctx, skill.FileDigest([]byte("whole")))
	must(t, err)
	stable, err := s.Versions().Find(ctx, "whole", "stable")
	if err != nil || len(offers) != 1 || offers[0].Name != "whole" || offers[0].Damaged != nil || stable.ID != offers[0].ID || lost.Status != Draft || len(kept) != 1 {
		t.Errorf("%+v, %+v, %v, %v", offers, lost, kept, err)
	}
	v, err := s.Versions().Publish(ctx, NewVersion{Name: "lost", Tree: tree("lost")})
	if err != nil || v.Number != 2 {
		t.Errorf("%+v, %v", v, err)
	}
}
