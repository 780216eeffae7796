package skill

import (
	"strings"
	"testing"
)

func TestCodeRegions(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name, body string
		code       []string // what must be covered, in order
		kinds      []RegionKind
	}{
		{"span", "a `b` c", []string{"b"}, []RegionKind{CodeSpan}},
		{"double span", "a ``b ` c`` d", []string{"b ` c"}, []RegionKind{CodeSpan}},
		{"span over a line end", "a `b\nc` d", []string{"b\nc"}, []RegionKind{CodeSpan}},
		{"fence", "a\n\n```sh\nb\nc\n```\nd", []string{"b\nc\n"}, []RegionKind{FencedCode}},
		{"tilde fence", "~~~\nb\n```\n~~~\nd `e`", []string{"b\n```\n", "e"}, []RegionKind{FencedCode, CodeSpan}},
		{"unclosed fence", "a\n```\nb\n\nc", []string{"b\n\nc"}, []RegionKind{FencedCode}},
		{"indented", "a\n\n    b\n    c\n\nd", []string{"b\n    c\n"}, []RegionKind{IndentedCode}},
		{"indentation inside a paragraph", "a\n    b", nil, nil},
		{"in a list", "- a\n\n  ```\n  b\n  ```\n- `c`", []string{"b\n", "c"}, []RegionKind{FencedCode, CodeSpan}},
		{"in a quote", "> ```\n> b\n> ```\n> `c`", []string{"b\n", "c"}, []RegionKind{FencedCode, CodeSpan}},
		{"unclosed span", "a ` b", nil, nil},
		{"escaped backquote", "a \\`b\\` c", nil, nil},
		{"empty fence", "```\n```\n", nil, nil},
		{"exclamation marks in spans", "`!` and `try!` end", []string{"!", "try!"}, []RegionKind{CodeSpan, CodeSpan}},
	} {
		regions := CodeRegions([]byte(c.body))
		if len(regions) != len(c.code) {
			t.Errorf("%s: %+v", c.name, regions)
			continue
		}
		for i, r := range regions {
			if got := c.body[r.Start:r.End]; !strings.HasPrefix(got, c.code[i]) && got != c.code[i] || r.Kind != c.kinds[i] {
				t.Errorf("%s: region %d is %q of kind %d", c.name, i, got, r.Kind)
			}
		}
	}
	if r := CodeRegions([]byte("```sh x\na\n```")); r[0].Info != "sh x" {
		t.Errorf("info %q", r[0].Info)
	}
}
