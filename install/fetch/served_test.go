package fetch_test

import (
	"context"
	"errors"
	"fmt"
	"path"
	"strings"
	"testing"

	"github.com/deftskills/deft/install/archive"
	"github.com/deftskills/deft/install/fetch"
)

// shelf is a server of skills: contents by address, and how many were read.
type shelf struct {
	files map[string]string
	read  int
}

func (s *shelf) List(context.Context) ([]fetch.ServedSkill, error) { return nil, nil }
func (s *shelf) Close()                                            {}
func (s *shelf) Read(_ context.Context, uri string) ([]byte, error) {
	s.read++
	if text, ok := s.files[uri]; ok {
		return []byte(text), nil
	}
	return nil, fmt.Errorf("no %s", uri)
}

func TestFilesOfAServerGoBelowTheirSkillAndAreWhatItsListSays(t *testing.T) {
	t.Parallel()
	good := fetch.ServedFile{URI: "skill://a/b/SKILL.md", Digest: digest([]byte("text")), Size: 4}
	for name, c := range map[string]struct {
		more []fetch.ServedFile
		want error
		read int
	}{
		"good":         {[]fetch.ServedFile{{URI: "skill://a/b/refs/x%20y.md"}}, nil, 2},
		"climbs":       {[]fetch.ServedFile{{URI: "skill://a/b/../c.md"}}, archive.ErrBadEntry, 0},
		"encoded":      {[]fetch.ServedFile{{URI: "skill://a/b/%2e%2e/c.md"}}, archive.ErrBadEntry, 0},
		"a slash":      {[]fetch.ServedFile{{URI: "skill://a/b/..%2f..%2fc.md"}}, archive.ErrBadEntry, 0},
		"a backslash":  {[]fetch.ServedFile{{URI: "skill://a/b/x%5c..%5cy"}}, archive.ErrBadEntry, 0},
		"absolute":     {[]fetch.ServedFile{{URI: "skill://a/b//etc/passwd"}}, archive.ErrBadEntry, 0},
		"outside":      {[]fetch.ServedFile{{URI: "skill://a/c/x.md"}}, archive.ErrBadEntry, 0},
		"a file":       {[]fetch.ServedFile{{URI: "file:///etc/passwd"}}, archive.ErrBadEntry, 0},
		"the web":      {[]fetch.ServedFile{{URI: "https://example.com/x"}}, archive.ErrBadEntry, 0},
		"a query":      {[]fetch.ServedFile{{URI: "skill://a/b/x.md?y"}}, archive.ErrBadEntry, 0},
		"twice":        {[]fetch.ServedFile{{URI: "skill://a/b/skill.md"}}, archive.ErrBadEntry, 0},
		"a device":     {[]fetch.ServedFile{{URI: "skill://a/b/nul"}}, archive.ErrBadEntry, 0},
		"a NUL":        {[]fetch.ServedFile{{URI: "skill://a/b/%00"}}, archive.ErrBadEntry, 0},
		"too large":    {[]fetch.ServedFile{{URI: "skill://a/b/x", Size: 5 << 20}}, fetch.ErrLimit, 0},
		"negative":     {[]fetch.ServedFile{{URI: "skill://a/b/x", Size: -1}}, fetch.ErrLimit, 0},
		"many":         {make([]fetch.ServedFile, 600), fetch.ErrLimit, 0},
		"odd digest":   {[]fetch.ServedFile{{URI: "skill://a/b/x", Digest: "md5:1"}}, fetch.ErrDigest, 0},
		"other digest": {[]fetch.ServedFile{{URI: "skill://a/b/refs/x%20y.md", Digest: digest(nil)}}, fetch.ErrDigest, 2},
		"other size":   {[]fetch.ServedFile{{URI: "skill://a/b/refs/x%20y.md", Size: 7}}, fetch.ErrDigest, 2},
		"grows":        {[]fetch.ServedFile{{URI: "skill://a/b/huge"}}, fetch.ErrLimit, 2},
		"gone":         {[]fetch.ServedFile{{URI: "skill://a/b/gone"}}, fetch.ErrUnreachable, 2},
	} {
		s := &shelf{files: map[string]string{good.URI: "text", "skill://a/b/refs/x%20y.md": "more", "skill://a/b/huge": strings.Repeat("x", 5<<20)}}
		files, err := fetch.ServedSkill{URI: good.URI, Files: append([]fetch.ServedFile{good}, c.more...)}.Copy(t.Context(), s)
		if !errors.Is(err, c.want) || s.read != c.read || err == nil && (len(files) != 2 || files[1].Path != "refs/x y.md") {
			t.Errorf("%s: %v %v, read %d times", name, files, err, s.read)
		}
	}
	if _, err := (fetch.ServedSkill{URI: good.URI, Changing: true}).Copy(t.Context(), &shelf{}); !errors.Is(err, fetch.ErrChanging) {
		t.Errorf("a list that changes: %v", err)
	}
}

func FuzzServedDir(f *testing.F) {
	for _, s := range []string{"skill://a/SKILL.md", "skill://a/%2e%2e/SKILL.md", "x://a//SKILL.md", "file://a/SKILL.md", "skill:///SKILL.md", "skill://a%2fb/SKILL.md", "://SKILL.md"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, uri string) {
		dir, err := fetch.ServedSkill{URI: uri}.Dir()
		if err == nil && (dir == "" || path.Clean("/"+dir) != "/"+dir || strings.ContainsAny(dir, "\\\x00")) {
			t.Fatalf("%q goes to %q", uri, dir)
		}
	})
}
