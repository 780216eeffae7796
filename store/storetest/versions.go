package storetest

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/deftskills/deft/skill"
	"github.com/deftskills/deft/store"
)

// versions is published skills.
func versions(s *Suite) {
	s.test("VersionsComeBackAsTheyWerePublished", versionsRoundTrip)
	s.test("SameFilesAreNoNewVersion", sameFiles)
	s.test("LabelsOfASkillAreUnique", labels)
	s.test("VersionsGoFromDraftToPublishedToArchivedAndBack", transitions)
	s.test("DryRunsRefuseWhatWouldBeRefusedAndKeepNothing", dryRuns)
	s.test("ChannelsAndChoicesSayWhichVersionIsUsed", strategies)
	s.test("PublishersAtOnceGetNumbersOfTheirOwn", publishTogether)
	s.test("BlobsAreKeptByTheirOwners", references)
	s.testOpen("VersionsOfTenantsAreApart", versionsApart)
}

func tree(text string) skill.Tree {
	return skill.Tree{
		{Path: "SKILL.md", Blob: skill.FileDigest([]byte(text)), Size: int64(len(text))},
		{Path: "scripts/run it's.sh", Blob: skill.FileDigest(nil), Exec: true},
	}
}

func aVersion(name, text string) store.NewVersion {
	return store.NewVersion{Name: name, Description: "it's :tenant?", Tree: tree(text), By: "ann"}
}

func publish(t testing.TB, s *store.Store, n store.NewVersion) store.Version {
	t.Helper()
	v, err := s.Versions().Publish(t.Context(), n)
	must(t, err)
	return v
}

func versionsRoundTrip(t *testing.T, s *store.Store) {
	ctx, v := t.Context(), s.Versions()
	if all, err := v.Skills(ctx); err != nil || len(all) != 0 {
		t.Error(all, err)
	}
	for _, err := range []error{
		second(v.Skill(ctx, "pdf")), second(v.List(ctx, "pdf")), second(v.Find(ctx, "pdf", "")), second(s.Trees().Get(ctx, skill.FileDigest(nil))),
		second(v.Release(ctx, "pdf", "1", "")), v.Archive(ctx, "pdf", "", ""), v.MoveChannel(ctx, "pdf", "stable", "1", ""),
	} {
		if !errors.Is(err, store.ErrNotFound) {
			t.Errorf("of nothing: %v", err)
		}
	}
	n := aVersion("Pdf-Tool", "one")
	n.Label, n.Note, n.Scan, n.Title, n.Tags = "1.0.0", "first\nnote", "scan", "PDF", []string{"a", "b"}
	n.Snapshot, n.Licence = json.RawMessage(`{"name": "Pdf-Tool"}`), json.RawMessage(`{"spdx": "MIT"}`)
	got := publish(t, s, n)
	if !got.Created || got.Number != 1 || got.Status() != store.Published || got.CreatedAt.IsZero() {
		t.Errorf("%+v", got)
	}
	list, err := v.List(ctx, "pdf-tool")
	must(t, err)
	got.Created, got.Released = false, false
	if diff := cmp.Diff([]store.Version{got}, list, cmp.Comparer(sameJSON)); diff != "" {
		t.Error(diff)
	}
	p, err := v.Skill(ctx, "PDF-TOOL")
	must(t, err)
	want := store.PublishedSkill{
		ID: got.Skill, Name: "Pdf-Tool", Status: store.Published, Active: got.ID, Latest: 1, Title: "PDF", Description: n.Description,
		Tags: n.Tags, Owner: "ann", CreatedAt: got.CreatedAt, UpdatedAt: got.CreatedAt,
	}
	if diff := cmp.Diff(want, p); diff != "" {
		t.Error(diff)
	}
	back, err := s.Trees().Get(ctx, got.Tree)
	must(t, err)
	if diff := cmp.Diff(n.Tree, back); diff != "" {
		t.Error(diff)
	}
	for _, want := range []string{"", "1", "1.0.0", got.ID, "latest"} {
		if found, err := v.Find(ctx, "pdf-tool", want); err != nil || found.ID != got.ID {
			t.Errorf("%q: %v %v", want, found.ID, err)
		}
	}
	if _, err := v.Find(ctx, "pdf-tool", "1.0.1"); !errors.Is(err, store.ErrUnknownVersion) || !strings.Contains(err.Error(), "1.0.0") {
		t.Error(err)
	}
	offers, err := v.Offers(ctx)
	must(t, err)
	if len(offers) != 1 || offers[0].ID != got.ID || cmp.Diff(n.Tree, offers[0].Files) != "" || offers[0].Damaged != nil {
		t.Errorf("%+v", offers)
	}
}

func dryRuns(t *testing.T, s *store.Store) {
	ctx, dry := t.Context(), s.Versions().DryRun()
	n := aVersion("pdf", "one")
	n.Label = "1.0.0"
	publish(t, s, n)
	before, err := s.Versions().List(ctx, "pdf")
	must(t, err)
	n.Label = "2.0.0" // the same files have another
	if _, err := dry.Publish(ctx, n); !errors.Is(err, store.ErrLabelTaken) {
		t.Error(err)
	}
	n.Tree, n.Channel = tree("two"), "stable"
	if v, err := dry.Publish(ctx, n); err != nil || !v.Created || v.Number != 2 {
		t.Error(v, err)
	}
	if err := dry.Restore(ctx, "pdf", ""); !errors.Is(err, store.ErrTransition) {
		t.Error(err)
	}
	if err := dry.Archive(ctx, "pdf", "1", ""); !errors.Is(err, store.ErrTransition) {
		t.Error(err)
	}
	if err := dry.Archive(ctx, "pdf", "", ""); err != nil {
		t.Error(err)
	}
	if _, err := dry.Choose(ctx, "pdf", store.VersionChoice{Strategy: store.UsePin, Value: "9"}); !errors.Is(err, store.ErrUnknownVersion) {
		t.Error(err)
	}
	after, err := s.Versions().List(ctx, "pdf")
	must(t, err)
	p, err := s.Versions().Skill(ctx, "pdf")
	must(t, err)
	if diff := cmp.Diff(before, after); diff != "" || p.Status != store.Published || p.Latest != 1 {
		t.Error(diff, p)
	}
}

func second[T any](_ T, err error) error { return err }

func sameJSON(a, b json.RawMessage) bool {
	var x, y any
	return errors.Join(json.Unmarshal(a, &x), json.Unmarshal(b, &y)) == nil && cmp.Equal(x, y)
}

func sameFiles(t *testing.T, s *store.Store) {
	first := publish(t, s, aVersion("pdf", "one"))
	again := publish(t, s, aVersion("PDF", "one"))
	if again.Created || again.ID != first.ID {
		t.Errorf("%+v", again)
	}
	n := aVersion("pdf", "one")
	n.Tree = slices.Clone(n.Tree)
	n.Tree[0].Exec = true
	if v := publish(t, s, n); v.Created || len(v.Warnings) != 1 || !strings.HasPrefix(v.Warnings[0], "tree_mode") {
		t.Errorf("other modes: %+v", v)
	}
	n.Force = true
	if v := publish(t, s, n); !v.Created || v.Number != 2 || v.Tree != first.Tree {
		t.Errorf("forced: %+v", v)
	}
	if v := publish(t, s, aVersion("pdf", "two")); !v.Created || v.Number != 3 {
		t.Errorf("others: %+v", v)
	}
	if v := publish(t, s, aVersion("pdf", "one")); !v.Created || v.Number != 4 {
		t.Errorf("back to the first: %+v", v)
	}
	for _, bad := range []store.NewVersion{{}, {Name: "x"}, {Name: " ", Tree: tree("x")}, {Name: "x", Tree: skill.Tree{{Path: "a"}}}, {Name: "x", Tree: append(tree("x"), tree("x")...)}} {
		if _, err := s.Versions().Publish(t.Context(), bad); !errors.Is(err, store.ErrInvalid) {
			t.Errorf("%+v: %v", bad, err)
		}
	}
	if all, err := s.Versions().Skills(t.Context()); err != nil || len(all) != 1 {
		t.Error(all, err)
	}
}

func labels(t *testing.T, s *store.Store) {
	with := func(text, label string) (store.Version, error) {
		n := aVersion("pdf", text)
		n.Label = label
		return s.Versions().Publish(t.Context(), n)
	}
	v, err := with("one", "")
	must(t, err)
	if same, err := with("one", "1.0.0"); err != nil || same.ID != v.ID || same.Label != "1.0.0" || same.Created {
		t.Errorf("a label comes later: %+v %v", same, err)
	}
	for _, try := range [][2]string{{"one", "1.0.1"}, {"two", "1.0.0"}} {
		if _, err := with(try[0], try[1]); !errors.Is(err, store.ErrLabelTaken) || store.Code(err) != "versions_label_taken" {
			t.Errorf("%v: %v", try, err)
		}
	}
	for _, bad := range []string{"1", "v1.0.0", "01.0.0", "1.0.0 ", "stable", "1.0.0-"} {
		if _, err := with("three", bad); !errors.Is(err, store.ErrInvalid) {
			t.Errorf("%q: %v", bad, err)
		}
	}
	other := aVersion("other", "one")
	other.Label = "1.0.0"
	publish(t, s, other)
	if all, err := s.Versions().List(t.Context(), "pdf"); err != nil || len(all) != 1 {
		t.Error(all, err)
	}
}

// stands is status of the skill, the offered number, and the states from the newest on.
func stands(t testing.TB, s *store.Store, name string) string {
	t.Helper()
	p, err := s.Versions().Skill(t.Context(), name)
	must(t, err)
	all, err := s.Versions().List(t.Context(), name)
	must(t, err)
	out, active := "", int64(0)
	for _, v := range all {
		out += " " + string(v.Status())
		if v.ID == p.Active {
			active = v.Number
		}
	}
	return fmt.Sprintf("%s %d:%s", p.Status, active, out)
}

func transitions(t *testing.T, s *store.Store) {
	ctx, v := t.Context(), s.Versions()
	draft := aVersion("pdf", "one")
	draft.Draft = true
	publish(t, s, draft)
	steps := []struct {
		name string
		do   func() error
		bad  bool
		want string
	}{
		{"a draft is not archived", func() error { return v.Archive(ctx, "pdf", "", "ann") }, true, "draft 0: draft"},
		{"a draft leads no channel", func() error { return v.MoveChannel(ctx, "pdf", "stable", "1", "ann") }, true, "draft 0: draft"},
		{"a draft is not pinned", func() error {
			return second(v.Choose(ctx, "pdf", store.VersionChoice{Strategy: store.UsePin, Value: "1"}))
		}, true, "draft 0: draft"},
		{"it is published", func() error { return second(v.Release(ctx, "pdf", "1", "ann")) }, false, "published 1: published"},
		{"it is published once", func() error { return second(v.Release(ctx, "pdf", "1", "ann")) }, true, "published 1: published"},
		{"a draft beside it", func() error {
			draft.Tree = tree("two")
			return second(v.Publish(ctx, draft))
		}, false, "published 1: draft published"},
		{"the same files publish it", func() error { return second(v.Publish(ctx, aVersion("pdf", "two"))) }, false, "published 2: published published"},
		{"a version goes", func() error { return v.Archive(ctx, "pdf", "2", "ann") }, false, "published 1: archived published"},
		{"but not twice", func() error { return v.Archive(ctx, "pdf", "2", "ann") }, true, "published 1: archived published"},
		{"nor the last one", func() error { return v.Archive(ctx, "pdf", "1", "ann") }, true, "published 1: archived published"},
		{"it comes back", func() error { return second(v.Release(ctx, "pdf", "2", "ann")) }, false, "published 2: published published"},
		{"the skill goes", func() error { return v.Archive(ctx, "pdf", "", "ann") }, false, "archived 2: published published"},
		{"and comes back", func() error { return v.Restore(ctx, "pdf", "ann") }, false, "published 2: published published"},
		{"it goes again", func() error { return v.Archive(ctx, "pdf", "", "ann") }, false, "archived 2: published published"},
		{"the same files offer it", func() error {
			again, err := v.Publish(ctx, aVersion("pdf", "two"))
			if again.Created || !again.Released {
				t.Errorf("%+v", again)
			}
			return err
		}, false, "published 2: published published"},
		{"once", func() error { return v.Restore(ctx, "pdf", "ann") }, true, "published 2: published published"},
	}
	for _, step := range steps {
		err := step.do()
		if step.bad && (!errors.Is(err, store.ErrTransition) || store.Code(err) != "versions_bad_transition") || !step.bad && err != nil {
			t.Errorf("%s: %v", step.name, err)
		}
		if got := stands(t, s, "pdf"); got != step.want {
			t.Errorf("%s: %s; want %s", step.name, got, step.want)
		}
	}
	if _, err := v.Release(ctx, "pdf", "7", "ann"); !errors.Is(err, store.ErrUnknownVersion) {
		t.Error(err)
	}
}

// inUse is the number that is used of a skill, 0 = none.
func inUse(t testing.TB, s *store.Store) int64 {
	t.Helper()
	offers, err := s.Versions().Offers(t.Context())
	must(t, err)
	if len(offers) == 0 {
		return 0
	}
	return offers[0].Number
}

func strategies(t *testing.T, s *store.Store) {
	ctx, v := t.Context(), s.Versions()
	publish(t, s, aVersion("pdf", "one"))
	two := aVersion("pdf", "two")
	two.Channel = "stable"
	publish(t, s, two)
	draft := aVersion("pdf", "three")
	draft.Draft = true
	publish(t, s, draft)
	choose := func(strategy store.Strategy, value string, want int64) {
		t.Helper()
		c, err := v.Choose(ctx, "pdf", store.VersionChoice{Strategy: strategy, Value: value, By: "ann"})
		must(t, err)
		if got := inUse(t, s); got != want {
			t.Errorf("%s %s: %d; want %d", strategy, value, got, want)
		}
		back, err := v.Chosen(ctx, "pdf")
		must(t, err)
		if back.Strategy != c.Strategy || back.Value != c.Value {
			t.Errorf("%+v; want %+v", back, c)
		}
	}
	choose("", "", 2)
	choose(store.UseLatest, "", 2)
	choose(store.UseLive, "", 0)
	choose(store.UsePin, "1", 1)
	choose(store.UseChannel, "stable", 2)
	must(t, v.MoveChannel(ctx, "pdf", "stable", "1", "bob"))
	if got := inUse(t, s); got != 1 {
		t.Errorf("the channel was moved: %d", got)
	}
	channels, err := v.Channels(ctx, "pdf")
	must(t, err)
	if len(channels) != 1 || channels[0].Name != "stable" || channels[0].MovedBy != "bob" || channels[0].MovedAt.IsZero() {
		t.Errorf("%+v", channels)
	}
	must(t, v.Archive(ctx, "pdf", "1", "ann"))
	choose(store.UsePin, "1", 1)
	must(t, v.Archive(ctx, "pdf", "", "ann"))
	choose(store.UsePin, "1", 1)
	choose(store.UseLatest, "", 0)
	for _, bad := range []store.VersionChoice{{Strategy: "other"}, {Strategy: store.UseChannel, Value: "Stable"}} {
		if _, err := v.Choose(ctx, "pdf", bad); !errors.Is(err, store.ErrInvalid) {
			t.Errorf("%+v: %v", bad, err)
		}
	}
	for _, bad := range []store.VersionChoice{{Strategy: store.UsePin, Value: "9"}, {Strategy: store.UseChannel, Value: "beta"}} {
		if _, err := v.Choose(ctx, "pdf", bad); !errors.Is(err, store.ErrUnknownVersion) {
			t.Errorf("%+v: %v", bad, err)
		}
	}
	if c, err := v.Chosen(ctx, "pdf"); err != nil || c.Strategy != store.UseLatest {
		t.Errorf("a choice that failed took the old one away: %+v %v", c, err)
	}
}

func publishTogether(t *testing.T, s *store.Store) {
	const publishers = 12
	var group sync.WaitGroup
	numbers := make([]int64, publishers)
	for i := range publishers {
		group.Go(func() {
			v, err := s.Versions().Publish(t.Context(), aVersion("pdf", fmt.Sprint(i)))
			if err != nil {
				t.Error(err)
			}
			numbers[i] = v.Number
		})
	}
	group.Wait()
	slices.Sort(numbers)
	for i, n := range numbers {
		if n != int64(i+1) {
			t.Fatal(numbers)
		}
	}
	p, err := s.Versions().Skill(t.Context(), "pdf")
	must(t, err)
	if p.Latest != publishers || p.Status != store.Published {
		t.Errorf("%+v", p)
	}
}

func references(t *testing.T, s *store.Store) {
	ctx, r := t.Context(), s.Refs()
	one, two, three := skill.FileDigest([]byte("one")), skill.FileDigest([]byte("two")), skill.FileDigest([]byte("three"))
	publish(t, s, aVersion("pdf", "one"))
	must(t, r.Keep(ctx, "output", "s1", two), r.Keep(ctx, "output", "s1", two), r.Unmark(ctx, one, two))
	kept, err := r.Kept(ctx, one, two, three)
	must(t, err)
	if diff := cmp.Diff(map[skill.Digest]bool{one: true, two: true}, kept); diff != "" {
		t.Error(diff)
	}
	must(t, r.Drop(ctx, "output", "s1"))
	kept, err = r.Kept(ctx, one, two, three)
	must(t, err)
	if diff := cmp.Diff(map[skill.Digest]bool{one: true}, kept); diff != "" {
		t.Error(diff)
	}
	for _, err := range []error{r.Keep(ctx, store.RefTree, "x", one), r.Keep(ctx, "", "x", one), r.Keep(ctx, "output", "", one), r.Keep(ctx, "output", "x", "md5:1")} {
		if !errors.Is(err, store.ErrInvalid) {
			t.Error(err)
		}
	}
}

func versionsApart(t *testing.T, open func(store.Options) *store.Store) {
	a, b := open(store.Options{Tenant: "a"}), open(store.Options{Tenant: "b"})
	ctx := t.Context()
	got := publish(t, a, aVersion("pdf", "one"))
	must(t, a.Versions().MoveChannel(ctx, "pdf", "stable", "1", "ann"))
	for _, err := range []error{
		second(b.Versions().Find(ctx, "pdf", got.ID)), second(b.Trees().Get(ctx, got.Tree)), b.Versions().Archive(ctx, "pdf", "", "bob"),
	} {
		if !errors.Is(err, store.ErrNotFound) {
			t.Error(err)
		}
	}
	publish(t, b, aVersion("pdf", "other"))
	if _, err := b.Versions().Find(ctx, "pdf", got.ID); !errors.Is(err, store.ErrUnknownVersion) {
		t.Errorf("by a guessed id: %v", err)
	}
	channels, err := b.Versions().Channels(ctx, "pdf")
	must(t, err)
	skills, err := b.Versions().Skills(ctx)
	must(t, err)
	kept, err := b.Refs().Kept(ctx, skill.FileDigest([]byte("one")))
	must(t, err)
	if len(channels) != 0 || len(skills) != 1 || len(kept) != 0 {
		t.Error(channels, skills, kept)
	}
	if got := stands(t, a, "pdf"); got != "published 1: published" {
		t.Error(got)
	}
}
