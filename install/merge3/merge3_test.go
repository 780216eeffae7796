package merge3_test

import (
	"bytes"
	"strings"
	"testing"

	"github.com/deftskills/deft/install/merge3"
)

func TestChangesOfDifferentLinesAreBothMade(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ what, base, local, remote, want string }{
		{"nothing", "a\nb\n", "a\nb\n", "a\nb\n", "a\nb\n"},
		{"one side", "a\nb\nc\n", "a\nB\nc\n", "a\nb\nc\n", "a\nB\nc\n"},
		{"the other", "a\nb\nc\n", "a\nb\nc\n", "a\nb\n", "a\nb\n"},
		{"both, apart", "a\nb\nc\nd\ne\n", "A\nb\nc\nd\ne\n", "a\nb\nc\nd\nE\n", "A\nb\nc\nd\nE\n"},
		{"the same change", "a\nb\n", "a\nx\nb\n", "a\nx\nb\n", "a\nx\nb\n"},
		{"added at both ends", "m\n", "0\nm\n", "m\n9\n", "0\nm\n9\n"},
		{"without a last line break", "a\nb", "a\nb\n", "a\nb", "a\nb\n"},
		{"windows lines", "a\r\nb\r\n", "A\r\nb\r\n", "a\r\nb\r\nc\r\n", "A\r\nb\r\nc\r\n"},
		{"from nothing", "", "a\n", "", "a\n"},
	} {
		got, ok := merge3.Merge([]byte(c.base), []byte(c.local), []byte(c.remote))
		if !ok || string(got) != c.want {
			t.Errorf("%s: %q, %v", c.what, got, ok)
		}
	}
}

func TestTheSameLinesChangedTwiceAreAConflict(t *testing.T) {
	t.Parallel()
	got, ok := merge3.Merge([]byte("a\nb\nc\n"), []byte("a\nmine\nc\n"), []byte("a\ntheirs\nc\n"))
	const want = "a\n<<<<<<< local\nmine\n=======\ntheirs\n>>>>>>> remote\nc\n"
	if ok || string(got) != want {
		t.Errorf("%q, %v", got, ok)
	}
	if _, ok := merge3.Merge([]byte("a\n"), nil, []byte("b\n")); ok {
		t.Error("removed here and changed there is no conflict")
	}
}

// A side that changed nothing has no say, and two sides that agree are believed.
func FuzzMerge3(f *testing.F) {
	f.Add("a\nb\nc\n", "a\nB\nc\n", "a\nb\nC\n")
	f.Add("", "x", "y")
	f.Add("a\na\na\n", "a\na\n", "a\na\na\na\n")
	f.Fuzz(func(t *testing.T, base, local, remote string) {
		if len(base)+len(local)+len(remote) > 20_000 {
			return
		}
		b, l, r := []byte(base), []byte(local), []byte(remote)
		if got, ok := merge3.Merge(b, l, b); !ok || !bytes.Equal(got, l) {
			t.Errorf("remote unchanged: %q", got)
		}
		if got, ok := merge3.Merge(b, b, r); !ok || !bytes.Equal(got, r) {
			t.Errorf("local unchanged: %q", got)
		}
		if got, ok := merge3.Merge(b, l, l); !ok || !bytes.Equal(got, l) {
			t.Errorf("both the same: %q", got)
		}
		out, ok := merge3.Merge(b, l, r)
		back, backOK := merge3.Merge(b, r, l)
		if ok != backOK || ok && !bytes.Equal(out, back) {
			t.Errorf("the order of the sides matters: %q %v, %q %v", out, ok, back, backOK)
		}
		for line := range strings.Lines(local) { // what one side added is not lost
			if !strings.Contains(base, line) && !strings.Contains(string(out), strings.TrimSuffix(line, "\n")) {
				t.Errorf("the line %q is gone from %q", line, out)
			}
		}
	})
}
