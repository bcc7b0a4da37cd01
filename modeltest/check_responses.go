package modeltest

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
)

// The rules of the Responses API, in its own words.

type responsesRequest struct {
	Model      string          `json:"model"`
	Input      json.RawMessage `json:"input"`
	Store      *bool           `json:"store"`
	MaxTokens  *int            `json:"max_output_tokens"`
	PreviousID string          `json:"previous_response_id"`
	Tools      []responsesTool `json:"tools"`

	items []responsesItem
}

type responsesTool struct {
	Type        string          `json:"type"`
	Name        string          `json:"name"`
	Description string          `json:"description"`
	Parameters  json.RawMessage `json:"parameters"`
	Defer       bool            `json:"defer_loading"`
	Tools       []responsesTool `json:"tools"` // of a namespace
}

type responsesItem struct {
	Type      string          `json:"type"`
	ID        string          `json:"id"`
	Role      string          `json:"role"`
	Content   json.RawMessage `json:"content"`
	CallID    string          `json:"call_id"`
	Name      string          `json:"name"`
	Namespace string          `json:"namespace"`
	Arguments string          `json:"arguments"`
	Input     string          `json:"input"`
	Output    json.RawMessage `json:"output"`
	Summary   json.RawMessage `json:"summary"`
	Encrypted *string         `json:"encrypted_content"`
}

func (it responsesItem) isCall() bool {
	return it.Type == "function_call" || it.Type == "custom_tool_call"
}

func (it responsesItem) isOutput() bool {
	return it.Type == "function_call_output" || it.Type == "custom_tool_call_output"
}

func (s *Server) checkResponses(body []byte) *apiError {
	var req responsesRequest
	if err := json.Unmarshal(body, &req); err != nil {
		return invalidType(err)
	}
	model, e := s.checkModel(Responses, req.Model)
	if e != nil {
		return e
	}
	if s.rules.RequireStoreFalse && (req.Store == nil || *req.Store) {
		return invalid("Store must be set to false").at("store", "")
	}
	if req.PreviousID != "" {
		return invalid(
			"Previous response with id '%s' not found.", req.PreviousID,
		).at("previous_response_id", "previous_response_not_found")
	}
	if e := req.checkLimits(model, model.tokens(loaded(body))); e != nil {
		return e
	}
	if e := checkResponsesTools("tools", req.Tools); e != nil {
		return e
	}
	if e := req.checkDeferred(s.rules.NoToolSearch); e != nil {
		return e
	}
	if e := s.readInput(&req); e != nil {
		return e
	}
	if e := s.checkProvider(func(r ProviderRule) *apiError {
		if r.responses == nil {
			return nil
		}
		return r.responses(&req)
	}); e != nil {
		return e
	}
	for i := range req.items {
		if e := s.checkItem(&req, i); e != nil {
			return e
		}
	}
	if e := req.checkCalls(); e != nil {
		return e
	}
	if s.rules.Provider == "deepseek" { // which has reasoning wherever it stands
		return nil
	}
	return s.checkReasoning(&req)
}

func invalidType(err error) *apiError {
	var e *json.UnmarshalTypeError
	if errors.As(err, &e) {
		return invalid(
			"Invalid type for '%s': expected %s, but got %s instead.", e.Field, e.Type.Kind(), e.Value,
		).at(e.Field, "invalid_type")
	}
	return invalid("%v", err)
}

func (req *responsesRequest) checkLimits(m Model, input int) *apiError {
	switch {
	case req.MaxTokens != nil && *req.MaxTokens < 16:
		return invalid(
			"Invalid 'max_output_tokens': integer below minimum value. Expected a value >= 16, but got %d instead.",
			*req.MaxTokens,
		).
			at("max_output_tokens", "integer_below_min_value")
	case req.MaxTokens != nil && m.MaxOutput > 0 && *req.MaxTokens > m.MaxOutput:
		return invalid(
			"Invalid 'max_output_tokens': integer above maximum value. Expected a value <= %d, but got %d instead.",
			m.MaxOutput, *req.MaxTokens,
		).
			at("max_output_tokens", "integer_above_max_value")
	case m.Window > 0 && input > m.Window:
		return invalid("Your input exceeds the context window of this model. Please adjust your input and try again.").
			at("input", "context_length_exceeded")
	}
	return nil
}

// checkResponsesTools checks the tools of a request, or of a namespace.
func checkResponsesTools(at string, tools []responsesTool) *apiError {
	for i := range tools {
		t := &tools[i]
		if t.Type == "namespace" {
			if e := checkNamespace(fmt.Sprintf("%s[%d]", at, i), t); e != nil {
				return e
			}
			continue
		}
		if t.Type != "function" && t.Type != "custom" {
			if e := checkOwn(i, t.Type); e != nil {
				return e
			}
			continue
		}
		if e := checkName(fmt.Sprintf("%s[%d].name", at, i), t.Name); e != nil {
			return e
		}
		if t.Type == "function" && !isObjectSchema(t.Parameters) {
			return invalid(
				"Invalid schema for function '%s': schema must be a JSON Schema of 'type: \"object\"', got 'type: \"None\"'.",
				t.Name,
			).
				at(fmt.Sprintf("%s[%d].parameters", at, i), "invalid_function_parameters")
		}
	}
	return nil
}

// isObjectSchema reports whether the schema is of type object; none at all is fine.
func isObjectSchema(raw json.RawMessage) bool {
	if len(raw) == 0 || string(raw) == "null" {
		return true
	}
	var schema struct {
		Type any `json:"type"`
	}
	return json.Unmarshal(raw, &schema) == nil && schema.Type == "object"
}

// checkName checks a tool's name as OpenAI does.
func checkName(param, name string) *apiError {
	switch {
	case name == "":
		return emptyString(param)
	case len(name) > 64:
		return invalid(
			"Invalid '%s': string too long. Expected a string with maximum length 64, but got a string with length %d instead.",
			param,
			len(name),
		).
			at(param, "string_above_max_length")
	case !isName(name, "_-", len(name)):
		return invalid(
			"Invalid '%s': string does not match pattern. Expected a string that matches the pattern '^[a-zA-Z0-9_-]+$'.",
			param,
		).
			at(param, "invalid_value")
	}
	return nil
}

func emptyString(param string) *apiError {
	return invalid(
		"Invalid '%s': empty string. Expected a string with minimum length 1, but got an empty string instead.", param,
	).
		at(param, "empty_string")
}

// readInput reads the input, which is a text or a list of items.
func (s *Server) readInput(req *responsesRequest) *apiError {
	if content, ok := text(req.Input); ok {
		if blank(content) && !s.rules.AllowEmptyText {
			return emptyString("input")
		}
		return nil
	}
	elements, ok := list(req.Input)
	if !ok || len(elements) == 0 {
		return invalid(
			"One of \"input\" or \"previous_response_id\" or 'prompt' or 'conversation_id' must be provided.",
		).
			at("input", "missing_required_parameter")
	}
	for i, raw := range elements {
		var it responsesItem
		if kind := kindOf(raw); strings.HasPrefix(kind, "tool_search_") { // whose arguments are no text
			it.Type = kind
		} else if err := json.Unmarshal(raw, &it); err != nil {
			e := invalidType(err)
			return e.at(fmt.Sprintf("input[%d]", i), e.Code)
		}
		if it.Type == "" && it.Role != "" {
			it.Type = "message"
		}
		req.items = append(req.items, it)
	}
	return nil
}

// checkItem checks item i by itself.
func (s *Server) checkItem(req *responsesRequest, i int) *apiError {
	it, at := req.items[i], fmt.Sprintf("input[%d]", i)
	prefix := map[string]string{
		"message":                 "msg",
		"function_call":           "fc",
		"custom_tool_call":        "ctc",
		"reasoning":               "rs",
		"function_call_output":    "",
		"custom_tool_call_output": "",
		"tool_search_call":        "tsc",
		"tool_search_output":      "tso",
	}
	want, known := prefix[it.Type]
	if !known {
		return invalid(
			"Invalid value: '%s'. Supported values are: 'message', 'function_call', 'function_call_output', 'custom_tool_call', 'custom_tool_call_output', and 'reasoning'.",
			it.Type,
		).
			at(at, "invalid_value")
	}
	if it.ID != "" && want != "" && !strings.HasPrefix(it.ID, want) {
		return invalid(
			"Invalid '%s.id': '%s'. Expected an ID that begins with '%s'.", at, it.ID, want,
		).at(at+".id", "invalid_value")
	}
	switch {
	case it.Type == "message":
		return s.checkResponsesMessage(it, at)
	case it.isCall():
		if e := checkCallItem(it, at); e != nil {
			return e
		}
		return req.checkNamespace(it, at)
	case it.isOutput():
		return checkCallItem(it, at)
	case strings.HasPrefix(it.Type, "tool_search_"):
		return nil
	}
	if _, ok := list(it.Summary); !ok {
		return invalid("Missing required parameter: '%s.summary'.", at).at(at+".summary", "missing_required_parameter")
	}
	return nil
}

func (s *Server) checkResponsesMessage(it responsesItem, at string) *apiError {
	if !slices.Contains([]string{"user", "assistant", "system", "developer"}, it.Role) {
		return invalid(
			"Invalid value: '%s'. Supported values are: 'assistant', 'system', 'developer', and 'user'.", it.Role,
		).at(at, "invalid_value")
	}
	if content, ok := text(it.Content); ok {
		if blank(content) && !s.rules.AllowEmptyText {
			return emptyString(at + ".content")
		}
		return nil
	}
	parts, ok := list(it.Content)
	if !ok || len(parts) == 0 && !s.rules.AllowEmptyText {
		return invalid("Missing required parameter: '%s.content'.", at).at(at+".content", "missing_required_parameter")
	}
	for k, raw := range parts {
		var part struct{ Type, Text string }
		_ = json.Unmarshal(raw, &part) // a part of another shape has no type
		param := fmt.Sprintf("%s.content[%d]", at, k)
		allowed := []string{"input_text", "input_image", "input_file"}
		if it.Role == "assistant" {
			allowed = []string{"output_text", "refusal"}
		}
		if !slices.Contains(allowed, part.Type) {
			return invalid(
				"Invalid value: '%s'. Supported values are: '%s'.", part.Type, strings.Join(allowed, "', '"),
			).at(param, "invalid_value")
		}
		if strings.HasSuffix(part.Type, "_text") && blank(part.Text) && !s.rules.AllowEmptyText {
			return emptyString(param + ".text")
		}
		if !readablePart(raw) {
			return unsupportedImage(param)
		}
		if e := filePartFault(raw, param); e != nil {
			return e
		}
	}
	return nil
}

func checkCallItem(it responsesItem, at string) *apiError {
	switch {
	case it.CallID == "":
		return emptyString(at + ".call_id")
	case len(it.CallID) > 64:
		return invalid(
			"Invalid '%s.call_id': string too long. Expected a string with maximum length 64, but got a string with length %d instead.",
			at,
			len(it.CallID),
		).
			at(at+".call_id", "string_above_max_length")
	case it.isOutput() && len(it.Output) == 0:
		return invalid("Missing required parameter: '%s.output'.", at).at(at+".output", "missing_required_parameter")
	case it.isOutput():
		return nil
	}
	if e := checkName(at+".name", it.Name); e != nil {
		return e
	}
	if it.Type == "function_call" && !isObject([]byte(it.Arguments)) {
		return invalid(
			"Invalid '%s.arguments': string is not a valid JSON object.", at,
		).at(at+".arguments", "invalid_value")
	}
	return nil
}

// checkCalls wants every call answered, once, after it, and every id once.
func (req *responsesRequest) checkCalls() *apiError {
	ids, calls, outputs := map[string]bool{}, map[string]bool{}, map[string]bool{}
	for _, it := range req.items {
		if it.ID != "" && ids[it.ID] {
			return duplicate(it.ID)
		}
		ids[it.ID] = true
		switch {
		case it.isCall():
			if calls[it.CallID] {
				return duplicate(it.CallID)
			}
			calls[it.CallID] = true
		case it.isOutput():
			if !calls[it.CallID] {
				return invalid(
					"No tool call found for function call output with call_id %s.", it.CallID,
				).at("input", "")
			}
			if outputs[it.CallID] {
				return duplicate(it.CallID)
			}
			outputs[it.CallID] = true
		}
	}
	for _, it := range req.items {
		if it.isCall() && !outputs[it.CallID] {
			return invalid("No tool output found for function call %s.", it.CallID).at("input", "")
		}
	}
	return nil
}

func duplicate(id string) *apiError {
	return invalid(
		"Duplicate item found with id %s. Remove duplicate items from your input and try again.", id,
	).at("input", "")
}

// checkReasoning requires that reasoning items are unaltered, and together with the items
// that followed them.
func (s *Server) checkReasoning(req *responsesRequest) *apiError {
	present := map[string]bool{}
	for _, it := range req.items {
		present[it.ID] = true
	}
	for i, it := range req.items {
		if it.Type != "reasoning" {
			if needs := s.issued.before(it.ID); it.ID != "" && needs != "" && !present[needs] {
				return invalid(
					"Item '%s' of type '%s' was provided without its required 'reasoning' item: '%s'.", it.ID, it.Type,
					needs,
				).at("input", "")
			}
			continue
		}
		if e := s.checkEncrypted(req, it); e != nil {
			return e
		}
		if i+1 == len(req.items) || !s.mayFollow(it, req.items[i+1]) {
			return invalid(
				"Item '%s' of type 'reasoning' was provided without its required following item.", it.ID,
			).at("input", "")
		}
	}
	return nil
}

func (s *Server) checkEncrypted(req *responsesRequest, it responsesItem) *apiError {
	stateless := req.Store != nil && !*req.Store
	switch {
	case it.Encrypted != nil && (s.account().knownEncrypted(it.ID, *it.Encrypted) || s.issued.played(*it.Encrypted)):
		return nil
	case it.Encrypted != nil:
		return invalid(
			"The encrypted content for item %s could not be verified. Reason: Encrypted content could not be decrypted or parsed.",
			it.ID,
		).
			at("", "invalid_encrypted_content")
	case !stateless && s.issued.knows(it.ID):
		return nil
	}
	e := invalid("Item with id '%s' not found.", it.ID).at("input", "")
	e.Status = http.StatusNotFound
	if stateless {
		e.Message += " Items are not persisted when `store` is set to false. Try again with `store` set to true, or remove this item from your input."
	}
	return e
}

// mayFollow reports whether next can be the item that followed the reasoning item. The
// request can lack ids.
func (s *Server) mayFollow(reasoning, next responsesItem) bool {
	if next.isOutput() || next.Type == "message" && next.Role != "assistant" {
		return false
	}
	want, known := s.issued.after(reasoning.ID)
	if !known || next.ID == "" && next.CallID == "" {
		return true
	}
	return next.ID == want.id || next.CallID != "" && next.CallID == want.callID
}
