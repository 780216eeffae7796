package main

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"encoding/json"
	"errors"
	"io"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/deftskills/deft/internal/cli"
)

// unpack writes a tar.gz below dir. Names that leave dir are refused.
func unpack(t *testing.T, archive, dir string) {
	t.Helper()
	f, err := os.Open(archive)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	z, err := gzip.NewReader(f)
	if err != nil {
		t.Fatal(err)
	}
	for r := tar.NewReader(z); ; {
		h, err := r.Next()
		if errors.Is(err, io.EOF) {
			return
		}
		if err != nil {
			t.Fatal(err)
		}
		if h.Typeflag != tar.TypeReg || !filepath.IsLocal(h.Name) {
			continue
		}
		path := filepath.Join(dir, h.Name)
		data, err := io.ReadAll(r)
		if err == nil {
			err = os.MkdirAll(filepath.Dir(path), 0o755)
		}
		if err == nil {
			err = os.WriteFile(path, data, 0o644)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
}

// Every SKILL.md of the corpus is a skill, a shadowed one, an alias or a diagnostic,
// and every diagnostic has a place.
func TestTheCorpusIsAccountedFor(t *testing.T) {
	t.Parallel()
	data := os.Getenv("DEFT_TESTDATA")
	if data == "" {
		t.Skip("DEFT_TESTDATA is not set: the corpus is not there")
	}
	dir := t.TempDir()
	for _, name := range []string{"skills-dev.tar.gz", "skills-oddities.tar.gz"} {
		unpack(t, filepath.Join(data, "corpus", name), dir)
	}
	var out, errText bytes.Buffer
	exit := cli.Run(t.Context(), cli.Process{
		Args:    []string{"list", "--all", "--json", "--only-sources", "--source", dir + "/**/SKILL.md"},
		Environ: []string{"HOME=" + t.TempDir()}, Dir: t.TempDir(), GOOS: runtime.GOOS,
		Stdin: strings.NewReader(""), Stdout: &out, Stderr: &errText, Now: time.Now,
	})
	if exit != cli.Done {
		t.Fatalf("exit %d: %s", exit, errText.String())
	}
	type finding struct {
		Code, File, Message string
	}
	type entry struct {
		Location    string
		Aliases     []string
		State       string
		Diagnostics []finding
	}
	var list struct {
		Skills, Shadowed []entry
		Diagnostics      []finding
	}
	if err := json.Unmarshal(out.Bytes(), &list); err != nil {
		t.Fatal(err)
	}
	named := map[string]bool{}
	check := func(d finding) {
		named[d.File] = true
		if d.File == "" || d.Code == "" || d.Message == "" {
			t.Errorf("a diagnostic without place: %+v", d)
		}
	}
	usable := 0
	for _, e := range append(list.Skills, list.Shadowed...) {
		u, err := url.Parse(e.Location)
		if err != nil {
			t.Fatal(err)
		}
		named[u.Path] = true
		for _, a := range e.Aliases {
			named[a] = true
		}
		if e.State != "invalid" {
			usable++
		}
		for _, d := range e.Diagnostics {
			check(d)
		}
	}
	for _, d := range list.Diagnostics {
		check(d)
	}
	files := 0
	err := filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() || !strings.EqualFold(e.Name(), "SKILL.md") {
			return err
		}
		files++
		if !named[path] && !named[filepath.Dir(path)] {
			t.Errorf("%s is lost", path)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("%d of %d files are usable skills (%.1f %%)", usable, files, 100*float64(usable)/float64(max(files, 1)))
	if files < 2500 {
		t.Errorf("only %d files", files)
	}
}
