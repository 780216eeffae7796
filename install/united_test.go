package install_test

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/deftskills/deft/install"
)

// marked is what git makes of three versions of a file that do not merge.
func marked(t *testing.T, base, ours, theirs string) string {
	t.Helper()
	dir := t.TempDir()
	for name, text := range map[string]string{"base": base, "ours": ours, "theirs": theirs} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	cmd := exec.Command("git", "merge-file", "-p", "ours", "base", "theirs")
	cmd.Dir = dir
	out, err := cmd.Output()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) || !strings.Contains(string(out), "<<<<<<<") {
		t.Fatalf("%s %v", out, err)
	}
	return string(out)
}

func TestBothSidesOfAMergeCountInALockFile(t *testing.T) {
	t.Parallel()
	entry := func(name string) string {
		return `    "` + name + `": {
      "source": "./source/` + name + `",
      "sourceType": "local",
      "unknown": [1.50, "` + name + `"]
    }`
	}
	lock := func(list ...string) string {
		return "{\n  \"version\": 3,\n  \"skills\": {\n" + strings.Join(list, ",\n") + "\n  }\n}\n"
	}
	m := newMachine(t)
	m.write("home/.agents/.skill-lock.json", marked(t, lock(), lock(entry("a"), entry("b")), lock(entry("b"), entry("c"))))
	for range 2 {
		list, err := install.ReadPublic(m.scope)
		var names []string
		for _, p := range list {
			names = append(names, p.Name)
		}
		if want := []string{"a", "b", "c"}; err != nil || !slices.Equal(slices.DeleteFunc(names, func(n string) bool { return n == "one" }), want) {
			t.Fatalf("%q %v", names, err)
		}
		if err := m.add(t.Context(), "one"); err != nil {
			t.Fatal(err)
		}
		got := m.text("home/.agents/.skill-lock.json")
		for _, want := range []string{`1.50`, `"a"`, `"c"`, `"one"`} {
			if !strings.Contains(got, want) || strings.Contains(got, "<<<<") {
				t.Errorf("no %s in %s", want, got)
			}
		}
	}
	// Each says something else of b: nobody but a person knows.
	other := strings.Replace(entry("b"), "1.50", "2", 1)
	conflict := marked(t, lock(entry("a")), lock(entry("a"), entry("b")), lock(entry("a"), other))
	m.write("home/.agents/.skill-lock.json", conflict)
	if _, err := install.ReadPublic(m.scope); !errors.Is(err, install.ErrLockMerge) || !strings.Contains(err.Error(), "differ on b;") {
		t.Errorf("%v", err)
	}
	if err := m.add(t.Context(), "two"); err != nil || m.text("home/.agents/.skill-lock.json") != conflict {
		t.Errorf("%v\n%s", err, m.text("home/.agents/.skill-lock.json"))
	}
}

func TestBothSidesOfAMergeCountInDeftsOwn(t *testing.T) {
	t.Parallel()
	m := newMachine(t)
	at := func(names ...string) string {
		if err := errors.Join(m.add(t.Context(), names...)); err != nil {
			t.Fatal(err)
		}
		text := m.text("data/deft.lock")
		if err := m.remove(t.Context(), names...); err != nil {
			t.Fatal(err)
		}
		return text
	}
	base := "{\n  \"lockfile\": 1,\n  \"skills\": {}\n}\n"
	one, two := at("one"), at("two")
	m.write("data/deft.lock", marked(t, base, one, two))
	lock, err := install.ReadLock(m.scope.Lock, false)
	if err != nil || !slices.Equal(lock.Names(), []string{"one", "two"}) {
		t.Fatalf("%v %v", lock, err)
	}
	differ := marked(t, one, strings.Replace(one, `"mode": "link"`, `"mode": "copy"`, 1), strings.Replace(one, `"mode": "link"`, `"mode": "other"`, 1))
	m.write("data/deft.lock", differ)
	if _, err := install.ReadLock(m.scope.Lock, false); !errors.Is(err, install.ErrLockMerge) {
		t.Errorf("two values of one skill: %v", err)
	}
	if err := m.add(t.Context(), "one"); !errors.Is(err, install.ErrLockMerge) || m.text("data/deft.lock") != differ {
		t.Errorf("%v\n%s", err, m.text("data/deft.lock"))
	}
	for _, broken := range []string{"<<<<<<< ours\n{}\n=======\n", "<<<<<<< a\n{\n=======\n[]\n>>>>>>> b\n"} {
		m.write("data/deft.lock", broken)
		if _, err := install.ReadLock(m.scope.Lock, false); !errors.Is(err, install.ErrLockDamaged) {
			t.Errorf("%q: %v", broken, err)
		}
	}
}
