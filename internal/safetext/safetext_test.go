package safetext

import (
	"bytes"
	"errors"
	"io"
	"strings"
	"syscall"
	"testing"
	"unicode/utf8"
)

func TestFieldKeepsMeaningAndRemovesTheRest(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		in, want string
		removed  int
	}{
		"plain":                   {"Read PDF files.", "Read PDF files.", 0},
		"empty":                   {"", "", 0},
		"one line":                {"  a\r\n\tb\u2028c\u0085d\u3000 e  ", "a b c d e", 0},
		"colour":                  {"\x1b[31mred\x1b[0m", "red", 9},
		"window title":            {"a\x1b]0;evil\x07b", "ab", 9},
		"title with terminator":   {"a\x1b]8;;http://x\x1b\\b", "ab", 15},
		"unclosed title":          {"a\x1b]0;text stays", "a]0;text stays", 1},
		"escape at the end":       {"a\x1b", "a", 1},
		"single introducer":       {"a\u009b31mb", "ab", 4},
		"controls":                {"a\x00b\x7fc\u0080d", "abcd", 3},
		"invalid bytes":           {"a\xff\xfeb", "ab", 2},
		"overrides":               {"a\u202ekcab\u202c", "akcab", 2},
		"isolates":                {"a\u2066b\u2069", "ab", 2},
		"invisible":               {"a\u200bb\u2060c\ufeffd\u00ade", "abcde", 4},
		"blank beside removed":    {"a \u200b b", "a b", 1},
		"tags":                    {"a\U000e0041\U000e007fb", "ab", 2},
		"noncharacter":            {"a\ufffeb\ufdd0c\U0010ffffd", "abcd", 3},
		"replacement char stays":  {"a\ufffdb", "a\ufffdb", 0},
		"family":                  {"👨‍👩‍👧‍👦", "👨‍👩‍👧‍👦", 0},
		"heart on fire":           {"❤️‍🔥", "❤️‍🔥", 0},
		"joiner in latin":         {"a\u200db\u200cc", "abc", 2},
		"devanagari":              {"क्\u200dष", "क्\u200dष", 0},
		"persian":                 {"می\u200cخواهم", "می\u200cخواهم", 0},
		"mark beside hebrew":      {"\u200fשלום\u200e x", "\u200fשלום\u200e x", 0},
		"mark in latin":           {"a\u200eb\u200f", "ab", 2},
		"selector on a picture":   {"☀️", "☀️", 0},
		"keycap":                  {"1️⃣", "1️⃣", 0},
		"selector on a letter":    {"a\ufe0f", "a", 1},
		"ideographic selector":    {"葛\U000e0100", "葛\U000e0100", 0},
		"selector hides data":     {"a\U000e0100\U000e0101", "a", 2},
		"flag of Scotland":        {"🏴\U000e0067\U000e0062\U000e0073\U000e0063\U000e0074\U000e007f", "🏴\U000e0067\U000e0062\U000e0073\U000e0063\U000e0074\U000e007f", 0},
		"flag that never ends":    {"🏴\U000e0067\U000e0062", "🏴", 2},
		"decomposed stays":        {"e\u0301", "e\u0301", 0},
		"only white space":        {" \n\t ", "", 0},
		"combining after removed": {"a\u200b\u0301", "a\u0301", 1},
	} {
		got, removed := Field(tt.in)
		if got != tt.want || removed != tt.removed {
			t.Errorf("%s: Field(%q) = %q, %d; want %q, %d", name, tt.in, got, removed, tt.want, tt.removed)
		}
	}
}

func TestTextShowsWhatItWillNotLetThrough(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{
		"a\nb\tc":           "a\nb\tc",
		"a\r\nb":            "a\nb",
		"a\rb":              `a\x0db`,
		"\x1b[2J":           `\x1b[2J`,
		"x\u202ey":          "x<U+202E>y",
		"x\u0085y":          "x<U+0085>y",
		"a\xffb":            `a\xffb`,
		"👩‍🔬 日本語":           "👩‍🔬 日本語",
		"a\u200db":          "a<U+200D>b",
		"\a":                `\x07`,
		"tag\U000e0041":     "tag<U+E0041>",
		"line\u2028forged":  "line<U+2028>forged",
		"🏴\U000e0067\u0041": "🏴<U+E0067>A",
	} {
		if got := Text(in); got != want {
			t.Errorf("Text(%q) = %q, want %q", in, got, want)
		}
	}
	if got := Line("a\nb\tc\r\n"); got != `a\nb\tc\x0d\n` {
		t.Errorf("Line = %q", got)
	}
}

func TestClipCutsBetweenCharacters(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		in   string
		max  int
		want string
	}{
		{"short", 10, "short"},
		{"exactly", 7, "exactly"},
		{"abcdef", 4, "abc…"},
		{"ab cdef", 4, "ab…"},
		{"日本語テキスト", 4, "日本語…"},
		{"日本語", 3, "日本語"},
		{"👨‍👩‍👧‍👦👨‍👩‍👧‍👦👨‍👩‍👧‍👦", 2, "👨‍👩‍👧‍👦…"},
		{"e\u0301e\u0301e\u0301", 2, "e\u0301…"},
		{"abc", 1, "…"},
		{"abc", 0, ""},
		{"", 0, ""},
	} {
		if got := Clip(tt.in, tt.max); got != tt.want {
			t.Errorf("Clip(%q, %d) = %q, want %q", tt.in, tt.max, got, tt.want)
		}
	}
}

func TestPrinterCleansEveryArgument(t *testing.T) {
	t.Parallel()
	var b bytes.Buffer
	p := NewPrinter(&b, Policy{})
	evil := "x\x1b[31m\ny"
	p.Printf("%s|%q|%-8s|%d|%v|%v|%5.1f|%s\n", evil, "q", "w", 3, errors.New(evil), []string{evil}, 1.25, []byte(evil))
	p.Println(evil, Safe("ok"), p.Paint(Red, evil))
	p.Text("a\n\x1bb\n")
	p.Bytes([]byte("\x00"))
	clean := `x\x1b[31m\ny`
	want := clean + `|"q"|w       |3|` + clean + "|[" + clean + "]|  1.2|" + clean + "\n" +
		clean + " ok " + clean + "\n" + "a\n\\x1bb\n\x00"
	if b.String() != want {
		t.Errorf("got  %q\nwant %q", b.String(), want)
	}
	b.Reset()
	c := NewPrinter(&b, Policy{Color: true})
	c.Printf("%s", c.Paint(Bold, "a\x1b"))
	if b.String() != "\x1b[1ma\\x1b\x1b[0m" {
		t.Errorf("painted %q", b.String())
	}
}

type failing struct{ err error }

func (f failing) Write([]byte) (int, error) { return 0, f.err }

func TestPrinterRemembersErrorsButNotAClosedPipe(t *testing.T) {
	t.Parallel()
	p := NewPrinter(failing{syscall.EPIPE}, Policy{})
	p.Println("x")
	if !p.Closed() || p.Err() != nil {
		t.Errorf("closed %v, error %v", p.Closed(), p.Err())
	}
	p = NewPrinter(failing{io.ErrShortWrite}, Policy{})
	p.Println("x")
	if !p.Closed() || !errors.Is(p.Err(), io.ErrShortWrite) {
		t.Errorf("closed %v, error %v", p.Closed(), p.Err())
	}
}

func FuzzField(f *testing.F) {
	for _, s := range []string{"plain", "a\x1b[1mb", "👨‍👩‍👧", "a \u200b b", "🏴\U000e0067\U000e007f", "\xff\u202e", "می\u200cخ"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		once, removed := Field(s)
		again, more := Field(once)
		if again != once || more != 0 {
			t.Fatalf("Field is not idempotent: %q, then %q (%d)", once, again, more)
		}
		if removed == 0 && len(once) > len(s) || !utf8.ValidString(once) || strings.ContainsAny(once, "\n\r\t\x1b\u202e\u200b") ||
			strings.Contains(once, "  ") || strings.TrimSpace(once) != once {
			t.Fatalf("Field(%q) = %q", s, once)
		}
		for _, shown := range []string{Text(s), Line(s)} {
			if !utf8.ValidString(shown) || strings.ContainsAny(shown, "\r\x1b\u202e\u0085") || Text(shown) != shown {
				t.Fatalf("shown %q", shown)
			}
		}
		if strings.ContainsAny(Line(s), "\n\t") {
			t.Fatalf("Line(%q) has more lines", s)
		}
		if n := Clusters(Clip(once, 5)); n > 5 {
			t.Fatalf("Clip left %d clusters", n)
		}
	})
}
