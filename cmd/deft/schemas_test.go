package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/deftskills/deft/internal/cli"
)

// Each shape that scripts rely on is checked by a story, and each verb that prints
// one has it.
func TestEachShapeHasAStory(t *testing.T) {
	t.Parallel()
	stories, err := filepath.Glob(filepath.Join("..", "..", "testdata", "script", "*.txtar"))
	if err != nil {
		t.Fatal(err)
	}
	var all strings.Builder
	for _, s := range stories {
		text, err := os.ReadFile(s)
		if err != nil {
			t.Fatal(err)
		}
		all.Write(text)
	}
	schemas, err := filepath.Glob(filepath.Join("..", "..", "internal", "cli", "schema", "*.json"))
	if err != nil {
		t.Fatal(err)
	}
	have := map[string]bool{}
	for _, s := range schemas {
		name := strings.TrimSuffix(filepath.Base(s), ".json")
		have[name] = true
		if !strings.Contains(all.String(), "jsonschema stdout "+name+"\n") {
			t.Errorf("no story checks the shape %q", name)
		}
	}
	for _, verb := range cli.Verbs() {
		if verb != "help" && verb != "completion" && verb != "rollback" && !have[verb] { // a rollback tells what add tells
			t.Errorf("verb %q has no schema", verb)
		}
		if !strings.Contains(all.String(), "deft "+verb) {
			t.Errorf("verb %q has no story", verb)
		}
	}
}
