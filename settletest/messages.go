package settletest

// The Messages stream, as of https://docs.claude.com/en/api/messages-streaming.

func (r *rendering) messages(yield func(frame) bool) {
	send := func(f frame, kind string, body object) bool {
		body["type"] = kind
		f.event, f.data = kind, encode(body)
		return yield(f)
	}
	if !send(frame{}, "message_start", object{"message": r.messagesObject([]any{}, nil, 1)}) ||
		!send(frame{}, "ping", object{}) {
		return
	}
	for i := range r.Items {
		if !r.messagesBlock(i, send) {
			return
		}
	}
	_ = send(frame{}, "message_delta", object{
		"delta": object{"stop_reason": r.messagesStop(), "stop_sequence": nil},
		"usage": r.messagesUsage(r.usage().Output),
	}) && send(frame{end: true}, "message_stop", object{})
}

// messagesBlock sends item number i as a content block.
func (r *rendering) messagesBlock(i int, send sender) bool {
	it, at := r.Items[i], r.index(i, len(r.Items))
	block, kind, field, text := r.emptyBlock(i)
	if !send(frame{start: true}, "content_block_start", object{"index": at, "content_block": block}) {
		return false
	}
	stop := frame{items: i == len(r.Items)-1}
	chunks, half := it.chunks(text), -1
	if it.Call != "" {
		r.calls++
		stop.call = r.calls
		chunks, half = r.pieces(it, text)
	}
	for k, chunk := range chunks {
		f := frame{delta: true, burst: r.burst(it)}
		if k == half {
			f.half = r.calls
		}
		if !send(f, "content_block_delta", object{"index": at, "delta": object{"type": kind, field: chunk}}) {
			return false
		}
	}
	if kind == "thinking_delta" && !send(frame{}, "content_block_delta", object{
		"index": at, "delta": object{"type": "signature_delta", "signature": signature(it.whole(text))},
	}) {
		return false
	}
	return send(stop, "content_block_stop", object{"index": at})
}

// emptyBlock is the block as it starts, the type and field of its deltas, and
// the text that they carry.
func (r *rendering) emptyBlock(i int) (block object, delta, field, text string) {
	switch it := r.Items[i]; {
	case it.Call != "":
		return object{"type": "tool_use", "id": r.callID(i), "name": it.Call, "input": object{}},
			"input_json_delta", "partial_json", it.arguments()
	case it.Reasoning != "" && it.Redacted:
		return object{"type": "redacted_thinking", "data": redacted(it.whole(it.Reasoning))}, "", "", ""
	case it.Reasoning != "":
		return object{"type": "thinking", "thinking": "", "signature": ""}, "thinking_delta", "thinking", it.Reasoning
	case it.Refusal != "":
		return object{"type": "text", "text": ""}, "text_delta", "text", it.Refusal
	default:
		return object{"type": "text", "text": ""}, "text_delta", "text", it.Text
	}
}

func (r *rendering) messagesStop() StopReason {
	switch stop := r.stop(); stop {
	case StopFilter:
		return StopRefusal
	case StopEndTurn:
		for _, it := range r.Items {
			if it.Refusal != "" {
				return StopRefusal
			}
		}
		return stop
	default:
		return stop
	}
}

// messagesUsage has the uncached part of the input as input_tokens.
func (r *rendering) messagesUsage(output int64) object {
	u := r.usage()
	return object{
		"input_tokens":            u.Input - u.CacheRead - u.CacheWrite,
		"cache_read_input_tokens": u.CacheRead, "cache_creation_input_tokens": u.CacheWrite,
		"output_tokens": output,
	}
}

func (r *rendering) messagesObject(content []any, stop any, output int64) object {
	return object{
		"id": r.id("msg_", 0), "type": "message", "role": "assistant", "model": r.model,
		"content": content, "stop_reason": stop, "stop_sequence": nil, "usage": r.messagesUsage(output),
	}
}
