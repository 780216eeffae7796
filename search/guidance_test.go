package search

import (
	"context"
	"slices"
	"strings"
	"testing"

	"github.com/deftskills/deft/skill"
)

func TestWhatASkillIsNotForIsNotItsPurpose(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ description, want string }{
		{"Draws charts. NOT for maps (use map-maker).", "Draws charts."},
		{"Draws charts. Do not use for maps; use map-maker instead.", "Draws charts. use map-maker instead."},
		{"Draws charts.\n\nDoes NOT review code. Exports PNG.", "Draws charts.\n Exports PNG."},
		{"Audits a layer. Single layer → topic-skill. Reports.", "Audits a layer. Reports."},
		{"Build → Test → Deploy with approval.", "Build → Test → Deploy with approval."},
		{"画图表。不用于地图。导出图片。", "画图表。导出图片。"},
		{"不要用于地图。", "不要用于地图。"},
		{"Version 2.0 of v1.2 files, not a toy", "Version 2.0 of v1.2 files, not a toy"},
		{"", ""},
	} {
		if got := strings.TrimSpace(purpose(tt.description)); got != tt.want {
			t.Errorf("purpose(%q) = %q, want %q", tt.description, got, tt.want)
		}
	}
}

func TestABodyIsSortedByWhatItsLinesAreFor(t *testing.T) {
	t.Parallel()
	body := "# Charts\n\nTurns tables into charts.\n\n## When to use\n\n- \"plot my sales\"\n- Not for maps\n\n" +
		"### When NOT to use\n\n- photo retouching\n\n## Steps\n\n```sh\n# not a heading\nplot in.csv\n```\n\nDone.\n"
	got := map[Field]string{}
	eachLine(body, func(f Field, line string) { got[f] += line })
	for _, tt := range []struct {
		field      Field
		has, lacks string
	}{
		{Body, "retouching", "in.csv"},
		{Code, "# not a heading\nplot in.csv\n", "Done"},
		{Headings, "Turns tables", "not a heading"},
		{When, "plot my sales", "retouching"},
		{When, "When to use", "maps"},
		{When, "", "Steps"},
	} {
		if text := got[tt.field]; !strings.Contains(text, tt.has) || strings.Contains(text, tt.lacks) {
			t.Errorf("%s is %q: wants %q, not %q", tt.field, text, tt.has, tt.lacks)
		}
	}
}

func TestARequestFindsWhatItMeans(t *testing.T) {
	t.Parallel()
	x := indexOf(t,
		doc("heart", "Compute heart rate variability from an ECG signal.", "# Heart\n"),
		doc("sheets", "Create and edit Excel spreadsheets.", "# Sheets\n"),
		doc("clusters", "Operate Kubernetes clusters.", "# Clusters\n"),
		doc("slides", "制作幻灯片，导出演示文稿。", "# 幻灯片\n"),
		doc("charts", "Draw charts. NOT for maps, use another skill.", "# Charts\n"),
		doc("maps", "Draw maps.", "# Maps\n"),
	)
	for query, want := range map[string]string{
		"帮我算一下心率":                    "heart",
		"sum the columns of q3.xlsx": "sheets",
		"my k8s pods restart":        "clusters",
		"幫我做幻燈片":                     "slides",
		"draw maps":                  "maps",
	} {
		res, err := x.Search(context.Background(), Query{Text: query, Bare: true})
		if err != nil || len(res.Hits) == 0 || res.Hits[0].Name != want {
			t.Errorf("%q finds %v (%v), want %s first", query, res.Hits, err, want)
		}
	}
}

func TestGrammarAloneIsStillAQuery(t *testing.T) {
	t.Parallel()
	x := indexOf(t, doc("pick", "おすすめ", "# おすすめ\n"), doc("other", "旅行", "# 旅行\n"))
	for query, want := range map[string]string{"おすすめ": "pick", "旅行したい": "other", "旅": "other"} {
		res, err := x.Search(context.Background(), Query{Text: query, Bare: true})
		if err != nil || len(res.Hits) != 1 || res.Hits[0].Name != want {
			t.Errorf("%q finds %v (%v), want %s alone", query, res.Hits, err, want)
		}
	}
}

func TestTheTablesOfWordsAreWhole(t *testing.T) {
	t.Parallel()
	for from, to := range simplified() {
		if from == to || len(string(from)) != len(string(to)) {
			t.Errorf("%c stands for %c", from, to)
		}
		if _, again := simplified()[to]; again {
			t.Errorf("%c becomes %c, which is not the last", from, to)
		}
	}
	table := usualAnalyzer().table()
	for _, m := range []map[string][]string{table.terms, table.units} {
		if len(m) < 50 {
			t.Errorf("table has %d words", len(m))
		}
		for word, terms := range m {
			if len(terms) == 0 {
				t.Errorf("%q stands for nothing", word)
			}
		}
	}
}

func TestTheWordsThatAHeaderListsAreKeywords(t *testing.T) {
	t.Parallel()
	raw := []byte("---\nname: x\ndescription: y\ntags: [whale, 'deep sea']\nmetadata:\n  keywords: harbour, storm\n---\n")
	s := skill.Parse(raw, skill.ParseOptions{Path: "x/SKILL.md", DirName: "x"})
	var got []string
	eachListed(s.Raw(), func(words string) { got = append(got, words) })
	if want := []string{"harbour, storm", "whale", "deep sea"}; !lists(raw) || !slices.Equal(got, want) {
		t.Errorf("header lists %q, want %q", got, want)
	}
	if lists([]byte("---\nname: x\n---\n")) {
		t.Error("a header without lists has some")
	}
	eachListed(nil, func(string) { t.Error("no header lists something") })
}
