package gemini_test

import (
	"errors"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/settle-agent/settle/model"
	"github.com/settle-agent/settle/model/internal/wiretest"
)

const (
	thought    = `{"candidates":[{"content":{"parts":[{"text":"Hm.","thought":true}],"role":"model"},"index":0}],"usageMetadata":{"promptTokenCount":10},"responseId":"r1"}`
	text       = `{"candidates":[{"content":{"parts":[{"text":"Hello "},{"text":"you"}],"role":"model"}}],"responseId":"r1"}`
	call       = `{"candidates":[{"content":{"parts":[{"functionCall":{"name":"add","args":{"a": 2},"id":"x1"},"thoughtSignature":"sig"}]}}]}`
	callBare   = `{"candidates":[{"content":{"parts":[{"functionCall":{"name":"now"}}]}}]}`
	signed     = `{"candidates":[{"content":{"parts":[{"text":"","thoughtSignature":"end"}]},"finishReason":"STOP"}]}`
	done       = `{"candidates":[{"content":{"parts":[{"text":""}]},"finishReason":"STOP"}],"usageMetadata":{"promptTokenCount":10,"cachedContentTokenCount":4,"candidatesTokenCount":5,"thoughtsTokenCount":2}}`
	overloaded = `{"error":{"code":503,"message":"The model is overloaded.","status":"UNAVAILABLE"}}`
)

func read(t *testing.T, events ...string) wiretest.Response {
	t.Helper()
	got, err := wiretest.Read(t.Context(), provider(&wiretest.Server{Body: wiretest.SSE(events...)}), model.Request{
		Model: "gemini-3.8-flash", Input: []model.Item{{Role: model.Call, CallID: "call_1"}},
	})
	if err != nil {
		t.Fatal(err)
	}
	return got
}

func TestResponse(t *testing.T) {
	got := read(t, thought, text, call, callBare, done)
	want := wiretest.Response{
		ID: "r1", Stop: model.StopToolUse, Usage: &model.Usage{Input: 10, CacheRead: 4, Output: 7, Reasoning: 2},
		Items: []wiretest.Item{
			{Role: model.Reasoning, Text: "Hm."},
			{Role: model.Assistant, Text: "Hello you"},
			{
				Role:      model.Call,
				Text:      `{"a": 2}`,
				ID:        "x1",
				CallID:    "x1",
				Name:      "add",
				Signature: &model.ProviderSignature{Format: "thought", Data: "sig"},
			},
			{Role: model.Call, Text: `{}`, CallID: "call_2", Name: "now"},
		},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

// A signature that comes last belongs to the text before it; without one, it is an
// item of its own, that only the provider reads.
func TestSignatureAtTheEnd(t *testing.T) {
	signature := &model.ProviderSignature{Format: "thought", Data: "end"}
	if got := read(t, text, signed).Items; len(got) != 1 || got[0].Text != "Hello you" ||
		!cmp.Equal(got[0].Signature, signature) {
		t.Errorf("got %+v", got)
	}
	if got := read(t, call, signed).Items; len(got) != 2 || got[1].Role != model.Reasoning ||
		!cmp.Equal(got[1].Signature, signature) {
		t.Errorf("got %+v", got)
	}
}

func TestFailures(t *testing.T) {
	finish := func(reason string) string { return `{"candidates":[{"finishReason":"` + reason + `"}]}` }
	for name, c := range map[string]struct {
		events []string
		kind   model.ErrorKind
		stop   model.StopReason
	}{
		"no end":             {[]string{text}, model.ErrTruncated, ""},
		"nothing":            {nil, model.ErrTruncated, ""},
		"error":              {[]string{text, overloaded}, model.ErrOverloaded, ""},
		"blocked prompt":     {[]string{`{"promptFeedback":{"blockReason":"OTHER"}}`}, model.ErrPolicy, ""},
		"malformed call":     {[]string{finish("MALFORMED_FUNCTION_CALL")}, model.ErrToolUse, ""},
		"unknown reason":     {[]string{finish("BORED")}, model.ErrServer, ""},
		"not JSON":           {[]string{text, `{"candidates":[`}, model.ErrMalformed, ""},
		"arguments in parts": {[]string{`{"candidates":[{"content":{"parts":[{"functionCall":{"name":"x","willContinue":true}}]}}]}`}, model.ErrMalformed, ""},
		"too long":           {[]string{text, finish("MAX_TOKENS")}, "", model.StopMaxTokens},
		"safety":             {[]string{text, finish("SAFETY")}, "", model.StopFilter},
	} {
		got := read(t, c.events...)
		var fault *model.Error
		if errors.As(got.Err, &fault) != (c.kind != "") || fault != nil && fault.Kind != c.kind || got.Stop != c.stop {
			t.Errorf("%s: %q, %v; want %q, %q", name, got.Stop, got.Err, c.stop, c.kind)
		}
	}
}

// A 429 with RetryInfo is a temporary limit, though its words are the same as for a permanent
// quota.
func TestRetryInfo(t *testing.T) {
	got, err := wiretest.Read(t.Context(), provider(&wiretest.Server{
		Status: 429, Header: map[string][]string{"Content-Type": {"application/json"}},
		Body: `{"error":{"code":429,"message":"You exceeded your current quota.","status":"RESOURCE_EXHAUSTED","details":[{"@type":"type.googleapis.com/google.rpc.RetryInfo","retryDelay":"34.4s"}]}}`,
	}), model.Request{Model: "m"})
	var fault *model.Error
	if err != nil || !errors.As(got.Err, &fault) || fault.Kind != model.ErrRateLimit ||
		fault.RetryAfter != 34*time.Second+400*time.Millisecond {
		t.Errorf("got %v, %v", got.Err, err)
	}
}
