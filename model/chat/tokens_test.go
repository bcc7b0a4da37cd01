//go:build !fuzzing

package chat_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/settle-agent/settle/model"
	"github.com/settle-agent/settle/model/internal/wiretest"
)

// vllm returns a chunk as vLLM sends it to a request with return_token_ids and logprobs.
func vllm(more, choice string) string {
	return `{"id":"chatcmpl-1","object":"chat.completion.chunk","created":1,"model":"m",` + more + `"choices":[{"index":0,` + choice + `,"finish_reason":null}]}`
}

// Tokens are read completely, also tokens of a chunk whose text a parser keeps back; a delta stays
// unchanged.
func TestTokens(t *testing.T) {
	logprob := `"logprobs":{"content":[{"token":"a","logprob":-0.25,"bytes":[97],"top_logprobs":[]}]}`
	got := read(t, &wiretest.Server{Body: wiretest.SSE(
		vllm(
			`"prompt_token_ids":[151644,8948],`,
			`"delta":{"role":"assistant","content":""},"logprobs":null,"token_ids":null`,
		),
		vllm(``, `"delta":{"content":"a"},`+logprob+`,"token_ids":[64]`),
		vllm(``, `"delta":{},`+logprob+`,"token_ids":[27,151657]`),
		finish("stop"),
		done,
	)})
	want := model.Tokens{
		Prompt:     []int32{151644, 8948},
		Completion: []int32{64, 27, 151657},
		Logprobs:   []float64{-0.25, -0.25},
	}
	if diff := cmp.Diff(want, got.Tokens); diff != "" || got.Items[0].Text != "a" {
		t.Errorf("%+v (-want +got):\n%s", got.Items, diff)
	}
}

// Other contents of these fields do not fail the response.
func TestOtherTokens(t *testing.T) {
	for _, choice := range []string{`"token_ids":"none"`, `"token_ids":[1.5]`, `"logprobs":[0.5]`, `"token_ids":[4294967296]`} {
		got := read(
			t, &wiretest.Server{Body: wiretest.SSE(vllm(``, `"delta":{"content":"a"},`+choice), finish("stop"), done)},
		)
		if want := (model.Tokens{Incomplete: true}); !cmp.Equal(want, got.Tokens) || got.Items[0].Text != "a" {
			t.Errorf("%s: %+v, %+v", choice, got.Tokens, got.Items)
		}
	}
}
