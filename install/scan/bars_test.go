package scan

import (
	"archive/tar"
	"compress/gzip"
	"encoding/csv"
	"errors"
	"fmt"
	"hash/fnv"
	"io"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/deftskills/deft/internal/race"
)

// testdata returns a folder of the outside test data; without it the test is skipped.
func testdata(t testing.TB, name string) string {
	t.Helper()
	root := os.Getenv("DEFT_TESTDATA")
	if root == "" {
		t.Skip("DEFT_TESTDATA is not set: no outside test data")
	}
	return filepath.Join(root, name)
}

// labelled is one case of the labelled set.
type labelled struct {
	id, class, hardness string
	malicious, held     bool
	result              Result
}

// caseTree reads a case without the ".txt" that keeps it inert.
func caseTree(t testing.TB, dir string) fstest.MapFS {
	t.Helper()
	tree := fstest.MapFS{}
	err := filepath.WalkDir(dir, func(p string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		src, err := os.ReadFile(p)
		rel, _ := filepath.Rel(dir, p)
		tree[strings.TrimSuffix(filepath.ToSlash(rel), ".txt")] = &fstest.MapFile{Data: src, Mode: 0o644}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return tree
}

func labelledCases(t testing.TB, s *Scanner) (list []labelled) {
	t.Helper()
	dir := filepath.Join(testdata(t, "security"), "dev")
	f, err := os.Open(filepath.Join(dir, "MANIFEST.tsv"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	r := csv.NewReader(f)
	r.Comma, r.LazyQuotes = '\t', true
	rows, err := r.ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	for _, row := range rows[1:] {
		c := labelled{id: row[0], class: row[3], hardness: row[4], malicious: row[2] == "malicious"}
		c.held = (row[0][len(row[0])-1]-'0')%2 == 1
		if c.result, err = s.Scan(t.Context(), caseTree(t, filepath.Join(dir, row[1])), ScanOptions{}); err != nil {
			t.Fatal(err)
		}
		list = append(list, c)
	}
	return list
}

// found reports whether there is a finding of level warn or block.
func found(r Result) bool {
	return slices.ContainsFunc(r.Findings, func(f Finding) bool { return f.Level != Info })
}

// share is a count out of a count.
type share struct{ n, of int }

func (s *share) add(yes bool) {
	s.of++
	if yes {
		s.n++
	}
}

func (s share) rate() float64 { return float64(s.n) / float64(max(1, s.of)) }

func (s share) String() string { return fmt.Sprintf("%d/%d = %.1f %%", s.n, s.of, 100*s.rate()) }

// R14: a set of labelled skills, of which half was looked at while the rules were written.
func TestR14SecurityBarsOfTheLabelledSet(t *testing.T) {
	t.Parallel()
	list := labelledCases(t, scanner(t))
	sums, classes := map[string]*share{}, map[string]*share{}
	count := func(name string, held, yes bool) {
		for _, key := range []string{name, name + map[bool]string{true: ", held out", false: ", tuned on"}[held]} {
			if sums[key] == nil {
				sums[key] = &share{}
			}
			sums[key].add(yes)
		}
	}
	for _, c := range list {
		class := fmt.Sprintf("%s %s %s", map[bool]string{true: "malicious", false: "benign"}[c.malicious], c.hardness, c.class)
		if classes[class] == nil {
			classes[class] = &share{}
		}
		classes[class].add(c.malicious && found(c.result) || c.result.Blocking > 0)
		if c.malicious {
			count("malicious "+c.hardness, c.held, found(c.result))
			count("malicious "+c.hardness+" blocking", c.held, c.result.Blocking > 0)
		} else {
			count("benign "+c.class+" blocking", c.held, c.result.Blocking > 0)
			count("benign "+c.class+" any", c.held, found(c.result))
		}
		if c.malicious != (c.result.Blocking > 0) && (!c.held || os.Getenv("DEFT_SCAN_ALL") != "") {
			for _, f := range c.result.Findings {
				if f.Level != Info {
					t.Logf("%s %s %s: %s %s %s:%d %s", c.id, c.class, c.hardness, f.Rule, f.Level, f.File, f.Line, f.Evidence)
				}
			}
			if !found(c.result) {
				t.Logf("%s %s %s: nothing", c.id, c.class, c.hardness)
			}
		}
	}
	for _, name := range slices.Sorted(maps.Keys(sums)) {
		t.Logf("%-44s %s", name, sums[name])
	}
	for _, name := range slices.Sorted(maps.Keys(classes)) {
		t.Logf("class %-38s %s", name, classes[name])
	}
	for name, least := range map[string]float64{"malicious easy": 0.95, "malicious hard": 0.70, "malicious structural": 1} {
		if sums[name] != nil && sums[name].rate() < least {
			t.Errorf("%s: %s found, at least %.0f %% wanted", name, sums[name], 100*least)
		}
	}
	for name, most := range map[string]float64{"benign vendor blocking": 1.0 / 28, "benign lookalike blocking": 0.10, "benign lookalike any": 0.35} {
		if sums[name].rate() > most {
			t.Errorf("%s: %s, at most %.1f %% wanted", name, sums[name], 100*most)
		}
	}
}

// corpusFiles calls each with every SKILL.md of the corpus.
func corpusFiles(t testing.TB, each func(name string, src []byte)) {
	t.Helper()
	f, err := os.Open(filepath.Join(testdata(t, "corpus"), "skills-dev.tar.gz"))
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
		if h.Typeflag == tar.TypeReg && path.Base(h.Name) == "SKILL.md" {
			src, err := io.ReadAll(r)
			if err != nil {
				t.Fatal(err)
			}
			each(h.Name, src)
		}
	}
}

func TestR14SecurityBarsOfTheCorpus(t *testing.T) {
	t.Parallel()
	s := scanner(t)
	sums := map[string]*share{"all": {}, "held out": {}, "tuned on": {}, "any finding": {}}
	rules, number := map[string]int{}, 0
	corpusFiles(t, func(name string, src []byte) {
		if number++; race.Enabled && number%8 != 0 {
			return // the race detector makes a text ten times as slow
		}
		h := fnv.New32a()
		_, _ = h.Write([]byte(name))
		held := h.Sum32()%2 == 1
		r, err := s.Scan(t.Context(), fstest.MapFS{"SKILL.md": {Data: src}}, ScanOptions{})
		if err != nil {
			t.Fatal(err)
		}
		sums["all"].add(r.Blocking > 0)
		sums["any finding"].add(found(r))
		sums[map[bool]string{true: "held out", false: "tuned on"}[held]].add(r.Blocking > 0)
		if !r.Complete {
			rules["partial"]++
		}
		for _, f := range r.Findings {
			if held {
				continue
			}
			rules[f.Rule+" "+string(f.Level)]++
			if f.Level == Block && os.Getenv("DEFT_SCAN_ALL") != "" {
				t.Logf("%s:%d %s %s", name, f.Line, f.Rule, f.Evidence)
			}
		}
	})
	for _, name := range slices.Sorted(maps.Keys(rules)) {
		t.Logf("%-12s %d", name, rules[name])
	}
	for _, name := range slices.Sorted(maps.Keys(sums)) {
		t.Logf("%-44s %s", "corpus blocking, "+name, sums[name])
	}
	if sums["all"].rate() > 0.05 {
		t.Errorf("blocking: %s, at most 5 %% wanted", sums["all"])
	}
}
