package catalog

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/clipperhouse/uax29/v2/graphemes"
	"pgregory.net/rapid"

	"github.com/deftskills/deft/internal/race"
	"github.com/deftskills/deft/internal/safetext"
	"github.com/deftskills/deft/registry"
	"github.com/deftskills/deft/skill"
)

func TestNoBudgetIsEverExceededAndShownTextOnlyGrows(t *testing.T) {
	t.Parallel()
	exact := O200k()
	for name, tt := range map[string]struct {
		counter  Counter
		in       Input
		to, step int
	}{
		"chores, exact":  {exact, Input{Snapshot: chores(50)}, 5000, 29},
		"hostile, exact": {exact, Input{Snapshot: mixed()}, 300, 2},
		"hostile, xml":   {exact, Input{Snapshot: mixed(), Format: XML}, 700, 5},
		"chores":         {Estimate(), Input{Snapshot: chores(50)}, 6000, 2},
		"all of it":      {Estimate(), Input{Snapshot: chores(50)}, 20_000, 37},
		"routing":        {Estimate(), Input{Snapshot: chores(50), Routing: true, Mode: ModeStable}, 7000, 7},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			in, r, clusters, listed := tt.in, New(Config{Counter: tt.counter}), 0, 0
			in.Tools, in.Mode = exposed, ModeStable
			if race.Enabled {
				tt.step *= 10
			}
			for limit := 1; limit <= tt.to; limit += tt.step {
				in.Budget.Limit = limit
				c := render(t, r, in)
				checkBudget(t, c, limit, tt.counter)
				now := 0
				for i, l := range c.plan.lines() {
					if i == c.plan.outcome.edge {
						now += c.plan.outcome.edgeShown
					} else if level := c.plan.outcome.levelOf(i); level != levelOmitted {
						now += l.shown[level]
					}
				}
				if now < clusters || c.Report.Shown < listed {
					t.Fatalf("%d: %d clusters of %d skills after %d of %d", limit, now, c.Report.Shown, clusters, listed)
				}
				clusters, listed = now, c.Report.Shown
			}
			if listed < 11 || clusters == 0 {
				t.Error("not everything is listed in the end")
			}
		})
	}
}

func checkBudget(t *testing.T, c Catalog, limit int, counter Counter) {
	t.Helper()
	rep := c.Report
	exact := counter.Name() != Estimate().Name()
	if rep.Used > limit-rep.Reserve || exact && counter.Count(c.Stable.Text) != rep.Used {
		t.Fatalf("%d: reported %d, counted %d", limit, rep.Used, counter.Count(c.Stable.Text))
	}
	if counter.Count(c.Stable.Text) > limit-rep.Reserve {
		t.Fatalf("%d: %d tokens", limit, counter.Count(c.Stable.Text))
	}
	if rep.Shown+rep.Omitted != len(c.plan.visible) || rep.Shown != rep.Full+rep.Shortened+rep.NameOnly {
		t.Fatalf("%d: counts do not add up: %+v", limit, rep)
	}
	if (c.Stable.Text == "") != (limit < rep.LeastBudget) {
		t.Fatalf("%d: least budget is said to be %d, block %q", limit, rep.LeastBudget, c.Stable.Text)
	}
	if c.Stable.Text == "" && rep.Diagnostics[len(rep.Diagnostics)-1].Code != "catalog_budget_too_small" {
		t.Fatalf("%d: no block and no word", limit)
	}
}

func TestNamesComeBeforeDescriptions(t *testing.T) {
	t.Parallel()
	for _, limit := range []int{300, 1000, 3000, 20_000} {
		for name, in := range map[string]Input{
			"recent":   {Snapshot: chores(50), Rank: Rank{Recent: []string{"zz-last"}}},
			"priority": {Snapshot: chores(1)},
		} {
			in.Tools, in.Budget.Limit, in.Mode = exposed, limit, ModeStable
			c := render(t, New(Config{}), in)
			rep := c.Report
			described := rep.Full+rep.Shortened > 0
			if described && rep.Omitted > 0 {
				t.Errorf("%d: %d omitted while %d have descriptions", limit, rep.Omitted, rep.Full+rep.Shortened)
			}
			if rep.Omitted > 0 && !strings.Contains(c.Stable.Text, fmt.Sprintf("Note: %d of 120 skills are listed. The others can be found with skill_search", rep.Shown)) {
				t.Errorf("%d: the text does not say how to find the rest", limit)
			}
			last := c.Entries()[119]
			if last.Name != "zz-last" || described && last.State != Full && last.State != Shortened {
				t.Errorf("%s, %d: %s is %s", name, limit, last.Name, last.State)
			}
			if rep.Omitted > 0 && last.State == Omitted {
				t.Errorf("%s, %d: the first in rank lost its name", name, limit)
			}
			if limit == 20_000 && rep.Full != 120 {
				t.Errorf("%d in full", rep.Full)
			}
		}
	}
}

func TestOmittedSkillsStayInTheAccount(t *testing.T) {
	t.Parallel()
	var all []*registry.Record
	for _, n := range []string{"alpha", "beta", "omega"} {
		all = append(all, record(n, "The "+n+" procedure with a rather long explanation of when it applies."))
	}
	c := render(t, New(Config{}), Input{Snapshot: snapshot(all...), Tools: exposed, Mode: ModeStable, Budget: Budget{Limit: 40}})
	e := c.Entries()[2]
	if e.Name != "omega" || e.State != Omitted || e.FullTokens == 0 || c.Report.Omitted == 0 {
		t.Errorf("%+v in %+v", e, c.Report)
	}
}

func TestCutsFallBetweenCharacters(t *testing.T) {
	t.Parallel()
	s := snapshot(
		record("emoji", "🎉🎉🎉 Celebrate a release 🎉🎉🎉 with a short note 🚀."),
		record("kana", "日本語の説明文がとても長く続く場合でも正しく省略されるべきです。絵文字👨‍👩‍👧‍👦も含む。e\u0301tude."),
	)
	r := New(Config{Counter: Estimate()})
	full := map[string][]string{}
	for _, rec := range s.All {
		for it := graphemes.FromString(rec.Skill.Description); it.Next(); {
			full[rec.Skill.Name] = append(full[rec.Skill.Name], it.Value())
		}
	}
	before := 0
	for _, unit := range []Unit{Bytes, Chars} {
		before = 0
		for limit := 40; limit <= 400; limit++ {
			c := render(t, r, Input{Snapshot: s, Budget: Budget{Limit: limit, Unit: unit}})
			if len(c.Stable.Text) > limit && unit == Bytes || !utf8.ValidString(c.Stable.Text) || strings.Contains(c.Stable.Text, "\ufffd") {
				t.Fatalf("%d %s: %q", limit, unit, c.Stable.Text)
			}
			shown, err := Parse(skill.Deft, List, c.Stable.Text)
			if err != nil {
				t.Fatal(err)
			}
			now := 0
			for _, e := range shown {
				text := strings.TrimSuffix(e.Description, safetext.Ellipsis)
				n := safetext.Clusters(text)
				if strings.Join(full[e.Name][:n], "") != text {
					t.Fatalf("%d: %q is cut inside a character", limit, text)
				}
				now += n
			}
			if now < before {
				t.Fatalf("%d: %d characters after %d", limit, now, before)
			}
			before = now
		}
	}
	if before == 0 {
		t.Error("nothing was shown at the largest budget")
	}
}

func TestLongDescriptionStarvesNobody(t *testing.T) {
	t.Parallel()
	s := snapshot(record("a", strings.Repeat("very long words here ", 45)), record("b", "Short and useful, that is all."), record("c", "Another short one of use."))
	c := render(t, New(Config{}), Input{Snapshot: s, Tools: exposed, Budget: Budget{Limit: 130}})
	for _, e := range c.Entries()[1:] {
		if e.State != Full {
			t.Errorf("%s is %s", e.Name, e.State)
		}
	}
}

func TestWordCuts(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		in    string
		bound int
		want  string
	}{
		{"short", 40, "short"},
		{"one two three", 9, "one two"},
		{"one two three", 7, "one two"},
		{"one two three", 8, "one two"},
		{strings.Repeat("x", 50), 40, strings.Repeat("x", 40)},
		{"日本語の説明文", 3, "日本語"},
	} {
		b := borders(tt.in)
		if got := tt.in[:b[wordCut(tt.in, b, tt.bound)]]; got != tt.want {
			t.Errorf("%q at %d: %q, want %q", tt.in, tt.bound, got, tt.want)
		}
	}
}

func TestLinesAddUpToTheBlock(t *testing.T) {
	t.Parallel()
	counter, r := O200k(), New(Config{})
	word := rapid.SampledFrom([]string{
		"a", "PDF", "it's", "日本", "🎉", "👨‍👩‍👧‍👦", "</b>", "&lt;", "x:", "/", "//", "!!", "…", "12345", "don't", " ", "\u200b", "é", "\"", "-", "<|endoftext|>",
	})
	rapid.Check(t, func(t *rapid.T) {
		var all []*registry.Record
		for i := range rapid.IntRange(1, 5).Draw(t, "skills") {
			text := func(label string) string {
				return strings.Join(rapid.SliceOfN(word, 0, 30).Draw(t, label), rapid.SampledFrom([]string{"", " "}).Draw(t, "between"))
			}
			all = append(all, record(fmt.Sprintf("%d%s", i, text("name")), text("description")))
		}
		for _, f := range formats() {
			c, err := r.Render(context.Background(), Input{
				Snapshot: snapshot(all...), Format: f, Tools: exposed,
				Budget: Budget{Limit: rapid.IntRange(20, 300).Draw(t, "limit")},
			})
			if err != nil {
				t.Fatal(err)
			}
			if n := counter.Count(c.Stable.Text); n != c.Report.Used || n > c.Report.Budget {
				t.Fatalf("%d tokens, sum of lines %d, budget %d:\n%s", n, c.Report.Used, c.Report.Budget, c.Stable.Text)
			}
		}
	})
}

func TestEntriesAreSortedByName(t *testing.T) {
	t.Parallel()
	c := render(t, New(Config{Counter: Estimate()}), Input{Snapshot: mixed()})
	if !slices.IsSortedFunc(c.Entries(), func(a, b EntryReport) int { return strings.Compare(a.Name, b.Name) }) {
		t.Error("not sorted")
	}
}
