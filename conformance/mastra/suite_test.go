package mastra

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/fstest"
	"time"

	"github.com/deftskills/deft/internal/suitetest"
	"github.com/deftskills/deft/registry"
	"github.com/deftskills/deft/skill"
	"github.com/deftskills/deft/source"
)

// groups are the lines of the suite that concern discovery, views, names, validity and
// stored versions, tools, catalog, search, and what must not happen.
var groups = map[string]int{"W": 128, "V": 18, "D": 24, "G": 3, "B": 67, "M": 34, "I": 10, "T": 40, "P": 37, "S": 17, "R": 14}

// left are the lines without a test here, by their reason.
var left = map[string]string{
	"is a figure, which benchmarks hold":  "M027",
	"has no test by the suite's own word": "W116-W119",
}

// leftOut are the ids of left.
func leftOut(t *testing.T) map[string]bool {
	t.Helper()
	ids := map[string]bool{}
	for _, list := range left {
		for _, word := range strings.Fields(list) {
			var group, last string
			var from, to int
			switch n, _ := fmt.Sscanf(word, "%1s%03d-%1s%03d", &group, &from, &last, &to); {
			case n == 2:
				to = from
			case n != 4 || last != group:
				t.Fatalf("lines %q", word)
			}
			for i := from; i <= to; i++ {
				ids[fmt.Sprintf("%s%03d", group, i)] = true
			}
		}
	}
	return ids
}

func TestEveryLineIsATest(t *testing.T) {
	t.Parallel()
	found := map[string]int{}
	for name, n := range suitetest.Functions(t) {
		if len(name) > 8 && name[8] == '_' {
			found[name[4:8]] += n
		}
	}
	out, tests := leftOut(t), 0
	for group, n := range groups {
		for i := 1; i <= n; i++ {
			id := fmt.Sprintf("%s%03d", group, i)
			if out[id] == (found[id] > 0) || found[id] > 1 {
				t.Errorf("line %s has %d tests; left out: %v", id, found[id], out[id])
			}
			tests += found[id]
		}
	}
	t.Logf("%d lines have a test, %d are left out", tests, len(out))
}

// item begins a line of the document, or what follows another on one line.
var item = regexp.MustCompile(`(?m)(?:^(?:- )?| · )([WTVPSBDIGRM])(\d{1,3}) `)

// The document is data outside the project; without it the numbers above are all.
func TestTheListIsThatOfTheDocument(t *testing.T) {
	t.Parallel()
	root := os.Getenv("DEFT_TESTDATA")
	if root == "" {
		t.Skip("DEFT_TESTDATA is not set: the document is not part of the project")
	}
	doc, err := os.ReadFile(filepath.Join(root, "conformance", "mastra.md"))
	if err != nil {
		t.Fatal(err)
	}
	ids := map[string]bool{}
	for _, m := range item.FindAllStringSubmatch(string(doc), -1) {
		n, err := strconv.Atoi(m[2])
		if err != nil || n < 1 || n > groups[m[1]] {
			t.Errorf("line %s%s is no line of this suite", m[1], m[2])
		}
		ids[fmt.Sprintf("%s%03d", m[1], n)] = true
	}
	for group, n := range groups {
		for i := 1; i <= n; i++ {
			id := fmt.Sprintf("%s%03d", group, i)
			if named := strings.Contains("W116 W117 W118 W119", id); ids[id] == named {
				t.Errorf("line %s: in the document %v", id, ids[id])
			}
		}
	}
}

// text is a valid skill.
func text(name string) string {
	return "---\nname: " + name + "\ndescription: Does " + name + ".\nlicense: MIT\n---\n\n# Test Skill\n\nBody of " + name + ".\n\n"
}

// memory is a read-only source of five methods that counts and can be slow.
type memory struct {
	mu        sync.Mutex
	files     fstest.MapFS
	refuse    map[string]error
	delay     time.Duration
	hold      chan struct{} // every listing waits for it
	waiting   chan struct{} // told of each listing that waits
	lists     map[string]int
	ops       int
	reads     int
	now, peak int
}

func inMemory(names ...string) *memory {
	m := &memory{files: fstest.MapFS{}, refuse: map[string]error{}, lists: map[string]int{}}
	for _, n := range names {
		m.put("skills/"+n+"/SKILL.md", text(n))
	}
	return m
}

// long ago: files that are younger than two seconds are read again each time.
var past = time.Date(2020, 1, 1, 0, 0, 0, 0, time.UTC)

func (m *memory) put(path, content string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	was := past
	if f := m.files[path]; f != nil {
		was = f.ModTime.Add(time.Minute)
	}
	m.files[path] = &fstest.MapFile{Data: []byte(content), ModTime: was}
}

func (m *memory) drop(path string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for f := range m.files {
		if f == path || strings.HasPrefix(f, path+"/") {
			delete(m.files, f)
		}
	}
}

func (m *memory) begin(op, name string) (fstest.MapFS, func(), error) {
	m.mu.Lock()
	m.ops++
	if op == "list" {
		m.lists[name]++
	}
	m.now++
	m.peak = max(m.peak, m.now)
	files, err, hold, delay := m.files, m.refuse[name], m.hold, m.delay
	clone := make(fstest.MapFS, len(files))
	for k, v := range files {
		clone[k] = v
	}
	m.mu.Unlock()
	if hold != nil && op == "list" {
		select {
		case m.waiting <- struct{}{}:
		default:
		}
		<-hold
	}
	if delay > 0 {
		time.Sleep(delay)
	}
	if err != nil {
		err = &fs.PathError{Op: op, Path: name, Err: err}
	}
	return clone, func() { m.mu.Lock(); m.now--; m.mu.Unlock() }, err
}

func (m *memory) Open(name string) (fs.File, error) {
	files, end, err := m.begin("open", name)
	defer end()
	if err != nil {
		return nil, err
	}
	m.mu.Lock()
	m.reads++
	m.mu.Unlock()
	return files.Open(name)
}

func (m *memory) Stat(name string) (fs.FileInfo, error) {
	files, end, err := m.begin("stat", name)
	defer end()
	if err != nil {
		return nil, err
	}
	return files.Stat(name)
}

func (m *memory) ReadDir(name string) ([]fs.DirEntry, error) {
	files, end, err := m.begin("list", name)
	defer end()
	if err != nil {
		return nil, err
	}
	return files.ReadDir(name)
}

func (m *memory) counts() (ops, reads int) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.ops, m.reads
}

// host is a workspace with skills as a program sets it up.
type host struct {
	t     *testing.T
	r     *registry.Registry
	mu    sync.Mutex
	clock time.Time
}

func (h *host) now() time.Time {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.clock
}

func (h *host) pass(d time.Duration) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.clock = h.clock.Add(d)
}

// setup says what a host configures beside dialect and clock.
type setup struct {
	dialect   skill.Dialect // "" = mastra
	fsys      fs.FS         // the explicit source; nil = the disk below workspace
	forms     []string
	workspace string
	fileTimes bool
	cooldown  time.Duration
	views     registry.Views
	sources   []source.Source
	async     bool // a turn does not wait for a check
	report    func(skill.Diagnostic)
}

func open(t *testing.T, s setup) *host {
	t.Helper()
	h := &host{t: t, clock: time.Now().Add(time.Hour)}
	r, err := h.open(s)
	if err != nil {
		t.Fatal(err)
	}
	h.r = r
	t.Cleanup(func() { r.Close() })
	return h
}

func (h *host) env(s setup) source.Env {
	return source.Env{
		Workspace: s.workspace, OS: "linux", Format: source.Format{Dialect: cmp.Or(s.dialect, skill.Mastra)}, Now: h.now, CheckFileTimes: s.fileTimes,
	}
}

func (h *host) open(s setup) (*registry.Registry, error) {
	if s.forms == nil {
		s.forms = []string{"skills"}
	}
	v := s.views
	v.Env, v.Forms = h.env(s), s.forms
	if s.fsys != nil {
		v.Reads = s.fsys
	}
	return registry.Open(h.t.Context(), registry.Config{
		Dialect: cmp.Or(s.dialect, skill.Mastra), Workspace: s.workspace, Sources: s.sources, Report: s.report, Cooldown: s.cooldown, Now: h.now, Blocking: !s.async, Views: v,
	})
}

// view returns the view of calls that belong to no request.
func (h *host) view() *registry.View { return h.of(registry.RequestContext{}) }

func (h *host) of(c registry.RequestContext) *registry.View {
	h.t.Helper()
	v, err := h.r.View(h.t.Context(), registry.Scope{Request: c})
	if err != nil {
		h.t.Fatal(err)
	}
	h.t.Cleanup(v.Close)
	return v
}

// check is the host's staleness check at the start of a turn.
func check(t *testing.T, v *registry.View) *registry.Snapshot {
	t.Helper()
	s, err := v.ForTurn(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func refresh(t *testing.T, v *registry.View) *registry.Snapshot {
	t.Helper()
	s, err := v.Refresh(t.Context(), registry.RefreshOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// names lists a Snapshot.
func names(s *registry.Snapshot) []string {
	var out []string
	for _, r := range s.Winners {
		out = append(out, r.Skill.Name)
	}
	return out
}

func paths(s *registry.Snapshot) []string {
	var out []string
	for _, r := range s.Winners {
		out = append(out, r.Path())
	}
	slices.Sort(out)
	return out
}

// get returns nil for what is not found.
func get(t *testing.T, s *registry.Snapshot, selector string) *registry.Record {
	t.Helper()
	r, err := s.Lookup(selector)
	var unknown *registry.UnknownError
	if err != nil && !errors.As(err, &unknown) {
		t.Fatal(err)
	}
	if r == nil || r.State != registry.Available {
		return nil
	}
	return r
}

// need is get of what must be there.
func need(t *testing.T, s *registry.Snapshot, selector string) *registry.Record {
	t.Helper()
	r := get(t, s, selector)
	if r == nil {
		t.Fatalf("%q is not found among %v", selector, paths(s))
	}
	return r
}

func read(t *testing.T, r *registry.Record, rel string) (string, error) {
	t.Helper()
	f, err := r.From.Open(t.Context(), r.Entry, rel)
	if err != nil {
		return "", err
	}
	defer f.Close()
	b, err := io.ReadAll(f)
	return string(b), err
}

func want(t *testing.T, what string, got, want any) {
	t.Helper()
	if fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("%s = %v, want %v", what, got, want)
	}
}

// typeOf is the source type that hosts of the dialect show.
func typeOf(r *registry.Record) string {
	switch r.Source.Kind {
	case source.Managed:
		return "managed"
	case source.Package:
		return "external"
	}
	return "local"
}

// onDisk writes files below a new folder.
func onDisk(t *testing.T, files map[string]string) string {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	write(t, dir, files)
	return dir
}

func write(t *testing.T, dir string, files map[string]string) {
	t.Helper()
	for name, content := range files {
		p := filepath.Join(dir, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(p), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(p, []byte(content), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

// skillsAt are files of valid skills at these folders, by the folder's name.
func skillsAt(dirs ...string) map[string]string {
	files := map[string]string{}
	for _, d := range dirs {
		files[d+"/SKILL.md"] = text(path.Base(d))
	}
	return files
}

// listed opens a workspace on the disk and in memory with the same files and path forms
// and wants the same skills, by path, in both.
func listed(t *testing.T, forms, dirs, wanted []string) {
	t.Helper()
	files := skillsAt(dirs...)
	m := inMemory()
	for name, content := range files {
		m.put(name, content)
	}
	v := open(t, setup{fsys: m, forms: forms}).view()
	want(t, fmt.Sprint(forms, " in memory"), paths(v.Snapshot()), wanted)
	ws := onDisk(t, files)
	v = open(t, setup{workspace: ws, forms: forms}).view()
	var got []string
	for _, p := range paths(v.Snapshot()) {
		got = append(got, strings.TrimPrefix(p, filepath.ToSlash(ws)+"/"))
	}
	want(t, fmt.Sprint(forms, " on the disk"), got, wanted)
}
