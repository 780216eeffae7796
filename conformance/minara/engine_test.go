package minara

import (
	"encoding/json"
	"os"
	"path/filepath"
	"testing"

	"github.com/deftskills/deft"
	"github.com/deftskills/deft/agent/model"
	"github.com/deftskills/deft/internal/suitetest"
	"github.com/deftskills/deft/route"
	"github.com/deftskills/deft/skill"
	"github.com/deftskills/deft/toolset"
)

// folder writes the skills into a folder of their own.
func folder(t *testing.T, s skills) string {
	t.Helper()
	dir := t.TempDir()
	for name, content := range s {
		path := filepath.Join(dir, name)
		if filepath.Ext(name) == "" {
			path = filepath.Join(path, "SKILL.md")
		}
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(content), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// engine is a whole program over the skills of a folder.
func engine(t *testing.T, dir string, environ ...string) *deft.Engine {
	t.Helper()
	return suitetest.Engine(t, deft.Options{
		Workspace: t.TempDir(), Dialect: skill.Minara, Sources: []string{dir}, OnlySources: true,
		Environ: environ, OS: "linux", Style: toolset.StyleSet,
	})
}

func request(text string) deft.Request { return deft.Request{Text: text} }

func routed(t *testing.T, e *deft.Engine, text string) route.Result {
	t.Helper()
	res, err := e.Route(t.Context(), request(text))
	if err != nil {
		t.Fatal(err)
	}
	return res
}

// activate makes the skills active and returns the tool's text and the prompt after it.
func activate(t *testing.T, turn *deft.Turn, ids ...string) (text, prompt string) {
	t.Helper()
	args, err := json.Marshal(map[string]any{"ids": ids})
	if err != nil {
		t.Fatal(err)
	}
	for _, res := range turn.Call(model.Call{ID: "1", Name: toolset.NameActivate, Input: args}) {
		text += res.Text
	}
	system, user := turn.Prompt()
	return text, system + "\n" + user
}
