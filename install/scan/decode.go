package scan

import (
	"bytes"
	"compress/gzip"
	"compress/zlib"
	"encoding/ascii85"
	"encoding/base32"
	"encoding/base64"
	"encoding/hex"
	"io"
	"regexp"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

const (
	maxDecoded = 1 << 20 // bytes of decoded text of one file
	maxLevels  = 2       // encodings inside each other
	leastBase  = 20      // characters of a run that may be base64
	leastHex   = 24
	leastCodes = 8 // numbers in a row that may be characters
)

// decoded is text that stood encoded in a line.
type decoded struct {
	no, column int
	form, text string
	where      place
	lang       string
}

// decode returns what the lines hold in encoded form. Bytes that are no text are left
// out: pictures and keys are encoded too.
func decode(lines []line, lowFile string) (out []decoded) {
	forms := mentioned(lowFile)
	add := func(l *line, at int, form, text string) {
		if len(text) > 3 {
			out = append(out, decoded{l.no, l.start + at + 1, form, text, placed(form, l), l.lang})
		}
	}
	for i := range lines {
		l := &lines[i]
		if len(l.raw) < 6 {
			continue
		}
		runs(l.raw, isBase64, leastBase, func(from, to int) {
			run := l.raw[from:to]
			if form, text := unpack(run); text != "" {
				add(l, from, form, text)
			}
		})
		for _, e := range escapes {
			if strings.Contains(l.low, e.trigger) {
				for _, at := range e.runs.FindAllStringIndex(l.raw, 16) {
					add(l, at[0], e.form, readable([]byte(e.text(l.raw[at[0]:at[1]]))))
				}
			}
		}
		numbers(l.raw, func(at int, text string) { add(l, at, "codes", readable([]byte(text))) })
		if text := spliced(l); text != "" {
			add(l, 0, "joined", text)
		}
		for _, f := range forms {
			f.each(l, add)
		}
	}
	out = append(out, parts(lines, lowFile)...)
	out = append(out, listedRows(lines)...)
	return append(out, wrapped(lines)...)
}

// listedRows reads numbers that are characters over several lines.
func listedRows(lines []line) (out []decoded) {
	row := func(l *line) bool {
		return len(l.raw) <= longLine && strings.Trim(l.raw, "0123456789, \t[]()xabcdefABCDEF") == "" && strings.ContainsAny(l.raw, "0123456789")
	}
	for i := 0; i < len(lines); i++ {
		if !row(&lines[i]) {
			continue
		}
		first := i
		var b strings.Builder
		for ; i < len(lines) && row(&lines[i]) && b.Len() < maxDecoded; i++ {
			b.WriteString(strings.Trim(lines[i].raw, " \t[]()") + " ")
		}
		if i-first > 1 {
			l := &lines[first]
			numbers(b.String(), func(_ int, text string) {
				if text = readable([]byte(text)); text != "" {
					out = append(out, decoded{l.no, 1, "codes", text, placed("codes", l), l.lang})
				}
			})
		}
	}
	return out
}

// placed returns where decoded text counts as standing. What had to be decoded could be
// anything; words that were only split are still what the line is.
func placed(form string, l *line) place {
	if form == "joined" {
		return l.where
	}
	if form == "url" {
		return l.where&^inQuote | inScript | inProse
	}
	return l.where&^inQuote | inScript | inProse | inComment
}

// runs calls found with every stretch of at least n bytes of a set.
func runs(s string, in func(byte) bool, n int, found func(from, to int)) {
	for i := 0; i < len(s); {
		if !in(s[i]) {
			i++
			continue
		}
		from := i
		for i < len(s) && in(s[i]) {
			i++
		}
		if i-from >= n {
			found(from, i)
		}
	}
}

func isBase64(c byte) bool {
	return 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || '0' <= c && c <= '9' || c == '+' || c == '/' || c == '-' || c == '_'
}

// unpack reads a run as hexadecimal or base64, packed or not; "" = neither is text.
func unpack(run string) (form, text string) {
	if len(run) >= leastHex && len(run)%2 == 0 {
		if b, err := hex.DecodeString(run); err == nil {
			return "hex", readable(b)
		}
	}
	std := strings.NewReplacer("-", "+", "_", "/").Replace(run)
	if len(std)%4 == 1 {
		std = std[:len(std)-1]
	}
	b, err := base64.RawStdEncoding.DecodeString(std)
	if err != nil {
		return "", ""
	}
	return "base64", readable(b)
}

// readable returns bytes that are text: UTF-8 or UTF-16 of ASCII, perhaps packed.
func readable(b []byte) string {
	if bytes.HasPrefix(b, []byte{0x1F, 0x8B}) {
		if r, err := gzip.NewReader(bytes.NewReader(b)); err == nil {
			b, _ = io.ReadAll(io.LimitReader(r, maxDecoded))
		}
	} else if len(b) > 2 && b[0] == 0x78 && (int(b[0])<<8|int(b[1]))%31 == 0 {
		if r, err := zlib.NewReader(bytes.NewReader(b)); err == nil {
			b, _ = io.ReadAll(io.LimitReader(r, maxDecoded))
		}
	}
	if len(b) > 7 && b[1] == 0 && b[3] == 0 && b[5] == 0 {
		b = bytes.ReplaceAll(b, []byte{0}, nil)
	}
	if !utf8.Valid(b) {
		return ""
	}
	s, letters, odd := string(b), 0, 0
	for _, r := range s {
		switch {
		case r == '\n' || r == '\r' || r == '\t':
		case !unicode.IsPrint(r):
			return ""
		case r > 0x7F:
			odd++
		case unicode.IsLetter(r):
			letters++
		}
	}
	if letters < 3 || odd > letters {
		return ""
	}
	return s
}

// wrapped joins base64 that goes over several lines.
func wrapped(lines []line) (out []decoded) {
	const least = 40 // characters of each line but the last
	whole := func(l *line) bool {
		s := strings.Trim(l.raw, " \t\"'`+\\,();")
		return len(s) >= 4 && strings.Trim(s, "=") != "" && strings.IndexFunc(strings.TrimRight(s, "="), func(r rune) bool { return r > 0x7F || !isBase64(byte(r)) }) < 0
	}
	for i := 0; i < len(lines); i++ {
		if len(lines[i].raw) < least || !whole(&lines[i]) {
			continue
		}
		var b strings.Builder
		first := i
		for ; i < len(lines) && whole(&lines[i]) && b.Len() < maxDecoded; i++ {
			b.WriteString(strings.Trim(lines[i].raw, " \t\"'`+\\,();="))
		}
		if i-first > 1 {
			if form, text := unpack(b.String()); text != "" {
				out = append(out, decoded{lines[first].no, 1, form, text, placed(form, &lines[first]), ""})
			}
		}
	}
	return out
}

// escaped is one way to write characters as numbers.
type escaped struct {
	form, trigger string
	runs          *regexp.Regexp
	digits        *regexp.Regexp
	base          int
}

var escapes = []escaped{
	{"escapes", `\x`, regexp.MustCompile(`(?:\\x[0-9A-Fa-f]{2}){4,}`), regexp.MustCompile(`[0-9A-Fa-f]{2}`), 16},
	{"escapes", `\u`, regexp.MustCompile(`(?:\\u00[0-9A-Fa-f]{2}){4,}`), regexp.MustCompile(`[0-9A-Fa-f]{4}`), 16},
	{"escapes", `\1`, regexp.MustCompile(`(?:\\[01][0-7]{2}){4,}`), regexp.MustCompile(`[0-7]{3}`), 8},
	{"url", `%`, regexp.MustCompile(`(?:%[0-9A-Fa-f]{2}){6,}`), regexp.MustCompile(`[0-9A-Fa-f]{2}`), 16},
	{"escapes", `&#x`, regexp.MustCompile(`(?:&#[xX][0-9A-Fa-f]{2,4};){4,}`), regexp.MustCompile(`[0-9A-Fa-f]{2,4}`), 16},
	{"escapes", `&#`, regexp.MustCompile(`(?:&#[0-9]{2,3};){4,}`), regexp.MustCompile(`[0-9]{2,3}`), 10},
	{"codes", `chr(`, regexp.MustCompile(`(?i)(?:chr\(\s*(?:0x)?[0-9a-f]{2,3}\s*\)\s*[+.&,]?\s*){4,}`), regexp.MustCompile(`[0-9a-f]{2,3}`), 10},
}

func (e escaped) text(run string) string {
	var b strings.Builder
	for _, d := range e.digits.FindAllString(run, -1) {
		if n, err := strconv.ParseUint(d, e.base, 16); err == nil {
			b.WriteRune(rune(n))
		}
	}
	return b.String()
}

// numbers calls found with lists of numbers that may be characters.
func numbers(s string, found func(at int, text string)) {
	var b []byte
	from, last := 0, 0
	flush := func() {
		if len(b) >= leastCodes {
			found(from, string(b))
		}
		b = b[:0]
	}
	for i := 0; i < len(s); {
		if s[i] < '0' || s[i] > '9' {
			i++
			continue
		}
		start, n := i, 0
		if strings.HasPrefix(s[i:], "0x") {
			for i += 2; i < len(s) && strings.IndexByte("0123456789abcdefABCDEF", s[i]) >= 0 && n < 1<<16; i++ {
				v, _ := strconv.ParseUint(s[i:i+1], 16, 8)
				n = n*16 + int(v)
			}
		} else {
			for ; i < len(s) && '0' <= s[i] && s[i] <= '9' && n < 1<<16; i++ {
				n = n*10 + int(s[i]-'0')
			}
		}
		if len(b) > 0 && strings.Trim(s[last:start], " \t,") != "" {
			flush()
		}
		if n < 9 || n > 126 {
			flush()
			last = i
			continue
		}
		if len(b) == 0 {
			from = start
		}
		b, last = append(b, byte(n)), i
	}
	flush()
}

var (
	seams  = regexp.MustCompile(`["']\s*(?:\+|\.\.|&|\.|\|\|)\s*["']|""|''|\$\{?@\}?|\$\{ifs\}|\$ifs\b|[a-z]\\[a-z]`)
	listed = regexp.MustCompile(`["']\s*,\s*["']`)
)

// spliced returns a line of code with the seams of split words taken out; "" = none.
func spliced(l *line) string {
	if l.where&(inScript|inCode|inComment|inHeader|inData) == 0 {
		return ""
	}
	if !strings.Contains(l.low, "ifs") && !strings.Contains(l.low, `\`) && strings.Count(l.low, `"`)+strings.Count(l.low, `'`) < 4 {
		return ""
	}
	if strings.Contains(l.low, "join") {
		l = &line{low: listed.ReplaceAllString(l.low, ""), raw: l.raw}
	} else if !seamed(l.low) {
		return ""
	}
	out := seams.ReplaceAllStringFunc(l.low, func(seam string) string {
		switch {
		case strings.Contains(seam, "ifs"):
			return " "
		case seam[0] >= 'a' && seam[0] <= 'z':
			return seam[:1] + seam[2:]
		}
		return ""
	})
	if out == lower(l.raw) {
		return ""
	}
	return out
}

// seamed reports whether a line may hold a seam. It is there because looking is a tenth of
// what the pattern costs on a long line.
func seamed(s string) bool {
	if strings.Contains(s, "ifs") || strings.Contains(s, "$@") || strings.Contains(s, "${@") {
		return true
	}
	letter := func(i int) bool { return i >= 0 && i < len(s) && 'a' <= s[i] && s[i] <= 'z' }
	for i := 0; i < len(s); i++ {
		switch c := s[i]; c {
		case '\\':
			if letter(i-1) && letter(i+1) {
				return true
			}
		case '"', '\'':
			j := i + 1
			for j < len(s) && strings.IndexByte(" \t\n\f\r", s[j]) >= 0 {
				j++
			}
			if j < len(s) && (s[j] == c && j == i+1 || strings.IndexByte("+.&|", s[j]) >= 0) {
				return true
			}
		}
	}
	return false
}

// form is an encoding that is only tried where the file names it: it has no shape.
type form struct {
	name string
	each func(l *line, add func(l *line, at int, form, text string))
}

var (
	quoted   = regexp.MustCompile(`["'\x60]([^"'\x60\s]{16,})["'\x60]`)
	b85chars = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz!#$%&()*+-;<=>?@^_`{|}~"
)

// mentioned returns the encodings that a file names.
func mentioned(low string) (list []form) {
	has := func(words ...string) bool {
		for _, w := range words {
			if strings.Contains(low, w) {
				return true
			}
		}
		return false
	}
	if has("rot13", "rot_13", "rot-13", "rot 13", "n-za-m", "caesar") {
		list = append(list, form{"rot13", func(l *line, add func(*line, int, string, string)) { add(l, 0, "rot13", rot13(l.raw)) }})
	}
	if has("[::-1]", "reverse", "backward", "| rev") {
		list = append(list, form{"reversed", func(l *line, add func(*line, int, string, string)) { add(l, 0, "reversed", reversed(l.raw)) }})
	}
	if eight, two := has("b85", "base85", "base-85", "ascii85", "a85"), has("base32", "b32"); eight || two {
		list = append(list, form{"base85 or base32", func(l *line, add func(*line, int, string, string)) { radix(l, eight, two, add) }})
	}
	return list
}

// radix reads the quoted and the long words of a line as base85 and base32.
func radix(l *line, eight, two bool, add func(l *line, at int, form, text string)) {
	word := func(at int, s string) {
		if eight {
			add(l, at, "base85", readable(base85(s)))
			out := make([]byte, 4*len(s)+8)
			n, _, _ := ascii85.Decode(out, []byte(strings.TrimSuffix(strings.TrimPrefix(s, "<~"), "~>")), true)
			add(l, at, "base85", readable(out[:n]))
		}
		if two {
			b, _ := base32.StdEncoding.WithPadding(base32.NoPadding).DecodeString(strings.TrimRight(s, "="))
			add(l, at, "base32", readable(b))
		}
	}
	for _, at := range quoted.FindAllStringSubmatchIndex(l.raw, 16) {
		word(at[2], l.raw[at[2]:at[3]])
	}
	for _, w := range strings.Fields(l.raw) {
		if len(w) >= 24 {
			word(0, w)
		}
	}
}

func rot13(s string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case 'a' <= r && r <= 'z':
			return 'a' + (r-'a'+13)%26
		case 'A' <= r && r <= 'Z':
			return 'A' + (r-'A'+13)%26
		}
		return r
	}, s)
}

func reversed(s string) string {
	rs := []rune(s)
	for i, j := 0, len(rs)-1; i < j; i, j = i+1, j-1 {
		rs[i], rs[j] = rs[j], rs[i]
	}
	return string(rs)
}

// base85 decodes the alphabet of RFC 1924, which Python calls b85.
func base85(s string) []byte {
	pad := (5 - len(s)%5) % 5
	s += strings.Repeat("~", pad)
	out := make([]byte, 0, len(s)/5*4)
	for ; len(s) >= 5; s = s[5:] {
		var v uint64
		for i := range 5 {
			d := strings.IndexByte(b85chars, s[i])
			if d < 0 {
				return nil
			}
			v = v*85 + uint64(d)
		}
		if v > 0xFFFFFFFF {
			return nil
		}
		out = append(out, byte(v>>24), byte(v>>16), byte(v>>8), byte(v))
	}
	return out[:max(0, len(out)-pad)]
}
