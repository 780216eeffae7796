package search

import (
	"fmt"
	"slices"
	"time"

	"github.com/deftskills/deft/skill"
)

// Field is one weighted part of a skill's text.
type Field uint8

// The fields, in the order of their weight.
const (
	Name        Field = iota // name and its parts, aliases
	Keywords                 // tags, routing keywords and stages
	Description              // description in every language, without what it says the skill is not for
	When                     // when_to_use, and the sections of the body that say it
	Headings                 // heading lines of the body, and how it begins
	Body                     // the body without code, headings included
	References               // text files below references/
	Code                     // code blocks of the body
	fieldCount
)

var fieldNames = [fieldCount]string{"name", "keywords", "description", "when", "headings", "body", "references", "code"}

// String is the name that flags and JSON use.
func (f Field) String() string {
	if f < fieldCount {
		return fieldNames[f]
	}
	return fmt.Sprintf("field(%d)", uint8(f))
}

// ParseField returns the field of that name.
func ParseField(name string) (Field, bool) {
	i := slices.Index(fieldNames[:], name)
	return Field(max(i, 0)), i >= 0
}

// FieldParam weighs one field: Weight multiplies its counts, B (0 to 1) says how
// much a long field is discounted against the average length.
type FieldParam struct{ Weight, B float64 }

// Options are the parameters of an Index. The zero value means DefaultOptions.
type Options struct {
	// Dialect mastra ranks bodies and references as that system does, by fixed
	// parameters, and keeps nothing in Dir; every other is deft's own search.
	Dialect skill.Dialect
	// K1 says how soon repeated words stop to count; 0 means the default. Skills are
	// long, so it is larger than the 1.2 usual for short texts.
	K1 float64
	// Fields replaces the weights of the named fields; the others keep the default.
	Fields map[Field]FieldParam
	// NoStem indexes and asks for English words as they are.
	NoStem bool
	// Stop replaces the list of stop words; nil means the built-in one.
	Stop []string

	// Dir is a folder where the index is kept between starts; it may be deleted at any
	// time. It holds words and counts, no texts. "" keeps nothing.
	Dir string
	// Stamp tells this program from one that cuts texts into other words: an index that
	// another Stamp has kept is made again.
	Stamp string

	// Embedder makes vectors of skills and queries; nil = the words alone count. What it
	// made is kept in Dir.
	Embedder Embedder
	// FullVectors makes vectors of whole bodies and references, in pieces; else a skill
	// has one, of what it says of itself and the beginning of its body.
	FullVectors bool
	// VectorTimeout is how long a query waits for its vector; 0 = 800 milliseconds. A
	// query without one is answered by its words.
	VectorTimeout time.Duration
	// Fusion says how both ranks become one; "" = Reciprocal.
	Fusion Fusion
	// Clock tells when an embedder that failed is asked again; nil = time.Now.
	Clock func() time.Time
}

// DefaultOptions returns the parameters that did best on the tuning data; README.md
// has the figures, with those of the alternatives.
func DefaultOptions() Options {
	return Options{K1: 4, Fields: map[Field]FieldParam{
		Name:        {6, 0.3},
		Keywords:    {4, 0.4},
		Description: {4, 0.6},
		When:        {1.5, 0.6},
		Headings:    {1, 0.6},
		Body:        {1, 0.9},
		References:  {0.5, 0.75},
		Code:        {0.5, 0.75},
	}}
}

func (o Options) withDefaults() Options {
	d := DefaultOptions()
	if o.K1 == 0 {
		o.K1 = d.K1
	}
	for f, p := range o.Fields {
		d.Fields[f] = p
	}
	o.Fields = d.Fields
	if o.VectorTimeout == 0 {
		o.VectorTimeout = 800 * time.Millisecond
	}
	if o.Clock == nil {
		o.Clock = time.Now
	}
	return o
}
