package openai

import (
	"encoding/json"
	"strings"

	"github.com/deftskills/deft/agent/model"
)

type responseRequest struct {
	Model        string         `json:"model"`
	Stream       bool           `json:"stream"`
	Store        bool           `json:"store"` // false: the conversation is ours, nothing of it is to stay on the server
	Instructions string         `json:"instructions,omitempty"`
	MaxOutput    int            `json:"max_output_tokens,omitempty"`
	Reasoning    *effort        `json:"reasoning,omitempty"`
	Input        []any          `json:"input"`
	Tools        []responseTool `json:"tools,omitempty"`
	ToolChoice   string         `json:"tool_choice,omitempty"`
}

type effort struct {
	Effort string `json:"effort"`
}

type responseTool struct {
	Type string `json:"type"`
	function
	Strict bool `json:"strict"`
}

type responseMessage struct {
	Role    string `json:"role"`
	Content string `json:"content"`
}

type responseCall struct {
	Type      string `json:"type"`
	CallID    string `json:"call_id"`
	Name      string `json:"name"`
	Arguments string `json:"arguments"`
}

type responseOutput struct {
	Type   string `json:"type"`
	CallID string `json:"call_id"`
	Output string `json:"output"`
}

func (m *Model) responseBody(r model.Request) responseRequest {
	p := responseRequest{Model: m.o.Name, Stream: true, Instructions: system(r.System), MaxOutput: m.o.MaxOutput}
	if r.MaxOutput > 0 {
		p.MaxOutput = r.MaxOutput
	}
	if r.Effort != "" && reasons(m.o.Name) {
		p.Reasoning = &effort{r.Effort}
	}
	for _, msg := range r.Messages {
		p.Input = append(p.Input, responseItems(msg)...)
	}
	for _, t := range r.Tools {
		p.Tools = append(p.Tools, responseTool{Type: "function", function: function{t.Name, t.Description, parameters(t.Schema)}})
	}
	if r.NoTools && len(p.Tools) > 0 {
		p.ToolChoice = "none"
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

func responseItems(msg model.Message) []any {
	var out []any
	if msg.Text != "" {
		role := "user"
		if msg.Role == model.Assistant {
			role = "assistant"
		}
		out = append(out, responseMessage{role, msg.Text})
	}
	for _, c := range msg.Calls {
		out = append(out, responseCall{"function_call", c.ID, c.Name, arguments(c)})
	}
	for _, res := range msg.Results {
		out = append(out, responseOutput{"function_call_output", res.CallID, res.Text})
	}
	return out
}

// responseReader follows a response to its end event.
type responseReader struct {
	done  bool
	calls int
}

// followed are the events that are read whole; of the rest the type is enough, whatever
// else they hold.
var followed = map[string]bool{
	"response.output_text.delta": true, "response.refusal.delta": true,
	"response.reasoning_summary_text.delta": true, "response.reasoning_text.delta": true,
	"response.output_item.done": true, "response.completed": true, "response.incomplete": true,
	"response.failed": true, "error": true,
}

type responseEvent struct {
	Type     string       `json:"type"`
	Delta    string       `json:"delta"`
	Item     responseCall `json:"item"`
	Response response     `json:"response"`
	Code     string       `json:"code"`
	Message  string       `json:"message"`
}

type response struct {
	Usage struct {
		Input   int `json:"input_tokens"`
		Output  int `json:"output_tokens"`
		Details struct {
			Cached int `json:"cached_tokens"`
		} `json:"input_tokens_details"`
	} `json:"usage"`
	Incomplete struct {
		Reason string `json:"reason"`
	} `json:"incomplete_details"`
	Error struct {
		Code    string `json:"code"`
		Message string `json:"message"`
	} `json:"error"`
}

func (r *responseReader) event(data []byte) ([]model.Delta, error) {
	var head struct {
		Type string `json:"type"`
	}
	if err := json.Unmarshal(data, &head); err != nil {
		return nil, err
	}
	if !followed[head.Type] {
		return nil, nil
	}
	var e responseEvent
	if err := json.Unmarshal(data, &e); err != nil {
		return nil, err
	}
	switch e.Type {
	case "response.output_text.delta", "response.refusal.delta":
		return []model.Delta{{Text: e.Delta}}, nil
	case "response.reasoning_summary_text.delta", "response.reasoning_text.delta":
		return []model.Delta{{Reasoning: e.Delta}}, nil
	case "response.output_item.done":
		if e.Item.Type != "function_call" {
			return nil, nil
		}
		c := model.Call{ID: e.Item.CallID, Name: e.Item.Name, Input: json.RawMessage(e.Item.Arguments)}
		if len(c.Input) == 0 {
			c.Input = json.RawMessage("{}")
		}
		r.calls++
		return []model.Delta{{Call: &c}}, nil
	case "response.completed", "response.incomplete":
		r.done = true
		return []model.Delta{r.end(e.Response)}, nil
	case "response.failed":
		return nil, fromCode(e.Response.Error.Code, model.Oneline(e.Response.Error.Message))
	case "error":
		return nil, fromCode(e.Code, model.Oneline(e.Message))
	}
	return nil, nil
}

func (r *responseReader) end(res response) model.Delta {
	d := model.Delta{Stop: model.StopEnd, Usage: &model.Usage{
		Input: res.Usage.Input, Output: res.Usage.Output, Cached: res.Usage.Details.Cached,
	}}
	switch reason := res.Incomplete.Reason; {
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
