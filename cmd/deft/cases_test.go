package main

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// storied are the kinds of cases of which each one is a story, and single cases of other
// kinds that are.
var storied = []string{
	"discovery", "symlink", "precedence", "watch", "windows", "plugin", "paths", "UX",
	"activation", "args", "inline-shell", "permissions", "install", "update", "security", "070", "071", "072", "074", "075", "076", "077", "079",
}

// untold is what of these kinds waits for a part of deft that is not there yet.
var untold = map[string]string{}

// Each case of the kinds above runs through the program.
func TestEachCaseOfAKindHasAStory(t *testing.T) {
	t.Parallel()
	dirs := casesOf(t, filepath.Join("..", "..", "testdata", "cases"))
	if data := os.Getenv("DEFT_TESTDATA"); data != "" {
		for number := range casesOf(t, filepath.Join(data, "cases")) {
			if _, here := dirs[number]; !here && untold[number] == "" {
				t.Errorf("case %s is not among the cases of the project", number)
			}
		}
	}
	if len(dirs) < 40 {
		t.Errorf("only %d cases", len(dirs))
	}
	for number, dir := range dirs {
		stories, err := filepath.Glob(filepath.Join("..", "..", "testdata", "script", "case_"+number+"*.txtar"))
		if err != nil {
			t.Fatal(err)
		}
		if len(stories) == 0 && untold[number] == "" {
			t.Errorf("case %s has no story", dir)
		}
		if len(stories) > 0 && untold[number] != "" {
			t.Errorf("case %s is told: take it out of the list", dir)
		}
	}
}

var kindLine = regexp.MustCompile(`(?m)^- kind: (.+)$`)

// casesOf returns the folders of the cases of these kinds, by number.
func casesOf(t *testing.T, dir string) map[string]string {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(dir, "*", "case.md"))
	if err != nil {
		t.Fatal(err)
	}
	out := map[string]string{}
	for _, f := range files {
		text, err := os.ReadFile(f)
		if err != nil {
			t.Fatal(err)
		}
		name := filepath.Base(filepath.Dir(f))
		number, _, _ := strings.Cut(name, "-")
		kind := kindLine.FindSubmatch(text)
		if kind == nil {
			t.Errorf("case %s has no kind", name)
			continue
		}
		if slices.Contains(storied, strings.TrimSpace(string(kind[1]))) || slices.Contains(storied, number) {
			out[number] = name
		}
	}
	return out
}
