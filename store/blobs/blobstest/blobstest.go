package blobstest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/deftskills/deft/skill"
	"github.com/deftskills/deft/source"
	"github.com/deftskills/deft/store/blobs"
)

// Subject is an empty store of one test.
type Subject struct {
	Store blobs.Store
	// Spoil has the place of d hold other bytes, behind the store's back; nil = nobody can.
	Spoil func(t *testing.T, d skill.Digest, with []byte)
}

// Run runs the contract. Each part asks for a subject of its own.
func Run(t *testing.T, make func(t *testing.T) Subject) {
	for _, part := range []struct {
		name string
		run  func(t *testing.T, s Subject)
	}{
		{"what was put comes back", comesBack},
		{"the first put wins and a second does nothing", putTwice},
		{"what is not there is missing", missing},
		{"deleting says whether it was there", deleted},
		{"many are put only if each is what its key says", putMany},
		{"of many those that are there come back", getMany},
		{"damaged bytes are never served", damaged},
		{"a put mends what was damaged", mended},
		{"a list goes on after a digest", listed},
		{"a blob has a greatest size", greatest},
		{"a text that is no digest is refused", noDigest},
		{"a cancelled call does nothing", cancelled},
		{"many at once agree", concurrent},
	} {
		t.Run(part.name, func(t *testing.T) { t.Parallel(); part.run(t, make(t)) })
	}
}

func put(t *testing.T, s blobs.Store, b []byte) skill.Digest {
	t.Helper()
	d, err := s.Put(t.Context(), b)
	if err != nil || d != skill.FileDigest(b) {
		t.Fatalf("put %d bytes: %s, %v", len(b), d, err)
	}
	return d
}

func comesBack(t *testing.T, s Subject) {
	for _, b := range [][]byte{nil, []byte("a"), []byte("\x00\xff\r\n"), []byte("\r\n\r\n"), bytes.Repeat([]byte("x\n"), 1<<19)} {
		d := put(t, s.Store, b)
		got, err := s.Store.Get(t.Context(), d)
		if err != nil || !bytes.Equal(got, b) {
			t.Fatalf("%d bytes: %d came back, %v", len(b), len(got), err)
		}
		for i := range got {
			got[i] = 'y' // the caller's own
		}
		if again, err := s.Store.Get(t.Context(), d); err != nil || !bytes.Equal(again, b) {
			t.Errorf("after a caller has changed what it got: %v", err)
		}
	}
}

func putTwice(t *testing.T, s Subject) {
	d := put(t, s.Store, []byte("one"))
	first, err := s.Store.List(t.Context(), "", 10)
	if err != nil {
		t.Fatal(err)
	}
	b := []byte("one")
	put(t, s.Store, b)
	b[0] = 'x'
	if got, err := s.Store.Get(t.Context(), d); err != nil || string(got) != "one" {
		t.Errorf("%q %v", got, err)
	}
	if second, err := s.Store.List(t.Context(), "", 10); err != nil || !slices.Equal(first, second) {
		t.Errorf("the second put did something: %v, then %v, %v", first, second, err)
	}
}

func missing(t *testing.T, s Subject) {
	none := skill.FileDigest([]byte("none"))
	if b, err := s.Store.Get(t.Context(), none); !errors.Is(err, blobs.ErrMissing) || !errors.Is(err, fs.ErrNotExist) || b != nil || !strings.Contains(err.Error(), string(none)) {
		t.Errorf("%q %v", b, err)
	}
	if ok, err := s.Store.Has(t.Context(), none); ok || err != nil {
		t.Errorf("has: %v %v", ok, err)
	}
	if list, err := s.Store.List(t.Context(), "", 10); err != nil || len(list) != 0 {
		t.Errorf("list: %v %v", list, err)
	}
	if ok, err := s.Store.Has(t.Context(), put(t, s.Store, []byte("some"))); !ok || err != nil {
		t.Errorf("has: %v %v", ok, err)
	}
}

func deleted(t *testing.T, s Subject) {
	d, other := put(t, s.Store, []byte("gone")), put(t, s.Store, []byte("stays"))
	for _, want := range []bool{true, false} {
		if ok, err := s.Store.Delete(t.Context(), d); ok != want || err != nil {
			t.Errorf("delete: %v, want %v; %v", ok, want, err)
		}
	}
	if _, err := s.Store.Get(t.Context(), d); !errors.Is(err, blobs.ErrMissing) {
		t.Errorf("%v", err)
	}
	if b, err := s.Store.Get(t.Context(), other); err != nil || string(b) != "stays" {
		t.Errorf("%q %v", b, err)
	}
	put(t, s.Store, []byte("gone"))
	if ok, err := s.Store.Has(t.Context(), d); !ok || err != nil {
		t.Errorf("put again: %v %v", ok, err)
	}
}

func putMany(t *testing.T, s Subject) {
	all := map[skill.Digest][]byte{}
	for i := range 20 {
		b := fmt.Appendf(nil, "blob %d", i)
		all[skill.FileDigest(b)] = b
	}
	wrong := skill.FileDigest([]byte("other"))
	all[wrong] = []byte("wrong")
	if err := blobs.PutMany(t.Context(), s.Store, all); !errors.Is(err, blobs.ErrDamaged) || !strings.Contains(err.Error(), string(wrong)) {
		t.Errorf("%v", err)
	}
	if list, err := s.Store.List(t.Context(), "", 10); err != nil || len(list) != 0 {
		t.Errorf("some were kept: %v %v", list, err)
	}
	delete(all, wrong)
	if err := blobs.PutMany(t.Context(), s.Store, all); err != nil {
		t.Fatal(err)
	}
	for d := range all {
		if ok, err := s.Store.Has(t.Context(), d); !ok || err != nil {
			t.Errorf("%s: %v %v", d, ok, err)
		}
	}
}

func getMany(t *testing.T, s Subject) {
	var list []skill.Digest
	for i := range 20 {
		list = append(list, put(t, s.Store, fmt.Appendf(nil, "blob %d", i)))
	}
	none := skill.FileDigest([]byte("none"))
	got, err := blobs.GetMany(t.Context(), s.Store, append([]skill.Digest{none}, list...))
	if err != nil || len(got) != len(list) || string(got[list[7]]) != "blob 7" {
		t.Fatalf("%d of %d, %v", len(got), len(list), err)
	}
	if s.Spoil == nil {
		return
	}
	s.Spoil(t, list[3], []byte("blob x"))
	if got, err := blobs.GetMany(t.Context(), s.Store, list); !errors.Is(err, blobs.ErrDamaged) || got != nil || !strings.Contains(err.Error(), string(list[3])) {
		t.Errorf("with a damaged one: %d, %v", len(got), err)
	}
}

// spoils are contents that are not those of "good bytes": one bit, a part, more, nothing.
func spoils() []string { return []string{"good byter", "good", "good bytes and more", ""} }

func damaged(t *testing.T, s Subject) {
	if s.Spoil == nil {
		return
	}
	for _, bad := range spoils() {
		d := put(t, s.Store, []byte("good bytes"))
		s.Spoil(t, d, []byte(bad))
		if b, err := s.Store.Get(t.Context(), d); !errors.Is(err, blobs.ErrDamaged) || !errors.Is(err, source.ErrDamaged) || b != nil || !strings.Contains(err.Error(), string(d)) {
			t.Errorf("%q in its place: %q, %v", bad, b, err)
		}
	}
}

func mended(t *testing.T, s Subject) {
	if s.Spoil == nil {
		return
	}
	for _, bad := range spoils() {
		d := put(t, s.Store, []byte("good bytes"))
		s.Spoil(t, d, []byte(bad))
		put(t, s.Store, []byte("good bytes"))
		if b, err := s.Store.Get(t.Context(), d); err != nil || string(b) != "good bytes" {
			t.Errorf("after %q: %q, %v", bad, b, err)
		}
	}
}

func listed(t *testing.T, s Subject) {
	var want []skill.Digest
	for i := range 25 {
		want = append(want, put(t, s.Store, bytes.Repeat([]byte("x"), i)))
	}
	slices.Sort(want)
	for _, n := range []int{1, 7, 25, 100} {
		var got []skill.Digest
		after := skill.Digest("")
		for {
			part, err := s.Store.List(t.Context(), after, n)
			if err != nil || len(part) > n {
				t.Fatalf("%d of %d, %v", len(part), n, err)
			}
			for _, i := range part {
				got = append(got, i.Digest)
				if b, err := s.Store.Get(t.Context(), i.Digest); n == 7 && (err != nil || int64(len(b)) != i.Size) {
					t.Errorf("%s has %d bytes, and is listed with %d, %v", i.Digest, len(b), i.Size, err)
				}
			}
			if len(part) < n {
				break
			}
			after = part[n-1].Digest
		}
		if !slices.Equal(got, want) {
			t.Errorf("%d at a time: %d of %d, or another order", n, len(got), len(want))
		}
	}
	for _, n := range []int{0, -1} {
		if part, err := s.Store.List(t.Context(), "", n); err != nil || len(part) != 0 {
			t.Errorf("%d: %v %v", n, part, err)
		}
	}
	// After what is not there, too.
	if part, err := s.Store.List(t.Context(), "sha256:"+skill.Digest(strings.Repeat("f", 64)), 5); err != nil || len(part) != 0 {
		t.Errorf("after the last: %v %v", part, err)
	}
}

func greatest(t *testing.T, s Subject) {
	large := make([]byte, blobs.MaxSize+1)
	if _, err := s.Store.Put(t.Context(), large); !errors.Is(err, blobs.ErrTooLarge) {
		t.Errorf("%v", err)
	}
	small := []byte("small")
	if err := blobs.PutMany(t.Context(), s.Store, map[skill.Digest][]byte{skill.FileDigest(small): small, skill.FileDigest(large): large}); !errors.Is(err, blobs.ErrTooLarge) {
		t.Errorf("%v", err)
	}
	if list, err := s.Store.List(t.Context(), "", 10); err != nil || len(list) != 0 {
		t.Errorf("something was kept: %v %v", list, err)
	}
}

func noDigest(t *testing.T, s Subject) {
	ctx := t.Context()
	for _, bad := range []skill.Digest{
		"x", "sha256:", "md5:00", "sha256:" + skill.Digest(strings.Repeat("A", 64)), "sha256:../../etc", "sha256:" + skill.Digest(strings.Repeat("a", 65)),
		"sha256:" + skill.Digest(strings.Repeat("/", 64)),
	} {
		_, get := s.Store.Get(ctx, bad)
		_, has := s.Store.Has(ctx, bad)
		_, del := s.Store.Delete(ctx, bad)
		_, list := s.Store.List(ctx, bad, 1)
		for _, err := range []error{get, has, del, list} {
			if !errors.Is(err, blobs.ErrDigest) {
				t.Errorf("%q: %v", bad, err)
			}
		}
	}
}

func cancelled(t *testing.T, s Subject) {
	d := put(t, s.Store, []byte("some"))
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	other := skill.FileDigest([]byte("other"))
	_, err1 := s.Store.Put(ctx, []byte("other"))
	_, err2 := s.Store.Get(ctx, d)
	_, err3 := s.Store.Has(ctx, d)
	_, err4 := s.Store.Delete(ctx, d)
	_, err5 := s.Store.List(ctx, "", 10)
	for i, err := range []error{err1, err2, err3, err4, err5} {
		if !errors.Is(err, context.Canceled) {
			t.Errorf("call %d: %v", i+1, err)
		}
	}
	if list, err := s.Store.List(t.Context(), "", 10); err != nil || len(list) != 1 || list[0].Digest != d {
		t.Errorf("%v %v; %s was cancelled", list, err, other)
	}
}

func concurrent(t *testing.T, s Subject) {
	const workers, different = 16, 5
	var wg sync.WaitGroup
	var freed atomic.Int64
	extra := put(t, s.Store, []byte("extra"))
	for i := range workers {
		wg.Go(func() {
			for j := range different {
				b := fmt.Appendf(nil, "blob %d", (i+j)%different)
				d, err := s.Store.Put(t.Context(), b)
				if err != nil {
					t.Error(err)
					continue
				}
				if got, err := s.Store.Get(t.Context(), d); err != nil || !bytes.Equal(got, b) {
					t.Errorf("%q %v", got, err)
				}
			}
			if ok, err := s.Store.Delete(t.Context(), extra); err != nil {
				t.Error(err)
			} else if ok {
				freed.Add(1)
			}
		})
	}
	wg.Wait()
	if list, err := s.Store.List(t.Context(), "", 100); err != nil || len(list) != different || freed.Load() < 1 {
		t.Errorf("%d blobs, deleted %d times, %v", len(list), freed.Load(), err)
	}
}
