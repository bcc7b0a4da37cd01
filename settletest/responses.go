package settletest

// The Responses stream, as of
// https://platform.openai.com/docs/api-reference/responses-streaming.

func (r *rendering) responses(yield func(frame) bool) {
	send := func(f frame, kind string, body object) bool {
		body["type"], body["sequence_number"] = kind, r.sequence
		r.sequence++
		f.event, f.data = kind, encode(body)
		return yield(f)
	}
	opening := r.responsesObject("in_progress", []any{})
	if !send(frame{}, "response.created", object{"response": opening}) ||
		!send(frame{}, "response.in_progress", object{"response": opening}) {
		return
	}
	output := make([]any, 0, len(r.Items))
	for i := range r.Items {
		item, ok := r.responsesItem(i, send)
		if !ok {
			return
		}
		output = append(output, item)
	}
	status := r.responsesStatus()
	send(frame{end: true}, "response."+status, object{"response": r.responsesObject(status, output)})
}

type sender func(f frame, kind string, body object) bool

// responsesItem sends item number i and returns it whole.
func (r *rendering) responsesItem(i int, send sender) (object, bool) {
	it := r.Items[i]
	switch {
	case it.Call != "":
		return r.responsesCall(i, send)
	case it.Reasoning != "":
		return r.responsesReasoning(i, send)
	}
	id, at := r.id("msg_", i), r.index(i, len(r.Items))
	part, name, field, text := "output_text", "response.output_text", "text", it.Text
	if it.Refusal != "" {
		part, name, field, text = "refusal", "response.refusal", "refusal", it.Refusal
	}
	content := func(s string) object {
		c := object{"type": part, field: s}
		if part == "output_text" {
			c["annotations"], c["logprobs"] = []any{}, []any{}
		}
		return c
	}
	message := func(status string, parts ...any) object {
		return object{"id": id, "type": "message", "role": "assistant", "status": status, "content": parts}
	}
	place := func(more object) object {
		more["item_id"], more["output_index"], more["content_index"] = id, at, 0
		return more
	}
	if !send(frame{start: true}, "response.output_item.added", object{"output_index": at, "item": message("in_progress", []any{}...)}) ||
		!send(frame{}, "response.content_part.added", place(object{"part": content("")})) {
		return nil, false
	}
	for _, chunk := range it.chunks(text) {
		if !send(frame{delta: true, burst: r.burst(it)}, name+".delta", place(object{"delta": chunk})) {
			return nil, false
		}
	}
	whole := it.whole(text)
	done := message(r.itemStatus(i), content(whole))
	return done, send(frame{}, name+".done", place(object{field: whole})) &&
		send(frame{}, "response.content_part.done", place(object{"part": content(whole)})) &&
		send(frame{items: i == len(r.Items)-1}, "response.output_item.done", object{"output_index": at, "item": done})
}

func (r *rendering) responsesReasoning(i int, send sender) (object, bool) {
	it, id, at := r.Items[i], r.id("rs_", i), r.index(i, len(r.Items))
	whole := it.whole(it.Reasoning)
	reasoning := func(sealed string, summary ...any) object {
		o := object{"id": id, "type": "reasoning", "summary": summary}
		if r.sealWanted {
			o["encrypted_content"] = sealed
		}
		return o
	}
	last := frame{items: i == len(r.Items)-1}
	if !send(frame{start: true}, "response.output_item.added", object{"output_index": at, "item": reasoning(unfinished(id), []any{}...)}) {
		return nil, false
	}
	if it.Redacted {
		done := reasoning(encrypted(id, whole), []any{}...)
		return done, send(last, "response.output_item.done", object{"output_index": at, "item": done})
	}
	part := func(s string) object { return object{"type": "summary_text", "text": s} }
	place := func(more object) object {
		more["item_id"], more["output_index"], more["summary_index"] = id, at, 0
		return more
	}
	if !send(frame{}, "response.reasoning_summary_part.added", place(object{"part": part("")})) {
		return nil, false
	}
	for _, chunk := range it.chunks(it.Reasoning) {
		if !send(frame{delta: true, burst: r.burst(it)}, "response.reasoning_summary_text.delta", place(object{"delta": chunk})) {
			return nil, false
		}
	}
	done := reasoning(encrypted(id, whole), part(whole))
	return done, send(frame{}, "response.reasoning_summary_text.done", place(object{"text": whole})) &&
		send(frame{}, "response.reasoning_summary_part.done", place(object{"part": part(whole)})) &&
		send(last, "response.output_item.done", object{"output_index": at, "item": done})
}

func (r *rendering) responsesCall(i int, send sender) (object, bool) {
	it, at, callID := r.Items[i], r.index(i, len(r.Items)), r.callID(i)
	id, kind, field, name, text := r.id("fc_", i), "function_call", "arguments", "response.function_call_arguments", it.arguments()
	if r.custom[it.Call] {
		id, kind, field, name = r.id("ctc_", i), "custom_tool_call", "input", "response.custom_tool_call_input"
		if it.Input != "" {
			text = it.Input
		}
	}
	call := func(status, text string) object {
		return object{"id": id, "type": kind, "status": status, "call_id": callID, "name": it.Call, field: text}
	}
	place := func(more object) object {
		more["item_id"], more["output_index"] = id, at
		return more
	}
	if !send(frame{start: true}, "response.output_item.added", object{"output_index": at, "item": call("in_progress", "")}) {
		return nil, false
	}
	r.calls++
	chunks, half := r.pieces(it, text)
	for k, chunk := range chunks {
		f := frame{delta: true}
		if k == half {
			f.half = r.calls
		}
		if !send(f, name+".delta", place(object{"delta": chunk})) {
			return nil, false
		}
	}
	done := call(r.itemStatus(i), text)
	return done, send(frame{}, name+".done", place(object{field: text, "name": it.Call})) &&
		send(frame{call: r.calls, items: i == len(r.Items)-1}, "response.output_item.done", object{"output_index": at, "item": done})
}

// itemStatus is the status of item number i when it is done: only the last one
// of an incomplete response is incomplete.
func (r *rendering) itemStatus(i int) string {
	if i == len(r.Items)-1 && r.responsesStatus() == "incomplete" {
		return "incomplete"
	}
	return "completed"
}

func (r *rendering) responsesStatus() string {
	switch r.stop() {
	case StopMaxTokens, StopFilter:
		return "incomplete"
	}
	return "completed"
}

func (r *rendering) responsesObject(status string, output []any) object {
	o := object{
		"id": r.id("resp_", 0), "object": "response", "created_at": r.at.Unix(), "status": status,
		"model": r.model, "output": output, "error": nil, "incomplete_details": nil, "instructions": nil,
		"metadata": object{}, "parallel_tool_calls": true, "temperature": 1.0, "top_p": 1.0,
		"tool_choice": "auto", "tools": []any{}, "store": false, "usage": nil,
	}
	if status == "in_progress" {
		return o
	}
	u := r.usage()
	o["usage"] = object{
		"input_tokens": u.Input, "input_tokens_details": object{"cached_tokens": u.CacheRead},
		"output_tokens": u.Output, "output_tokens_details": object{"reasoning_tokens": u.Reasoning},
		"total_tokens": u.Input + u.Output,
	}
	switch r.stop() {
	case StopMaxTokens:
		o["incomplete_details"] = object{"reason": "max_output_tokens"}
	case StopFilter:
		o["incomplete_details"] = object{"reason": "content_filter"}
	}
	return o
}
