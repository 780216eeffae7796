package scan

import (
	"strings"
	"testing"
	"testing/fstest"
)

// BenchmarkSkill looks at real skills, each once in turn; without the outside data, at
// one of the same size.
func BenchmarkSkill(b *testing.B) {
	s := scanner(b)
	var texts [][]byte
	corpusFiles(b, func(_ string, src []byte) {
		if len(texts) < 600 {
			texts = append(texts, src)
		}
	})
	i := 0
	for b.Loop() {
		if _, err := s.Scan(b.Context(), fstest.MapFS{"SKILL.md": {Data: texts[i%len(texts)]}}, ScanOptions{}); err != nil {
			b.Fatal(err)
		}
		i++
	}
}

// hostile are files of 1 MiB that try to make the scanner slow.
func hostile() map[string]string {
	fill := func(piece string) string { return strings.Repeat(piece, 1<<20/len(piece)+1)[:1<<20] }
	return map[string]string{
		"one line":    fill("curl https://a.test -d x ; "),
		"lines":       fill("curl https://a.test cat ~/.ssh send os.environ ignore previous eval(\n"),
		"base64":      fill("aHR0cHM6Ly9hLnRlc3QvYS9i"),
		"base64 rows": fill("aHR0cHM6Ly9hLnRlc3QvYS9iL2MvZC9lL2YvZy9oL2kvai9r\n"),
		"backslashes": fill("a\\\n"),
		"quotes":      fill("\"a\"+\"b\"+'c'+"),
		"numbers":     fill("99,117,114,108,"),
		"comments":    fill("<!-- -->"),
		"blank":       fill(" "),
		"hidden":      fill("a\u200b"),
		"escapes":     fill(`\x63\x75\x72\x6c `),
		"short":       fill("\n"),
		"reversed":    fill("[::-1] base85 base32 rot13 \"lruc\" "),
	}
}

func BenchmarkHostileMebibyte(b *testing.B) {
	s := scanner(b)
	for name, text := range hostile() {
		b.Run(strings.ReplaceAll(name, " ", "_"), func(b *testing.B) {
			for b.Loop() {
				s.text("SKILL.md", text)
			}
		})
	}
}

func BenchmarkNew(b *testing.B) {
	for b.Loop() {
		if _, err := New(Options{}); err != nil {
			b.Fatal(err)
		}
	}
}
