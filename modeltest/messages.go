package modeltest

// The Messages stream, as of https://docs.claude.com/en/api/messages-streaming.

func (r *rendering) messages(yield func(frame) bool) {
	s := &stream{rendering: r, yield: yield}
	if !s.send(frame{}, "message_start", object{"message": r.messagesObject([]any{}, nil, 1)}) ||
		!s.send(frame{}, "ping", object{}) {
		return
	}
	for i := range r.Items {
		if !s.messagesBlock(i) {
			return
		}
	}
	_ = s.send(frame{}, "message_delta", object{
		"delta": object{"stop_reason": r.messagesStop(), "stop_sequence": nil},
		"usage": r.messagesUsage(r.usage().Output),
	}) && s.send(frame{end: true}, "message_stop", object{})
}

// messagesBlock sends item number i as a content block.
func (s *stream) messagesBlock(i int) bool {
	it, at := s.Items[i], s.index(i, len(s.Items))
	block, kind, field, text := s.emptyBlock(i)
	if !s.send(frame{start: true}, "content_block_start", object{"index": at, "content_block": block}) {
		return false
	}
	stop := frame{items: i == len(s.Items)-1}
	st := s.stencil("content_block_delta", object{"index": at, "delta": object{"type": kind, field: textMark}})
	if it.Call != "" {
		s.calls++
		stop.call = s.calls
		return s.arguments(it, text, st, frame{}) && s.send(stop, "content_block_stop", object{"index": at})
	}
	if !s.deltas(it, text, st) {
		return false
	}
	if kind == "thinking_delta" && !s.send(frame{}, "content_block_delta", object{
		"index": at, "delta": object{"type": "signature_delta", "signature": s.account.signature(it.joined(text))},
	}) {
		return false
	}
	return s.send(stop, "content_block_stop", object{"index": at})
}

// emptyBlock is the block as it starts, the type and field of its deltas, and
// the text that they carry.
func (r *rendering) emptyBlock(i int) (block object, delta, field, text string) {
	switch it := r.Items[i]; {
	case r.searches[i] != "":
		return r.messagesSearch(i)
	case it.Call != "":
		return object{"type": "tool_use", "id": r.callID(i), "name": it.Call, "input": object{}},
			"input_json_delta", "partial_json", it.arguments()
	case it.Reasoning != "" && it.Redacted:
		return object{"type": "redacted_thinking", "data": r.account.redacted(it.joined(it.Reasoning))}, "", "", ""
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
