package minara

import (
	"encoding/json"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/deftskills/deft/install"
	"github.com/deftskills/deft/install/fetch"
	"github.com/deftskills/deft/install/licence"
	"github.com/deftskills/deft/internal/suitetest"
	"github.com/deftskills/deft/skill"
	"github.com/deftskills/deft/store/blobs"
)

// place is a data directory into which packages of a repository are added.
type place struct {
	t     *testing.T
	scope install.Scope
	repo  string
	git   *fetch.Git
}

const mit = "Permission is hereby granted, free of charge, to any person obtaining a copy of this software and associated documentation files (the \"Software\"), to deal in the Software without restriction, including without limitation the rights to use, copy, modify, merge, publish, distribute, sublicense, and/or sell copies of the Software, and to permit persons to whom the Software is furnished to do so, subject to the following conditions:\n\nThe above copyright notice and this permission notice shall be included in all copies or substantial portions of the Software.\n\nTHE SOFTWARE IS PROVIDED \"AS IS\", WITHOUT WARRANTY OF ANY KIND, EXPRESS OR IMPLIED, INCLUDING BUT NOT LIMITED TO THE WARRANTIES OF MERCHANTABILITY, FITNESS FOR A PARTICULAR PURPOSE AND NONINFRINGEMENT. IN NO EVENT SHALL THE AUTHORS OR COPYRIGHT HOLDERS BE LIABLE FOR ANY CLAIM, DAMAGES OR OTHER LIABILITY, WHETHER IN AN ACTION OF CONTRACT, TORT OR OTHERWISE, ARISING FROM, OUT OF OR IN CONNECTION WITH THE SOFTWARE OR THE USE OR OTHER DEALINGS IN THE SOFTWARE.\n"

const closedText = "Copyright 2026 A Vendor. All rights reserved. You may not retain copies of these materials.\n"

func packageOf(id, more string) string {
	return "---\nname: " + strings.ReplaceAll(id, ".", "-") + "\ndescription: Watches a market when asked.\n" + more + "metadata:\n  minara:\n    id: " + id +
		"\n    tool_names: [get_price]\n    routing:\n      keywords: [orchid]\n---\nCall get_price.\n"
}

// newPlace makes a git repository of files.
func newPlace(t *testing.T, files skills) *place {
	t.Helper()
	git, err := exec.LookPath("git")
	if err != nil {
		t.Fatal("git is needed: ", err)
	}
	p := &place{t: t, scope: install.External(t.TempDir()), repo: folder(t, files)}
	p.git = &fetch.Git{Program: git, Env: func(name string) string { return map[string]string{"PATH": os.Getenv("PATH")}[name] }, Temp: t.TempDir()}
	for _, args := range [][]string{{"init", "-q", "-b", "main"}, {"add", "-A"}, {"-c", "user.name=t", "-c", "user.email=t@example.org", "commit", "-qm", "one"}} {
		cmd := exec.Command(git, append([]string{"-C", p.repo}, args...)...)
		cmd.Env = append(os.Environ(), "GIT_CONFIG_GLOBAL="+os.DevNull)
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("%s", out)
		}
	}
	return p
}

// add adds every package of the repository and returns what became of each, by its id.
func (p *place) add(unlicensed bool) map[string]string {
	p.t.Helper()
	i := install.New(install.Options{
		Blobs: blobs.NewMemory(), Trees: blobs.Trees{Path: p.t.TempDir()}, State: p.t.TempDir(), Program: "test", EnforceLocal: true,
	})
	f, err := (&install.Fetcher{Git: p.git}).Fetch(p.t.Context(), install.SourceRef{Kind: install.Local, URL: p.repo, Ref: "main"})
	if err != nil {
		p.t.Fatal(err)
	}
	packs, err := install.Find(p.t.Context(), f, install.FindOptions{})
	if err != nil {
		p.t.Fatal(err)
	}
	plan, err := i.Plan(p.t.Context(), f, packs, install.Choice{Scope: p.scope, Unlicensed: unlicensed})
	if err != nil {
		p.t.Fatal(err)
	}
	done, err := i.Apply(p.t.Context(), plan, install.Answers{})
	if err != nil {
		p.t.Fatal(err)
	}
	out := map[string]string{}
	for _, d := range done {
		out[d.Name] = "added"
		if d.Refused != nil {
			out[d.Name] = d.Refused.Code
		}
	}
	return out
}

func (p *place) left() int {
	p.t.Helper()
	entries, _ := os.ReadDir(p.scope.Skills)
	return len(entries)
}

func TestMinara_EX01_AddedBelowItsID(t *testing.T) {
	t.Parallel()
	p := newPlace(t, skills{"market": packageOf("market.watch", ""), "LICENSE.txt": mit})
	want(t, "added", p.add(false), map[string]string{"market.watch": "added"})
	src, err := os.ReadFile(filepath.Join(p.scope.Skills, "market.watch", ".minara-skill.json"))
	if err != nil {
		t.Fatal(err)
	}
	var record map[string]string
	if err := json.Unmarshal(src, &record); err != nil {
		t.Fatal(err)
	}
	want(t, "record", []any{record["license"], record["subpath"], len(record["commit"]), record["sha256"] != ""}, []any{"MIT", "market", 40, true})
}

func TestMinara_EX02_PermissiveIsRecorded(t *testing.T) {
	t.Parallel()
	p := newPlace(t, skills{"market": packageOf("market.watch", "license: MIT\n")})
	want(t, "added", p.add(false), map[string]string{"market.watch": "added"})
	got, err := install.ReadProvenance(filepath.Join(p.scope.Skills, "market.watch"))
	want(t, "spdx", []any{got.Licence.SPDX, got.Licence.Decision, err}, []any{"MIT", licence.Allow, nil})
}

func TestMinara_EX03_ProprietaryTextIsRefused(t *testing.T) {
	t.Parallel()
	p := newPlace(t, skills{"market": packageOf("market.watch", ""), "market/LICENSE.txt": closedText})
	want(t, "refused", p.add(true), map[string]string{"market.watch": "licence_refused"})
	want(t, "left", p.left(), 0)
}

func TestMinara_EX04_PointerToProprietaryIsRefused(t *testing.T) {
	t.Parallel()
	for _, files := range []skills{
		{"market": packageOf("market.watch", "license: Proprietary. LICENSE.txt has complete terms\n"), "market/LICENSE.txt": closedText},
		{"market": packageOf("market.watch", "license: Proprietary. LICENSE.txt has complete terms\n")},
	} {
		p := newPlace(t, files)
		want(t, "refused", p.add(true), map[string]string{"market.watch": "licence_refused"})
		want(t, "left", p.left(), 0)
	}
}

func TestMinara_EX05_OneOfTheRepositoryIsRefused(t *testing.T) {
	t.Parallel()
	p := newPlace(t, skills{
		"LICENSE.txt": mit, "a": packageOf("market.a", ""), "b": packageOf("market.b", ""), "b/LICENSE.txt": closedText,
	})
	want(t, "each", p.add(false), map[string]string{"market.a": "added", "market.b": "licence_refused"})
	want(t, "left", p.left(), 1)
}

func TestMinara_EX06_NoLicenceNeedsAWord(t *testing.T) {
	t.Parallel()
	p := newPlace(t, skills{"market": packageOf("market.watch", "")})
	want(t, "without", p.add(false), map[string]string{"market.watch": "licence_none"})
	want(t, "with", p.add(true), map[string]string{"market.watch": "added"})
}

func TestMinara_EX07_AnExistingRecordIsRead(t *testing.T) {
	t.Parallel()
	dir := folder(t, skills{
		"market/.minara-skill.json": `{"url":"https://example.org/r.git","ref":"main","commit":"` + strings.Repeat("a", 40) + `","subpath":"market","license":"MIT","sha256":"x"}`,
	})
	got, err := install.ReadProvenance(filepath.Join(dir, "market"))
	if err != nil {
		t.Fatal(err)
	}
	want(t, "record", got.Source, install.Origin{Type: install.Git, URL: "https://example.org/r.git", Ref: "main", Commit: strings.Repeat("a", 40), Subpath: "market"})
	want(t, "licence", got.Licence.SPDX, "MIT")
}

// added returns the folder of packages after adding one.
func added(t *testing.T, more string) *place {
	t.Helper()
	p := newPlace(t, skills{"market": packageOf("market.watch", "license: MIT\n"+more)})
	want(t, "added", p.add(false), map[string]string{"market.watch": "added"})
	return p
}

func TestMinara_EX08_RoutesAndActivatesLikeABuiltin(t *testing.T) {
	t.Parallel()
	e := engine(t, added(t, "").scope.Skills)
	res := routed(t, e, "an orchid")
	want(t, "first", []any{res.Hits[0].ID, res.Hits[0].Score}, []any{skill.ID("market.watch"), 30})
	turn := suitetest.Turn(t, e, "hello")
	text, prompt := activate(t, turn, "market.watch")
	want(t, "text", strings.Contains(text+prompt, "Call get_price."), true)
}

// decisions are what the gate says of a call of each tool of the host.
func (c *chat) decisions() (out []string) {
	for _, tool := range []string{"get_price", "far_trade", "place_order"} {
		c.call(tool, "{}")
		out = append(out, c.last())
	}
	return out
}

func TestMinara_EX09_ItsToolsMeetTheSameGate(t *testing.T) {
	t.Parallel()
	p := newPlace(t, skills{"market": strings.Replace(packageOf("market.watch", "license: MIT\n"), "[get_price]", "[get_price, far_trade, place_order]", 1)})
	want(t, "added", p.add(false), map[string]string{"market.watch": "added"})
	c := chatOver(t, p.scope.Skills)
	without := c.decisions()
	c.set("market.watch")
	want(t, "active", c.active(), []string{"market-watch"})
	want(t, "with", c.decisions(), without)
	want(t, "decisions", without, []string{
		"get_price READ_ONLY allow read_only", "far_trade ALWAYS_CONFIRM deny no_answerer", "place_order MANUAL_ONLY deny no_answerer",
	})
}

func TestMinara_EX10_AnAbsentToolRemovesIt(t *testing.T) {
	t.Parallel()
	p := newPlace(t, skills{"market": strings.Replace(packageOf("market.watch", "license: MIT\n"), "    tool_names:", "    conditions: {requires_tools: [glassnode_metric]}\n    tool_names:", 1)})
	want(t, "added", p.add(false), map[string]string{"market.watch": "added"})
	res := routed(t, engine(t, p.scope.Skills), "an orchid")
	want(t, "hits", len(res.Hits), 0)
	want(t, "market-watch", at(res, "market-watch"), "removed: requires_tools glassnode_metric")
}

func TestMinara_EX11_NoToolOrTierOfItsOwn(t *testing.T) {
	t.Parallel()
	p := newPlace(t, skills{"market": strings.Replace(packageOf("market.watch", "license: MIT\npermission_tier: READ_ONLY\nallowed-tools: place_order made_up\n"), "[get_price]", "[place_order, made_up]", 1)})
	want(t, "added", p.add(false), map[string]string{"market.watch": "added"})
	c := chatOver(t, p.scope.Skills)
	before := slices.Sorted(maps.Keys(c.shown()))
	c.set("market.watch")
	want(t, "active", c.active(), []string{"market-watch"})
	want(t, "shown", slices.Sorted(maps.Keys(c.shown())), before)
	c.call("made_up", "{}")
	want(t, "made_up", c.last(), "made_up MANUAL_ONLY deny unknown_tool")
	// The tier that it wrote for itself is told as a mistake and means nothing.
	c.call("place_order", "{}")
	want(t, "place_order", c.last(), "place_order MANUAL_ONLY deny no_answerer")
}

func TestMinara_EX12_AddingRunsNothing(t *testing.T) {
	t.Parallel()
	mark := filepath.Join(t.TempDir(), "ran")
	p := newPlace(t, skills{
		"market": packageOf("market.watch", "license: MIT\n"), "market/install.sh": "#!/bin/sh\ntouch " + mark + "\n",
		"package.json": `{"scripts":{"postinstall":"touch ` + mark + `"}}`,
	})
	for _, hook := range []string{"post-checkout", "post-merge", "reference-transaction"} {
		if err := os.WriteFile(filepath.Join(p.repo, ".git", "hooks", hook), []byte("#!/bin/sh\ntouch "+mark+"\n"), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	want(t, "added", p.add(false), map[string]string{"market.watch": "added"})
	if _, err := os.Stat(mark); !os.IsNotExist(err) {
		t.Errorf("something of the package ran: %v", err)
	}
}
