package text

import "testing"

func TestOneOfAThingIsSaidInTheSingular(t *testing.T) {
	t.Parallel()
	w := Words{"n": "%d skills of %s", "n.one": "%d skill of %s", "s": "%s"}
	for _, c := range []struct{ got, want string }{
		{w.Say("n", 1, "a"), "1 skill of a"},
		{w.Say("n", 2, "a"), "2 skills of a"},
		{w.Say("n", 0, "a"), "0 skills of a"},
		{w.Say("s", "1"), "1"},
	} {
		if c.got != c.want {
			t.Errorf("%q, want %q", c.got, c.want)
		}
	}
}
