package model

import (
	"fmt"
	"time"
)

// ErrorKind is the class of an error. The turn decides by it whether another attempt can help.
type ErrorKind string

// The kinds of errors.
const (
	ErrConnection ErrorKind = "connection"       // refused, reset, DNS, TLS, proxy
	ErrTruncated  ErrorKind = "truncated"        // ended without the terminal event
	ErrStalled    ErrorKind = "stalled"          // the watchdog cut it
	ErrMalformed  ErrorKind = "malformed"        // not the wire format: bad JSON, HTML, an oversized line
	ErrRateLimit  ErrorKind = "rate_limit"       // 429
	ErrOverloaded ErrorKind = "overloaded"       // 503, 529
	ErrServer     ErrorKind = "server"           // other 5xx, and error events that say so
	ErrTimeout    ErrorKind = "timeout"          // 408
	ErrConflict   ErrorKind = "conflict"         // 409
	ErrTooEarly   ErrorKind = "too_early"        // 425
	ErrAuth       ErrorKind = "auth"             // 401, 403
	ErrNotFound   ErrorKind = "not_found"        // 404
	ErrInvalid    ErrorKind = "invalid_request"  // other 4xx
	ErrContext    ErrorKind = "context_overflow" // the request is longer than the window
	ErrTooLarge   ErrorKind = "too_many_bytes"   // a 4xx about the bytes of the request
	ErrPolicy     ErrorKind = "content_policy"
	ErrReasoning  ErrorKind = "reasoning_refused"   // a 4xx about reasoning that was sent back: not its signature, or not supported
	ErrDocument   ErrorKind = "document_refused"    // a 4xx about a PDF that it cannot read, or about any
	ErrImage      ErrorKind = "image_refused"       // a 4xx about an image that it cannot read, or about any
	ErrToolSearch ErrorKind = "tool_search_refused" // a 4xx about the provider's own search of tools, or about deferred tools
	ErrToolUse    ErrorKind = "tool_use_failed"     // the model's call was not one, says the provider that checks calls (Groq)
	ErrQuota      ErrorKind = "quota"               // a 429 or 402 that states that waiting does not help
)

// Error is a failed request or stream.
type Error struct {
	Kind   ErrorKind
	Status int    // HTTP status, 0 where there was none
	Code   string // provider's own code or type
	// Message is the provider's, or ours.
	Message string
	// URL is the request's, without userinfo and query.
	URL string
	// Body is the beginning of an error answer, at most 4 KiB, not redacted.
	Body string
	// RetryAfter is the wait that the provider asked for; zero or negative
	// where it asked for none.
	RetryAfter time.Duration
	// Unreachable reports that no server answered: the name was not found, the connection
	// failed, or it broke before the response began.
	Unreachable bool
	// NotListening reports that no program listens at a loopback address.
	NotListening bool
	// Renewed reports that the key was refused and replaced, so that the same request can be made
	// again.
	Renewed bool
	// Hint is advice for a person, such as which variable to set.
	Hint string
	Err  error
}

// NewError returns an error of the kind, with no wait asked for.
func NewError(kind ErrorKind, format string, args ...any) *Error {
	err := fmt.Errorf(format, args...)
	return &Error{Kind: kind, Message: err.Error(), RetryAfter: -1, Err: err}
}

func (e *Error) Error() string {
	s := e.Message
	if s == "" {
		s = string(e.Kind)
	}
	if e.Status != 0 {
		s = fmt.Sprintf("%d %s: %s", e.Status, e.Kind, s)
	}
	if e.Hint != "" {
		s += " (" + e.Hint + ")"
	}
	return s
}

// Unwrap returns the underlying error.
func (e *Error) Unwrap() error { return e.Err }

// Retryable reports whether the same request may succeed later.
func (e *Error) Retryable() bool {
	switch e.Kind {
	case ErrConnection, ErrTruncated, ErrStalled, ErrMalformed, ErrRateLimit, ErrOverloaded,
		ErrServer, ErrTimeout, ErrConflict, ErrTooEarly, ErrToolUse:
		return true
	}
	return false
}
