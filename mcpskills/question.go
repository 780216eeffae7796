package mcpskills

import (
	"cmp"
	"context"
	"encoding/json"
	"regexp"
	"slices"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/deftskills/deft/internal/safetext"
)

// Asker puts a question of a server to a person. It blocks until there is an answer or
// ctx ends. ok is false where the person declines; an error means that nobody could be
// asked.
type Asker func(ctx context.Context, q Question) (values map[string]any, ok bool, err error)

// Question is what a server wants to know. All of its texts are clean, and the server's:
// show its name with them.
type Question struct {
	Server, Message string
	Fields          []Field
}

// Field is one value that is asked for.
type Field struct {
	Name, Title, About string
	Type               string   // string, number, integer, boolean
	Choices            []string // of a string; nil = any text
	Required           bool
}

// secret are the words by which a field asks for what no server may ask this way.
var secret = regexp.MustCompile(`(?i)pass.?(word|phrase|code)|secret|token|api.?key|private.?key|credential|\bpin\b|\botp\b|cvv|密码|口令|密钥`)

// question answers a server that asks the person. It is declined, unseen, where it asks
// for a secret, for more than plain values, or to open an address.
func (p *provider) question(ctx context.Context, r *mcp.ElicitRequest) (*mcp.ElicitResult, error) {
	declined := &mcp.ElicitResult{Action: "decline"}
	q, ok := p.read(r.Params)
	if !ok {
		return declined, nil
	}
	values, ok, err := p.h.o.Ask(ctx, q)
	switch {
	case err != nil:
		return &mcp.ElicitResult{Action: "cancel"}, nil
	case !ok:
		return declined, nil
	}
	return &mcp.ElicitResult{Action: "accept", Content: values}, nil
}

// maxFields bounds what one question asks for: more is no question.
const maxFields = 20

// read reads a question; false = it is not to be put.
func (p *provider) read(in *mcp.ElicitParams) (Question, bool) {
	q := Question{Server: p.s.Name, Message: prose(in.Message)}
	if in.URL != "" || in.Mode != "" && in.Mode != "form" || secret.MatchString(in.Message) {
		return q, false
	}
	raw, err := json.Marshal(in.RequestedSchema)
	var schema struct {
		Properties map[string]struct {
			Type, Title, Description, Format string
			Enum                             []string
		}
		Required []string
	}
	if err != nil || json.Unmarshal(raw, &schema) != nil || len(schema.Properties) > maxFields {
		return q, false
	}
	for name, s := range schema.Properties {
		if secret.MatchString(strings.Join([]string{name, s.Title, s.Description, s.Format}, " ")) || s.Format == "password" ||
			!slices.Contains([]string{"string", "number", "integer", "boolean"}, s.Type) {
			return q, false
		}
		f := Field{Name: name, Title: word(cmp.Or(s.Title, name)), About: word(s.Description), Type: s.Type, Choices: s.Enum}
		if slices.ContainsFunc(f.Choices, func(c string) bool { return safetext.Line(c) != c }) {
			return q, false
		}
		f.Required = slices.Contains(schema.Required, name)
		q.Fields = append(q.Fields, f)
	}
	slices.SortFunc(q.Fields, func(a, b Field) int { return cmp.Compare(a.Name, b.Name) })
	return q, true
}
