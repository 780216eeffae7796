package toolset

import (
	"os"
	"strings"
	"testing"

	"github.com/deftskills/deft/internal/casetest"
	"github.com/deftskills/deft/internal/toolrule"
)

func TestCase048DenyMatchesLikeAllow(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile(casetest.Open(t, "048").Path("matrix.txt"))
	if err != nil {
		t.Fatal(err)
	}
	for _, line := range strings.Split(strings.TrimSpace(string(text)), "\n")[1:] {
		cells := strings.Split(line, "\t")
		pattern, want := cells[0], cells[2]
		tool, command, _ := strings.Cut(strings.TrimSuffix(cells[1], ")"), "(")
		call := toolrule.Call{Tool: toolrule.Canonical(tool)}
		if command != "" {
			call.Commands = [][]string{strings.Fields(command)}
		}
		list := toolrule.ParseList([]string{pattern})
		_, allowed := list.Covers(call)
		_, denied := list.Denies(call)
		switch {
		case want == "invalid" && (allowed || !denied),
			want != "invalid" && allowed != denied,
			(want == "yes" || want == "no") && allowed != (want == "yes"):
			t.Errorf("%s with %s: allow %v, deny %v, want %s", pattern, cells[1], allowed, denied, want)
		}
	}
}
