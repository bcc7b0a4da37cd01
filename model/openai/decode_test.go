//go:build !fuzzing

package openai_test

import (
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/openai/openai-go/v3/packages/ssestream"
	"github.com/openai/openai-go/v3/responses"

	"github.com/settle-agent/settle/model"
	"github.com/settle-agent/settle/model/internal/wiretest"
)

const (
	created = `response.created|{"type":"response.created","sequence_number":0,"response":{"id":"resp_1","object":"response","status":"in_progress","output":[]}}`
	msgOn   = `response.output_item.added|{"type":"response.output_item.added","output_index":0,"item":{"id":"msg_1","type":"message","status":"in_progress","role":"assistant","content":[]}}`
	hello   = `response.output_text.delta|{"type":"response.output_text.delta","sequence_number":5,"item_id":"msg_1","output_index":0,"content_index":0,"delta":"Hello\n\u00e9","logprobs":[],"obfuscation":"x"}`
	msgOff  = `response.output_item.done|{"type":"response.output_item.done","output_index":0,"item":{"id":"msg_1","type":"message","status":"completed","role":"assistant","content":[{"type":"output_text","text":"Hello\n\u00e9","annotations":[]}]}}`
	usage   = `"usage":{"input_tokens":20,"input_tokens_details":{"cached_tokens":15,"cache_write_tokens":2},"output_tokens":9,"output_tokens_details":{"reasoning_tokens":4},"total_tokens":29}`
	done    = `response.completed|{"type":"response.completed","response":{"id":"resp_1","object":"response","status":"completed","output":[],` + usage + `}}`

	reasonItem = `{"id":"rs_1","type":"reasoning","encrypted_content":"gAAA=","summary":[{"type":"summary_text","text":"First."},{"type":"summary_text","text":"Second."}]}`
	callItem   = `{"id":"fc_1","type":"function_call","status":"completed","call_id":"call_1","name":"shell","arguments":"{\"command\":\"ls\"}"}`
	patchItem  = `{"id":"ctc_1","type":"custom_tool_call","status":"completed","call_id":"call_2","name":"apply_patch","input":"*** Begin\n+ \"a\"\n"}`
	textItem   = `{"id":"msg_1","type":"message","status":"completed","role":"assistant","content":[{"type":"output_text","text":"I look.","annotations":[]}]}`
)

// full is a response with all that may come in one, two calls interleaved.
var full = wiretest.SSE(
	created,
	`response.in_progress|{"type":"response.in_progress","response":{"id":"resp_1"}}`,
	`{"type":"response.output_item.added","output_index":0,"item":{"id":"rs_1","type":"reasoning","summary":[]}}`,
	`{"type":"response.reasoning_summary_part.added","item_id":"rs_1","output_index":0,"summary_index":0,"part":{"type":"summary_text","text":""}}`,
	`{"type":"response.reasoning_summary_text.delta","item_id":"rs_1","output_index":0,"summary_index":0,"delta":"Fir"}`,
	`{"type":"response.reasoning_summary_text.delta","item_id":"rs_1","output_index":0,"summary_index":0,"delta":"st."}`,
	`{"type":"response.reasoning_summary_text.done","item_id":"rs_1","output_index":0,"summary_index":0,"text":"First."}`,
	`{"type":"response.reasoning_summary_text.delta","item_id":"rs_1","output_index":0,"summary_index":1,"delta":"Second."}`,
	`{"type":"response.output_item.done","output_index":0,"item":`+reasonItem+`}`,
	`{"type":"response.output_item.added","output_index":1,"item":{"id":"msg_1","type":"message","role":"assistant","content":[]}}`,
	`{"type":"response.output_text.delta","output_index":1,"content_index":0,"delta":"I look."}`,
	`{"type":"response.output_item.done","output_index":1,"item":`+textItem+`}`,
	`{"type":"response.output_item.added","output_index":2,"item":{"id":"fc_1","type":"function_call","call_id":"call_1","name":"shell","arguments":""}}`,
	`{"type":"response.output_item.added","output_index":3,"item":{"id":"ctc_1","type":"custom_tool_call","call_id":"call_2","name":"apply_patch","input":""}}`,
	`{"type":"response.function_call_arguments.delta","output_index":2,"delta":"{\"command\":"}`,
	`{"type":"response.custom_tool_call_input.delta","output_index":3,"delta":"*** Begin\n"}`,
	`{"type":"response.function_call_arguments.delta","output_index":2,"delta":"\"ls\"}"}`,
	`{"type":"response.custom_tool_call_input.delta","output_index":3,"delta":"+ \"a\"\n"}`,
	`{"type":"response.output_item.done","output_index":2,"item":`+callItem+`}`,
	`{"type":"response.output_item.done","output_index":3,"item":`+patchItem+`}`,
	`{"type":"response.completed","response":{"id":"resp_1","object":"response","status":"completed","output":[`+
		reasonItem+","+textItem+","+callItem+","+patchItem+`],`+usage+`}}`,
)

// withoutItems is the same response without the events of items.
var withoutItems = wiretest.SSE(
	created,
	`{"type":"response.completed","response":{"id":"resp_1","status":"completed","output":[`+
		reasonItem+","+textItem+","+callItem+","+patchItem+`],`+usage+`}}`,
)

// dones is the same without deltas.
var dones = wiretest.SSE(
	created, `{"type":"response.output_item.done","output_index":0,"item":`+reasonItem+`}`,
	`{"type":"response.output_item.done","output_index":1,"item":`+textItem+`}`,
	`{"type":"response.output_item.done","output_index":2,"item":`+callItem+`}`,
	`{"type":"response.output_item.done","output_index":3,"item":`+patchItem+`}`, done,
)

func read(t *testing.T, s *wiretest.Server) wiretest.Response {
	t.Helper()
	r, err := wiretest.Read(t.Context(), provider(s), conversation("gpt-6.1-sol"))
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func TestResponse(t *testing.T) {
	for name, body := range map[string]string{"full": full, "whole": withoutItems, "dones": dones} {
		got := read(t, &wiretest.Server{Body: body})
		want := wiretest.Response{
			ID: "resp_1",
			Items: []wiretest.Item{
				{
					Role:      model.Reasoning,
					Text:      "First.\n\nSecond.",
					ID:        "rs_1",
					Signature: &model.ProviderSignature{Format: "encrypted", Data: "gAAA="},
				},
				{Role: model.Assistant, Text: "I look.", ID: "msg_1"},
				{Role: model.Call, Text: `{"command":"ls"}`, ID: "fc_1", CallID: "call_1", Name: "shell"},
				{
					Role:   model.Call,
					Text:   `{"patch":"*** Begin\n+ \"a\"\n"}`,
					ID:     "ctc_1",
					CallID: "call_2",
					Name:   "apply_patch",
				},
			},
			Stop:  model.StopToolUse,
			Usage: &model.Usage{Input: 20, CacheRead: 15, CacheWrite: 2, Output: 9, Reasoning: 4},
			Pings: got.Pings,
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}

// TestAgainstSDK reads the same stream with the official SDK: its deltas, by
// output item, and the response at the end.
func TestAgainstSDK(t *testing.T) {
	got := read(t, &wiretest.Server{Body: full})
	resp := &http.Response{
		Header: http.Header{"Content-Type": {"text/event-stream"}},
		Body:   io.NopCloser(strings.NewReader(full)),
	}
	stream := ssestream.NewStream[responses.ResponseStreamEventUnion](ssestream.NewDecoder(resp), nil)
	deltas := map[int64]string{}
	var final responses.Response
	for stream.Next() {
		switch e := stream.Current().AsAny().(type) {
		case responses.ResponseTextDeltaEvent:
			deltas[e.OutputIndex] += e.Delta
		case responses.ResponseFunctionCallArgumentsDeltaEvent:
			deltas[e.OutputIndex] += e.Delta
		case responses.ResponseCompletedEvent:
			final = e.Response
		}
	}
	if stream.Err() != nil || len(final.Output) != len(got.Items) {
		t.Fatalf("the SDK has %d items, we have %d, error %v", len(final.Output), len(got.Items), stream.Err())
	}
	for i, item := range final.Output {
		ours := got.Items[i]
		want := deltas[int64(i)]
		switch item.Type {
		case "reasoning":
			r := item.AsReasoning()
			want = r.Summary[0].Text + "\n\n" + r.Summary[1].Text
			if ours.Signature.Data != r.EncryptedContent {
				t.Errorf("signature %q, the SDK has %q", ours.Signature.Data, r.EncryptedContent)
			}
		case "custom_tool_call":
			want = `{"patch":"*** Begin\n+ \"a\"\n"}`
		case "function_call":
			if ours.Name != item.Name || ours.CallID != item.CallID {
				t.Errorf("call %q %q, the SDK has %q %q", ours.Name, ours.CallID, item.Name, item.CallID)
			}
		}
		if ours.Text != want || ours.ID != item.ID {
			t.Errorf("item %d is %q %q, the SDK has %q %q", i, ours.ID, ours.Text, item.ID, want)
		}
	}
	if final.Usage.InputTokensDetails.CachedTokens != got.Usage.CacheRead ||
		final.Usage.OutputTokens != got.Usage.Output {
		t.Errorf("usage %+v, the SDK has %+v", got.Usage, final.Usage)
	}
}

func TestEnds(t *testing.T) {
	refusal := `{"type":"response.refusal.delta","output_index":0,"content_index":0,"delta":"No."}`
	incomplete := func(reason string) string {
		return `{"type":"response.incomplete","response":{"id":"resp_1","incomplete_details":{"reason":"` + reason + `"},` + usage + `}}`
	}
	for _, tt := range []struct {
		name, body, text string
		stop             model.StopReason
	}{
		{"text", wiretest.SSE(created, msgOn, hello, msgOff, done), "Hello\né", model.StopEndTurn},
		{"message without an end", wiretest.SSE(created, msgOn, hello, done), "Hello\né", model.StopEndTurn},
		{"unknown events", wiretest.SSE(created, `{"type":"response.new","x":[1]}`, msgOn, hello, `{"type":"response.new.delta","delta":"x"}`, msgOff, done, "[DONE]"), "Hello\né", model.StopEndTurn},
		{"refusal", wiretest.SSE(created, msgOn, refusal, done), "No.", model.StopRefusal},
		{"max tokens", wiretest.SSE(created, msgOn, hello, incomplete("max_output_tokens")), "Hello\né", model.StopMaxTokens},
		{"content filter", wiretest.SSE(created, msgOn, hello, incomplete("content_filter")), "Hello\né", model.StopFilter},
		{"begins twice", wiretest.SSE(created, created, msgOn, hello, msgOff, done), "Hello\né", model.StopEndTurn},
		{"unknown item with our names", wiretest.SSE(
			created, `{"type":"response.output_item.done","output_index":1,"item":{"id":"cu_1","type":"computer_call","arguments":{"a":1},"content":"x","name":["y"],"execution":{}}}`,
			msgOn, hello, msgOff, done,
		), "Hello\né", model.StopEndTurn},
		{"unknown item with our names, at once", wiretest.SSE(
			created, `{"type":"response.completed","response":{"id":"resp_1","output":[{"type":"computer_call","arguments":{"a":1}},{"type":"message","content":[{"type":"output_text","text":"Hello\n\u00e9"}]}],`+usage+`}}`,
		), "Hello\né", model.StopEndTurn},
		{"unknown item", wiretest.SSE(created, msgOn, hello, `{"type":"response.output_item.added","output_index":1,"item":{"id":"ws_1","type":"web_search_call"}}`, msgOff, done), "Hello\né", model.StopEndTurn},
	} {
		got := read(t, &wiretest.Server{Body: tt.body})
		if got.Err != nil || got.Stop != tt.stop || len(got.Items) != 1 || got.Items[0].Text != tt.text {
			t.Errorf("%s: %+v", tt.name, got)
		}
	}
	cut := strings.Split(full, `data: {"type":"response.output_item.done","output_index":2`)[0] + wiretest.SSE(
		incomplete("max_output_tokens"),
	)
	if got := read(t, &wiretest.Server{Body: cut}); got.Err != nil || !got.Items[2].Open ||
		got.Stop != model.StopMaxTokens {
		t.Errorf("a call cut at the limit: %+v", got)
	}
}

func TestFaults(t *testing.T) {
	reset := errors.New("connection reset by peer")
	failed := func(code, message string) string {
		return `{"type":"response.failed","response":{"id":"resp_1","status":"failed","error":{"code":"` + code + `","message":"` + message + `"}}}`
	}
	callOn := `{"type":"response.output_item.added","output_index":1,"item":{"id":"fc_1","type":"function_call","call_id":"c","name":"shell"}}`
	for _, tt := range []struct {
		name   string
		server *wiretest.Server
		kind   model.ErrorKind
	}{
		{"empty", &wiretest.Server{}, model.ErrTruncated},
		{"no terminal event", &wiretest.Server{Body: wiretest.SSE(created, msgOn, hello, msgOff)}, model.ErrTruncated},
		{"only [DONE]", &wiretest.Server{Body: wiretest.SSE(created, msgOn, hello, msgOff, "[DONE]")}, model.ErrTruncated},
		{"reset", &wiretest.Server{Body: wiretest.SSE(created, msgOn), Then: reset}, model.ErrConnection},
		{"bad JSON", &wiretest.Server{Body: wiretest.SSE(created, msgOn, hello[:60])}, model.ErrMalformed},
		{"bad item", &wiretest.Server{Body: wiretest.SSE(created, `{"type":"response.output_item.added","output_index":"x"}`)}, model.ErrMalformed},
		{"item before response", &wiretest.Server{Body: wiretest.SSE(msgOn)}, model.ErrMalformed},
		{"duplicate index", &wiretest.Server{Body: wiretest.SSE(created, msgOn, msgOn)}, model.ErrMalformed},
		{"delta without item", &wiretest.Server{Body: wiretest.SSE(created, hello)}, model.ErrMalformed},
		{"delta without index", &wiretest.Server{Body: wiretest.SSE(created, msgOn, `{"type":"response.output_text.delta","delta":"a"}`)}, model.ErrMalformed},
		{"delta after item", &wiretest.Server{Body: wiretest.SSE(created, msgOn, hello, msgOff, hello)}, model.ErrMalformed},
		{"another type's delta", &wiretest.Server{Body: wiretest.SSE(created, msgOn, strings.Replace(hello, "output_text", "function_call_arguments", 2))}, model.ErrMalformed},
		{"two ends", &wiretest.Server{Body: wiretest.SSE(created, msgOn, hello, msgOff, msgOff)}, model.ErrMalformed},
		{"changed type", &wiretest.Server{Body: wiretest.SSE(created, msgOn, `{"type":"response.output_item.done","output_index":0,"item":`+callItem+`}`)}, model.ErrMalformed},
		{"end within a call", &wiretest.Server{Body: wiretest.SSE(created, msgOn, hello, msgOff, callOn, done)}, model.ErrMalformed},
		{"server error", &wiretest.Server{Body: wiretest.SSE(created, failed("server_error", "oops"))}, model.ErrServer},
		{"rate limit", &wiretest.Server{Body: wiretest.SSE(created, failed("rate_limit_exceeded", "Please try again in 1.5s."))}, model.ErrRateLimit},
		{"context", &wiretest.Server{Body: wiretest.SSE(failed("context_length_exceeded", "Your input exceeds the context window"))}, model.ErrContext},
		{"policy", &wiretest.Server{Body: wiretest.SSE(failed("invalid_prompt", "flagged"))}, model.ErrPolicy},
		{"image", &wiretest.Server{Body: wiretest.SSE(failed("image_too_large", "big"))}, model.ErrImage},
		{"error event", &wiretest.Server{Body: wiretest.SSE(created, `error|{"type":"error","code":"insufficient_quota","message":"pay"}`)}, model.ErrQuota},
		{"nested error event", &wiretest.Server{Body: wiretest.SSE(`error|{"type":"error","error":{"type":"invalid_request_error","code":"x","message":"no"}}`)}, model.ErrInvalid},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var fault *model.Error
			got := read(t, tt.server)
			if !errors.As(got.Err, &fault) || fault.Kind != tt.kind {
				t.Fatalf("error %v, want kind %q", got.Err, tt.kind)
			}
			if tt.name == "rate limit" && fault.RetryAfter.Seconds() != 1.5 {
				t.Errorf("wait %v, want 1.5 s", fault.RetryAfter)
			}
			if tt.server.Then != nil && !errors.Is(got.Err, tt.server.Then) {
				t.Errorf("%v does not wrap its cause", got.Err)
			}
		})
	}
}
