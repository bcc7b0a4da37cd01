package modeltest

import (
	"encoding/json"
	"net/http"
)

// respondWhole sends the response as one JSON object, to a request that asked for no
// stream. Faults within the stream strike before it.
func (p *player) respondWhole() error {
	if err := p.strikeRest(); err != nil {
		return err
	}
	if p.r.Stream != nil {
		p.s.refuse(p.wire.w, p.x, invalid("modeltest: the turn is a recorded stream, and the request asks for none"))
		return nil
	}
	body := p.r.body()
	p.cache()
	p.s.rec.update(func() { p.x.Status = http.StatusOK })
	if err := p.wire.header(http.StatusOK, "application/json"); err != nil {
		return err
	}
	return p.wire.send(append(encode(body), '\n'))
}

func (r *rendering) body() any {
	switch r.dialect {
	case Messages:
		return r.wholeMessage()
	case Chat:
		return r.wholeChat()
	case Gemini:
		return r.wholeGemini()
	}
	var last object
	for f := range r.frames() {
		if f.end {
			_ = json.Unmarshal(f.data, &last) // our own encoding
		}
	}
	return last["response"]
}

func (r *rendering) wholeMessage() object {
	content := []any{}
	for i, it := range r.Items {
		block, _, field, text := r.emptyBlock(i)
		switch {
		case it.Call != "":
			block["input"] = json.RawMessage(it.arguments())
		case r.searches[i] == searchCall:
			block["input"] = json.RawMessage(text)
		case field != "":
			block[field] = it.joined(text)
		}
		if field == "thinking" {
			block["signature"] = r.account.signature(it.joined(text))
		}
		content = append(content, block)
	}
	return r.messagesObject(content, r.messagesStop(), r.usage().Output)
}

func (r *rendering) wholeChat() object {
	message := object{"role": "assistant", "content": nil}
	var calls []any
	for i, it := range r.Items {
		switch {
		case it.Call != "":
			calls = append(calls, object{
				"id": r.callID(i), "type": "function",
				"function": object{"name": it.Call, "arguments": it.arguments()},
			})
		case it.Reasoning != "":
			message["reasoning_content"] = it.joined(it.Reasoning)
		case it.Refusal != "":
			message["refusal"] = it.Refusal
		default:
			content, _ := message["content"].(string)
			message["content"] = content + it.joined(it.Text)
		}
	}
	if calls != nil {
		message["tool_calls"] = calls
	}
	o := r.chatObject("chat.completion", []any{object{
		"index": 0, "message": message, "logprobs": nil, "finish_reason": r.chatFinish(),
	}})
	o["usage"] = r.chatUsage()
	return o
}
