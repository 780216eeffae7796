package skill

import (
	"bytes"
	"fmt"
	"strings"
	"unicode/utf8"
)

// Parts says where the header and the body of a file are.
type Parts struct {
	Header Span // bytes between the fences, empty when there is no header
	Body   Span // bytes after the header, or all of the file without one
	// HasHeader is true when the file opens with a fence and closes it.
	HasHeader bool
	// Unclosed is true when the file opens with a fence that is never closed.
	Unclosed bool
	BOM      bool // the file begins with a UTF-8 byte order mark
	// HeaderLine is the line of the header's first byte, from 1; 0 without a header.
	HeaderLine int
	// Language is what dialect Mastra finds after the opening dashes (`---js`), else "".
	Language string
}

// HeaderDigest returns the digest of the header's raw bytes in src, the bytes that p
// was found in.
func (p Parts) HeaderDigest(src []byte) Digest { return FileDigest(src[p.Header.Start:p.Header.End]) }

// BodyDigest returns the digest of the body's raw bytes in src.
func (p Parts) BodyDigest(src []byte) Digest { return FileDigest(src[p.Body.Start:p.Body.End]) }

const bomBytes = "\xef\xbb\xbf"

// Split finds the header of a SKILL.md by the rules of dialect Deft.
func Split(src []byte) Parts { return SplitDialect(src, Deft) }

// SplitDialect finds the header by the rules of d. A fence is a line of exactly three
// hyphens with blanks or tabs after them, ended by LF, CRLF or the end of the file,
// and the first one opens the file: nothing stands before it. MiniMax takes no blanks
// and no byte order mark; AgentSkills cuts at the first two "---" wherever they are.
func SplitDialect(src []byte, d Dialect) Parts {
	if d == AgentSkills {
		return splitLiteral(src)
	}
	p := Parts{BOM: bytes.HasPrefix(src, []byte(bomBytes))}
	start := 0
	if p.BOM && d != MiniMax {
		start = len(bomBytes)
	}
	strict := d == MiniMax
	end, fence := fenceAt(src, start, strict)
	if !fence {
		if d == Mastra {
			p.Language = language(src[start:])
		}
		p.Body = Span{int64(start), int64(len(src))}
		return p
	}
	p.HeaderLine = 2
	for at := end; at < len(src); {
		if next, ok := fenceAt(src, at, false); ok && (!strict || closesStrictly(src[at:next])) {
			p.HasHeader = true
			p.Header = Span{int64(end), int64(at)}
			p.Body = Span{int64(next), int64(len(src))}
			return p
		}
		eol := bytes.IndexByte(src[at:], '\n')
		if eol < 0 {
			break
		}
		at += eol + 1
	}
	p.Unclosed = true
	p.Header = Span{int64(end), int64(end)}
	p.Body = Span{int64(len(src)), int64(len(src))}
	return p
}

// fenceAt reports whether the line at is a fence, and where the next line starts.
func fenceAt(src []byte, at int, strict bool) (next int, ok bool) {
	if at+3 > len(src) || src[at] != '-' || src[at+1] != '-' || src[at+2] != '-' {
		return 0, false
	}
	i := at + 3
	for !strict && i < len(src) && (src[i] == ' ' || src[i] == '\t') {
		i++
	}
	switch {
	case i == len(src):
		return i, !strict
	case src[i] == '\n':
		return i + 1, true
	case src[i] == '\r' && i+1 < len(src) && src[i+1] == '\n':
		return i + 2, true
	}
	return 0, false
}

// closesStrictly reports whether line is exactly "---" but for its end.
func closesStrictly(line []byte) bool { return len(bytes.TrimRight(line, "\r\n")) == 3 }

// splitLiteral cuts as the reference validator does: at the first two "---".
func splitLiteral(src []byte) Parts {
	p := Parts{BOM: bytes.HasPrefix(src, []byte(bomBytes)), Body: Span{0, int64(len(src))}}
	if !bytes.HasPrefix(src, []byte("---")) {
		return p
	}
	p.HeaderLine = 1
	second := bytes.Index(src[3:], []byte("---"))
	if second < 0 {
		p.Unclosed = true
		p.Header, p.Body = Span{3, 3}, Span{int64(len(src)), int64(len(src))}
		return p
	}
	p.HasHeader = true
	p.Header = Span{3, int64(3 + second)}
	p.Body = Span{int64(3 + second + 3), int64(len(src))}
	return p
}

// language returns the word directly after the opening dashes, as in "---js".
func language(src []byte) string {
	rest, ok := bytes.CutPrefix(src, []byte("---"))
	if !ok {
		return ""
	}
	line, _, _ := bytes.Cut(rest, []byte("\n"))
	word := strings.TrimSpace(string(line))
	if word == "" || strings.ContainsAny(word, "- \t") {
		return ""
	}
	return word
}

// NormaliseBody returns text with every CRLF turned into LF. A lone CR stays: it is
// no line end. Text without CRLF is returned as it is.
func NormaliseBody(text string) string {
	if !strings.Contains(text, "\r\n") {
		return text
	}
	return strings.ReplaceAll(text, "\r\n", "\n")
}

// badByte returns the code, offset and reason of the first byte that keeps src from
// being read as text, or an empty code.
func badByte(src []byte) (code string, offset int, reason string) {
	if len(src) >= 2 && (src[0] == 0xff && src[1] == 0xfe || src[0] == 0xfe && src[1] == 0xff) {
		return "not_utf8", 0, "file begins with a UTF-16 or UTF-32 byte order mark"
	}
	nul := bytes.IndexByte(src, 0)
	text := src
	if nul >= 0 {
		text = src[:nul]
	}
	if !utf8.Valid(text) {
		at := firstInvalid(text)
		return "not_utf8", at, fmt.Sprintf("byte 0x%02x at offset %d is not UTF-8", src[at], at)
	}
	if nul >= 0 {
		return "nul_byte", nul, fmt.Sprintf("NUL byte at offset %d", nul)
	}
	return "", 0, ""
}

func firstInvalid(text []byte) int {
	for i := 0; i < len(text); {
		r, n := utf8.DecodeRune(text[i:])
		if r == utf8.RuneError && n == 1 {
			return i
		}
		i += n
	}
	return len(text)
}
