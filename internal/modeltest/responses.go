package modeltest

var responsesFormat = format{check: checkResponses, fault: openaiFault, play: playResponses}

// responsesStream numbers the events of one response.
type responsesStream struct {
	w      *stream
	model  string
	seq    int
	index  int
	output []any
}

func (r *responsesStream) send(kind string, fields object) {
	fields["type"], fields["sequence_number"] = kind, r.seq
	r.seq++
	r.w.event(kind, fields)
}

func (r *responsesStream) response(status string, usage, incomplete any) object {
	output := r.output
	if output == nil {
		output = []any{}
	}
	return object{
		"id": "resp_test", "object": "response", "created_at": 1_700_000_000, "model": r.model, "status": status,
		"error": nil, "incomplete_details": incomplete, "output": output, "usage": usage,
	}
}

func playResponses(w *stream, model string, step Step) {
	r := &responsesStream{w: w, model: model}
	r.send("response.created", object{"response": r.response("in_progress", nil, nil)})
	r.send("response.in_progress", object{"response": r.response("in_progress", nil, nil)})
	for _, p := range pieces(step.Reasoning) {
		r.send("response.reasoning_summary_text.delta", object{"item_id": "rs_test", "output_index": 0, "summary_index": 0, "delta": p})
	}
	if step.Text != "" {
		r.message(step.Text)
	}
	for _, c := range step.Calls {
		r.call(c)
	}
	if w.broken {
		return
	}
	usage := object{
		"input_tokens": step.Usage.Input, "output_tokens": step.Usage.Output,
		"total_tokens":          step.Usage.Input + step.Usage.Output,
		"input_tokens_details":  object{"cached_tokens": step.Usage.Cached},
		"output_tokens_details": object{"reasoning_tokens": 0},
	}
	switch step.Stop {
	case "length":
		r.send("response.incomplete", object{"response": r.response("incomplete", usage, object{"reason": "max_output_tokens"})})
	case "refused":
		r.send("response.incomplete", object{"response": r.response("incomplete", usage, object{"reason": "content_filter"})})
	default:
		r.send("response.completed", object{"response": r.response("completed", usage, nil)})
	}
}

func (r *responsesStream) message(text string) {
	part := func(t string) object { return object{"type": "output_text", "text": t, "annotations": []any{}} }
	item := func(status string, content []any) object {
		return object{"id": "msg_test", "type": "message", "status": status, "role": "assistant", "content": content}
	}
	at := func(o object) object {
		o["item_id"], o["output_index"], o["content_index"] = "msg_test", r.index, 0
		return o
	}
	r.send("response.output_item.added", object{"output_index": r.index, "item": item("in_progress", []any{})})
	r.send("response.content_part.added", at(object{"part": part("")}))
	for _, p := range pieces(text) {
		r.send("response.output_text.delta", at(object{"delta": p, "logprobs": []any{}}))
	}
	r.send("response.output_text.done", at(object{"text": text, "logprobs": []any{}}))
	r.send("response.content_part.done", at(object{"part": part(text)}))
	done := item("completed", []any{part(text)})
	r.send("response.output_item.done", object{"output_index": r.index, "item": done})
	r.output = append(r.output, done)
	r.index++
}

func (r *responsesStream) call(c Call) {
	item := func(status, arguments string) object {
		return object{
			"id": "fc_" + c.ID, "type": "function_call", "status": status,
			"call_id": c.ID, "name": c.Name, "arguments": arguments,
		}
	}
	r.send("response.output_item.added", object{"output_index": r.index, "item": item("in_progress", "")})
	for _, p := range pieces(c.arguments()) {
		r.send("response.function_call_arguments.delta", object{"item_id": "fc_" + c.ID, "output_index": r.index, "delta": p})
	}
	r.send("response.function_call_arguments.done", object{
		"item_id": "fc_" + c.ID, "output_index": r.index, "name": c.Name, "arguments": c.arguments(),
	})
	done := item("completed", c.arguments())
	r.send("response.output_item.done", object{"output_index": r.index, "item": done})
	r.output = append(r.output, done)
	r.index++
}
