package skill

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"testing"
	"testing/fstest"

	"github.com/deftskills/deft/internal/limits"
)

func TestTreeDigestIsTheFormatsBytes(t *testing.T) {
	t.Parallel()
	fsys := fstest.MapFS{
		"b/x.txt":      {Data: []byte("xy")},
		"a.md":         {Data: []byte("1\n"), Mode: 0o755},
		".git/HEAD":    {Data: []byte("left out")},
		"b/.svn/f":     {Data: []byte("left out")},
		".DS_Store":    {Data: []byte("left out")},
		"empty":        {Mode: fs.ModeDir},
		"b/cafe\u0301": {Data: nil},
	}
	got, tree, err := TreeDigest(context.Background(), fsys)
	if err != nil {
		t.Fatal(err)
	}
	hex := func(s string) string { return string(FileDigest([]byte(s)))[len("sha256:"):] }
	want := FileDigest([]byte("deft-tree-v1\n" +
		"a.md\x00" + hex("1\n") + "\x002\n" +
		"b/caf\u00e9\x00" + hex("") + "\x000\n" +
		"b/x.txt\x00" + hex("xy") + "\x002\n"))
	if got != want || len(tree) != 3 || !tree[0].Exec || tree[2].Exec {
		t.Fatalf("digest %s, want %s; tree %+v", got, want, tree)
	}
}

// onDisk writes files into a fresh directory and returns it as a confined FS.
func onDisk(t *testing.T, files map[string]string) (string, fs.FS) {
	t.Helper()
	dir := t.TempDir()
	for name, text := range files {
		p := filepath.Join(dir, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(p), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(p, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { root.Close() })
	return dir, root.FS()
}

func link(t *testing.T, dir, name, target string) {
	t.Helper()
	if err := os.Symlink(target, filepath.Join(dir, filepath.FromSlash(name))); err != nil {
		t.Fatal(err)
	}
}

func TestTreeLinksInsideCountAsTheirTarget(t *testing.T) {
	t.Parallel()
	dir, fsys := onDisk(t, map[string]string{"SKILL.md": "s", "ref/a.md": "a"})
	link(t, dir, "copy.md", "ref/a.md")
	link(t, dir, "ref/up.md", "../SKILL.md")
	link(t, dir, "more", "ref")
	linked, tree, err := TreeDigest(context.Background(), fsys)
	if err != nil {
		t.Fatal(err)
	}
	_, plain := onDisk(t, map[string]string{
		"SKILL.md": "s", "ref/a.md": "a", "copy.md": "a", "ref/up.md": "s", "more/a.md": "a", "more/up.md": "s",
	})
	want, _, err := TreeDigest(context.Background(), plain)
	if err != nil || linked != want {
		t.Fatalf("%s, want %s (%v): %+v", linked, want, err, tree)
	}
}

func TestTreeRefusesWhatIsNoContent(t *testing.T) {
	t.Parallel()
	small := limits.Skill{TreeFiles: 3, TreeBytes: 8, TreeFile: 5, TreeDepth: 2}
	cases := []struct {
		name  string
		files map[string]string
		links map[string]string
		code  string
		file  string
	}{
		{"link to the parent", nil, map[string]string{"up": ".."}, "tree_link_escape", "up"},
		{"link out and in again", nil, map[string]string{"up": "../x/../y"}, "tree_link_escape", "up"},
		{"absolute link", nil, map[string]string{"abs": "/etc/passwd"}, "tree_link_escape", "abs"},
		{"dangling link", nil, map[string]string{"gone": "nowhere"}, "tree_link_escape", "gone"},
		{"link to itself", nil, map[string]string{"me": "me"}, "tree_link_escape", "me"},
		{"link to its own folder", map[string]string{"d/f": "x"}, map[string]string{"d/again": "../d"}, "tree_link_escape", "d/again"},
		{"case clash", map[string]string{"A.md": "1", "a.md": "2"}, nil, "tree_case_clash", "a.md"},
		{"composed and decomposed", map[string]string{"caf\u00e9": "1", "cafe\u0301": "2"}, nil, "tree_case_clash", "caf\u00e9"},
		{"folders that fold", map[string]string{"D/a": "1", "d/b": "2"}, nil, "tree_case_clash", "d"},
		{"too many files", map[string]string{"1": "", "2": "", "3": "", "4": ""}, nil, "limit_tree", "4"},
		{"file too large", map[string]string{"big": "123456"}, nil, "limit_tree", "big"},
		{"tree too large", map[string]string{"a": "12345", "b": "12345"}, nil, "limit_tree", "b"},
		{"too deep", map[string]string{"1/2/3/f": ""}, nil, "limit_tree", "1/2/3"},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			dir, fsys := onDisk(t, c.files)
			for name, target := range c.links {
				link(t, dir, name, target)
			}
			_, _, err := TreeDigestWithin(context.Background(), fsys, small)
			var te *TreeError
			if !errors.As(err, &te) || te.Diagnostic.Code != c.code || te.Diagnostic.File != c.file {
				t.Fatalf("%v, want %s at %q", err, c.code, c.file)
			}
		})
	}
}

// Links that double at every level would be 2^16 directories if each were walked.
func TestTreeLinksCannotMultiplyTheWork(t *testing.T) {
	t.Parallel()
	files := map[string]string{}
	for i := range 16 {
		files[fmt.Sprintf("d%02d/f", i)] = "x"
	}
	dir, fsys := onDisk(t, files)
	for i := range 15 {
		for _, l := range []string{"x", "y", "z"} {
			link(t, dir, fmt.Sprintf("d%02d/%s", i, l), fmt.Sprintf("../d%02d", i+1))
		}
	}
	_, _, err := TreeDigest(context.Background(), fsys)
	var te *TreeError
	if !errors.As(err, &te) || te.Diagnostic.Code != "limit_tree" {
		t.Fatal(err)
	}
}

func TestTreeStopsWhenCancelled(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if _, _, err := TreeDigest(ctx, fstest.MapFS{"a": {}}); !errors.Is(err, context.Canceled) {
		t.Fatal(err)
	}
}
