package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	engine "github.com/deftskills/deft"
	"github.com/deftskills/deft/catalog"
	"github.com/deftskills/deft/internal/cli"
	"github.com/deftskills/deft/internal/race"
	"github.com/deftskills/deft/skill"
)

// corpus unpacks the real skills and returns the path form that finds them.
func corpus(t *testing.T) string {
	t.Helper()
	data := os.Getenv("DEFT_TESTDATA")
	if data == "" {
		t.Skip("DEFT_TESTDATA is not set: the corpus is not there")
	}
	if race.Enabled {
		t.Skip("one goroutine computes here: the ordinary run is enough")
	}
	dir := t.TempDir()
	unpack(t, filepath.Join(data, "corpus", "skills-dev.tar.gz"), dir)
	return dir + "/**/SKILL.md"
}

var windows = []int{4000, 6000, 10_000, 16_000, 32_000, 64_000, 100_000, 128_000, 200_000, 400_000, 1_000_000}

// Over thousands of real skills no window's budget is exceeded, no description is shown
// while a name is missing, the model and the person read the same n of m, and every
// entry reads back.
func TestTheCorpusFitsEveryWindow(t *testing.T) {
	t.Parallel()
	e, err := engine.Open(t.Context(), engine.Options{
		Workspace: t.TempDir(), Home: t.TempDir(), OnlySources: true, NoBuiltin: true, Sources: []string{corpus(t)},
	})
	if err != nil {
		t.Fatal(err)
	}
	defer e.Close()
	counter := catalog.O200k()
	for _, format := range []catalog.Format{catalog.List, catalog.XML, catalog.JSON, catalog.Markdown, catalog.Codex, catalog.Minara} {
		for i, window := range windows {
			if format != catalog.List && i%4 != 0 {
				continue
			}
			c, err := e.Catalog(t.Context(), engine.CatalogOptions{Format: format, Mode: catalog.ModeStable, Window: window})
			if err != nil {
				t.Fatal(err)
			}
			rep, what := c.Report, fmt.Sprintf("%s at %d", format, window)
			if rep.Budget != min(window/50, 5000) || rep.Used > rep.Budget-rep.Reserve || counter.Count(c.Stable.Text) != rep.Used {
				t.Errorf("%s: %d tokens, reported %d of %d", what, counter.Count(c.Stable.Text), rep.Used, rep.Budget)
			}
			if rep.Omitted > 0 && rep.Shortened > 0 {
				t.Errorf("%s: %d descriptions while %d names are missing", what, rep.Shortened, rep.Omitted)
			}
			note := fmt.Sprintf("Note: %d of %d skills are listed.", rep.Shown, rep.Shown+rep.Omitted)
			if rep.Omitted == 0 && rep.Full < rep.Shown {
				note = fmt.Sprintf("Note: %d of %d skill descriptions are shortened.", rep.Shown-rep.Full, rep.Shown)
			}
			if rep.Shown+rep.Omitted < 2000 || c.Stable.Text != "" && !strings.Contains(c.Stable.Text, note) {
				t.Errorf("%s: the model is not told %q", what, note)
			}
			shown, err := catalog.Parse(skill.Deft, format, c.Stable.Text)
			if err != nil || len(shown) != rep.Shown {
				t.Errorf("%s: %d of %d entries read back: %v", what, len(shown), rep.Shown, err)
			}
			if format != catalog.List {
				continue
			}
			asked, err := e.Catalog(t.Context(), engine.CatalogOptions{
				Format: format, Mode: catalog.ModeStable, Window: window, For: &engine.Request{Text: "turn a table into a chart"},
			})
			if rep := asked.Report; err != nil || rep.Used+rep.Tail > rep.Budget || rep.Tail > rep.Reserve {
				t.Errorf("%s: with a request %+v: %v", what, rep, err)
			}
		}
	}
}

// A conversation's turns begin with the same bytes, whatever they ask.
func TestTurnsOverTheCorpusBeginWithTheSameBytes(t *testing.T) {
	t.Parallel()
	e, err := engine.Open(t.Context(), engine.Options{
		Workspace: t.TempDir(), Home: t.TempDir(), OnlySources: true, Sources: []string{corpus(t)},
		Budget: catalog.Budget{Limit: 30_000}, CatalogMode: catalog.ModeStable,
	})
	if err != nil {
		t.Fatal(err)
	}
	defer e.Close()
	s, err := e.NewSession(t.Context(), engine.SessionOptions{})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	prefix, tails := "", map[string]bool{}
	for _, text := range []string{"turn a table into a chart", "review my pull request", "把这份合同翻译成英文", "zzz", "turn a table into a chart"} {
		p, err := s.Plan(t.Context(), engine.Input{Text: text})
		if err != nil {
			t.Fatal(err)
		}
		c := p.Plan.Catalog
		if prefix == "" {
			prefix = c.Prefix()
		}
		if tails[c.Tail.Text] = true; c.Prefix() != prefix || c.Report.Omitted > 0 || c.Report.Full == c.Report.Shown {
			t.Errorf("%q: other bytes, or a budget that cuts nothing: %+v", text, c.Report)
		}
	}
	if len(tails) < 4 {
		t.Errorf("%d different tails", len(tails))
	}
}

// The program says the same, and prints exactly what a turn of the loop sends.
func TestTheProgramPrintsWhatTheLoopSends(t *testing.T) {
	t.Parallel()
	source, home := corpus(t), t.TempDir()
	run := func(args ...string) []byte {
		var out, errText bytes.Buffer
		exit := cli.Run(t.Context(), cli.Process{
			Args: append(args, "--only-sources", "--source", source), Environ: []string{"HOME=" + home}, Dir: home, GOOS: runtime.GOOS,
			Stdin: strings.NewReader(""), Stdout: &out, Stderr: &errText, Now: time.Now,
		})
		if exit != cli.Done {
			t.Fatalf("exit %d: %s", exit, errText.String())
		}
		return out.Bytes()
	}
	var doc struct {
		Text, Mode    string
		Budget, Shown int
		Omitted       []string
	}
	if err := json.Unmarshal(run("catalog", "--window", "200000", "--json"), &doc); err != nil {
		t.Fatal(err)
	}
	total := doc.Shown + len(doc.Omitted)
	if doc.Mode != "routed" || doc.Budget != 4000 || doc.Text != fmt.Sprintf(`<available_skills total="%d" />`, total) {
		t.Errorf("%+v", doc)
	}
	table, _, _ := strings.Cut(string(run("catalog", "--window", "8000", "--mode", "stable")), "\n")
	if !strings.Contains(table, fmt.Sprintf("of %d full", total)) || !strings.Contains(table, "of 160 tokens (o200k_base)") {
		t.Errorf("table starts %q", table)
	}
	const request = "make a changelog from the commits since the last release"
	e, err := engine.Open(t.Context(), engine.Options{Workspace: home, Home: home, OnlySources: true, Sources: []string{source}, NoBuiltin: false})
	if err != nil {
		t.Fatal(err)
	}
	defer e.Close()
	s, err := e.NewSession(t.Context(), engine.SessionOptions{})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	plan, err := s.Plan(t.Context(), engine.Input{Text: request})
	if err != nil {
		t.Fatal(err)
	}
	sent := ""
	for _, b := range plan.Blocks {
		if b.Name == "catalog" {
			sent = b.Text
		}
		if b.Name == "routed" {
			sent += "\n\n" + b.Text
		}
	}
	if printed := string(run("catalog", "--text", "--for", request)); printed != sent {
		t.Errorf("printed\n%s\nsent\n%s", printed, sent)
	}
}
