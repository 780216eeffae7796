package fold

import "strings"

// confusable maps a folded letter or digit to the prototype that it is mistaken
// for. The table covers what a spoofed skill name is made of: Cyrillic, Greek,
// Armenian and Latin look-alikes, digits that read as letters, and punctuation that
// reads as a hyphen. Fullwidth and styled forms are gone already: Key applies NFKC.
var confusable = buildConfusable()

func buildConfusable() map[rune]string {
	rows := []struct{ to, from string }{
		{"a", "аɑα"},
		{"b", "ьƅЬ"},
		{"c", "сϲⅽ"},
		{"d", "ԁɗ"},
		{"e", "еҽε℮"},
		{"f", "ſẝϝ"},
		{"g", "ɡցǥ"},
		{"h", "һհ"},
		{"i", "іιıɩӏ1l|ǀⅼ"},
		{"j", "јϳ"},
		{"k", "кκқ"},
		{"m", "м"},
		{"n", "пոη"},
		{"o", "оοօσ0ө૦०০੦௦๐໐ဝ"},
		{"p", "рρ"},
		{"q", "ԛգ"},
		{"r", "гг"},
		{"s", "ѕꜱ"},
		{"t", "тτ"},
		{"u", "υսʋ"},
		{"v", "νѵ"},
		{"w", "ԝѡω"},
		{"x", "хχ×"},
		{"y", "уүγʏ"},
		{"z", "ᴢ"},
		{"3", "зӡʒ"},
		{"4", "ч"},
		{"6", "б"},
		{"-", "‐‑‒–—−ー一_"},
		{"'", "’‘ʼ`´"},
		{":", "։ː∶"},
		{".", "․·"},
		{"ss", "ß"},
		{"ae", "æӕ"},
		{"oe", "œ"},
	}
	m := make(map[rune]string, 128)
	for _, row := range rows {
		for _, r := range row.from {
			m[r] = row.to
		}
	}
	return m
}

var pairs = strings.NewReplacer("rn", "m", "vv", "w", "ci", "d")
