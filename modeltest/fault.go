package modeltest

import (
	"fmt"
	"strconv"
	"strings"
	"time"
)

// Fault is one thing that goes wrong with a response. Make one with a function
// of this package, such as [Reset] or [Status]. Faults compose: several may
// strike one response, in the order in which it is sent.
type Fault struct {
	Kind FaultKind `json:"fault"`
	// At is the place in the response at which the fault strikes.
	At At `json:"at,omitempty"`
	// Times is the number of requests that the fault strikes: 0 is once, and the turn counts as
	// played; n > 0 is n requests, after which the turn is played without it; [Always] is every
	// request, and the turn never passes.
	Times int `json:"times,omitempty"`

	// For bounds a silence or pings; 0 is until the client gives up. Every is
	// the pause between pings or dripped bytes.
	For   Duration `json:"for,omitempty"`
	Every Duration `json:"every,omitempty"`
	// Until, if set, bounds a silence instead of For: it ends when the
	// channel is closed.
	Until <-chan struct{} `json:"-"`
	// Bytes is the length of an oversized event.
	Bytes int64 `json:"bytes,omitempty"`
	// Status, RetryAfter, Type, Code, Message and Header make up an error response or error event;
	// for empty ones, the server uses the provider's usual values.
	Status     int               `json:"status,omitempty"`
	RetryAfter RetryAfter        `json:"retry_after,omitempty"`
	Type       string            `json:"type,omitempty"`
	Code       string            `json:"code,omitempty"`
	Message    string            `json:"message,omitempty"`
	Header     map[string]string `json:"header,omitempty"`
	// Body and ContentType make up a response that no provider sends.
	Body        string `json:"body,omitempty"`
	ContentType string `json:"content_type,omitempty"`
}

// Always is the Times of a fault that never passes.
const Always = -1

// First returns the fault striking the first n requests of its turn only; the
// turn is then played without it.
func (f Fault) First(n int) Fault {
	f.Times = n
	return f
}

// Lasting returns the fault ending after d instead of with the connection.
func (f Fault) Lasting(d time.Duration) Fault {
	f.For = Duration(d)
	return f
}

// FaultKind names a fault.
type FaultKind string

// The faults that strike at a place in the stream.
const (
	FaultSilence   FaultKind = "silence"   // nothing is sent, the connection stays open
	FaultPings     FaultKind = "pings"     // only keep-alives are sent
	FaultReset     FaultKind = "reset"     // TCP reset
	FaultCut       FaultKind = "cut"       // the connection closes within the body
	FaultClose     FaultKind = "close"     // the body ends early, without an error
	FaultMalformed FaultKind = "malformed" // an event that is not JSON
	FaultOversized FaultKind = "oversized" // an event of Bytes bytes
	FaultError     FaultKind = "error"     // the provider's error event, then the end
	FaultUnknown   FaultKind = "unknown"   // an event of an unknown type
)

// The faults that replace the response.
const (
	FaultStatus  FaultKind = "status"  // an error answer
	FaultForeign FaultKind = "foreign" // a 200 of another kind
)

// The faults in how the whole response is sent.
const (
	FaultDrip         FaultKind = "drip"           // byte by byte
	FaultCRLF         FaultKind = "crlf"           // lines end in CR LF
	FaultBareCR       FaultKind = "cr"             // lines end in CR
	FaultComments     FaultKind = "comments"       // comments between the events
	FaultUnknowns     FaultKind = "unknowns"       // unknown events between the events
	FaultRepeat       FaultKind = "repeat"         // every event is sent twice
	FaultSwap         FaultKind = "swap"           // each item's first delta comes before its start
	FaultSameIndex    FaultKind = "same_index"     // every item has index 0
	FaultReverseIndex FaultKind = "reverse_index"  // the indexes count down
	FaultNoEventNames FaultKind = "no_event_names" // no event: lines
	FaultContentType  FaultKind = "content_type"   // the stream under another content type
	FaultEmptyIDs     FaultKind = "empty_ids"      // calls have an empty id
	FaultSameIDs      FaultKind = "same_ids"       // calls have all the same id
)

// The quirks of servers that speak Chat Completions; other dialects ignore them.
const (
	FaultNoIDs            FaultKind = "no_ids"            // calls without id
	FaultNoIndexes        FaultKind = "no_indexes"        // calls without index
	FaultNoUsage          FaultKind = "no_usage"          // no usage though it was asked for
	FaultNoDone           FaultKind = "no_done"           // no [DONE]
	FaultFinishStop       FaultKind = "finish_stop"       // finish_reason "stop" while calling
	FaultWholeCalls       FaultKind = "whole_calls"       // each call in one chunk
	FaultReasoningField   FaultKind = "reasoning_field"   // "reasoning" instead of "reasoning_content"
	FaultReasoningDetails FaultKind = "reasoning_details" // "reasoning" with "reasoning_details" beside it
)

// At is a place in a response. The places, in order:
//
//	"request"      before the headers
//	"headers"      after the headers, before any event
//	"delta N"      after the Nth delta of text, reasoning or arguments
//	"arguments N"  within the arguments of the Nth call
//	"call N"       just after the Nth call is complete
//	"items"        after the last item
//	"end"          just before the event that ends the response
//	"done"         after it, with the connection open
//
// A fault at a place that the response does not have strikes at "end".
type At string

// The places without a number.
const (
	BeforeHeaders At = "request"
	AfterHeaders  At = "headers"
	AfterItems    At = "items"
	BeforeEnd     At = "end"
	AfterEnd      At = "done"
)

// AfterDelta is the place after the nth delta, from 1.
func AfterDelta(n int) At { return At("delta " + strconv.Itoa(n)) }

// AfterCall is the place just after the nth call is complete, from 1.
func AfterCall(n int) At { return At("call " + strconv.Itoa(n)) }

// WithinArguments is a place within the arguments of the nth call, from 1.
func WithinArguments(n int) At { return At("arguments " + strconv.Itoa(n)) }

func (a At) valid() bool {
	switch a {
	case "", BeforeHeaders, AfterHeaders, AfterItems, BeforeEnd, AfterEnd:
		return true
	}
	word, number, _ := strings.Cut(string(a), " ")
	n, err := strconv.Atoi(number)
	return err == nil && n > 0 && (word == "delta" || word == "arguments" || word == "call")
}

// Silence sends nothing from there on and keeps the connection open.
func Silence(at At) Fault { return Fault{Kind: FaultSilence, At: at} }

// Hold sends nothing from there until release is closed.
func Hold(at At, release <-chan struct{}) Fault {
	return Fault{Kind: FaultSilence, At: at, Until: release}
}

// Delay waits before the headers.
func Delay(d time.Duration) Fault { return Silence(BeforeHeaders).Lasting(d) }

// Pings sends keep-alives only from there on.
func Pings(at At, every time.Duration) Fault {
	return Fault{Kind: FaultPings, At: at, Every: Duration(every)}
}

// Reset resets the TCP connection there.
func Reset(at At) Fault { return Fault{Kind: FaultReset, At: at} }

// Cut closes the connection there, within the body.
func Cut(at At) Fault { return Fault{Kind: FaultCut, At: at} }

// Close ends the body there, properly: a clean EOF.
func Close(at At) Fault { return Fault{Kind: FaultClose, At: at} }

// NoEnd leaves out the event that ends the response.
func NoEnd() Fault { return Close(BeforeEnd) }

// Malformed sends an event there that is not JSON, and continues.
func Malformed(at At) Fault { return Fault{Kind: FaultMalformed, At: at} }

// Oversized sends an event of that many bytes there, and continues. The server
// does not hold it in memory.
func Oversized(at At, bytes int64) Fault { return Fault{Kind: FaultOversized, At: at, Bytes: bytes} }

// ErrorEvent sends the provider's error event there and ends the body. An
// empty kind is the provider's word for overload.
func ErrorEvent(at At, kind, message string) Fault {
	return Fault{Kind: FaultError, At: at, Type: kind, Message: message}
}

// Status answers with an error of that status, in the provider's own shape.
func Status(code int, retry ...RetryAfter) Fault {
	f := Fault{Kind: FaultStatus, Status: code}
	if len(retry) > 0 {
		f.RetryAfter = retry[0]
	}
	return f
}

// Saying returns the error with the provider's type or code, and message.
func (f Fault) Saying(code, message string) Fault {
	f.Code, f.Message = code, message
	return f
}

// Foreign answers 200 with something that is not a stream.
func Foreign(contentType, body string) Fault {
	return Fault{Kind: FaultForeign, ContentType: contentType, Body: body}
}

// HTML answers 200 with a web page, as captive portals and proxies do.
func HTML() Fault {
	return Foreign("text/html; charset=utf-8",
		"<!DOCTYPE html>\n<html><head><title>Sign in</title></head><body><h1>Please sign in</h1></body></html>\n")
}

// ContentType sends the stream under another content type.
func ContentType(contentType string) Fault {
	return Fault{Kind: FaultContentType, ContentType: contentType}
}

// Drip sends the body byte by byte, with a pause after each.
func Drip(every time.Duration) Fault { return Fault{Kind: FaultDrip, Every: Duration(every)} }

// Quirk is a fault that needs no more than its kind, such as [FaultCRLF] or
// [FaultNoIDs].
func Quirk(kind FaultKind) Fault { return Fault{Kind: kind} }

// RetryAfter is the form in which an error response requests a delay:
//
//	"7"           Retry-After: 7, as it is (so "-5", "soon" and "999999999" too)
//	"date 7s"     Retry-After: an HTTP date 7 seconds from now
//	"ms 250"      retry-after-ms: 250
//	"message 7s"  in the message: "Please try again in 7s."
type RetryAfter string

// RetrySeconds asks by the Retry-After header, in seconds.
func RetrySeconds(n int) RetryAfter { return RetryAfter(strconv.Itoa(n)) }

// RetryDate asks by the Retry-After header, with a date that far from now.
func RetryDate(in time.Duration) RetryAfter { return RetryAfter("date " + in.String()) }

// RetryMillis asks by the retry-after-ms header.
func RetryMillis(n int) RetryAfter { return RetryAfter(fmt.Sprintf("ms %d", n)) }

// RetryMessage asks in the words of the error only.
func RetryMessage(in time.Duration) RetryAfter { return RetryAfter("message " + in.String()) }

// headers returns the header to set, if any, and the words to add to the message.
func (r RetryAfter) headers(now time.Time) (name, value, words string) {
	form, rest, _ := strings.Cut(string(r), " ")
	d, err := time.ParseDuration(rest)
	switch {
	case r == "":
		return "", "", ""
	case form == "date" && err == nil:
		return "Retry-After", now.Add(d).UTC().Format("Mon, 02 Jan 2006 15:04:05 GMT"), ""
	case form == "ms" && rest != "":
		return "Retry-After-Ms", rest, ""
	case form == "message" && rest != "":
		return "", "", "Please try again in " + rest + "."
	}
	return "Retry-After", string(r), ""
}
