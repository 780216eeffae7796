package search

import (
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/clipperhouse/uax29/v2/graphemes"

	"github.com/deftskills/deft/internal/fold"
	"github.com/deftskills/deft/internal/safetext"
	"github.com/deftskills/deft/skill"
)

// Bounds of a query.
const (
	maxQuery    = 16 << 10 // bytes
	maxTokens   = 4096
	maxTerms    = 128 // distinct terms that are scored, the rarest first
	maxExpand   = 32  // terms that one single character stands for
	maxPhraseOf = 200
)

// question is a query's text, understood.
type question struct {
	terms   []asked  // distinct, in order of first use
	phrases []string // folded; all must occur
	without []string // terms; none may occur
	name    string   // the whole text as a name
	units   int      // distinct pairs of a query in an unspaced script, else 0
	words   []string // folded words as they stand, for the text mode
	diags   []skill.Diagnostic
}

func (an *analyzer) parse(q Query) question {
	text := q.Text
	var out question
	if len(text) > maxQuery {
		text = clip(text, maxQuery)
		out.diags = append(out.diags, note("search_query_truncated", "query is longer than 16 KiB; the rest is not used"))
	}
	out.name = foldName(text)
	if !q.Plain {
		text = out.operators(an, text)
	}
	at, first := map[string]int{}, headline(text)
	var said []int // the terms, by their number, in the order of text
	w := walker{a: an, emit: func(term []byte, start int) bool {
		i, ok := at[string(term)]
		if !ok {
			i = len(out.terms)
			at[string(term)] = i
			out.terms = append(out.terms, asked{term: string(term), cjk: isUnit(term)})
			if out.terms[i].cjk {
				out.units++
			}
		}
		out.terms[i].count++
		out.terms[i].headline = out.terms[i].headline || start < first
		said = append(said, i)
		return len(said) < maxTokens
	}, compound: func(n int) { out.compound(said[len(said)-n:]) }}
	w.walk(text)
	out.plainer()
	an.also(&out, text)
	out.words = strings.Fields(folded(text))
	if len(out.terms) == 0 && len(out.phrases) == 0 {
		out.diags = append(out.diags, note("search_empty_query", "query has no words to look for"))
	}
	return out
}

// compound takes the terms of a word with hyphens, the last of which is the whole.
func (out *question) compound(terms []int) {
	whole := out.terms[terms[len(terms)-1]].term
	for _, i := range terms {
		out.terms[i].whole = whole
		out.terms[i].inside++
	}
}

// plainer leaves out pairs that begin with Hiragana, which are grammar or end in another
// word than they begin, if anything else stays.
func (out *question) plainer() {
	grammar := func(a asked) bool {
		r, n := utf8.DecodeRuneInString(a.term)
		return r >= 0x3041 && r <= 0x309F && n < len(a.term)
	}
	if slices.ContainsFunc(out.terms, func(a asked) bool { return !grammar(a) }) {
		before := len(out.terms)
		out.terms = slices.DeleteFunc(out.terms, grammar)
		out.units -= before - len(out.terms)
	}
}

// operators takes phrases and exclusions out of text; the words of a phrase stay, as
// they count too. A quote without its partner is text.
func (out *question) operators(an *analyzer, text string) string {
	text = strings.NewReplacer("\u201c", `"`, "\u201d", `"`).Replace(text)
	var rest strings.Builder
	for text != "" {
		r, n := utf8.DecodeRuneInString(text)
		begins := rest.Len() == 0 || strings.HasSuffix(rest.String(), " ")
		switch {
		case r == '"':
			phrase, after, closed := strings.Cut(text[1:], `"`)
			if p := folded(phrase); closed && p != "" {
				out.phrases = append(out.phrases, p)
				rest.WriteString(" " + phrase + " ")
				text = after
				continue
			}
			rest.WriteByte(' ')
		case r == '-' && begins:
			word := text[1:]
			if end := strings.IndexFunc(word, unicode.IsSpace); end >= 0 {
				word = word[:end]
			}
			if first, _ := utf8.DecodeRuneInString(word); unicode.IsLetter(first) || unicode.IsDigit(first) {
				an.each(word, false, func(term []byte, _ int) bool {
					out.without = append(out.without, string(term))
					return true
				})
				text = text[1+len(word):]
				continue
			}
			rest.WriteByte(' ')
		case unicode.IsSpace(r):
			rest.WriteByte(' ')
		default:
			rest.WriteString(text[:n])
		}
		text = text[n:]
	}
	return rest.String()
}

// isUnit reports whether term is a unit of an unspaced script.
func isUnit(term []byte) bool { return scriptAt(string(term), 0) != spaced }

// single reports whether a unit is one character, which stands for every pair that
// begins with it.
func (a asked) single() bool { return a.cjk && utf8.RuneCountInString(a.term) == 1 }

// folded makes texts comparable: compatibility forms, case, and white space runs.
func folded(s string) string {
	return strings.Join(strings.Fields(fold.Key(s)), " ")
}

func note(code, message string) skill.Diagnostic {
	return skill.Diagnostic{Code: code, Level: skill.LevelInfo, File: "query", Offset: -1, Message: message}
}

// folded returns f with its names folded once, for admits.
func (f Filter) folded() Filter {
	names := make([]string, len(f.Names))
	for i, n := range f.Names {
		names[i] = foldName(n)
	}
	f.Names = names
	return f
}

// narrow reports whether f may keep a document out.
func (f *Filter) narrow() bool { return len(f.Names)+len(f.Kinds)+len(f.Sources)+len(f.Trusts) > 0 }

func (f *Filter) admits(d *document) bool {
	return oneOf(f.Kinds, d.Kind) && oneOf(f.Sources, d.Source) && oneOf(f.Trusts, d.Trust) &&
		(len(f.Names) == 0 || slices.Contains(f.Names, foldName(d.Name)))
}

func oneOf(list []string, s string) bool { return len(list) == 0 || slices.Contains(list, s) }

// shown makes a field of a hit printable.
func shown(s string) string { s, _ = safetext.Field(s); return s }

// dropClusters returns s without its first n grapheme clusters.
func dropClusters(s string, n int) string {
	g := graphemes.FromString(s)
	for ; n > 0 && g.Next(); n-- {
	}
	return s[g.End():]
}
