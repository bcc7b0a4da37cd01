//go:build !fuzzing

package chat_test

import (
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	sdk "github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/packages/ssestream"

	"github.com/settle-agent/settle/model"
	"github.com/settle-agent/settle/model/internal/wiretest"
)

// delta returns a chunk as OpenAI sends it.
func delta(body string) string {
	return `{"id":"chatcmpl-1","object":"chat.completion.chunk","created":1,"model":"m","choices":[{"index":0,"delta":{` + body + `},"logprobs":null,"finish_reason":null}]}`
}

func finish(reason string) string {
	return `{"id":"chatcmpl-1","object":"chat.completion.chunk","created":1,"model":"m","choices":[{"index":0,"delta":{},"finish_reason":"` + reason + `"}]}`
}

const (
	usage = `{"id":"chatcmpl-1","object":"chat.completion.chunk","created":1,"model":"m","choices":[],"usage":{"prompt_tokens":20,"completion_tokens":9,"total_tokens":29,"prompt_tokens_details":{"cached_tokens":15},"completion_tokens_details":{"reasoning_tokens":4}}}`
	done  = "[DONE]"
)

// full is a response of OpenAI itself, with two calls.
var full = wiretest.SSE(
	delta(
		`"role":"assistant","content":"","refusal":null`,
	),
	delta(`"content":"I "`),
	delta(`"content":"look.\n\u00e9"`),
	delta(`"tool_calls":[{"index":0,"id":"call_a","type":"function","function":{"name":"shell","arguments":""}}]`),
	delta(
		`"tool_calls":[{"index":0,"function":{"arguments":"{\"command\":"}}]`,
	),
	delta(`"tool_calls":[{"index":0,"function":{"arguments":"\"ls\"}"}}]`),
	delta(`"tool_calls":[{"index":1,"id":"call_b","type":"function","function":{"name":"list","arguments":"{}"}}]`),
	finish("tool_calls"),
	usage,
	done,
)

func read(t *testing.T, s *wiretest.Server) wiretest.Response {
	t.Helper()
	r, err := wiretest.Read(t.Context(), provider(s), model.Request{Model: "m"})
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func TestResponse(t *testing.T) {
	got := read(t, &wiretest.Server{Body: full})
	want := wiretest.Response{
		ID: "chatcmpl-1",
		Items: []wiretest.Item{
			{Role: model.Assistant, Text: "I look.\né"},
			{Role: model.Call, Text: `{"command":"ls"}`, CallID: "call_a", Name: "shell"},
			{Role: model.Call, Text: `{}`, CallID: "call_b", Name: "list"},
		},
		Stop:  model.StopToolUse,
		Usage: &model.Usage{Input: 20, CacheRead: 15, Output: 9, Reasoning: 4},
		Pings: got.Pings,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// TestAgainstSDK reads the same stream with the official SDK's accumulator.
func TestAgainstSDK(t *testing.T) {
	got := read(t, &wiretest.Server{Body: full})
	resp := &http.Response{
		Header: http.Header{"Content-Type": {"text/event-stream"}},
		Body:   io.NopCloser(strings.NewReader(full)),
	}
	stream := ssestream.NewStream[sdk.ChatCompletionChunk](ssestream.NewDecoder(resp), nil)
	var acc sdk.ChatCompletionAccumulator
	for stream.Next() {
		if !acc.AddChunk(stream.Current()) {
			t.Fatal("the SDK refuses a chunk")
		}
	}
	if stream.Err() != nil {
		t.Fatal(stream.Err())
	}
	want := []wiretest.Item{{Role: model.Assistant, Text: acc.Choices[0].Message.Content}}
	for _, c := range acc.Choices[0].Message.ToolCalls {
		want = append(
			want, wiretest.Item{Role: model.Call, Text: c.Function.Arguments, CallID: c.ID, Name: c.Function.Name},
		)
	}
	if diff := cmp.Diff(want, got.Items); diff != "" {
		t.Errorf("(-SDK +ours):\n%s", diff)
	}
	if acc.Usage.PromptTokens != got.Usage.Input || acc.ID != got.ID {
		t.Errorf("usage %+v, id %q", got.Usage, got.ID)
	}
}

func TestServersThatOmit(t *testing.T) {
	call := func(id, name, args string) wiretest.Item {
		return wiretest.Item{Role: model.Call, Text: args, CallID: id, Name: name}
	}
	two := []wiretest.Item{call("call_1", "a", `{"x":1}`), call("call_2", "b", `{"y":2}`)}
	for _, tt := range []struct {
		name string
		body string
		want []wiretest.Item
	}{
		{
			"no role, usage, [DONE], ids of chunks",
			wiretest.SSE(`{"choices":[{"delta":{"content":"Hi"}}]}`, `{"choices":[{"delta":{},"finish_reason":"stop"}]}`),
			[]wiretest.Item{{Role: model.Assistant, Text: "Hi"}},
		},
		{"no finish_reason", wiretest.SSE(delta(`"content":"Hi"`), done), []wiretest.Item{{Role: model.Assistant, Text: "Hi"}}},
		{"empty finish_reason", wiretest.SSE(delta(`"content":"Hi"`), finish(""), done), []wiretest.Item{{Role: model.Assistant, Text: "Hi"}}},
		{"finish_reason in every chunk", wiretest.SSE(strings.ReplaceAll(delta(`"content":"H"`)+"\n\ndata: "+delta(`"content":"i"`), `finish_reason":null`, `finish_reason":"stop"`), done), []wiretest.Item{{Role: model.Assistant, Text: "Hi"}}},
		{"whole message in one chunk", wiretest.SSE(`{"choices":[{"message":{"role":"assistant","content":"Hi"},"finish_reason":"stop"}]}`), []wiretest.Item{{Role: model.Assistant, Text: "Hi"}}},
		{"content in parts", wiretest.SSE(delta(`"content":[{"type":"text","text":"Hi"}]`), done), []wiretest.Item{{Role: model.Assistant, Text: "Hi"}}},
		{"a second choice", wiretest.SSE(delta(`"content":"Hi"`), `{"choices":[{"index":1,"delta":{"content":"Ho"}}]}`, done), []wiretest.Item{{Role: model.Assistant, Text: "Hi"}}},
		{"unknown events", wiretest.SSE(`{"type":"ping"}`, delta(`"content":"Hi"`), `{"prompt_filter_results":[]}`, done), []wiretest.Item{{Role: model.Assistant, Text: "Hi"}}},
		{"whole calls, no ids, no indexes", wiretest.SSE(delta(`"tool_calls":[{"function":{"name":"a","arguments":"{\"x\":1}"}},{"function":{"name":"b","arguments":"{\"y\":2}"}}]`), finish("stop"), done), two},
		{"whole calls in two chunks", wiretest.SSE(delta(`"tool_calls":[{"function":{"name":"a","arguments":"{\"x\":1}"}}]`), delta(`"tool_calls":[{"function":{"name":"b","arguments":"{\"y\":2}"}}]`), finish("stop")), two},
		{"all calls have index 0", wiretest.SSE(delta(`"tool_calls":[{"index":0,"id":"p","function":{"name":"a","arguments":"{\"x\":1}"}}]`), delta(`"tool_calls":[{"index":0,"id":"q","function":{"name":"b","arguments":"{\"y\":2}"}}]`), finish("stop")), []wiretest.Item{call("p", "a", `{"x":1}`), call("q", "b", `{"y":2}`)}},
		{"all calls have index 0 and no id", wiretest.SSE(delta(`"tool_calls":[{"index":0,"function":{"name":"a","arguments":"{\"x\":1}"}}]`), delta(`"tool_calls":[{"index":0,"function":{"name":"b","arguments":"{\"y\":2}"}}]`), finish("stop")), two},
		{"pieces without index", wiretest.SSE(delta(`"tool_calls":[{"id":"p","function":{"name":"a","arguments":"{\"x\""}}]`), delta(`"tool_calls":[{"function":{"arguments":":1}"}}]`), delta(`"tool_calls":[{"id":"q","function":{"name":"b"}}]`), delta(`"tool_calls":[{"id":"q","function":{"arguments":"{\"y\":2}"}}]`), finish("stop")), []wiretest.Item{call("p", "a", `{"x":1}`), call("q", "b", `{"y":2}`)}},
		{"interleaved by index", wiretest.SSE(delta(`"tool_calls":[{"index":0,"id":"p","function":{"name":"a","arguments":"{\"x\""}}]`), delta(`"tool_calls":[{"index":1,"id":"q","function":{"name":"b","arguments":"{"}}]`), delta(`"tool_calls":[{"index":0,"function":{"arguments":":1}"}}]`), delta(`"tool_calls":[{"index":1,"function":{"arguments":"\"y\":2}"}}]`), finish("tool_calls")), []wiretest.Item{call("p", "a", `{"x":1}`), call("q", "b", `{"y":2}`)}},
		{"a new id with each piece", wiretest.SSE(delta(`"tool_calls":[{"index":0,"id":"p","function":{"name":"a","arguments":"{\"x\""}}]`), delta(`"tool_calls":[{"index":0,"id":"p2","function":{"arguments":":1}"}}]`), finish("tool_calls")), []wiretest.Item{call("p", "a", `{"x":1}`)}},
		{"the same id twice", wiretest.SSE(delta(`"tool_calls":[{"index":0,"id":"p","function":{"name":"a","arguments":"{\"x\":1}"}},{"index":1,"id":"p","function":{"name":"b","arguments":"{\"y\":2}"}}]`), finish("stop")), []wiretest.Item{call("p", "a", `{"x":1}`), call("call_1", "b", `{"y":2}`)}},
		{"arguments as an object, none, null", wiretest.SSE(delta(`"tool_calls":[{"index":0,"function":{"name":"a","arguments":{"x":1}}},{"index":1,"function":{"name":"b","arguments":null}}]`), finish("stop")), []wiretest.Item{call("call_1", "a", `{"x":1}`), call("call_2", "b", `{}`)}},
	} {
		got := read(t, &wiretest.Server{Body: tt.body})
		stop := model.StopEndTurn
		if tt.want[0].Role == model.Call {
			stop = model.StopToolUse
		}
		if diff := cmp.Diff(tt.want, got.Items); diff != "" || got.Err != nil || got.Stop != stop {
			t.Errorf("%s: stop %q, error %v (-want +got):\n%s", tt.name, got.Stop, got.Err, diff)
		}
	}
}

func TestMadeIDsAreUniqueInTheConversation(t *testing.T) {
	s := &wiretest.Server{
		Body: wiretest.SSE(
			delta(
				`"tool_calls":[{"function":{"name":"a","arguments":"{}"}},{"id":"old","function":{"name":"b","arguments":"{}"}}]`,
			),
			done,
		),
	}
	got, err := wiretest.Read(t.Context(), provider(s), model.Request{Input: []model.Item{
		{
			Role:   model.Call,
			CallID: "call_2",
			Name:   "a",
		}, {Role: model.Output, CallID: "call_2"}, {Role: model.Call, CallID: "old", Name: "a"}, {Role: model.Output, CallID: "old"},
	}})
	if err != nil || len(got.Items) != 2 || got.Items[0].CallID != "call_3" || got.Items[1].CallID != "call_4" {
		t.Errorf("error %v, items %+v", err, got.Items)
	}
}

func TestReasoning(t *testing.T) {
	field := func(name string) *model.ProviderSignature {
		return &model.ProviderSignature{Format: "field", Data: name}
	}
	for _, tt := range []struct {
		name string
		body string
		want []wiretest.Item
	}{
		{
			"reasoning_content", wiretest.SSE(delta(`"reasoning_content":"Hm"`), delta(`"reasoning_content":"m.","content":null`), delta(`"content":"Hi"`), done),
			[]wiretest.Item{
				{Role: model.Reasoning, Text: "Hmm.", Signature: field("reasoning_content")},
				{Role: model.Assistant, Text: "Hi"},
			},
		},
		{
			"reasoning", wiretest.SSE(delta(`"reasoning":"Hm.","content":""`), delta(`"content":"Hi"`), delta(`"reasoning":"Oh."`), done),
			[]wiretest.Item{{Role: model.Reasoning, Text: "Hm.", Signature: field("reasoning")}, {Role: model.Assistant, Text: "Hi"}, {Role: model.Reasoning, Text: "Oh.", Signature: field("reasoning")}},
		},
		{
			"both", wiretest.SSE(delta(`"reasoning":"Hm.","reasoning_content":"Hm."`), done),
			[]wiretest.Item{{Role: model.Reasoning, Text: "Hm.", Signature: field("reasoning_content")}},
		},
		{
			"thinking part", wiretest.SSE(delta(`"content":[{"type":"thinking","thinking":[{"type":"text","text":"Hm."}]}]`), delta(`"content":"Hi"`), done),
			[]wiretest.Item{
				{Role: model.Reasoning, Text: "Hm.", Signature: field("thinking")},
				{Role: model.Assistant, Text: "Hi"},
			},
		},
		{
			"a part that we do not know", wiretest.SSE(delta(`"content":[{"type":"reference","text":{"a":1},"thinking":"Hm."},{"type":"text","text":"Hi"}]`), done),
			[]wiretest.Item{
				{Role: model.Reasoning, Text: "Hm.", Signature: field("thinking")},
				{Role: model.Assistant, Text: "Hi"},
			},
		},
		{
			"details",
			wiretest.SSE(
				delta(`"reasoning":"H","reasoning_details":[{"type":"reasoning.text","text":"H","index":0,"format":"anthropic-claude-v1"}]`),
				delta(`"reasoning":"m","reasoning_details":[{"type":"reasoning.text","text":"m","index":0,"signature":null}]`),
				delta(`"reasoning_details":[{"type":"reasoning.text","text":"","index":0,"signature":"sig"}]`),
				delta(`"reasoning_details":[{"type":"reasoning.encrypted","data":"xx","index":1}]`),
				delta(`"content":"Hi"`), done),
			[]wiretest.Item{
				{
					Role: model.Reasoning, Text: "Hm",
					Signature: &model.ProviderSignature{Format: "details", Data: `[{"format":"anthropic-claude-v1","index":0,"signature":"sig","text":"Hm","type":"reasoning.text"},{"data":"xx","index":1,"type":"reasoning.encrypted"}]`},
				},
				{Role: model.Assistant, Text: "Hi"},
			},
		},
		{
			"details, each event twice",
			wiretest.SSE(
				delta(`"reasoning":"Hm","reasoning_details":[{"type":"reasoning.text","text":"Hm","index":0}]`),
				delta(`"reasoning":"Hm","reasoning_details":[{"type":"reasoning.text","text":"Hm","index":0}]`),
				delta(`"reasoning_details":[{"type":"reasoning.text","text":"","index":0,"signature":"sig"}]`),
				delta(`"reasoning_details":[{"type":"reasoning.text","text":"","index":0,"signature":"sig"}]`),
				done),
			[]wiretest.Item{{Role: model.Reasoning, Text: "HmHm", Signature: field("reasoning")}},
		},
		{
			"encrypted details, each event twice",
			wiretest.SSE(
				delta(`"reasoning_details":[{"type":"reasoning.encrypted","data":"xx","index":0}]`),
				delta(`"reasoning_details":[{"type":"reasoning.encrypted","data":"xx","index":0}]`),
				delta(`"content":"Hi"`), done),
			[]wiretest.Item{
				{Role: model.Reasoning, Signature: field("reasoning")},
				{Role: model.Assistant, Text: "Hi"},
			},
		},
		{
			"details alone", wiretest.SSE(delta(`"reasoning_details":[{"type":"reasoning.summary","summary":"Hm."}]`), done),
			[]wiretest.Item{{Role: model.Reasoning, Text: "Hm.", Signature: &model.ProviderSignature{Format: "details", Data: `[{"summary":"Hm.","type":"reasoning.summary"}]`}}},
		},
	} {
		got := read(t, &wiretest.Server{Body: tt.body})
		if diff := cmp.Diff(tt.want, got.Items); diff != "" || got.Err != nil {
			t.Errorf("%s: error %v (-want +got):\n%s", tt.name, got.Err, diff)
		}
	}
}

func TestFinishReasons(t *testing.T) {
	for reason, want := range map[string]model.StopReason{
		"stop": model.StopEndTurn, "length": model.StopMaxTokens, "content_filter": model.StopFilter, "tool_calls": model.StopEndTurn,
		"eos": model.StopEndTurn, "function_call": model.StopEndTurn,
	} {
		if got := read(t, &wiretest.Server{Body: wiretest.SSE(delta(`"content":"Hi"`), finish(reason))}); got.Stop != want ||
			got.Err != nil {
			t.Errorf("%q becomes %q, want %q (error %v)", reason, got.Stop, want, got.Err)
		}
	}
	if got := read(t, &wiretest.Server{Body: wiretest.SSE(delta(`"refusal":"No."`), finish("stop"))}); got.Stop != model.StopRefusal ||
		got.Items[0].Text != "No." {
		t.Errorf("refusal: %+v", got)
	}
	body := wiretest.SSE(
		delta(
			`"tool_calls":[{"index":0,"id":"p","function":{"name":"a","arguments":"{}"}},{"index":1,"id":"q","function":{"name":"b","arguments":"{\"y"}}]`,
		),
		finish("length"),
		done,
	)
	if got := read(t, &wiretest.Server{Body: body}); got.Stop != model.StopMaxTokens || got.Items[0].Open ||
		!got.Items[1].Open {
		t.Errorf("cut within a call: %+v", got)
	}
	if got := read(t, &wiretest.Server{Body: wiretest.SSE(delta(`"content":"Hi"`), finish("stop")), Then: errors.New("reset")}); got.Err != nil {
		t.Errorf("a reset after the end: %v", got.Err)
	}
}

func TestFaults(t *testing.T) {
	hi := delta(`"content":"Hi"`)
	for _, tt := range []struct {
		name   string
		server *wiretest.Server
		kind   model.ErrorKind
	}{
		{"empty", &wiretest.Server{}, model.ErrTruncated},
		{"only [DONE]", &wiretest.Server{Body: wiretest.SSE(done)}, model.ErrMalformed},
		{"neither finish nor [DONE]", &wiretest.Server{Body: wiretest.SSE(hi)}, model.ErrTruncated},
		{"usage but no end", &wiretest.Server{Body: wiretest.SSE(hi, usage)}, model.ErrTruncated},
		{"reset", &wiretest.Server{Body: wiretest.SSE(hi), Then: errors.New("reset")}, model.ErrConnection},
		{"bad JSON", &wiretest.Server{Body: wiretest.SSE(hi[:50])}, model.ErrMalformed},
		{"choices", &wiretest.Server{Body: wiretest.SSE(`{"choices":{}}`)}, model.ErrMalformed},
		{"delta", &wiretest.Server{Body: wiretest.SSE(`{"choices":[{"delta":"x"}]}`)}, model.ErrMalformed},
		{"content", &wiretest.Server{Body: wiretest.SSE(delta(`"content":5`))}, model.ErrMalformed},
		{"usage that is none, and no end", &wiretest.Server{Body: wiretest.SSE(`{"choices":[],"usage":"much"}`)}, model.ErrTruncated},
		{"tool_calls", &wiretest.Server{Body: wiretest.SSE(delta(`"tool_calls":{}`))}, model.ErrMalformed},
		{"arguments after their end", &wiretest.Server{Body: wiretest.SSE(delta(`"tool_calls":[{"index":0,"id":"p","function":{"name":"a","arguments":"{}"}},{"index":1,"id":"q","function":{"name":"b","arguments":""}}]`), delta(`"tool_calls":[{"index":0,"function":{"arguments":"x"}}]`))}, model.ErrMalformed},
		{"error object", &wiretest.Server{Body: wiretest.SSE(hi, `{"error":{"message":"Overloaded","code":529}}`)}, model.ErrOverloaded},
		{"error with status", &wiretest.Server{Body: wiretest.SSE(hi, `{"id":"x","choices":[{"index":0,"delta":{"content":""},"finish_reason":"error"}],"error":{"code":429,"message":"Rate limited, retry after 3 seconds"}}`)}, model.ErrRateLimit},
		{"vLLM's error", &wiretest.Server{Body: wiretest.SSE(`{"object":"error","message":"This model's maximum context length is 10 tokens.","type":"BadRequestError","code":400}`)}, model.ErrContext},
		{"llama.cpp's error", &wiretest.Server{Body: wiretest.SSE(`{"error":{"code":400,"message":"too big","type":"exceed_context_size_error"}}`)}, model.ErrContext},
		{"error as text", &wiretest.Server{Body: wiretest.SSE(`{"error":"model runner has unexpectedly stopped"}`)}, model.ErrServer},
		{"finish_reason error", &wiretest.Server{Body: wiretest.SSE(hi, finish("error"), done)}, model.ErrServer},
		{"finish_reason error, no [DONE]", &wiretest.Server{Body: wiretest.SSE(hi, finish("error"))}, model.ErrTruncated},
		{"DeepSeek is full", &wiretest.Server{Body: wiretest.SSE(hi, finish("insufficient_system_resource"), done)}, model.ErrOverloaded},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var fault *model.Error
			got := read(t, tt.server)
			if !errors.As(got.Err, &fault) || fault.Kind != tt.kind {
				t.Fatalf("error %v, want kind %q", got.Err, tt.kind)
			}
			if tt.kind == model.ErrRateLimit && fault.RetryAfter.Seconds() != 3 {
				t.Errorf("wait %v, want 3 s", fault.RetryAfter)
			}
		})
	}
}
