package install_test

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/deftskills/deft/install"
)

// tricky is a folder whose names sort in another order by collation than by bytes. Both
// hashes of it were taken from the tools that define them: other installers' lock file
// and git.
var tricky = map[string]string{
	"readme.md": "b\r\n", "_private.md": "c", "10.txt": "d", "2.txt": "e", "scripts/Run.sh": "f", "scripts/run2.sh": "g",
	"Refs/ä.md": "h", "a-b.md": "i", "a_b.md": "j",
}

func TestAPublicLockFileIsBroughtAlong(t *testing.T) {
	t.Parallel()
	m := newMachine(t)
	m.write("source/one/SKILL.md", "---\nname: one\ndescription: Does one thing when asked.\n---\n")
	if err := os.Remove(filepath.Join(m.dir, "source", "one", "data.txt")); err != nil {
		t.Fatal(err)
	}
	for name, text := range tricky {
		m.write("source/one/"+name, text)
	}
	const before = `{
  "version": 3,
  "skills": {
    "foreign": {
      "source": "somebody/else",
      "sourceType": "github",
      "unknown": [1, 2.50, "<&>"],
      "skillFolderHash": "00"
    },
    "one": {
      "source": "old",
      "installedAt": "2020-01-01T00:00:00.000Z",
      "pluginName": "kept",
      "ref": "gone"
    }
  },
  "dismissed": {
    "x": true
  },
  "later": {
    "a": 1e2
  }
}`
	m.write("home/.agents/.skill-lock.json", before)
	if err := m.add(t.Context(), "one"); err != nil {
		t.Fatal(err)
	}
	src, err := os.ReadFile(m.scope.Public)
	if err != nil {
		t.Fatal(err)
	}
	for _, kept := range []string{`2.50`, `"<&>"`, `1e2`, `"somebody/else"`, `"x": true`, `"pluginName": "kept"`, `"installedAt": "2020-01-01T00:00:00.000Z"`} {
		if !strings.Contains(string(src), kept) {
			t.Errorf("%s is gone from\n%s", kept, src)
		}
	}
	var got struct {
		Skills map[string]map[string]any `json:"skills"`
	}
	if err := json.Unmarshal(src, &got); err != nil {
		t.Fatal(err)
	}
	one := got.Skills["one"]
	if one["sourceType"] != "local" || one["skillPath"] != "one/SKILL.md" || one["updatedAt"] != "2026-01-02T03:04:05.000Z" || one["ref"] != nil {
		t.Errorf("%v", one)
	}
	if err := m.remove(t.Context(), "one"); err != nil {
		t.Fatal(err)
	}
	if src, err = os.ReadFile(m.scope.Public); err != nil || strings.Contains(string(src), `"one"`) || !strings.Contains(string(src), `"foreign"`) {
		t.Errorf("%s %v", src, err)
	}
}

// A form that is not known, and a file that can't be read, are left byte for byte.
func TestAPublicLockFileOfAnotherFormIsLeft(t *testing.T) {
	t.Parallel()
	for _, text := range []string{`{"version":2,"skills":{}}`, `{"version":4,"skills":{}}`, `{"version":3,"skills":[]}`, "<<<<<<< mine\n", ""} {
		m := newMachine(t)
		m.write("home/.agents/.skill-lock.json", text)
		if err := m.add(t.Context(), "one"); err != nil {
			t.Fatal(err)
		}
		if src, err := os.ReadFile(m.scope.Public); err != nil || string(src) != text {
			t.Errorf("%q became %q, %v", text, src, err)
		}
	}
	m := newMachine(t)
	if err := m.add(t.Context(), "one"); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(m.scope.Public); !os.IsNotExist(err) {
		t.Errorf("a file was made that was not there: %v", err)
	}
}

// Null is where other programs leave a value out: it costs no install, and nothing of others.
func TestNullsInAPublicLockFileAreNone(t *testing.T) {
	t.Parallel()
	for _, text := range []string{
		`{"version":3,"skills":null}`, `{"version":3,"skills":{"one":null,"foreign":null}}`, `{"version":3,"skills":{"one":[],"foreign":7}}`,
		`{"version":null,"skills":{}}`, `null`, `{"version":3}`,
	} {
		m := newMachine(t)
		m.write("home/.agents/.skill-lock.json", text)
		if err := m.add(t.Context(), "one"); err != nil {
			t.Errorf("%s: %v", text, err)
		}
		if _, err := install.ReadPublic(m.scope); err != nil && !errors.Is(err, install.ErrLockUnknown) {
			t.Errorf("%s: %v", text, err)
		}
		if err := m.remove(t.Context(), "one"); err != nil {
			t.Errorf("%s: %v", text, err)
		}
		src, err := os.ReadFile(m.scope.Public)
		if err != nil || strings.Contains(text, "foreign") && !strings.Contains(string(src), "foreign") || strings.Contains(string(src), `"one"`) {
			t.Errorf("%s became %s, %v", text, src, err)
		}
	}
}

// So it is in deft's own file, and in that of another system.
func TestNullsInALockFileAreNoneOrSaid(t *testing.T) {
	t.Parallel()
	for _, text := range []string{
		`{"lockfile":1,"skills":null,"plugins":null,"marketplaces":null}`, `{"lockfile":1,"skills":{"x":null}}`, `{"lockfile":1,"plugins":{"x@y/1":null}}`,
		`{"lockfile":1,"marketplaces":{"x":null}}`, `{"lockfile":1,"skills":{"x":{"source":null,"tree":null,"exec":null}}}`, `{"lockfile":null}`, `null`,
	} {
		m := newMachine(t)
		m.write("data/deft.lock", text)
		if err := m.add(t.Context(), "one"); err != nil {
			if !errors.Is(err, install.ErrLockDamaged) && !errors.Is(err, install.ErrBadURL) {
				t.Errorf("%s: %v", text, err)
			}
			if m.text("data/deft.lock") != text {
				t.Errorf("%s became %s", text, m.text("data/deft.lock"))
			}
			continue
		}
		if err := m.installer().Edit(t.Context(), "test", m.scope, func(l *install.Lock) error {
			l.Markets["m"] = install.Market{Source: install.Origin{Type: install.Local, URL: "/m"}}
			return nil
		}); err != nil {
			t.Errorf("%s: %v", text, err)
		}
	}
	for _, text := range []string{`{"skills":null,"installed":null}`, `{"skills":[null],"installed":{"one":null}}`, `null`, `{}`} {
		m := newMachine(t)
		m.scope = install.MiniMax(filepath.Join(m.dir, "hub"), "", filepath.Join(m.dir, "data", "deft.lock"))
		m.write("hub/skill-hub.json", text)
		if err := errors.Join(m.add(t.Context(), "one"), m.remove(t.Context(), "one")); err != nil {
			t.Errorf("%s: %v", text, err)
		}
	}
}
