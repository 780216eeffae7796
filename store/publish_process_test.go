//go:build unix

package store

import (
	"context"
	"errors"
	"os/exec"
	"syscall"
	"testing"
	"testing/fstest"

	"github.com/deftskills/deft/skill"
	"github.com/deftskills/deft/store/blobs"
)

// publishForm publishes a skill of three files, one of which is in every version.
func publishForm(ctx context.Context, s *Store, dir, text string) error {
	_, err := s.PublishDir(ctx, fstest.MapFS{
		"SKILL.md":   {Data: []byte("---\nname: form\ndescription: Reads forms. Use when one is there.\n---\n" + text + "\n")},
		"notes.md":   {Data: []byte(text)},
		"LICENSE.md": {Data: []byte("MIT")},
	}, PublishOptions{Blobs: &blobs.Dir{Path: dir}, Channel: "stable"})
	return err
}

// A publisher that is killed leaves the version before or the new one; what it had put
// beside is referred to by nothing, and the next one goes on.
func TestR01KilledPublisherLeavesOldOrNew(t *testing.T) {
	t.Parallel()
	eachKind(t, func(t *testing.T, db string) {
		for spec, versions := range map[string]int{"publish.blobs=kill": 1, "blob.put.temp=kill@2": 1, "publish.tx=kill": 1, "publish.tx=kill@2": 2} {
			t.Run(spec, func(t *testing.T) {
				s, dir := openAt(t, Options{DB: db, Tenant: "t" + string(skill.FileDigest([]byte(spec)))[7:15]}), t.TempDir()
				must(t, publishForm(t.Context(), s, dir, "one"))
				cmd, out := command(t, "publish", db, "DEFT_FAULT="+spec, "DEFT_TEST_BLOBS="+dir, "DEFT_TEST_TENANT="+s.o.Tenant)
				var exit *exec.ExitError
				if err := cmd.Run(); !errors.As(err, &exit) || exit.Sys().(syscall.WaitStatus).Signal() != syscall.SIGKILL {
					t.Fatalf("%v\n%s", err, out)
				}
				wholeVersions(t, s, dir, versions)
				must(t, publishForm(t.Context(), s, dir, "two"))
				wholeVersions(t, s, dir, 2)
			})
		}
	})
}

// wholeVersions wants n versions, the newest offered and led to, each with all its contents, and
// that nothing refers to any other.
func wholeVersions(t *testing.T, s *Store, dir string, n int) {
	t.Helper()
	ctx, kept := t.Context(), &blobs.Dir{Path: dir}
	all, err := s.Versions().List(ctx, "form")
	must(t, err)
	offers, err := s.Versions().Offers(ctx)
	must(t, err)
	stable, err := s.Versions().Find(ctx, "form", "stable")
	must(t, err)
	if len(all) != n || len(offers) != 1 || offers[0].ID != all[0].ID || stable.ID != all[0].ID {
		t.Fatalf("%d versions, want %d; %+v", len(all), n, offers)
	}
	needed := map[skill.Digest]bool{}
	for _, v := range all {
		tree, err := s.Trees().Get(ctx, v.Tree)
		must(t, err)
		for _, e := range tree {
			_, err := kept.Get(ctx, e.Blob)
			must(t, err)
			needed[e.Blob] = true
		}
	}
	list, err := kept.List(ctx, "", 100)
	must(t, err)
	for _, i := range list {
		refs, err := s.Refs().Kept(ctx, i.Digest)
		must(t, err)
		if refs[i.Digest] != needed[i.Digest] {
			t.Errorf("%s: kept %v, needed %v", i.Digest, refs[i.Digest], needed[i.Digest])
		}
	}
}
