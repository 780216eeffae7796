package cli

import (
	"context"
	"errors"
	"strings"

	"github.com/deftskills/deft/install"
	"github.com/deftskills/deft/install/fetch"
	"github.com/deftskills/deft/skill"
)

// indexedJSON is what deft publish --wellknown tells.
type indexedJSON struct {
	Name    string       `json:"name"`
	Digest  skill.Digest `json:"digest"` // of the tree
	Index   string       `json:"index"`
	File    string       `json:"file"`
	SHA256  string       `json:"sha256"` // of the file
	Skills  int          `json:"skills"` // entries of the index
	Changed bool         `json:"changed"`
	Written bool         `json:"written"`
}

// publishIndex puts a skill into an index that a web server serves at a well-known address.
func (r *run) publishIndex(ctx context.Context, o publishFlags, arg string) error {
	switch {
	case o.to == "store":
		return usage("--wellknown wants --to DIR, the folder that a web server serves")
	case o.channel != "" || o.label != "" || o.note != "" || o.draft || o.force || len(o.accept) > 0:
		return usage("--channel, --label, --note, --draft, --force and --accept-finding are of the store; an index has none of them")
	}
	dir, err := r.skillDir(ctx, arg)
	if err != nil {
		return err
	}
	i, err := r.installer()
	if err != nil {
		return err
	}
	write := func(path string, data []byte) error { return r.files().Write(path, data, 0o644) }
	if r.writing.dryRun {
		write = nil
	}
	x, err := i.PublishIndex(ctx, dir, r.abs(o.to), write)
	switch {
	case errors.Is(err, install.ErrPack):
		return fail(Negative, "pack_refused", "%s", err)
	case errors.Is(err, fetch.ErrNoIndex):
		return fail(Damaged, "wellknown_no_index", "%s", strings.TrimPrefix(err.Error(), fetch.ErrNoIndex.Error()+": "))
	case errors.Is(err, fetch.ErrLimit): // of a file here: no network has a part in it
		return fail(Refused, "fetch_limit", "%s", strings.TrimPrefix(err.Error(), fetch.ErrLimit.Error()+": "))
	}
	if err != nil {
		return err
	}
	doc := indexedJSON{x.Name, x.Digest, x.Index, x.File, x.SHA256, x.Skills, x.Changed, !r.writing.dryRun}
	if r.globals.json {
		r.printJSON(doc)
		return nil
	}
	key := r.orDry("publish.indexed", "publish.indexed_dry")
	if !x.Changed {
		key = "publish.indexed_same"
	}
	r.out.Printf("%s\n", r.words.Say(key, x.Name, r.short(x.Index), x.Skills))
	return nil
}
