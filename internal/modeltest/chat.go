package modeltest

var chatFormat = format{check: checkChat, fault: openaiFault, play: playChat}

func openaiFault(status int, message string) any {
	kind, code := "invalid_request_error", any(nil)
	switch {
	case status == 429:
		kind, code = "requests", "rate_limit_exceeded"
	case status == 401:
		code = "invalid_api_key"
	case status >= 500:
		kind = "server_error"
	}
	return object{"error": object{"message": message, "type": kind, "param": nil, "code": code}}
}

func playChat(w *stream, model string, step Step) {
	chunk := func(choices []any, usage any) {
		w.event("", object{
			"id": "chatcmpl-test", "object": "chat.completion.chunk", "created": 1_700_000_000, "model": model,
			"system_fingerprint": "fp_test", "choices": choices, "usage": usage,
		})
	}
	delta := func(d object, finish any) {
		chunk([]any{object{"index": 0, "delta": d, "logprobs": nil, "finish_reason": finish}}, nil)
	}
	delta(object{"role": "assistant", "content": ""}, nil)
	for _, p := range pieces(step.Reasoning) {
		delta(object{"reasoning_content": p}, nil)
	}
	for _, p := range pieces(step.Text) {
		delta(object{"content": p}, nil)
	}
	for i, c := range step.Calls {
		delta(object{"tool_calls": []any{object{
			"index": i, "id": c.ID, "type": "function", "function": object{"name": c.Name, "arguments": ""},
		}}}, nil)
		for _, p := range pieces(c.arguments()) {
			delta(object{"tool_calls": []any{object{"index": i, "function": object{"arguments": p}}}}, nil)
		}
	}
	if w.broken {
		return
	}
	finish := "stop"
	switch {
	case step.Stop == "length":
		finish = "length"
	case step.Stop == "refused":
		finish = "content_filter"
	case len(step.Calls) > 0:
		finish = "tool_calls"
	}
	delta(object{}, finish)
	chunk([]any{}, object{
		"prompt_tokens": step.Usage.Input, "completion_tokens": step.Usage.Output,
		"total_tokens":          step.Usage.Input + step.Usage.Output,
		"prompt_tokens_details": object{"cached_tokens": step.Usage.Cached},
	})
	w.raw("data: [DONE]\n\n")
}
