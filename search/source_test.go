package search

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/deftskills/deft/registry"
	"github.com/deftskills/deft/source"
)

// onDisk writes files and returns the skills that a directory source finds there.
func onDisk(t *testing.T, files map[string]string) *registry.Snapshot {
	t.Helper()
	root := t.TempDir()
	for name, text := range files {
		p := filepath.Join(root, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(p), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(p, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	list, err := source.Dir(root, source.DirOptions{}).Scan(context.Background(), nil)
	if err != nil {
		t.Fatal(err)
	}
	snap := &registry.Snapshot{}
	for _, e := range list.Entries {
		rec := &registry.Record{Entry: e, State: registry.Available, Address: e.Skill.Name}
		snap.Winners = append(snap.Winners, rec)
	}
	return snap
}

func TestSkillsOnDiskAreFoundByBodyAndReferences(t *testing.T) {
	t.Parallel()
	snap := onDisk(t, map[string]string{
		"tides/SKILL.md":               "---\nname: tides\ndescription: The sea.\n---\n\n# Tides\n\nEbb and flow.\n",
		"tides/references/moon.md":     "# Moon\n\nA syzygy makes a spring tide.\n",
		"tides/references/deep/n.txt":  "perigee",
		"tides/references/pic.png":     "syzygy syzygy",
		"tides/scripts/run.sh":         "echo forbidden",
		"crlf/SKILL.md":                "---\r\nname: crlf\r\ndescription: Lines.\r\n---\r\nfirst\r\nthe zebra\r\n",
		"manual/SKILL.md":              "---\nname: manual\ndescription: Ebb.\ndisable-model-invocation: true\n---\nx\n",
		"other/SKILL.md":               "---\nname: other\ndescription: Unrelated.\n---\nx\n",
		"other/references/bad-utf8.md": "caf\xe9",
	})
	x, err := Open(Options{})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := x.Update(context.Background(), "", snap); err != nil {
		t.Fatal(err)
	}
	for query, want := range map[string]Match{
		"syzygy":    {File: "references/moon.md", StartLine: 3, EndLine: 3},
		"perigee":   {File: "references/deep/n.txt", StartLine: 1, EndLine: 1},
		"ebb flow":  {File: "SKILL.md", StartLine: 8, EndLine: 8},
		"zebra":     {File: "SKILL.md", StartLine: 6, EndLine: 6},
		"forbidden": {},
	} {
		res := find(t, x, Query{Text: query, View: ModelView(snap)})
		got := Match{}
		if len(res.Hits) > 0 {
			got = res.Hits[0].Matches[0]
		}
		if got.File != want.File || got.StartLine != want.StartLine || got.EndLine != want.EndLine {
			t.Errorf("%s is found at %+v, want %+v", query, got, want)
		}
	}
	if got := names(find(t, x, Query{Text: "ebb"})); !slices.Equal(got, []string{"manual", "tides"}) && !slices.Equal(got, []string{"tides", "manual"}) {
		t.Errorf("a person finds %v", got)
	}
	scan, err := Scan(context.Background(), snap, Query{Text: "syzygy"})
	if err != nil || !slices.Equal(names(scan), []string{"tides"}) || scan.Hits[0].Matches[0].File != "references/moon.md" {
		t.Errorf("a scan finds %+v, %v", scan.Hits, err)
	}
	if d := x.Diagnostics(""); len(d) != 1 || !strings.Contains(d[0].Message, "bad-utf8.md") {
		t.Errorf("diagnostics are %v", d)
	}
}

// TestEveryHitsLinesHoldAMatchedWord keeps the promise that reading the lines of a hit
// shows why it is one.
func TestEveryHitsLinesHoldAMatchedWord(t *testing.T) {
	t.Parallel()
	snap := onDisk(t, map[string]string{
		"a/SKILL.md": "---\nname: a\ndescription: >\n  Folded words about\n  whales and 鲸鱼.\n---\nOne.\n\nTwo whales.\n\n```\nwhale()\n```\n",
		"b/SKILL.md": "\ufeff---\nname: b\ndescription: A boat.\n---\n" + strings.Repeat("line\n", 30) + "A whale of 鲸鱼 size.\n",
	})
	x, _ := Open(Options{})
	if _, err := x.Update(context.Background(), "", snap); err != nil {
		t.Fatal(err)
	}
	for _, q := range []string{"whale", "鲸鱼", "boat size", "folded"} {
		for _, h := range find(t, x, Query{Text: q}).Hits {
			for _, m := range h.Matches {
				rec := snap.Winners[slices.IndexFunc(snap.Winners, func(r *registry.Record) bool { return r.Address == h.Address })]
				raw, err := os.ReadFile(filepath.Join(rec.Dir, m.File))
				if err != nil {
					t.Fatal(err)
				}
				all := strings.Split(string(raw), "\n")
				text := strings.Join(all[m.StartLine-1:m.EndLine], "\n")
				if len(m.Terms) == 0 || !slices.ContainsFunc(terms(text), func(w string) bool { return slices.Contains(m.Terms, w) }) {
					t.Errorf("%s: %s lines %d to %d hold none of %v: %q", q, m.File, m.StartLine, m.EndLine, m.Terms, text)
				}
			}
		}
	}
}
