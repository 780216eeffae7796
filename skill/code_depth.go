package skill

import "bytes"

// containers bounds the quotes and list items that one line opens. The Markdown
// parser looks at each open one for every byte of the line, so that 64 KiB of "> "
// would take seconds and a megabyte minutes.
const containers = 64

// shallow returns body with every line that opens more than the bounded number of
// containers turned into text from there on, by one byte a line: offsets stay. It
// returns body itself when there is no such line.
func shallow(body []byte) []byte {
	out := body
	for at := 0; at < len(body); {
		end := bytes.IndexByte(body[at:], '\n')
		if end < 0 {
			end = len(body) - at
		}
		if i := tooDeep(body[at : at+end]); i >= 0 {
			if &out[0] == &body[0] {
				out = bytes.Clone(body)
			}
			out[at+i] = 'x'
		}
		at += end + 1
	}
	return out
}

// tooDeep returns the offset of the first marker over the bound, or -1.
func tooDeep(line []byte) int {
	count := 0
	for i := 0; i < len(line); {
		start := i
		switch c := line[i]; {
		case c == ' ' || c == '\t':
			i++
			continue
		case c == '>':
			i++
		case c == '-' || c == '+' || c == '*':
			i++
			if i < len(line) && line[i] != ' ' && line[i] != '\t' {
				return -1
			}
		case c >= '0' && c <= '9':
			for i < len(line) && line[i] >= '0' && line[i] <= '9' {
				i++
			}
			if i == len(line) || line[i] != '.' && line[i] != ')' {
				return -1
			}
			i++
			if i < len(line) && line[i] != ' ' && line[i] != '\t' {
				return -1
			}
		default:
			return -1
		}
		if count++; count > containers {
			return start
		}
	}
	return -1
}
