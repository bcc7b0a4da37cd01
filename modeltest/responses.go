package modeltest

// The Responses stream, as of
// https://platform.openai.com/docs/api-reference/responses-streaming.

func (r *rendering) responses(yield func(frame) bool) {
	s := &stream{rendering: r, yield: yield}
	opening := r.responsesObject("in_progress", []any{})
	if !s.send(frame{}, "response.created", object{"response": opening}) ||
		!s.send(frame{}, "response.in_progress", object{"response": opening}) {
		return
	}
	output := make([]any, 0, len(r.Items))
	for i := range r.Items {
		item, ok := s.responsesItem(i)
		if !ok {
			return
		}
		output = append(output, item)
	}
	status := r.responsesStatus()
	s.send(frame{end: true}, "response."+status, object{"response": r.responsesObject(status, output)})
}

// responsesItem sends item number i and returns it whole.
func (s *stream) responsesItem(i int) (object, bool) {
	switch it := s.Items[i]; {
	case s.searches[i] != "":
		return s.responsesSearch(i)
	case it.Call != "":
		return s.responsesCall(i)
	case it.Reasoning != "":
		return s.responsesReasoning(i)
	case it.Refusal != "":
		return s.responsesMessage(i, "refusal", "refusal", it.Refusal)
	default:
		return s.responsesMessage(i, "output_text", "text", it.Text)
	}
}

// added and done are the events around an item.
func (s *stream) added(i int, item object) bool {
	return s.send(
		frame{start: true}, "response.output_item.added",
		object{"output_index": s.index(i, len(s.Items)), "item": item},
	)
}

func (s *stream) done(i, call int, item object) bool {
	f := frame{call: call, items: i == len(s.Items)-1}
	return s.send(f, "response.output_item.done", object{"output_index": s.index(i, len(s.Items)), "item": item})
}

// responsesMessage sends a message of one part; field is where the part has
// its text.
func (s *stream) responsesMessage(i int, part, field, text string) (object, bool) {
	id, name := s.id("msg_", i), "response."+part
	content := func(text string) object {
		if part == "refusal" {
			return object{"type": part, field: text}
		}
		return object{"type": part, field: text, "annotations": []any{}, "logprobs": []any{}}
	}
	message := func(status string, parts ...any) object {
		return object{"id": id, "type": "message", "role": "assistant", "status": status, "content": parts}
	}
	place := func(key string, value any) object {
		return object{"item_id": id, "output_index": s.index(i, len(s.Items)), "content_index": 0, key: value}
	}
	full := s.Items[i].joined(text)
	end := message(s.itemStatus(i), content(full))
	return end, s.added(i, message("in_progress", []any{}...)) &&
		s.send(frame{}, "response.content_part.added", place("part", content(""))) &&
		s.deltas(s.Items[i], text, s.stencil(name+".delta", place("delta", textMark))) &&
		s.send(frame{}, name+".done", place(field, full)) &&
		s.send(frame{}, "response.content_part.done", place("part", content(full))) &&
		s.done(i, 0, end)
}

func (s *stream) responsesReasoning(i int) (object, bool) {
	it, id := s.Items[i], s.id("rs_", i)
	text := it.joined(it.Reasoning)
	reasoning := func(encrypted string, summary ...any) object {
		o := object{"id": id, "type": "reasoning", "summary": summary}
		if s.signatureWanted {
			o["encrypted_content"] = encrypted
		}
		return o
	}
	if !s.added(i, reasoning(s.account.unfinished(id), []any{}...)) {
		return nil, false
	}
	if it.Redacted {
		end := reasoning(s.account.encrypted(id, text), []any{}...)
		return end, s.done(i, 0, end)
	}
	part := func(text string) object { return object{"type": "summary_text", "text": text} }
	place := func(key string, value any) object {
		return object{"item_id": id, "output_index": s.index(i, len(s.Items)), "summary_index": 0, key: value}
	}
	end := reasoning(s.account.encrypted(id, text), part(text))
	return end, s.send(frame{}, "response.reasoning_summary_part.added", place("part", part(""))) &&
		s.deltas(it, it.Reasoning, s.stencil("response.reasoning_summary_text.delta", place("delta", textMark))) &&
		s.send(frame{}, "response.reasoning_summary_text.done", place("text", text)) &&
		s.send(frame{}, "response.reasoning_summary_part.done", place("part", part(text))) &&
		s.done(i, 0, end)
}

func (s *stream) responsesCall(i int) (object, bool) {
	it, callID := s.Items[i], s.callID(i)
	id, kind, field, name, text := s.id(
		"fc_", i,
	), "function_call", "arguments", "response.function_call_arguments", it.arguments()
	if s.custom[it.Call] {
		id, kind, field, name = s.id("ctc_", i), "custom_tool_call", "input", "response.custom_tool_call_input"
		if it.Input != "" {
			text = it.Input
		}
	}
	call := func(status, text string) object {
		o := object{"id": id, "type": kind, "status": status, "call_id": callID, "name": it.Call, field: text}
		if t := s.deferred[it.Call]; t != nil {
			o["namespace"] = t.namespace
		}
		return o
	}
	place := func(key string, value any) object {
		return object{"item_id": id, "output_index": s.index(i, len(s.Items)), key: value}
	}
	s.calls++
	end := call(s.itemStatus(i), text)
	return end, s.added(i, call("in_progress", "")) &&
		s.arguments(it, text, s.stencil(name+".delta", place("delta", textMark)), frame{}) &&
		s.send(frame{}, name+".done", place(field, text)) &&
		s.done(i, s.calls, end)
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
		"input_tokens": u.Input, "input_tokens_details": cachedTokens(u),
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

// cachedTokens has the writes only where the model counts them: from GPT-5.6 on.
func cachedTokens(u Usage) object {
	o := object{"cached_tokens": u.CacheRead}
	if u.CacheWrite > 0 {
		o["cache_write_tokens"] = u.CacheWrite
	}
	return o
}
