package minimax

import (
	"context"
	"encoding/json"
	"errors"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/deftskills/deft/registry"
	"github.com/deftskills/deft/skill"
	"github.com/deftskills/deft/source"
	"github.com/deftskills/deft/store"
)

func (w *world) agent() string { return filepath.Join(w.data, "agents/mavis/skills") }

func TestA01KindBeforePriority(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	ws := w.skill(filepath.Join(w.ws, ".agents/skills/x"))
	w.skill(filepath.Join(w.agent(), "x"))
	wins(t, w.snapshot(), "x", ws)
}

func TestA02AgentBeatsUserAndGlobal(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	agent := w.skill(filepath.Join(w.agent(), "x"))
	w.skill(filepath.Join(w.home, ".claude/skills/x"))
	w.skill(filepath.Join(w.global(), "x"))
	wins(t, w.snapshot(), "x", agent)
}

func TestA03ClaudeHomeBeatsDataDirectory(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	claude := w.skill(filepath.Join(w.home, ".claude/skills/x"))
	w.skill(filepath.Join(w.global(), "x"))
	wins(t, w.snapshot(), "x", claude)
}

func TestA03ClaudeHomeBeatsDataDirectoryDeft(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.env.Format.Dialect, w.env.DataDir = skill.Deft, w.data
	w.skill(filepath.Join(w.home, ".claude/skills/x"))
	own := w.skill(filepath.Join(w.global(), "x"))
	wins(t, w.snapshot(), "x", own)
}

func TestA04BuiltinAlwaysLast(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	b := w.mkdir(w.root, "high")
	w.skill(filepath.Join(b, "x"))
	global := w.skill(filepath.Join(w.global(), "x"))
	high := source.Dir(b, source.DirOptions{Info: source.Info{ID: "high", Kind: source.Builtin, Priority: 1000}, Format: w.env.Format})
	wins(t, w.snapshot(high), "x", global)
}

func TestA05SeededBeatsBundled(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	dirs := []string{
		filepath.Join(w.data, ".builtin-skills/x"), filepath.Join(w.root, "bundle/agents/mavis/skills/x"), filepath.Join(w.root, "bundle/skills/x"),
	}
	for _, dir := range dirs {
		w.skill(dir)
	}
	for _, dir := range dirs {
		wins(t, w.snapshot(), "x", dir)
		if err := os.RemoveAll(dir); err != nil {
			t.Fatal(err)
		}
	}
}

func TestA06TieByLocation(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.settings("skills: {external: {sources: {user-codex: {priority: 40}}}}")
	claude := w.skill(filepath.Join(w.home, ".claude/skills/x"))
	w.skill(filepath.Join(w.home, ".codex/skills/x"))
	wins(t, w.snapshot(), "x", claude)
}

func TestA07NameExactCase(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.skill(filepath.Join(w.global(), "A"))
	w.skill(filepath.Join(w.global(), "a"))
	s := w.snapshot()
	equal(t, "names", names(s), []string{"A", "a"})
	equal(t, "codes", codes(s), nil)
}

func TestA08LosersKept(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.skill(filepath.Join(w.global(), "x"))
	ws := w.skill(filepath.Join(w.workspace(), "x"))
	w.skill(filepath.Join(w.agent(), "x"))
	shape := w.snapshot().Shape()
	uri := "files://" + ws + "/SKILL.md"
	if len(shape.Losers) != 2 {
		t.Fatalf("%+v", shape.Losers)
	}
	for _, l := range shape.Losers {
		is(t, "reason", l.Reason, "Shadowed by workspace source "+uri)
		is(t, "winner", l.Winner, uri)
	}
	var order []string
	for _, e := range shape.Entries {
		order = append(order, e.Location)
		is(t, "winner of "+e.Location, e.Winner, uri)
	}
	if !slices.IsSorted(order) {
		t.Errorf("%v", order)
	}
}

func TestA09NoDuplicateDiagnostic(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.skill(filepath.Join(w.global(), "x"))
	w.skill(filepath.Join(w.workspace(), "x"))
	equal(t, "codes", codes(w.snapshot()), nil)
}

// legacy makes two former folders of the agent that hold x.
func legacy(t *testing.T) *world {
	w := newWorld(t)
	w.env.Legacy = []string{"old", "older"}
	w.skill(filepath.Join(w.data, "agents/old/skills/x"))
	w.skill(filepath.Join(w.data, "agents/older/skills/x"))
	return w
}

func TestA10LegacyAmbiguity(t *testing.T) {
	t.Parallel()
	w := legacy(t)
	w.skill(filepath.Join(w.global(), "x"))
	s := w.snapshot()
	equal(t, "names", names(s), nil)
	for _, lookup := range []func(string) (*registry.Record, error){s.Lookup, s.LookupForModel} {
		var amb *registry.AmbiguousError
		if _, err := lookup("x"); !errors.As(err, &amb) || amb.Code != "AMBIGUOUS_SKILL_NAME" || len(amb.Candidates) != 2 {
			t.Errorf("%v", err)
			continue
		}
		for _, location := range amb.Candidates {
			r, err := s.Lookup(location)
			if err != nil || r.Location != location {
				t.Fatalf("%v %v", r, err)
			}
			if l, err := source.Load(t.Context(), r.Entry); err != nil || l.Body != "Do it.\n" {
				t.Errorf("%q %v", l.Body, err)
			}
		}
	}
}

func TestA11CanonicalResolvesAmbiguity(t *testing.T) {
	t.Parallel()
	w := legacy(t)
	own := w.skill(filepath.Join(w.agent(), "x"))
	wins(t, w.snapshot(), "x", own)
}

// cabinet is the state of a machine, as a Deactivator.
type cabinet struct {
	*store.Store
	file string
}

func newCabinet(t *testing.T) cabinet {
	t.Helper()
	file := filepath.Join(t.TempDir(), "deft.db")
	s, err := store.Open(t.Context(), store.Options{DB: file})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return cabinet{s, file}
}

func (c cabinet) DisabledLocations(ctx context.Context) []string {
	st, err := c.Load(ctx)
	if err != nil && !errors.Is(err, store.ErrDamaged) {
		return nil
	}
	return st.Locations
}

func (c cabinet) turn(t *testing.T, location string, off bool) {
	t.Helper()
	if err := c.SwitchLocations(t.Context(), off, location); err != nil {
		t.Fatal(err)
	}
}

func TestA12DisabledWinnerHidesName(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	ws := w.skill(filepath.Join(w.workspace(), "x"))
	w.skill(filepath.Join(w.global(), "x"))
	off := newCabinet(t)
	w.config.Filters.Disabled = off
	r := w.open()
	off.turn(t, wins(t, r.Snapshot(), "x", ws).Location, true)
	s, err := r.Refresh(t.Context(), registry.RefreshOptions{})
	if err != nil {
		t.Fatal(err)
	}
	equal(t, "names", names(s), nil)
	if rec, err := s.Lookup("x"); err != nil || rec.State != registry.Disabled || rec.Reasons[0].Code != "off" {
		t.Errorf("%+v %v", rec, err)
	}
}

func TestA12DisabledWinnerHidesNameDeft(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.env.Format.Dialect, w.env.DataDir = skill.Deft, w.data
	w.write(filepath.Join(w.workspace(), "x/SKILL.md"), "---\nname: [x\n---\n")
	global := w.skill(filepath.Join(w.global(), "x"))
	wins(t, w.snapshot(), "x", global) // what cannot win gives the name to the next
}

func TestA13UnlistedWinnerHidesName(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.skill(filepath.Join(w.workspace(), "x"), "listed: false")
	w.skill(filepath.Join(w.global(), "x"))
	equal(t, "names", names(w.snapshot()), nil)
}

func TestA14SnapshotShape(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.skill(filepath.Join(w.workspace(), "x"))
	w.write(filepath.Join(w.global(), "x/SKILL.md"), text("x")+"A secret of the body.\n")
	r := w.open()
	first := r.Snapshot().Shape()
	w.skill(filepath.Join(w.global(), "y"))
	if _, err := r.Refresh(t.Context(), registry.RefreshOptions{}); err != nil {
		t.Fatal(err)
	}
	now := r.Snapshot().Shape()
	if now.Version <= first.Version || now.GeneratedAt.IsZero() {
		t.Errorf("version %d after %d", now.Version, first.Version)
	}
	raw, err := json.Marshal(now)
	if err != nil {
		t.Fatal(err)
	}
	var doc map[string]json.RawMessage
	if err := json.Unmarshal(raw, &doc); err != nil {
		t.Fatal(err)
	}
	equal(t, "fields", slices.Sorted(maps.Keys(doc)), []string{
		"diagnostics", "entries", "generatedAt", "losers", "metrics", "roots", "version", "winners",
	})
	var metrics map[string]int
	if err := json.Unmarshal(doc["metrics"], &metrics); err != nil {
		t.Fatal(err)
	}
	want := map[string]int{
		"rootsScanned": 11, "filesSeen": 3, "filesRead": 1, "filesReused": 2, "diagnostics": len(now.Diagnostics),
		"entries": 3, "winners": 2, "losers": 1,
	}
	if !maps.Equal(metrics, want) {
		t.Errorf("metrics %v, want %v", metrics, want)
	}
	if strings.Contains(string(raw), "secret of the body") || strings.Contains(string(r.Snapshot().Dump()), "secret of the body") {
		t.Error("the dump has contents")
	}
	is(t, "winner", now.Winners["x"], "files://"+filepath.Join(w.workspace(), "x/SKILL.md"))
}

// fault makes one skill whose reading yields a code.
func (w *world) fault(code string) *registry.Snapshot {
	at := func(name string) string { return filepath.Join(w.global(), name, "SKILL.md") }
	switch code {
	case "root_unreadable": // every absent root
	case "skill_directory_link_not_directory":
		w.link(w.write(filepath.Join(w.root, "f"), ""), filepath.Join(w.global(), "x"))
	case "skill_directory_link_unreadable":
		w.link("nowhere", filepath.Join(w.global(), "x"))
	case "skill_symlink_rejected":
		w.link(w.write(filepath.Join(w.root, "f"), ""), at("x"))
	case "skill_outside_root":
		w.link(w.skill(filepath.Join(w.root, "x")), filepath.Join(w.workspace(), "x"))
	case "skill_file_not_file":
		w.mkdir(at("x"))
	case "skill_file_unreadable":
		return w.trap(&trapped{open: func() error { return fs.ErrPermission }}).Snapshot()
	case "skill_read_failed":
		return w.trap(&trapped{read: func() error { return syscall.EIO }}).Snapshot()
	case "skill_stat_failed":
		return w.trap(&trapped{open: func() error { return syscall.EIO }, stat: func() error { return syscall.EIO }}).Snapshot()
	case "skill_changed_during_read":
		return w.trap(&trapped{read: func() error {
			f, err := os.OpenFile(filepath.Join(w.root, "trap/a/SKILL.md"), os.O_APPEND|os.O_WRONLY, 0)
			if err != nil {
				return err
			}
			defer f.Close()
			_, err = f.WriteString("x")
			return err
		}}).Snapshot()
	case "frontmatter_invalid_yaml":
		w.write(at("x"), head("description: a: b"))
	case "frontmatter_not_mapping":
		w.write(at("x"), head("- a"))
	case "frontmatter_missing":
		w.write(at("x"), "# T\n\nText.\n")
	case "frontmatter_unclosed":
		w.write(at("x"), "---\nname: x\n")
	case "missing_title":
		w.write(at("x"), head("name: x", "description: d"))
	case "missing_description":
		w.write(at("x"), head("name: x", "title: t"))
	case "missing_name":
		w.write(at(" "), head("title: t", "description: d"))
	}
	return w.snapshot()
}

func TestA15AllCodes(t *testing.T) {
	t.Parallel()
	levels := map[skill.Level]string{
		skill.LevelWarning: `root_unreadable skill_directory_link_not_directory skill_directory_link_unreadable
			skill_symlink_rejected skill_outside_root skill_file_unreadable skill_file_not_file skill_stat_failed
			skill_changed_during_read frontmatter_invalid_yaml frontmatter_not_mapping missing_title missing_description`,
		skill.LevelInfo:  "frontmatter_missing",
		skill.LevelError: "skill_read_failed frontmatter_unclosed missing_name",
	}
	for level, list := range levels {
		for code := range strings.FieldsSeq(list) {
			found := false
			for _, d := range newWorld(t).fault(code).Shape().Diagnostics {
				if d.Code != code {
					continue
				}
				found = true
				if d.Level != level || d.File == "" || d.Fix == "" && code != "skill_changed_during_read" || d.Message == "" {
					t.Errorf("%s: %+v", code, d)
				}
			}
			if !found {
				t.Errorf("no fixture gives %s", code)
			}
		}
	}
}
