//go:build recordings

package replay

import (
	"encoding/json"
	"strconv"
	"strings"
)

// reading is the content of a response, read without settle's decoders.
type reading struct {
	Text, Thinking string
	Calls          []call
	Stop           string // "end", "tools", "length", "refusal", "pause", "filter"; "" if it has no end
	Input, Output  int64  // tokens; 0 if the server reports none
	Error          string // the message of an error within the stream

	phases     []string          // of messages
	signatures []string          // the provider signatures of reasoning
	members    map[string]string // fields that the response added to calls, by call id
	broken     bool              // an event is not JSON
}

type call struct {
	ID, Name  string
	Arguments any // JSON, or the text that is not JSON
}

func arguments(text string) any {
	if strings.TrimSpace(text) == "" {
		return map[string]any{}
	}
	var v any
	if json.Unmarshal([]byte(text), &v) != nil {
		return text
	}
	return v
}

type object = map[string]any

// events splits a stream as the HTML standard says.
func events(body []byte) []object {
	text := strings.NewReplacer("\r\n", "\n", "\r", "\n").Replace(string(body))
	var all []object
	for _, block := range strings.Split(text, "\n\n") {
		var data []string
		for _, line := range strings.Split(block, "\n") {
			if rest, ok := strings.CutPrefix(line, "data:"); ok {
				data = append(data, strings.TrimPrefix(rest, " "))
			}
		}
		if strings.Join(data, "") == "[DONE]" {
			all = append(all, object{"done": true})
		}
		var e object
		switch err := json.Unmarshal([]byte(strings.Join(data, "\n")), &e); {
		case err == nil && e != nil:
			all = append(all, e)
		case err != nil && len(data) > 0 && data[0] != "[DONE]":
			all = append(all, object{"broken": true})
		}
	}
	return all
}

func (r recording) read() reading {
	for _, e := range events(r.body) {
		if e["broken"] != nil {
			return reading{broken: true}
		}
	}
	switch r.Wire {
	case "responses":
		return readResponses(events(r.body))
	case "messages":
		return readMessages(events(r.body))
	case "gemini":
		return readGemini(events(r.body))
	}
	return readChat(events(r.body))
}

func str(v any) string {
	s, _ := v.(string)
	return s
}

func obj(v any) object {
	o, _ := v.(object)
	return o
}

func list(v any) []object {
	var all []object
	items, _ := v.([]any)
	for _, item := range items {
		all = append(all, obj(item))
	}
	return all
}

func number(v any) int64 {
	n, _ := v.(float64)
	return int64(n)
}

func encode(v any) string {
	data, err := json.Marshal(v)
	if err != nil {
		return ""
	}
	return string(data)
}

// readResponses goes by the items as they were finished.
func readResponses(all []object) reading {
	r := reading{members: map[string]string{}}
	refused := false
	var done []object
	deltas := map[string]string{} // texts, by item
	for _, e := range all {
		switch str(e["type"]) {
		case "response.output_text.delta", "response.refusal.delta":
			deltas[encode(e["output_index"])] += str(e["delta"])
		case "error":
			r.Error = str(e["message"])
			if inner := obj(e["error"]); inner != nil {
				r.Error = str(inner["message"])
			}
			return r
		case "response.failed":
			r.Error = str(obj(obj(e["response"])["error"])["message"])
			return r
		case "response.output_item.done":
			item := obj(e["item"])
			if text := deltas[encode(e["output_index"])]; text != "" && str(item["type"]) == "message" {
				item["content"] = []any{object{"type": str(list(item["content"])[0]["type"]), "text": text}}
			}
			done = append(done, item)
		case "response.completed", "response.incomplete":
			whole := obj(e["response"])
			if len(done) == 0 {
				done = list(whole["output"])
			}
			refused = r.responseItems(done)
			usage := obj(whole["usage"])
			r.Input, r.Output = number(usage["input_tokens"]), number(usage["output_tokens"])
			switch {
			case str(obj(whole["incomplete_details"])["reason"]) == "content_filter":
				r.Stop = "filter"
			case str(e["type"]) == "response.incomplete":
				r.Stop = "length"
			case len(r.Calls) > 0:
				r.Stop = "tools"
			case refused:
				r.Stop = "refusal"
			default:
				r.Stop = "end"
			}
			return r
		}
	}
	r.responseItems(done)
	return r
}

func (r *reading) responseItems(done []object) (refused bool) {
	for _, item := range done {
		switch str(item["type"]) {
		case "message":
			for _, part := range list(item["content"]) {
				r.Text += str(part["text"]) + str(part["refusal"])
				refused = refused || str(part["type"]) == "refusal"
			}
			if phase := str(item["phase"]); phase != "" {
				r.phases = append(r.phases, phase)
			}
		case "reasoning":
			var parts []string
			for _, part := range append(list(item["summary"]), list(item["content"])...) {
				parts = append(parts, str(part["text"]))
			}
			r.Thinking += strings.Join(parts, "\n\n")
			if signature := str(item["encrypted_content"]); signature != "" {
				r.signatures = append(r.signatures, signature)
			}
		case "function_call":
			r.Calls = append(r.Calls, call{str(item["call_id"]), str(item["name"]), arguments(str(item["arguments"]))})
			if namespace := str(item["namespace"]); namespace != "" {
				r.members[str(item["call_id"])] = encode(namespace)
			}
		case "custom_tool_call":
			r.Calls = append(
				r.Calls, call{str(item["call_id"]), str(item["name"]), object{"input": str(item["input"])}},
			)
		}
	}
	return refused
}

func readMessages(all []object) reading {
	r := reading{}
	texts, kinds := map[int64]string{}, map[int64]object{}
	for _, e := range all {
		index, delta := number(e["index"]), obj(e["delta"])
		switch str(e["type"]) {
		case "error":
			r.Error = str(obj(e["error"])["message"])
		case "message_start":
			message := obj(e["message"])
			r.signatures = nil // of a message that was given up
			r.messageUsage(obj(message["usage"]))
			for _, block := range list(message["content"]) {
				r.messageBlock(block, str(block["text"])+str(block["thinking"]))
			}
			r.Stop = messageStops[str(message["stop_reason"])]
		case "content_block_start":
			block := obj(e["content_block"])
			kinds[index], texts[index] = block, str(block["text"])+str(block["thinking"])
		case "content_block_delta":
			texts[index] += str(delta["text"]) + str(delta["thinking"]) + str(delta["partial_json"])
			if signature := str(delta["signature"]); signature != "" {
				r.signatures = append(r.signatures, signature)
			}
		case "content_block_stop":
			r.messageBlock(kinds[index], texts[index])
		case "message_delta":
			r.messageUsage(obj(e["usage"]))
			if reason := str(delta["stop_reason"]); reason != "" {
				r.Stop = messageStops[reason]
			}
		}
	}
	return r
}

var messageStops = map[string]string{
	"end_turn": "end", "tool_use": "tools", "max_tokens": "length", "refusal": "refusal", "pause_turn": "pause", "stop_sequence": "end",
}

func (r *reading) messageUsage(u object) {
	if u == nil {
		return
	}
	if u["input_tokens"] != nil {
		r.Input = number(
			u["input_tokens"],
		) + number(
			u["cache_read_input_tokens"],
		) + number(
			u["cache_creation_input_tokens"],
		)
	}
	if u["output_tokens"] != nil {
		r.Output = number(u["output_tokens"])
	}
}

func (r *reading) messageBlock(block object, text string) {
	switch str(block["type"]) {
	case "text":
		r.Text += text
	case "thinking":
		r.Thinking += text
	case "redacted_thinking":
		r.signatures = append(r.signatures, str(block["data"]))
	case "tool_use":
		if text == "" {
			text = encode(block["input"])
		}
		r.Calls = append(r.Calls, call{str(block["id"]), str(block["name"]), arguments(text)})
	}
}

// chatCall is a call while its pieces come.
type chatCall struct{ id, name, arguments string }

func readChat(all []object) reading {
	r := reading{members: map[string]string{}}
	calls, order := map[int64]*chatCall{}, []int64{}
	finish, refused := "", false
	for _, e := range all {
		if failed := e["error"]; failed != nil {
			r.Error = str(obj(failed)["message"]) + str(failed)
			break
		}
		if usage := obj(e["usage"]); usage != nil && usage["completion_tokens"] != nil {
			r.Input, r.Output = number(usage["prompt_tokens"]), number(usage["completion_tokens"])
		}
		if e["done"] != nil && finish == "" {
			finish = "stop"
		}
		for _, choice := range list(e["choices"]) {
			if number(choice["index"]) != 0 {
				continue
			}
			if reason := str(choice["finish_reason"]); reason != "" {
				finish = reason
			}
			delta := obj(choice["delta"])
			if delta == nil {
				delta = obj(choice["message"])
			}
			r.chatText(delta)
			refused = refused || str(delta["refusal"]) != ""
			for n, piece := range list(delta["tool_calls"]) {
				index := number(piece["index"])
				if piece["index"] == nil {
					index = int64(n)
				}
				c := calls[index]
				if c == nil {
					c = &chatCall{}
					calls[index], order = c, append(order, index)
				}
				c.add(piece)
				if extra := piece["extra_content"]; extra != nil {
					r.members[c.id] = encode(extra)
				}
			}
		}
	}
	for _, index := range order {
		c := calls[index]
		r.Calls = append(r.Calls, call{c.id, c.name, arguments(c.arguments)})
	}
	switch {
	case r.Error != "" || finish == "":
	case finish == "length":
		r.Stop = "length"
	case finish == "content_filter":
		r.Stop = "filter"
	case len(r.Calls) > 0:
		r.Stop = "tools"
	case refused:
		r.Stop = "refusal"
	default:
		r.Stop = "end"
	}
	return r
}

func (c *chatCall) add(piece object) {
	function := obj(piece["function"])
	if id := str(piece["id"]); id != "" && c.id == "" {
		c.id = id
	}
	if name := str(function["name"]); name != "" && c.name == "" {
		c.name = name
	}
	if text, ok := function["arguments"].(string); ok {
		c.arguments += text
	} else if function["arguments"] != nil {
		c.arguments += encode(function["arguments"])
	}
}

func (r *reading) chatText(delta object) {
	if text, ok := delta["content"].(string); ok {
		r.Text += text
	}
	for _, part := range list(delta["content"]) {
		r.Text += str(part["text"])
		for _, thought := range list(part["thinking"]) {
			r.Thinking += str(thought["text"])
		}
	}
	r.Text += str(delta["refusal"])
	thought := str(delta["reasoning_content"])
	if thought == "" {
		thought = str(delta["reasoning"])
	}
	detailed := ""
	for _, detail := range list(delta["reasoning_details"]) {
		detailed += str(detail["text"]) + str(detail["summary"])
		for _, name := range []string{"signature", "data"} {
			if signature := str(detail[name]); signature != "" {
				r.signatures = append(r.signatures, signature)
			}
		}
	}
	if thought == "" {
		thought = detailed
	}
	r.Thinking += thought
}

// readGemini goes by the parts of the first candidate.
func readGemini(all []object) reading {
	var r reading
	for _, e := range all {
		if failed := obj(e["error"]); failed != nil {
			r.Error = str(failed["message"])
			return r
		}
		if usage := obj(e["usageMetadata"]); usage != nil {
			r.Input = number(usage["promptTokenCount"]) + number(usage["toolUsePromptTokenCount"])
			r.Output = number(usage["candidatesTokenCount"]) + number(usage["thoughtsTokenCount"])
		}
		for _, c := range list(e["candidates"]) {
			for _, part := range list(obj(c["content"])["parts"]) {
				called := obj(part["functionCall"])
				signature := str(part["thoughtSignature"])
				switch {
				case called != nil && (called["partialArgs"] != nil || called["willContinue"] != nil || called["name"] == nil):
					return reading{broken: true} // arguments in pieces, which nobody asked for
				case called != nil:
					args := obj(called["args"])
					if args == nil {
						args = object{}
					}
					id := str(called["id"])
					if id == "" {
						id = "call_" + strconv.Itoa(len(r.Calls)+1) // ours
					}
					r.Calls = append(r.Calls, call{id, str(called["name"]), args})
				case part["text"] == nil:
					continue
				case part["thought"] == true:
					r.Thinking += str(part["text"])
				default:
					r.Text += str(part["text"])
				}
				if signature != "" {
					r.signatures = append(r.signatures, signature)
				}
			}
			switch str(c["finishReason"]) {
			case "":
			case "STOP":
				if r.Stop = "end"; len(r.Calls) > 0 {
					r.Stop = "tools"
				}
			case "MAX_TOKENS":
				r.Stop = "length"
			default:
				r.Stop = "filter"
			}
		}
	}
	return r
}
