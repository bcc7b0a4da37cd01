package settletest

// The Chat Completions stream, as of
// https://platform.openai.com/docs/api-reference/chat-streaming, and with
// reasoning as vLLM, DeepSeek and OpenRouter have it.

func (r *rendering) chat(yield func(frame) bool) {
	send := func(f frame, delta object, finish any) bool {
		body := r.chatObject("chat.completion.chunk", []any{object{
			"index": 0, "delta": delta, "logprobs": nil, "finish_reason": finish,
		}})
		if r.usageWanted && !r.quirks[FaultNoUsage] {
			body["usage"] = nil
		}
		f.data = encode(body)
		return yield(f)
	}
	if !send(frame{}, object{"role": "assistant", "content": ""}, nil) {
		return
	}
	calls, complete := r.countCalls(), 0
	for i := range r.Items {
		if !r.chatItem(i, calls, &complete, send) {
			return
		}
	}
	// Only now does a client know that the last call is complete.
	if !send(frame{end: true, call: complete}, object{}, r.chatFinish()) {
		return
	}
	if r.usageWanted && !r.quirks[FaultNoUsage] {
		body := r.chatObject("chat.completion.chunk", []any{})
		body["usage"] = r.chatUsage()
		if !yield(frame{data: encode(body)}) {
			return
		}
	}
	if !r.quirks[FaultNoDone] {
		yield(frame{data: []byte("[DONE]")})
	}
}

type chatSender func(f frame, delta object, finish any) bool

// chatItem sends item number i. complete is the call that the first chunk of
// whatever comes next completes, 0 for none.
func (r *rendering) chatItem(i, calls int, complete *int, send chatSender) bool {
	it := r.Items[i]
	if it.Call != "" {
		return r.chatCall(i, calls, complete, send)
	}
	field, text := "content", it.Text
	switch {
	case it.Reasoning != "":
		field, text = "reasoning_content", it.Reasoning
		if r.quirks[FaultReasoningField] || r.quirks[FaultReasoningDetails] {
			field = "reasoning"
		}
	case it.Refusal != "":
		field, text = "refusal", it.Refusal
	}
	chunks := it.chunks(text)
	for k, chunk := range chunks {
		f := frame{delta: true, burst: r.burst(it), start: k == 0, call: *complete, items: i == len(r.Items)-1 && k == len(chunks)-1}
		*complete = 0
		delta := object{field: chunk}
		if it.Reasoning != "" && r.quirks[FaultReasoningDetails] {
			delta["reasoning_details"] = []any{object{"type": "reasoning.text", "text": chunk, "format": "unknown", "index": 0}}
		}
		if !send(f, delta, nil) {
			return false
		}
	}
	if it.Reasoning != "" && r.quirks[FaultReasoningDetails] {
		return send(frame{}, object{"reasoning_details": []any{object{
			"type": "reasoning.text", "text": "", "signature": signature(it.whole(text)), "format": "unknown", "index": 0,
		}}}, nil)
	}
	return true
}

func (r *rendering) chatCall(i, calls int, complete *int, send chatSender) bool {
	it := r.Items[i]
	at := r.index(r.calls, calls)
	r.calls++
	text := it.arguments()
	chunk := func(function object, first bool) object {
		call := object{"function": function}
		if !r.quirks[FaultNoIndexes] {
			call["index"] = at
		}
		if first {
			call["type"] = "function"
			if !r.quirks[FaultNoIDs] {
				call["id"] = r.callID(i)
			}
		}
		return object{"tool_calls": []any{call}}
	}
	last := i == len(r.Items)-1
	before := *complete
	*complete = r.calls
	if r.quirks[FaultWholeCalls] {
		f := frame{start: true, delta: true, call: before, half: r.calls, items: last}
		return send(f, chunk(object{"name": it.Call, "arguments": text}, true), nil)
	}
	if !send(frame{start: true, call: before}, chunk(object{"name": it.Call, "arguments": ""}, true), nil) {
		return false
	}
	chunks, half := r.pieces(it, text)
	for k, piece := range chunks {
		f := frame{delta: true, items: last && k == len(chunks)-1}
		if k == half {
			f.half = r.calls
		}
		if !send(f, chunk(object{"arguments": piece}, false), nil) {
			return false
		}
	}
	return true
}

func (r *rendering) countCalls() int {
	n := 0
	for _, it := range r.Items {
		if it.Call != "" {
			n++
		}
	}
	return n
}

func (r *rendering) chatFinish() string {
	if r.quirks[FaultFinishStop] {
		return "stop"
	}
	switch r.stop() {
	case StopToolUse:
		return "tool_calls"
	case StopMaxTokens:
		return "length"
	case StopFilter:
		return "content_filter"
	}
	return "stop"
}

func (r *rendering) chatUsage() object {
	u := r.usage()
	return object{
		"prompt_tokens": u.Input, "completion_tokens": u.Output, "total_tokens": u.Input + u.Output,
		"prompt_tokens_details":     object{"cached_tokens": u.CacheRead},
		"completion_tokens_details": object{"reasoning_tokens": u.Reasoning},
	}
}

func (r *rendering) chatObject(kind string, choices []any) object {
	return object{
		"id": r.id("chatcmpl-", 0), "object": kind, "created": r.at.Unix(), "model": r.model,
		"system_fingerprint": "fp_settletest", "choices": choices,
	}
}
