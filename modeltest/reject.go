package modeltest

import (
	"bytes"
	"encoding/json"
	"net/http"
	"slices"
	"strings"
)

// Rejection is something that a server does not take and does not explain: a
// request whose conversation has it is answered with "Invalid request.". Servers
// that speak a provider's format have such quirks. Each field that is set rejects
// by itself.
type Rejection struct {
	// Contains are words anywhere in the conversation, as the JSON has them.
	Contains string `json:"contains,omitempty"`
	// Reasoning rejects reasoning of any kind, Images any image, Documents any PDF,
	// Calls any call.
	Reasoning bool `json:"reasoning,omitempty"`
	Images    bool `json:"images,omitempty"`
	Documents bool `json:"documents,omitempty"`
	Calls     bool `json:"calls,omitempty"`
	// Items, if set, is how many entries the conversation may have.
	Items int `json:"items,omitempty"`
}

// Reject adds to [Rules.Rejects] from the next request on.
func (s *Server) Reject(list ...Rejection) {
	for len(list) > 0 {
		old := s.rejects.Load()
		var all []Rejection
		if old != nil {
			all = slices.Clone(*old)
		}
		all = append(all, list...)
		if s.rejects.CompareAndSwap(old, &all) {
			return
		}
	}
}

// refusal returns the error with which the request is refused, by the rules or without a reason;
// nil if it is accepted.
func (s *Server) refusal(d Dialect, name string, h http.Header, body []byte) *apiError {
	e := s.check(d, name, h, body)
	if e != nil && s.rules.Terse && e.overflow() {
		e.Message, e.Code = "Input is too long for requested model.", ""
	}
	if rejects := s.rejects.Load(); e == nil && rejects != nil {
		c := conversationOf(body)
		if slices.ContainsFunc(*rejects, c.has) {
			e = invalid("Invalid request.")
		}
	}
	return e
}

// overflow reports whether the error is about the length of the request.
func (e *apiError) overflow() bool {
	return e.Code == "context_length_exceeded" || strings.HasPrefix(e.Message, "prompt is too long") ||
		strings.HasPrefix(e.Message, "The input token count") ||
		strings.HasPrefix(e.Message, "input length and")
}

// conversation is the part of a request that the history of a session produces.
type conversation struct {
	raw                      []byte
	items                    int
	reasoning, images, calls bool
	documents                bool
}

func conversationOf(body []byte) *conversation {
	var req struct{ Messages, Input, Contents json.RawMessage }
	_ = json.Unmarshal(body, &req) // the rules have checked it, or are off
	c := &conversation{raw: req.Messages}
	if len(req.Input) > 0 {
		c.raw = req.Input
	}
	if len(req.Contents) > 0 {
		c.raw = req.Contents
	}
	var list []any
	if json.Unmarshal(c.raw, &list) == nil {
		c.items = len(list)
		c.visit(list)
	}
	return c
}

// visit notes the properties of the value and its parts.
func (c *conversation) visit(value any) {
	switch v := value.(type) {
	case []any:
		for _, e := range v {
			c.visit(e)
		}
	case map[string]any:
		switch v["type"] {
		case "thinking", "redacted_thinking", "reasoning":
			c.reasoning = true
		case "image", "image_url", "input_image":
			c.images = true
		case "document", "input_file", "file":
			c.documents = true
		case "tool_use", "function_call", "custom_tool_call", "function":
			c.calls = true
		}
		for key, e := range v {
			c.reasoning = c.reasoning || e != nil && strings.HasPrefix(key, "reasoning") ||
				key == "thoughtSignature" && e != noSignature
			if key == "inlineData" {
				blob, _ := e.(map[string]any)
				isPDF := blob["mimeType"] == "application/pdf"
				c.documents, c.images = c.documents || isPDF, c.images || !isPDF
			}
			c.calls = c.calls || key == "functionCall"
			c.visit(e)
		}
	}
}

func (c *conversation) has(r Rejection) bool {
	return r.Contains != "" && bytes.Contains(c.raw, []byte(r.Contains)) || r.Reasoning && c.reasoning ||
		r.Images && c.images ||
		r.Documents && c.documents ||
		r.Calls && c.calls ||
		r.Items > 0 && c.items > r.Items
}
