package install_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/deftskills/deft/install"
	"github.com/deftskills/deft/install/archive"
	"github.com/deftskills/deft/skill"
)

// skills are the contents of a source, by folder: a version, and the lines of dependencies.
type skills map[string]string

func (s skills) fetched(url string) *install.Fetched {
	f := &install.Fetched{Origin: install.Origin{Type: install.Git, URL: url}}
	for name, more := range s {
		version, deps, _ := strings.Cut(more, "|")
		text := fmt.Sprintf("---\nname: %s\ndescription: Does %[1]s when asked.\nversion: %q\n", name, version)
		if deps != "" {
			text += "metadata:\n  deft:\n    dependencies: " + deps + "\n"
		}
		f.Files = append(f.Files, archive.File{Path: name + "/SKILL.md", Data: []byte(text + "---\n\nx\n")})
	}
	return f
}

// away are sources that headers name.
var away = map[string]skills{
	"https://git.example/ocr.git":  {"ocr": "1.4.0"},
	"https://git.example/ocr2.git": {"ocr": "2.0.0"},
	"https://git.example/a.git":    {"a": "1.0.0|{all: [{skill: b, source: 'https://git.example/b.git'}]}"},
	"https://git.example/b.git":    {"b": "1.0.0|{all: [{skill: a, source: 'https://git.example/a.git'}]}"},
	"https://git.example/self.git": {"self": "1.0.0|{all: [{skill: self}]}"},
	"https://git.example/deep.git": deep(),
	"https://git.example/wide.git": {"wide": "1.0.0"},
}

// deep is a row of skills, each of which needs the next one.
func deep() skills {
	s := skills{}
	for n := range 12 {
		s[fmt.Sprintf("d%d", n)] = fmt.Sprintf("1.0.0|{all: [{skill: d%d, source: 'https://git.example/deep.git'}]}", n+1)
	}
	s["d12"] = "1.0.0"
	return s
}

func wide() string {
	var atoms []string
	for n := range 70 {
		atoms = append(atoms, fmt.Sprintf("{skill: w%d, source: 'https://git.example/w%d.git'}", n, n))
	}
	return "1.0.0|{all: [" + strings.Join(atoms, ", ") + "]}"
}

func TestSkillsBringAlongWhatTheyNeed(t *testing.T) {
	t.Parallel()
	atom := func(text string) string { return "1.0.0|{all: [" + text + "]}" }
	const ocr = "https://git.example/ocr.git"
	for what, c := range map[string]struct {
		have    skills
		order   string // of what is brought along
		refused string // codes by folder
		notes   string // parts of what is told
		says    string // part of a reason
		only    string // what a person asked for; "" = all
	}{
		"nothing":                    {have: skills{"pdf": "1.0.0"}},
		"one of another source":      {have: skills{"pdf": atom("{skill: ocr, version: ^1.2, source: '" + ocr + "'}")}, order: "ocr"},
		"a shorthand":                {have: skills{"pdf": atom("{skill: ocr, source: 'team/ocr'}")}, order: "ocr"},
		"one of the same source":     {have: skills{"pdf": atom("{skill: ocr, source: ./ocr}"), "ocr": "1.0.0"}, order: "ocr", only: "pdf"},
		"one that is there":          {have: skills{"pdf": atom("{skill: there, version: ^3, source: '" + ocr + "'}")}},
		"one in another version":     {have: skills{"pdf": atom("{skill: there, version: ^4, source: '" + ocr + "'}")}, notes: "no skill of that name"},
		"one without a source":       {have: skills{"pdf": atom("{skill: ocr}")}, notes: "pdf needs the skill ocr, which is not there"},
		"a version that is not had":  {have: skills{"pdf": atom("{skill: ocr, version: ^2, source: '" + ocr + "'}")}, notes: `the source has version "1.4.0"`},
		"a source that is not there": {have: skills{"pdf": atom("{skill: ocr, source: 'https://git.example/none.git'}")}, notes: "no such repository"},
		"a folder of this machine":   {have: skills{"pdf": atom("{skill: ocr, source: '/etc'}")}, notes: "a header can't name this source"},
		"a way out of the source":    {have: skills{"pdf": atom("{skill: ocr, source: './../x'}")}, notes: "leaves the source"},
		"a file address":             {have: skills{"pdf": atom("{skill: ocr, source: 'file:///etc'}")}, notes: "a header can't name this source"},
		"another protocol":           {have: skills{"pdf": atom("{skill: ocr, source: 'ext::sh -c x'}")}, notes: "ext"},
		"a circle": {have: skills{"pdf": atom("{skill: a, source: 'https://git.example/a.git'}")}, refused: "deps_cycle:pdf",
			says: "a → b → a"},
		"itself": {have: skills{"pdf": atom("{skill: pdf}")}, refused: "deps_cycle:pdf", says: "pdf → pdf"},
		"two versions of one": {have: skills{
			"pdf": atom("{skill: ocr, version: ^1, source: '" + ocr + "'}"), "sheets": atom("{skill: ocr, version: ^2, source: 'https://git.example/ocr2.git'}"),
		}, order: "ocr", refused: "deps_conflict:sheets", says: "sheets needs ocr ^2, and pdf needs ocr ^1"},
		"two that agree": {have: skills{
			"pdf": atom("{skill: ocr, version: ^1, source: '" + ocr + "'}"), "sheets": atom("{skill: ocr, version: '>=1.3', source: '" + ocr + "'}"),
		}, order: "ocr"},
		"another version of one that was asked for": {have: skills{
			"ocr": "1.0.0", "pdf": atom("{skill: ocr, version: ^2, source: '" + ocr + "'}"),
		}, refused: "deps_conflict:pdf", says: "version 1.0.0 is what was asked for"},
		"too deep": {have: skills{"pdf": atom("{skill: d0, source: 'https://git.example/deep.git'}")}, refused: "deps_limit:pdf", says: "more than 8"},
		"as deep as may be": {have: skills{"pdf": atom("{skill: d5, source: 'https://git.example/deep.git'}")},
			order: "d12 d11 d10 d9 d8 d7 d6 d5"},
		"too many": {have: skills{"pdf": wide()}, refused: "deps_limit:pdf", says: "more than 64"},
		"an alternative that is there": {have: skills{
			"pdf": "1.0.0|{any: [[{skill: ocr, source: '" + ocr + "'}, {bin: tesseract}]]}",
		}},
		"the first alternative with a source": {have: skills{
			"pdf": "1.0.0|{any: [[{bin: none}, {skill: other}, {skill: ocr, source: '" + ocr + "'}]]}",
		}, order: "ocr"},
	} {
		t.Run(what, func(t *testing.T) {
			t.Parallel()
			m := newMachine(t)
			f := c.have.fetched("https://git.example/pack.git")
			packs, err := install.Find(t.Context(), f, install.FindOptions{})
			if err != nil {
				t.Fatal(err)
			}
			packs = slices.DeleteFunc(packs, func(p install.Package) bool { return c.only != "" && p.Dir != c.only })
			needs, err := m.installer().Needs(t.Context(), install.Resolver{Fetch: fetchAway, DefaultHost: "git.example", Env: skill.Environment{
				Skills: skill.NewVersionSet(map[string]string{"there": "3.1.0"}), Bins: skill.NewNameSet("tesseract"),
			}}, f, packs, m.scope)
			if err != nil {
				t.Fatal(err)
			}
			var order, refused []string
			for _, b := range needs.Batches {
				order = append(order, b.Packages[0].Skill.Name)
			}
			reasons := ""
			for dir, why := range needs.Refused {
				refused = append(refused, why.Code+":"+dir)
				reasons += why.Message
			}
			notes := ""
			for _, n := range needs.Notes {
				notes += n.Message
			}
			if strings.Join(order, " ") != c.order || strings.Join(refused, " ") != c.refused || !strings.Contains(reasons, c.says) {
				t.Errorf("brought %q, refused %q: %s", order, refused, reasons)
			}
			if (notes == "") != (c.notes == "") || !strings.Contains(notes, c.notes) {
				t.Errorf("told %q", notes)
			}
		})
	}
}

func fetchAway(_ context.Context, r install.SourceRef, _ string) (*install.Fetched, error) {
	url := r.URL
	if url == "https://git.example/team/ocr" {
		url = "https://git.example/ocr.git"
	}
	if n, ok := strings.CutPrefix(url, "https://git.example/w"); ok && !strings.HasPrefix(n, "i") {
		return skills{"w" + strings.TrimSuffix(n, ".git"): "1.0.0"}.fetched(url), nil
	}
	s, ok := away[url]
	if !ok {
		return nil, fmt.Errorf("no such repository: %s", url)
	}
	return s.fetched(url), nil
}
