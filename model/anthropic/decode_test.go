//go:build !fuzzing

package anthropic_test

import (
	"context"
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"

	sdk "github.com/anthropics/anthropic-sdk-go"
	"github.com/anthropics/anthropic-sdk-go/packages/ssestream"
	"github.com/google/go-cmp/cmp"

	"github.com/settle-agent/settle/model"
	"github.com/settle-agent/settle/model/internal/wiretest"
	"github.com/settle-agent/settle/model/transport"
)

const start = `message_start|{"type":"message_start","message":{"id":"msg_1","type":"message","role":"assistant","model":"claude-opus-5-5","content":[],"stop_reason":null,"usage":{"input_tokens":10,"cache_read_input_tokens":100,"cache_creation_input_tokens":5,"output_tokens":1}}}`

const (
	stop    = `message_stop|{"type":"message_stop"}`
	endTurn = `message_delta|{"type":"message_delta","delta":{"stop_reason":"end_turn","stop_sequence":null},"usage":{"output_tokens":50,"output_tokens_details":{"thinking_tokens":20}}}`
	toolUse = `message_delta|{"type":"message_delta","delta":{"stop_reason":"tool_use","stop_sequence":null},"usage":{"input_tokens":10,"output_tokens":50}}`
	textOn  = `content_block_start|{"type":"content_block_start","index":0,"content_block":{"type":"text","text":""}}`
	off     = `content_block_stop|{"type":"content_block_stop","index":0}`
	off1    = `content_block_stop|{"type":"content_block_stop","index":1}`
	hello   = `content_block_delta|{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"Hello \"you\"\n\u00e9 \ud83d\ude00"}}`
	callOn  = `content_block_start|{"type":"content_block_start","index":1,"content_block":{"type":"tool_use","id":"toolu_1","name":"shell","input":{}}}`
)

// full is a response with all that may come in one.
var full = wiretest.SSE(
	start,
	`content_block_start|{"type":"content_block_start","index":0,"content_block":{"type":"thinking","thinking":"","signature":""}}`,
	`ping|{"type":"ping"}`,
	`content_block_delta|{"type":"content_block_delta","index":0,"delta":{"type":"thinking_delta","thinking":"Let me "}}`,
	`content_block_delta|{"type":"content_block_delta","index":0,"delta":{"type":"thinking_delta","thinking":"see."}}`,
	`content_block_delta|{"type":"content_block_delta","index":0,"delta":{"type":"signature_delta","signature":"EqQBCg=="}}`,
	off,
	`content_block_start|{"type":"content_block_start","index":1,"content_block":{"type":"redacted_thinking","data":"secret"}}`,
	off1,
	`content_block_start|{"type":"content_block_start","index":2,"content_block":{"type":"text","text":""}}`,
	`content_block_delta|{"type":"content_block_delta","index":2,"delta":{"type":"text_delta","text":"I look."}}`,
	`content_block_stop|{"type":"content_block_stop","index":2}`,
	`content_block_start|{"type":"content_block_start","index":3,"content_block":{"type":"tool_use","id":"toolu_1","name":"shell","input":{}}}`,
	`content_block_delta|{"type":"content_block_delta","index":3,"delta":{"type":"input_json_delta","partial_json":""}}`,
	`content_block_delta|{"type":"content_block_delta","index":3,"delta":{"type":"input_json_delta","partial_json":"{\"command\":"}}`,
	`content_block_delta|{"type":"content_block_delta","index":3,"delta":{"type":"input_json_delta","partial_json":" \"ls\"}"}}`,
	`content_block_stop|{"type":"content_block_stop","index":3}`,
	`content_block_start|{"type":"content_block_start","index":4,"content_block":{"type":"tool_use","id":"toolu_2","name":"list","input":{}}}`,
	`content_block_stop|{"type":"content_block_stop","index":4}`,
	toolUse,
	stop,
)

func read(t *testing.T, s *wiretest.Server) wiretest.Response {
	t.Helper()
	r, err := wiretest.Read(t.Context(), provider(s), model.Request{Model: "claude-opus-5-5"})
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func TestResponse(t *testing.T) {
	got := read(t, &wiretest.Server{Body: full})
	want := wiretest.Response{
		ID: "msg_1",
		Items: []wiretest.Item{
			{
				Role: model.Reasoning, Text: "Let me see.",
				Signature: &model.ProviderSignature{Format: "signature", Data: "EqQBCg=="},
			},
			{Role: model.Reasoning, Signature: &model.ProviderSignature{Format: "redacted", Data: "secret"}},
			{Role: model.Assistant, Text: "I look."},
			{Role: model.Call, Text: `{"command": "ls"}`, ID: "toolu_1", CallID: "toolu_1", Name: "shell"},
			{Role: model.Call, Text: `{}`, ID: "toolu_2", CallID: "toolu_2", Name: "list"},
		},
		Stop:  model.StopToolUse,
		Usage: &model.Usage{Input: 115, CacheRead: 100, CacheWrite: 5, Output: 50},
		Pings: got.Pings,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if got.Pings == 0 {
		t.Error("a ping was not reported")
	}
}

// TestAgainstSDK reads the same stream with the official SDK.
func TestAgainstSDK(t *testing.T) {
	for name, body := range map[string]string{
		"full": full, "text": wiretest.SSE(start, textOn, hello, hello, off, endTurn, stop),
	} {
		got := read(t, &wiretest.Server{Body: body})
		resp := &http.Response{
			Header: http.Header{"Content-Type": {"text/event-stream"}},
			Body:   io.NopCloser(strings.NewReader(body)),
		}
		stream := ssestream.NewStream[sdk.MessageStreamEventUnion](ssestream.NewDecoder(resp), nil)
		var message sdk.Message
		for stream.Next() {
			if err := message.Accumulate(stream.Current()); err != nil {
				t.Fatal(err)
			}
		}
		if stream.Err() != nil {
			t.Fatal(stream.Err())
		}
		var want []wiretest.Item
		for _, b := range message.Content {
			switch b.Type {
			case "text":
				want = append(want, wiretest.Item{Role: model.Assistant, Text: b.Text})
			case "thinking":
				want = append(
					want,
					wiretest.Item{
						Role:      model.Reasoning,
						Text:      b.Thinking,
						Signature: &model.ProviderSignature{Format: "signature", Data: b.Signature},
					},
				)
			case "redacted_thinking":
				want = append(
					want, wiretest.Item{Role: model.Reasoning, Signature: &model.ProviderSignature{Format: "redacted", Data: b.Data}},
				)
			case "tool_use":
				want = append(
					want, wiretest.Item{Role: model.Call, Text: string(b.Input), ID: b.ID, CallID: b.ID, Name: b.Name},
				)
			}
		}
		if diff := cmp.Diff(want, got.Items); diff != "" {
			t.Errorf("%s (-SDK +ours):\n%s", name, diff)
		}
		if string(message.StopReason) != string(got.Stop) || message.Usage.OutputTokens != got.Usage.Output ||
			message.ID != got.ID {
			t.Errorf("%s: SDK says stop %q, output %d, id %q; we say %q, %d, %q", name,
				message.StopReason, message.Usage.OutputTokens, message.ID, got.Stop, got.Usage.Output, got.ID)
		}
	}
}

func TestStopReasons(t *testing.T) {
	for reason, want := range map[string]model.StopReason{
		"end_turn": model.StopEndTurn, "max_tokens": model.StopMaxTokens, "stop_sequence": model.StopSequence, "pause_turn": model.StopPause,
		"refusal": model.StopRefusal, "model_context_window_exceeded": model.StopMaxTokens, "": model.StopEndTurn,
	} {
		body := wiretest.SSE(start, textOn, hello, off, strings.Replace(endTurn, "end_turn", reason, 1), stop)
		if got := read(t, &wiretest.Server{Body: body}); got.Err != nil || got.Stop != want {
			t.Errorf("%q becomes %q, want %q (error %v)", reason, got.Stop, want, got.Err)
		}
	}
}

func TestLenience(t *testing.T) {
	for name, body := range map[string]string{
		"unknown events":    wiretest.SSE(start, `new|{"type":"new"}`, textOn, hello, `content_block_delta|{"type":"content_block_delta","index":0,"delta":{"type":"citations_delta","citation":{}}}`, off, endTurn, stop),
		"no event names":    wiretest.SSE(start[14:], textOn[20:], hello[20:], off[19:], endTurn[14:], stop[13:]),
		"no stop of text":   wiretest.SSE(start, textOn, hello, endTurn, stop),
		"text in the start": wiretest.SSE(start, strings.Replace(textOn, `"text":""`, `"text":"Hello \"you\"\n\u00e9 \ud83d\ude00"`, 1), off, endTurn, stop),
		"start said twice":  wiretest.SSE(start, start, textOn, hello, off, endTurn, stop),
		"all in the start":  wiretest.SSE(strings.Replace(start, `"content":[],"stop_reason":null`, `"content":[{"type":"text","text":"Hello \"you\"\n\u00e9 \ud83d\ude00"}],"stop_reason":"end_turn"`, 1), stop),
		"no event after":    wiretest.SSE(start, textOn, hello, off, endTurn, stop, `{"type":"message_start"}`),
	} {
		got := read(t, &wiretest.Server{Body: body})
		want := []wiretest.Item{{Role: model.Assistant, Text: "Hello \"you\"\né 😀"}}
		if diff := cmp.Diff(want, got.Items); diff != "" || got.Err != nil || got.Stop != model.StopEndTurn {
			t.Errorf("%s: stop %q, error %v (-want +got):\n%s", name, got.Stop, got.Err, diff)
		}
	}
	unknown := strings.NewReplacer(`"type":"tool_use"`, `"type":"new_tool_use"`, `"input":{}`, `"text":{}`, `"index":1`, `"index":0`).
		Replace(callOn)
	body := wiretest.SSE(
		start,
		unknown,
		strings.ReplaceAll(hello, "text_delta", "input_json_delta"),
		off,
		strings.Replace(textOn, `"index":0`, `"index":1`, 1),
		strings.Replace(hello, `"index":0`, `"index":1`, 1),
		off1,
		endTurn,
		stop,
	)
	if got := read(t, &wiretest.Server{Body: body}); len(got.Items) != 1 || got.Err != nil {
		t.Errorf("unknown block: %d items, error %v", len(got.Items), got.Err)
	}
	body = wiretest.SSE(
		start, textOn, off, strings.Replace(callOn, `"input":{}`, `"input":{"a":1}`, 1), off1, toolUse, stop,
	)
	if got := read(t, &wiretest.Server{Body: body}); got.Err != nil || got.Items[1].Text != `{"a":1}` {
		t.Errorf("whole input: %+v", got)
	}
}

func TestFaults(t *testing.T) {
	reset := errors.New("connection reset by peer")
	for _, tt := range []struct {
		name   string
		server *wiretest.Server
		kind   model.ErrorKind
	}{
		{"empty", &wiretest.Server{}, model.ErrTruncated},
		{"no terminal event", &wiretest.Server{Body: wiretest.SSE(start, textOn, hello, off, endTurn)}, model.ErrTruncated},
		{"broken chunk", &wiretest.Server{Body: wiretest.SSE(start, textOn), Then: io.ErrUnexpectedEOF}, model.ErrTruncated},
		{"reset", &wiretest.Server{Body: wiretest.SSE(start, textOn, hello), Then: reset}, model.ErrConnection},
		{"bad JSON", &wiretest.Server{Body: wiretest.SSE(start, textOn, `{"type":"content_block_delta","index":0,`)}, model.ErrMalformed},
		{"not an object", &wiretest.Server{Body: wiretest.SSE(start, `"hello"`)}, model.ErrMalformed},
		{"block before message", &wiretest.Server{Body: wiretest.SSE(textOn)}, model.ErrMalformed},
		{"duplicate index", &wiretest.Server{Body: wiretest.SSE(start, textOn, textOn)}, model.ErrMalformed},
		{"index out of order", &wiretest.Server{Body: wiretest.SSE(start, callOn)}, model.ErrMalformed},
		{"delta without block", &wiretest.Server{Body: wiretest.SSE(start, hello)}, model.ErrMalformed},
		{"delta after block", &wiretest.Server{Body: wiretest.SSE(start, textOn, off, hello)}, model.ErrMalformed},
		{"another type's delta", &wiretest.Server{Body: wiretest.SSE(start, textOn, strings.Replace(hello, "text_delta", "thinking_delta", 1))}, model.ErrMalformed},
		{"two stops", &wiretest.Server{Body: wiretest.SSE(start, textOn, off, off)}, model.ErrMalformed},
		{"end within a call", &wiretest.Server{Body: wiretest.SSE(start, textOn, off, callOn, toolUse, stop)}, model.ErrMalformed},
		{"huge line", &wiretest.Server{Body: wiretest.SSE(start) + "data: " + strings.Repeat("x", transport.DefaultLimit) + "\n\n"}, model.ErrMalformed},
		{"overloaded", &wiretest.Server{Body: wiretest.SSE(start, `error|{"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}`)}, model.ErrOverloaded},
		{"api error", &wiretest.Server{Body: wiretest.SSE(`error|{"type":"error","error":{"type":"api_error","message":"Internal server error"}}`)}, model.ErrServer},
		{"rate limit", &wiretest.Server{Body: wiretest.SSE(`error|{"type":"error","error":{"type":"rate_limit_error","message":"slow"}}`)}, model.ErrRateLimit},
		{"too long", &wiretest.Server{Body: wiretest.SSE(`error|{"type":"error","error":{"type":"invalid_request_error","message":"prompt is too long: 3 tokens > 2 maximum"}}`)}, model.ErrContext},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var fault *model.Error
			got := read(t, tt.server)
			if !errors.As(got.Err, &fault) || fault.Kind != tt.kind {
				t.Fatalf("error %v, want kind %q", got.Err, tt.kind)
			}
			if tt.server.Then != nil && !errors.Is(got.Err, tt.server.Then) {
				t.Errorf("%v does not wrap its cause", got.Err)
			}
			if fault.URL != "https://api.anthropic.com/v1/messages" {
				t.Errorf("URL %q", fault.URL)
			}
		})
	}
}

func TestCutAtTokenLimitLeavesCallOpen(t *testing.T) {
	body := wiretest.SSE(start, textOn, off, callOn,
		`{"type":"content_block_delta","index":1,"delta":{"type":"input_json_delta","partial_json":"{\"comm"}}`,
		strings.Replace(toolUse, `"tool_use"`, `"max_tokens"`, 1), stop)
	got := read(t, &wiretest.Server{Body: body})
	if got.Err != nil || got.Stop != model.StopMaxTokens || !got.Items[1].Open {
		t.Errorf("stop %q, error %v, call %+v", got.Stop, got.Err, got.Items[1])
	}
}

func TestCancelGivesCause(t *testing.T) {
	cause := errors.New("interrupted")
	ctx, cancel := context.WithCancelCause(t.Context())
	defer cancel(nil)
	p := provider(&wiretest.Server{Body: wiretest.SSE(start, textOn, hello), Hang: true})
	var last error
	for c, err := range p.Stream(ctx, model.Request{Model: "m"}) {
		if c.Kind == model.Delta {
			cancel(cause)
		}
		last = err
	}
	if !errors.Is(last, cause) {
		t.Errorf("error %v, want the cause", last)
	}
}
