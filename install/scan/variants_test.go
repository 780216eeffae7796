package scan

import (
	"os"
	"testing"

	"go.yaml.in/yaml/v3"
)

// Rules are tuned on texts; these are others. See the file for what is wanted.
func TestRulesHoldForTextsInOtherWords(t *testing.T) {
	t.Parallel()
	src, err := os.ReadFile("testdata/variants.yaml")
	if err != nil {
		t.Fatal(err)
	}
	var list []struct {
		Family            string
		Block, Warn, Pass []string
	}
	if err := yaml.Unmarshal(src, &list); err != nil {
		t.Fatal(err)
	}
	s := scanner(t)
	at := func(text string) Level {
		found, _ := s.text("SKILL.md", text)
		level := Info
		for _, f := range found {
			if f.Level == Block || level == Info {
				level = f.Level
			}
		}
		return level
	}
	var hostile, any share
	for _, v := range list {
		for _, text := range v.Block {
			level := at(text)
			hostile.add(level != Info)
			if level != Block {
				t.Errorf("%s: %s, want block:\n%s", v.Family, level, text)
			}
		}
		for _, text := range v.Warn {
			level := at(text)
			hostile.add(level != Info)
			if level == Info {
				t.Errorf("%s: nothing, want warn:\n%s", v.Family, text)
			}
		}
		for _, text := range v.Pass {
			level := at(text)
			any.add(level != Info)
			if level == Block {
				t.Errorf("%s: it blocks:\n%s", v.Family, text)
			}
		}
	}
	t.Logf("hostile: %s found; harmless: %s with any finding", hostile, any)
}
