package toolset

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
)

// desk is the file tools over a temporary workspace.
type desk struct {
	t    testing.TB
	dir  string
	o    FileOptions
	todo *Todo
	set  Set
}

func newDesk(t testing.TB, files map[string]string) *desk {
	t.Helper()
	d := &desk{t: t, dir: t.TempDir(), todo: &Todo{}}
	write(t, d.dir, files)
	d.o = FileOptions{Workspace: d.dir, Todo: d.todo, Denied: func(p string) bool { return strings.HasSuffix(p, ".secret") }}
	var err error
	if d.set, err = NewSet(Files(d.o)...); err != nil {
		t.Fatal(err)
	}
	return d
}

func (d *desk) call(tool string, pairs ...any) Result {
	d.t.Helper()
	t, _ := d.set.Get(tool)
	return run(d.t, t, args(pairs...), nil)
}

func (d *desk) content(rel string) string {
	d.t.Helper()
	b, err := os.ReadFile(filepath.Join(d.dir, rel))
	if err != nil {
		return "error: " + err.Error()
	}
	return string(b)
}

func TestReadAnswersWithLines(t *testing.T) {
	t.Parallel()
	var long strings.Builder
	for i := range 3000 {
		fmt.Fprintf(&long, "%d\n", i+1)
	}
	d := newDesk(t, map[string]string{"a.txt": "one\ntwo\n", "d/long.txt": long.String(), "x.secret": "s", "bin": "a\x00b"})
	for _, c := range []struct {
		args       []any
		code, text string
		tail       string
	}{
		{[]any{"path", "a.txt"}, "", "a.txt (lines 1-2 of 2)\none\ntwo", ""},
		{[]any{"path", filepath.Join(d.dir, "a.txt"), "offset", 2}, "", "a.txt (lines 2-2 of 2)\ntwo", ""},
		{[]any{"path", "a.txt", "limit", 1}, "", "a.txt (lines 1-1 of 2)\none\n[more: continue with offset 2]", ""},
		{[]any{"path", "d/long.txt"}, "", "d/long.txt (lines 1-2000 of 3000)\n1\n", "\n2000\n[more: continue with offset 2001]"},
		{[]any{"path", "a.txt", "offset", 9}, "range_empty", `File "a.txt" has 2 lines; offset 9 is past its end.`, ""},
		{[]any{"path", "none"}, "file_unknown", `No file "none" in the workspace.`, ""},
		{[]any{"path", "d"}, "not_a_file", `"d" is not a regular file.`, ""},
		{[]any{"path", "x.secret"}, "file_denied", `"x.secret" may not be used.`, ""},
		{[]any{"path", "bin"}, "", "Binary file: bin (3 bytes)", ""},
		{[]any{"path", "a.txt/x"}, "file_unknown", "No file", ""},
	} {
		res := d.call("read", c.args...)
		if res.Code != c.code || !strings.HasPrefix(res.Text, c.text) || !strings.HasSuffix(res.Text, c.tail) {
			t.Errorf("%v: %s %.200q", c.args, res.Code, res.Text)
		}
	}
}

func TestFileToolsStayInTheWorkspace(t *testing.T) {
	t.Parallel()
	base := t.TempDir()
	write(t, base, map[string]string{"w/in.txt": "inside", "out/secret.txt": "TOP SECRET"})
	w := filepath.Join(base, "w")
	for name, to := range map[string]string{"link": "../out/secret.txt", "dir": "../out", "gone": "../out/gone.txt", "abs": filepath.Join(base, "out/secret.txt"), "ok": "in.txt", "loop": "loop", "okabs": filepath.Join(w, "in.txt")} {
		if err := os.Symlink(to, filepath.Join(w, name)); err != nil {
			t.Fatal(err)
		}
	}
	set, err := NewSet(Files(FileOptions{Workspace: w})...)
	if err != nil {
		t.Fatal(err)
	}
	call := func(tool string, pairs ...any) Result {
		tl, _ := set.Get(tool)
		return run(t, tl, args(pairs...), nil)
	}
	outside := []string{"../out/secret.txt", "../out/gone.txt", "/etc/hostname", "/no/such", "link", "dir/secret.txt", "gone", "abs", "~/x", "a/../../out/secret.txt", filepath.Join(base, "out/secret.txt"), "loop", "a\x00b"}
	for _, p := range outside {
		for _, res := range []Result{
			call("read", "path", p), call("write", "path", p, "content", "x"), call("glob", "pattern", "**", "path", p), call("grep", "pattern", "S", "path", p),
			call("edit", "path", p, "edits", []oneEdit{{Old: "T", New: "x"}}),
		} {
			if strings.Contains(res.Text, "TOP SECRET") || strings.Contains(res.Text, "secret.txt:") {
				t.Errorf("%q: %s", p, res.Text)
			}
		}
		if res := call("read", "path", p); res.Code != "outside_workspace" {
			t.Errorf("%q: %s", p, res.Code)
		}
		if res := call("write", "path", p, "content", "x"); res.Code != "outside_workspace" {
			t.Errorf("write %q: %s", p, res.Code)
		}
	}
	if b, _ := os.ReadFile(filepath.Join(base, "out/secret.txt")); string(b) != "TOP SECRET" {
		t.Fatal("written outside")
	}
	if _, err := os.Stat(filepath.Join(base, "out/gone.txt")); err == nil {
		t.Fatal("created outside")
	}
	if res := call("glob", "pattern", "**/*"); strings.Contains(res.Text, "secret") {
		t.Error(res.Text)
	}
	for _, p := range []string{"ok"} {
		if res := call("read", "path", p); !strings.Contains(res.Text, "inside") {
			t.Errorf("%s: %s", p, res.Text)
		}
		if res := call("write", "path", p, "content", "new\n"); res.IsError {
			t.Errorf("%s: %s", p, res.Text)
		}
	}
	if st, err := os.Lstat(filepath.Join(w, "ok")); err != nil || st.Mode()&os.ModeSymlink == 0 {
		t.Error("the link was replaced")
	}
	if b, _ := os.ReadFile(filepath.Join(w, "in.txt")); string(b) != "new\n" {
		t.Errorf("%q", b)
	}
}

func TestWriteNeedsAFormerRead(t *testing.T) {
	t.Parallel()
	d := newDesk(t, map[string]string{"a.sh": "old\n"})
	if res := d.call("write", "path", "a.sh", "content", "new\n"); res.Code != "stale_file" || d.content("a.sh") != "old\n" {
		t.Error(res.Text)
	}
	d.call("read", "path", "a.sh")
	write(t, d.dir, map[string]string{"a.sh": "other\n"})
	if res := d.call("write", "path", "a.sh", "content", "new\n"); res.Code != "stale_file" || d.content("a.sh") != "other\n" {
		t.Error(res.Text)
	}
	d.call("read", "path", "a.sh")
	res := d.call("write", "path", "./a.sh", "content", "new\n")
	if res.IsError || res.Text != "--- a/a.sh\n+++ b/a.sh\n@@ -1,1 +1,1 @@\n-other\n+new\n" {
		t.Errorf("%q", res.Text)
	}
	if st, err := os.Stat(filepath.Join(d.dir, "a.sh")); err != nil || st.Mode().Perm() != 0o755 {
		t.Error("the mode is lost")
	}
	if res := d.call("write", "path", "a.sh", "content", "new\n"); res.Code != "unchanged" {
		t.Error(res.Code)
	}
	if res := d.call("write", "path", "x/y/z.txt", "content", "deep"); res.IsError || d.content("x/y/z.txt") != "deep" {
		t.Error(res.Text)
	}
	if res := d.call("write", "path", "x/y/z.txt", "content", "again"); res.IsError {
		t.Error("what was written here was seen here", res.Text)
	}
	if res := d.call("write", "path", "x", "content", "again"); res.Code != "not_a_file" {
		t.Error(res.Code)
	}
	left, err := filepath.Glob(filepath.Join(d.dir, ".deft-*"))
	if err != nil || len(left) > 0 {
		t.Error(left)
	}
}

func TestDiffChangesNothing(t *testing.T) {
	t.Parallel()
	d := newDesk(t, map[string]string{"a": "old\n"})
	d.call("read", "path", "a")
	for _, tool := range []string{"write", "edit"} {
		tl, _ := d.set.Get(tool)
		raw := `{"path":"a","content":"new\n"}`
		if tool == "edit" {
			raw = `{"path":"a","edits":[{"old":"old","new":"new"}]}`
		}
		res, err := tl.(Differ).Diff(t.Context(), Call{Input: []byte(raw)})
		if err != nil || !strings.Contains(res.Text, "-old\n+new\n") || d.content("a") != "old\n" {
			t.Errorf("%s: %q %v", tool, res.Text, err)
		}
	}
}

func TestEditIsExactOrNothing(t *testing.T) {
	t.Parallel()
	type edits = []oneEdit
	for name, c := range map[string]struct {
		before string
		edits  edits
		after  string
		code   string
		text   string
	}{
		"one":          {"a\nb\nc\n", edits{{Old: "b", New: "B"}}, "a\nB\nc\n", "", "--- a/f\n+++ b/f\n@@ -1,3 +1,3 @@\n a\n-b\n+B\n c\n"},
		"in order":     {"a b\n", edits{{Old: "a", New: "b"}, {Old: "b b", New: "c"}}, "c\n", "", "-a b\n+c\n"},
		"all":          {"x x x\n", edits{{Old: "x", New: "y", All: true}}, "y y y\n", "", ""},
		"not found":    {"a\n", edits{{Old: "z", New: "y"}}, "a\n", "not_found", "edits[0]: old is not in the file."},
		"not unique":   {"x x x\n", edits{{Old: "x", New: "y"}}, "x x x\n", "not_unique", "edits[0]: old occurs 3 times."},
		"second fails": {"a\n", edits{{Old: "a", New: "b"}, {Old: "q", New: ""}}, "a\n", "not_found", "edits[1]:"},
		"crlf":         {"a\r\nb\r\nc\r\n", edits{{Old: "a\nb", New: "A\nX\nB"}}, "A\r\nX\r\nB\r\nc\r\n", "", ""},
		"mixed ends":   {"a\r\nb\nc\n", edits{{Old: "b\nc", New: "B"}}, "a\r\nB\n", "", ""},
		"no final end": {"a", edits{{Old: "a", New: "b"}}, "b", "", ""},
		"empty old":    {"a", edits{{Old: "", New: "b"}}, "a", "bad_args", "edits[0]: old is empty."},
		"no edits":     {"a", edits{}, "a", "bad_args", "edits: 0 entries"},
		"binary":       {"a\x00b", edits{{Old: "a", New: "b"}}, "a\x00b", "binary_file", ""},
		"dollar":       {"cost $1\n", edits{{Old: "$1", New: "${2}"}}, "cost ${2}\n", "", ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d := newDesk(t, map[string]string{"f": c.before})
			d.call("read", "path", "f")
			res := d.call("edit", "path", "f", "edits", c.edits)
			if res.Code != c.code || d.content("f") != c.after || !strings.Contains(res.Text, c.text) {
				t.Errorf("%s %q, file %q", res.Code, res.Text, d.content("f"))
			}
		})
	}
	d := newDesk(t, map[string]string{"f": "a"})
	if res := d.call("edit", "path", "f", "edits", edits{{Old: "a", New: "b"}}); res.Code != "stale_file" {
		t.Error(res.Code)
	}
	if res := d.call("edit", "path", "new", "edits", edits{{Old: "a", New: "b"}}); res.Code != "file_unknown" {
		t.Error(res.Code)
	}
}

func TestGlobAndGrepHonourIgnoreFiles(t *testing.T) {
	t.Parallel()
	d := newDesk(t, map[string]string{
		".gitignore": "# comment\n*.log\n/build/\nnode_modules\n!keep.log\ndocs/*.tmp\n", "a.go": "package a\n// TODO: x\n", "b.log": "TODO", "keep.log": "TODO keep\n",
		"build/x.go": "TODO", "sub/build/y.go": "// todo\n", "node_modules/m/i.js": "TODO", "sub/node_modules/i.js": "TODO",
		"docs/a.tmp": "TODO", "docs/deep/a.tmp": "TODO deep\n", "sub/.gitignore": "local.txt\n", "sub/local.txt": "TODO", "local.txt": "TODO top\r\n",
		".git/config": "TODO", "x.secret": "TODO", "bin.dat": "TODO\x00", ".github/w.yml": "TODO: w\n",
	})
	for _, c := range []struct {
		tool string
		args []any
		want string
	}{
		{"glob", []any{"pattern", "**/*.go"}, "a.go\nsub/build/y.go"},
		{"glob", []any{"pattern", "*.go"}, "a.go\nsub/build/y.go"},
		{"glob", []any{"pattern", "*.go", "path", "sub"}, "sub/build/y.go"},
		{"glob", []any{"pattern", "*.{log,tmp}"}, "docs/deep/a.tmp\nkeep.log"},
		{"glob", []any{"pattern", "local.txt"}, "local.txt"},
		{"glob", []any{"pattern", "*", "path", "nowhere"}, `No file "nowhere" in the workspace.`},
		{"glob", []any{"pattern", "[a"}, "pattern is no glob. Correct the arguments and call again."},
		{"glob", []any{"pattern", "*.rs"}, "No file matches."},
		{"grep", []any{"pattern", "TODO"}, ".github/w.yml:1: TODO: w\na.go:2: // TODO: x\ndocs/deep/a.tmp:1: TODO deep\nkeep.log:1: TODO keep\nlocal.txt:1: TODO top"},
		{"grep", []any{"pattern", "(?i)^// todo", "glob", "*.go"}, "a.go:2: // TODO: x\nsub/build/y.go:1: // todo"},
		{"grep", []any{"pattern", "top$", "path", "local.txt"}, "local.txt:1: TODO top"},
		{"grep", []any{"pattern", "("}, "pattern: error parsing regexp: missing closing ): `(`. Correct the arguments and call again."},
		{"grep", []any{"pattern", "(?=x)"}, "pattern: error parsing regexp: invalid or unsupported Perl syntax: `(?=`. Correct the arguments and call again."},
		{"grep", []any{"pattern", "nothing here"}, "No line matches."},
	} {
		if got := d.call(c.tool, c.args...).Text; got != c.want {
			t.Errorf("%s %v:\n%s", c.tool, c.args, got)
		}
	}
}

func TestHitsAreCountedBeyondTheLimit(t *testing.T) {
	t.Parallel()
	d := newDesk(t, map[string]string{"a.txt": strings.Repeat("hit\n", 1007) + strings.Repeat("x", 1000) + " hit\n"})
	res := d.call("grep", "pattern", "hit")
	if !strings.HasSuffix(res.Text, "\na.txt:1000: hit\n… 8 more") || !res.Meta.Truncated {
		t.Errorf("%q", res.Text[len(res.Text)-60:])
	}
}

func TestTodoKeepsOneList(t *testing.T) {
	t.Parallel()
	d := newDesk(t, nil)
	res := d.call("todo", "items", []Item{{"plan", "completed"}, {"build", "in_progress"}, {" test ", ""}})
	if res.Text != "3 items: 1 done, 1 active, 1 pending." || fmt.Sprint(d.todo.Items()) != "[{plan done} {build active} {test pending}]" {
		t.Error(res.Text, d.todo.Items())
	}
	for _, bad := range []any{make([]Item, 101), []Item{{"", Done}}, []Item{{"x", "later"}}, []Item{{strings.Repeat("x", 501), Done}}, "x"} {
		if res := d.call("todo", "items", bad); res.Code != "bad_args" || len(d.todo.Items()) != 3 {
			t.Errorf("%.60v: %s", bad, res.Code)
		}
	}
}

func TestConcurrentEditsLoseNothing(t *testing.T) {
	t.Parallel()
	var before, after strings.Builder
	for i := range 20 {
		fmt.Fprintf(&before, "<%d>\n", i)
		fmt.Fprintf(&after, "[%d]\n", i)
	}
	d := newDesk(t, map[string]string{"f": before.String()})
	d.call("read", "path", "f")
	var wg sync.WaitGroup
	for i := range 20 {
		wg.Go(func() {
			d.call("edit", "path", "f", "edits", []oneEdit{{Old: fmt.Sprintf("<%d>", i), New: fmt.Sprintf("[%d]", i)}})
		})
	}
	wg.Wait()
	if got := d.content("f"); got != after.String() {
		t.Error(got)
	}
}
