package cli

import (
	"context"
	"os"
	"path/filepath"
	"strings"

	"github.com/deftskills/deft/skill"
	"github.com/deftskills/deft/store"
	"github.com/deftskills/deft/store/blobs"
)

// garbageJSON is what a collection did in one place, each content counted once.
type garbageJSON struct {
	Place   string       `json:"place"`
	Kept    store.Amount `json:"kept"`
	Young   store.Amount `json:"young"`
	Marked  store.Amount `json:"marked"`
	Waiting store.Amount `json:"waiting"` // marked less than a day ago
	Freed   store.Amount `json:"freed"`
	Failed  int          `json:"failed"`
	Written bool         `json:"written"`
}

// collectGarbage frees what nobody needs, in this machine's own folder and in the place of
// published files, where that is another.
func (r *run) collectGarbage(ctx context.Context) (all []garbageJSON, list []check, err error) {
	s, err := r.openStore(ctx)
	if err != nil {
		return nil, nil, err
	}
	i, err := r.installer()
	if err != nil {
		return nil, nil, err
	}
	do := func(place string, in blobs.Store, o store.GarbageOptions) error {
		o.DryRun = r.writing.dryRun
		g, err := s.CollectGarbage(ctx, in, o)
		if err != nil {
			return err
		}
		found, said := r.garbageSaid(place, g)
		all, list = append(all, found), append(list, said...)
		return nil
	}
	own, shared := r.ownBlobs(), r.sharesOwnBlobs()
	if file := filepath.Join(r.dirs.State, "deft.db"); shared && r.database() != "sqlite:"+file && exists(file) {
		// What that one needs is in the same folder.
		return nil, nil, fail(Refused, "gc_foreign", "%s: %s is not the only database whose files are there", r.short(own.Path), r.storeName()).hinted("hint.gc_foreign")
	}
	err = i.NeededBlobs(ctx, "gc", func(needed map[skill.Digest]bool) error {
		return do("file:"+own.Path, own, store.GarbageOptions{Needed: needed, Alone: !shared})
	})
	if err != nil || shared {
		return all, list, err
	}
	place := store.Masked(r.blobPlace())
	if err := r.knowsPlace(ctx, s, place); err != nil {
		return nil, nil, err
	}
	return all, list, do(place, r.publishedBlobs(), store.GarbageOptions{})
}

// sharesOwnBlobs reports whether published files are in this machine's own folder.
func (r *run) sharesOwnBlobs() bool {
	own := r.ownBlobs().Path
	path, isFolder := strings.CutPrefix(r.blobPlace(), "file:")
	if !isFolder {
		return false
	}
	a, err1 := os.Stat(path)
	b, err2 := os.Stat(own)
	return path == own || err1 == nil && err2 == nil && os.SameFile(a, b)
}

// knowsPlace refuses a place of which the database needs nothing: it is another database's,
// and all that is there would be garbage to this one.
func (r *run) knowsPlace(ctx context.Context, s *store.Store, place string) error {
	g, err := s.CollectGarbage(ctx, r.publishedBlobs(), store.GarbageOptions{DryRun: true})
	if err != nil {
		return err
	}
	if others := g.Young.Blobs + g.Marked.Blobs + g.Waiting.Blobs + g.Freed.Blobs; g.Kept.Blobs == 0 && others > 0 {
		return fail(Refused, "gc_foreign", "%s: %s needs none of its %d blobs", place, r.storeName(), others).hinted("hint.gc_foreign")
	}
	return nil
}

func (r *run) garbageSaid(place string, g store.Garbage) (garbageJSON, []check) {
	found := garbageJSON{
		Place: place, Kept: g.Kept, Young: g.Young, Marked: g.Marked, Waiting: g.Waiting, Freed: g.Freed,
		Failed: len(g.Failed), Written: !r.writing.dryRun,
	}
	word := "doctor.gc"
	if r.writing.dryRun {
		word = "doctor.gc_dry"
	}
	list := []check{{ID: "garbage", Level: skill.LevelInfo, Message: r.words.Say(word, r.short(strings.TrimPrefix(place, "file:")),
		g.Kept.Blobs, g.Young.Blobs, g.Marked.Blobs, g.Waiting.Blobs, g.Freed.Blobs, g.Freed.Bytes)}}
	for _, err := range g.Failed {
		list = append(list, check{ID: "gc_failed", Level: skill.LevelWarning, Message: err.Error()})
	}
	return found, list
}
