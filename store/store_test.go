package store

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/deftskills/deft/internal/lockfile"
	"github.com/deftskills/deft/skill"
)

func digest(s string) skill.Digest { return skill.FileDigest([]byte(s)) }

// open returns a Store on a new path and closes it at the test's end.
func open(t testing.TB) *Store {
	t.Helper()
	return reopen(t, filepath.Join(t.TempDir(), "state", "deft.db"))
}

func reopen(t testing.TB, path string) *Store {
	t.Helper()
	s, err := Open(context.Background(), Options{DB: path})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return s
}

// fileOf returns the file of a Store that has one.
func fileOf(s *Store) *file { return s.b.(*file) }

func load(t testing.TB, s *Store) State {
	t.Helper()
	st, err := s.Load(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	return st
}

func must(t testing.TB, errs ...error) {
	t.Helper()
	if err := errors.Join(errs...); err != nil {
		t.Fatal(err)
	}
}

// fill makes one decision of every kind and returns the state.
func fill(t testing.TB, s *Store) State {
	t.Helper()
	return fillBelow(t, s, t.TempDir())
}

func fillBelow(t testing.TB, s *Store, root string) State {
	t.Helper()
	ctx, other := context.Background(), filepath.Join(root, "other")
	must(t, os.Mkdir(other, 0o700))
	must(t,
		s.States().Set(ctx, SkillState{Name: "Commit", Switch: Deny, Tree: digest("a"), Reason: "no", UpdatedBy: "cli"}),
		s.States().Set(ctx, SkillState{Name: "docs", Source: "user-deft", Switch: Off}),
		s.SaveProfile(ctx, Profile{Name: "work", Title: "工作", Include: []string{"docs-*", "a@b"}, Exclude: []string{"x"}}),
		s.ChooseProfile(ctx, root, "work", "cli"),
		s.SwitchLocations(ctx, true, "file:///a/SKILL.md"))
	_, err := s.TrustFolder(ctx, root, "cli", "mine")
	must(t, err)
	_, err = s.RefuseFolder(ctx, other, "cli", "")
	must(t, err)
	_, err = s.GrantSkill(ctx, Grant{Name: "pdf", Source: "user", Tree: digest("t"), AllowedTools: []string{"Bash(git:*)"}, Hooks: digest("h")})
	must(t, err)
	return load(t, s)
}

func TestLookingAtNoStateCreatesNothing(t *testing.T) {
	t.Parallel()
	s := open(t)
	ctx := t.Context()
	if diff := cmp.Diff(State{}, load(t, s)); diff != "" {
		t.Error(diff)
	}
	if _, err := s.States().Get(ctx, "x"); !errors.Is(err, ErrNotFound) {
		t.Errorf("get: %v", err)
	}
	if ok, _, err := s.FolderTrust(ctx, "/"); ok || err != nil {
		t.Errorf("folder trust %v, %v", ok, err)
	}
	if n, err := s.Version(ctx); n != 0 || err != nil {
		t.Errorf("version %d, %v", n, err)
	}
	if f := s.Check(ctx); len(f) != 0 {
		t.Errorf("findings %v", f)
	}
	if _, err := os.Stat(filepath.Dir(s.Path())); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("state directory: %v", err)
	}
}

func TestEverythingComesBackAsItWasSaved(t *testing.T) {
	t.Parallel()
	s := open(t)
	want := fill(t, s)
	if len(want.Switches) != 2 || len(want.Profiles) != 1 || len(want.Choices) != 1 || len(want.Folders) != 2 || len(want.Grants) != 1 {
		t.Fatalf("%+v", want)
	}
	must(t, s.Close())
	again := reopen(t, s.Path())
	if diff := cmp.Diff(want, load(t, again)); diff != "" {
		t.Error(diff)
	}
	for path, mode := range map[string]os.FileMode{s.Path(): 0o600, fileOf(s).lockPath: 0o600, filepath.Dir(s.Path()): 0o700} {
		info, err := os.Stat(path)
		must(t, err)
		if info.Mode().Perm() != mode {
			t.Errorf("%s has mode %v", path, info.Mode())
		}
	}
	for _, f := range again.Check(t.Context()) {
		if f.Level != skill.LevelInfo {
			t.Errorf("finding %+v", f)
		}
	}
}

func TestWriterBringsEveryCommitToTheDisk(t *testing.T) {
	t.Parallel()
	s := open(t)
	fill(t, s)
	for pragma, want := range map[string]string{"journal_mode": "wal", "synchronous": "2", "foreign_keys": "1", "trusted_schema": "0", "temp_store": "2", "busy_timeout": "5000"} {
		var got string
		must(t, fileOf(s).handle.write.QueryRow("PRAGMA "+pragma).Scan(&got))
		if got != want {
			t.Errorf("%s is %s", pragma, got)
		}
	}
	if _, err := fileOf(s).handle.read.Exec("DELETE FROM trust"); err == nil {
		t.Error("a reader wrote")
	}
}

func TestSwitchFollowsARenameOnlyWithTheSameTree(t *testing.T) {
	t.Parallel()
	s := open(t)
	ctx, st := t.Context(), s.States()
	must(t, st.Set(ctx, SkillState{Name: "Old", Switch: Off, Tree: digest("a")}))
	for _, tc := range []struct {
		old  string
		tree skill.Digest
		want bool
	}{
		{"old", digest("b"), false},
		{"old", "", false},
		{"other", digest("a"), false},
		{"old", digest("a"), true},
	} {
		if got, err := st.Follow(ctx, tc.old, "New", "src", tc.tree); got != tc.want || err != nil {
			t.Errorf("%v: %v, %v", tc, got, err)
		}
	}
	if r, err := st.Get(ctx, Key("NEW", "src")); err != nil || r.Switch != Off || r.Key != "new@src" {
		t.Errorf("%+v, %v", r, err)
	}
	must(t, st.Set(ctx, SkillState{Name: "old", Switch: Deny, Tree: digest("a")}))
	if got, err := st.Follow(ctx, "old", "new", "src", digest("a")); got || err != nil {
		t.Errorf("over a switch: %v, %v", got, err)
	}
	must(t, st.Clear(ctx, "new@src"), st.Clear(ctx, "never"))
	if all, err := st.List(ctx); err != nil || len(all) != 1 || all[0].Switch != Deny {
		t.Errorf("%v, %v", all, err)
	}
}

func TestInvalidValuesAreRefusedAndChangeNothing(t *testing.T) {
	t.Parallel()
	s := open(t)
	ctx := t.Context()
	before := fill(t, s)
	_, badGrant := s.GrantSkill(ctx, Grant{Name: "x", Tree: "sha256:short"})
	_, noTree := s.GrantSkill(ctx, Grant{Name: "x"})
	_, relative := s.TrustFolder(ctx, "here", "cli", "")
	for what, err := range map[string]error{
		"switch":   s.States().Set(ctx, SkillState{Name: "x", Switch: "maybe"}),
		"name":     s.States().Set(ctx, SkillState{Switch: On}),
		"digest":   s.States().Set(ctx, SkillState{Name: "x", Switch: On, Tree: "md5:1"}),
		"profile":  s.SaveProfile(ctx, Profile{}),
		"grant":    badGrant,
		"no tree":  noTree,
		"relative": relative,
	} {
		if !errors.Is(err, ErrInvalid) {
			t.Errorf("%s: %v", what, err)
		}
	}
	for what, err := range map[string]error{
		"untrust": s.UntrustFolder(ctx, t.TempDir(), "cli"),
		"revoke":  s.Revoke(ctx, "cli", "none"),
		"delete":  s.DeleteProfile(ctx, "none"),
	} {
		if !errors.Is(err, ErrNotFound) {
			t.Errorf("%s: %v", what, err)
		}
	}
	if diff := cmp.Diff(before, load(t, s)); diff != "" {
		t.Error(diff)
	}
}

func TestProfilesInACircleAreRefused(t *testing.T) {
	t.Parallel()
	s := open(t)
	ctx := t.Context()
	must(t, s.SaveProfile(ctx, Profile{Name: "a", Extends: "b"}), s.SaveProfile(ctx, Profile{Name: "b", Extends: "c"}))
	for _, p := range []Profile{{Name: "c", Extends: "a"}, {Name: "d", Extends: "d"}} {
		if err := s.SaveProfile(ctx, p); !errors.Is(err, ErrCycle) || Code(err) != "profile_cycle" {
			t.Errorf("%s: %v", p.Name, err)
		}
	}
	must(t, s.SaveProfile(ctx, Profile{Name: "c", Extends: "of config.yaml"}), s.DeleteProfile(ctx, "b"))
	if all, err := s.Profiles(ctx); err != nil || len(all) != 2 {
		t.Errorf("%v, %v", all, err)
	}
	if p, err := s.Profile(ctx, "a"); err != nil || p.Extends != "b" {
		t.Errorf("%v, %v", p, err)
	}
}

func TestLocationsAreKeptInTheFormOfTheirDialect(t *testing.T) {
	t.Parallel()
	s := open(t)
	ctx := t.Context()
	value := func() (v string) {
		must(t, s.read(ctx, func(q querier) (err error) { v, err = metaText(ctx, q, locationsKey); return err }))
		return v
	}
	must(t, s.SwitchLocations(ctx, true, "file:///b"), s.SwitchLocations(ctx, true, "file:///a"), s.SwitchLocations(ctx, true, "file:///b"))
	if v := value(); v != `{"version":1,"disabledLocationUris":["file:///a","file:///b"]}` {
		t.Error(v)
	}
	if diff := cmp.Diff([]string{"file:///a", "file:///b"}, load(t, s).Locations); diff != "" {
		t.Error(diff)
	}
	must(t, s.SwitchLocations(ctx, false, "file:///a"), s.SwitchLocations(ctx, false, "file:///b"), s.SwitchLocations(ctx, false, "file:///b"))
	if v := value(); v != "" || load(t, s).Locations != nil {
		t.Errorf("an empty list leaves %q", v)
	}
	for _, broken := range []string{"", "x", "[]", `{"version":2,"disabledLocationUris":["a"]}`, `{"version":1,"disabledLocationUris":"a"}`} {
		if uris := readLocations(broken); len(uris) != 0 {
			t.Errorf("%s turns off %q", broken, uris)
		}
	}
}

func TestFolderTrustIsForExactlyTheResolvedRoot(t *testing.T) {
	t.Parallel()
	s := open(t)
	ctx := t.Context()
	base, err := filepath.EvalSymlinks(t.TempDir())
	must(t, err)
	root, nested, link := filepath.Join(base, "repo"), filepath.Join(base, "repo", "nested"), filepath.Join(base, "link")
	must(t, os.MkdirAll(nested, 0o755), os.Symlink(root, link))
	f, err := s.TrustFolder(ctx, link, "cli", "")
	if err != nil || f.Root != root {
		t.Fatalf("%+v, %v", f, err)
	}
	for path, want := range map[string]bool{root: true, nested: false, base: false, link: false, root + "/": false, strings.ToUpper(root): false} {
		if got, _, err := s.FolderTrust(ctx, path); got != want || err != nil {
			t.Errorf("%s: %v, %v", path, got, err)
		}
	}
	_, err = s.RefuseFolder(ctx, root, "cli", "")
	must(t, err)
	if ok, f, err := s.FolderTrust(ctx, root); ok || !f.Refused || err != nil {
		t.Errorf("refused: %v, %+v, %v", ok, f, err)
	}
	_, err = s.TrustFolder(ctx, root, "cli", "")
	must(t, err, os.RemoveAll(root), s.UntrustFolder(ctx, root, "cli"))
	if ok, f, err := s.FolderTrust(ctx, root); ok || f.ID != "" || err != nil {
		t.Errorf("withdrawn: %v, %+v, %v", ok, f, err)
	}
	if all, err := s.Folders(ctx); len(all) != 0 || err != nil {
		t.Errorf("%v, %v", all, err)
	}
}

func TestGrantIsForOneTree(t *testing.T) {
	t.Parallel()
	s := open(t)
	ctx := t.Context()
	first, err := s.GrantSkill(ctx, Grant{Name: "pdf", Source: "user", Tree: digest("a")})
	must(t, err)
	second, err := s.GrantSkill(ctx, Grant{Name: "pdf", Source: "user", Tree: digest("a"), Note: "again"})
	must(t, err)
	if all, err := s.Grants(ctx); err != nil || len(all) != 1 || all[0].ID != second.ID || first.ID == second.ID {
		t.Fatalf("%v, %v", all, err)
	}
	if g, ok, err := s.Granted(ctx, digest("a")); !ok || err != nil || g.Note != "again" {
		t.Errorf("%+v, %v, %v", g, ok, err)
	}
	if _, ok, err := s.Granted(ctx, digest("b")); ok || err != nil {
		t.Errorf("another tree: %v, %v", ok, err)
	}
	must(t, s.Revoke(ctx, "cli", second.ID))
	if _, ok, err := s.Granted(ctx, digest("a")); ok || err != nil {
		t.Errorf("revoked: %v, %v", ok, err)
	}
	if err := s.Revoke(ctx, "cli", second.ID); !errors.Is(err, ErrNotFound) {
		t.Errorf("twice: %v", err)
	}
}

func TestVersionChangesWithEveryChangeOfAnyProcess(t *testing.T) {
	t.Parallel()
	mine := open(t)
	other := reopen(t, mine.Path())
	ctx := t.Context()
	seen := map[int64]bool{0: true}
	for i, s := range []*Store{mine, other, mine, other} {
		must(t, s.States().Set(ctx, SkillState{Name: string(rune('a' + i)), Switch: Off}))
		n, err := mine.Version(ctx)
		if err != nil || seen[n] || n != load(t, other).Version {
			t.Errorf("version %d, %v", n, err)
		}
		seen[n] = true
	}
	n, _ := mine.Version(ctx)
	must(t, mine.States().Clear(ctx, "none"))
	if again, _ := mine.Version(ctx); again != n {
		t.Errorf("nothing changed, yet %d is %d", n, again)
	}
}

func TestStateThatOthersMayWriteIsRefused(t *testing.T) {
	t.Parallel()
	s := open(t)
	ctx := t.Context()
	fill(t, s)
	dir := filepath.Dir(s.Path())
	for _, path := range []string{dir, s.Path()} {
		info, err := os.Stat(path)
		must(t, err, os.Chmod(path, info.Mode().Perm()|0o020))
		if _, err := Open(ctx, Options{DB: s.Path()}); !errors.Is(err, ErrDirOpen) || !strings.Contains(err.Error(), path) {
			t.Errorf("%s: %v", path, err)
		}
		if _, err := s.TrustFolder(ctx, t.TempDir(), "cli", ""); !errors.Is(err, ErrDirOpen) {
			t.Errorf("%s: write: %v", path, err)
		}
		if f := s.Check(ctx); len(f) == 0 || f[0].Code != "store_dir_open" || f[0].Level != skill.LevelError {
			t.Errorf("%s: %v", path, f)
		}
		must(t, os.Chmod(path, info.Mode().Perm()))
	}
}

func TestOnlyAnAbsolutePathOfSQLiteIsOpened(t *testing.T) {
	t.Parallel()
	for _, db := range []string{"", "deft.db", "sqlite:deft.db", "postgres://me:secret@host:port/db", "postgres://me:secret@host/db?password=%zz", "mysql:/x"} {
		_, err := Open(t.Context(), Options{DB: db})
		if !errors.Is(err, ErrDSN) || Code(err) != "store_dsn" || strings.Contains(err.Error(), "secret") {
			t.Errorf("%q: %v", db, err)
		}
	}
	odd := reopen(t, filepath.Join(t.TempDir(), "a?b#c%20 d&mode=x", "deft.db"))
	fill(t, odd)
	if _, err := os.Stat(odd.Path()); err != nil {
		t.Error(err)
	}
}

func TestReadOnlyStoreWritesNothing(t *testing.T) {
	t.Parallel()
	s := open(t)
	want := fill(t, s)
	must(t, s.Close())
	ro, err := Open(t.Context(), Options{DB: s.Path(), ReadOnly: true})
	must(t, err)
	defer ro.Close()
	if diff := cmp.Diff(want, load(t, ro)); diff != "" {
		t.Error(diff)
	}
	if err := ro.States().Set(t.Context(), SkillState{Name: "x", Switch: On}); !errors.Is(err, ErrReadOnly) {
		t.Errorf("%v", err)
	}
}

func TestBusyNamesWhoWrites(t *testing.T) {
	t.Parallel()
	s, err := Open(t.Context(), Options{DB: filepath.Join(t.TempDir(), "deft.db"), Busy: 20 * time.Millisecond})
	must(t, err)
	defer s.Close()
	want := fill(t, s)
	held, err := lockfile.Exclusive(t.Context(), fileOf(s).lockPath, lockfile.Options{Verb: "trust"})
	must(t, err)
	err = s.States().Set(t.Context(), SkillState{Name: "x", Switch: On})
	var busy *lockfile.BusyError
	if !errors.Is(err, ErrBusy) || !errors.As(err, &busy) || busy.Holder.PID != os.Getpid() || !strings.Contains(err.Error(), "deft trust (pid ") {
		t.Errorf("%v", err)
	}
	if diff := cmp.Diff(want, load(t, s)); diff != "" {
		t.Errorf("reading while another writes: %s", diff)
	}
	must(t, held.Release(), s.States().Set(t.Context(), SkillState{Name: "x", Switch: On}))
}

func TestEveryErrorHasItsCodeInTheTable(t *testing.T) {
	t.Parallel()
	for _, c := range codes() {
		if row, ok := skill.LookupCode(c.code); !ok || row.Fix == "" || row.Level != skill.LevelError {
			t.Errorf("%s: %+v", c.code, row)
		}
	}
	if Code(ErrNotFound) != "" {
		t.Error("an answer has a code")
	}
}

func TestCloseIsForGoodAndMayBeRepeated(t *testing.T) {
	t.Parallel()
	s := open(t)
	fill(t, s)
	must(t, s.Close(), s.Close())
	if _, err := s.Load(t.Context()); !errors.Is(err, ErrClosed) {
		t.Errorf("%v", err)
	}
	if err := s.States().Set(t.Context(), SkillState{Name: "x", Switch: On}); !errors.Is(err, ErrClosed) {
		t.Errorf("%v", err)
	}
	for _, suffix := range []string{"-wal", "-shm"} {
		if _, err := os.Stat(s.Path() + suffix); !errors.Is(err, os.ErrNotExist) {
			t.Errorf("%s is left: %v", suffix, err)
		}
	}
}

func TestManyGoroutinesLoseNothing(t *testing.T) {
	t.Parallel()
	s := open(t)
	ctx := t.Context()
	var wg sync.WaitGroup
	for g := range 4 {
		wg.Go(func() {
			for i := range 10 {
				name := string(rune('a'+g)) + string(rune('a'+i))
				if err := s.States().Set(ctx, SkillState{Name: name, Switch: Off}); err != nil {
					t.Error(err)
				}
				if _, err := s.Load(ctx); err != nil {
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
	if st := load(t, s); len(st.Switches) != 40 {
		t.Errorf("%d of 40", len(st.Switches))
	}
}

func TestStateIsWhatTheLastDecisionsSay(t *testing.T) {
	t.Parallel()
	s := open(t)
	ctx, model := t.Context(), map[string]Switch{}
	trusted := map[string]bool{}
	rapid.Check(t, func(t *rapid.T) {
		name := rapid.SampledFrom([]string{"a", "b", "ü", "a b"}).Draw(t, "name")
		source := rapid.SampledFrom([]string{"", "user"}).Draw(t, "source")
		root := rapid.SampledFrom([]string{"/none/a", "/none/a/b"}).Draw(t, "root")
		var err error
		switch rapid.IntRange(0, 3).Draw(t, "act") {
		case 0:
			sw := rapid.SampledFrom([]Switch{On, Off, Deny}).Draw(t, "switch")
			err = s.States().Set(ctx, SkillState{Name: name, Source: source, Switch: sw})
			model[Key(name, source)] = sw
		case 1:
			err = s.States().Clear(ctx, Key(name, source))
			delete(model, Key(name, source))
		case 2:
			_, err = s.TrustFolder(ctx, root, "cli", "")
			trusted[root] = true
		case 3:
			if err = s.UntrustFolder(ctx, root, "cli"); errors.Is(err, ErrNotFound) && !trusted[root] {
				err = nil
			}
			delete(trusted, root)
		}
		st, loadErr := s.Load(ctx)
		if err := errors.Join(err, loadErr); err != nil {
			t.Fatal(err)
		}
		got, folders := map[string]Switch{}, map[string]bool{}
		for _, r := range st.Switches {
			got[r.Key] = r.Switch
		}
		for _, f := range st.Folders {
			folders[f.Root] = !f.Refused
		}
		if diff := cmp.Diff(model, got) + cmp.Diff(trusted, folders); diff != "" {
			t.Fatal(diff)
		}
	})
}
