package toolset

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/deftskills/deft/registry"
	"github.com/deftskills/deft/session"
	"github.com/deftskills/deft/source"
)

// house is a session over skills in a temporary directory.
type house struct {
	t    testing.TB
	root string // of the skills
	snap *registry.Snapshot
	s    *session.Session
	turn *session.Turn
	o    Options
}

func (h *house) Snapshot() *registry.Snapshot { return h.snap }

// write makes the files, path to content, below a directory.
func write(t testing.TB, root string, files map[string]string) {
	t.Helper()
	for name, text := range files {
		p := filepath.Join(root, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(p), 0o755); err != nil {
			t.Fatal(err)
		}
		mode := os.FileMode(0o644)
		if strings.HasSuffix(name, ".sh") {
			mode = 0o755
		}
		if err := os.WriteFile(p, []byte(text), mode); err != nil {
			t.Fatal(err)
		}
	}
}

func md(name, more, body string) string {
	return "---\nname: " + name + "\ndescription: What " + name + " does.\n" + more + "---\n\n" + body
}

// newHouse opens a session over the skills below root, with further sources.
func newHouse(t testing.TB, root string, more ...source.Source) *house {
	t.Helper()
	h := &house{t: t, root: root}
	dir := source.Dir(root, source.DirOptions{Info: source.Info{ID: "user", Kind: source.User}})
	reg, err := registry.Open(t.Context(), registry.Config{Sources: append([]source.Source{dir}, more...)})
	if err != nil {
		t.Fatal(err)
	}
	h.snap = reg.Snapshot()
	h.s, err = session.New(t.Context(), session.Options{ID: "s", Snapshots: h, ProjectDir: "/project"})
	if err != nil {
		t.Fatal(err)
	}
	h.next()
	return h
}

// next begins another turn.
func (h *house) next() {
	h.t.Helper()
	if h.turn != nil {
		h.turn.End()
	}
	var err error
	if h.turn, err = h.s.Begin(h.t.Context(), session.TurnInput{}); err != nil {
		h.t.Fatal(err)
	}
}

// call calls a skill tool.
func (h *house) call(name string, args map[string]any) Result {
	h.t.Helper()
	for _, tool := range Skills(h.o) {
		if tool.Spec().Name == name {
			return run(h.t, tool, args, h.turn)
		}
	}
	h.t.Fatalf("no tool %s", name)
	return Result{}
}

func run(t testing.TB, tool Tool, args map[string]any, turn *session.Turn) Result {
	t.Helper()
	raw, err := json.Marshal(args)
	if err != nil {
		t.Fatal(err)
	}
	res, err := tool.Call(context.Background(), Call{ID: "c", Input: raw, Turn: turn})
	if err != nil {
		t.Fatal(err)
	}
	return res
}

func args(pairs ...any) map[string]any {
	m := map[string]any{}
	for i := 0; i < len(pairs); i += 2 {
		m[pairs[i].(string)] = pairs[i+1]
	}
	return m
}

func startAsUser(t testing.TB, h *house, name string) {
	t.Helper()
	res, err := h.turn.Activate(t.Context(), session.Request{Names: []string{name}, Actor: session.ActorUser})
	if err != nil || len(res.Loaded) != 1 {
		t.Fatal(err, res.Refused)
	}
}
