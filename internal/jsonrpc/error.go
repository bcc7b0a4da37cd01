package jsonrpc

import (
	"encoding/json"
	"errors"
	"fmt"
)

// The codes of JSON-RPC 2.0, and the one that the Language Server Protocol and
// the Agent Client Protocol have for a request that was cancelled.
const (
	CodeParse          = -32700
	CodeInvalidRequest = -32600
	CodeMethodNotFound = -32601
	CodeInvalidParams  = -32602
	CodeInternal       = -32603
	CodeOverloaded     = -32000
	CodeCancelled      = -32800
)

// Error is an error as it stands in an answer.
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

// MethodNotFound returns what a handler answers to a method that it does not
// have.
func MethodNotFound(method string) *Error {
	return Errorf(CodeMethodNotFound, "there is no method %q", method)
}

var (
	// ErrCancelled is the cause of a request's context after Cancel, and what
	// Wait returns after Abandon.
	ErrCancelled = errors.New("the request was cancelled")
	// ErrClosed says that the connection was closed, or that the other side
	// will say nothing more.
	ErrClosed = errors.New("the connection is closed")
	// ErrUnread says that the other side went on asking and did not read.
	ErrUnread = errors.New("the other side does not read")
)

// wire returns the error as it is sent: an *Error as it is, any other one as
// an internal error.
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
