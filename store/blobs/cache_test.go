package blobs_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/deftskills/deft/skill"
	"github.com/deftskills/deft/store/blobs"
	"github.com/deftskills/deft/store/blobs/blobstest"
)

// far counts what is asked of it.
type far struct {
	blobs.Store
	gets atomic.Int64
	away atomic.Bool
}

func (f *far) Get(ctx context.Context, d skill.Digest) ([]byte, error) {
	f.gets.Add(1)
	if f.away.Load() {
		return nil, blobs.ErrUnavailable
	}
	return f.Store.Get(ctx, d)
}

func TestCachesKeepTheContract(t *testing.T) {
	t.Parallel()
	blobstest.Run(t, func(t *testing.T) blobstest.Subject {
		origin := &blobs.Dir{Path: filepath.Join(t.TempDir(), "origin")}
		c := &blobs.Cache{Origin: origin, Near: &blobs.Dir{Path: filepath.Join(t.TempDir(), "near")}}
		return blobstest.Subject{Store: c, Spoil: func(t *testing.T, d skill.Digest, with []byte) {
			spoil(t, origin, d, with)
			spoil(t, c.Near, d, with)
		}}
	})
}

func TestACacheAsksTheOriginOnce(t *testing.T) {
	t.Parallel()
	origin := &far{Store: blobs.NewMemory()}
	d, err := origin.Put(t.Context(), []byte("a"))
	if err != nil {
		t.Fatal(err)
	}
	near := &blobs.Dir{Path: t.TempDir()}
	for range 3 { // processes
		c := &blobs.Cache{Origin: origin, Near: near}
		for range 3 {
			if b, err := c.Get(t.Context(), d); err != nil || string(b) != "a" {
				t.Fatalf("%q %v", b, err)
			}
		}
	}
	if n := origin.gets.Load(); n != 1 {
		t.Errorf("the origin was asked %d times", n)
	}
	// What is near by is there while the origin is away; what is not is not said to be missing.
	origin.away.Store(true)
	c := &blobs.Cache{Origin: origin, Near: near}
	if b, err := c.Get(t.Context(), d); err != nil || string(b) != "a" {
		t.Errorf("%q %v", b, err)
	}
	if _, err := c.Get(t.Context(), skill.FileDigest([]byte("b"))); !errors.Is(err, blobs.ErrUnavailable) {
		t.Errorf("%v", err)
	}
	// A damaged copy is not served, and mended from the origin.
	spoil(t, near, d, []byte("x"))
	if b, err := c.Get(t.Context(), d); !errors.Is(err, blobs.ErrUnavailable) || b != nil {
		t.Errorf("%q %v", b, err)
	}
	origin.away.Store(false)
	for range 2 {
		if b, err := c.Get(t.Context(), d); err != nil || string(b) != "a" {
			t.Errorf("%q %v", b, err)
		}
	}
	if b, err := os.ReadFile(file(near, d)); err != nil || string(b) != "a" {
		t.Errorf("%q %v", b, err)
	}
}

func TestACacheDropsWhatWasNotUsedForLongest(t *testing.T) {
	t.Parallel()
	origin, near := &far{Store: blobs.NewMemory()}, &blobs.Dir{Path: t.TempDir()}
	now := time.Now().Add(-time.Hour)
	c := &blobs.Cache{Origin: origin, Near: near, Max: 1600, Now: func() time.Time { return now }}
	var all []skill.Digest
	for i := range 16 {
		now = now.Add(time.Minute)
		d, err := c.Put(t.Context(), bytes.Repeat([]byte{byte(i)}, 100))
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, d)
	}
	now = now.Add(time.Minute)
	if _, err := c.Get(t.Context(), all[0]); err != nil { // used again
		t.Fatal(err)
	}
	now = now.Add(time.Minute)
	for _, b := range []string{"x", "y"} { // one may be on top
		if _, err := c.Put(t.Context(), bytes.Repeat([]byte(b), 100)); err != nil {
			t.Fatal(err)
		}
	}
	left, err := near.List(t.Context(), "", 100)
	total := int64(0)
	for _, i := range left {
		total += i.Size
	}
	if err != nil || total > 1600 || total < 1300 {
		t.Errorf("%d bytes are left, %v", total, err)
	}
	for i, want := range map[int]bool{0: true, 1: false, 2: false, 15: true} {
		if ok, _ := near.Has(t.Context(), all[i]); ok != want {
			t.Errorf("blob %d is there: %v, want %v", i, ok, want)
		}
	}
	for _, d := range all { // nothing is lost
		if _, err := c.Get(t.Context(), d); err != nil {
			t.Error(err)
		}
	}
	if _, err := c.Put(t.Context(), make([]byte, 1601)); err != nil {
		t.Error(err)
	}
	if ok, _ := near.Has(t.Context(), skill.FileDigest(make([]byte, 1601))); ok {
		t.Error("what is larger than the cache is in it")
	}
}

func TestACacheThatCanNotBeWrittenIsOff(t *testing.T) {
	t.Parallel()
	taken := filepath.Join(t.TempDir(), "taken")
	if err := os.WriteFile(taken, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	told := 0
	c := &blobs.Cache{Origin: blobs.NewMemory(), Near: &blobs.Dir{Path: taken}, Off: func(error) { told++ }}
	for i := range 3 {
		d, err := c.Put(t.Context(), fmt.Append(nil, i))
		if err != nil {
			t.Fatal(err)
		}
		if _, err := c.Get(t.Context(), d); err != nil {
			t.Error(err)
		}
	}
	if told != 1 {
		t.Errorf("told %d times", told)
	}
}

func TestAPlaceOfBlobs(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	asked := ""
	more := blobs.Places{"s3": func(address string) (blobs.Store, error) { asked = address; return blobs.NewMemory(), nil }}
	s, err := blobs.Open("file:"+dir, "", more)
	if d, ok := s.(*blobs.Dir); err != nil || !ok || d.Path != dir {
		t.Errorf("%v %v", s, err)
	}
	if _, err := blobs.Open("mem:", "", nil); err != nil {
		t.Error(err)
	}
	if _, err := blobs.Open("s3://b", "", more); err != nil || asked != "s3://b" {
		t.Errorf("%q %v", asked, err)
	}
	for _, bad := range []string{"", "file:", "file:relative", "mem:x", "s3://hush@b", "ftp://hush", "hush"} {
		if _, err := blobs.Open(bad, "", nil); !errors.Is(err, blobs.ErrDSN) || strings.Contains(fmt.Sprint(err), "hush") {
			t.Errorf("%q: %v", bad, err)
		}
	}
}
