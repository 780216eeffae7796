package storetest

import (
	"errors"
	"fmt"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/deftskills/deft/skill"
	"github.com/deftskills/deft/store"
)

func digest(s string) skill.Digest { return skill.FileDigest([]byte(s)) }

// state is switches, profiles, choices, locations and trust.
func state(s *Suite) {
	s.test("NothingWrittenIsTheEmptyState", emptyState)
	s.testOpen("EverythingComesBackAsItWasSaved", roundTrip)
	s.test("SwitchFollowsARenameWithTheSameTree", follow)
	s.test("ProfilesExtendEachOtherInNoCircle", profiles)
	s.test("DecisionsReplaceAndWithdraw", decisions)
	s.test("AWriteThatFailsChangesNothing", undone)
	s.testOpen("WritersAtOnceLoseNoUpdate", together)
}

func emptyState(t *testing.T, s *store.Store) {
	if diff := cmp.Diff(store.State{}, load(t, s)); diff != "" {
		t.Error(diff)
	}
	if _, err := s.States().Get(t.Context(), "x"); !errors.Is(err, store.ErrNotFound) {
		t.Errorf("get: %v", err)
	}
	if n, err := s.Version(t.Context()); n != 0 || err != nil {
		t.Errorf("version %d, %v", n, err)
	}
	if f := s.Check(t.Context()); len(f) != 0 {
		t.Errorf("findings %v", f)
	}
}

// fill makes one decision of every kind.
func fill(t *testing.T, s *store.Store) store.State {
	t.Helper()
	ctx := t.Context()
	must(t,
		s.States().Set(ctx, store.SkillState{Name: "Commit", Switch: store.Deny, Tree: digest("a"), Reason: "no? 'yes' :tenant", UpdatedBy: "cli"},
			store.SkillState{Name: "docs", Source: "user-deft", Switch: store.Off}),
		s.SaveProfile(ctx, store.Profile{Name: "work", Title: "工作", Include: []string{"docs-*", `a"b`}, Exclude: []string{"x"}}),
		s.ChooseProfile(ctx, "/none/a", "work", "cli"),
		s.SwitchLocations(ctx, true, "file:///b/SKILL.md", "file:///a/SKILL.md"))
	_, err := s.TrustFolder(ctx, "/none/a", "cli", "mine")
	must(t, err)
	_, err = s.RefuseFolder(ctx, "/none/b", "cli", "")
	must(t, err)
	_, err = s.GrantSkill(ctx, store.Grant{Name: "pdf", Source: "user", Tree: digest("t"), AllowedTools: []string{"Bash(git:*)"}, Hooks: digest("h")})
	must(t, err)
	return load(t, s)
}

func roundTrip(t *testing.T, open func(store.Options) *store.Store) {
	want := fill(t, open(store.Options{}))
	if len(want.Switches) != 2 || len(want.Profiles) != 1 || len(want.Choices) != 1 || len(want.Folders) != 2 ||
		len(want.Grants) != 1 || len(want.Locations) != 2 {
		t.Fatalf("%+v", want)
	}
	again := open(store.Options{ReadOnly: true})
	if diff := cmp.Diff(want, load(t, again)); diff != "" {
		t.Error(diff)
	}
	if err := again.States().Clear(t.Context(), "commit"); !errors.Is(err, store.ErrReadOnly) {
		t.Errorf("read-only: %v", err)
	}
	for _, f := range again.Check(t.Context()) {
		if f.Level != skill.LevelInfo {
			t.Errorf("finding %+v", f)
		}
	}
}

func follow(t *testing.T, s *store.Store) {
	ctx, st := t.Context(), s.States()
	must(t, st.Set(ctx, store.SkillState{Name: "Old", Switch: store.Off, Tree: digest("a")}))
	for _, tc := range []struct {
		tree skill.Digest
		want bool
	}{{digest("b"), false}, {"", false}, {digest("a"), true}} {
		if got, err := st.Follow(ctx, "old", "New", "src", tc.tree); got != tc.want || err != nil {
			t.Errorf("%v: %v, %v", tc, got, err)
		}
	}
	if r, err := st.Get(ctx, store.Key("NEW", "src")); err != nil || r.Switch != store.Off {
		t.Errorf("%+v, %v", r, err)
	}
}

func profiles(t *testing.T, s *store.Store) {
	ctx := t.Context()
	must(t, s.SaveProfile(ctx, store.Profile{Name: "a", Extends: "b"}), s.SaveProfile(ctx, store.Profile{Name: "b", Extends: "c"}))
	if err := s.SaveProfile(ctx, store.Profile{Name: "c", Extends: "a"}); !errors.Is(err, store.ErrCycle) {
		t.Errorf("circle: %v", err)
	}
	must(t, s.DeleteProfile(ctx, "a"))
	if err := s.DeleteProfile(ctx, "a"); !errors.Is(err, store.ErrNotFound) {
		t.Errorf("deleted twice: %v", err)
	}
	if all, err := s.Profiles(ctx); err != nil || len(all) != 1 || all[0].Name != "b" {
		t.Errorf("%v, %v", all, err)
	}
}

func decisions(t *testing.T, s *store.Store) {
	ctx := t.Context()
	fill(t, s)
	if ok, _, err := s.FolderTrust(ctx, "/none/a"); !ok || err != nil {
		t.Errorf("%v, %v", ok, err)
	}
	if ok, _, err := s.FolderTrust(ctx, "/none/a/b"); ok || err != nil {
		t.Errorf("below a trusted folder: %v, %v", ok, err)
	}
	_, err := s.RefuseFolder(ctx, "/none/a", "cli", "")
	must(t, err)
	if ok, _, err := s.FolderTrust(ctx, "/none/a"); ok || err != nil {
		t.Errorf("refused: %v, %v", ok, err)
	}
	g, ok, err := s.Granted(ctx, digest("t"))
	if !ok || err != nil {
		t.Fatalf("%v, %v", ok, err)
	}
	must(t, s.Revoke(ctx, "cli", g.ID))
	if _, ok, err = s.Granted(ctx, digest("t")); ok || err != nil {
		t.Errorf("revoked: %v, %v", ok, err)
	}
}

func undone(t *testing.T, s *store.Store) {
	ctx := t.Context()
	want := fill(t, s)
	grants, err := s.Grants(ctx)
	must(t, err)
	if err := s.Revoke(ctx, "cli", grants[0].ID, "none"); !errors.Is(err, store.ErrNotFound) {
		t.Errorf("one is missing: %v", err)
	}
	if err := s.States().Set(ctx, store.SkillState{Name: "x", Switch: "maybe"}); !errors.Is(err, store.ErrInvalid) {
		t.Errorf("switch: %v", err)
	}
	must(t, s.States().Clear(ctx, "never"))
	if diff := cmp.Diff(want, load(t, s)); diff != "" {
		t.Error(diff)
	}
}

func together(t *testing.T, open func(store.Options) *store.Store) {
	const writers, each = 4, 5
	var wg sync.WaitGroup
	errs := make([]error, writers)
	for w := range writers {
		s := open(store.Options{})
		wg.Go(func() {
			for i := range each {
				errs[w] = errors.Join(errs[w], s.States().Set(t.Context(), store.SkillState{Name: fmt.Sprintf("s%d-%d", w, i), Switch: store.Off}))
			}
		})
	}
	wg.Wait()
	must(t, errs...)
	if st := load(t, open(store.Options{})); len(st.Switches) != writers*each {
		t.Errorf("%d switches", len(st.Switches))
	}
}
