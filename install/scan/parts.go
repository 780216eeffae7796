package scan

import (
	"regexp"
	"strings"
)

const (
	mostParts   = 64   // named pieces of one text
	longestPart = 400  // bytes
	longestSum  = 4096 // bytes of pieces put together
)

var (
	pieceNamed = regexp.MustCompile(`^\s*(?:[-*]\s+)?(?:(?:export|const|let|var|local|readonly|set)\s+)?\$?([A-Za-z_]\w{0,40})\s*(?::=|=|:)\s*["'\x60]([^"'\x60]{1,400})["'\x60]\s*$`)
	pieceBare  = regexp.MustCompile(`^\s*(?:export\s+|local\s+)?([A-Za-z_]\w{0,40})=([^\s"'\x60$;|&()]{1,100})$`)
	pieceUse   = regexp.MustCompile(`\$\{([A-Za-z_]\w*)\}|\$([A-Za-z_]\w*)|\{([A-Za-z_]\w*)\}`)
	pieceSum   = regexp.MustCompile(`(?:[A-Za-z_]\w*|"[^"]{0,99}"|'[^']{0,99}')(?:\s*\+\s*(?:[A-Za-z_]\w*|"[^"]{0,99}"|'[^']{0,99}'))+`)
	pieceOf    = regexp.MustCompile(`[A-Za-z_]\w*|"[^"]*"|'[^']*'`)
	putting    = regexp.MustCompile(`\bjoin|\bconcat|\bcombin|\bassembl|\breassembl|\breconstruct|\bmerge|\bsplic|\bstitch|\btogether\b|拼接|合并`)
)

// parts returns what a text says once its named pieces are put together: where lines use
// several of them, and in the order in which they stand where the text speaks of joining.
func parts(lines []line, lowFile string) (out []decoded) {
	pieces, order := pieces(lines)
	if len(pieces) < 2 {
		return nil
	}
	add := func(l *line, text string) {
		if len(text) <= longestSum {
			out = append(out, decoded{l.no, l.start + 1, "joined", text, l.where, l.lang})
		}
	}
	for i := range lines {
		l := &lines[i]
		if l.where&(inScript|inCode|inData|inComment) == 0 || len(l.raw) > longestPart {
			continue
		}
		if strings.ContainsAny(l.raw, "${") {
			if text, used := replaced(l.raw, pieces); used > 1 {
				add(l, text)
			}
		}
		if strings.Contains(l.raw, "+") {
			if text, used := summed(l.raw, pieces); used > 1 {
				add(l, text)
			}
		}
	}
	if first := order[0]; putting.MatchString(lowFile[:min(len(lowFile), 256<<10)]) {
		var b strings.Builder
		for _, l := range order {
			b.WriteString(l.text)
		}
		add(first.at, b.String())
	}
	return out
}

// piece is one named piece of a text.
type piece struct {
	at   *line
	text string
}

func pieces(lines []line) (map[string]string, []piece) {
	named, order := map[string]string{}, []piece(nil)
	for i := range lines {
		l := &lines[i]
		if len(l.raw) > longestPart+64 || !strings.ContainsAny(l.raw, "=:") || len(order) == mostParts {
			continue
		}
		for _, text := range strings.Split(l.raw, ";") {
			var m []string
			if strings.ContainsAny(text, "\"'\x60") {
				m = pieceNamed.FindStringSubmatch(text)
			} else if l.where&(inScript|inCode) != 0 {
				m = pieceBare.FindStringSubmatch(text)
			}
			if m != nil && l.where&inHeader == 0 {
				named[m[1]] = m[2]
				order = append(order, piece{l, m[2]})
			}
		}
	}
	return named, order
}

// replaced puts the pieces where a text names them.
func replaced(text string, pieces map[string]string) (string, int) {
	used := 0
	out := pieceUse.ReplaceAllStringFunc(text, func(use string) string {
		if value, ok := pieces[strings.Trim(use, "${}")]; ok {
			used++
			return value
		}
		return use
	})
	return out, used
}

// summed puts the pieces together where a text adds them.
func summed(text string, pieces map[string]string) (string, int) {
	used := 0
	out := pieceSum.ReplaceAllStringFunc(text, func(sum string) string {
		var b strings.Builder
		for _, p := range pieceOf.FindAllString(sum, -1) {
			value, ok := pieces[p]
			switch {
			case ok:
				used++
			case p[0] == '"' || p[0] == '\'':
				value = p[1 : len(p)-1]
			default:
				value = p
			}
			b.WriteString(value)
		}
		return b.String()
	})
	return out, used
}
