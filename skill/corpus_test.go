package skill

import (
	"archive/tar"
	"compress/gzip"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/deftskills/deft/internal/race"
)

type corpusFile struct {
	path string
	src  []byte
}

// corpus returns the SKILL.md files of the named archives, or nil without DEFT_TESTDATA.
func corpus(tb testing.TB, archives ...string) []corpusFile {
	tb.Helper()
	dir := os.Getenv("DEFT_TESTDATA")
	if dir == "" {
		return nil
	}
	var out []corpusFile
	for _, name := range archives {
		out = append(out, unpack(tb, filepath.Join(dir, "corpus", name))...)
	}
	return out
}

func unpack(tb testing.TB, path string) (out []corpusFile) {
	tb.Helper()
	f, err := os.Open(path)
	if err != nil {
		tb.Fatal(err)
	}
	defer f.Close()
	zr, err := gzip.NewReader(f)
	if err != nil {
		tb.Fatal(err)
	}
	for tr := tar.NewReader(zr); ; {
		h, err := tr.Next()
		if errors.Is(err, io.EOF) {
			return out
		}
		if err != nil {
			tb.Fatal(err)
		}
		if !strings.EqualFold(filepath.Base(h.Name), "SKILL.md") {
			continue
		}
		src, err := io.ReadAll(tr)
		if err != nil {
			tb.Fatal(err)
		}
		out = append(out, corpusFile{h.Name, src})
	}
}

func needCorpus(t *testing.T, archives ...string) []corpusFile {
	t.Helper()
	files := corpus(t, archives...)
	if files == nil {
		t.Skip("DEFT_TESTDATA is not set: the corpus of real skills is not there")
	}
	return files
}

func TestFastPathShareOfTheCorpus(t *testing.T) {
	t.Parallel()
	fast, all := 0, 0
	for i, f := range needCorpus(t, "skills-dev.tar.gz") {
		if race.Enabled && i%10 > 0 {
			continue
		}
		text, first, ok := headerOf(f.src)
		if !ok {
			continue
		}
		all++
		if readFast(text, first, testLimits) != nil {
			fast++
		}
		if why := unequal(text, first); why != "" {
			t.Errorf("%s: %s", f.path, why)
		}
	}
	share := 100 * float64(fast) / float64(all)
	t.Logf("fast path: %d of %d headers, %.1f %%", fast, all, share)
	if share < 70 {
		t.Errorf("fast path takes %.1f %% of the corpus, want 70", share)
	}
}

func TestCorpusParsesAndLocatesEveryOddity(t *testing.T) {
	t.Parallel()
	codes := map[string]int{}
	valid, all := 0, 0
	for i, f := range needCorpus(t, "skills-dev.tar.gz", "skills-oddities.tar.gz") {
		if race.Enabled && i%10 > 0 {
			continue
		}
		dir := filepath.Base(filepath.Dir(f.path))
		s := Parse(f.src, ParseOptions{Path: f.path, DirName: dir})
		all++
		if s.Valid {
			valid++
		} else if len(s.Diagnostics) == 0 {
			t.Errorf("%s: invalid without a reason", f.path)
		}
		if s.Name == "" || s.Key == "" || s.Handle == "" {
			t.Errorf("%s: name %q, key %q, handle %q", f.path, s.Name, s.Key, s.Handle)
		}
		for _, d := range s.Diagnostics {
			codes[d.Code]++
			if d.File == "" || d.Message == "" || d.Line == 0 {
				t.Errorf("%s: diagnostic without place or text: %+v", f.path, d)
			}
		}
		if s.Valid && s.Raw() == nil {
			t.Errorf("%s: Raw is nil for a valid skill", f.path)
		}
	}
	t.Logf("%d of %d usable; %v", valid, all, codes)
}
