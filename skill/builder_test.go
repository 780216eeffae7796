package skill

import (
	"reflect"
	"strings"
	"testing"
)

func TestAPooledBuilderHoldsOnToNothing(t *testing.T) {
	t.Parallel()
	for _, text := range []string{
		"---\nname: a\ndescription: Does a.\n---\n\nBody.\n",
		"---\nname: a\nnames: b\nunknown: c\npriority: 900\nallowed-tools: [Bash(, Read]\nconditions:\n  requires_env: [HOME]\nmetadata:\n  deft:\n    title: x\n  minara:\n    id: y\n---\n\n# T\n",
		"---\n: [\n---\n", "", "---\n" + strings.Repeat("x1: y\n", 400) + "---\n",
	} {
		b := new(builder)
		s := new(Skill)
		b.read(s, []byte(text), ParseOptions{Path: "p", Dialect: Deft, Sidecars: map[string][]byte{SidecarOpenAI: []byte("interface:\n  display_name: X\n")}}, map[string]Origin{})
		if s.Name == "" && s.Valid {
			t.Fatalf("%q was not read", text)
		}
		b.forget()
		b.fast, b.used = fastReader{}, nil // emptied, and kept for their room
		if !reflect.ValueOf(*b).IsZero() {
			t.Errorf("after %.40q the builder still holds %+v", text, *b)
		}
	}
}
