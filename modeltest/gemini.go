package modeltest

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
)

// Gemini's stream, as of https://ai.google.dev/api/generate-content and the
// recordings of others: each event is a complete response with the new parts.

// geminiPath splits the path after /v1beta/models/ into model and method.
func geminiPath(path string) (name, method string) {
	name, method, _ = strings.Cut(path, ":")
	return name, method
}

func (s *Server) handleGemini(w http.ResponseWriter, r *http.Request) {
	_, method := geminiPath(r.PathValue("call"))
	switch {
	case method == "generateContent", method == "streamGenerateContent" && r.URL.Query().Get("alt") == "sse":
		s.handle(w, r, Gemini)
	default:
		s.lost(w, r)
	}
}

func (r *rendering) gemini(yield func(frame) bool) {
	s := &stream{rendering: r, yield: yield}
	if r.geminiMalformed() {
		_ = s.geminiEvent(
			frame{end: true},
			object{
				"finishReason":  "MALFORMED_FUNCTION_CALL",
				"finishMessage": "Malformed function call",
				"content":       object{},
			},
		)
		return
	}
	signed := false
	for i, it := range r.Items {
		switch {
		case it.Call != "":
			signed = true
			if !s.geminiCall(i) {
				return
			}
		case !s.geminiText(i):
			return
		}
	}
	last := object{"text": ""}
	if !signed && r.thinks() { // the thinking before an answer is signed at the end of the answer
		last["thoughtSignature"] = r.account.redacted(r.id("thought-", len(r.Items)))
	}
	_ = s.geminiEvent(frame{end: true}, object{"finishReason": r.geminiFinish(), "content": content(last)})
}

// geminiMalformed: arguments that are no object, the API does not pass on.
func (r *rendering) geminiMalformed() bool {
	for _, it := range r.Items {
		if it.Call != "" && !isObject([]byte(it.arguments())) {
			return true
		}
	}
	return false
}

func (r *rendering) thinks() bool {
	for _, it := range r.Items {
		if it.Reasoning != "" {
			return true
		}
	}
	return false
}

func content(part object) object { return object{"parts": []any{part}, "role": "model"} }

// geminiText sends item number i, which is no call.
func (s *stream) geminiText(i int) bool {
	it := s.Items[i]
	part, text := object{"text": textMark}, it.Text+it.Refusal
	if it.Reasoning != "" {
		part["thought"], text = true, it.Reasoning
	}
	st := s.stencil("", object{"content": content(part), "index": 0})
	chunks := it.chunks(text)
	for k, chunk := range chunks {
		f := frame{burst: s.burst(it), start: k == 0, items: i == len(s.Items)-1 && k == len(chunks)-1}
		if !s.delta(f, st, chunk) {
			return false
		}
	}
	return true
}

// geminiCall sends a call, whole. The first of a response is signed.
func (s *stream) geminiCall(i int) bool {
	it := s.Items[i]
	call := object{"name": it.Call, "args": json.RawMessage(it.arguments())}
	if id := s.callID(i); id != "" && !s.quirks[FaultNoIDs] {
		call["id"] = id
	}
	part := object{"functionCall": call}
	if s.calls == 0 {
		part["thoughtSignature"] = s.account.redacted(s.id("thought-", i))
	}
	s.calls++
	return s.geminiEvent(
		frame{start: true, delta: true, half: s.calls, call: s.calls, items: i == len(s.Items)-1},
		object{"content": content(part)},
	)
}

func (s *stream) geminiEvent(f frame, candidate object) bool {
	candidate["index"] = 0
	return s.send(f, "", candidate)
}

// geminiObject is a response with that candidate.
func (r *rendering) geminiObject(candidate object) object {
	body := object{"candidates": []any{candidate}, "modelVersion": r.model, "responseId": r.id("", 0)}
	if !r.quirks[FaultNoUsage] {
		u := r.usage()
		body["usageMetadata"] = object{
			"promptTokenCount":        u.Input,
			"cachedContentTokenCount": u.CacheRead,
			"candidatesTokenCount":    u.Output - u.Reasoning,
			"thoughtsTokenCount":      u.Reasoning,
			"totalTokenCount":         u.Input + u.Output,
		}
	}
	return body
}

func (r *rendering) geminiFinish() string {
	switch r.stop() {
	case StopMaxTokens:
		return "MAX_TOKENS"
	case StopFilter, StopRefusal:
		return "SAFETY"
	}
	return "STOP"
}

// wholeGemini joins the parts of the stream.
func (r *rendering) wholeGemini() object {
	var parts []any
	last := object{}
	for f := range r.frames() {
		var e struct {
			Candidates []struct {
				Content struct {
					Parts []any `json:"parts"`
				} `json:"content"`
				FinishReason string `json:"finishReason"`
			} `json:"candidates"`
		}
		_ = json.Unmarshal(f.data, &e) // our own encoding
		for _, c := range e.Candidates {
			parts = append(parts, c.Content.Parts...)
			last["finishReason"] = c.FinishReason
		}
	}
	last["content"] = object{"parts": parts, "role": "model"}
	last["index"] = 0
	return r.geminiObject(last)
}

// geminiStatus is the google.rpc.Code of a status.
func geminiStatus(status int) string {
	switch status {
	case http.StatusBadRequest:
		return "INVALID_ARGUMENT"
	case http.StatusUnauthorized:
		return "UNAUTHENTICATED"
	case http.StatusForbidden:
		return "PERMISSION_DENIED"
	case http.StatusNotFound:
		return "NOT_FOUND"
	case http.StatusConflict:
		return "ABORTED"
	case http.StatusTooManyRequests:
		return "RESOURCE_EXHAUSTED"
	case http.StatusServiceUnavailable, 529:
		return "UNAVAILABLE"
	case http.StatusGatewayTimeout, http.StatusRequestTimeout:
		return "DEADLINE_EXCEEDED"
	case http.StatusInternalServerError:
		return "INTERNAL"
	}
	return "UNKNOWN"
}

func geminiError(status int, code, message string) []byte {
	if code == "" {
		code = geminiStatus(status)
	}
	return encode(object{"error": object{"code": status, "message": message, "status": code}})
}

// geminiErrors are the answers of https://ai.google.dev/gemini-api/docs/troubleshooting.
func geminiErrors() []apiError {
	list := []apiError{
		{Status: 400, Message: "Request contains an invalid argument."},
		{
			Status:  401,
			Message: "Request had invalid authentication credentials. Expected OAuth 2 access token, login cookie or other valid authentication credential.",
		},
		{Status: 402, Message: "Your prepayment credits are depleted. Insufficient credits."},
		{Status: 403, Message: "Your API key doesn't have the required permissions."},
		{Status: 404, Message: "The requested resource wasn't found."},
		{Status: 413, Message: "Request payload size exceeds the limit."},
		{Status: 429, Message: "Resource has been exhausted (e.g. check quota)."},
		{
			Status:  500,
			Message: "An internal error has occurred. Please retry or report in https://developers.generativeai.google/guide/troubleshooting",
		},
		{Status: 503, Message: "The model is overloaded. Please try again later."},
		{Status: 504, Message: "Deadline expired before operation could complete."},
	}
	for i := range list {
		list[i].Type = geminiStatus(list[i].Status)
	}
	return list
}

// geminiBlocked is the answer to a prompt that is against the policy.
func geminiBlocked() Turn {
	data := encode(
		object{
			"promptFeedback": object{"blockReason": "PROHIBITED_CONTENT"},
			"usageMetadata":  object{"promptTokenCount": 1, "totalTokenCount": 1},
		},
	)
	return Turn{Response: Response{Stream: fmt.Appendf(nil, "data: %s\n\n", data)}}
}
