package chat

import (
	"encoding/json"

	"github.com/settle-agent/settle/model"
	"github.com/settle-agent/settle/model/internal/jsonscan"
	"github.com/settle-agent/settle/model/transport"
)

// tokens are the members that vLLM adds to a chunk if the request has return_token_ids and
// logprobs (vllm/entrypoints/openai/chat_completion/protocol.py): the ids of the prompt
// once, in the first chunk, and the ids of the generated tokens with each choice, even if
// a parser withholds their text.
type tokens struct {
	prompt, completion, logprobs []byte
}

// report emits the tokens of a chunk, if it has any. Unreadable tokens do not fail the
// response: they are missing, and the report marks this.
func report(w *tokens, emit transport.Emit) {
	if w.prompt == nil && w.completion == nil && w.logprobs == nil {
		return
	}
	var t model.Tokens
	complete := read(w.prompt, &t.Prompt) && read(w.completion, &t.Completion) && logprobs(w.logprobs, &t)
	t.Incomplete = !complete
	emit(model.Chunk{Kind: model.TokenReport, Tokens: &t})
}

func read(data []byte, to any) bool { return data == nil || json.Unmarshal(data, to) == nil }

// logprobs reads the numbers of {"content":[{"logprob":-0.5}]}.
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
