package turn_test

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/settle-agent/settle/event"
	"github.com/settle-agent/settle/event/contract"
	"github.com/settle-agent/settle/model"
	"github.com/settle-agent/settle/model/anthropic"
	"github.com/settle-agent/settle/model/chat"
	"github.com/settle-agent/settle/model/gemini"
	"github.com/settle-agent/settle/model/openai"
	"github.com/settle-agent/settle/model/script"
	"github.com/settle-agent/settle/model/transport"
	"github.com/settle-agent/settle/run"
	"github.com/settle-agent/settle/tool"
)

// counting answers every request with a call of the tool "a" and a usage in which COUNT
// replaces the tokens of the input.
type counting struct{ body, count string }

func (c counting) RoundTrip(r *http.Request) (*http.Response, error) {
	_, _ = io.Copy(io.Discard, r.Body)
	body := strings.ReplaceAll(c.body, "COUNT", c.count)
	return &http.Response{
		StatusCode: http.StatusOK, Header: http.Header{"Content-Type": {"text/event-stream"}}, Body: io.NopCloser(strings.NewReader(body)), Request: r,
	}, nil
}

// countingWires are the four wire formats, as servers that report COUNT.
var countingWires = map[string]struct {
	body     string
	provider func(transport.Endpoint) model.Provider
}{
	"openai": {`data: {"type":"response.created","response":{"id":"r"}}

data: {"type":"response.output_item.added","output_index":0,"item":{"type":"function_call","id":"f","call_id":"c","name":"a","arguments":""}}

data: {"type":"response.output_item.done","output_index":0,"item":{"type":"function_call","id":"f","call_id":"c","name":"a","arguments":"{}"}}

data: {"type":"response.completed","response":{"id":"r","usage":{"input_tokens":COUNT,"output_tokens":COUNT}}}

`, func(e transport.Endpoint) model.Provider { return openai.New(openai.Options{Endpoint: e}) }},
	"chat": {
		`data: {"id":"r","choices":[{"index":0,"delta":{"tool_calls":[{"index":0,"id":"c","function":{"name":"a","arguments":"{}"}}]}}]}

data: {"id":"r","choices":[{"index":0,"delta":{},"finish_reason":"tool_calls"}],"usage":{"prompt_tokens":COUNT,"completion_tokens":COUNT}}

data: [DONE]

`,
		func(e transport.Endpoint) model.Provider { return chat.New(chat.Options{Endpoint: e}) },
	},
	"anthropic": {`data: {"type":"message_start","message":{"id":"r","usage":{"input_tokens":COUNT,"output_tokens":1}}}

data: {"type":"content_block_start","index":0,"content_block":{"type":"tool_use","id":"c","name":"a","input":{}}}

data: {"type":"content_block_delta","index":0,"delta":{"type":"input_json_delta","partial_json":"{}"}}

data: {"type":"content_block_stop","index":0}

data: {"type":"message_delta","delta":{"stop_reason":"tool_use"},"usage":{"output_tokens":COUNT}}

data: {"type":"message_stop"}

`, func(e transport.Endpoint) model.Provider { return anthropic.New(anthropic.Options{Endpoint: e}) }},
	"gemini": {
		`data: {"responseId":"r","candidates":[{"content":{"parts":[{"functionCall":{"name":"a","args":{}}}],"role":"model"},"finishReason":"STOP"}],"usageMetadata":{"promptTokenCount":COUNT,"candidatesTokenCount":COUNT,"thoughtsTokenCount":1}}

`,
		func(e transport.Endpoint) model.Provider { return gemini.New(gemini.Options{Endpoint: e}) },
	},
}

// A limit on the tokens of the turn or the session ends the turn for any reported usage. The
// answers are kept, and the log marks their usage as an estimate.
func TestImplausibleUsageLimitsAllTheSame(t *testing.T) {
	counts := []string{
		"9223372036854775808",
		"9223372036854775807",
		"4611686018427387904",
		"1e300",
		"-5",
		`"12"`,
		"1.5",
		"true",
		"[1]",
		`{"n":1}`,
		"1e9",
	}
	for wire, w := range countingWires {
		for _, count := range counts {
			for _, limit := range []event.Limit{event.LimitTokens, "session_" + event.LimitTokens} {
				t.Run(fmt.Sprintf("%s/%s/%s", wire, count, limit), func(t *testing.T) {
					inBubble(t, func(t *testing.T) { limited(t, w.provider, counting{w.body, count}, limit) })
				})
			}
		}
	}
}

func limited(t *testing.T, provider func(transport.Endpoint) model.Provider, server counting, limit event.Limit) {
	ran := 0
	long := fn{"a", func(context.Context, tool.Call) (tool.Result, error) {
		ran++
		return tool.Result{Output: fmt.Sprint(ran) + strings.Repeat(" word", 100)}, nil
	}}
	b := newBench(t, script.New(), long)
	b.config.Model.Provider = provider(
		transport.Endpoint{BaseURL: "http://model.test/v1", Client: &http.Client{Transport: server}},
	)
	if b.config.Limits.Tokens = 1000; limit != event.LimitTokens {
		b.config.Limits = run.Limits{Session: run.SessionLimits{Tokens: 1000}}
	}
	b.config.Model.Price = &model.Price{Input: 1, Output: 1}
	c := b.run(t.Context())
	if c.Reason != event.LimitReached || c.Limit != limit {
		t.Errorf("it ended with %+v after %d calls", c, ran)
	}
	if ran == 0 || ran > 10 {
		t.Errorf("%d calls ran", ran)
	}
	for _, a := range b.last().Attempts {
		if end := a.End; end.Outcome != event.Completed || !end.Estimated || end.Usage.Input < 5 ||
			end.Usage.Total() > 5000 ||
			end.Cost == nil ||
			*end.Cost > 1 {
			t.Errorf("attempt %+v", end)
		}
	}
	if err := contract.Check(b.events()); err != nil {
		t.Error(err)
	}
}

// Also if the usage exceeds the window: the provider's own tools bill each of their rounds.
func TestPlausibleUsageIsKept(t *testing.T) {
	for wire, w := range countingWires {
		for count, want := range map[string]int64{"12": 12, "12.0": 12, "3e6": 3e6, "0": 0} {
			t.Run(wire+"/"+count, func(t *testing.T) {
				inBubble(t, func(t *testing.T) {
					ran := 0
					b := newBench(t, script.New(), fn{"a", func(context.Context, tool.Call) (tool.Result, error) {
						ran++
						return tool.Result{Output: fmt.Sprint(ran)}, nil
					}})
					b.config.Model.Traits.Window = 200_000
					b.config.Limits.Steps = 1
					b.config.Model.Provider = w.provider(
						transport.Endpoint{
							BaseURL: "http://model.test/v1",
							Client:  &http.Client{Transport: counting{w.body, count}},
						},
					)
					b.run(t.Context())
					if end := b.last().Attempts[0].End; end.Estimated || end.Usage.Input != want {
						t.Errorf("%+v", end)
					}
				})
			})
		}
	}
}
