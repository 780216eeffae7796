package storetest

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"

	"github.com/deftskills/deft/skill"
	"github.com/deftskills/deft/store"
	"github.com/deftskills/deft/store/blobs"
)

// publishing is how files become versions.
func publishing(s *Suite) {
	s.testPlace("FolderAndStoredFilesGiveTheSameVersion", sameVersion)
	s.testPlace("WhatIsRefusedLeavesNothing", refusals)
	s.testPlace("ChecksDecideBeforeAnythingIsKept", checks)
	s.testPlace("BlobsThatAreMissingPublishNothing", noBlobs)
}

const pdfSkill = "---\nname: pdf\ndescription: Reads forms. Use when a form is asked for.\nlicense: MIT\nmetadata:\n  x: 007\n  hermes: {tags: [forms]}\n---\n# PDF\r\n\r\nBody.\r\n"

// files are a skill with bytes that some system would change.
func files() fstest.MapFS {
	return fstest.MapFS{
		"SKILL.md":              {Data: []byte(pdfSkill)},
		"assets/font.woff":      {Data: []byte{0xff, 0xfe, 0x00, 0x80, 0xc1}},
		"assets/it.png":         {Data: []byte("\x89PNG\r\n\x1a\n\x00\xff")},
		"references/crlf.md":    {Data: []byte("a\r\nb\r\n")},
		"references/e\u0301.md": {Data: []byte("n")},
		"scripts/run.sh":        {Data: []byte("#!/bin/sh\n"), Mode: 0o755},
		".hidden/dot":           {Data: nil},
	}
}

// nodes are the same files as values.
func nodes(t testing.TB, fsys fs.FS, dir string) (out []store.FileNode) {
	t.Helper()
	list, err := fs.ReadDir(fsys, dir)
	must(t, err)
	for _, e := range list {
		at := strings.TrimPrefix(dir+"/"+e.Name(), "./")
		if e.IsDir() {
			out = append(out, store.FileNode{Name: e.Name(), Type: store.NodeFolder, Children: nodes(t, fsys, at)})
			continue
		}
		data, err := fs.ReadFile(fsys, at)
		must(t, err)
		info, err := e.Info()
		must(t, err)
		out = append(out, store.FileNode{
			Name: e.Name(), Type: store.NodeFile, Encoding: store.EncodeB64, Content: base64.StdEncoding.EncodeToString(data), Exec: info.Mode()&0o111 != 0,
		})
	}
	return out
}

func sameVersion(t *testing.T, s *store.Store, b blobs.Store) {
	ctx := t.Context()
	first, err := s.PublishDir(ctx, files(), store.PublishOptions{By: "ann", Label: "1.0.0", Channel: "stable", Blobs: b})
	must(t, err)
	again, err := s.PublishFiles(ctx, nodes(t, files(), "."), store.PublishOptions{By: "ann", Blobs: b})
	must(t, err)
	if !first.Created || again.Created || again.ID != first.ID || first.Tree != again.Tree {
		t.Errorf("%+v\n%+v", first, again)
	}
	tree, err := s.Trees().Get(ctx, first.Tree)
	must(t, err)
	back, err := blobs.Files(tree, b, first.CreatedAt)
	must(t, err)
	for name, want := range files() {
		got, err := fs.ReadFile(back, strings.ReplaceAll(name, "e\u0301", "\u00e9")) // a tree has one spelling
		if err != nil || string(got) != string(want.Data) {
			t.Errorf("%s: %q %v", name, got, err)
		}
		if i := slices.IndexFunc(tree, func(e skill.FileEntry) bool { return e.Path == name }); i >= 0 && tree[i].Exec != (want.Mode&0o111 != 0) {
			t.Errorf("%s: %v", name, tree[i])
		}
	}
	var got store.Snapshot
	must(t, json.Unmarshal(first.Snapshot, &got))
	want := store.Snapshot{
		Name: "pdf", Description: "Reads forms. Use when a form is asked for.", Title: "PDF", License: "MIT",
		Header: map[string]any{
			"name": "pdf", "description": "Reads forms. Use when a form is asked for.", "license": "MIT",
			"metadata": map[string]any{"x": "007", "hermes": map[string]any{"tags": []any{"forms"}}},
		},
		References: []string{"crlf.md", "\u00e9.md"}, Scripts: []string{"run.sh"}, Assets: []string{"font.woff", "it.png"},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if v, err := s.Versions().Find(ctx, "pdf", "stable"); err != nil || v.ID != first.ID {
		t.Error(v, err)
	}
	p, err := s.Versions().Skill(ctx, "pdf")
	must(t, err)
	if cmp.Diff([]string{"forms"}, p.Tags) != "" || p.Title != "PDF" || p.Owner != "ann" {
		t.Errorf("%+v", p)
	}
	n := 0
	for e, err := range s.Audit().Query(ctx, store.AuditQuery{}) {
		must(t, err)
		if n++; e.What != "publish" || !strings.Contains(string(e.Fields), string(first.Tree)) {
			t.Errorf("%+v", e)
		}
	}
	if last, err := s.Changes().Last(ctx); n != 2 || err != nil || last == 0 {
		t.Error(n, last, err)
	}
}

// kept fails when anything was kept.
func nothingKept(t testing.TB, s *store.Store, b blobs.Store) {
	t.Helper()
	list, err := b.List(t.Context(), "", 10)
	must(t, err)
	skills, err := s.Versions().Skills(t.Context())
	must(t, err)
	if len(list) != 0 || len(skills) != 0 {
		t.Errorf("%d blobs, %v", len(list), skills)
	}
}

func refusals(t *testing.T, s *store.Store, b blobs.Store) {
	with := func(edit func(fstest.MapFS)) fstest.MapFS {
		all := files()
		edit(all)
		return all
	}
	header := func(text string) fstest.MapFS {
		return with(func(m fstest.MapFS) { m["SKILL.md"] = &fstest.MapFile{Data: []byte(text)} })
	}
	many := with(func(m fstest.MapFS) {
		for i := range 2001 {
			m[fmt.Sprintf("many/%d", i)] = &fstest.MapFile{}
		}
	})
	for _, try := range []struct {
		fsys fs.FS
		code string // of a PublishError; else of a TreeError
		text string
	}{
		{with(func(m fstest.MapFS) { delete(m, "SKILL.md") }), "publish_no_skill_md", "SKILL.md not found in /"},
		{header("no header"), "publish_blocked", "header_missing"},
		{header("---\ndescription: d\n---\nb\n"), "publish_blocked", "name"},
		{header("---\nname: pdf\n---\n"), "publish_blocked", "description"},
		{header("---\nname: Two Words\ndescription: d\n---\nb\n"), "publish_blocked", "SKILL.md:2"},
		{with(func(m fstest.MapFS) { m["fifo"] = &fstest.MapFile{Mode: fs.ModeNamedPipe} }), "publish_not_regular", "fifo"},
		{with(func(m fstest.MapFS) {
			m["out"] = &fstest.MapFile{Data: []byte("../../etc/passwd"), Mode: fs.ModeSymlink}
		}), "publish_not_regular", "out"},
		{with(func(m fstest.MapFS) { m["Assets/FONT.woff"] = &fstest.MapFile{} }), "publish_duplicate_path", "assets"},
		{many, "limit_tree", "2000"},
		{with(func(m fstest.MapFS) { m[strings.Repeat("d/", 17)+"x"] = &fstest.MapFile{} }), "limit_tree", "16"},
		{with(func(m fstest.MapFS) { m["big"] = &fstest.MapFile{Data: make([]byte, 16<<20+1)} }), "limit_tree", "big"},
	} {
		_, err := s.PublishDir(t.Context(), try.fsys, store.PublishOptions{Blobs: b})
		var refusal *store.PublishError
		var bounds *skill.TreeError
		switch {
		case errors.As(err, &refusal) && refusal.Code == try.code:
		case errors.As(err, &bounds) && bounds.Diagnostic.Code == try.code:
		default:
			t.Errorf("%s: %v", try.code, err)
			continue
		}
		if !strings.Contains(strings.ToLower(err.Error()), strings.ToLower(try.text)) {
			t.Errorf("%s: %v has no %q", try.code, err, try.text)
		}
	}
	for _, o := range []store.PublishOptions{{Label: "one"}, {Channel: "A"}, {Channel: "latest"}, {Channel: "beta", Draft: true}} {
		o.Blobs = b
		if _, err := s.PublishDir(t.Context(), files(), o); !errors.Is(err, store.ErrInvalid) && !errors.Is(err, store.ErrTransition) {
			t.Errorf("%+v: %v", o, err)
		}
	}
	if _, err := s.PublishDir(t.Context(), files(), store.PublishOptions{}); !errors.Is(err, store.ErrInvalid) {
		t.Errorf("without a place for contents: %v", err)
	}
	nothingKept(t, s, b)
}

func checks(t *testing.T, s *store.Store, b blobs.Store) {
	ctx := t.Context()
	verdict := store.Verdict{Refused: []string{"SKILL.md:3: RX1: fetches and runs"}}
	o := store.PublishOptions{Blobs: b, Check: func(_ context.Context, c store.Candidate) (store.Verdict, error) {
		got, tree, err := skill.TreeDigest(ctx, c.Files)
		must(t, err)
		if got != c.Digest || len(tree) != len(c.Tree) || c.Skill.Name != "pdf" {
			t.Errorf("%+v", c)
		}
		return verdict, nil
	}}
	refused := func(text string) {
		t.Helper()
		_, err := s.PublishDir(ctx, files(), o)
		var refusal *store.PublishError
		if !errors.As(err, &refusal) || refusal.Code != "publish_blocked" || !strings.Contains(err.Error(), text) {
			t.Errorf("%v", err)
		}
		nothingKept(t, s, b)
	}
	refused("RX1")
	verdict = store.Verdict{Warnings: []string{"SKILL.md:4: W1: odd"}, Licence: json.RawMessage(`{"spdx": "MIT"}`), Scan: "scan"}
	refused("W1")
	o.AllowWarnings = true
	v, err := s.PublishDir(ctx, files(), o)
	must(t, err)
	if len(v.Warnings) != 1 || v.Scan != "scan" || !sameJSON(v.Licence, verdict.Licence) {
		t.Errorf("%+v", v)
	}
	list, err := b.List(ctx, "", 100)
	must(t, err)
	kept, err := s.Refs().Kept(ctx, digests(list)...)
	must(t, err)
	if len(list) != len(files()) || len(kept) != len(list) {
		t.Errorf("%d blobs, %d kept", len(list), len(kept))
	}
}

func digests(list []blobs.Info) (out []skill.Digest) {
	for _, i := range list {
		out = append(out, i.Digest)
	}
	return out
}

// brokenBlobs can't keep anything.
type brokenBlobs struct{ blobs.Store }

var errBroken = errors.New("no room")

func (brokenBlobs) Put(context.Context, []byte) (skill.Digest, error) { return "", errBroken }

func noBlobs(t *testing.T, s *store.Store, place blobs.Store) {
	b := brokenBlobs{place}
	if _, err := s.PublishDir(t.Context(), files(), store.PublishOptions{Blobs: b}); !errors.Is(err, errBroken) {
		t.Error(err)
	}
	nothingKept(t, s, place)
}
