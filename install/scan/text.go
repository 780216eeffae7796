package scan

import (
	"path"
	"regexp"
	"strings"

	"github.com/deftskills/deft/skill"
)

const (
	longLine = 2048 // bytes; longer lines are cut, so that no pattern sees a whole file
	overlap  = 256  // bytes that two pieces of a line share
)

// line is one line of a text, or a piece of a long one, in the form that patterns see.
type line struct {
	no     int // of the file, from 1
	start  int // byte of the line at which a piece begins
	raw    string
	low    string // raw in lower case, in prose without marks of emphasis
	where  place
	lang   string
	taught bool // it stands in text that warns of what it shows
}

// programs are the extensions of scripts by language.
func programs() map[string]string {
	return map[string]string{
		".sh": "shell", ".bash": "shell", ".zsh": "shell", ".fish": "shell", ".command": "shell",
		".py": "python", ".pyw": "python", ".js": "js", ".mjs": "js", ".cjs": "js", ".ts": "js", ".tsx": "js", ".jsx": "js",
		".rb": "ruby", ".pl": "perl", ".php": "php", ".ps1": "powershell", ".psm1": "powershell", ".bat": "cmd", ".cmd": "cmd",
		".vbs": "vbs", ".lua": "lua", ".go": "go", ".rs": "rust", ".java": "java", ".c": "c", ".cpp": "c", ".cs": "cs",
		".applescript": "osascript", ".scpt": "osascript", ".swift": "swift", ".r": "r", ".awk": "awk", ".mk": "make", ".ipynb": "python",
	}
}

// fences are other words for languages after the marks of a fence.
func fences() map[string]string {
	return map[string]string{
		"bash": "shell", "sh": "shell", "zsh": "shell", "shell": "shell", "console": "shell", "shell-session": "shell", "terminal": "shell",
		"python": "python", "python3": "python", "py": "python", "javascript": "js", "js": "js", "typescript": "js", "ts": "js", "node": "js",
		"powershell": "powershell", "pwsh": "powershell", "ps1": "powershell", "bat": "cmd", "batch": "cmd", "ruby": "ruby", "php": "php",
	}
}

var shebang = regexp.MustCompile(`^#!\s*(?:/usr)?/(?:\S*/)?(?:env\s+(?:-S\s+)?)?(?:(\w*sh)|(python)[\d.]*|(node|deno|bun)|(ruby)|(perl)|(php))\b`)

// language returns the language of a file by its name or first line; "" = no program.
func language(name, text string) string {
	ext := strings.ToLower(path.Ext(name))
	if lang := programs()[ext]; lang != "" {
		return lang
	}
	if base := strings.ToLower(path.Base(name)); base == "makefile" || base == "dockerfile" {
		return "shell"
	}
	if m := shebang.FindStringSubmatch(text); m != nil {
		for i, lang := range []string{"shell", "python", "js", "ruby", "perl", "php"} {
			if m[i+1] != "" {
				return lang
			}
		}
	}
	return ""
}

func isMarkdown(name string) bool {
	switch strings.ToLower(path.Ext(name)) {
	case ".md", ".markdown", ".mdx", ".mdc":
		return true
	}
	return false
}

// textLines cuts a file's text into lines and says where each stands.
func textLines(name, text string) []line {
	text = strings.TrimPrefix(text, "\uFEFF")
	if isMarkdown(name) {
		return markdownLines(text)
	}
	where, lang := inData, language(name, text)
	if lang != "" {
		where = inScript
	}
	var out []line
	no := 0
	for l := range strings.Lines(text) {
		no++
		out = appendLine(out, line{no: no, raw: strings.TrimRight(l, "\r\n"), where: where, lang: lang})
	}
	return joined(out)
}

// appendLine completes a line and cuts a long one.
func appendLine(out []line, l line) []line {
	raw := l.raw
	if strings.TrimSpace(raw) == "" {
		return out // numbers of lines say where it was
	}
	for len(raw) > longLine {
		piece := l
		piece.raw = raw[:longLine]
		out = append(out, piece.finish())
		raw = raw[longLine-overlap:]
		l.start += longLine - overlap
	}
	l.raw = raw
	return append(out, l.finish())
}

func (l line) finish() line {
	l.low = lower(l.raw)
	if l.where&(inProse|inQuote) != 0 && strings.ContainsAny(l.low, "*`") {
		l.low = strings.NewReplacer("*", "", "`", "").Replace(l.low)
	}
	return l
}

// lower puts ASCII letters in lower case and leaves every byte in its place.
func lower(s string) string {
	for i := 0; i < len(s); i++ {
		if 'A' <= s[i] && s[i] <= 'Z' {
			b := []byte(s)
			for ; i < len(b); i++ {
				if 'A' <= b[i] && b[i] <= 'Z' {
					b[i] += 'a' - 'A'
				}
			}
			return string(b)
		}
	}
	return s
}

// column returns the byte of the whole line, from 1, at which byte i of low stands.
func (l *line) column(i int) int {
	if len(l.low) == len(l.raw) {
		return l.start + i + 1
	}
	at := 0
	for ; at < len(l.raw) && (i > 0 || l.raw[at] == '*' || l.raw[at] == '`'); at++ {
		if l.raw[at] != '*' && l.raw[at] != '`' {
			i--
		}
	}
	return l.start + at + 1
}

// joined puts a command that goes on after a backslash into its first line, so that one
// pattern sees it whole; the lines that it takes are left empty.
func joined(lines []line) []line {
	const most = 24 // lines of one command
	for i := 0; i < len(lines); {
		first, n := &lines[i], 1
		for ; n < most && i+n < len(lines) && strings.HasSuffix(first.low, "\\"); n++ {
			l := &lines[i+n]
			if l.where != first.where || l.no != first.no+n || len(first.raw)+len(l.raw) > longLine {
				break
			}
			first.low = first.low[:len(first.low)-1] + " " + strings.TrimLeft(l.low, " \t")
			first.raw = strings.TrimSuffix(first.raw, "\\") + " " + strings.TrimLeft(l.raw, " \t")
			l.low, l.raw = "", ""
		}
		i += n
	}
	return lines
}

// markdown follows what part of a page a line stands in.
type markdown struct {
	fence   string // the marks that close it; "" = none
	lang    string
	comment bool
}

// markdownLines cuts a page: header, then text.
func markdownLines(text string) []line {
	parts := skill.Split([]byte(text))
	out := make([]line, 0, min(strings.Count(text, "\n")+1, 1<<18))
	var m markdown
	no, off := 0, int64(0)
	header := parts.HasHeader
	for l := range strings.Lines(text) {
		no++
		at := off
		off += int64(len(l))
		raw := strings.TrimRight(l, "\r\n")
		if header && at < parts.Body.Start {
			out = appendLine(out, line{no: no, raw: raw, where: inHeader})
			continue
		}
		out = m.line(out, no, raw)
	}
	return joined(out)
}

var linkComment = regexp.MustCompile(`(?i)^\s{0,3}\[(?://|comment|_|#)\]:\s*(?:#|<>)`)

// line places one line of the text; comments are lines of their own.
func (m *markdown) line(out []line, no int, raw string) []line {
	l := line{no: no, raw: raw, where: inProse}
	trimmed := strings.TrimLeft(raw, " \t")
	switch {
	case m.comment:
		return m.inside(out, l)
	case m.fence != "":
		if strings.HasPrefix(trimmed, m.fence) && strings.Trim(trimmed, m.fence[:1]+" \t") == "" {
			m.fence = ""
		}
		l.where, l.lang = inCode, m.lang
	case strings.HasPrefix(trimmed, "```"), strings.HasPrefix(trimmed, "~~~"):
		word := strings.TrimLeft(trimmed, trimmed[:1])
		m.fence = trimmed[:len(trimmed)-len(word)]
		if m.lang = strings.ToLower(strings.TrimSpace(word)); fences()[m.lang] != "" {
			m.lang = fences()[m.lang]
		}
		l.where, l.lang = inCode, m.lang
	case strings.HasPrefix(trimmed, "[") && linkComment.MatchString(raw):
		l.where = inComment
	case strings.Contains(raw, "<!--"):
		return m.open(out, l)
	default:
		if trimmed != "" && trimmed[0] == '>' {
			l.where = inQuote
		}
	}
	return appendLine(out, l)
}

// open places a line in which a comment begins.
func (m *markdown) open(out []line, l line) []line {
	before, rest, _ := strings.Cut(l.raw, "<!--")
	if strings.TrimSpace(before) != "" {
		text := l
		text.raw = before
		out = appendLine(out, text)
	}
	m.comment = true
	l.raw, l.start = rest, len(before)+len("<!--")
	return m.inside(out, l)
}

// inside places a line of a comment and what follows its end.
func (m *markdown) inside(out []line, l line) []line {
	text, rest, closed := strings.Cut(l.raw, "-->")
	l.raw, l.where = text, inComment
	out = appendLine(out, l)
	if !closed {
		return out
	}
	m.comment = false
	if strings.TrimSpace(rest) == "" {
		return out
	}
	l.raw, l.where, l.start = rest, inProse, l.start+len(text)+len("-->")
	if strings.Contains(rest, "<!--") {
		return m.open(out, l)
	}
	return appendLine(out, l)
}
