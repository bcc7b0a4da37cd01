package transport

import (
	"encoding/json"
	"net/http"
	"strings"
	"time"

	"github.com/settle-agent/settle/model"
)

// Detail is a provider's description of an error, from a response or an event.
type Detail struct {
	Type    string
	Code    string
	Message string
	// Wait is the delay that the provider requests in a field of its own (google.rpc.RetryInfo); 0
	// if there is none.
	Wait time.Duration
}

// code returns the more telling of Code and Type.
func (d Detail) code() string {
	if d.Code != "" {
		return d.Code
	}
	return d.Type
}

// wireDetail takes the fields that any of the providers uses.
type wireDetail struct {
	Type     json.RawMessage `json:"type"`
	Code     json.RawMessage `json:"code"` // a string, or the status as a number
	Message  json.RawMessage `json:"message"`
	Detail   json.RawMessage `json:"detail"` // FastAPI
	Error    json.RawMessage `json:"error"`
	Metadata *struct {
		Raw string `json:"raw"` // OpenRouter: the error of its upstream
	} `json:"metadata"`
	InnerError *struct {
		Code string `json:"code"` // Azure
	} `json:"innererror"`
	Status  string          `json:"status"`  // google.rpc.Code
	Details json.RawMessage `json:"details"` // google.rpc: a list of objects
}

// google reads the fields that Google's errors have besides a message
// (https://cloud.google.com/apis/design/errors).
func (d *Detail) google(w wireDetail) {
	if d.Type == "" {
		d.Type = w.Status
	}
	var details []struct {
		RetryDelay string `json:"retryDelay"` // RetryInfo
		Reason     string `json:"reason"`     // ErrorInfo
	}
	if json.Unmarshal(w.Details, &details) != nil {
		return
	}
	for _, detail := range details {
		if wait, err := time.ParseDuration(detail.RetryDelay); err == nil && wait > 0 {
			d.Wait = min(wait, MaxRetryAfter)
		}
		if detail.Reason == "API_KEY_INVALID" {
			d.Code = "invalid_api_key"
		}
	}
}

// ParseDetail understands {"error":{…}}, {"error":"…"}, {"message":…},
// {"detail":…}, the same in a list, and plain text; never a web page.
func ParseDetail(body []byte) Detail {
	text := strings.TrimSpace(string(body))
	var list []json.RawMessage
	if strings.HasPrefix(text, "[") && json.Unmarshal([]byte(text), &list) == nil && len(list) > 0 {
		text = string(list[0])
	}
	if d, ok := parseObject([]byte(text)); ok {
		return d
	}
	switch {
	case strings.HasPrefix(text, "{"), strings.HasPrefix(text, "["):
		return Detail{Message: beginning(text)}
	case strings.HasPrefix(text, "<"), len(text) > maxMessage:
		return Detail{}
	}
	return Detail{Message: text}
}

// maxMessage is the length up to which a body is taken for a message without further checks, in
// bytes.
const maxMessage = 300

// beginning returns the beginning of the message in a response that was too long to be read
// completely: some servers send the whole request back.
func beginning(text string) string {
	for _, key := range []string{`"message":`, `"msg":`, `"detail":`} {
		_, rest, _ := strings.Cut(text, key)
		rest, quoted := strings.CutPrefix(strings.TrimSpace(rest), `"`)
		for end := min(len(rest), maxMessage); quoted && end > 0; end-- {
			var message string
			if json.Unmarshal([]byte(`"`+rest[:end]+`"`), &message) == nil {
				return message
			}
		}
	}
	return ""
}

func parseObject(data []byte) (Detail, bool) {
	var w wireDetail
	if json.Unmarshal(data, &w) != nil {
		return Detail{}, false
	}
	if len(w.Error) > 0 && string(w.Error) != "null" {
		if d, ok := parseObject(w.Error); ok {
			return d, true
		}
		return Detail{Type: word(w.Type), Code: word(w.Code), Message: word(w.Error)}, true
	}
	d := Detail{Type: word(w.Type), Code: word(w.Code), Message: word(w.Message)}
	if d.Message == "" {
		d.Message = word(w.Detail)
	}
	d.google(w)
	if w.InnerError != nil && w.InnerError.Code != "" {
		d.Code = w.InnerError.Code
	}
	if w.Metadata != nil && w.Metadata.Raw != "" {
		if inner := ParseDetail([]byte(w.Metadata.Raw)); inner.Message != "" {
			d.Message = strings.TrimSpace(d.Message + ": " + inner.Message)
		}
	}
	return d, true
}

// word returns a JSON string's text, and other values as they are written.
func word(raw json.RawMessage) string {
	var s string
	if json.Unmarshal(raw, &s) == nil {
		return s
	}
	return string(raw)
}

// Kind returns the kind that the provider's own words tell; ok is false where
// they tell none. The status is 0 for an event of a stream.
func (d Detail) Kind(status int) (kind model.ErrorKind, ok bool) {
	for _, word := range []string{d.Code, d.Type} {
		if kind, ok := codeKind(word); ok {
			return kind, true
		}
	}
	message := strings.ToLower(d.Message)
	if status == 429 {
		return model.ErrQuota, quotaMessage(message) && d.Wait <= 0 && messageWait(message) < 0
	}
	switch {
	case status >= 500:
		return model.ErrImage, blindMessage(message)
	case d.Code == tooLong && strings.Contains(message, "image"):
		return model.ErrImage, true
	case d.Code == tooLong, contextMessage(message):
		return model.ErrContext, true
	case strings.Contains(message, "payload size exceeds"): // Gemini
		return model.ErrTooLarge, true
	case policyMessage(message):
		return model.ErrPolicy, true
	case quotaMessage(message):
		return model.ErrQuota, true
	case !aboutRequest(status):
		return "", false
	case searchMessage(message):
		return model.ErrToolSearch, true
	case keyMessage(message):
		return model.ErrAuth, true
	case reasoningMessage(message):
		return model.ErrReasoning, true
	case documentMessage(message):
		return model.ErrDocument, true
	case strings.Contains(d.Code, "image"), imageMessage(message):
		return model.ErrImage, true
	}
	return "", false
}

// tooLong is OpenAI's code for a text of the request, or an image as text.
const tooLong = "string_above_max_length"

// aboutRequest reports whether the status means that the request is invalid.
func aboutRequest(status int) bool {
	switch status {
	case http.StatusBadRequest, http.StatusNotFound, http.StatusUnsupportedMediaType, http.StatusUnprocessableEntity:
		return true
	}
	return false
}

// codeKind returns the kind of an error by the codes and types of OpenAI, Azure, Anthropic,
// llama.cpp and LiteLLM that are more precise than a status.
func codeKind(code string) (model.ErrorKind, bool) {
	switch strings.ToLower(code) {
	case "context_length_exceeded", "context_window_exceeded", "contextwindowexceedederror",
		"exceed_context_size_error", "request_too_large", "too_many_prompt_tokens":
		return model.ErrContext, true
	case "content_policy_violation", "content_filter", "responsibleaipolicyviolation", "invalid_prompt",
		"cyber_policy", "bio_policy", "misalignment_policy_violation", "contentpolicyviolationerror":
		return model.ErrPolicy, true
	case "image_content_policy_violation": // without the image, there is nothing against the conversation
		return model.ErrImage, true
	case "insufficient_quota", "billing_error", "billing_not_active", "billing_hard_limit_reached",
		"usage_limit_reached", "insufficient_credits", "credit_balance_too_low":
		return model.ErrQuota, true
	case "overloaded_error", "overloaded", "server_is_overloaded", "slow_down", "engine_overloaded":
		return model.ErrOverloaded, true
	case "invalid_api_key", "authentication_error", "permission_error":
		return model.ErrAuth, true
	case "tool_use_failed":
		return model.ErrToolUse, true
	case "model_not_found":
		return model.ErrNotFound, true
	case "invalid_encrypted_content":
		return model.ErrReasoning, true
	}
	return "", false
}

// StreamKind returns the kind of an error that arrived within a stream, which has no HTTP status.
func (d Detail) StreamKind() model.ErrorKind {
	if kind, ok := d.Kind(d.streamStatus()); ok {
		return kind
	}
	for _, word := range []string{d.Code, d.Type} {
		switch strings.ToLower(word) {
		case "rate_limit_exceeded", "rate_limit_error", "429":
			return model.ErrRateLimit
		case "not_found_error", "404":
			return model.ErrNotFound
		case "timeout_error", "408", "504":
			return model.ErrTimeout
		case "conflict_error", "409":
			return model.ErrConflict
		case "503", "529":
			return model.ErrOverloaded
		case "401", "403":
			return model.ErrAuth
		case "402":
			return model.ErrQuota
		case "invalid_request_error", "badrequesterror", "bad_request_error", "data_residency_mismatch", "400", "422":
			return model.ErrInvalid
		}
		if strings.Contains(word, "image") {
			return model.ErrImage
		}
	}
	return model.ErrServer
}

// streamStatus returns the status of an error that arrived within a stream, if it means that the
// request is invalid.
func (d Detail) streamStatus() int {
	for _, word := range []string{d.Code, d.Type} {
		switch strings.ToLower(word) {
		case "invalid_request_error", "badrequesterror", "bad_request_error", "400", "404", "422":
			return http.StatusBadRequest
		}
	}
	return 0
}

// StreamError returns the error for a Detail that arrived within a stream.
func (d Detail) StreamError() *model.Error {
	fault := model.NewError(d.StreamKind(), "%s", d.Message)
	if d.Message == "" {
		fault.Message = "the provider ended the response with an error"
	}
	fault.Err, fault.Code = nil, d.code()
	fault.RetryAfter = d.wait()
	return fault
}

// wait returns the delay that the provider requests, or NoRetryAfter.
func (d Detail) wait() time.Duration {
	if d.Wait > 0 {
		return d.Wait
	}
	return messageWait(d.Message)
}

func contextMessage(message string) bool {
	return containsAny(
		message, "maximum context length", "max context length", "prompt too long",
		"total length of all messages is too long", "context length exceeded", "context_length_exceeded",
		"context window", "prompt is too long", "exceed context limit", "exceeds the context",
		"exceeds the available context", "greater than the context length", "input is too long",
		"maximum prompt length", "reduce the length of the messages", "input token count exceeds",
		"exceeds the maximum number of tokens", "longer than the model's context",
	)
}

func policyMessage(message string) bool {
	return containsAny(message,
		"content filtering policy", "content management policy", "usage policy", "usage policies", "content policy",
		"your input was flagged", "safety system")
}

// keyMessage knows the words of servers that refuse a key with a 400: xAI, and
// Gemini ("API key not valid").
func keyMessage(message string) bool {
	return containsAny(message, "incorrect api key", "invalid api key", "api key not valid", "api key expired")
}

// reasoningMessage knows the words with which Anthropic, OpenAI, Vertex, Groq
// and Cerebras refuse reasoning of another account, server or model, or any.
// Where reasoning is missing, it is no remedy to leave out more of it: Gemini
// misses a thought_signature, DeepSeek and Moonshot a reasoning_content.
func reasoningMessage(message string) bool {
	if containsAny(
		message,
		"missing a `thought_signature`",
		"missing a thought_signature",
		"missing `thought_signature`",
		"missing thought_signature",
		"missing `reasoning_content`",
		"reasoning_content is missing",
		"must be passed back",
	) {
		return false
	}
	return containsAny(
		message,
		"`thinking` block",
		"thinking block",
		"`redacted_thinking` block",
		"thinking.signature",
		"thought signature",
		"thought_signature",
		"encrypted content",
		"encrypted_content",
		"of type 'reasoning'",
		"required 'reasoning' item",
	) ||
		containsAny(message, "reasoning_content", "reasoning_details", "property 'reasoning'", "assistant.reasoning") &&
			containsAny(
				message, "is unsupported", "not supported", "not permitted", "unknown", "unrecognized", "unexpected",
			)
}

// searchMessage recognizes messages about the provider's own tool search: its tool, its
// request property, and the signatures of its items.
func searchMessage(message string) bool {
	return containsAny(
		message, "tool_search", "tool search", "defer_loading", "deferred tool", "tool_reference", "tool reference",
		"'namespace'", "'tools.namespace'", "missing namespace", "duplicate namespace",
	)
}

// imageMessage recognizes messages about unusable images, or about images at all: each
// provider has a dozen, and some concern the message that an image made invalid.
func imageMessage(message string) bool {
	return containsAny(
		message, "image", "图片", "图像", "multimodal", "multi-modal", "support vision",
	) ||
		strings.Contains(message, "content") &&
			containsAny(message, "must be a string", "expected a string", "valid string")
}

// documentMessage recognizes messages about an unusable PDF, or about documents at all. A message
// that names all types of parts, one of which is an image, is about the part that it refuses.
func documentMessage(message string) bool {
	message = strings.ReplaceAll(message, "documentation", "")
	return containsAny(
		message, "pdf", "input_file", "file_data", "document.source", "'document'", "\"document\"", "document block",
		"documents are", "the document", "value: 'file'", "type 'file'", "type: file", "type \"file\"", "'file' is",
		"variant `file`", "content type file", "file content", "file input", "file inputs",
	)
}

// blindMessage knows the words with which llama.cpp and Ollama say that the
// model cannot see, as a fault of theirs.
func blindMessage(message string) bool {
	return strings.Contains(message, "image") &&
		containsAny(message, "not supported", "unsupported", "missing data required") ||
		strings.Contains(message, "not compiled for multimodal")
}

func quotaMessage(message string) bool {
	return containsAny(
		message, "credit balance is too low", "exceeded your current quota", "insufficient credits",
		"insufficient balance", "insufficient_quota", "billing hard limit", "requires more credits",
		"usage limit has been reached", "reached your specified api usage limits",
	)
}

func containsAny(message string, parts ...string) bool {
	for _, part := range parts {
		if strings.Contains(message, part) {
			return true
		}
	}
	return false
}
