package jsonrpc

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"strings"
)

// Handler receives the requests and notifications of the peer.
type Handler interface {
	// Handle is called with requests and notifications in the order of their
	// arrival, one at a time, and must not block: long work answers later, from
	// another goroutine. ctx ends when the request is answered, with Cancel, and with
	// the connection.
	Handle(ctx context.Context, r *Request)
}

// Request is a request or a notification of the peer.
type Request struct {
	// ID is the request's id, in JSON; nil for a notification.
	ID     json.RawMessage
	Method string
	// Params are in JSON; nil if there are none.
	Params json.RawMessage

	conn   *Conn
	cancel context.CancelCauseFunc
}

// IsNotification reports whether the message expects no answer.
func (r *Request) IsNotification() bool { return r.ID == nil }

// Decode decodes the parameters. Its error is a valid answer.
func (r *Request) Decode(into any) error {
	params := r.Params
	if params == nil {
		params = json.RawMessage("{}")
	}
	if err := json.Unmarshal(params, into); err != nil {
		return Errorf(CodeInvalidParams, "cannot read the parameters of %q: %s", r.Method, unfit(err))
	}
	return nil
}

// unfit describes a value that does not fit, in terms of JSON, not of Go.
func unfit(err error) string {
	var e *json.UnmarshalTypeError
	if !errors.As(err, &e) {
		return err.Error()
	}
	words := fmt.Sprintf("%s was expected, not %s", expected(e.Type), article(e.Value))
	if e.Field == "" {
		return words
	}
	return fmt.Sprintf("%q: %s", e.Field[strings.LastIndexByte(e.Field, '.')+1:], words)
}

func expected(t reflect.Type) string {
	switch t.Kind() {
	case reflect.String:
		return "a string"
	case reflect.Bool:
		return "a boolean"
	case reflect.Slice, reflect.Array:
		return "an array"
	case reflect.Struct, reflect.Map:
		return "an object"
	default:
		return "a number"
	}
}

// article puts an article before package json's name of a value.
func article(value string) string {
	switch value {
	case "bool":
		return "a boolean"
	case "array", "object":
		return "an " + value
	default:
		return "a " + value
	}
}

// Reply answers. Only the first answer to a request is sent, and none to a notification.
func (r *Request) Reply(result any) {
	raw, err := payload(result)
	if err != nil {
		r.Fail(err)
		return
	}
	r.conn.answer(r, &message{ID: r.ID, Result: raw})
}

// Fail answers with an error: an *Error unchanged, any other error as an internal error.
func (r *Request) Fail(err error) {
	r.conn.answer(r, &message{ID: r.ID, Error: wire(err)})
}
