package jsonrpc

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"unicode/utf8"
)

// Dialect is the version member of messages.
type Dialect string

const (
	// V2 is JSON-RPC 2.0.
	V2 Dialect = "2.0"
	// Bare is JSON-RPC 2.0 without the member "jsonrpc", as Codex uses it.
	Bare Dialect = "bare"
)

// message is an incoming or outgoing message. A request has Method and ID, a
// notification only Method; an answer has ID, and Result or Error.
type message struct {
	JSONRPC string          `json:"jsonrpc,omitempty"`
	ID      json.RawMessage `json:"id,omitempty"`
	Method  string          `json:"method,omitempty"`
	Params  json.RawMessage `json:"params,omitempty"`
	Result  json.RawMessage `json:"result,omitempty"`
	Error   *Error          `json:"error,omitempty"`
}

// answer reports whether the message answers another one.
func (m *message) answer() bool { return m.Method == "" }

// refusal is the error of an invalid frame and the answer to it: with the id null if the
// frame has no readable id, no answer if the frame is an answer itself.
type refusal struct {
	id     json.RawMessage
	err    *Error
	answer bool
}

func (r *refusal) Error() string { return r.err.Error() }

// null is the id of an answer to a frame without one.
func null() json.RawMessage { return json.RawMessage("null") }

func refuse(id json.RawMessage, code int, format string, a ...any) *refusal {
	return &refusal{id: id, err: Errorf(code, format, a...)}
}

// parse reads a frame. Its error is a *refusal. Member names must match exactly; unknown
// members are ignored. A message of version 2.0 can lack the version member, but the
// member must not have another value.
func parse(frame []byte, d Dialect) (*message, error) {
	frame = bytes.TrimSpace(frame)
	if !utf8.Valid(frame) { // an answer can repeat the id or parameters unchanged
		frame = bytes.ToValidUTF8(frame, []byte("\uFFFD"))
	}
	if !json.Valid(frame) {
		return nil, refuse(null(), CodeParse, "cannot parse the message: it is no JSON")
	}
	if frame[0] == '[' {
		return nil, refuse(null(), CodeInvalidRequest, "batches are not supported: send one message on a line")
	}
	var members map[string]json.RawMessage
	if err := json.Unmarshal(frame, &members); err != nil || members == nil {
		return nil, refuse(null(), CodeInvalidRequest, "a message is a JSON object")
	}
	id, hasID := members["id"]
	_, hasResult := members["result"]
	_, hasError := members["error"]
	method, hasMethod := members["method"]
	if hasID && !validID(id) {
		r := refuse(null(), CodeInvalidRequest, "an id is a string or a number")
		r.answer = !hasMethod && (hasResult || hasError)
		return nil, r
	}
	reply := id
	if !hasID {
		reply = null()
	}
	m := &message{ID: id, Params: members["params"]}
	switch version, ok := members["jsonrpc"]; {
	case !hasMethod && (hasResult || hasError):
		return m.answered(members)
	case !hasMethod:
		return nil, refuse(reply, CodeInvalidRequest, "the message has neither a method nor a result")
	case ok && d == V2 && string(version) != `"2.0"`:
		return nil, refuse(reply, CodeInvalidRequest, `"jsonrpc" must be "2.0"`)
	}
	if err := json.Unmarshal(method, &m.Method); err != nil || m.Method == "" {
		return nil, refuse(reply, CodeInvalidRequest, "a method is a string that is not empty")
	}
	if string(m.Params) == "null" {
		m.Params = nil
	}
	return m, nil
}

// answered reads the members of an answer.
func (m *message) answered(members map[string]json.RawMessage) (*message, error) {
	if raw, ok := members["error"]; ok && string(raw) != "null" {
		m.Error = &Error{}
		if err := json.Unmarshal(raw, m.Error); err != nil {
			m.Error = &Error{Code: CodeInternal, Message: fmt.Sprintf("the other side failed: %s", raw)}
		}
		return m, nil
	}
	m.Result = members["result"]
	return m, nil
}

func validID(id json.RawMessage) bool {
	switch id[0] {
	case '"', '-', '0', '1', '2', '3', '4', '5', '6', '7', '8', '9':
		return true
	default:
		return string(id) == "null"
	}
}

// encode returns the message as a frame, with its newline.
func (m *message) encode(d Dialect) ([]byte, error) {
	if d == V2 {
		m.JSONRPC = "2.0"
	}
	frame, err := Append(nil, m)
	if err != nil {
		return nil, fmt.Errorf("cannot encode a message: %w", err)
	}
	return frame, nil
}

// arguments encodes params; nil is none.
func arguments(v any) (json.RawMessage, error) {
	raw, err := payload(v)
	if string(raw) == "null" {
		return nil, err
	}
	return raw, err
}

// payload encodes params or a result.
func payload(v any) (json.RawMessage, error) {
	if raw, ok := v.(json.RawMessage); ok {
		if raw == nil {
			return null(), nil
		}
		if !json.Valid(raw) {
			return nil, errors.New("cannot encode a message: its content is no JSON")
		}
		return raw, nil
	}
	raw, err := Append(nil, v)
	if err != nil {
		return nil, fmt.Errorf("cannot encode a message: %w", err)
	}
	return bytes.TrimSpace(raw), nil
}
