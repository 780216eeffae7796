package openai

import (
	"encoding/json"
	"fmt"
	"slices"

	"github.com/deftskills/deft/agent/model"
	"github.com/openai/openai-go/v3"
)

func (m *Model) chatParams(r model.Request) openai.ChatCompletionNewParams {
	p := openai.ChatCompletionNewParams{
		Model:         openai.ChatModel(m.o.Name),
		StreamOptions: openai.ChatCompletionStreamOptionsParam{IncludeUsage: openai.Bool(true)},
	}
	if bound := max(r.MaxOutput, m.o.MaxOutput); bound > 0 {
		if r.MaxOutput > 0 {
			bound = r.MaxOutput
		}
		// The older name: compatible servers know this one.
		p.MaxTokens = openai.Int(int64(bound))
	}
	if text := system(r.System); text != "" {
		p.Messages = append(p.Messages, openai.SystemMessage(text))
	}
	for _, msg := range r.Messages {
		p.Messages = append(p.Messages, chatMessages(msg)...)
	}
	for _, t := range r.Tools {
		p.Tools = append(p.Tools, openai.ChatCompletionFunctionTool(openai.FunctionDefinitionParam{
			Name: t.Name, Description: openai.String(t.Description), Parameters: parameters(t.Schema),
		}))
	}
	if r.NoTools && len(p.Tools) > 0 {
		p.ToolChoice.OfAuto = openai.String("none")
	}
	return p
}

func chatMessages(msg model.Message) []openai.ChatCompletionMessageParamUnion {
	switch msg.Role {
	case model.ToolRole:
		var out []openai.ChatCompletionMessageParamUnion
		for _, res := range msg.Results {
			out = append(out, openai.ToolMessage(res.Text, res.CallID))
		}
		return out
	case model.Assistant:
		var a openai.ChatCompletionAssistantMessageParam
		if msg.Text != "" {
			a.Content.OfString = openai.String(msg.Text)
		}
		for _, c := range msg.Calls {
			a.ToolCalls = append(a.ToolCalls, openai.ChatCompletionMessageToolCallUnionParam{
				OfFunction: &openai.ChatCompletionMessageFunctionToolCallParam{
					ID:       c.ID,
					Function: openai.ChatCompletionMessageFunctionToolCallFunctionParam{Name: c.Name, Arguments: arguments(c)},
				},
			})
		}
		if msg.Text == "" && len(msg.Calls) == 0 {
			return nil
		}
		return []openai.ChatCompletionMessageParamUnion{{OfAssistant: &a}}
	}
	return []openai.ChatCompletionMessageParamUnion{openai.UserMessage(msg.Text)}
}

// chatReader gathers the pieces of calls, which come by index, until the step ends.
type chatReader struct {
	calls []chatCall
	usage *model.Usage
	stop  model.Stop
	bytes int
}

type chatCall struct {
	index int64
	call  model.Call
	input []byte
}

var chatStops = map[string]model.Stop{
	"stop": model.StopEnd, "tool_calls": model.StopTools, "function_call": model.StopTools,
	"length": model.StopLength, "content_filter": model.StopRefused,
}

func (r *chatReader) event(c openai.ChatCompletionChunk) ([]model.Delta, error) {
	if c.Usage.TotalTokens > 0 || c.Usage.PromptTokens > 0 {
		r.usage = &model.Usage{
			Input: int(c.Usage.PromptTokens), Output: int(c.Usage.CompletionTokens),
			Cached: int(c.Usage.PromptTokensDetails.CachedTokens),
		}
	}
	var out []model.Delta
	for _, choice := range c.Choices {
		if choice.Index != 0 {
			continue // one answer was asked for
		}
		if text := choice.Delta.Content + choice.Delta.Refusal; text != "" {
			out = append(out, model.Delta{Text: text})
		}
		if thought := reasoning(choice.Delta.RawJSON()); thought != "" {
			out = append(out, model.Delta{Reasoning: thought})
		}
		for _, part := range choice.Delta.ToolCalls {
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

func (r *chatReader) add(part openai.ChatCompletionChunkChoiceDeltaToolCall) error {
	i := slices.IndexFunc(r.calls, func(c chatCall) bool { return c.index == part.Index })
	// Some servers give every call the index 0 and tell them apart by id alone.
	if i >= 0 && part.ID != "" && r.calls[i].call.ID != "" && part.ID != r.calls[i].call.ID {
		i = slices.IndexFunc(r.calls, func(c chatCall) bool { return c.call.ID == part.ID })
	}
	if i < 0 {
		r.calls = append(r.calls, chatCall{index: part.Index})
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

// reasoning reads a field that compatible servers add and OpenAI does not have.
func reasoning(raw string) string {
	var extra struct {
		Content string `json:"reasoning_content"`
		Plain   string `json:"reasoning"`
	}
	if json.Unmarshal([]byte(raw), &extra) != nil {
		return ""
	}
	if extra.Content != "" {
		return extra.Content
	}
	return extra.Plain
}
