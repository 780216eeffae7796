package bench

import (
	"archive/tar"
	"bufio"
	"compress/gzip"
	"context"
	"encoding/json"
	"errors"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/blevesearch/bleve/v2"
	"github.com/blevesearch/bleve/v2/analysis/lang/cjk"
	"github.com/blevesearch/bleve/v2/analysis/lang/en"
	"github.com/blevesearch/bleve/v2/index/scorch"

	"github.com/deftskills/deft/search"
	"github.com/deftskills/deft/search/benchdata"
	"github.com/deftskills/deft/skill"
)

// entry is one skill as both engines get it.
type entry struct{ ID, Name, Description, Body, References string }

func (e entry) document() search.Document {
	header := "---\nname: " + e.Name + "\n---\n"
	raw := []byte(header + e.Body)
	d := search.Document{
		Address: e.ID, Name: e.Name, Description: e.Description, Location: e.ID, Digest: skill.FileDigest(raw),
		Body: skill.Span{Start: int64(len(header)), End: int64(len(raw))},
		Read: func(_ context.Context, rel string) ([]byte, error) {
			switch rel {
			case "":
				return raw, nil
			case "references/all.md":
				return []byte(e.References), nil
			}
			return nil, fs.ErrNotExist
		},
	}
	if e.References != "" {
		d.List = func(context.Context) ([]search.Reference, error) {
			return []search.Reference{{Path: "references/all.md", Size: int64(len(e.References)), Time: 1}}, nil
		}
	}
	return d
}

func ours(tb testing.TB, list []entry) *search.Index {
	tb.Helper()
	x, err := search.Open(search.Options{})
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { _ = x.Close() })
	docs := make([]search.Document, len(list))
	for i, e := range list {
		docs[i] = e.document()
	}
	if _, err := x.AddDocs(tb.Context(), "", docs); err != nil {
		tb.Fatal(err)
	}
	if err := x.Warm(tb.Context(), ""); err != nil {
		tb.Fatal(err)
	}
	return x
}

// theirs is a bleve index with the analyser of a language and the weights that deft
// gives its fields.
func theirs(tb testing.TB, list []entry, analyzer string) bleve.Index {
	tb.Helper()
	m := bleve.NewIndexMapping()
	m.DefaultAnalyzer = analyzer
	field := bleve.NewTextFieldMapping()
	field.Store, field.IncludeTermVectors, field.IncludeInAll, field.DocValues = false, false, false, false
	field.Analyzer = analyzer
	doc := bleve.NewDocumentStaticMapping()
	for name := range weights {
		doc.AddFieldMappingsAt(name, field)
	}
	m.DefaultMapping = doc
	x, err := bleve.NewUsing(filepath.Join(tb.TempDir(), "bleve"), m, scorch.Name, scorch.Name, nil)
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { _ = x.Close() })
	for some := range slices.Chunk(list, 500) {
		b := x.NewBatch()
		for _, e := range some {
			if err := b.Index(e.ID, map[string]any{"name": e.Name, "description": e.Description, "body": e.Body, "references": e.References}); err != nil {
				tb.Fatal(err)
			}
		}
		if err := x.Batch(b); err != nil {
			tb.Fatal(err)
		}
	}
	return x
}

var weights = map[string]float64{"name": 6, "description": 4, "body": 1, "references": 0.5}

// ask returns the addresses of the best k by bleve: a match in any field, weighed.
func ask(tb testing.TB, x bleve.Index, text string, k int) (ids []string) {
	tb.Helper()
	any := bleve.NewDisjunctionQuery()
	for name, w := range weights {
		q := bleve.NewMatchQuery(text)
		q.SetField(name)
		q.SetBoost(w)
		any.AddQuery(q)
	}
	res, err := x.Search(bleve.NewSearchRequestOptions(any, k, 0, false))
	if err != nil {
		tb.Fatal(err)
	}
	for _, h := range res.Hits {
		ids = append(ids, h.ID)
	}
	return ids
}

func oursAsked(tb testing.TB, x *search.Index, text string, k int) (ids []string) {
	tb.Helper()
	res, err := x.Search(tb.Context(), search.Query{Text: text, TopK: k, Plain: true, Bare: true})
	if err != nil {
		tb.Fatal(err)
	}
	for _, h := range res.Hits {
		ids = append(ids, h.Address)
	}
	return ids
}

// corpus reads the skills of an archive: each under its folder.
func corpus(tb testing.TB, file string) []entry {
	tb.Helper()
	f, err := os.Open(file)
	if err != nil {
		tb.Fatal(err)
	}
	defer f.Close()
	z, err := gzip.NewReader(f)
	if err != nil {
		tb.Fatal(err)
	}
	skills, refs := map[string]*entry{}, map[string]string{}
	for t := tar.NewReader(z); ; {
		h, err := t.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			tb.Fatal(err)
		}
		name := path.Clean(h.Name)
		at := strings.Index(name, "/references/")
		if path.Base(name) != "SKILL.md" && at < 0 {
			continue
		}
		raw, err := io.ReadAll(io.LimitReader(t, 1<<20))
		if err != nil {
			tb.Fatal(err)
		}
		if at >= 0 {
			refs[name[:at]] += "\n" + string(raw)
			continue
		}
		s := skill.Parse(raw, skill.ParseOptions{Path: name, DirName: path.Base(path.Dir(name))})
		if s.Valid {
			skills[path.Dir(name)] = &entry{ID: path.Dir(name), Name: s.Name, Description: s.Description, Body: string(raw[s.Body.Start:s.Body.End])}
		}
	}
	out := make([]entry, 0, len(skills))
	for dir, e := range skills {
		e.References = refs[dir]
		out = append(out, *e)
	}
	slices.SortFunc(out, func(a, b entry) int { return strings.Compare(a.ID, b.ID) })
	return out
}

type request struct {
	Query string   `json:"query"`
	Gold  []string `json:"gold"`
	Aux   []string `json:"aux"`
}

// quality counts how often the right skill is first, among five, and its mean
// reciprocal rank among ten.
func quality(requests []request, find func(text string) []string) (hit1, hit5, mrr float64) {
	n := 0.0
	for _, r := range requests {
		if len(r.Gold) == 0 {
			continue
		}
		n++
		ids := slices.DeleteFunc(find(r.Query), func(id string) bool { return slices.Contains(r.Aux, id) })
		at := slices.IndexFunc(ids, func(id string) bool { return slices.Contains(r.Gold, id) })
		switch {
		case at < 0 || at >= 10:
			continue
		case at == 0:
			hit1++
		}
		if at < 5 {
			hit5++
		}
		mrr += 1 / float64(at+1)
	}
	return 100 * hit1 / n, 100 * hit5 / n, 100 * mrr / n
}

// BenchmarkQualityBesideBleve asks both the same requests over the same real skills.
// DEFT_TESTDATA names the folder with corpus/ and routing/.
func BenchmarkQualityBesideBleve(b *testing.B) {
	dir := os.Getenv("DEFT_TESTDATA")
	if dir == "" {
		b.Skip("DEFT_TESTDATA is not set")
	}
	list := corpus(b, filepath.Join(dir, "corpus", "skills-dev.tar.gz"))
	f, err := os.Open(filepath.Join(dir, "routing", "dev", "queries.jsonl"))
	if err != nil {
		b.Fatal(err)
	}
	defer f.Close()
	var requests []request
	lines := bufio.NewScanner(f)
	lines.Buffer(nil, 4<<20)
	for lines.Scan() {
		var r request
		if err := json.Unmarshal(lines.Bytes(), &r); err != nil {
			b.Fatal(err)
		}
		requests = append(requests, r)
	}
	for b.Loop() {
		x := ours(b, list)
		report := func(name string, find func(string) []string) {
			took := measure(b, func() {
				hit1, hit5, mrr := quality(requests, find)
				b.ReportMetric(hit1, name+"-hit1")
				b.ReportMetric(hit5, name+"-hit5")
				b.ReportMetric(mrr, name+"-mrr10")
			})
			b.ReportMetric(float64(took.Microseconds())/float64(len(requests)), name+"-us/query")
		}
		report("deft", func(text string) []string { return oursAsked(b, x, text, 20) })
		for _, analyzer := range []string{en.AnalyzerName, cjk.AnalyzerName} {
			y := theirs(b, list, analyzer)
			report("bleve-"+analyzer, func(text string) []string { return ask(b, y, text, 20) })
		}
	}
}

// BenchmarkSearchBesideBleve builds both over made-up skills and asks both the same
// words.
func BenchmarkSearchBesideBleve(b *testing.B) {
	const n = 10_000
	list := make([]entry, n)
	for i, s := range benchdata.Library(n) {
		list[i] = entry{s.Name, s.Name, s.Description, s.Body, s.Reference}
	}
	words := benchdata.NewWords(5)
	var queries []string
	for i := range 100 {
		queries = append(queries, words.Text(1+i%12))
	}
	for b.Loop() {
		var x *search.Index
		var y bleve.Index
		mine := measure(b, func() { x = ours(b, list) })
		their := measure(b, func() { y = theirs(b, list, en.AnalyzerName) })
		b.ReportMetric(float64(n)/mine.Seconds(), "deft-skills/s")
		b.ReportMetric(float64(n)/their.Seconds(), "bleve-skills/s")
		mine = measure(b, func() {
			for _, q := range queries {
				oursAsked(b, x, q, 5)
			}
		})
		their = measure(b, func() {
			for _, q := range queries {
				ask(b, y, q, 5)
			}
		})
		b.ReportMetric(float64(mine.Microseconds())/float64(len(queries)), "deft-us/query")
		b.ReportMetric(float64(their.Microseconds())/float64(len(queries)), "bleve-us/query")
		b.ReportMetric(float64(their)/float64(mine), "bleve/deft")
	}
}
