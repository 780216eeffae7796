package skill

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/deftskills/deft/internal/limits"
)

var testLimits = limits.DefaultSkill()

// headerOf returns the header of a file as the readers see it.
func headerOf(src []byte) (text string, first int, ok bool) {
	if code, _, _ := badByte(src); code != "" {
		return "", 0, false
	}
	p := Split(src)
	if !p.HasHeader {
		return "", 0, false
	}
	return NormaliseBody(string(src[p.Header.Start:p.Header.End])), p.HeaderLine, true
}

// unequal says how the tree of the fast path differs from the library's; "" when it
// does not, or when the fast path leaves the text alone.
func unequal(text string, first int) string {
	fast := readFast(text, first, testLimits)
	if fast == nil {
		return ""
	}
	slow, why := headerText{text: text, first: first, limits: testLimits}.library(text)
	if why != nil {
		return "the library refuses what the fast path takes: " + why.code + ": " + why.message
	}
	return cmp.Diff(slow, fast)
}

func FuzzFastPathEqualsLibrary(f *testing.F) {
	for _, seed := range fastSeeds {
		f.Add(seed)
	}
	for i, file := range corpus(f, "skills-dev.tar.gz") {
		if text, _, ok := headerOf(file.src); ok && i%7 == 0 && len(text) < 2000 {
			f.Add(text)
		}
	}
	f.Fuzz(func(t *testing.T, text string) {
		if code, _, _ := badByte([]byte(text)); code != "" {
			return
		}
		if why := unequal(text, 2); why != "" {
			t.Error(why)
		}
	})
}

var fastSeeds = []string{
	"name: a\ndescription: b c\n",
	"name: \"a \\\" b\"\nx: 'y'\n",
	"a: >-\n  one\n  two\n\n  three\nb: |\n  x\n  y\n",
	"tools: [Read, Grep, \"a b\"]\nempty: []\n",
	"tools:\n  - Read\n  - 'x'\nlist:\n- a\n- b\n",
	"metadata:\n  author: me\n  tags:\n    - a\n    - b\n  inner: [x]\nnext: 1\n",
	"a:\nb: \nc:   \n",
	"name: данные\ndescription: 数据 分析\n",
	"x: -y\nz: --flag\nq: -\n",
	"a: b:c\nu: http://x/y#z\n",
	"a: >\n  x\n  y\n",
	"a: |-\n    deep\n    er\nb: 2\n",
	"a: [é, b]\n",
	"- a\n",
	"a: ~\nb: null\nc: yes\nd: 007\n",
}

func TestFastPathTakesThePlainSubset(t *testing.T) {
	t.Parallel()
	for _, seed := range fastSeeds {
		if why := unequal(seed, 2); why != "" {
			t.Errorf("%q: %s", seed, why)
		}
	}
	for _, c := range []struct {
		name, text string
		taken      bool
	}{
		{"plain lines", "name: a\ndescription: b\n", true},
		{"quotes", "name: \"a\"\nb: 'c: d'\n", true},
		{"blocks", "d: >-\n  a\n  b\n", true},
		{"flow list", "t: [a, b]\n", true},
		{"block list", "t:\n  - a\n", true},
		{"one level of nesting", "m:\n  a: b\n", true},
		{"two levels of nesting", "m:\n  a:\n    b: c\n", false},
		{"colon in the value", "d: a: b\n", false},
		{"comment in the value", "d: a # b\n", false},
		{"comment line", "# x\nd: a\n", false},
		{"wrapped value", "d: a\n  b\n", false},
		{"alias", "d: *a\n", false},
		{"tag", "d: !x y\n", false},
		{"escape", "d: \"a\\n\"\n", false},
		{"doubled quote", "d: 'it''s'\n", false},
		{"tab", "d: a\tb\n", false},
		{"duplicate", "d: a\nd: b\n", false},
		{"flow map", "d: {a: b}\n", false},
		{"root list", "- a\n", false},
		{"next line character", "d: a\u0085b\n", false},
		{"byte order mark", "d: a\ufeffb\n", false},
		{"explicit indentation", "d: |2\n  a\n", false},
		{"ragged block", "d: |\n  a\n    b\n", false},
	} {
		if got := readFast(c.text, 2, testLimits) != nil; got != c.taken {
			t.Errorf("%s: taken = %v, want %v", c.name, got, c.taken)
		}
	}
}
