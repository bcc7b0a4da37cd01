package jsonrpc

import (
	"encoding/json"
	"errors"
	"fmt"
)

// The codes of JSON-RPC 2.0, and the code of the Language Server Protocol and the Agent
// Client Protocol for a cancelled request.
const (
	CodeParse          = -32700
	CodeInvalidRequest = -32600
	CodeMethodNotFound = -32601
	CodeInvalidParams  = -32602
	CodeInternal       = -32603
	CodeOverloaded     = -32000
	CodeCancelled      = -32800
)

// Error is the error object of an answer.
type Error struct {
	Code    int             `json:"code"`
	Message string          `json:"message"`
	Data    json.RawMessage `json:"data,omitempty"`
}

func (e *Error) Error() string { return fmt.Sprintf("%s (%d)", e.Message, e.Code) }

// Errorf returns an Error with a message.
func Errorf(code int, format string, a ...any) *Error {
	return &Error{Code: code, Message: fmt.Sprintf(format, a...)}
}

// MethodNotFound returns the answer of a handler to an unknown method.
func MethodNotFound(method string) *Error {
	return Errorf(CodeMethodNotFound, "there is no method %q", method)
}

var (
	// ErrCancelled is the cause of a request's context after Cancel, and the error of
	// Wait after Abandon.
	ErrCancelled = errors.New("the request was cancelled")
	// ErrClosed reports that the connection was closed, or that the peer ended its
	// output.
	ErrClosed = errors.New("the connection is closed")
	// ErrUnread reports that the peer continued to send requests and did not read.
	ErrUnread = errors.New("the peer does not read")
)

// wire returns the error object of an answer: an *Error unchanged, any other error as an
// internal error.
func wire(err error) *Error {
	var e *Error
	switch {
	case errors.As(err, &e):
		return e
	case errors.Is(err, ErrCancelled):
		return &Error{Code: CodeCancelled, Message: err.Error()}
	default:
		return &Error{Code: CodeInternal, Message: err.Error()}
	}
}
