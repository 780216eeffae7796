package anthropic

import (
	"context"
	"encoding/json"
	"errors"
	"strings"

	"github.com/anthropics/anthropic-sdk-go"
	"github.com/deftskills/deft/agent/model"
)

// reader turns the events of one stream into deltas.
type reader struct {
	ctx    context.Context
	secret string

	begun, done bool
	call        *model.Call // the tool_use block that is open
	input       strings.Builder
	usage       model.Usage
	stop        model.Stop
}

var stops = map[anthropic.StopReason]model.Stop{
	anthropic.StopReasonEndTurn:                    model.StopEnd,
	anthropic.StopReasonStopSequence:               model.StopEnd,
	anthropic.StopReasonPauseTurn:                  model.StopEnd,
	anthropic.StopReasonToolUse:                    model.StopTools,
	anthropic.StopReasonMaxTokens:                  model.StopLength,
	anthropic.StopReasonModelContextWindowExceeded: model.StopLength,
	anthropic.StopReasonRefusal:                    model.StopRefused,
}

func (r *reader) event(e anthropic.MessageStreamEventUnion) ([]model.Delta, error) {
	r.begun = true
	switch e.Type {
	case "message_start":
		u := e.Message.Usage
		r.usage = model.Usage{
			Input:  int(u.InputTokens + u.CacheReadInputTokens + u.CacheCreationInputTokens),
			Cached: int(u.CacheReadInputTokens), Output: int(u.OutputTokens),
		}
	case "content_block_start":
		if e.ContentBlock.Type == "tool_use" {
			r.call = &model.Call{ID: e.ContentBlock.ID, Name: e.ContentBlock.Name}
			r.input.Reset()
		}
	case "content_block_delta":
		return r.delta(e.Delta)
	case "content_block_stop":
		if r.call != nil {
			c := *r.call
			r.call = nil
			c.Input = json.RawMessage(r.input.String())
			if len(c.Input) == 0 {
				c.Input = json.RawMessage("{}")
			}
			return []model.Delta{{Call: &c}}, nil
		}
	case "message_delta":
		if n := int(e.Usage.OutputTokens); n > 0 {
			r.usage.Output = n
		}
		if s := e.Delta.StopReason; s != "" {
			if r.stop = stops[s]; r.stop == "" {
				r.stop = model.StopEnd
			}
		}
	case "message_stop":
		if r.stop == "" {
			break
		}
		r.done = true
		u := r.usage
		return []model.Delta{{Usage: &u, Stop: r.stop}}, nil
	}
	return nil, nil
}

func (r *reader) delta(d anthropic.MessageStreamEventUnionDelta) ([]model.Delta, error) {
	switch {
	case d.Text != "":
		return []model.Delta{{Text: d.Text}}, nil
	case d.Thinking != "":
		return []model.Delta{{Reasoning: d.Thinking}}, nil
	case d.PartialJSON != "":
		if r.input.Len()+len(d.PartialJSON) > model.MaxCallInput {
			return nil, &model.Error{Kind: model.KindRequest, Message: "a tool call without end"}
		}
		r.input.WriteString(d.PartialJSON)
	}
	return nil, nil
}

// end judges how the stream ended; nil means as it should.
func (r *reader) end(err error) error {
	if r.done {
		return nil
	}
	var api *anthropic.Error
	if errors.As(err, &api) && r.ctx.Err() == nil {
		status, message := api.StatusCode, r.message(api.RawJSON())
		if status == 200 {
			// An error event within a stream carries the status of the stream.
			status = statusOf(string(api.Type()))
		}
		e := model.FromStatus(status, nil, message)
		if api.Response != nil {
			e = model.FromStatus(status, api.Response.Header, message)
		}
		e.Err = err
		return e
	}
	return model.FromTransport(r.ctx, err, r.begun)
}

func statusOf(kind string) int {
	switch kind {
	case "rate_limit_error":
		return 429
	case "invalid_request_error":
		return 400
	case "authentication_error", "permission_error":
		return 403
	case "not_found_error":
		return 404
	}
	return 529 // overloaded_error, api_error and what comes later
}

func (r *reader) message(raw string) string {
	var body struct {
		Error struct{ Message string }
	}
	if json.Unmarshal([]byte(raw), &body) == nil && body.Error.Message != "" {
		raw = body.Error.Message
	}
	if strings.TrimSpace(raw) == "" {
		raw = "no message"
	}
	return model.Oneline(raw, r.secret)
}
