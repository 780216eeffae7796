package minimax

import (
	"context"
	"fmt"
	"math"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/deftskills/deft"
	"github.com/deftskills/deft/catalog"
	"github.com/deftskills/deft/internal/suitetest"
	"github.com/deftskills/deft/registry"
	"github.com/deftskills/deft/skill"
)

const (
	shortened = "Skill descriptions were shortened to fit the catalog budget."
	omitted   = "Some skills were omitted because not every skill name fits within the skills context budget."
)

// listed renders what a model is shown of s.
func listed(t *testing.T, s *registry.Snapshot, b catalog.Budget) catalog.Catalog {
	t.Helper()
	return counted(t, catalog.O200k(), s, b)
}

func counted(t *testing.T, by catalog.Counter, s *registry.Snapshot, b catalog.Budget) catalog.Catalog {
	t.Helper()
	c, err := catalog.New(catalog.Config{Counter: by}).Render(t.Context(), catalog.Input{Snapshot: s, Dialect: skill.MiniMax, Budget: b})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// described writes skills "name: description" below dir, a built-in one where dir is
// the bundle's.
func (w *world) described(dir string, skills ...string) {
	w.t.Helper()
	for _, s := range skills {
		name, description, _ := strings.Cut(s, ": ")
		w.write(filepath.Join(dir, name, "SKILL.md"), "---\nname: "+name+"\ntitle: T\ndescription: \""+description+"\"\n---\n")
	}
}

func (w *world) bundle() string { return filepath.Join(w.root, "bundle/skills") }

// block joins lines to a block.
func block(lines ...string) string {
	return "<available_skills>\n" + strings.Join(lines, "\n") + "\n</available_skills>"
}

// letters counts every code point of a line but its newline as one token, so that
// budgets can be reckoned by hand; over changes what single lines or blocks cost.
type letters struct{ over func(text string) (int, bool) }

func (letters) Name() string { return "letters" }

func (l letters) Count(text string) int {
	if l.over != nil {
		if n, ok := l.over(text); ok {
			return n
		}
	}
	return len([]rune(strings.ReplaceAll(text, "\n", "")))
}

// frame is what the tags cost in letters.
const frame = len("<available_skills></available_skills>")

func TestC07RenderFormat(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.described(w.global(), "b: ", "a: text")
	same(t, "block", listed(t, w.snapshot(), catalog.Budget{}).Stable.Text, block("- a: text", "- b"))
}

func TestC08EmptyIsEmpty(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	c := listed(t, w.snapshot(), catalog.Budget{})
	same(t, "block", c.Stable.Text+c.Prefix()+c.Guidance.Text, "")
}

func TestC09SortedByNameProtectedFirst(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	for _, name := range []string{"zeta", "Beta", "alpha", "Älter", "beta", "a_b", "a-b", "minimax-code-product", "mcode-tools-master"} {
		w.described(w.global(), name+": ")
	}
	same(t, "order", listed(t, w.snapshot(), catalog.Budget{}).Stable.Text, block(
		"- mcode-tools-master", "- minimax-code-product", "- a_b", "- a-b", "- alpha", "- Älter", "- beta", "- Beta", "- zeta"))
}

func TestC10DescriptionOneLine1024(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	long := strings.Repeat(`word\n `, 400)
	w.described(w.global(), "plain: "+long, "mcode-tools-master: "+long)
	c := listed(t, w.snapshot(), catalog.Budget{Limit: 50_000})
	whole := strings.TrimSpace(strings.Repeat("word ", 400))
	same(t, "block", c.Stable.Text, block("- mcode-tools-master: "+whole, "- plain: "+whole[:1024]))
	same(t, "flag", c.Report.CapTruncated, true)
}

func TestC11BudgetTwoPercent(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.described(w.global(), "a: text")
	for window, want := range map[int]int{200_000: 4000, 400_000: 5000, 8000: 160, 1_000_000: 5000, 49: 1} {
		same(t, fmt.Sprint(window), listed(t, w.snapshot(), catalog.Budget{Window: window}).Report.Budget, want)
	}
}

func TestC12BudgetWithoutWindow(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.described(w.global(), "a: text")
	for _, b := range []catalog.Budget{{}, {Window: -1}, {Fraction: math.NaN()}, {Fraction: math.Inf(1)}} {
		same(t, fmt.Sprint(b), listed(t, w.snapshot(), b).Report.Budget, 5000)
	}
}

func TestC13CountedWithO200k(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]int{"hello world": 2, "Hello, world!": 4, "日本語": 2, "tiktoken is great!": 6} {
		same(t, text, catalog.O200k().Count(text), want)
	}
	w := newWorld(t)
	w.described(w.global(), "a: <|endoftext|> is text", "b: 日本語 and 🎉", "c: it's <|endofprompt|>")
	c := listed(t, w.snapshot(), catalog.Budget{})
	same(t, "sum of the lines", c.Report.Used, catalog.O200k().Count(c.Stable.Text))
	if n := catalog.O200k().Count("<|endoftext|>"); n < 4 {
		t.Errorf("a special token counts as %d", n)
	}
}

func TestC14CountFallback(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.described(w.global(), "mcode-tools-master: "+strings.Repeat("x", 4097), "other: text")
	c := listed(t, w.snapshot(), catalog.Budget{Limit: 10_000})
	same(t, "used", c.Report.Used, len(c.Stable.Text))
	same(t, "fallback", c.Report.Fallback, "bytes")
	if c = listed(t, w.snapshot(), catalog.Budget{Limit: len(c.Stable.Text) - 1}); strings.Contains(c.Stable.Text, "other: text") || !c.Report.SoftOverflow {
		t.Errorf("%d bytes in a budget of one less", len(c.Stable.Text))
	}
}

func TestC15FitsWhole(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.described(w.global(), "a: Does a.", "b: Does b.")
	for _, limit := range []int{5000, frame + 24} {
		c := counted(t, letters{}, w.snapshot(), catalog.Budget{Limit: limit})
		same(t, "block", c.Stable.Text, block("- a: Does a.", "- b: Does b."))
		same(t, "soft", c.Report.SoftOverflow || c.Report.HardOverflow, false)
	}
}

func TestC16SoftNoticeFirst(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.described(w.global(), "a: "+strings.Repeat("x", 200))
	floor := frame + len("- a")
	c := counted(t, letters{}, w.snapshot(), catalog.Budget{Limit: floor + len(shortened)})
	same(t, "floor and notice", c.Stable.Text, block(shortened, "- a"))
	c = counted(t, letters{}, w.snapshot(), catalog.Budget{Limit: floor + len(shortened) - 1})
	same(t, "no room for the notice", c.Stable.Text, block("- a: "+strings.Repeat("x", len(shortened)-3)))
}

func TestC17BuiltinsBeforeOthers(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.described(w.bundle(), "init: "+strings.Repeat("i", 50), "docx: "+strings.Repeat("d", 50))
	w.described(w.global(), "mine: "+strings.Repeat("m", 150))
	names := frame + len(shortened) + len("- docx- init- mine")
	c := counted(t, letters{}, w.snapshot(), catalog.Budget{Limit: names + 2*(2+20)})
	same(t, "one length", c.Stable.Text, block(shortened, "- docx: "+strings.Repeat("d", 20), "- init: "+strings.Repeat("i", 20), "- mine"))
	c = counted(t, letters{}, w.snapshot(), catalog.Budget{Limit: names + 2*(2+50) + 2 + 7})
	same(t, "built-ins complete", c.Stable.Text, block(shortened, "- docx: "+strings.Repeat("d", 50), "- init: "+strings.Repeat("i", 50), "- mine: mmmmmmm"))
}

func TestC18OneCodePointPass(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.described(w.bundle(), "a: "+strings.Repeat("語", 90), "b: "+strings.Repeat("b", 90), "c: "+strings.Repeat("c", 5), "d: "+strings.Repeat("d", 90))
	limit := frame + len(shortened) + len("- a- b- c- d") + 4*2 + 5 + 3*10
	c := counted(t, letters{}, w.snapshot(), catalog.Budget{Limit: limit + 2})
	same(t, "two more", c.Stable.Text, block(shortened, "- a: "+strings.Repeat("語", 11), "- b: "+strings.Repeat("b", 11), "- c: ccccc", "- d: "+strings.Repeat("d", 10)))
}

func TestC19ForwardScanEightMisses(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.described(w.bundle(), "a: "+strings.Repeat("x", 100))
	for misses, want := range map[int]int{7: 30, 8: 20} {
		// Lengths up to 20 fit; so do 28 to 30, or 29 to 30, behind the misses.
		by := letters{func(text string) (int, bool) {
			n := strings.Count(text, "x")
			switch {
			case n == 0 || strings.Contains(text, "<available"):
				return 0, n > 0
			case n <= 20 || n > 20+misses && n <= 30:
				return 1, true
			}
			return 10_000, true
		}}
		c := counted(t, by, w.snapshot(), catalog.Budget{Limit: 1000})
		same(t, fmt.Sprint(misses), strings.Count(c.Stable.Text, "x"), want)
	}
}

func TestC20FloorFallback(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.described(w.bundle(), "a: "+strings.Repeat("x", 500), "mcode-tools-master: Whole.")
	for dear, want := range map[string]string{
		shortened: block("- mcode-tools-master: Whole.", "- a: "+strings.Repeat("x", 300-len("- mcode-tools-master: Whole.- a: ")-frame)),
		"x":       block("- mcode-tools-master: Whole.", "- a"),
	} {
		by := letters{func(text string) (int, bool) { // a whole block costs more than its lines
			return 10_000, strings.Contains(text, "</available_skills>") && strings.Contains(text, dear) && strings.Contains(text, "- a")
		}}
		c := counted(t, by, w.snapshot(), catalog.Budget{Limit: 300})
		same(t, dear, c.Stable.Text, want)
		same(t, "soft", c.Report.SoftOverflow, true)
	}
}

// many is a world of ten skills with names of one letter, the protected one in full.
func many(t *testing.T) *registry.Snapshot {
	w := newWorld(t)
	for _, name := range strings.Split("abcdefghi", "") {
		w.described(w.global(), name+": Does "+name+".")
	}
	w.described(w.global(), "mcode-tools-master: Whole.")
	return w.snapshot()
}

const protected = "- mcode-tools-master: Whole."

func TestC21HardOverflow(t *testing.T) {
	t.Parallel()
	c := counted(t, letters{}, many(t), catalog.Budget{Limit: frame + len(protected) + 3*4})
	same(t, "prefix", c.Stable.Text, block(protected, "- a", "- b", "- c", "- d"))
	same(t, "flags", fmt.Sprint(c.Report.HardOverflow, c.Report.SoftOverflow, c.Report.Omitted), "true false 5")
}

func TestC22OmissionNoticeCostsNothing(t *testing.T) {
	t.Parallel()
	s := many(t)
	// With room for the notice and all but one name, the notice would cost names.
	c := counted(t, letters{}, s, catalog.Budget{Limit: frame + len(protected) + 8*3})
	same(t, "dropped", strings.Contains(c.Stable.Text, omitted), false)
	same(t, "listed", c.Report.Shown, 9)
	// A name that fits neither way leaves the room to the notice.
	w := newWorld(t)
	w.described(w.global(), "a: ", "b"+strings.Repeat("b", 200)+": ")
	c = counted(t, letters{}, w.snapshot(), catalog.Budget{Limit: frame + len("- a") + len(omitted)})
	same(t, "kept", c.Stable.Text, block(omitted, "- a"))
}

func TestC23WrapperTooBig(t *testing.T) {
	t.Parallel()
	c := listed(t, many(t), catalog.Budget{Limit: 1})
	same(t, "block", c.Stable.Text, "")
	same(t, "hard", c.Report.HardOverflow, true)
}

func TestC24LateNamesDropped(t *testing.T) {
	t.Parallel()
	s := many(t)
	before := 0
	for limit := frame; limit < frame+len(protected)+9*3; limit++ {
		c := counted(t, letters{}, s, catalog.Budget{Limit: limit})
		var gone []string
		for _, e := range c.Entries() {
			if e.State == catalog.Omitted {
				gone = append(gone, e.Name)
			}
		}
		if want := strings.Split("abcdefghi", "")[9-min(9, len(gone)):]; len(gone) < 10 && !slices.Equal(gone, want) || c.Report.Shown < before {
			t.Errorf("%d: %v is gone", limit, gone)
		}
		before = c.Report.Shown
	}
	same(t, "at the end", before, 9)
}

func TestC25FlagsReported(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.described(w.global(), "a: "+strings.Repeat("x", 1025))
	for limit, want := range map[int]string{5000: "false false true", frame + 100: "true false true", frame + 2: "false true true"} {
		rep := counted(t, letters{}, w.snapshot(), catalog.Budget{Limit: limit}).Report
		same(t, fmt.Sprint(limit), fmt.Sprint(rep.SoftOverflow, rep.HardOverflow, rep.CapTruncated), want)
	}
}

func TestC26CutMidWordNoEllipsis(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.described(w.global(), "a: Extraordinarily "+strings.Repeat("long ", 100))
	c := counted(t, letters{}, w.snapshot(), catalog.Budget{Limit: frame + len(shortened) + len("- a: Extraord")})
	same(t, "cut", c.Stable.Text, block(shortened, "- a: Extraord"))
}

func TestC27LastLayerOfThePrompt(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.described(w.global(), "a: Does a.")
	e := suitetest.Engine(t, deft.Options{Workspace: w.ws, Home: w.home, Environ: []string{"MINIMAX_DATA_DIR=" + w.data}, Dialect: skill.MiniMax, Project: registry.ProjectAlways})
	s, err := e.NewSession(t.Context(), deft.SessionOptions{Project: "Remember the milk."})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	plan, err := s.Plan(t.Context(), deft.Input{Text: "do a"})
	if err != nil {
		t.Fatal(err)
	}
	last := plan.Blocks[len(plan.Blocks)-1]
	same(t, "blocks", fmt.Sprintln(len(plan.Blocks) > 2, last.Name, last.Stable), "true catalog true\n")
	if !strings.HasPrefix(last.Text, "<available_skills>\n") || !strings.Contains(last.Text, "- a: Does a.") {
		t.Errorf("catalog %q", last.Text)
	}
}

func TestC28ProtectedByNameOnly(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.described(w.global(), "a: Does a.", "mcode-tools-master: "+strings.Repeat("x", 1100))
	same(t, "block", listed(t, w.snapshot(), catalog.Budget{}).Stable.Text, block("- mcode-tools-master: "+strings.Repeat("x", 1100), "- a: Does a."))
}

// deft shortens all descriptions alike, wherever a skill comes from, marks each cut,
// and says how many are shortened.
func TestC17BuiltinsBeforeOthersDeft(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.described(w.bundle(), "init: "+strings.Repeat("i", 100))
	w.described(w.global(), "mine: "+strings.Repeat("m", 100))
	c, err := catalog.New(catalog.Config{}).Render(context.Background(), catalog.Input{Snapshot: w.snapshot(), Budget: catalog.Budget{Limit: 190, Unit: catalog.Chars}})
	if err != nil {
		t.Fatal(err)
	}
	shown, err := catalog.Parse(skill.Deft, catalog.List, c.Stable.Text)
	if err != nil || !strings.HasPrefix(c.Stable.Text, "<available_skills>\nNote: 2 of 2 skill descriptions are shortened.\n") {
		t.Fatalf("%v: %s", err, c.Stable.Text)
	}
	for _, s := range shown {
		if n := len([]rune(s.Description)); n < 40 || n > 60 || !strings.HasSuffix(s.Description, "…") {
			t.Errorf("%+v", s)
		}
	}
}

func same(t *testing.T, what string, got, want any) {
	t.Helper()
	if got != want {
		t.Errorf("%s: %v, want %v", what, got, want)
	}
}
