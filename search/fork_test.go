package search

import (
	"context"
	"slices"
	"sync/atomic"
	"testing"
)

func TestAForkReadsOnlyWhatDiffers(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	docs := library(200)
	var reads atomic.Int64
	for i := range docs {
		read := docs[i].Read
		docs[i].Read = func(ctx context.Context, rel string) ([]byte, error) {
			reads.Add(1)
			return read(ctx, rel)
		}
	}
	x := opened(t, Options{})
	add(t, x, docs[:199]...)
	find(t, x, Query{Text: letters(3)})
	x.Fork("", "own")
	reads.Store(0)
	extra := doc("walrus", "walrus", "A walrus is no whale.")
	if _, err := x.AddDocs(ctx, "own", append(slices.Clone(docs[:198]), extra)); err != nil {
		t.Fatal(err)
	}
	res, err := x.Search(ctx, Query{Text: "walrus", Scope: "own", Bare: true})
	if err != nil || len(res.Hits) != 1 || res.Searched != 199 || reads.Load() != 0 {
		t.Errorf("%v: %d hits in %d, %d reads", err, len(res.Hits), res.Searched, reads.Load())
	}
	if res := find(t, x, Query{Text: "walrus", Bare: true}); len(res.Hits) != 0 || res.Searched != 199 {
		t.Errorf("the other scope has %d hits in %d", len(res.Hits), res.Searched)
	}
	before := x.scope("own")
	x.Fork("", "own")
	x.Fork("nobody", "other")
	if x.scope("own") != before || len(x.scope("other").gen.Load().parts) != 0 {
		t.Error("a fork replaces a scope, or makes one of nothing")
	}
}
