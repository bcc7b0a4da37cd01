package modeltest

import "encoding/json"

// The Chat Completions stream, as of
// https://platform.openai.com/docs/api-reference/chat-streaming, and with
// reasoning as vLLM, DeepSeek and OpenRouter have it.

func (r *rendering) chat(yield func(frame) bool) {
	s := &stream{rendering: r, yield: yield}
	if !s.send(frame{}, "", choice(object{"role": "assistant", "content": ""}, nil)) {
		return
	}
	complete := 0
	for i := range r.Items {
		if !s.chatItem(i, &complete) {
			return
		}
	}
	// Only now does a client know that the last call is complete.
	if !s.send(frame{end: true, call: complete}, "", choice(object{}, r.chatFinish())) {
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

// tokens adds to a choice the token that it is made of, one each, as vLLM does. The
// first chunk has none. They count from 1.
func (r *rendering) tokens(choice object, sequence int) object {
	if r.tokensWanted && sequence > 0 {
		choice["token_ids"] = []int{sequence}
	}
	if r.logprobsWanted && sequence > 0 {
		choice["logprobs"] = json.RawMessage(
			`{"content":[{"token":"t","logprob":-0.5,"bytes":null,"top_logprobs":[]}]}`,
		)
	}
	return choice
}

// choice is the only choice of a chunk.
func choice(delta object, finish any) object {
	return object{"index": 0, "delta": delta, "logprobs": nil, "finish_reason": finish}
}

// chunk is a chunk with that choice.
func (r *rendering) chunk(choice object) object {
	body := r.chatObject("chat.completion.chunk", []any{choice})
	if r.usageWanted && !r.quirks[FaultNoUsage] {
		body["usage"] = nil
	}
	if r.tokensWanted && r.sequence == 0 { // vLLM's: the prompt's tokens, here all 0
		body["prompt_token_ids"] = make([]int, r.usage().Input)
	}
	return body
}

// chatItem sends item number i. complete is the call that the first chunk of
// the next item completes; 0 for none.
func (s *stream) chatItem(i int, complete *int) bool {
	it := s.Items[i]
	if it.Call != "" {
		return s.chatCall(i, complete)
	}
	delta, text := object{"content": textMark}, it.Text
	switch {
	case it.Reasoning != "" && (s.provider == "groq" || s.provider == "cerebras"):
		delta, text = object{"reasoning": textMark}, it.Reasoning
	case it.Reasoning != "" && s.quirks[FaultReasoningDetails]:
		return s.chatDetails(i, complete)
	case it.Reasoning != "" && s.quirks[FaultReasoningField]:
		delta, text = object{"reasoning": textMark}, it.Reasoning
	case it.Reasoning != "":
		delta, text = object{"reasoning_content": textMark}, it.Reasoning
	case it.Refusal != "":
		delta, text = object{"refusal": textMark}, it.Refusal
	}
	st := s.stencil("", choice(delta, nil))
	chunks := it.chunks(text)
	for k, chunk := range chunks {
		f := frame{burst: s.burst(it), start: k == 0, call: *complete, items: i == len(s.Items)-1 && k == len(chunks)-1}
		*complete = 0
		if !s.delta(f, st, chunk) {
			return false
		}
	}
	return true
}

// chatDetails sends reasoning as OpenRouter does: in two fields, the second
// with a signature at the end.
func (s *stream) chatDetails(i int, complete *int) bool {
	it := s.Items[i]
	detail := func(text string) object {
		return object{"type": "reasoning.text", "text": text, "format": "anthropic-claude-v1", "index": i}
	}
	for k, chunk := range it.chunks(it.Reasoning) {
		f := frame{delta: true, start: k == 0, call: *complete}
		*complete = 0
		if !s.send(f, "", choice(object{"reasoning": chunk, "reasoning_details": []any{detail(chunk)}}, nil)) {
			return false
		}
	}
	last := detail("")
	last["signature"] = s.account.signature(it.joined(it.Reasoning))
	return s.send(frame{}, "", choice(object{"reasoning_details": []any{last}}, nil))
}

func (s *stream) chatCall(i int, complete *int) bool {
	it, at := s.Items[i], s.index(s.calls, s.countCalls())
	s.calls++
	piece := func(function object, first bool) object {
		call := object{"function": function}
		if !s.quirks[FaultNoIndexes] {
			call["index"] = at
		}
		if first {
			call["type"] = "function"
		}
		if first && !s.quirks[FaultNoIDs] {
			call["id"] = s.callID(i)
		}
		if first && s.provider == "gemini" && at == 0 {
			call["extra_content"] = object{
				"google": object{"thought_signature": s.account.redacted(s.id("thought-", i))},
			}
		}
		return choice(object{"tool_calls": []any{call}}, nil)
	}
	last := i == len(s.Items)-1
	before := *complete
	*complete = s.calls
	if s.quirks[FaultWholeCalls] {
		f := frame{start: true, delta: true, call: before, half: s.calls, items: last}
		return s.send(f, "", piece(object{"name": it.Call, "arguments": it.arguments()}, true))
	}
	return s.send(frame{start: true, call: before}, "", piece(object{"name": it.Call, "arguments": ""}, true)) &&
		s.arguments(it, it.arguments(), s.stencil("", piece(object{"arguments": textMark}, false)), frame{items: last})
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
	if r.tokensWanted {
		u.Output = int64(r.sequence - 1)
	}
	return object{
		"prompt_tokens": u.Input, "completion_tokens": u.Output, "total_tokens": u.Input + u.Output,
		"prompt_tokens_details":     cachedTokens(u),
		"completion_tokens_details": object{"reasoning_tokens": u.Reasoning},
	}
}

func (r *rendering) chatObject(kind string, choices []any) object {
	return object{
		"id": r.id("chatcmpl-", 0), "object": kind, "created": r.at.Unix(), "model": r.model,
		"system_fingerprint": "fp_modeltest", "choices": choices,
	}
}
