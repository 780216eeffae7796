package openai

import (
	"encoding/json"
	"strings"

	"github.com/deftskills/deft/agent/model"
	"github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/responses"
	"github.com/openai/openai-go/v3/shared"
)

func (m *Model) responseParams(r model.Request) responses.ResponseNewParams {
	p := responses.ResponseNewParams{
		Model: shared.ResponsesModel(m.o.Name),
		// The conversation is ours; nothing of it is to stay on the server.
		Store: openai.Bool(false),
	}
	if text := system(r.System); text != "" {
		p.Instructions = openai.String(text)
	}
	bound := m.o.MaxOutput
	if r.MaxOutput > 0 {
		bound = r.MaxOutput
	}
	if bound > 0 {
		p.MaxOutputTokens = openai.Int(int64(bound))
	}
	if r.Effort != "" && reasons(m.o.Name) {
		p.Reasoning.Effort = shared.ReasoningEffort(r.Effort)
	}
	for _, msg := range r.Messages {
		p.Input.OfInputItemList = append(p.Input.OfInputItemList, responseItems(msg)...)
	}
	for _, t := range r.Tools {
		p.Tools = append(p.Tools, responses.ToolUnionParam{OfFunction: &responses.FunctionToolParam{
			Name: t.Name, Description: openai.String(t.Description), Parameters: parameters(t.Schema), Strict: openai.Bool(false),
		}})
	}
	if r.NoTools && len(p.Tools) > 0 {
		p.ToolChoice.OfToolChoiceMode = openai.Opt(responses.ToolChoiceOptionsNone)
	}
	return p
}

// reasons reports whether the model takes an effort: the others refuse the request.
func reasons(name string) bool {
	for _, prefix := range []string{"gpt-5", "o1", "o3", "o4"} {
		if strings.HasPrefix(name, prefix) {
			return true
		}
	}
	return false
}

func responseItems(msg model.Message) []responses.ResponseInputItemUnionParam {
	var out []responses.ResponseInputItemUnionParam
	if msg.Text != "" {
		role := responses.EasyInputMessageRoleUser
		if msg.Role == model.Assistant {
			role = responses.EasyInputMessageRoleAssistant
		}
		out = append(out, responses.ResponseInputItemParamOfMessage(msg.Text, role))
	}
	for _, c := range msg.Calls {
		out = append(out, responses.ResponseInputItemParamOfFunctionCall(arguments(c), c.ID, c.Name))
	}
	for _, res := range msg.Results {
		item := responses.ResponseInputItemParamOfFunctionCallOutput(res.Text)
		item.OfFunctionCallOutput.CallID = openai.String(res.CallID)
		out = append(out, item)
	}
	return out
}

// responseReader follows a response to its end event.
type responseReader struct {
	done  bool
	calls int
}

func (r *responseReader) event(e responses.ResponseStreamEventUnion) ([]model.Delta, error) {
	switch e.Type {
	case "response.output_text.delta", "response.refusal.delta":
		return []model.Delta{{Text: e.Delta}}, nil
	case "response.reasoning_summary_text.delta", "response.reasoning_text.delta":
		return []model.Delta{{Reasoning: e.Delta}}, nil
	case "response.output_item.done":
		if e.Item.Type != "function_call" {
			return nil, nil
		}
		call := e.Item.AsFunctionCall()
		c := model.Call{ID: call.CallID, Name: call.Name, Input: json.RawMessage(call.Arguments)}
		if len(c.Input) == 0 {
			c.Input = json.RawMessage("{}")
		}
		r.calls++
		return []model.Delta{{Call: &c}}, nil
	case "response.completed", "response.incomplete":
		r.done = true
		return []model.Delta{r.end(e.Response)}, nil
	case "response.failed":
		return nil, fromCode(string(e.Response.Error.Code), model.Oneline(e.Response.Error.Message))
	case "error":
		return nil, fromCode(e.Code, model.Oneline(e.Message))
	}
	return nil, nil
}

func (r *responseReader) end(res responses.Response) model.Delta {
	d := model.Delta{Stop: model.StopEnd, Usage: &model.Usage{
		Input: int(res.Usage.InputTokens), Output: int(res.Usage.OutputTokens),
		Cached: int(res.Usage.InputTokensDetails.CachedTokens),
	}}
	switch reason := string(res.IncompleteDetails.Reason); {
	case reason == "content_filter":
		d.Stop = model.StopRefused
	case reason != "":
		d.Stop = model.StopLength
	case r.calls > 0:
		d.Stop = model.StopTools
	}
	return d
}

func (r *responseReader) last() ([]model.Delta, bool) { return nil, r.done }
