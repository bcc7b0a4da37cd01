package transport_test

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/settle-agent/settle/model"
	"github.com/settle-agent/settle/model/internal/wiretest"
	"github.com/settle-agent/settle/model/transport"
)

// lines is a decoder to test with: an event "end" ends, others are text.
type lines struct{}

func (lines) Event(_, data []byte, emit transport.Emit) error {
	switch string(data) {
	case "end":
		emit(model.Chunk{Kind: model.End, Stop: model.StopEndTurn})
	case "bad":
		return transport.Malformed("bad")
	case "nothing":
	default:
		emit(model.Chunk{Kind: model.Delta, Text: string(data)})
	}
	return nil
}

func (lines) EOF(transport.Emit) {}

// send streams one request and returns the chunks and the error.
func send(ctx context.Context, e transport.Endpoint) (chunks []model.Chunk, err error) {
	if e.BaseURL == "" {
		e.BaseURL = "https://user:pw@api.example.com/v1?key=1"
	}
	e = e.Prepared()
	for c, err := range e.Stream(ctx, &transport.Request{Path: "/x", Body: []byte("{}")}, lines{}) {
		if err != nil {
			return chunks, err
		}
		chunks = append(chunks, c)
	}
	return chunks, nil
}

func fault(t *testing.T, e transport.Endpoint) *model.Error {
	t.Helper()
	_, err := send(t.Context(), e)
	var f *model.Error
	if !errors.As(err, &f) {
		t.Fatalf("error %v is not typed", err)
	}
	return f
}

func TestStatus(t *testing.T) {
	openai := func(code, message string) string {
		return `{"error":{"message":"` + message + `","type":"t","param":null,"code":"` + code + `"}}`
	}
	for _, tt := range []struct {
		name   string
		status int
		header http.Header
		body   string
		kind   model.ErrorKind
	}{
		{"bad request", 400, nil, openai("x", "no"), model.ErrInvalid},
		{"context, OpenAI", 400, nil, openai("context_length_exceeded", "long"), model.ErrContext},
		{"context, Anthropic", 400, nil, `{"type":"error","error":{"type":"invalid_request_error","message":"prompt is too long: 205000 tokens > 200000 maximum"}}`, model.ErrContext},
		{"context, vLLM", 400, nil, `{"object":"error","message":"This model's maximum context length is 4096 tokens","type":"BadRequestError","code":400}`, model.ErrContext},
		{"context, llama.cpp", 400, nil, `{"error":{"code":400,"message":"the request exceeds the available context size","type":"exceed_context_size_error"}}`, model.ErrContext},
		{"context, too many bytes", 413, nil, `{"type":"error","error":{"type":"request_too_large","message":"big"}}`, model.ErrContext},
		{"signature, OpenAI", 400, nil, openai("invalid_encrypted_content", "The encrypted content gAAA...DQ== could not be verified."), model.ErrReasoning},
		{"signature, Anthropic", 400, nil, `{"type":"error","error":{"type":"invalid_request_error","message":"messages.1.content.0: Invalid ` + "`signature` in `thinking`" + ` block"}}`, model.ErrReasoning},
		{"signature, Vertex", 400, nil, `[{"error":{"code":400,"message":"Unable to submit request because Thought signature is not valid.","status":"INVALID_ARGUMENT"}}]`, model.ErrReasoning},
		{"reasoning, Groq", 400, nil, openai("", "'messages.2' : for 'role:assistant' the following must be satisfied[('messages.2' : property 'reasoning_content' is unsupported)]"), model.ErrReasoning},
		{"image, Anthropic", 400, nil, `{"type":"error","error":{"type":"invalid_request_error","message":"Could not process image"}}`, model.ErrImage},
		{"image, OpenAI", 400, nil, openai("invalid_image_format", "You uploaded an unsupported image."), model.ErrImage},
		{"image, policy", 400, nil, openai("image_content_policy_violation", "no"), model.ErrImage},
		{"image, too long, OpenAI", 400, nil, openai("string_above_max_length", "Invalid 'input[0].content[1].image_url': string too long. Expected a string with maximum length 20971520"), model.ErrImage},
		{"text, too long, OpenAI", 400, nil, openai("string_above_max_length", "Invalid 'input[0].content': string too long. Expected a string with maximum length 10485760"), model.ErrContext},
		{"images, too many bytes, Gemini", 400, nil, `[{"error":{"code":400,"message":"Request payload size exceeds the limit: 20971520 bytes.","status":"INVALID_ARGUMENT"}}]`, model.ErrTooLarge},
		{"image, Mistral by way of OpenRouter", 400, nil, `{"error":{"message":"Provider returned error","code":400,"metadata":{"raw":"Image could not be loaded","provider_name":"Mistral"}}}`, model.ErrImage},
		{"image, Zhipu", 400, nil, `{"error":{"code":"1210","message":"图片输入格式/解析错误"}}`, model.ErrImage},
		{"any image, OpenRouter", 404, nil, `{"error":{"code":404,"message":"No endpoints found that support image input"}}`, model.ErrImage},
		{"any image, vLLM", 400, nil, `{"object":"error","message":"Qwen/Qwen3-0.6B is not a multimodal model","type":"BadRequestError","param":null,"code":400}`, model.ErrImage},
		{"any image, Groq", 400, nil, openai("", "messages[1].content must be a string"), model.ErrImage},
		{"any image, Groq, older", 400, nil, openai("", "'messages.0' : for 'role:user' the following must be satisfied[('messages.0.content' : value must be a string)]"), model.ErrImage},
		{"any image, FastAPI", 422, nil, `{"detail":[{"type":"string_type","loc":["body","messages",1,"content"],"msg":"Input should be a valid string","input":[]}]}`, model.ErrImage},
		{"any image, llama.cpp", 500, nil, `{"error":{"code":500,"message":"image input is not supported - hint: if this is unexpected, you may need to provide the mmproj","type":"server_error"}}`, model.ErrImage},
		{"any image, llama.cpp, older", 500, nil, `{"error":{"code":500,"message":"Failed to parse messages: Unsupported content part type: \"image_url\"; messages = [\n  {\n    \"role\": \"user\"` + strings.Repeat("QUJD", 2000) + `"}}`, model.ErrImage},
		{"any image, Ollama", 500, nil, `{"error":{"message":"this model is missing data required for image input","type":"api_error"}}`, model.ErrImage},
		{"image, of a server that fails", 500, nil, openai("server_error", "image"), model.ErrServer},
		{"policy, Azure", 400, nil, `{"error":{"code":"content_filter","message":"filtered","innererror":{"code":"ResponsibleAIPolicyViolation"}}}`, model.ErrPolicy},
		{"policy, Anthropic", 400, nil, `{"error":{"type":"invalid_request_error","message":"Output blocked by content filtering policy"}}`, model.ErrPolicy},
		{"credit, Anthropic", 400, nil, `{"error":{"type":"invalid_request_error","message":"Your credit balance is too low to access the API"}}`, model.ErrQuota},
		{"too long, Ollama", 400, nil, `{"error":{"message":"prompt too long; exceeded max context length by 1119046 tokens","type":"invalid_request_error"}}`, model.ErrContext},
		{"too long, Perplexity", 400, nil, `{"error":{"message":"The total length of all messages is too long.","type":"too_many_prompt_tokens","code":400}}`, model.ErrContext},
		{"wrong key, xAI", 400, nil, `{"code":"invalid-argument","error":"Incorrect API key provided. You can obtain an API key from https://console.x.ai."}`, model.ErrAuth},
		{"wrong key, Gemini", 400, nil, `[{"error":{"code":400,"message":"API key not valid. Please pass a valid API key.","status":"INVALID_ARGUMENT"}}]`, model.ErrAuth},
		{"signature is missing, Gemini", 400, nil, `[{"error":{"code":400,"message":"Function call is missing a thought_signature in functionCall parts.","status":"INVALID_ARGUMENT"}}]`, model.ErrInvalid},
		{"signature is wrong, Gemini", 400, nil, `[{"error":{"code":400,"message":"Thought signature is not valid.","status":"INVALID_ARGUMENT"}}]`, model.ErrReasoning},
		{"reasoning is missing, DeepSeek", 400, nil, "{\"error\":{\"message\":\"Missing `reasoning_content` field in the assistant message at message index 2.\"}}", model.ErrInvalid},
		{"reasoning is missing, DeepSeek again", 400, nil, "{\"error\":{\"message\":\"The `reasoning_content` in the thinking mode must be passed back to the API.\"}}", model.ErrInvalid},
		{"reasoning is missing, Moonshot", 400, nil, `{"error":{"message":"thinking is enabled but reasoning_content is missing in assistant tool call message at index 7"}}`, model.ErrInvalid},
		{"reasoning, Cerebras", 400, nil, `{"message":"messages.2.assistant.reasoning_content: property 'messages.2.assistant.reasoning_content' is unsupported","code":"wrong_api_format"}`, model.ErrReasoning},
		{"reasoning, Groq", 400, nil, `{"error":{"message":"'messages.2' : for 'role:assistant' the following must be satisfied[('messages.2' : property 'reasoning' is unsupported)]"}}`, model.ErrReasoning},
		{"effort is not reasoning", 400, nil, `{"error":{"message":"Unsupported value: 'reasoning_effort' does not support 'xhigh' with this model."}}`, model.ErrInvalid},
		{"call that was none, Groq", 400, nil, `{"error":{"message":"Failed to call a function. Please adjust your prompt.","type":"invalid_request_error","code":"tool_use_failed"}}`, model.ErrToolUse},
		{"unauthorised", 401, nil, openai("invalid_api_key", "Incorrect API key"), model.ErrAuth},
		{"payment", 402, nil, `{"error":{"code":402,"message":"Insufficient credits"}}`, model.ErrQuota},
		{"forbidden", 403, nil, `{"detail":"no"}`, model.ErrAuth},
		{"flagged, OpenRouter", 403, nil, `{"error":{"code":403,"message":"Your input was flagged"}}`, model.ErrPolicy},
		{"not found", 404, nil, openai("model_not_found", "no such model"), model.ErrNotFound},
		{"proxy", 407, nil, "", model.ErrAuth},
		{"timeout", 408, nil, "", model.ErrTimeout},
		{"conflict", 409, nil, "", model.ErrConflict},
		{"unprocessable", 422, nil, `{"detail":[{"msg":"bad field"}]}`, model.ErrInvalid},
		{"too early", 425, nil, "", model.ErrTooEarly},
		{"rate limit", 429, nil, openai("rate_limit_exceeded", "Please try again in 1.5s."), model.ErrRateLimit},
		{"quota", 429, nil, openai("insufficient_quota", "You exceeded your current quota"), model.ErrQuota},
		{"quota in words", 429, nil, `{"error":{"message":"You exceeded your current quota, please check your plan"}}`, model.ErrQuota},
		{"quota that comes back, Gemini", 429, nil, `[{"error":{"code":429,"message":"You exceeded your current quota. Please retry in 34.07s."}}]`, model.ErrRateLimit},
		{"tokens per minute are not the context", 429, nil, `{"error":{"message":"Request too large: reduce the length of the messages"}}`, model.ErrRateLimit},
		{"server", 500, nil, "oops", model.ErrServer},
		{"server, overloaded", 500, nil, `{"error":{"type":"overloaded_error","message":"x"}}`, model.ErrOverloaded},
		{"bad gateway", 502, nil, "<html>Bad gateway</html>", model.ErrServer},
		{"unavailable", 503, nil, "", model.ErrOverloaded},
		{"gateway timeout", 504, nil, "", model.ErrServer},
		{"overloaded", 529, nil, `{"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}`, model.ErrOverloaded},
		{"marked retryable", 400, http.Header{"X-Should-Retry": {"true"}}, "", model.ErrServer},
		{"marked final", 500, http.Header{"X-Should-Retry": {"false"}}, "", model.ErrInvalid},
		{"limit marked final", 429, http.Header{"X-Should-Retry": {"false"}}, "", model.ErrQuota},
		{"a wrong key stays wrong", 401, http.Header{"X-Should-Retry": {"true"}}, "", model.ErrAuth},
		{"not implemented", 204, nil, "", model.ErrInvalid},
	} {
		t.Run(tt.name, func(t *testing.T) {
			server := &wiretest.Server{Status: tt.status, Header: tt.header, Body: tt.body}
			if server.Header == nil {
				server.Header = http.Header{}
			}
			f := fault(t, transport.Endpoint{Client: server.Client(), AuthHint: "set X_API_KEY"})
			if f.Kind != tt.kind || f.Status != tt.status || f.Body != tt.body[:min(len(tt.body), 4096)] {
				t.Errorf("kind %q, want %q; status %d, body %q", f.Kind, tt.kind, f.Status, f.Body)
			}
			if f.URL != "https://api.example.com/v1/x" {
				t.Errorf("URL %q", f.URL)
			}
			if (f.Hint == "set X_API_KEY") != (tt.kind == model.ErrAuth) {
				t.Errorf("hint %q", f.Hint)
			}
			if (tt.name == "rate limit") != (f.RetryAfter == 1500*time.Millisecond) {
				t.Errorf("wait %v", f.RetryAfter)
			}
			if strings.Contains(f.Message, "<html") || f.Message == "" {
				t.Errorf("message %q", f.Message)
			}
			if n := len(server.Sent()); n != 1 {
				t.Errorf("%d requests", n)
			}
		})
	}
}

func TestConflictAtRolloutsIsFinal(t *testing.T) {
	server := &wiretest.Server{Status: 409}
	if f := fault(t, transport.Endpoint{Client: server.Client(), BaseURL: "http://h/v1/rollouts/7"}); f.Retryable() {
		t.Errorf("kind %q is retryable", f.Kind)
	}
}

func TestRetryAfterDateUsesClock(t *testing.T) {
	now := time.Date(2030, 1, 1, 0, 0, 0, 0, time.UTC)
	server := &wiretest.Server{
		Status: 503,
		Header: http.Header{"Retry-After": {now.Add(time.Minute).Format(http.TimeFormat)}},
	}
	f := fault(t, transport.Endpoint{Client: server.Client(), Now: func() time.Time { return now }})
	if f.RetryAfter != time.Minute {
		t.Errorf("wait %v, want a minute", f.RetryAfter)
	}
}

func TestErrorBodyIsBounded(t *testing.T) {
	server := &wiretest.Server{Status: 500, Body: strings.Repeat("x", 1<<20)}
	if f := fault(t, transport.Endpoint{Client: server.Client()}); len(f.Body) != 4096 ||
		f.Message != "Internal Server Error" {
		t.Errorf("%d bytes, message %q", len(f.Body), f.Message)
	}
	synctest.Test(t, func(t *testing.T) {
		begin := time.Now()
		server := &wiretest.Server{Status: 500, Body: "slow", Hang: true}
		if f := fault(t, transport.Endpoint{Client: server.Client()}); f.Body != "slow" ||
			time.Since(begin) != 5*time.Second {
			t.Errorf("body %q after %v", f.Body, time.Since(begin))
		}
	})
}

func TestWrongContentType(t *testing.T) {
	for header, hint := range map[string]string{
		"text/html; charset=utf-8": "web page", "application/json": "wire format", "text/plain": "base URL",
	} {
		server := &wiretest.Server{Header: http.Header{"Content-Type": {header}}, Body: "<html>login</html>"}
		f := fault(t, transport.Endpoint{Client: server.Client()})
		if f.Kind != model.ErrMalformed || !strings.Contains(f.Hint, hint) || f.Status != 200 || f.Body == "" {
			t.Errorf("%s: %+v", header, f)
		}
	}
	for _, header := range []http.Header{{}, {"Content-Type": {"Text/Event-Stream;charset=UTF-8"}}} {
		server := &wiretest.Server{Header: header, Body: "data: end\n\n"}
		if _, err := send(t.Context(), transport.Endpoint{Client: server.Client()}); err != nil {
			t.Errorf("%v: %v", header, err)
		}
	}
}
