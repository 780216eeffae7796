package agent

import (
	"errors"
	"strings"
	"testing"

	"github.com/deftskills/deft/gate"
	"github.com/deftskills/deft/toolset"
)

func TestADefinitionIsReadWhole(t *testing.T) {
	t.Parallel()
	d, err := ReadDefinition([]byte("---\nid: trader\nname: The trader\ndescription: Trades.\nskill_ids: [a, b]\ntool_names: read, mcp__x__*\ntool_sets: [web]\n"+
		"risk_tier_max: 2\ndiscovery_mode: search\nmodel: p/m\ntriggers: [manual, {cron: \"0 9 * * *\"}]\nmetadata: {owner: me, limits: [1, 2]}\nunknown: x\n---\n\nBe brief.\n"), "file")
	if err != nil {
		t.Fatal(err)
	}
	if d.ID != "trader" || d.Name != "The trader" || strings.Join(d.Skills, " ") != "a b" || d.Ceiling != gate.ConfirmOnce || d.Discovery != DiscoverSearch ||
		d.Model != "p/m" || len(d.Triggers) != 2 || d.Triggers[1] != (Trigger{"cron", "0 9 * * *"}) || d.Metadata["owner"] != "me" || d.Metadata["limits"] != "[1, 2]" {
		t.Errorf("%+v", d)
	}
	for name, want := range map[string]bool{"read": true, "mcp__x__y": true, "web_fetch": true, "write": false} {
		set := map[string]string{"web_fetch": "web", "write": "files"}[name]
		if got := d.HasTool(toolset.Spec{Name: name, Toolset: set}); got != want {
			t.Errorf("%s: %v", name, got)
		}
	}
	if d.Least(0) != gate.ConfirmOnce || d.Least(gate.ReadOnly) != gate.ReadOnly || d.Least(gate.ManualOnly) != gate.ConfirmOnce || (Definition{}).Least(gate.AlwaysConfirm) != gate.AlwaysConfirm {
		t.Error("the lower of two ceilings")
	}
}

func TestWhatIsNoDefinitionIsSaidWithItsPlace(t *testing.T) {
	t.Parallel()
	for header, want := range map[string]struct {
		line, column int
		says         string
	}{
		"":                               {1, 0, "no header"},
		"id: two words\n":                {2, 5, `id: "two words" is not one word`},
		"id: ../x\n":                     {2, 5, "is not one word"},
		"name: a\ntier: 5\n":             {3, 7, `tier: "5" is not a tier`},
		"name: a\ntools: {a: b}\n":       {3, 8, "tools: it is no list"},
		"name: a\nskills: [[b]]\n":       {3, 10, "skills: an entry is no text"},
		"name: a\ntriggers: [noon]\n":    {3, 12, `triggers: "noon" is none`},
		"name: a\ntriggers: {cron: x}\n": {3, 11, "triggers: it is no list"},
		"name: a\nmetadata: x\n":         {3, 11, "metadata: it is no mapping"},
		"name: a\ndiscovery: all\n":      {3, 12, "discovery"},
		"description: [x]\nname: a\n":    {2, 14, "description: it is no text"},
	} {
		_, err := ReadDefinition([]byte("---\n"+header+"---\n"), "")
		var at *DefinitionError
		if !errors.As(err, &at) || at.Line != want.line || at.Column != want.column || at.Fix == "" || !strings.Contains(at.Problem, want.says) {
			t.Errorf("%q: %+v", header, err)
		}
	}
}

func FuzzReadDefinition(f *testing.F) {
	f.Add([]byte("---\nname: a\ntools: [b]\ntriggers: [{cron: x}]\nmetadata: {a: [b]}\n---\nBody\n"), "stem")
	f.Add([]byte("---\nid: \"\\u202e\"\n---"), "")
	f.Fuzz(func(t *testing.T, src []byte, stem string) {
		d, err := ReadDefinition(src, stem)
		if err != nil {
			var at *DefinitionError
			if !errors.As(err, &at) {
				t.Errorf("%T", err)
			}
			return
		}
		if !oneWord(d.ID) || d.Ceiling > gate.ManualOnly || d.Discovery == "" {
			t.Errorf("%+v", d)
		}
	})
}
