package scan

import (
	"bytes"
	"path"
	"strings"
	"unicode/utf8"
)

// kind is what a file is by its bytes.
type kind struct {
	name    string // "" = text or unknown
	program bool   // compiled
	archive bool
	text    bool // text all the same
}

// signature is how files of a kind begin.
type signature struct {
	at   int
	text string
	kind kind
}

var signatures = []signature{
	{0, "\x7fELF", kind{name: "ELF program", program: true}},
	{0, "MZ", kind{name: "Windows program", program: true}},
	{0, "\xfe\xed\xfa\xce", kind{name: "macOS program", program: true}},
	{0, "\xfe\xed\xfa\xcf", kind{name: "macOS program", program: true}},
	{0, "\xce\xfa\xed\xfe", kind{name: "macOS program", program: true}},
	{0, "\xcf\xfa\xed\xfe", kind{name: "macOS program", program: true}},
	{0, "\xca\xfe\xba\xbe", kind{name: "macOS program or Java class", program: true}},
	{0, "\x00asm", kind{name: "WebAssembly program", program: true}},
	{0, "dex\n", kind{name: "Android program", program: true}},
	{0, "!<arch>\n", kind{name: "library", program: true}},
	{0, "L\x00\x00\x00\x01\x14\x02\x00", kind{name: "Windows shortcut", program: true}},
	{0, "PK\x03\x04", kind{name: "zip", archive: true}},
	{0, "PK\x05\x06", kind{name: "zip", archive: true}},
	{0, "\x1f\x8b", kind{name: "gzip", archive: true}},
	{257, "ustar", kind{name: "tar", archive: true}},
	{0, "7z\xbc\xaf\x27\x1c", kind{name: "7z"}},
	{0, "Rar!\x1a\x07", kind{name: "rar"}},
	{0, "\xfd7zXZ\x00", kind{name: "xz"}},
	{0, "BZh", kind{name: "bzip2"}},
	{0, "\x28\xb5\x2f\xfd", kind{name: "zstd"}},
	{0, "\x89PNG\r\n\x1a\n", kind{name: "png"}},
	{0, "\xff\xd8\xff", kind{name: "jpeg"}},
	{0, "GIF87a", kind{name: "gif"}},
	{0, "GIF89a", kind{name: "gif"}},
	{8, "WEBP", kind{name: "webp"}},
	{0, "RIFF", kind{name: "riff"}},
	{0, "BM", kind{name: "bmp"}},
	{0, "\x00\x00\x01\x00", kind{name: "ico"}},
	{0, "%PDF-", kind{name: "pdf"}},
	{0, "OggS", kind{name: "ogg"}},
	{0, "ID3", kind{name: "mp3"}},
	{4, "ftyp", kind{name: "mp4"}},
	{0, "fLaC", kind{name: "flac"}},
	{0, "wOFF", kind{name: "font"}},
	{0, "wOF2", kind{name: "font"}},
	{0, "\x00\x01\x00\x00", kind{name: "font"}},
	{0, "OTTO", kind{name: "font"}},
	{0, "II*\x00", kind{name: "tiff"}},
	{0, "MM\x00*", kind{name: "tiff"}},
	{0, "SQLite format 3\x00", kind{name: "sqlite"}},
	{0, "PAR1", kind{name: "parquet"}},
	{0, "\x93NUMPY", kind{name: "numpy"}},
	{0, "\x89HDF\r\n", kind{name: "hdf5"}},
	{0, "\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1", kind{name: "ole document"}},
}

// packedUnread are kinds of archive that are not looked into.
func packedUnread(name string) bool {
	switch name {
	case "7z", "rar", "xz", "bzip2", "zstd":
		return true
	}
	return false
}

// kindOf recognises bytes by how they begin. Two letters are enough only where the rest
// is no text.
func kindOf(src []byte) kind {
	for _, s := range signatures {
		if len(src) < s.at+len(s.text) || string(src[s.at:s.at+len(s.text)]) != s.text {
			continue
		}
		if len(s.text) <= 4 && !binary(src) {
			continue
		}
		return s.kind
	}
	return kind{}
}

// binary reports whether bytes are no text in UTF-8, UTF-16 or a legacy encoding.
func binary(src []byte) bool {
	head := src[:min(len(src), 64<<10)]
	if bytes.HasPrefix(head, []byte{0xFF, 0xFE}) || bytes.HasPrefix(head, []byte{0xFE, 0xFF}) {
		return false
	}
	if bytes.IndexByte(head, 0) >= 0 {
		return bytes.Count(head, []byte{0}) > len(head)/500+1 || !utf8.Valid(bytes.ReplaceAll(head, []byte{0}, nil))
	}
	odd := 0
	for _, c := range head {
		if c < 0x20 && c != '\n' && c != '\r' && c != '\t' && c != 0x1B && c != '\f' && c != '\b' {
			odd++
		}
	}
	return odd > len(head)/20+2
}

// plainText decodes UTF-16, and leaves all else as it is.
func plainText(src []byte) string {
	little := bytes.HasPrefix(src, []byte{0xFF, 0xFE})
	if !little && !bytes.HasPrefix(src, []byte{0xFE, 0xFF}) {
		return string(src)
	}
	var b strings.Builder
	for i := 2; i+1 < len(src); i += 2 {
		r := rune(src[i])<<8 | rune(src[i+1])
		if little {
			r = rune(src[i+1])<<8 | rune(src[i])
		}
		b.WriteRune(r)
	}
	return b.String()
}

// wears are the extensions that promise a kind: a picture, a document, a text.
func wears(name string) (kinds []string, text bool) {
	switch strings.ToLower(path.Ext(name)) {
	case ".png":
		return []string{"png"}, false
	case ".jpg", ".jpeg":
		return []string{"jpeg"}, false
	case ".gif":
		return []string{"gif"}, false
	case ".webp":
		return []string{"webp", "riff"}, false
	case ".pdf":
		return []string{"pdf"}, false
	case ".bmp":
		return []string{"bmp"}, false
	case ".mp3", ".mp4", ".wav", ".ogg", ".ttf", ".otf", ".woff", ".woff2", ".ico":
		return []string{"mp3", "mp4", "riff", "ogg", "font", "ico", "png"}, false
	case ".zip", ".docx", ".xlsx", ".pptx", ".skill":
		return []string{"zip"}, false
	case ".gz", ".tgz":
		return []string{"gzip"}, false
	case ".md", ".txt", ".json", ".yaml", ".yml", ".toml", ".csv", ".html", ".xml", ".ini", ".cfg", ".rst", ".css", ".svg",
		".py", ".sh", ".js", ".ts", ".rb", ".go":
		return nil, true
	}
	return nil, false
}

// unlike reports content that the name does not promise, and files of two kinds.
func unlike(f *file, name string, src []byte, k kind) (out []Finding) {
	kinds, text := wears(name)
	is := k.name
	if is == "" && !binary(src) {
		is = "text"
	}
	wrong := false
	switch {
	case len(src) == 0 || len(kinds) == 0 && !text:
	case k.program || bytes.HasPrefix(src, []byte("#!")) && !text:
		wrong = true
	case text:
		wrong = k.archive || packedUnread(k.name) || k.name != "" && binary(src)
	default:
		wrong = is != "" && !contains(kinds, is)
	}
	if wrong {
		out = append(out, f.built("ST104", 0, 0, name+" is "+is))
	}
	if k.name != "" && !k.archive && !k.program && two(src) {
		out = append(out, f.built("ST105", 0, 0, name+" is "+k.name+" and more"))
	}
	return out
}

func contains(list []string, s string) bool {
	for _, x := range list {
		if x == s {
			return true
		}
	}
	return false
}

// two reports whether a picture or document also holds an archive with its directory,
// or the code of a server page.
func two(src []byte) bool {
	tail := src[max(0, len(src)-66_000):]
	if i := bytes.LastIndex(tail, []byte("PK\x05\x06")); i >= 0 && bytes.Contains(src[4:], []byte("PK\x03\x04")) {
		return true
	}
	return bytes.Contains(src, []byte("<?php")) || bytes.Contains(src, []byte("\n#!/bin/")) || bytes.Contains(src[4:], []byte("\x7fELF\x02\x01\x01"))
}
