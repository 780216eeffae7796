package openai

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"

	"github.com/deftskills/deft/agent/model"
)

type chatRequest struct {
	Model         string        `json:"model"`
	Messages      []chatMessage `json:"messages"`
	Stream        bool          `json:"stream"`
	StreamOptions streamOptions `json:"stream_options"`
	MaxTokens     int           `json:"max_tokens,omitempty"` // the older name: compatible servers know this one
	Tools         []chatTool    `json:"tools,omitempty"`
	ToolChoice    string        `json:"tool_choice,omitempty"`
}

type streamOptions struct {
	IncludeUsage bool `json:"include_usage"`
}

type chatMessage struct {
	Role    string     `json:"role"`
	Content *string    `json:"content,omitempty"`
	Calls   []chatCall `json:"tool_calls,omitempty"`
	CallID  string     `json:"tool_call_id,omitempty"`
}

type chatTool struct {
	Type     string   `json:"type"`
	Function function `json:"function"`
}

type function struct {
	Name        string          `json:"name"`
	Description string          `json:"description"`
	Parameters  json.RawMessage `json:"parameters"`
}

// chatCall is a call in a message, and a piece of one in an event.
type chatCall struct {
	Index    *int   `json:"index,omitempty"` // in an event alone
	ID       string `json:"id"`
	Type     string `json:"type,omitempty"`
	Function struct {
		Name      string `json:"name"`
		Arguments string `json:"arguments"`
	} `json:"function"`
}

func (m *Model) chatBody(r model.Request) chatRequest {
	p := chatRequest{
		Model: m.o.Name, Stream: true, StreamOptions: streamOptions{IncludeUsage: true}, MaxTokens: m.o.MaxOutput,
	}
	if r.MaxOutput > 0 {
		p.MaxTokens = r.MaxOutput
	}
	if text := system(r.System); text != "" {
		p.Messages = append(p.Messages, chatMessage{Role: "system", Content: &text})
	}
	for _, msg := range r.Messages {
		p.Messages = append(p.Messages, chatMessages(msg)...)
	}
	for _, t := range r.Tools {
		p.Tools = append(p.Tools, chatTool{"function", function{t.Name, t.Description, parameters(t.Schema)}})
	}
	if r.NoTools && len(p.Tools) > 0 {
		p.ToolChoice = "none"
	}
	return p
}

func chatMessages(msg model.Message) []chatMessage {
	switch msg.Role {
	case model.ToolRole:
		var out []chatMessage
		for _, res := range msg.Results {
			out = append(out, chatMessage{Role: "tool", Content: &res.Text, CallID: res.CallID})
		}
		return out
	case model.Assistant:
		a := chatMessage{Role: "assistant"}
		if msg.Text != "" {
			a.Content = &msg.Text
		}
		for _, c := range msg.Calls {
			call := chatCall{ID: c.ID, Type: "function"}
			call.Function.Name, call.Function.Arguments = c.Name, arguments(c)
			a.Calls = append(a.Calls, call)
		}
		if a.Content == nil && len(a.Calls) == 0 {
			return nil
		}
		return []chatMessage{a}
	}
	return []chatMessage{{Role: "user", Content: &msg.Text}}
}

// chatReader gathers the pieces of calls, which come by index, until the step ends.
type chatReader struct {
	calls []gathered
	usage *model.Usage
	stop  model.Stop
	bytes int
}

type gathered struct {
	index int
	call  model.Call
	input []byte
}

type chatChunk struct {
	Choices []struct {
		Index int `json:"index"`
		Delta struct {
			Content   string     `json:"content"`
			Refusal   string     `json:"refusal"`
			Calls     []chatCall `json:"tool_calls"`
			Reasoning string     `json:"reasoning"`         // compatible servers add
			Thought   string     `json:"reasoning_content"` // one of these two
		} `json:"delta"`
		FinishReason string `json:"finish_reason"`
	} `json:"choices"`
	Usage *struct {
		Prompt     int `json:"prompt_tokens"`
		Completion int `json:"completion_tokens"`
		Details    struct {
			Cached int `json:"cached_tokens"`
		} `json:"prompt_tokens_details"`
	} `json:"usage"`
}

var chatStops = map[string]model.Stop{
	"stop": model.StopEnd, "tool_calls": model.StopTools, "function_call": model.StopTools,
	"length": model.StopLength, "content_filter": model.StopRefused,
}

func (r *chatReader) event(data []byte) ([]model.Delta, error) {
	var c chatChunk
	if err := json.Unmarshal(data, &c); err != nil {
		return nil, err
	}
	if u := c.Usage; u != nil && u.Prompt+u.Completion > 0 {
		r.usage = &model.Usage{Input: u.Prompt, Output: u.Completion, Cached: u.Details.Cached}
	}
	var out []model.Delta
	for _, choice := range c.Choices {
		if choice.Index != 0 {
			continue // one answer was asked for
		}
		if text := choice.Delta.Content + choice.Delta.Refusal; text != "" {
			out = append(out, model.Delta{Text: text})
		}
		if thought := cmp.Or(choice.Delta.Thought, choice.Delta.Reasoning); thought != "" {
			out = append(out, model.Delta{Reasoning: thought})
		}
		for _, part := range choice.Delta.Calls {
			if err := r.add(part); err != nil {
				return out, err
			}
		}
		if f := choice.FinishReason; f != "" {
			if r.stop = chatStops[f]; r.stop == "" {
				r.stop = model.StopEnd
			}
		}
	}
	return out, nil
}

func (r *chatReader) add(part chatCall) error {
	index := 0
	if part.Index != nil {
		index = *part.Index
	}
	i := slices.IndexFunc(r.calls, func(c gathered) bool { return c.index == index })
	// Some servers give every call the index 0 and tell them apart by id alone.
	if i >= 0 && part.ID != "" && r.calls[i].call.ID != "" && part.ID != r.calls[i].call.ID {
		i = slices.IndexFunc(r.calls, func(c gathered) bool { return c.call.ID == part.ID })
	}
	if i < 0 {
		r.calls = append(r.calls, gathered{index: index})
		i = len(r.calls) - 1
	}
	c := &r.calls[i]
	if part.ID != "" {
		c.call.ID = part.ID
	}
	if c.call.Name == "" {
		c.call.Name = part.Function.Name
	}
	c.input = append(c.input, part.Function.Arguments...)
	if r.bytes += len(part.Function.Arguments); r.bytes > model.MaxCallInput || len(r.calls) > model.MaxStepCalls {
		return &model.Error{Kind: model.KindRequest, Message: "a tool call without end"}
	}
	return nil
}

func (r *chatReader) last() ([]model.Delta, bool) {
	if r.stop == "" {
		return nil, false
	}
	var out []model.Delta
	for i, c := range r.calls {
		if r.stop == model.StopLength && !json.Valid(c.input) {
			break // the bound cut this call; it is not the model's wish
		}
		if c.call.ID == "" {
			c.call.ID = fmt.Sprintf("call_%d", i+1)
		}
		if c.call.Input = c.input; len(c.input) == 0 {
			c.call.Input = json.RawMessage("{}")
		}
		out = append(out, model.Delta{Call: &c.call})
	}
	return append(out, model.Delta{Usage: r.usage, Stop: r.stop}), true
}
