package storetest

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/fstest"
	"time"

	"github.com/deftskills/deft/skill"
	"github.com/deftskills/deft/store"
	"github.com/deftskills/deft/store/blobs"
)

// garbage is how contents that nobody needs go, and no others.
func garbage(s *Suite) {
	for _, part := range []struct {
		name string
		run  func(*testing.T, *yard)
	}{
		{"GarbageIsMarkedAndFreedADayLater", freedLater},
		{"WhatAVersionNeedsStays", versionStays},
		{"ANewPutLiftsTheMark", markLifted},
		{"ADryRunCountsAndChangesNothing", dryCollection},
		{"WhatOthersNeedStays", neededStays},
		{"ADeleteThatFailsIsReported", failedDelete},
		{"WhatIsGoneAlreadyIsNoHarm", goneAlready},
		{"TenantsKeepEachOthersContents", tenantsContents},
		{"OneCollectionRunsAtATime", oneCollection},
		{"PublishingDuringACollectionLosesNone", racingPublish},
		{"CollectionsAgreeWithAReferenceSet", referenceSet},
	} {
		s.testOpen(part.name, func(t *testing.T, open func(store.Options) *store.Store) {
			y := &yard{open: open, place: s.place(t)}
			y.s = y.store("")
			part.run(t, y)
		})
	}
}

// yard is a database, a place and a clock that a test moves.
type yard struct {
	open  func(store.Options) *store.Store
	s     *store.Store
	place blobs.Store
	ahead atomic.Int64 // nanoseconds that the clock is ahead of the machine's
}

func (y *yard) store(tenant string) *store.Store {
	return y.open(store.Options{Tenant: tenant, Now: func() time.Time { return time.Now().Add(time.Duration(y.ahead.Load())) }})
}

func (y *yard) wait(d time.Duration) { y.ahead.Add(int64(d)) }

func (y *yard) put(t testing.TB, text string) skill.Digest {
	t.Helper()
	d, err := y.place.Put(t.Context(), []byte(text))
	must(t, err)
	return d
}

// has reports which of the contents are there, as their letters.
func (y *yard) has(t testing.TB, texts ...string) string {
	t.Helper()
	var out []string
	for _, text := range texts {
		ok, err := y.place.Has(t.Context(), skill.FileDigest([]byte(text)))
		must(t, err)
		if ok {
			out = append(out, text)
		}
	}
	return strings.Join(out, " ")
}

// collect collects and returns the numbers, as kept young marked waiting freed.
func (y *yard) collect(t testing.TB, o store.GarbageOptions) string {
	t.Helper()
	g, err := y.s.CollectGarbage(t.Context(), y.place, o)
	must(t, err)
	must(t, g.Failed...)
	return numbers(g)
}

func numbers(g store.Garbage) string {
	return fmt.Sprint(g.Kept.Blobs, g.Young.Blobs, g.Marked.Blobs, g.Waiting.Blobs, g.Freed.Blobs)
}

// hold has an owner need contents, as whoever keeps some does: the marks, the contents, the
// owner.
func hold(ctx context.Context, s *store.Store, place blobs.Store, owner string, texts ...string) error {
	all := map[skill.Digest][]byte{}
	for _, text := range texts {
		all[skill.FileDigest([]byte(text))] = []byte(text)
	}
	list := slices.Collect(maps.Keys(all))
	if err := s.Refs().Unmark(ctx, list...); err != nil {
		return err
	}
	if err := blobs.PutMany(ctx, place, all); err != nil {
		return err
	}
	return s.Refs().Keep(ctx, "test", owner, list...)
}

const day = 24 * time.Hour

func expect(t testing.TB, what, got, want string) {
	t.Helper()
	if got != want {
		t.Errorf("%s: %s, want %s", what, got, want)
	}
}

func freedLater(t *testing.T, y *yard) {
	y.put(t, "a")
	list, err := y.place.List(t.Context(), "", 1)
	must(t, err)
	if list[0].At != 0 { // of a place that knows when it was put
		expect(t, "new", y.collect(t, store.GarbageOptions{}), "0 1 0 0 0")
		y.wait(day - time.Hour)
		expect(t, "23 h old", y.collect(t, store.GarbageOptions{}), "0 1 0 0 0")
	}
	y.wait(day)
	expect(t, "old", y.collect(t, store.GarbageOptions{}), "0 0 1 0 0")
	y.wait(day - time.Hour)
	expect(t, "23 h marked", y.collect(t, store.GarbageOptions{}), "0 0 0 1 0")
	expect(t, "there", y.has(t, "a"), "a")
	y.wait(2 * time.Hour)
	expect(t, "marked long ago", y.collect(t, store.GarbageOptions{}), "0 0 0 0 1")
	expect(t, "there", y.has(t, "a"), "")
	expect(t, "nothing is left", y.collect(t, store.GarbageOptions{}), "0 0 0 0 0")
}

func versionStays(t *testing.T, y *yard) {
	v, err := y.s.PublishDir(t.Context(), files(), store.PublishOptions{By: "ann", Blobs: y.place})
	must(t, err)
	must(t, hold(t.Context(), y.s, y.place, "one", "a"))
	n := len(files())
	for range 4 {
		y.wait(2 * day)
		expect(t, "kept", y.collect(t, store.GarbageOptions{}), fmt.Sprint(n+1, 0, 0, 0, 0))
	}
	must(t, y.s.Refs().Drop(t.Context(), "test", "one"))
	expect(t, "dropped", y.collect(t, store.GarbageOptions{}), fmt.Sprint(n, 0, 1, 0, 0))
	y.wait(2 * day)
	expect(t, "a day later", y.collect(t, store.GarbageOptions{}), fmt.Sprint(n, 0, 0, 0, 1))
	tree, err := y.s.Trees().Get(t.Context(), v.Tree)
	must(t, err)
	for _, e := range tree {
		if _, err := y.place.Get(t.Context(), e.Blob); err != nil {
			t.Error(err)
		}
	}
}

func markLifted(t *testing.T, y *yard) {
	y.put(t, "a")
	y.put(t, "b")
	y.wait(2 * day)
	expect(t, "marked", y.collect(t, store.GarbageOptions{}), "0 0 2 0 0")
	// Somebody is about to need a, and has not said so when it is collected.
	must(t, y.s.Refs().Unmark(t.Context(), skill.FileDigest([]byte("a"))))
	y.put(t, "a")
	y.wait(2 * day)
	expect(t, "lifted", y.collect(t, store.GarbageOptions{}), "0 0 1 0 1")
	must(t, y.s.Refs().Keep(t.Context(), "test", "one", skill.FileDigest([]byte("a"))))
	y.wait(2 * day)
	expect(t, "needed", y.collect(t, store.GarbageOptions{}), "1 0 0 0 0")
	// Its mark went with that: when it is garbage again, the day begins anew.
	must(t, y.s.Refs().Drop(t.Context(), "test", "one"))
	expect(t, "dropped", y.collect(t, store.GarbageOptions{}), "0 0 1 0 0")
	expect(t, "there", y.has(t, "a", "b"), "a")
}

func dryCollection(t *testing.T, y *yard) {
	y.put(t, "a")
	y.wait(2 * day)
	for range 2 {
		expect(t, "dry", y.collect(t, store.GarbageOptions{DryRun: true}), "0 0 1 0 0")
	}
	expect(t, "marked", y.collect(t, store.GarbageOptions{}), "0 0 1 0 0")
	y.wait(2 * day)
	for range 2 {
		expect(t, "dry", y.collect(t, store.GarbageOptions{DryRun: true}), "0 0 0 0 1")
	}
	expect(t, "there", y.has(t, "a"), "a")
	g, err := y.s.CollectGarbage(t.Context(), y.place, store.GarbageOptions{})
	if err != nil || g.Freed != (store.Amount{Blobs: 1, Bytes: 1}) {
		t.Errorf("%+v %v", g, err)
	}
}

func neededStays(t *testing.T, y *yard) {
	needed := map[skill.Digest]bool{y.put(t, "a"): true}
	y.put(t, "b")
	for range 3 {
		y.wait(2 * day)
		y.collect(t, store.GarbageOptions{Needed: needed})
	}
	expect(t, "there", y.has(t, "a", "b"), "a")
}

// sticky refuses to delete some contents; after says that they are gone all the same.
type sticky struct {
	blobs.Store
	what  skill.Digest
	after bool
}

var errSticky = errors.New("it sticks")

func (s sticky) Delete(ctx context.Context, d skill.Digest) (bool, error) {
	if d != s.what {
		return s.Store.Delete(ctx, d)
	}
	if s.after {
		if _, err := s.Store.Delete(ctx, d); err != nil {
			return false, err
		}
	}
	return false, errSticky
}

func failedDelete(t *testing.T, y *yard) {
	a := y.put(t, "a")
	y.put(t, "b")
	y.wait(2 * day)
	y.collect(t, store.GarbageOptions{})
	y.wait(2 * day)
	g, err := y.s.CollectGarbage(t.Context(), sticky{Store: y.place, what: a}, store.GarbageOptions{})
	must(t, err)
	if len(g.Failed) != 1 || !errors.Is(g.Failed[0], errSticky) || !strings.Contains(g.Failed[0].Error(), string(a)) {
		t.Errorf("%v", g.Failed)
	}
	expect(t, "the other", numbers(g), "0 0 0 0 1")
	expect(t, "there", y.has(t, "a", "b"), "a")
	expect(t, "again", y.collect(t, store.GarbageOptions{}), "0 0 0 0 1")
}

// As after a crash between the deletion and the end of its transaction.
func goneAlready(t *testing.T, y *yard) {
	a := y.put(t, "a")
	y.wait(2 * day)
	y.collect(t, store.GarbageOptions{})
	y.wait(2 * day)
	g, err := y.s.CollectGarbage(t.Context(), sticky{Store: y.place, what: a, after: true}, store.GarbageOptions{})
	if err != nil || len(g.Failed) != 1 {
		t.Errorf("%+v %v", g, err)
	}
	must(t, hold(t.Context(), y.s, y.place, "one", "a"))
	expect(t, "put anew", y.has(t, "a"), "a")
	expect(t, "kept", y.collect(t, store.GarbageOptions{}), "1 0 0 0 0")
}

func tenantsContents(t *testing.T, y *yard) {
	other := y.store("other")
	must(t, hold(t.Context(), other, y.place, "one", "a"))
	y.put(t, "b")
	y.put(t, "c")
	y.wait(2 * day)
	expect(t, "marked", y.collect(t, store.GarbageOptions{}), "1 0 2 0 0")
	must(t, hold(t.Context(), other, y.place, "two", "b")) // lifts a mark of another tenant
	y.wait(2 * day)
	expect(t, "freed", y.collect(t, store.GarbageOptions{}), "2 0 0 0 1")
	expect(t, "there", y.has(t, "a", "b", "c"), "a b")
	// What another needs is counted, and still not told.
	kept, err := y.s.Refs().Kept(t.Context(), skill.FileDigest([]byte("a")))
	if err != nil || len(kept) != 0 {
		t.Errorf("%v %v", kept, err)
	}
}

// gated stops in its list until it is opened.
type gated struct {
	blobs.Store
	in, out chan struct{}
}

func (g gated) List(ctx context.Context, after skill.Digest, n int) ([]blobs.Info, error) {
	close(g.in)
	<-g.out
	return g.Store.List(ctx, after, n)
}

func oneCollection(t *testing.T, y *yard) {
	g := gated{y.place, make(chan struct{}), make(chan struct{})}
	ended := make(chan error, 1)
	go func() {
		_, err := y.s.CollectGarbage(t.Context(), g, store.GarbageOptions{})
		ended <- err
	}()
	<-g.in
	second := y.open(store.Options{Busy: time.Millisecond})
	if _, err := second.CollectGarbage(t.Context(), y.place, store.GarbageOptions{}); !errors.Is(err, store.ErrBusy) {
		t.Errorf("%v", err)
	}
	if _, err := second.CollectGarbage(t.Context(), y.place, store.GarbageOptions{DryRun: true}); err != nil {
		t.Errorf("who only counts waits for nobody: %v", err)
	}
	close(g.out)
	must(t, <-ended)
	if _, err := second.CollectGarbage(t.Context(), y.place, store.GarbageOptions{}); err != nil {
		t.Errorf("%v", err)
	}
	reader := y.open(store.Options{ReadOnly: true})
	if _, err := reader.CollectGarbage(t.Context(), y.place, store.GarbageOptions{}); !errors.Is(err, store.ErrReadOnly) {
		t.Errorf("%v", err)
	}
}

// tempting has somebody begin to need what is just being deleted.
type tempting struct {
	blobs.Store
	begin func(d skill.Digest)
}

func (t tempting) Delete(ctx context.Context, d skill.Digest) (bool, error) {
	t.begin(d)
	return t.Store.Delete(ctx, d)
}

func racingPublish(t *testing.T, y *yard) {
	texts := map[skill.Digest]string{}
	for i := range 6 {
		text := fmt.Sprintf("---\nname: s%d\ndescription: d\n---\nb\n", i)
		texts[y.put(t, text)] = text
	}
	y.wait(2 * day)
	y.collect(t, store.GarbageOptions{})
	y.wait(2 * day)
	publisher := y.store("")
	var wg sync.WaitGroup
	begin := func(d skill.Digest) {
		wg.Go(func() {
			fsys := fstest.MapFS{"SKILL.md": {Data: []byte(texts[d])}}
			if _, err := publisher.PublishDir(t.Context(), fsys, store.PublishOptions{Blobs: y.place}); err != nil {
				t.Error(err)
			}
		})
	}
	_, err := y.s.CollectGarbage(t.Context(), tempting{y.place, begin}, store.GarbageOptions{})
	wg.Wait()
	must(t, err)
	for range 2 {
		for d, text := range texts {
			if b, err := y.place.Get(t.Context(), d); err != nil || string(b) != text {
				t.Errorf("%q %v", b, err)
			}
		}
		y.wait(2 * day)
		expect(t, "kept", y.collect(t, store.GarbageOptions{}), "6 0 0 0 0")
	}
}

// Random owners come and go while collections run: what the reference says is needed is
// there at any time, and in the end nothing is left.
func referenceSet(t *testing.T, y *yard) {
	r := rand.New(rand.NewPCG(7, uint64(len(t.Name()))))
	other := y.store("other")
	owners := map[string][]string{}
	for step := range 24 {
		owner := fmt.Sprint("o", r.IntN(4))
		switch {
		case owners[owner] != nil && r.IntN(2) == 0:
			must(t, other.Refs().Drop(t.Context(), "test", owner))
			delete(owners, owner)
		default:
			var texts []string
			for range 1 + r.IntN(3) {
				texts = append(texts, fmt.Sprint("t", r.IntN(6)))
			}
			y.wait(time.Duration(r.IntN(30)) * time.Hour)
			held := make(chan error, 1)
			go func() { held <- hold(t.Context(), other, y.place, owner, texts...) }()
			y.collect(t, store.GarbageOptions{})
			must(t, <-held)
			owners[owner] = append(owners[owner], texts...)
		}
		for owner, texts := range owners {
			if got := y.has(t, texts...); got != strings.Join(texts, " ") {
				t.Fatalf("step %d: %s needs %v, there is %q", step, owner, texts, got)
			}
		}
	}
	for owner := range owners {
		must(t, other.Refs().Drop(t.Context(), "test", owner))
	}
	for range 3 {
		y.wait(2 * day)
		y.collect(t, store.GarbageOptions{})
	}
	if list, err := y.place.List(t.Context(), "", 10); err != nil || len(list) != 0 {
		t.Errorf("left: %v %v", list, err)
	}
}
