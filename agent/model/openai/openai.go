package openai

import (
	"context"
	"encoding/json"
	"errors"
	"iter"
	"net/http"
	"strings"

	"github.com/deftskills/deft/agent/model"
)

// API names one of the two.
type API string

// The APIs.
const (
	Chat      API = "chat"      // Chat Completions; compatible servers have this one
	Responses API = "responses" // OpenAI alone
)

// Options configures a Model. Name is required.
type Options struct {
	Provider  string // as shown in PROVIDER/NAME; "" = openai
	Name      string
	Key       string       // never logged; "" for servers that need none
	BaseURL   string       // "" = OpenAI's
	API       API          // "" = Chat
	Client    *http.Client // nil = http.DefaultClient
	MaxOutput int          // tokens of one step; 0 = the server's own bound
	Window    int          // tokens; 0 = unknown
}

// Model is one model of one server. It is safe for concurrent use.
type Model struct{ o Options }

// New returns a Model. It makes no call.
func New(o Options) *Model {
	if o.Provider == "" {
		o.Provider = "openai"
	}
	if o.BaseURL == "" {
		o.BaseURL = "https://api.openai.com/v1/"
	}
	if o.Client == nil {
		o.Client = http.DefaultClient
	}
	o.BaseURL = strings.TrimRight(o.BaseURL, "/") + "/"
	return &Model{o: o}
}

// Info implements model.Model.
func (m *Model) Info() model.Info {
	return model.Info{Provider: m.o.Provider, Name: m.o.Name, Window: m.o.Window, MaxOutput: m.o.MaxOutput}
}

// Stream implements model.Model.
func (m *Model) Stream(ctx context.Context, r model.Request) iter.Seq2[model.Delta, error] {
	return func(yield func(model.Delta, error) bool) {
		if m.o.API == Responses {
			m.read(ctx, "responses", m.responseBody(r), &responseReader{}, yield)
			return
		}
		m.read(ctx, "chat/completions", m.chatBody(r), &chatReader{}, yield)
	}
}

// eventReader turns the events of one stream into deltas. last returns what is left
// to say at the end, and whether the step is whole.
type eventReader interface {
	event(data []byte) ([]model.Delta, error)
	last() ([]model.Delta, bool)
}

func (m *Model) read(ctx context.Context, path string, body any, r eventReader, yield func(model.Delta, error) bool) {
	send := func(deltas []model.Delta) bool {
		for _, d := range deltas {
			if !yield(d, nil) {
				return false
			}
		}
		return true
	}
	begun := false
	for data, err := range m.events(ctx, path, body) {
		if err != nil {
			yield(model.Delta{}, failure(ctx, err, begun, m.o.Key))
			return
		}
		begun = true
		deltas, err := r.event(data)
		if !send(deltas) {
			return
		}
		if err != nil {
			var own *model.Error
			if !errors.As(err, &own) {
				own = failure(ctx, err, begun, m.o.Key)
			}
			yield(model.Delta{}, own)
			return
		}
	}
	if deltas, whole := r.last(); whole && ctx.Err() == nil {
		send(deltas)
		return
	}
	yield(model.Delta{}, failure(ctx, nil, begun, m.o.Key))
}

func failure(ctx context.Context, err error, begun bool, secret string) *model.Error {
	var answer *statusError
	var within *withinError
	switch {
	case ctx.Err() != nil:
	case errors.As(err, &answer):
		e := model.FromStatus(answer.status, answer.header, model.Oneline(bodyMessage(answer.body), secret))
		e.Err = err
		return e
	case errors.As(err, &within):
		return fromCode(errorCode(within.data), model.Oneline(bodyMessage(string(within.data)), secret))
	}
	return model.FromTransport(ctx, err, begun)
}

// bodyMessage finds the message in the shapes that servers use: {"error":{"message"}},
// {"error":"…"}, {"message"}, or plain text.
func bodyMessage(raw string) string {
	var nested struct {
		Error   struct{ Message string }
		Message string
	}
	var flat struct{ Error string }
	switch {
	case json.Unmarshal([]byte(raw), &nested) == nil && nested.Error.Message != "":
		return nested.Error.Message
	case nested.Message != "":
		return nested.Message
	case json.Unmarshal([]byte(raw), &flat) == nil && flat.Error != "":
		return flat.Error
	case strings.TrimSpace(raw) == "":
		return "no message"
	}
	return raw
}

func errorCode(raw []byte) string {
	var body struct {
		Error struct{ Code, Type any }
	}
	if json.Unmarshal(raw, &body) != nil {
		return ""
	}
	code, _ := body.Error.Code.(string)
	if code == "" {
		code, _ = body.Error.Type.(string)
	}
	return code
}

// fromCode makes the error of a failure that came inside a stream, without a status.
func fromCode(code, message string) *model.Error {
	status := http.StatusInternalServerError
	switch {
	case strings.Contains(code, "rate_limit"):
		status = http.StatusTooManyRequests
	case strings.Contains(code, "invalid"), strings.Contains(code, "context_length"):
		status = http.StatusBadRequest
	}
	return model.FromStatus(status, nil, message)
}

// parameters is a tool's schema; these APIs want an object in any case.
func parameters(schema json.RawMessage) json.RawMessage {
	var m map[string]json.RawMessage
	if json.Unmarshal(schema, &m) != nil || len(m) == 0 {
		return json.RawMessage(`{"type":"object","properties":{}}`)
	}
	return schema
}

// system joins the blocks: these APIs cache prefixes by themselves and take no mark.
func system(blocks []model.Block) string {
	var parts []string
	for _, b := range blocks {
		if b.Text != "" {
			parts = append(parts, b.Text)
		}
	}
	return strings.Join(parts, "\n\n")
}

func arguments(c model.Call) string {
	if !json.Valid(c.Input) {
		return "{}" // a server that parses the conversation would refuse all of it
	}
	return string(c.Input)
}
