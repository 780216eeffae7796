package shellcmd

import (
	"reflect"
	"testing"
)

func TestALineThatCannotBeReadIsCutRoughly(t *testing.T) {
	t.Parallel()
	for line, want := range map[string][][]string{
		"":                           nil,
		"rm -rf x; (":                {{"rm", "-rf", "x"}},
		"git log | rm 'a b' && ls (": {{"git", "log"}, {"rm", "a b"}, {"ls"}},
		"A=1 B=2 rm x \"":            {{"rm", "x", ""}},
		"if then rm x":               {{"rm", "x"}},
		`r\m "a\"b" $(`:              {{"rm", `a"b`, "$"}},
		"while $(rm x":               {{"$"}, {"rm", "x"}},
		"A=1":                        {{"A=1"}},
	} {
		if got := Rough(line); !reflect.DeepEqual(got, want) {
			t.Errorf("%q: %q, want %q", line, got, want)
		}
	}
}
