package execserver

import (
	"bytes"
	"encoding/json"
	"errors"
	"io/fs"

	"github.com/settle-agent/settle/internal/disk"
	"github.com/settle-agent/settle/internal/jsonrpc"
)

// codeNotFound is the protocol's own code.
const codeNotFound = -32004

func invalidRequest(format string, args ...any) error {
	return jsonrpc.Errorf(jsonrpc.CodeInvalidRequest, format, args...)
}

func invalidParams(format string, args ...any) error {
	return jsonrpc.Errorf(jsonrpc.CodeInvalidParams, format, args...)
}

// failureOf returns the error for a client.
func failureOf(err error) *jsonrpc.Error {
	var f *jsonrpc.Error
	var changed *disk.ChangedError
	code := jsonrpc.CodeInternal
	switch {
	case errors.As(err, &f):
		return f
	case errors.Is(err, fs.ErrNotExist):
		code = codeNotFound
	case errors.Is(err, fs.ErrPermission), errors.Is(err, fs.ErrInvalid), errors.As(err, &changed):
		code = jsonrpc.CodeInvalidRequest
	}
	return &jsonrpc.Error{Code: code, Message: err.Error()}
}

// incoming is a message of the client.
type incoming struct {
	ID     json.RawMessage `json:"id"`
	Method *string         `json:"method"`
	Params json.RawMessage `json:"params"`
}

// kind is the type of a message.
type kind string

const (
	request      kind = "request"
	notification kind = "notification"
	response     kind = "response" // to nothing: the server asks the client for nothing
)

// parse returns a message, or why it is none.
func parse(data []byte) (incoming, kind, error) {
	var m incoming
	if err := json.Unmarshal(data, &m); err != nil {
		return m, "", invalidRequest("cannot read the message: %v", err)
	}
	if bytes.Equal(m.ID, []byte("null")) {
		m.ID = nil
	}
	switch {
	case m.ID != nil && !isID(m.ID):
		return m, "", invalidRequest("the id of a message must be a string or an integer")
	case m.Method != nil && m.ID != nil:
		return m, request, nil
	case m.Method != nil:
		return m, notification, nil
	case m.ID != nil:
		return m, response, nil
	}
	return m, "", invalidRequest("a message needs a method or an id")
}

func isID(raw json.RawMessage) bool {
	if raw[0] == '"' {
		return true
	}
	var n int64
	return json.Unmarshal(raw, &n) == nil
}

// noID is the id of errors that belong to no request.
const noID = "-1"

// answer encodes the response to a request.
func answer(id json.RawMessage, result any, err error) []byte {
	var out []byte
	if err == nil {
		out, err = json.Marshal(struct {
			ID     json.RawMessage `json:"id"`
			Result any             `json:"result"`
		}{id, result})
	}
	if err != nil {
		out, _ = json.Marshal(struct { // numbers and strings always encode
			Error *jsonrpc.Error  `json:"error"`
			ID    json.RawMessage `json:"id"`
		}{failureOf(err), id})
	}
	return out
}

// notify encodes a notification.
func notify(method string, params any) []byte {
	out, _ := json.Marshal(struct { // numbers, strings and bytes always encode
		Method string `json:"method"`
		Params any    `json:"params"`
	}{method, params})
	return out
}

// decode reads the parameters of a request.
func decode[P any](raw json.RawMessage) (P, error) {
	var params P
	if len(raw) == 0 {
		raw = json.RawMessage("{}")
	}
	if err := json.Unmarshal(raw, &params); err != nil {
		return params, invalidParams("cannot read the parameters: %v", err)
	}
	return params, nil
}
