package store

import (
	"mime"
	"path"
	"slices"
	"strings"
	"unicode/utf8"
)

// mediaTypes are the types of files by the end of their names. They are shown to people
// and never decide how bytes are kept.
var mediaTypes = map[string]string{
	".txt": "text/plain", ".md": "text/markdown", ".json": "application/json",
	".yaml": "application/yaml", ".yml": "application/yaml", ".js": "text/javascript",
	".ts": "text/typescript", ".py": "text/x-python", ".sh": "text/x-shellscript",
	".html": "text/html", ".css": "text/css", ".csv": "text/csv", ".xml": "application/xml",
	".svg": "image/svg+xml", ".png": "image/png", ".jpg": "image/jpeg", ".jpeg": "image/jpeg",
	".gif": "image/gif", ".webp": "image/webp", ".pdf": "application/pdf",
}

// magic is how contents of known types begin.
var magic = []struct{ begin, is string }{
	{"\x89PNG\r\n\x1a\n", "image/png"}, {"\xff\xd8\xff", "image/jpeg"}, {"GIF8", "image/gif"}, {"%PDF-", "application/pdf"},
	{"PK\x03\x04", "application/zip"}, {"\x1f\x8b", "application/gzip"}, {"wOFF", "font/woff"}, {"wOF2", "font/woff2"},
	{"\x00asm", "application/wasm"},
}

// MediaType returns the type of a file by its name, else by how it begins.
func MediaType(name string, data []byte) string {
	if is, ok := mediaTypes[strings.ToLower(path.Ext(name))]; ok {
		return is
	}
	for _, m := range magic {
		if strings.HasPrefix(string(data[:min(len(data), 16)]), m.begin) {
			return m.is
		}
	}
	if utf8.Valid(data) && !slices.Contains(data, 0) {
		return "text/plain"
	}
	return "application/octet-stream"
}

// binaryApplications are the types below application/ whose contents are no text.
var binaryApplications = []string{
	"octet-stream", "pdf", "zip", "gzip", "x-gzip", "x-tar", "x-bzip2", "x-xz", "x-7z-compressed", "vnd.rar", "wasm",
	"java-archive", "msword", "x-executable", "x-sharedlib", "x-sqlite3", "vnd.sqlite3", "font-woff", "vnd.ms-fontobject",
	"vnd.ms-excel", "vnd.ms-powerpoint",
}

// binaryType reports whether contents of a media type are known to be no text.
func binaryType(m string) bool {
	is, _, err := mime.ParseMediaType(m)
	if err != nil || strings.HasSuffix(is, "+xml") || strings.HasSuffix(is, "+json") {
		return false
	}
	group, kind, _ := strings.Cut(is, "/")
	switch group {
	case "image", "audio", "video", "font":
		return true
	}
	return group == "application" && (slices.Contains(binaryApplications, kind) ||
		strings.HasPrefix(kind, "vnd.openxmlformats-") || strings.HasPrefix(kind, "vnd.oasis."))
}
