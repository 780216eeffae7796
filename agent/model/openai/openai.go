package openai

import (
	"context"
	"encoding/json"
	"errors"
	"iter"
	"net/http"
	"strings"

	"github.com/deftskills/deft/agent/model"
	"github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/option"
	"github.com/openai/openai-go/v3/packages/ssestream"
	"github.com/openai/openai-go/v3/responses"
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
type Model struct {
	o         Options
	chat      openai.ChatCompletionService
	responses responses.ResponseService
}

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
	opts := []option.RequestOption{
		option.WithBaseURL(o.BaseURL), option.WithHTTPClient(o.Client), option.WithMaxRetries(0),
	}
	if o.Key != "" {
		opts = append(opts, option.WithAPIKey(o.Key))
	}
	// The services are made without the library's client, which would read the
	// environment.
	return &Model{o: o, chat: openai.NewChatCompletionService(opts...), responses: responses.NewResponseService(opts...)}
}

// Info implements model.Model.
func (m *Model) Info() model.Info {
	return model.Info{Provider: m.o.Provider, Name: m.o.Name, Window: m.o.Window, MaxOutput: m.o.MaxOutput}
}

// Stream implements model.Model.
func (m *Model) Stream(ctx context.Context, r model.Request) iter.Seq2[model.Delta, error] {
	return func(yield func(model.Delta, error) bool) {
		if m.o.API == Responses {
			stream := m.responses.NewStreaming(ctx, m.responseParams(r))
			read(ctx, m.o.Key, stream, &responseReader{}, yield)
			return
		}
		stream := m.chat.NewStreaming(ctx, m.chatParams(r))
		read(ctx, m.o.Key, stream, &chatReader{}, yield)
	}
}

// eventReader turns the events of one stream into deltas. last returns what is left
// to say at the end, and whether the step is whole.
type eventReader[E any] interface {
	event(E) ([]model.Delta, error)
	last() ([]model.Delta, bool)
}

func read[E any](ctx context.Context, secret string, stream *ssestream.Stream[E], r eventReader[E], yield func(model.Delta, error) bool) {
	defer stream.Close()
	begun := false
	send := func(deltas []model.Delta, err error) bool {
		for _, d := range deltas {
			if !yield(d, nil) {
				return false
			}
		}
		if err != nil {
			yield(model.Delta{}, err)
		}
		return err == nil
	}
	for stream.Next() {
		begun = true
		if !send(r.event(stream.Current())) {
			return
		}
	}
	if stream.Err() == nil && ctx.Err() == nil {
		if deltas, whole := r.last(); whole {
			send(deltas, nil)
			return
		}
	}
	yield(model.Delta{}, failure(ctx, stream.Err(), begun, secret))
}

func failure(ctx context.Context, err error, begun bool, secret string) *model.Error {
	var api *openai.Error
	var within *ssestream.StreamError
	switch {
	case ctx.Err() != nil:
	case errors.As(err, &api):
		message := api.Message
		if message == "" {
			message = bodyMessage(api.RawJSON())
		}
		e := model.FromStatus(api.StatusCode, nil, model.Oneline(message, secret))
		if api.Response != nil {
			e = model.FromStatus(api.StatusCode, api.Response.Header, model.Oneline(message, secret))
		}
		e.Err = err
		return e
	case errors.As(err, &within):
		return fromCode(errorCode(within.Event.Data), model.Oneline(bodyMessage(string(within.Event.Data)), secret))
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

// parameters decodes a tool's schema for the library, which takes a map.
func parameters(schema json.RawMessage) map[string]any {
	m := map[string]any{}
	if json.Unmarshal(schema, &m) != nil || len(m) == 0 {
		return map[string]any{"type": "object", "properties": map[string]any{}}
	}
	return m
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
