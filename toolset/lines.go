package toolset

import (
	"bytes"
	"fmt"
	"strings"
	"unicode/utf16"
	"unicode/utf8"
)

// maxLine is how many bytes of one line a model is given.
const maxLine = 64 << 10

// decodeText returns raw as text: UTF-8 without NUL, a byte order mark removed, or
// UTF-16 with one.
func decodeText(raw []byte) (string, bool) {
	switch {
	case bytes.HasPrefix(raw, []byte{0xFF, 0xFE}), bytes.HasPrefix(raw, []byte{0xFE, 0xFF}):
		return decodeUTF16(raw[2:], raw[0] == 0xFE)
	case bytes.HasPrefix(raw, []byte{0xEF, 0xBB, 0xBF}):
		raw = raw[3:]
	}
	if bytes.IndexByte(raw, 0) >= 0 || !utf8.Valid(raw) {
		return "", false
	}
	return string(raw), true
}

func decodeUTF16(raw []byte, big bool) (string, bool) {
	if len(raw)%2 != 0 {
		return "", false
	}
	units := make([]uint16, len(raw)/2)
	for i := range units {
		a, b := uint16(raw[2*i]), uint16(raw[2*i+1])
		if big {
			a, b = b, a
		}
		units[i] = a | b<<8
	}
	text := string(utf16.Decode(units))
	return text, !strings.ContainsRune(text, 0)
}

// splitLines splits at LF or CRLF. A final line end makes no line; an empty text has one.
func splitLines(text string) []string {
	text = strings.TrimSuffix(text, "\n")
	lines := strings.Split(text, "\n")
	for i := range lines {
		lines[i] = strings.TrimSuffix(lines[i], "\r")
	}
	return lines
}

// window is a range of lines, 1-based and inclusive; 0 = not given.
type window struct {
	lines    []string
	from, to int
	maxLines int
	maxBytes int
}

// empty explains a range that holds nothing, "" if it holds something.
func (w *window) empty(name string) string {
	n := len(w.lines)
	head := fmt.Sprintf("File %q has %d lines (valid range 1-%d).\n", name, n, n)
	switch {
	case w.from > n:
		return head + fmt.Sprintf("Requested startLine %d is past the end of the file. The file has been fully read; stop paginating.", w.from)
	case w.from > 0 && w.to > 0 && w.from > w.to:
		return head + fmt.Sprintf("Requested range %d-%d is empty because startLine is greater than endLine.", w.from, w.to)
	}
	return ""
}

// cut returns the whole lines that fit, with the numbers of the first and the last.
// parameter names the argument that continues.
func (w *window) cut(parameter string) (text string, first, last int, truncated bool) {
	first, last = max(w.from, 1), len(w.lines)
	if w.to > 0 {
		last = min(max(w.to, 1), last)
	}
	want := last
	var b strings.Builder
	for n := first; n <= want; n++ {
		line := w.lines[n-1]
		if len(line) > maxLine {
			end := maxLine
			for !utf8.RuneStart(line[end]) {
				end--
			}
			line = fmt.Sprintf("%s[line cut: %d bytes]", line[:end], len(line))
			truncated = true
		}
		if n > first && (n-first >= w.maxLines || b.Len()+len(line)+1 > w.maxBytes) {
			last = n - 1
			fmt.Fprintf(&b, "\n[more: continue with %s %d]", parameter, n)
			return b.String(), first, last, true
		}
		if n > first {
			b.WriteByte('\n')
		}
		b.WriteString(line)
	}
	return b.String(), first, last, truncated
}

// signatures tell the media types that a host may do something with; the rest is
// bytes to everybody.
var signatures = []struct{ prefix, media string }{
	{"\x89PNG\r\n\x1a\n", "image/png"},
	{"\xff\xd8\xff", "image/jpeg"},
	{"GIF87a", "image/gif"},
	{"GIF89a", "image/gif"},
	{"%PDF-", "application/pdf"},
	{"PK\x03\x04", "application/zip"},
	{"\x1f\x8b", "application/gzip"},
}

// mediaType guesses the type of binary content from its first bytes.
func mediaType(raw []byte) string {
	for _, s := range signatures {
		if bytes.HasPrefix(raw, []byte(s.prefix)) {
			return s.media
		}
	}
	if len(raw) >= 12 && string(raw[:4]) == "RIFF" && string(raw[8:12]) == "WEBP" {
		return "image/webp"
	}
	return "application/octet-stream"
}
