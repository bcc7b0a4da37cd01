package chat

import (
	"encoding/json"

	"github.com/settle-agent/settle/model"
	"github.com/settle-agent/settle/model/internal/jsonscan"
	"github.com/settle-agent/settle/model/transport"
)

// tokens are what vLLM adds to a chunk where the request has return_token_ids and
// logprobs (vllm/entrypoints/openai/chat_completion/protocol.py): the prompt's ids
// once, in the first chunk, and with each choice the ids of what it generated, also
// where a parser keeps their text back.
type tokens struct {
	prompt, completion, logprobs []byte
}

// report emits the tokens of a chunk, if it has any. What cannot be read costs no
// response: it is missing, and the report says so.
func report(w *tokens, emit transport.Emit) {
	if w.prompt == nil && w.completion == nil && w.logprobs == nil {
		return
	}
	var t model.Tokens
	whole := read(w.prompt, &t.Prompt) && read(w.completion, &t.Completion) && logprobs(w.logprobs, &t)
	t.Incomplete = !whole
	emit(model.Chunk{Kind: model.TokenReport, Tokens: &t})
}

func read(data []byte, to any) bool { return data == nil || json.Unmarshal(data, to) == nil }

// logprobs reads those of {"content":[{"logprob":-0.5}]}.
func logprobs(data []byte, t *model.Tokens) bool {
	content, ok := member(data, "content")
	tokens := jsonscan.Elements(content)
	for content != nil && tokens.Next() {
		var p float64
		value, is := member(tokens.Value, "logprob")
		ok = ok && is && read(value, &p)
		t.Logprobs = append(t.Logprobs, p)
	}
	return ok && tokens.Err() == nil
}

// member returns a member of an object; nil if there is no object, none, or a null.
func member(data []byte, key string) (value []byte, ok bool) {
	object := jsonscan.Members(data)
	for data != nil && object.Next() {
		if string(object.Key) == key && !jsonscan.IsNull(object.Value) {
			value = object.Value
		}
	}
	return value, object.Err() == nil
}
