package anthropic

import (
	"context"
	"encoding/json"
	"iter"
	"net/http"
	"strings"

	"github.com/anthropics/anthropic-sdk-go"
	"github.com/anthropics/anthropic-sdk-go/option"
	"github.com/anthropics/anthropic-sdk-go/packages/param"
	"github.com/deftskills/deft/agent/model"
)

// Options configures a Model. Name and Key are required.
type Options struct {
	Name      string
	Key       string       // never logged
	BaseURL   string       // "" = the provider's
	Client    *http.Client // nil = http.DefaultClient
	MaxOutput int          // tokens of one step; 0 = 8192
	Window    int          // tokens; 0 = 200,000
}

// Model is one model of the provider. It is safe for concurrent use.
type Model struct {
	o        Options
	messages anthropic.MessageService
}

// New returns a Model. It makes no call.
func New(o Options) *Model {
	if o.MaxOutput == 0 {
		o.MaxOutput = 8192 // every model that is on offer takes this much
	}
	if o.Window == 0 {
		o.Window = 200_000
	}
	if o.BaseURL == "" {
		o.BaseURL = "https://api.anthropic.com/"
	}
	if o.Client == nil {
		o.Client = http.DefaultClient
	}
	// The service is made without the library's client, which would read the
	// environment and files of its own.
	return &Model{o: o, messages: anthropic.NewMessageService(
		option.WithBaseURL(o.BaseURL), option.WithAPIKey(o.Key),
		option.WithHTTPClient(o.Client), option.WithMaxRetries(0),
	)}
}

// Info implements model.Model.
func (m *Model) Info() model.Info {
	return model.Info{Provider: "anthropic", Name: m.o.Name, Window: m.o.Window, MaxOutput: m.o.MaxOutput, Caches: true}
}

// Stream implements model.Model.
func (m *Model) Stream(ctx context.Context, r model.Request) iter.Seq2[model.Delta, error] {
	return func(yield func(model.Delta, error) bool) {
		stream := m.messages.NewStreaming(ctx, m.params(r))
		defer stream.Close()
		reader := reader{ctx: ctx, secret: m.o.Key}
		for stream.Next() {
			deltas, err := reader.event(stream.Current())
			for _, d := range deltas {
				if !yield(d, nil) {
					return
				}
			}
			if err != nil {
				yield(model.Delta{}, err)
				return
			}
		}
		if err := reader.end(stream.Err()); err != nil {
			yield(model.Delta{}, err)
		}
	}
}

func (m *Model) params(r model.Request) anthropic.MessageNewParams {
	p := anthropic.MessageNewParams{Model: anthropic.Model(m.o.Name), MaxTokens: int64(m.o.MaxOutput)}
	if r.MaxOutput > 0 {
		p.MaxTokens = int64(r.MaxOutput)
	}
	for _, b := range r.System {
		if strings.TrimSpace(b.Text) == "" {
			continue // the API takes no blank block
		}
		block := anthropic.TextBlockParam{Text: b.Text}
		if b.Cache {
			block.CacheControl = anthropic.NewCacheControlEphemeralParam()
		}
		p.System = append(p.System, block)
	}
	for _, t := range r.Tools {
		tool := anthropic.ToolParam{Name: t.Name, Description: anthropic.String(t.Description)}
		tool.InputSchema = param.Override[anthropic.ToolInputSchemaParam](schema(t.Schema))
		p.Tools = append(p.Tools, anthropic.ToolUnionParam{OfTool: &tool})
	}
	if r.NoTools && len(p.Tools) > 0 {
		none := anthropic.NewToolChoiceNoneParam()
		p.ToolChoice = anthropic.ToolChoiceUnionParam{OfNone: &none}
	}
	for _, msg := range r.Messages {
		p.Messages = appendMessage(p.Messages, msg)
	}
	return p
}

func schema(s json.RawMessage) json.RawMessage {
	if len(s) == 0 {
		return json.RawMessage(`{"type":"object"}`)
	}
	return s
}

// appendMessage adds msg. Results are content of a user message here, and a user
// message that follows them joins them, since roles must alternate.
func appendMessage(list []anthropic.MessageParam, msg model.Message) []anthropic.MessageParam {
	role := anthropic.MessageParamRoleUser
	var blocks []anthropic.ContentBlockParamUnion
	for _, res := range msg.Results {
		text := res.Text
		if strings.TrimSpace(text) == "" {
			text = "(empty)"
		}
		blocks = append(blocks, anthropic.NewToolResultBlock(res.CallID, text, res.IsError))
	}
	if strings.TrimSpace(msg.Text) != "" {
		blocks = append(blocks, anthropic.NewTextBlock(msg.Text))
	}
	if msg.Role == model.Assistant {
		role = anthropic.MessageParamRoleAssistant
		for _, c := range msg.Calls {
			blocks = append(blocks, anthropic.NewToolUseBlock(c.ID, object(c.Input), c.Name))
		}
	}
	if len(blocks) == 0 {
		return list
	}
	if n := len(list); n > 0 && list[n-1].Role == role {
		list[n-1].Content = append(list[n-1].Content, blocks...)
		return list
	}
	return append(list, anthropic.MessageParam{Role: role, Content: blocks})
}

// object returns input if it is a JSON object: the API refuses a conversation that
// holds anything else, though a model may have written it.
func object(input json.RawMessage) json.RawMessage {
	var m map[string]json.RawMessage
	if json.Unmarshal(input, &m) != nil || m == nil {
		return json.RawMessage("{}")
	}
	return input
}
