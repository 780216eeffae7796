package search

import (
	_ "embed"
	"strings"
	"sync"
	"unicode"
	"unicode/utf8"

	"github.com/clipperhouse/uax29/v2/graphemes"
	"golang.org/x/text/unicode/norm"
)

// Bounds of one term, in characters. Longer words are noise (encoded data), longer
// joined identifiers add nothing to their parts.
const (
	maxTerm   = 64
	maxJoined = 40
	maxDigits = 20
)

//go:embed stopwords.txt
var stopwordsFile string

// kept are words whose signs belong to them.
var kept = map[string]bool{"node.js": true, "next.js": true}

// Token is one word of a text as the index knows it. Start is the byte where it
// begins (where its run of letters begins, when that had to be normalised), Line
// counts from 1.
type Token struct {
	Term        string
	Start, Line int
}

// Tokens yields the words of text as the default index counts them: lower-case,
// stemmed, without stop words; runs of Chinese, Japanese or Korean give overlapping
// pairs of characters; identifiers give their parts and the joined form. It stops
// when yield returns false.
func Tokens(text string, yield func(Token) bool) {
	line, at, more := 1, 0, true
	usualAnalyzer().each(text, false, func(term []byte, start int) bool {
		line += strings.Count(text[at:max(start, at)], "\n")
		at = max(start, at)
		more = more && yield(Token{Term: string(term), Start: start, Line: line})
		return more
	})
}

// analyzer turns text into terms. It is immutable.
type analyzer struct {
	stem   bool
	stop   map[string]struct{}
	shapes [16]uint32         // of stop words: by length, a bit for each first letter; [0] has other lengths
	common map[string]float64 // see rarity
	table  func() alsoWords   // made at its first use
}

// usualAnalyzer is the one of the default options, made once.
var usualAnalyzer = sync.OnceValue(func() *analyzer { return newAnalyzer(DefaultOptions()) })

func newAnalyzer(o Options) *analyzer {
	words := o.Stop
	if words == nil {
		for line := range strings.Lines(stopwordsFile) {
			if !strings.HasPrefix(line, "#") {
				words = append(words, strings.Fields(line)...)
			}
		}
	}
	a := &analyzer{stem: !o.NoStem, stop: make(map[string]struct{}, len(words)), common: commonWords()}
	for _, w := range words {
		w = strings.ToLower(w)
		a.stop[w] = struct{}{}
		if n := len(w); n < len(a.shapes) && n > 0 {
			a.shapes[n] |= 1 << (w[0] & 31)
		} else {
			a.shapes[0] = 1
		}
	}
	a.table = sync.OnceValue(a.readAlso)
	return a
}

// each calls emit for every term of text; emit must not keep the slice, and ends the
// walk by returning false. A name's one-letter and unstemmed words count too.
func (a *analyzer) each(text string, name bool, emit func(term []byte, start int) bool) {
	w := walker{a: a, name: name, emit: emit}
	w.walk(text)
}

// walk sends the terms of text.
func (w *walker) walk(text string) {
	for i := 0; i < len(text) && !w.done; {
		end, ascii := runEnd(text, i)
		if end == i {
			i = w.sign(text, i)
			continue
		}
		if ascii {
			w.asciiRun(text[i:end], i)
			i = w.suffix(text, i, end)
		} else {
			w.wideRun(text[i:end], i)
			i = end
		}
	}
}

const (
	otherByte = iota
	lowerByte
	upperByte
	digitByte
	joinByte
)

// byteClass sorts ASCII; every byte of a wider character is otherByte.
var byteClass = func() (t [256]uint8) {
	for c := 'a'; c <= 'z'; c++ {
		t[c], t[c-'a'+'A'] = lowerByte, upperByte
	}
	for c := '0'; c <= '9'; c++ {
		t[c] = digitByte
	}
	t['_'], t['-'], t['.'], t['/'] = joinByte, joinByte, joinByte, joinByte
	return t
}()

// runEnd returns the end of the run of letters, marks and digits at i, with single
// joiners between them; i when there is none.
func runEnd(text string, i int) (end int, ascii bool) {
	ascii, end = true, i
	for j := i; j < len(text); {
		switch class := byteClass[text[j]]; {
		case class == joinByte:
			if j == i || byteClass[text[j-1]] == joinByte {
				return end, ascii
			}
			j++
		case class != otherByte:
			j++
			end = j
		case text[j] < utf8.RuneSelf:
			return end, ascii
		default:
			r, n := utf8.DecodeRuneInString(text[j:])
			if !isWordRune(r) {
				return end, ascii
			}
			j += n
			end, ascii = j, false
		}
	}
	return end, ascii
}

func isWordRune(r rune) bool {
	return r != utf8.RuneError && (unicode.IsLetter(r) || unicode.IsMark(r) || unicode.IsDigit(r)) || r == 0x3005
}

type walker struct {
	a        *analyzer
	name     bool
	done     bool
	emit     func(term []byte, start int) bool
	compound func(terms int) // told that the last terms are a word with hyphens: its parts, and the whole; may be nil
	sent     int
	buf      []byte
	all      []byte // the joined form of an identifier
}

// sign looks at a character that begins no word: ".net" is one that does.
func (w *walker) sign(text string, i int) int {
	if text[i] == '.' && len(text) >= i+4 && strings.EqualFold(text[i:i+4], ".net") {
		if end, _ := runEnd(text, i+1); end == i+4 {
			w.send([]byte(".net"), i)
		}
	}
	if text[i] < utf8.RuneSelf {
		return i + 1
	}
	_, n := utf8.DecodeRuneInString(text[i:])
	return i + n
}

// suffix sends c++, c# and f#, whose signs stand after the run, and returns where
// the walk goes on.
func (w *walker) suffix(text string, i, end int) int {
	if end-i != 1 || end == len(text) {
		return end
	}
	c := text[i] | 0x20
	switch {
	case c == 'c' && strings.HasPrefix(text[end:], "++"):
		w.send([]byte("c++"), i)
		return end + 2
	case (c == 'c' || c == 'f') && text[end] == '#':
		w.send([]byte{c, '#'}, i)
		return end + 1
	}
	return end
}

// asciiRun splits a run at '.' and '/', each piece into the parts of an identifier.
func (w *walker) asciiRun(run string, start int) {
	if len(run) == 7 && kept[strings.ToLower(run)] {
		w.send([]byte(strings.ToLower(run)), start)
	}
	for len(run) > 0 {
		cut := 0
		for cut < len(run) && run[cut] != '.' && run[cut] != '/' {
			cut++
		}
		piece := run[:cut]
		run = run[min(cut+1, len(run)):]
		w.identifier(piece, start)
		start += len(piece) + 1
	}
}

// identifier sends the parts of camelCase, HTTPServer, snake_case, kebab-case and
// v2beta, and where there are several, their joined form.
func (w *walker) identifier(s string, start int) {
	w.all = w.all[:0]
	parts, from, before := 0, 0, w.sent
	for i := 0; i < len(s); i++ {
		if byteClass[s[i]] == joinByte {
			parts += w.part(s, from, i, start)
			from = i + 1
		} else if i > from && splits(s, i) {
			parts += w.part(s, from, i, start)
			from = i
		}
	}
	parts += w.part(s, from, len(s), start)
	if parts < 2 || len(w.all) > maxJoined {
		return
	}
	pieces := w.sent
	w.buf = append(w.buf[:0], w.all...)
	w.word(w.buf, start)
	if w.compound != nil && before < pieces && pieces < w.sent && strings.Contains(s, "-") {
		w.compound(w.sent - before)
	}
}

func (w *walker) part(s string, from, to, start int) int {
	if from == to {
		return 0
	}
	w.buf = w.buf[:0]
	for i := from; i < to; i++ {
		c := s[i]
		if byteClass[c] == upperByte {
			c |= 0x20
		}
		w.buf = append(w.buf, c)
	}
	w.all = append(w.all, w.buf...)
	w.word(w.buf, start+from)
	return 1
}

// splits reports whether a new part begins at s[i].
func splits(s string, i int) bool {
	before, here := byteClass[s[i-1]], byteClass[s[i]]
	switch {
	case before == joinByte:
		return false
	case before == digitByte || here == digitByte:
		return before != here
	case before == lowerByte:
		return here == upperByte
	}
	return here == upperByte && i+1 < len(s) && byteClass[s[i+1]] == lowerByte
}

// wideRun handles a run with characters outside ASCII.
func (w *walker) wideRun(run string, start int) {
	exact := norm.NFKC.IsNormalString(run)
	if !exact {
		run = norm.NFKC.String(run)
	}
	run = foldHan(run)
	for i := 0; i < len(run) && !w.done; {
		kind := scriptAt(run, i)
		j := i
		for j < len(run) && scriptAt(run, j) == kind {
			_, n := utf8.DecodeRuneInString(run[j:])
			j += n
		}
		at := start
		if exact {
			at += i
		}
		switch kind {
		case cjk:
			w.pairs(run[i:j], at, false)
		case clustered:
			w.pairs(run[i:j], at, true)
		case spaced:
			w.wideWords(run[i:j], at)
		}
		i = j
	}
}

// wideWords handles words of scripts with blanks: at joiners they split, and Latin
// ones are also sent without accents.
func (w *walker) wideWords(s string, start int) {
	if isASCII(s) {
		w.asciiRun(s, start)
		return
	}
	for word := range strings.FieldsFuncSeq(s, func(r rune) bool {
		return !isWordRune(r)
	}) {
		if isASCII(word) {
			w.identifier(word, start)
			continue
		}
		lower := strings.ToLower(word)
		w.word(append(w.buf[:0], lower...), start)
		if plain, ok := withoutAccents(lower); ok {
			w.word(append(w.buf[:0], plain...), start)
		}
	}
}

// withoutAccents returns a Latin word without its marks, and false when it has none.
func withoutAccents(s string) (string, bool) {
	var b strings.Builder
	latin := false
	for _, r := range norm.NFD.String(s) {
		switch {
		case unicode.Is(unicode.Mn, r):
			continue
		case unicode.Is(unicode.Latin, r):
			latin = true
		}
		b.WriteRune(r)
	}
	return b.String(), latin && b.String() != s
}

// pairs sends overlapping units of two characters (of grapheme clusters), or the one
// that there is.
func (w *walker) pairs(s string, start int, clusters bool) {
	last, units := 0, 0 // last is where the unit before began
	step := func(from, to int) {
		if units++; units > 1 && !w.done {
			w.buf = append(w.buf[:0], s[last:to]...)
			w.send(w.buf, start+last)
		}
		last = from
	}
	if clusters {
		for g := graphemes.FromString(s); g.Next(); {
			step(g.Start(), g.End())
		}
	} else {
		for i := 0; i < len(s); {
			_, n := utf8.DecodeRuneInString(s[i:])
			step(i, i+n)
			i += n
		}
	}
	if units == 1 {
		w.send(append(w.buf[:0], s...), start)
	}
}

// word drops what is too short, too long or says nothing, stems, and sends.
func (w *walker) word(b []byte, start int) {
	if len(b) < 2 && !w.name || len(b) > maxTerm && utf8.RuneCount(b) > maxTerm {
		return
	}
	if len(b) > maxDigits && allDigits(b) {
		return
	}
	if !w.name && w.a.stops(b) {
		return
	}
	if !w.a.stem {
		w.send(b, start)
		return
	}
	if w.name && len(b) >= 5 {
		whole := string(b)
		if s := stem(b); string(s) != whole {
			w.send(s, start)
		}
		w.send([]byte(whole), start)
		return
	}
	w.send(stem(b), start)
}

// stops reports whether b is a stop word. Most words have the shape of none.
func (a *analyzer) stops(b []byte) bool {
	if n := len(b); n < len(a.shapes) && a.shapes[n]&(1<<(b[0]&31)) == 0 || n >= len(a.shapes) && a.shapes[0] == 0 {
		return false
	}
	_, stop := a.stop[string(b)]
	return stop
}

func (w *walker) send(term []byte, start int) {
	if !w.done {
		w.sent++
		w.done = !w.emit(term, start)
	}
}

func allDigits(b []byte) bool {
	for _, c := range b {
		if c < '0' || c > '9' {
			return false
		}
	}
	return true
}

func isASCII(s string) bool {
	for i := range len(s) {
		if s[i] >= utf8.RuneSelf {
			return false
		}
	}
	return true
}

type script uint8

const (
	spaced script = iota
	cjk
	clustered
)

// scriptAt says how the character at i is cut into words: marks and joiners belong
// to what stands before them.
func scriptAt(s string, i int) script {
	if s[i] < utf8.RuneSelf {
		return spaced
	}
	r, _ := utf8.DecodeRuneInString(s[i:])
	switch {
	case r < 0x0E00:
		return spaced
	case r == 0x3005 || r == 0x30FC || unicode.In(r, unicode.Han, unicode.Hiragana, unicode.Katakana, unicode.Hangul, unicode.Bopomofo):
		return cjk
	case unicode.In(r, unicode.Thai, unicode.Lao, unicode.Khmer, unicode.Myanmar):
		return clustered
	}
	return spaced
}
