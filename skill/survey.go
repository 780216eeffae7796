package skill

import (
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/deftskills/deft/internal/limits"
)

// surveyor counts nodes and depth of a header without building anything. It reads
// line by line and knows quotes, brackets and block scalars, nothing else of YAML; it
// may count too few (the tree is counted again) but hardly too many.
type surveyor struct {
	limits  limits.Skill
	indents []int // columns of the open block collections
	flow    int   // open brackets
	quote   byte  // open quote that runs over the line end
	block   int   // indentation that a block scalar's lines must exceed, -1 outside
	nodes   int
	deep    bool
}

func survey(text string, first int, lim limits.Skill) *fault {
	s := surveyor{limits: lim, block: -1}
	for number := first; text != ""; number++ {
		line, rest, _ := strings.Cut(text, "\n")
		text = rest
		at := s.line(line)
		if at < 0 {
			continue
		}
		column := utf8.RuneCountInString(line[:min(at, len(line))]) + 1
		if s.deep {
			return &fault{code: "limit_depth", line: number, column: column,
				message: fmt.Sprintf("nesting of the header is over the limit of %d levels", lim.Depth)}
		}
		return &fault{code: "limit_nodes", line: number, column: column,
			message: fmt.Sprintf("header has over %d values, the limit", lim.Nodes)}
	}
	return nil
}

// line reads one line and returns the byte at which a limit was passed, or -1.
func (s *surveyor) line(line string) int {
	i := blanks(line, 0)
	if s.quote != 0 || s.flow > 0 {
		return s.value(line, i, i)
	}
	if i == len(line) {
		return -1
	}
	if s.block >= 0 && i > s.block {
		return -1
	}
	s.block = -1
	if line[i] == '#' {
		return -1
	}
	for len(s.indents) > 0 && s.indents[len(s.indents)-1] > i {
		s.indents = s.indents[:len(s.indents)-1]
	}
	for i < len(line) && (line[i] == '-' || line[i] == '?') && (i+1 == len(line) || line[i+1] == ' ') {
		if s.open(i) || s.count(1) {
			return i
		}
		i = blanks(line, i+1)
	}
	if i == len(line) {
		return -1
	}
	if colon := keyEnd(line, i); colon >= 0 {
		if s.open(i) || s.count(2) {
			return i
		}
		return s.value(line, blanks(line, colon+1), i)
	}
	if s.count(1) {
		return i
	}
	return s.value(line, i, i)
}

// open notes a block collection at column i and reports whether that is too deep.
func (s *surveyor) open(i int) bool {
	if n := len(s.indents); n == 0 || s.indents[n-1] < i {
		s.indents = append(s.indents, i)
	}
	s.deep = len(s.indents) > s.limits.Depth
	return s.deep
}

func (s *surveyor) count(n int) bool {
	s.nodes += n
	return s.nodes > s.limits.Nodes
}

// value reads a value that starts at i, or goes on there; owner is the column of its key.
func (s *surveyor) value(line string, i, owner int) int {
	if s.quote == 0 && s.flow == 0 {
		for i < len(line) && (line[i] == '&' || line[i] == '!') {
			for i < len(line) && line[i] != ' ' {
				i++
			}
			i = blanks(line, i)
		}
		if i == len(line) {
			return -1
		}
		switch line[i] {
		case '|', '>':
			s.block = owner
			return -1
		case '"', '\'':
			s.quote = line[i]
			i++
		case '[', '{':
		default:
			return -1
		}
	}
	start := true // a token may start here, so a quote opens one
	for ; i < len(line); i++ {
		c := line[i]
		switch {
		case s.quote == '"' && c == '\\':
			i++
		case s.quote != 0:
			if c == s.quote {
				s.quote = 0
			}
		case s.flow > 0 && start && (c == '"' || c == '\''):
			s.quote = c
		case c == '[' || c == '{':
			s.flow++
			s.deep = len(s.indents)+s.flow > s.limits.Depth
			if s.deep || s.count(1) {
				return i
			}
		case s.flow > 0 && (c == ']' || c == '}'):
			s.flow--
		case s.flow > 0 && c == ',':
			if s.count(1) {
				return i
			}
		case s.flow > 0 && c == '#' && i > 0 && line[i-1] == ' ':
			return -1
		case s.flow == 0:
			return -1
		}
		if s.quote == 0 {
			start = strings.IndexByte(" ,[{:", c) >= 0
		}
	}
	return -1
}

// keyEnd returns the index of the colon that ends a key starting at i, or -1.
func keyEnd(line string, i int) int {
	if q := line[i]; q == '"' || q == '\'' {
		for j := i + 1; j < len(line); j++ {
			if q == '"' && line[j] == '\\' {
				j++
			} else if line[j] == q {
				j = blanks(line, j+1)
				if j < len(line) && line[j] == ':' {
					return j
				}
				return -1
			}
		}
		return -1
	}
	if line[i] == '[' || line[i] == '{' {
		return -1
	}
	for j := i; j < len(line); j++ {
		if line[j] == ':' && (j+1 == len(line) || line[j+1] == ' ') {
			return j
		}
		if line[j] == '#' && j > i && line[j-1] == ' ' {
			return -1
		}
	}
	return -1
}

func blanks(line string, i int) int {
	for i < len(line) && (line[i] == ' ' || line[i] == '\t') {
		i++
	}
	return i
}
