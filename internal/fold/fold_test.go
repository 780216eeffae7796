package fold

import (
	"testing"

	"golang.org/x/text/unicode/norm"
	"pgregory.net/rapid"
)

func TestKey(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ in, want string }{
		{"", ""},
		{"Mailer", "mailer"},
		{"Café", "café"},
		{"cafe\u0301", "café"},
		{"STRASSE", "strasse"},
		{"Straße", "strasse"},
		{"ＦＵＬＬ", "full"},
		{"Мой-Навык", "мой-навык"},
		{"数据分析", "数据分析"},
		{"ﬁx", "fix"},
		{"\uab70", "\u13a0"},
		{"\u13a0", "\u13a0"},
		{"\u13fa", "\u13f2"},
	} {
		if got := Key(c.in); got != c.want {
			t.Errorf("Key(%q) = %q, want %q", c.in, got, c.want)
		}
	}
}

func TestHandle(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ in, want string }{
		{"release-notes", "release-notes"},
		{"My Skill!", "my-skill"},
		{"a--b", "a-b"},
		{"-x-", "x"},
		{"a _.b", "a-b"},
		{"plugin:tool", "plugin:tool"},
		{"数据 分析", "数据-分析"},
		{"Café Menu", "café-menu"},
		{"!!!", ""},
		{"a.b_c", "a-b-c"},
		{"A?\u0300", "à"},
	} {
		if got := Handle(c.in); got != c.want {
			t.Errorf("Handle(%q) = %q, want %q", c.in, got, c.want)
		}
	}
}

func TestSkeletonMakesLookAlikesEqual(t *testing.T) {
	t.Parallel()
	for _, c := range [][2]string{
		{"commit", "соmmіt"}, {"deploy", "dерlоу"}, {"paypal", "pаypа1"}, {"modern", "modem"},
		{"a-b", "a‐b"}, {"Ｄeploy", "deploy"}, {"ops", "0ps"}, {"review", "re\u200bview"},
	} {
		if Skeleton(c[0]) != Skeleton(c[1]) {
			t.Errorf("Skeleton(%q) = %q, Skeleton(%q) = %q", c[0], Skeleton(c[0]), c[1], Skeleton(c[1]))
		}
	}
	if Skeleton("commit") == Skeleton("summit") {
		t.Error("different names have one skeleton")
	}
}

func TestDistance(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		a, b        string
		limit, want int
	}{
		{"description", "descriptoin", 2, 1},
		{"abc", "abc", 2, 0},
		{"abc", "", 2, 3},
		{"kitten", "sitting", 5, 3},
		{"kitten", "sitting", 2, 3},
		{"ab", "ba", 1, 1},
		{"数据", "数居", 2, 1},
		{"completely", "different", 2, 3},
	} {
		if got := Distance(c.a, c.b, c.limit); got != c.want {
			t.Errorf("Distance(%q, %q, %d) = %d, want %d", c.a, c.b, c.limit, got, c.want)
		}
	}
}

func TestNearestPrefersTheFirstOfEquals(t *testing.T) {
	t.Parallel()
	if got, ok := Nearest("mod", []string{"paths", "mode", "model", "mods"}, 2); !ok || got != "mode" {
		t.Errorf("Nearest = %q, %v", got, ok)
	}
	if _, ok := Nearest("zebra", []string{"paths"}, 2); ok {
		t.Error("Nearest found a stranger")
	}
}

func TestKeyAndHandleAreStable(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		s := rapid.String().Draw(t, "s")
		if k := Key(s); Key(k) != k {
			t.Fatalf("Key(%q) = %q, whose key is %q", s, k, Key(k))
		}
		if h := Handle(s); Handle(h) != h {
			t.Fatalf("Handle(%q) = %q, whose handle is %q", s, h, Handle(h))
		}
		if n := NFC(s); !norm.NFC.IsNormalString(n) {
			t.Fatalf("NFC(%q) = %q", s, n)
		}
	})
}

func TestDistanceIsSymmetric(t *testing.T) {
	t.Parallel()
	word := rapid.StringOfN(rapid.RuneFrom([]rune("abc")), 0, 8, -1)
	rapid.Check(t, func(t *rapid.T) {
		a, b := word.Draw(t, "a"), word.Draw(t, "b")
		limit := rapid.IntRange(0, 9).Draw(t, "limit")
		d, e := Distance(a, b, limit), Distance(b, a, limit)
		if d != e || d != min(Distance(a, b, 9), limit+1) {
			t.Fatalf("Distance(%q, %q, %d) = %d and %d", a, b, limit, d, e)
		}
	})
}

func TestKeyAndHandleAreStableForEveryLetter(t *testing.T) {
	t.Parallel()
	for r := rune(1); r < 0x30000; r++ {
		if r == 0xD800 {
			r = 0xE000
		}
		if k := Key(string(r)); Key(k) != k {
			t.Errorf("Key(%U) = %+q, whose key is %+q", r, k, Key(k))
		}
		if h := Handle("a" + string(r)); Handle(h) != h {
			t.Errorf("Handle(%U) = %+q, whose handle is %+q", r, h, Handle(h))
		}
	}
}
