package toolset

import (
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/fstest"
	"unicode/utf8"

	"pgregory.net/rapid"

	"github.com/deftskills/deft/registry"
	"github.com/deftskills/deft/session"
	"github.com/deftskills/deft/skill"
	"github.com/deftskills/deft/source"
)

// snapshotOf opens a registry over skills in memory, SKILL.md by folder.
func snapshotOf(t rapid.TB, d skill.Dialect, files map[string]string) *registry.Snapshot {
	tree := fstest.MapFS{}
	for dir, text := range files {
		tree[dir+"/SKILL.md"] = &fstest.MapFile{Data: []byte(text)}
	}
	src := source.FS(tree, source.DirOptions{
		Info: source.Info{ID: "mem", Kind: source.User, Trust: source.Trusted}, Format: source.Format{Dialect: d},
	})
	reg, err := registry.Open(context.Background(), registry.Config{Dialect: d, Sources: []source.Source{src}})
	if err != nil {
		t.Fatal(err)
	}
	return reg.Snapshot()
}

// still is a Snapshot that does not change.
type still struct{ s *registry.Snapshot }

func (s still) Snapshot() *registry.Snapshot { return s.s }

func turnOf(t rapid.TB, snap session.Snapshots, d skill.Dialect) *session.Turn {
	s, err := session.New(context.Background(), session.Options{Snapshots: snap, Dialect: d})
	if err != nil {
		t.Fatal(err)
	}
	turn, err := s.Begin(context.Background(), session.TurnInput{})
	if err != nil {
		t.Fatal(err)
	}
	return turn
}

func callWith(t rapid.TB, tool Tool, turn *session.Turn, in map[string]any) Result {
	raw, err := json.Marshal(in)
	if err != nil {
		t.Fatal(err)
	}
	res, err := tool.Call(context.Background(), Call{Input: raw, Turn: turn})
	if err != nil {
		t.Fatal(err)
	}
	return res
}

func firstTool(o Options, base string) Tool { // the tool of that name before any renaming
	want := o.Name(base)
	for _, tool := range Skills(o) {
		if tool.Spec().Name == want {
			return tool
		}
	}
	return nil
}

// Whatever skills there are: each one that a model may see is loaded by the name that
// it is shown.
func TestNothingListedCannotBeLoaded(t *testing.T) {
	t.Parallel()
	name := rapid.StringMatching(`[a-zA-Z技能ß0-9][a-zA-Z技能ß0-9 ._:@/-]{0,12}`)
	rapid.Check(t, func(t *rapid.T) {
		d := rapid.SampledFrom([]skill.Dialect{skill.Deft, skill.MiniMax, skill.Blade, skill.AgentSkills}).Draw(t, "dialect")
		files := map[string]string{}
		for i, n := range rapid.SliceOfN(name, 1, 6).Draw(t, "names") {
			head := fmt.Sprintf("---\nname: %q\ndescription: Does it.\n", n)
			if rapid.IntRange(0, 4).Draw(t, "manual") == 0 {
				head += "disable-model-invocation: true\n"
			}
			files[fmt.Sprint("d", i)] = head + "---\nBody.\n"
		}
		snap := snapshotOf(t, d, files)
		tool := firstTool(Options{Dialect: d}, NameSkill)
		key := "name"
		if d == skill.Blade {
			key = "skill"
		}
		for _, r := range snap.Winners {
			if !r.ForModel() {
				continue
			}
			res := callWith(t, tool, turnOf(t, still{snap}, d), map[string]any{key: r.Address})
			if res.IsError || len(res.Meta.Activated) != 1 || !strings.Contains(res.Text, "Body.") {
				t.Fatalf("%s: %q is listed and answers %q", d, r.Address, res.Text)
			}
		}
	})
}

// Ten thousand questions made of pieces of hidden names: no answer of any tool names a
// skill that a model may not know of.
func TestNoAnswerNamesAHiddenSkill(t *testing.T) {
	t.Parallel()
	files := map[string]string{"manual": md("zebra-manual", "disable-model-invocation: true\n", "x\n")}
	for _, n := range []string{"zebra-off", "zebra-held", "zebu-off"} {
		files[n] = md(n, "", "x\n")
	}
	for i := range 30 {
		n := fmt.Sprint("open-", i)
		files[n] = md(n, "", "x\n")
	}
	questions := 10_000
	if testing.Short() {
		questions = 500
	}
	for _, d := range []skill.Dialect{skill.Deft, skill.MiniMax, skill.Mastra, skill.Blade, skill.ClaudeCode} {
		snap := snapshotOf(t, d, files)
		for name, state := range map[string]registry.State{"zebra-off": registry.Disabled, "zebra-held": registry.Untrusted, "zebu-off": registry.Disabled} {
			r, err := snap.Lookup(name)
			if err != nil {
				t.Fatal(err)
			}
			r.State = state
		}
		manualIsHidden := d == skill.Deft // the others know no such switch, or show it by their own rules
		pieces := []string{"zebra", "zebu", "off", "held", "manual", "-", "_", " ", "@", "@mem", "/", "./", "\\", "z", "Z", "`", "\"", "ebra", "open", "1", "..", "data:"}
		rnd := rand.New(rand.NewPCG(1, uint64(len(d))))
		o := Options{Dialect: d, Style: StyleBoth, Searcher: echo{}}
		tools := Skills(o)
		for range questions / 5 {
			var q string
			for range 1 + rnd.IntN(5) {
				q += pieces[rnd.IntN(len(pieces))]
			}
			tool := tools[rnd.IntN(len(tools))]
			turn := turnOf(t, still{snap}, d)
			raw := map[string]any{"name": q, "skill": q, "skillName": q, "path": "SKILL.md", "ids": []string{q}, "query": q, "names": []string{q}, "tool": q}
			in := map[string]any{}
			for p := range properties(tool.Spec().Input) {
				if v, ok := raw[p]; ok {
					in[p] = v
				}
			}
			if _, wraps := tool.(Unwrapper); wraps {
				continue
			}
			text := strings.ToLower(strings.ReplaceAll(callWith(t, tool, turn, in).Text, show(q), "Q"))
			for _, hidden := range []string{"zebra-off", "zebra-held", "zebu-off", "zebra-manual"} {
				exact := strings.EqualFold(session.CleanName(q), "zebra-manual")
				if strings.Contains(text, hidden) && (hidden != "zebra-manual" || manualIsHidden && !exact) {
					t.Fatalf("%s: %s %q: %s", d, tool.Spec().Name, q, text)
				}
			}
		}
	}
}

// However a text is cut into ranges: no character is split, no line is lost or doubled.
func TestRangesNeverSplitACharacter(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.StringMatching(`([aé技😀]{0,9}\r?\n){0,20}[aé技😀]{0,9}`).Draw(t, "text")
		lines := splitLines(text)
		most, bytes := rapid.IntRange(1, 5).Draw(t, "lines"), rapid.IntRange(1, 40).Draw(t, "bytes")
		var got []string
		for from, last := 1, 0; from <= len(lines); from = last + 1 {
			w := window{lines: lines, from: from, maxLines: most, maxBytes: bytes}
			var part string
			var cut bool
			part, _, last, cut = w.cut("startLine")
			if !utf8.ValidString(part) || last < from {
				t.Fatalf("%q from %d: %q to %d", text, from, part, last)
			}
			if cut {
				part, _, _ = strings.Cut(part, "\n[more: ")
			}
			got = append(got, strings.Split(part, "\n")...)
		}
		if strings.Join(got, "\n") != strings.Join(lines, "\n") {
			t.Fatalf("%q came as %q", text, got)
		}
	})
}

func TestLongLinesAreCutOnACharacter(t *testing.T) {
	t.Parallel()
	for shift := range 4 {
		w := window{lines: []string{strings.Repeat("x", shift) + strings.Repeat("😀", maxLine/4)}, maxLines: 1, maxBytes: 1 << 20}
		text, _, _, cut := w.cut("startLine")
		if !utf8.ValidString(text) || cut != (shift > 0) {
			t.Errorf("shift %d: cut %v, valid %v", shift, cut, utf8.ValidString(text))
		}
	}
}

// FuzzArguments gives every tool arbitrary arguments: it neither panics nor fails, and
// what is brought into form stays in it.
func FuzzArguments(f *testing.F) {
	for _, s := range []string{`{}`, `{"name":"a"}`, `{"skill":"a","args":"x"}`, `{"name":"a","path":"SKILL.md","startLine":"2"}`, `[]`, `{"ids":"a","confirmed":true}`, `{"query":"x","topK":1e9}`, `{"name":null,"path":{}}`, `{"name":"\ud800"}`} {
		f.Add(s)
	}
	snap := snapshotOf(f, skill.Deft, map[string]string{"a": md("a", "", "Body.\n")})
	var tools []Tool
	for _, o := range []Options{{Style: StyleBoth, Searcher: echo{}, Scripts: NoSandbox{}}, {Dialect: skill.Mastra, OnDemand: OnDemandBeside, Searcher: echo{}}, {Dialect: skill.Blade}} {
		tools = append(tools, Skills(o)...)
	}
	f.Fuzz(func(t *testing.T, raw string) {
		for _, tool := range tools {
			n := tool.(interface {
				Normalize(json.RawMessage) json.RawMessage
			})
			once := n.Normalize(json.RawMessage(raw))
			if twice := n.Normalize(once); string(twice) != string(once) {
				t.Fatalf("%s: %q becomes %q", tool.Spec().Name, once, twice)
			}
			if u, ok := tool.(Unwrapper); ok {
				u.Unwrap(once)
				continue
			}
			turn := turnOf(t, still{snap}, skill.Deft)
			res, err := tool.Call(context.Background(), Call{Input: once, Turn: turn})
			if err != nil || !utf8.ValidString(res.Text) && utf8.ValidString(raw) {
				t.Fatalf("%s %q: %v %q", tool.Spec().Name, once, err, res.Text)
			}
		}
	})
}

// swapping gives one of several Snapshots at each turn.
type swapping struct {
	all []*registry.Snapshot
	n   atomic.Int64
}

func (s *swapping) Snapshot() *registry.Snapshot {
	return s.all[int(s.n.Add(1))%len(s.all)]
}

// A hundred sessions call everything at once while the Snapshot is swapped: whatever a
// call answers, it is a documented answer.
func TestManySessionsCallWhileTheSnapshotIsSwapped(t *testing.T) {
	t.Parallel()
	snaps := &swapping{}
	for _, names := range [][]string{{"a", "b", "c"}, {"b", "c"}, {"c", "d"}, {}} {
		files := map[string]string{}
		for _, n := range names {
			files[n] = md(n, "", "Body of "+n+".\n")
		}
		snaps.all = append(snaps.all, snapshotOf(t, skill.Deft, files))
	}
	known := map[string]bool{"": true, "skill_unknown": true, "file_unknown": true, "skill_not_active": true, "set_too_large": true, "script_unknown": true, "sandbox_unavailable": true, "limit_patches": true}
	tools := Skills(Options{Style: StyleBoth, Searcher: echo{}, Scripts: NoSandbox{}})
	sessions, calls := 100, 100
	if testing.Short() {
		sessions, calls = 10, 20
	}
	var wg sync.WaitGroup
	for i := range sessions {
		wg.Go(func() {
			rnd := rand.New(rand.NewPCG(uint64(i), 2))
			s, err := session.New(context.Background(), session.Options{Snapshots: snaps})
			if err != nil {
				t.Error(err)
				return
			}
			defer s.Close()
			var turn *session.Turn
			for n := range calls {
				if n%10 == 0 {
					if turn != nil {
						turn.End()
					}
					if turn, err = s.Begin(context.Background(), session.TurnInput{}); err != nil {
						t.Error(err)
						return
					}
				}
				name := string(rune('a' + rnd.IntN(5)))
				in, _ := json.Marshal(map[string]any{"name": name, "path": "SKILL.md", "ids": []string{name, "c"}, "query": name, "script": "scripts/x.sh"})
				tool := tools[rnd.IntN(len(tools))]
				if _, ok := tool.(Unwrapper); ok {
					continue
				}
				res, err := tool.Call(context.Background(), Call{Input: in, Turn: turn})
				if err != nil || !known[res.Code] {
					t.Errorf("%s %s: %v %s %s", tool.Spec().Name, in, err, res.Code, res.Text)
				}
			}
			turn.End()
		})
	}
	wg.Wait()
}
