package install_test

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/deftskills/deft/install"
)

// The lock file of another installer comes with a clone: what it names is held to the rules
// of what a person writes.
func TestSourcesOfOtherInstallersAreHeldToTheRules(t *testing.T) {
	t.Parallel()
	project, user := install.Project("/work"), install.User("/home/p", "/data", "/home/p/.agents")
	for _, row := range []struct {
		kind, source, ref string
		scope             install.Scope
		want              string // of the address; "" = refused
		err               error
	}{
		{"github", "team/skills", "", project, "https://github.com/team/skills", nil},
		{"github", "team/skills", "v1", project, "https://github.com/team/skills", nil},
		{"gitlab", "a/b/c", "", project, "https://gitlab.com/a/b/c", nil},
		{"git", "https://git.example/x.git", "", project, "https://git.example/x.git", nil},
		{"local", "../src", "", project, "../src", nil},
		{"local", "src", "", project, "./src", nil},
		{"local", "/abs/src", "", user, "/abs/src", nil},
		{"local", "/abs/src", "", project, "", install.ErrLockLocal},
		{"local", "~/src", "", project, "", install.ErrLockLocal},
		{"local", "file:///etc", "", project, "", install.ErrLockLocal},
		{"git", "/etc", "", user, "", install.ErrBadURL},
		{"git", "ext::sh -c x", "", project, "", nil},
		{"git", "http://git.example/x.git", "", project, "", install.ErrBadURL},
		{"github", "team/../../x", "", project, "", nil},
		{"github", "--upload-pack=x/y", "", project, "", nil},
		{"git", "https://git.example/x.git", "--upload-pack=x", project, "", install.ErrBadRef},
		{"node_modules", "some-package", "", project, "", install.ErrUnrecognised},
		{"", "team/skills", "", project, "", install.ErrUnrecognised},
	} {
		r, err := install.Public{Name: "x", Source: row.source, Type: row.kind, Ref: row.ref}.SourceRef(row.scope)
		switch {
		case row.want == "" && err == nil, row.err != nil && !errors.Is(err, row.err):
			t.Errorf("%s %q %q: %v, %v", row.kind, row.source, row.ref, r, err)
		case row.want != "" && (err != nil || r.URL != row.want || r.Ref+r.Rest != row.ref):
			t.Errorf("%s %q %q: %+v, %v", row.kind, row.source, row.ref, r, err)
		}
	}
}

func TestUnknownFormsOfOtherInstallersAreTold(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]error{
		`{"version": 2, "skills": {}}`:                        install.ErrLockUnknown,
		`{"skills": {}}`:                                      install.ErrLockUnknown,
		`{"version": 1, "skills": [`:                          install.ErrLockDamaged,
		`{"version": 1, "skills": {"a": {"source": 7}}}`:      nil, // its neighbours are read
		`{"version": 1, "skills": {"a": {}}, "more": [1, 2]}`: nil,
	} {
		s := install.Project(t.TempDir())
		if err := os.WriteFile(filepath.Join(s.Root, "skills-lock.json"), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		list, err := install.ReadPublic(s)
		if !errors.Is(err, want) {
			t.Errorf("%s: %v", text, err)
		}
		for _, p := range list {
			if _, err := p.SourceRef(s); !errors.Is(err, install.ErrUnrecognised) {
				t.Errorf("%s: %v", text, err)
			}
		}
	}
	if list, err := install.ReadPublic(install.Project(t.TempDir())); err != nil || list != nil {
		t.Errorf("none: %v %v", list, err)
	}
}
