package catalog

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/deftskills/deft/builtin"
	"github.com/deftskills/deft/internal/casetest"
	"github.com/deftskills/deft/registry"
	"github.com/deftskills/deft/skill"
	"github.com/deftskills/deft/source"
)

// discover takes a snapshot of one folder of skills.
func discover(t *testing.T, dir string) *registry.Snapshot {
	t.Helper()
	src := source.Dir(dir, source.DirOptions{Info: source.Info{Kind: source.User}})
	reg, err := registry.Open(context.Background(), registry.Config{Sources: []source.Source{src}})
	if err != nil {
		t.Fatal(err)
	}
	s := reg.Snapshot()
	if len(s.All) == 0 {
		t.Fatalf("no skill below %s", dir)
	}
	return s
}

func TestCase019NoCutInsideACharacter(t *testing.T) {
	t.Parallel()
	s := discover(t, casetest.Open(t, "019").Path("project", ".agents", "skills"))
	r, before := New(Config{}), 0
	for limit := 40; limit <= 400; limit++ {
		c := render(t, r, Input{Snapshot: s, Budget: Budget{Limit: limit, Unit: Bytes}})
		now := 0
		for _, e := range c.Entries() {
			now += e.ShownClusters
		}
		if len(c.Stable.Text) > limit || strings.ToValidUTF8(c.Stable.Text, "\ufffd") != c.Stable.Text || strings.Contains(c.Stable.Text, "\u200d…") || now < before {
			t.Fatalf("%d bytes: %d characters after %d in %q", limit, now, before, c.Stable.Text)
		}
		before = now
	}
}

func TestCase034And035ManySkillsSmallBudget(t *testing.T) {
	t.Parallel()
	s := discover(t, casetest.Open(t, "034").Path("home", ".agents", "skills"))
	r := New(Config{})
	for _, limit := range []int{300, 1000, 3000, 20_000} {
		c := render(t, r, Input{Snapshot: s, Tools: exposed, Mode: ModeStable, Budget: Budget{Limit: limit}, Rank: Rank{Recent: []string{"zz-last"}}})
		rep := c.Report
		if rep.Total != 120 || O200k().Count(c.Stable.Text) > limit {
			t.Errorf("%d: %+v", limit, rep)
		}
		if limit >= 1000 && strings.Count(c.Stable.Text, "\n- ") != 120 {
			t.Errorf("%d: %d names", limit, strings.Count(c.Stable.Text, "\n- "))
		}
		if rep.Omitted > 0 && !strings.Contains(c.Stable.Text, fmt.Sprintf("%d of 120 skills are listed", rep.Shown)) {
			t.Errorf("%d: omissions are not told", limit)
		}
		if !strings.Contains(c.Stable.Text, "- zz-last") || limit >= 1000 && !strings.Contains(c.Stable.Text, "- zz-last: Routes work to the other skills.") {
			t.Errorf("%d: zz-last lost its place", limit)
		}
	}
	s = discover(t, casetest.Open(t, "035").Path("home", ".agents", "skills"))
	c := render(t, r, Input{Snapshot: s, Tools: exposed, Mode: ModeStable, Budget: Budget{Limit: 60}})
	if strings.Contains(c.Stable.Text, "omega") || !strings.Contains(c.Stable.Text, "can be found with skill_search") {
		t.Errorf("omega is not omitted with a word:\n%s", c.Stable.Text)
	}
	if found, err := s.LookupForModel("omega"); err != nil || found == nil {
		t.Errorf("omitted and not loadable: %v", err)
	}
}

func TestCase036SameBytesEachTime(t *testing.T) {
	t.Parallel()
	dir := casetest.Open(t, "036").Path("project", ".agents", "skills")
	in := func() Input { return Input{Snapshot: discover(t, dir), Tools: exposed} }
	first := render(t, New(Config{}), in()).Stable.Text
	if first != "<available_skills>\n- Alpha: Skill Alpha.\n- bravo: Skill bravo.\n- charlie: Skill charlie.\n- delta: Skill delta.\n- echo: Skill echo.\n</available_skills>" {
		t.Errorf("got %s", first)
	}
	touched := time.Unix(1, 0)
	if err := os.Chtimes(filepath.Join(dir, "bravo", "SKILL.md"), touched, touched); err != nil {
		t.Fatal(err)
	}
	if again := render(t, New(Config{}), in()).Stable.Text; again != first {
		t.Error("touching a file changed the text")
	}
}

func TestCase037ViewsAgree(t *testing.T) {
	t.Parallel()
	s := discover(t, casetest.Open(t, "037").Path("project", ".claude", "skills"))
	c := render(t, New(Config{}), Input{Snapshot: s, Tools: exposed})
	rep := c.Report
	if rep.Total != rep.Shown+rep.Hidden["manual"]+rep.Hidden["disabled"]+rep.Shadowed+rep.Hidden["invalid"] || rep.Shown != 2 || rep.Hidden["manual"] != 1 {
		t.Errorf("%+v", rep)
	}
	if c.Stable.Text != "<available_skills>\n- background: Background.\n- normal: Normal.\n</available_skills>" {
		t.Errorf("got %s", c.Stable.Text)
	}
}

func TestCase071TextFromFilesIsData(t *testing.T) {
	t.Parallel()
	s := discover(t, casetest.Open(t, "071").Path("project", ".claude", "skills"))
	for _, in := range []Input{{}, {Format: XML}, {Dialect: skill.AgentSkills}} {
		in.Snapshot, in.Tools = s, exposed
		c := render(t, New(Config{}), in)
		if strings.Count(c.Stable.Text, closeTag) != 1 || c.Report.Shown != 3 {
			t.Errorf("%d skills in\n%s", c.Report.Shown, c.Stable.Text)
		}
		if in.Format == XML {
			readXML(t, c.Stable.Text)
		}
		if c.Report.Format == List && !strings.Contains(c.Stable.Text, "O'Brien & Co") {
			t.Error("readable text was damaged")
		}
	}
}

func TestBuiltinSkillsFitTheSmallestWindow(t *testing.T) {
	t.Parallel()
	reg, err := registry.Open(context.Background(), registry.Config{Sources: []source.Source{source.FS(builtin.FS(), source.DirOptions{})}})
	if err != nil {
		t.Fatal(err)
	}
	c := render(t, New(Config{}), Input{Snapshot: reg.Snapshot(), Tools: exposed, Routing: true, Budget: Budget{Window: 32_000}})
	if c.Report.Full != 6 || len(c.Report.Diagnostics) > 0 {
		t.Errorf("%+v", c.Report)
	}
	if !slices.ContainsFunc(c.Entries(), func(e EntryReport) bool { return e.Address == builtin.Guide }) {
		t.Error("the guide is missing")
	}
}
