package store_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/deftskills/deft/skill"
	"github.com/deftskills/deft/store"
	"github.com/deftskills/deft/store/blobs"
)

// Each error of contents, versions and publishing has its code, which the table of codes
// explains, and names what it is about.
func TestEveryErrorOfVersionsHasACodeAndNamesItsPlace(t *testing.T) {
	t.Parallel()
	s, err := store.Open(t.Context(), store.Options{DB: "sqlite:" + filepath.Join(t.TempDir(), "deft.db")})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	b := &blobs.Dir{Path: t.TempDir()}
	dir := func(o store.PublishOptions, files map[string]string) error {
		fsys := fstest.MapFS{}
		for name, content := range files {
			fsys[name] = &fstest.MapFile{Data: []byte(content)}
		}
		o.Blobs = b
		_, err := s.PublishDir(t.Context(), fsys, o)
		return err
	}
	nodes := func(list ...store.FileNode) error {
		_, err := s.PublishFiles(t.Context(), append(list, textNode("SKILL.md", skillText)), store.PublishOptions{Blobs: b})
		return err
	}
	if err := errors.Join(
		dir(store.PublishOptions{Label: "1.0.0"}, map[string]string{"SKILL.md": skillText}),
		dir(store.PublishOptions{Label: "2.0.0-rc.1", Draft: true}, map[string]string{"SKILL.md": skillText, "a.md": "x"}),
	); err != nil {
		t.Fatal(err)
	}
	get := func(d skill.Digest) error { _, err := b.Get(t.Context(), d); return err }
	gone, spoilt := skill.FileDigest([]byte("gone")), skill.FileDigest([]byte("x"))
	file := filepath.Join(b.Path, "sha256", string(spoilt[7:9]), string(spoilt[9:]))
	if err := errors.Join(os.Remove(file), os.WriteFile(file, []byte("y"), 0o600)); err != nil {
		t.Fatal(err)
	}
	blocked := func(context.Context, store.Candidate) (store.Verdict, error) {
		return store.Verdict{Refused: []string{"scripts/run.sh:1: downloads and runs"}}, nil
	}
	for code, c := range map[string]struct {
		err   error
		names string
	}{
		"blob_digest":              {get("sha256:00"), "sha256:00"},
		"blob_missing":             {get(gone), string(gone)},
		"blob_damaged":             {get(spoilt), string(spoilt)},
		"blob_too_large":           {second(b.Put(t.Context(), make([]byte, blobs.MaxSize+1))), "67108865 bytes"},
		"versions_unknown_version": {second(s.Versions().Find(t.Context(), "a", "1.0.1")), "1.0.1"},
		"versions_bad_transition":  {s.Versions().MoveChannel(t.Context(), "a", "stable", "2.0.0-rc.1", "ann"), "2.0.0-rc.1"},
		"versions_label_taken":     {dir(store.PublishOptions{Label: "1.0.0"}, map[string]string{"SKILL.md": skillText, "b.md": "y"}), "1.0.0"},
		"publish_no_skill_md":      {dir(store.PublishOptions{Path: "skills/a"}, map[string]string{"skill.txt": "x"}), "skills/a"},
		"publish_bad_name":         {nodes(folderNode("docs", textNode("..", ""))), `".." in "docs"`},
		"publish_duplicate_path":   {nodes(folderNode("docs", textNode("a", ""), textNode("A", ""))), `"docs/A"`},
		"publish_bad_node":         {nodes(store.FileNode{Name: "link", Type: "link"}), `"link"`},
		"publish_bad_base64":       {nodes(store.FileNode{Name: "a.png", Type: store.NodeFile, Encoding: store.EncodeB64, Content: "AP8"}), `"a.png"`},
		"publish_not_regular":      {second(s.PublishDir(t.Context(), os.DirFS(linked(t)), store.PublishOptions{Blobs: b})), "references/out.md"},
		"publish_blocked":          {dir(store.PublishOptions{Check: blocked}, map[string]string{"SKILL.md": skillText, "scripts/run.sh": "x"}), "scripts/run.sh:1"},
	} {
		row, known := skill.LookupCode(code)
		if c.err == nil || store.Code(c.err) != code || !strings.Contains(c.err.Error(), c.names) {
			t.Errorf("%v (%s), want %s that names %s", c.err, store.Code(c.err), code, c.names)
		}
		if !known || row.Fix == "" || row.Level != skill.LevelError {
			t.Errorf("%s: %+v", code, row)
		}
	}
}

func second[T any](_ T, err error) error { return err }

// linked is a folder with a link that leaves it.
func linked(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	if err := errors.Join(
		os.WriteFile(filepath.Join(dir, "SKILL.md"), []byte(skillText), 0o600), os.Mkdir(filepath.Join(dir, "references"), 0o700),
		os.Symlink("../../outside", filepath.Join(dir, "references", "out.md")),
	); err != nil {
		t.Fatal(err)
	}
	return dir
}
