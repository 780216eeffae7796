package toolset

import (
	"html"
	"net/url"
	"strconv"
	"strings"
)

// markup is what an element means for the text around it.
type markup struct {
	breaks        int    // line ends before and after it; two part paragraphs
	before, after string // of its text
	skip          bool   // nothing inside is text for a reader
	raw           bool   // ends at its own end tag, whatever stands inside
}

// elements are those that say something; others are passed through.
var elements = map[string]markup{
	"script": {skip: true, raw: true}, "style": {skip: true, raw: true}, "template": {skip: true, raw: true},
	"iframe": {skip: true, raw: true}, "noembed": {skip: true, raw: true}, "svg": {skip: true, raw: true},
	"object": {skip: true, raw: true}, "textarea": {raw: true}, "title": {skip: true, raw: true}, "xmp": {raw: true},
	"p": {breaks: 2}, "div": {breaks: 1}, "section": {breaks: 2}, "article": {breaks: 2}, "main": {breaks: 2}, "header": {breaks: 2},
	"footer": {breaks: 2}, "nav": {breaks: 2}, "aside": {breaks: 2}, "figure": {breaks: 2}, "figcaption": {breaks: 1},
	"address": {breaks: 2}, "form": {breaks: 1}, "fieldset": {breaks: 1}, "details": {breaks: 2}, "summary": {breaks: 1},
	"dl": {breaks: 2}, "dt": {breaks: 1}, "dd": {breaks: 1, before: ": "}, "table": {breaks: 2}, "caption": {breaks: 1},
	"tr": {breaks: 1}, "th": {before: "| "}, "td": {before: "| "}, "option": {breaks: 1},
	"h1": {breaks: 2, before: "# "}, "h2": {breaks: 2, before: "## "}, "h3": {breaks: 2, before: "### "},
	"h4": {breaks: 2, before: "#### "}, "h5": {breaks: 2, before: "##### "}, "h6": {breaks: 2, before: "###### "},
	"b": {before: "**", after: "**"}, "strong": {before: "**", after: "**"}, "i": {before: "*", after: "*"}, "em": {before: "*", after: "*"},
	"code": {before: "`", after: "`"}, "kbd": {before: "`", after: "`"}, "samp": {before: "`", after: "`"},
}

// Bounds of a reduced page: of lists and quotes inside each other, whose marks stand
// before every line, and of the text as a whole.
const (
	maxNested  = 8
	maxOwed    = 64 // bytes that wait for a text: elements without one add up to nothing
	maxReduced = maxPage
)

// flow is a page on its way to Markdown.
type flow struct {
	b      strings.Builder
	base   *url.URL
	title  string
	breaks int      // line ends owed before the next text
	space  bool     // a blank owed before the next word
	pre    int      // open elements whose blanks count
	marks  []string // of the open lists and quotes: what stands before each line
	lists  []int    // of the open lists: the next number; 0 = not numbered
	owed   string   // what stands before the next text, such as a list's mark
	link   string   // of the open link
}

// reduce turns a page of HTML into its title and its text in Markdown. It takes whatever
// there is: nothing in a page makes it fail, and its work grows with the page alone.
func reduce(page string, base *url.URL) (title, text string) {
	f := &flow{base: base}
	for page != "" && f.b.Len() < maxReduced {
		at := strings.IndexByte(page, '<')
		if at < 0 {
			at = len(page)
		}
		f.text(html.UnescapeString(page[:at]))
		page = f.tag(page[at:])
	}
	return f.title, strings.TrimSpace(f.b.String())
}

// tag takes what begins with "<" and returns what comes after it.
func (f *flow) tag(page string) string {
	if page == "" {
		return ""
	}
	rest, isComment := strings.CutPrefix(page, "<!--")
	end := len(page) >= 2 && page[1] == '/'
	switch {
	case isComment:
		_, after, _ := strings.Cut(rest, "-->")
		return after
	case len(page) >= 2 && (page[1] == '!' || page[1] == '?'):
		_, after, _ := strings.Cut(page, ">")
		return after
	case len(page) < 2 || !letter(page[1]) && !(end && len(page) > 2 && letter(page[2])):
		f.text("<")
		return page[1:]
	}
	name, attributes, after := element(page)
	m := elements[name]
	if m.raw && !end {
		inside, past := until(after, "</"+name)
		f.raw(name, m, html.UnescapeString(inside))
		_, past, _ = strings.Cut(past, ">")
		return past
	}
	if end {
		f.close(name, m)
	} else {
		f.open(name, m, attributes)
	}
	return after
}

// raw takes an element that holds nothing but text.
func (f *flow) raw(name string, m markup, inside string) {
	switch {
	case name == "title" && f.title == "":
		f.title = strings.Join(strings.Fields(inside), " ")
	case !m.skip:
		f.text(inside)
	}
}

func (f *flow) open(name string, m markup, attributes map[string]string) {
	f.part(m.breaks)
	switch name {
	case "br":
		f.part(1)
	case "hr":
		f.part(2)
		f.put("---")
		f.part(2)
	case "ul", "ol":
		f.part(1)
		next := 0
		if name == "ol" {
			next = 1
		}
		f.lists = append(f.lists, next)
		f.deeper("  ")
	case "li":
		f.part(1)
		f.owed = "- "
		if n := len(f.lists); n > 0 && f.lists[n-1] > 0 {
			f.owed = strconv.Itoa(f.lists[n-1]) + ". "
			f.lists[n-1]++
		}
	case "blockquote":
		f.part(2)
		f.deeper("> ")
	case "pre":
		f.part(2)
		f.put("```\n")
		f.pre++
	case "a":
		f.endLink()
		if f.link = f.address(attributes["href"]); f.link != "" {
			f.owed += "["
		}
	case "img":
		if alt := strings.TrimSpace(attributes["alt"]); alt != "" {
			f.text("[image: " + alt + "]")
		}
	default:
		f.space = f.space || name == "td" || name == "th"
		if f.pre == 0 && len(f.owed) < maxOwed {
			f.owed += m.before
		}
	}
}

func (f *flow) close(name string, m markup) {
	switch name {
	case "ul", "ol":
		f.part(1)
		if n := len(f.lists); n > 0 {
			f.lists = f.lists[:n-1]
			f.shallower("  ")
		}
	case "blockquote":
		f.part(2)
		f.shallower("> ")
	case "pre":
		if f.pre > 0 {
			f.pre--
			f.part(1)
			f.put("```")
			f.part(2)
		}
	case "a":
		f.endLink()
	default:
		f.shut(m)
	}
	f.part(m.breaks)
}

// shut writes what stands after an element, or takes back what would stand before it
// where it held nothing.
func (f *flow) shut(m markup) {
	if f.pre > 0 || m.before == "" {
		return
	}
	if rest, empty := strings.CutSuffix(f.owed, m.before); empty {
		f.owed = rest
		return
	}
	if m.after != "" && f.b.Len() > 0 {
		f.b.WriteString(m.after)
	}
}

func (f *flow) endLink() {
	if f.link == "" {
		return
	}
	if rest, empty := strings.CutSuffix(f.owed, "["); empty {
		f.owed = rest
	} else {
		f.b.WriteString("](" + f.link + ")")
	}
	f.link = ""
}

// address is a link as a whole; "" for what is no page.
func (f *flow) address(href string) string {
	u, err := url.Parse(strings.TrimSpace(href))
	if err != nil || href == "" || strings.HasPrefix(href, "#") {
		return ""
	}
	if f.base != nil {
		u = f.base.ResolveReference(u)
	}
	if u.Scheme != "https" && u.Scheme != "http" && u.Scheme != "mailto" {
		return ""
	}
	return u.String()
}

func (f *flow) deeper(mark string) {
	f.marks = append(f.marks, mark)
}

// shallower takes the innermost mark of that kind off.
func (f *flow) shallower(mark string) {
	for i := len(f.marks) - 1; i >= 0; i-- {
		if f.marks[i] == mark {
			f.marks = append(f.marks[:i], f.marks[i+1:]...)
			return
		}
	}
}

// part owes at least n line ends.
func (f *flow) part(n int) {
	if n > 0 {
		f.breaks, f.space = max(f.breaks, n), false
	}
}

// text writes text of the page: in one run of words, or as it is where blanks count.
func (f *flow) text(s string) {
	if f.pre > 0 {
		if s != "" {
			f.put(s)
		}
		return
	}
	words := strings.Fields(s)
	if len(words) == 0 {
		f.space = f.space || s != ""
		return
	}
	f.space = f.space || blank(s[0])
	f.put(strings.Join(words, " "))
	f.space = blank(s[len(s)-1])
}

// put writes a text behind all that is owed.
func (f *flow) put(s string) {
	indent := strings.Join(f.marks[:min(len(f.marks), maxNested)], "")
	switch first := f.b.Len() == 0; {
	case first || f.breaks > 0:
		if !first {
			f.b.WriteString(strings.Repeat("\n", f.breaks))
		}
		if f.owed != "" && len(f.lists) > 0 && strings.HasSuffix(indent, "  ") {
			indent = strings.TrimSuffix(indent, "  ") // a list's mark hangs out
		}
		f.b.WriteString(indent)
	case f.space:
		f.b.WriteByte(' ')
	}
	f.b.WriteString(f.owed)
	f.breaks, f.space, f.owed = 0, false, ""
	f.b.WriteString(s)
}

// element reads "<name a=b …>" or its end tag.
func element(tag string) (name string, attributes map[string]string, after string) {
	s := strings.TrimPrefix(tag[1:], "/")
	n := 0
	for n < len(s) && !blank(s[n]) && s[n] != '>' && s[n] != '/' {
		n++
	}
	name, s = strings.ToLower(s[:n]), s[n:]
	for {
		s = strings.TrimLeft(s, " \t\r\n\f/")
		if s == "" || s[0] == '>' {
			return name, attributes, strings.TrimPrefix(s, ">")
		}
		n = strings.IndexAny(s, " \t\r\n\f=>/")
		if n < 0 {
			return name, attributes, ""
		}
		key, value := strings.ToLower(s[:max(n, 1)]), ""
		s = strings.TrimLeft(s[max(n, 1):], " \t\r\n\f")
		if rest, given := strings.CutPrefix(s, "="); given && n > 0 {
			value, s = valueOf(strings.TrimLeft(rest, " \t\r\n\f"))
		}
		if key == "href" || key == "alt" {
			if attributes == nil {
				attributes = map[string]string{}
			}
			if _, twice := attributes[key]; !twice {
				attributes[key] = html.UnescapeString(value)
			}
		}
	}
}

// valueOf reads the value of an attribute, in quotes or without.
func valueOf(s string) (value, after string) {
	if s != "" && (s[0] == '"' || s[0] == '\'') {
		value, after, _ = strings.Cut(s[1:], s[:1])
		return value, after
	}
	n := strings.IndexAny(s, " \t\r\n\f>")
	if n < 0 {
		return s, ""
	}
	return s[:n], s[n:]
}

// until parts a text before an ASCII mark, however that is capitalised; without one it is
// all before it.
func until(s, mark string) (before, from string) {
	for i := 0; ; i++ {
		n := strings.IndexByte(s[i:], mark[0])
		if n < 0 || i+n+len(mark) > len(s) {
			return s, ""
		}
		if i += n; strings.EqualFold(s[i:i+len(mark)], mark) {
			return s[:i], s[i:]
		}
	}
}

func blank(c byte) bool { return c == ' ' || c == '\t' || c == '\r' || c == '\n' || c == '\f' }

func letter(c byte) bool { return c|0x20 >= 'a' && c|0x20 <= 'z' }
