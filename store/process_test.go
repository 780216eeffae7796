//go:build unix

package store

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/deftskills/deft/internal/pgtest"
	"github.com/deftskills/deft/skill"
)

const childFolder = "/none/child"

// acts are the writes that are killed and starved, by the name of a child.
func acts() map[string]func(ctx context.Context, s *Store) error {
	return map[string]func(ctx context.Context, s *Store) error{
		"state": func(ctx context.Context, s *Store) error {
			return s.States().Set(ctx, SkillState{Name: "Commit", Switch: On, Reason: strings.Repeat("long ", 3000)})
		},
		"profile": func(ctx context.Context, s *Store) error {
			return s.SaveProfile(ctx, Profile{Name: "work", Include: []string{"all new"}})
		},
		"choice": func(ctx context.Context, s *Store) error { return s.ChooseProfile(ctx, childFolder, "work", "child") },
		"trust": func(ctx context.Context, s *Store) error {
			_, err := s.TrustFolder(ctx, childFolder, "child", "")
			return err
		},
		"untrust": func(ctx context.Context, s *Store) error {
			all, err := s.Folders(ctx)
			if err != nil {
				return err
			}
			return s.UntrustFolder(ctx, all[0].Root, "child")
		},
		"grant": func(ctx context.Context, s *Store) error {
			_, err := s.GrantSkill(ctx, Grant{Name: "new", Tree: skill.FileDigest([]byte("new"))})
			return err
		},
		"revoke": func(ctx context.Context, s *Store) error {
			all, err := s.Grants(ctx)
			if err != nil {
				return err
			}
			return s.Revoke(ctx, "child", all[0].ID)
		},
	}
}

func points() map[string]string {
	return map[string]string{
		"state": "state.save", "profile": "state.save", "choice": "state.save",
		"trust": "trust.save", "untrust": "trust.revoke", "grant": "grant.save", "revoke": "trust.revoke",
	}
}

// child runs in another process and returns its exit code.
func child(name string) int {
	if name, ok := strings.CutPrefix(name, "record "); ok {
		return recordChild(name)
	}
	ctx := context.Background()
	s, err := Open(ctx, Options{DB: os.Getenv("DEFT_TEST_DB"), Busy: time.Minute, Verb: "child", Tenant: os.Getenv("DEFT_TEST_TENANT")})
	if err != nil {
		return fail(err)
	}
	switch {
	case name == "many":
		for i := range childWrites {
			key := fmt.Sprintf("%s-%d", os.Getenv("DEFT_TEST_ID"), i)
			if err := s.States().Set(ctx, SkillState{Name: key, Switch: Off}); err != nil {
				return fail(err)
			}
			if _, err := s.TrustFolder(ctx, childFolder, key, ""); err != nil {
				return fail(err)
			}
			fmt.Println(key)
		}
	case name == "publish":
		if err := publishForm(ctx, s, os.Getenv("DEFT_TEST_BLOBS"), "two"); err != nil {
			return fail(err)
		}
	case name == "aside":
		if _, err := s.SetAside(ctx); err != nil {
			return fail(err)
		}
	case name == "look":
		st, err := s.Load(ctx)
		if err != nil {
			return fail(err)
		}
		if err := acts()["state"](ctx, s); !errors.Is(err, ErrReadOnly) || !strings.Contains(err.Error(), s.Path()) {
			return fail(fmt.Errorf("write: %w", err))
		}
		fmt.Printf("%d\n", st.Version)
	default:
		if limit := os.Getenv("DEFT_TEST_FSIZE"); limit != "" {
			if err := limitFiles(limit); err != nil {
				return fail(err)
			}
		}
		if err := acts()[name](ctx, s); err != nil {
			return fail(err)
		}
	}
	if err := s.Close(); err != nil {
		return fail(err)
	}
	return 0
}

const childWrites = 15

func fail(err error) int {
	fmt.Fprintln(os.Stderr, err)
	return 3
}

func command(t *testing.T, name, db string, env ...string) (*exec.Cmd, *bytes.Buffer) {
	t.Helper()
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(append(os.Environ(), "DEFT_TEST_CHILD="+name, "DEFT_TEST_DB="+db), env...)
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	return cmd, &out
}

// decisions compares states without what a new write always changes.
func decisions() cmp.Options {
	return cmp.Options{
		cmpopts.IgnoreFields(State{}, "Version"), cmpopts.IgnoreFields(SkillState{}, "UpdatedAt"),
		cmpopts.IgnoreFields(Profile{}, "UpdatedAt"), cmpopts.IgnoreFields(Choice{}, "UpdatedAt"),
		cmpopts.IgnoreFields(Folder{}, "ID", "At"), cmpopts.IgnoreFields(Grant{}, "ID", "At"),
	}
}

func copyState(t *testing.T, from string) string {
	t.Helper()
	data, err := os.ReadFile(from)
	must(t, err)
	to := filepath.Join(t.TempDir(), "deft.db")
	must(t, os.WriteFile(to, data, 0o600))
	return to
}

// eachFilled runs f with databases of each kind in which every decision was made once.
func eachFilled(t *testing.T, f func(t *testing.T, fresh func(t *testing.T) string)) {
	t.Helper()
	t.Run("SQLite", func(t *testing.T) {
		t.Parallel()
		s := open(t)
		fill(t, s)
		must(t, s.Close())
		f(t, func(t *testing.T) string { return copyState(t, s.Path()) })
	})
	t.Run("PostgreSQL", func(t *testing.T) {
		t.Parallel()
		root := t.TempDir()
		f(t, func(t *testing.T) string {
			return pgtest.From(t, "filled", func(address string) error {
				s, err := Open(t.Context(), Options{DB: address})
				must(t, err)
				fillBelow(t, s, root)
				return s.Close()
			})
		})
	})
}

func TestR01KilledWriteLeavesOldOrNew(t *testing.T) {
	t.Parallel()
	eachFilled(t, func(t *testing.T, fresh func(t *testing.T) string) {
		for name, act := range acts() {
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				killedWrite(t, name, act, fresh)
			})
		}
	})
}

func killedWrite(t *testing.T, name string, act func(context.Context, *Store) error, fresh func(t *testing.T) string) {
	t.Helper()
	done := reopen(t, fresh(t))
	before := load(t, done)
	must(t, act(t.Context(), done))
	after := load(t, done)
	if cmp.Equal(before, after, decisions()) {
		t.Fatal("the act changes nothing")
	}
	for pass, want := range map[int]State{1: before, 2: after} {
		db := fresh(t)
		cmd, out := command(t, name, db, fmt.Sprintf("DEFT_FAULT=%s=kill@%d", points()[name], pass))
		err := cmd.Run()
		var exit *exec.ExitError
		if !errors.As(err, &exit) || exit.Sys().(syscall.WaitStatus).Signal() != syscall.SIGKILL {
			t.Fatalf("%v\n%s", err, out)
		}
		killed := reopen(t, db)
		if diff := cmp.Diff(want, load(t, killed), decisions()); diff != "" {
			t.Errorf("killed at pass %d: %s", pass, diff)
		}
		must(t, acts()["state"](t.Context(), killed))
		for _, f := range killed.Check(t.Context()) {
			if f.Level != skill.LevelInfo {
				t.Errorf("after the next run: %+v", f)
			}
		}
	}
}

func TestR01KilledFirstWriteLeavesOldOrNew(t *testing.T) {
	t.Parallel()
	for _, spec := range []string{"migrate.step=kill", "migrate.step=kill@2", "state.save=kill"} {
		eachKind(t, func(t *testing.T, db string) {
			cmd, _ := command(t, "state", db, "DEFT_FAULT="+spec)
			if err := cmd.Run(); err == nil {
				t.Fatalf("%s: not killed", spec)
			}
			s := reopen(t, db)
			if diff := cmp.Diff(State{}, load(t, s)); diff != "" {
				t.Errorf("%s: %s", spec, diff)
			}
			if st := fill(t, s); len(st.Switches) != 2 {
				t.Errorf("%s: %v", spec, st)
			}
		})
	}
}

func TestR05ProcessesAtOnceLoseNoUpdate(t *testing.T) {
	t.Parallel()
	eachKind(t, processesAtOnce)
}

func processesAtOnce(t *testing.T, db string) {
	t.Helper()
	s := reopen(t, db)
	var running []*exec.Cmd
	const processes = 3
	for id := range processes {
		cmd, out := command(t, "many", db, fmt.Sprintf("DEFT_TEST_ID=p%d", id))
		must(t, cmd.Start())
		running = append(running, cmd)
		t.Cleanup(func() {
			if t.Failed() {
				t.Log(out)
			}
		})
	}
	for _, cmd := range running {
		if err := cmd.Wait(); err != nil {
			t.Error(err)
		}
	}
	st := load(t, s)
	if len(st.Switches) != processes*childWrites || len(st.Folders) != 1 {
		t.Errorf("%d switches, %d folders", len(st.Switches), len(st.Folders))
	}
	// Every decision before the standing one is kept as history.
	var n int
	must(t, s.read(t.Context(), func(q querier) error {
		return q.QueryRowContext(t.Context(), "SELECT count(*) FROM trust").Scan(&n)
	}))
	if n != processes*childWrites {
		t.Errorf("%d decisions about the folder", n)
	}
}

// Killed wherever it happens to be, a writer leaves what it had said to be saved.
func TestR01KilledAnywhereKeepsWhatWasSaved(t *testing.T) {
	t.Parallel()
	for saved := range 6 {
		s := open(t)
		cmd, _ := command(t, "many", s.Path())
		cmd.Stdout = nil
		out, err := cmd.StdoutPipe()
		must(t, err, cmd.Start())
		lines := bufio.NewScanner(out)
		for range saved {
			lines.Scan()
		}
		must(t, cmd.Process.Kill())
		_ = cmd.Wait()
		st := load(t, s)
		if len(st.Switches) < saved || saved > 0 && len(st.Folders) != 1 {
			t.Errorf("%d saved, %d there", saved, len(st.Switches))
		}
		fill(t, s)
		for _, f := range s.Check(t.Context()) {
			if f.Level != skill.LevelInfo {
				t.Errorf("%+v", f)
			}
		}
	}
}

func TestR02FailedWriteLeavesTheOldState(t *testing.T) {
	t.Parallel()
	s := open(t)
	before := fill(t, s)
	must(t, s.Close())
	for name := range acts() {
		for code, say := range map[string]string{"ENOSPC": "disk is full", "EIO": "input/output error", "EROFS": "read-only"} {
			db := copyState(t, s.Path())
			cmd, out := command(t, name, db, "DEFT_FAULT="+points()[name]+"=err:"+code)
			if err := cmd.Run(); err == nil || !strings.Contains(out.String(), db) || !strings.Contains(out.String(), say) {
				t.Errorf("%s %s: %v\n%s", name, code, err, out)
			}
			if diff := cmp.Diff(before, load(t, reopen(t, db))); diff != "" {
				t.Errorf("%s %s: %s", name, code, diff)
			}
		}
	}
}

func TestFullDiskNamesThePathAndLeavesTheOldState(t *testing.T) {
	t.Parallel()
	s := open(t)
	before := fill(t, s)
	must(t, s.States().Clear(t.Context(), "none"))
	var pages int
	must(t, fileOf(s).handle.write.QueryRow("PRAGMA page_count").Scan(&pages))
	must(t, fileOf(s).handle.write.QueryRow(fmt.Sprintf("PRAGMA max_page_count = %d", pages)).Scan(&pages))
	err := s.States().Set(t.Context(), SkillState{Name: "x", Switch: Off, Reason: strings.Repeat("x", 100_000)})
	if !errors.Is(err, ErrFull) || Code(err) != "store_full" || !strings.Contains(err.Error(), s.Path()) {
		t.Errorf("%v", err)
	}
	if diff := cmp.Diff(before, load(t, s)); diff != "" {
		t.Error(diff)
	}
	must(t, s.States().Set(t.Context(), SkillState{Name: "Commit", Switch: Off}))
}

// The system refuses to let any file grow beyond a limit: the log is cut at many
// places.
func TestFilesThatCannotGrowLeaveTheOldState(t *testing.T) {
	t.Parallel()
	s := open(t)
	before := fill(t, s)
	must(t, s.Close())
	for _, limit := range []int64{1, 4096, 12_000, 20_000} {
		db := copyState(t, s.Path())
		cmd, out := command(t, "state", db, fmt.Sprintf("DEFT_TEST_FSIZE=%d", limit))
		if err := cmd.Run(); err == nil || !strings.Contains(out.String(), db) {
			t.Errorf("limit %d: %v\n%s", limit, err, out)
		}
		if diff := cmp.Diff(before, load(t, reopen(t, db))); diff != "" {
			t.Errorf("limit %d: %s", limit, diff)
		}
	}
}

func TestReadOnlyDirectoryIsReadAndNotWritten(t *testing.T) {
	t.Parallel()
	s := open(t)
	want := fill(t, s)
	must(t, s.Close())
	dir := filepath.Dir(s.Path())
	cmd, out := command(t, "look", s.Path())
	asSomebodyElse(t, cmd, dir, s.Path())
	must(t, os.Remove(fileOf(s).lockPath), os.Chmod(s.Path(), 0o444), os.Chmod(dir, 0o555))
	t.Cleanup(func() { _ = os.Chmod(dir, 0o700) })
	if err := cmd.Run(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	// A binary built for coverage says more, of files that it can't reach.
	if got, _, _ := strings.Cut(out.String(), "\n"); got != fmt.Sprint(want.Version) {
		t.Errorf("read %q, want version %d", got, want.Version)
	}
	left, err := filepath.Glob(filepath.Join(dir, "*"))
	if err != nil || !slices.Equal(left, []string{s.Path()}) {
		t.Errorf("%v, %v", left, err)
	}
}
