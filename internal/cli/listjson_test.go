package cli

import (
	"bytes"
	"encoding/json"
	"testing"

	"pgregory.net/rapid"

	"github.com/deftskills/deft/internal/safetext"
	"github.com/deftskills/deft/registry"
	"github.com/deftskills/deft/skill"
	"github.com/deftskills/deft/source"
)

// listing is the document as a struct, for comparison.
type listing struct {
	Skills      []skillJSON        `json:"skills"`
	Shadowed    []skillJSON        `json:"shadowed"`
	Diagnostics []skill.Diagnostic `json:"diagnostics"`
	Metrics     registry.Metrics   `json:"metrics"`
	Complete    bool               `json:"complete"`
}

func TestAListingIsWrittenAsEncodingJSONWritesIt(t *testing.T) {
	t.Parallel()
	texts := rapid.OneOf(rapid.SampledFrom([]string{"", "plain", "\"quoted\" \\ <b>&", "tab\tline\n", "代码", "\u2028", "\xff broken", "\x7f"}), rapid.String())
	record := rapid.Custom(func(t *rapid.T) *registry.Record {
		text := func(name string) string { return texts.Draw(t, name) }
		s := &skill.Skill{Name: text("name"), Title: text("title"), Description: text("description"), Digest: skill.Digest(text("digest"))}
		s.Meta.ArgumentHint, s.Meta.UserInvocable = text("hint"), rapid.Bool().Draw(t, "user")
		if rapid.Bool().Draw(t, "found") {
			s.Diagnostics = []skill.Diagnostic{{Code: text("code"), Level: skill.LevelWarning, Message: text("message"), Line: 3}}
		}
		e := &source.Entry{Skill: s, Location: text("location"), Dir: text("dir"), Group: text("group")}
		e.Source = source.Info{ID: text("source"), Kind: source.User, Path: text("root"), Version: text("version")}
		rec := &registry.Record{Entry: e, State: registry.Available, Address: text("address")}
		if rapid.Bool().Draw(t, "lost") {
			rec.State, rec.Winner = registry.Shadowed, &registry.Record{Entry: e}
			e.Aliases = []string{text("alias"), text("alias")}
			rec.Reasons = []registry.Reason{{Code: "shadowed", Message: text("reason")}, {Code: "duplicate"}}
		}
		return rec
	})
	rapid.Check(t, func(t *rapid.T) {
		show, shadowed := rapid.SliceOfN(record, 0, 3).Draw(t, "show"), rapid.SliceOfN(record, 0, 2).Draw(t, "shadowed")
		n := rapid.IntRange(0, 1<<40).Draw(t, "tokens")
		counts := map[*registry.Record]tokensJSON{}
		for _, r := range show {
			counts[r] = tokensJSON{Catalog: &n}
		}
		snap := &registry.Snapshot{Metrics: registry.Metrics{Skills: n}, Complete: len(show) == 0}
		if len(shadowed) > 0 {
			snap.Diagnostics = shadowed[0].Skill.Diagnostics
		}
		var got, want bytes.Buffer
		r := &run{app: &app{out: safetext.NewPrinter(&got, safetext.Policy{})}}
		r.printListing(snap, show, shadowed, counts)
		doc := listing{[]skillJSON{}, []skillJSON{}, orEmptyList(snap.Diagnostics), snap.Metrics, snap.Complete}
		for _, rec := range show {
			j := recordJSON(rec)
			j.Tokens = counts[rec]
			doc.Skills = append(doc.Skills, j)
		}
		for _, rec := range shadowed {
			doc.Shadowed = append(doc.Shadowed, recordJSON(rec))
		}
		enc := json.NewEncoder(&want)
		enc.SetEscapeHTML(false)
		enc.SetIndent("", "  ")
		if err := enc.Encode(doc); err != nil {
			t.Fatal(err)
		}
		if got.String() != want.String() {
			t.Fatalf("got\n%s\nwant\n%s", got.String(), want.String())
		}
	})
}
