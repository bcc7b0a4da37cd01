package execserver

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"

	"github.com/settle-agent/settle/internal/disk"
)

// Codes of the errors that clients get; notFound is the protocol's own.
const (
	codeInvalidRequest = -32600
	codeUnknownMethod  = -32601
	codeInvalidParams  = -32602
	codeInternal       = -32603
	codeNotFound       = -32004
)

// failure is an error as clients get it.
type failure struct {
	Code    int    `json:"code"`
	Message string `json:"message"`
}

func (f *failure) Error() string { return f.Message }

func invalidRequest(format string, args ...any) error {
	return &failure{codeInvalidRequest, fmt.Sprintf(format, args...)}
}

func invalidParams(format string, args ...any) error {
	return &failure{codeInvalidParams, fmt.Sprintf(format, args...)}
}

// failureOf returns the error for a client.
func failureOf(err error) *failure {
	var f *failure
	var changed *disk.ChangedError
	switch {
	case errors.As(err, &f):
		return f
	case errors.Is(err, fs.ErrNotExist):
		return &failure{codeNotFound, err.Error()}
	case errors.Is(err, fs.ErrPermission), errors.Is(err, fs.ErrInvalid), errors.As(err, &changed):
		return &failure{codeInvalidRequest, err.Error()}
	}
	return &failure{codeInternal, err.Error()}
}

// incoming is a message of the client.
type incoming struct {
	ID     json.RawMessage `json:"id"`
	Method *string         `json:"method"`
	Params json.RawMessage `json:"params"`
}

// kind is what a message is.
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

// answer encodes what a request comes to.
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
			Error *failure        `json:"error"`
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
