package install_test

import (
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/deftskills/deft/install"
)

// testdata/sources.tsv: source, then the parts or the error. Columns that are "-" are
// empty. "=" before a source says that its path exists.
func TestEachFormOfASourceIsTakenApart(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("testdata/sources.tsv")
	if err != nil {
		t.Fatal(err)
	}
	rows := 0
	for n, line := range strings.Split(string(text), "\n") {
		if line == "" || strings.HasPrefix(line, "# ") {
			continue
		}
		rows++
		source, want, _ := strings.Cut(line, "\t")
		o := install.ParseOptions{}
		if rest, ok := strings.CutPrefix(source, "="); ok {
			source, o.Exists = rest, func(string) bool { return true }
		}
		if rest, ok := strings.CutPrefix(source, "!"); ok {
			source, o.AllowHTTP = rest, true
		}
		source = strings.NewReplacer(`\t`, "\t", `\n`, "\n", `\0`, "\x00", `\e`, "\x1b", `\u202e`, "\u202e").Replace(source)
		r, err := install.ParseSource(source, o)
		got := describe(r, err)
		if got != want {
			t.Errorf("line %d: %q\n got %s\nwant %s", n+1, source, got, want)
		}
		if err == nil {
			again, err := install.ParseSource(r.String(), o)
			if r.Rest == "" && r.Kind != install.Probe && (err != nil || again.URL != r.URL || again.Ref != r.Ref || again.Dir != r.Dir || again.Kind != r.Kind) {
				t.Errorf("line %d: %q is written as %q and read as %s", n+1, source, r.String(), describe(again, err))
			}
		}
	}
	if rows < 120 {
		t.Errorf("%d rows", rows)
	}
}

func describe(r install.SourceRef, err error) string {
	if err != nil {
		for _, kind := range []error{install.ErrPassword, install.ErrBadRef, install.ErrBadURL, install.ErrUnrecognised} {
			if errors.Is(err, kind) {
				return kind.Error()
			}
		}
		return err.Error()
	}
	s := string(r.Kind) + " " + r.URL
	for _, part := range []struct{ name, value string }{{"ref", r.Ref}, {"dir", r.Dir}, {"rest", r.Rest}, {"skill", r.Skill}, {"asked", r.Punycode}} {
		if part.value != "" {
			s += fmt.Sprintf(" %s=%s", part.name, part.value)
		}
	}
	return s
}

// A password that came with an address must not come back in a message.
func TestAPasswordIsNotRepeated(t *testing.T) {
	t.Parallel()
	_, err := install.ParseSource("https://me:hunter2@example.org/a/b.git", install.ParseOptions{})
	if !errors.Is(err, install.ErrPassword) || strings.Contains(err.Error(), "hunter2") {
		t.Errorf("%v", err)
	}
}

func TestBranchAndFolderOfABrowserAddressComeFromTheRefs(t *testing.T) {
	t.Parallel()
	refs := []string{"main", "feature", "feature/x", "feature/xy", "v1.2"}
	for _, c := range []struct{ address, ref, dir string }{
		{"https://github.com/owner/repo/tree/feature/x/skills/a", "feature/x", "skills/a"},
		{"https://github.com/owner/repo/tree/feature/skills/a", "feature", "skills/a"},
		{"https://github.com/owner/repo/tree/feature/xyz", "feature", "xyz"},
		{"https://github.com/owner/repo/blob/main/skills/a/SKILL.md", "main", "skills/a"},
		{"https://github.com/owner/repo/blob/main/SKILL.md", "main", ""},
		{"https://github.com/owner/repo/tree/0123abc/skills", "0123abc", "skills"},
		{"https://git.example.org/a/b/c/-/tree/v1.2/d", "v1.2", "d"},
	} {
		r, err := install.ParseSource(c.address, install.ParseOptions{})
		if err != nil {
			t.Fatal(err)
		}
		got, _, ok := r.Split(refs)
		if !ok || got.Ref != c.ref || got.Dir != c.dir || got.Rest != "" {
			t.Errorf("%s: %+v", c.address, got)
		}
	}
	r, err := install.ParseSource("https://github.com/owner/repo/tree/featare/x/skills", install.ParseOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if _, near, ok := r.Split(refs); ok || len(near) != 3 || near[0] != "feature" {
		t.Errorf("a ref that does not exist: close ones %q, found %v", near, ok)
	}
}

func TestANameIsOneSafeComponent(t *testing.T) {
	t.Parallel()
	for _, bad := range []string{
		"", " ", ".", "..", "a/b", `a\b`, "../x", "/etc", "C:x", "con", "NUL", "aux.txt", "COM1", "lpt9.md", "x.", "x ", " x",
		"a\x00b", "a\nb", "a\x1b[31m", "a\u202eb", "a\u200bb", strings.Repeat("a", 65), "\xff", "-rf", "a|b", "a?b",
	} {
		if err := install.CheckName(bad); !errors.Is(err, install.ErrBadName) {
			t.Errorf("%q: %v", bad, err)
		}
	}
	for _, good := range []string{"pdf", "code-review", "a.b", "über", "网页", "console", "com10", strings.Repeat("ü", 64)} {
		if err := install.CheckName(good); err != nil {
			t.Errorf("%q: %v", good, err)
		}
	}
}

// What is accepted never begins an option, never leaves its root, and is read again as
// the same source.
func FuzzSourceRef(f *testing.F) {
	for _, s := range []string{
		"owner/repo", "https://github.com/o/r/tree/x/y", "git@h:p/q.git#r:d", "npm:@a/b@1/c", "./x#r", "ssh://h/p#-x", "ext::sh -c x",
		"https://h/%2e%2e/x", "mcp+https://h", "deft:a@b", "wellknown:h/p", "https://h/a.zip?x#y",
	} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		r, err := install.ParseSource(s, install.ParseOptions{})
		if err != nil || len(s) > 2000 { // what is written may be longer than what was read
			return
		}
		for _, part := range []string{r.URL, r.Ref, r.Dir, r.Rest, r.Skill} {
			if strings.HasPrefix(part, "-") {
				t.Errorf("%q gives the option %q", s, part)
			}
		}
		for part := range strings.SplitSeq(r.Dir+"/"+r.Rest, "/") {
			if part == ".." {
				t.Errorf("%q leaves: %q %q", s, r.Dir, r.Rest)
			}
		}
		if r.Rest != "" || r.Kind == install.Probe {
			return
		}
		again, err := install.ParseSource(r.String(), install.ParseOptions{})
		if err != nil {
			t.Fatalf("%q is written as %q: %v", s, r.String(), err)
		}
		if again.String() != r.String() {
			t.Errorf("%q is written as %q, then as %q", s, r.String(), again.String())
		}
	})
}
