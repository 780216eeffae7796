//go:build unix

package source_test

import (
	"errors"
	"net"
	"os"
	"path/filepath"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/deftskills/deft/source"
)

// Nothing of this may be opened for reading, hang, or cost a neighbour.
func TestR12SpecialFilesAreListedAsInvalid(t *testing.T) {
	root := tempDir(t)
	at := func(name string) string {
		dir := filepath.Join(root, name)
		if err := os.MkdirAll(dir, 0o755); err != nil {
			t.Fatal(err)
		}
		return filepath.Join(dir, "SKILL.md")
	}
	addSkill(t, root, "good")
	if err := unix.Mkfifo(at("fifo"), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(at("directory"), 0o755); err != nil {
		t.Fatal(err)
	}
	link(t, "/dev/zero", at("device"))
	link(t, "SKILL.md", at("loop"))
	fifo := filepath.Join(root, "pipe")
	if err := unix.Mkfifo(fifo, 0o644); err != nil {
		t.Fatal(err)
	}
	link(t, fifo, at("linkedfifo"))
	t.Chdir(filepath.Dir(at("sock"))) // a socket's path is short
	sock, err := net.Listen("unix", "SKILL.md")
	if err != nil {
		t.Fatal(err)
	}
	defer sock.Close()
	f, err := os.Create(at("sparse"))
	if err != nil {
		t.Fatal(err)
	}
	if err := f.Truncate(4 << 30); err != nil {
		t.Fatal(err)
	}
	f.Close()
	l := scan(t, source.Dir(root, source.DirOptions{}))
	want := map[string]string{
		"fifo": "file_special", "directory": "file_special", "device": "file_special",
		"linkedfifo": "file_special", "sock": "file_special", "sparse": "limit_file",
	}
	for _, e := range l.Entries {
		name := filepath.Base(e.Dir)
		if name == "good" {
			if !e.Skill.Valid {
				t.Error("the neighbour is lost")
			}
			continue
		}
		if e.Skill.Valid || e.Skill.Diagnostics[0].Code != want[name] || e.Skill.Diagnostics[0].File == "" {
			t.Errorf("%s: %+v", name, e.Skill.Diagnostics)
		}
		delete(want, name)
	}
	if len(want) > 0 {
		t.Errorf("not listed: %v", want)
	}
	equal(t, "codes", codes(l.Diagnostics), []string{"link_cycle"})
}

func TestR12AFIFOBesideASkillIsRefused(t *testing.T) {
	t.Parallel()
	root := tempDir(t)
	dir := addSkill(t, root, "s")
	if err := unix.Mkfifo(filepath.Join(dir, "pipe"), 0o644); err != nil {
		t.Fatal(err)
	}
	src := source.Dir(root, source.DirOptions{})
	e := scan(t, src).Entries[0]
	if _, err := src.Open(t.Context(), e, "pipe"); !errors.Is(err, source.ErrSpecial) {
		t.Errorf("open: %v", err)
	}
	if r, err := source.Resources(t.Context(), e); err != nil || len(r) != 0 {
		t.Errorf("resources: %v %v", r, err)
	}
}

func TestR12WhatCannotBeReadIsSaidAndTheRestIsListed(t *testing.T) {
	t.Parallel()
	root := tempDir(t)
	addSkill(t, root, "good")
	locked := addSkill(t, root, "locked")
	if err := os.Chmod(filepath.Join(locked, "SKILL.md"), 0); err != nil {
		t.Fatal(err)
	}
	group := filepath.Join(root, "group")
	addSkill(t, group, "inner")
	if err := os.Chmod(group, 0); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.Chmod(group, 0o755) })
	l := scan(t, source.Dir(root, source.DirOptions{}))
	if os.Geteuid() == 0 { // root reads everything
		equal(t, "skills", dirNames(l), []string{"good", "inner", "locked"})
		return
	}
	equal(t, "skills", dirNames(l), []string{"good", "group", "locked"})
	for _, e := range l.Entries {
		if e.Skill.Valid != (e.Skill.Name == "good") {
			t.Errorf("%s: %+v", e.Dir, e.Skill.Diagnostics)
		}
	}
}
