package skill_test

import (
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/deftskills/deft/skill"
)

func TestRangesHoldTheVersionsThatPeopleMean(t *testing.T) {
	t.Parallel()
	for _, row := range []struct{ in, holds, not string }{
		{"", "0 1.2.3 2.0.0-rc.1 none", ""},
		{"*", "0.0.1 9.9.9 none", ""},
		{"1", "1.0.0 1 1.9.9", "0.9.9 2.0.0 1.0.0-rc.1"},
		{"1.2", "1.2.0 1.2.99", "1.3.0 1.1.9"},
		{"1.x", "1.0.0 1.99.0", "2.0.0"},
		{"1.2.*", "1.2.7", "1.3.0"},
		{"1.2.3", "1.2.3 v1.2.3 1.2.3+build", "1.2.4 1.2.2 1.2.3-rc.1"},
		{"=1.2.3", "1.2.3", "1.2.4"},
		{"v1.2.3", "1.2.3", "1.2.4"},
		{"^1.2.3", "1.2.3 1.9.0", "1.2.2 2.0.0 2.0.0-rc.1 1.3.0-beta"},
		{"^1.2.3-rc.1", "1.2.3-rc.1 1.2.3-rc.2 1.2.3 1.4.0", "1.2.3-beta 1.4.0-rc.1"},
		{"^0.2.3", "0.2.3 0.2.9", "0.3.0 1.0.0"},
		{"^0.0.3", "0.0.3", "0.0.4"},
		{"^0", "0.0.1 0.9.9", "1.0.0"},
		{"^1", "1.0.0 1.9.9", "2.0.0"},
		{"~1.2.3", "1.2.3 1.2.9", "1.3.0"},
		{"~1.2", "1.2.0 1.2.9", "1.3.0"},
		{"~1", "1.0.0 1.9.0", "2.0.0"},
		{"~> 1.2", "1.2.0", "1.3.0"},
		{">=1.2 <3", "1.2.0 2.9.9", "1.1.9 3.0.0"},
		{">= 1.2, < 3", "1.2.0 2.9.9", "1.1.9 3.0.0"},
		{">1.2", "1.3.0 2.0.0", "1.2.0 1.2.9"},
		{">1.2.3", "1.2.4", "1.2.3"},
		{"<=1.2", "1.2.9 0.1.0", "1.3.0"},
		{"<1.2.3", "1.2.2", "1.2.3"},
		{"1.2 - 1.9", "1.2.0 1.9.9", "1.1.0 2.0.0"},
		{"^1 || ^3", "1.5.0 3.0.1", "2.0.0 4.0.0"},
		{">=9999999999999999999999.0.0", "10000000000000000000000.0.0", "1.0.0"},
		{"^9", "9.1.0", "10.0.0"},
	} {
		r, err := skill.ParseRange(row.in)
		if err != nil {
			t.Errorf("%q: %v", row.in, err)
			continue
		}
		for _, v := range strings.Fields(row.holds) {
			if !r.Holds(v) {
				t.Errorf("%q does not hold %s", row.in, v)
			}
		}
		for _, v := range strings.Fields(row.not) {
			if r.Holds(v) {
				t.Errorf("%q holds %s", row.in, v)
			}
		}
	}
	for _, bad := range []string{"new", "^", ">=x1", "1.2.3 beta", "1 ||| 2", strings.Repeat("1 ", 200), strings.Repeat("1||", 20) + "1", "=>1"} {
		if _, err := skill.ParseRange(bad); err == nil {
			t.Errorf("%q is a range", bad)
		}
	}
}

func TestRangesMeetWhereAVersionIsInBoth(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		a, b  string
		meets bool
	}{
		{"^1.2", "^1.4", true}, {"^1.2", "^2", false}, {"^1 || ^2", ">=2.5", true}, {"1.2.3", "1.2.3", true},
		{"<1.2.3", ">=1.2.3", false}, {"<=1.2.3", ">=1.2.3", true}, {"*", "7", true}, {"", "7", true}, {"~1.2", ">1.2", false},
	} {
		a, errA := skill.ParseRange(row.a)
		b, errB := skill.ParseRange(row.b)
		if errA != nil || errB != nil || a.Meets(b) != row.meets || b.Meets(a) != row.meets {
			t.Errorf("%q and %q: %v %v", row.a, row.b, errA, errB)
		}
	}
}

// Ranges that have a version in common meet, whatever they are.
func TestWhatIsInBothRangesHasThemMeet(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		draw := func(what string) (string, skill.Range) {
			text := rapid.StringMatching(`(\^|~|>=|<=|<|>|)[0-3](\.[0-3]){0,2}( (<|>=)[0-3]\.[0-3]\.[0-3])?`).Draw(t, what)
			r, err := skill.ParseRange(text)
			if err != nil {
				t.Fatalf("%q: %v", text, err)
			}
			return text, r
		}
		at, a := draw("a")
		bt, b := draw("b")
		v := rapid.StringMatching(`[0-3]\.[0-3]\.[0-3]`).Draw(t, "version")
		if a.Holds(v) && b.Holds(v) && !a.Meets(b) {
			t.Fatalf("%q and %q both hold %s", at, bt, v)
		}
	})
}

func TestDependenciesAskForVersions(t *testing.T) {
	t.Parallel()
	env := skill.Environment{Skills: skill.NewVersionSet(map[string]string{"ocr": "1.4.0", "bare": ""}), Bins: skill.NewNameSet("tesseract")}
	for _, row := range []struct {
		atom skill.Atom
		want string
	}{
		{skill.Atom{Skill: "ocr", Version: "^1.2"}, ""},
		{skill.Atom{Skill: "ocr"}, ""},
		{skill.Atom{Skill: "ocr", Version: "^2"}, "skill ocr ^2"},
		{skill.Atom{Skill: "bare", Version: "*"}, ""},
		{skill.Atom{Skill: "bare", Version: "1"}, "skill bare 1"},
		{skill.Atom{Skill: "none", Version: "1"}, "skill none 1"},
		{skill.Atom{Bin: "tesseract", Version: ">=5"}, ""}, // nobody looked which one it is
		{skill.Atom{Bin: "pdftotext", Version: ">=5"}, "bin pdftotext >=5"},
	} {
		var got []string
		for _, u := range skill.FindUnmet(&skill.Conditions{Dependencies: &skill.Group{All: []skill.Atom{row.atom}}}, env) {
			got = append(got, u.Names...)
		}
		if strings.Join(got, ",") != row.want {
			t.Errorf("%+v: %q, not %q", row.atom, got, row.want)
		}
	}
	u := skill.Unmet{Code: "dependencies", Names: []string{"skill ocr ^2", "bin pdftotext"}}
	if each := u.Each(); len(each) != 2 || each[0].Fix() != "install the skill ocr ^2" || each[1].Fix() != "install pdftotext" || u.Fix() != "install the skill ocr ^2; install pdftotext" {
		t.Errorf("%+v %q", each, u.Fix())
	}
}

func TestARangeThatIsNoneIsToldAndLeftOut(t *testing.T) {
	t.Parallel()
	s := skill.Parse([]byte("---\nname: a\ndescription: Does a.\nmetadata:\n  deft:\n    dependencies:\n      all: [{skill: ocr, version: newest}]\n---\n"), skill.ParseOptions{Path: "a/SKILL.md", DirName: "a"})
	if !s.Valid || s.Meta.Conditions == nil || len(s.Meta.Conditions.Dependencies.All) != 1 || s.Meta.Conditions.Dependencies.All[0].Version != "" {
		t.Fatalf("%+v", s.Meta.Conditions)
	}
	if len(s.Diagnostics) == 0 || s.Diagnostics[0].Line != 6 {
		t.Errorf("%+v", s.Diagnostics)
	}
}
