package modeltest

// object is a JSON object in the making.
type object = map[string]any

var anthropicFormat = format{check: checkAnthropic, fault: anthropicFault, play: playAnthropic}

var anthropicErrors = map[int]string{
	400: "invalid_request_error", 401: "authentication_error", 403: "permission_error", 404: "not_found_error",
	413: "request_too_large", 429: "rate_limit_error", 500: "api_error", 529: "overloaded_error",
}

func anthropicFault(status int, message string) any {
	kind := anthropicErrors[status]
	if kind == "" {
		kind = "api_error"
	}
	return object{"type": "error", "error": object{"type": kind, "message": message}, "request_id": "req_test"}
}

func playAnthropic(w *stream, model string, step Step) {
	w.event("message_start", object{"type": "message_start", "message": object{
		"id": "msg_test", "type": "message", "role": "assistant", "model": model, "content": []any{},
		"stop_reason": nil, "stop_sequence": nil,
		"usage": object{
			"input_tokens": step.Usage.Input - step.Usage.Cached, "cache_creation_input_tokens": 0,
			"cache_read_input_tokens": step.Usage.Cached, "output_tokens": 1,
		},
	}})
	w.event("ping", object{"type": "ping"})
	index := 0
	block := func(start object, deltas []object) {
		w.event("content_block_start", object{"type": "content_block_start", "index": index, "content_block": start})
		for _, d := range deltas {
			w.event("content_block_delta", object{"type": "content_block_delta", "index": index, "delta": d})
		}
		w.event("content_block_stop", object{"type": "content_block_stop", "index": index})
		index++
	}
	parts := func(kind, key, text string) (out []object) {
		for _, p := range pieces(text) {
			out = append(out, object{"type": kind, key: p})
		}
		return out
	}
	if step.Reasoning != "" {
		block(object{"type": "thinking", "thinking": "", "signature": ""}, parts("thinking_delta", "thinking", step.Reasoning))
	}
	if step.Text != "" {
		block(object{"type": "text", "text": ""}, parts("text_delta", "text", step.Text))
	}
	for _, c := range step.Calls {
		deltas := append([]object{{"type": "input_json_delta", "partial_json": ""}}, parts("input_json_delta", "partial_json", c.arguments())...)
		block(object{"type": "tool_use", "id": c.ID, "name": c.Name, "input": object{}}, deltas)
	}
	if w.broken {
		return
	}
	stop := "end_turn"
	switch {
	case step.Stop == "length":
		stop = "max_tokens"
	case step.Stop == "refused":
		stop = "refusal"
	case len(step.Calls) > 0:
		stop = "tool_use"
	}
	w.event("message_delta", object{
		"type": "message_delta", "delta": object{"stop_reason": stop, "stop_sequence": nil},
		"usage": object{"output_tokens": step.Usage.Output},
	})
	w.event("message_stop", object{"type": "message_stop"})
}
