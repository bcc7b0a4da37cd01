package event

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"
)

// Version is the version of the envelope and of every kind's data. A reader
// accepts events of its own version and older ones; kinds that it does not
// know it carries as [Unknown].
const Version = 1

// Event is one thing that happened in a session.
type Event struct {
	// V is the schema version that wrote the event.
	V int
	// Session is the id of the session.
	Session string
	// Seq counts from 1 without gaps within the session; it is the cursor.
	// Zero means that no log has taken the event yet.
	Seq uint64
	// At is the wall clock of the writer, in UTC.
	At time.Time
	// Turn, Attempt and Item are ids within the session; empty where the
	// event belongs to none.
	Turn, Attempt, Item string
	// By is the cause of the event: "user", a client's name, "signal:SIGINT", "host", "turn". It is
	// empty if the turn itself caused the event.
	By string
	// Volatile reports that the journal failed and the event is in memory only. In JSON it is
	// "durable": false.
	Volatile bool
	// Data is the payload; its type is the event's kind.
	Data Data
}

// Kind is the kind of the event, or "" for an event without data.
func (e Event) Kind() Kind {
	if e.Data == nil {
		return ""
	}
	return e.Data.Kind()
}

// Durable reports whether the event must be on stable storage before work that depends
// on it continues: inputs, the start of a call (C5), endings.
func (e Event) Durable() bool {
	switch d := e.Data.(type) {
	case InputAccepted, InputHeld, InputDropped, CallStarted,
		TurnCompleted, TurnAborted, TurnFailed,
		SessionOpened, SessionRecovered, SessionClosed,
		ApprovalEnded, JobStarted, JobEnded, ChildStarted, ChildEnded:
		return true
	case ItemEnded:
		return d.Type == ToolCall
	}
	return false
}

// Terminal reports whether the event is the last one of its turn (C1).
func (e Event) Terminal() bool {
	switch e.Data.(type) {
	case TurnCompleted, TurnAborted, TurnFailed:
		return true
	}
	return false
}

// AppendJSON appends the event as one line of JSON, without the newline, for every
// reader of lines.
// Deltas, of which a session has thousands, are written without reflection.
// With an error nothing is appended.
func (e Event) AppendJSON(b []byte) ([]byte, error) {
	before := b
	b = append(b, `{"v":`...)
	b = appendInt(b, int64(e.V))
	b = appendField(b, `,"session":`, e.Session)
	b = append(b, `,"seq":`...)
	b = appendInt(b, int64(e.Seq))
	b = append(b, `,"at":"`...)
	b = e.At.UTC().AppendFormat(b, time.RFC3339Nano)
	b = append(b, '"')
	b = appendField(b, `,"turn":`, e.Turn)
	b = appendField(b, `,"attempt":`, e.Attempt)
	b = appendField(b, `,"item":`, e.Item)
	b = appendField(b, `,"by":`, e.By)
	if e.Volatile {
		b = append(b, `,"durable":false`...)
	}
	b = appendField(b, `,"kind":`, string(e.Kind()))
	b = append(b, `,"data":`...)
	b, err := appendData(b, e.Data)
	if err != nil {
		return before, fmt.Errorf("cannot encode a %s event: %w", e.Kind(), err)
	}
	return append(b, '}'), nil
}

func appendData(b []byte, d Data) ([]byte, error) {
	switch d := d.(type) {
	case nil:
		return b, errors.New("it says nothing")
	case ItemDelta:
		b = append(b, `{"stream":`...)
		b = AppendString(b, string(d.Stream))
		b = append(b, `,"text":`...)
		b = AppendString(b, d.Text)
		if d.Notice {
			b = append(b, `,"notice":true`...)
		}
		return append(b, '}'), nil
	case ItemEnded:
		if text := d.Text; len(text) >= longText {
			d.Text = "\x00"
			return appendLong(b, d, `"text":`, text)
		}
	case TurnCompleted:
		if text := d.Answer; len(text) >= longText {
			d.Answer = "\x00"
			return appendLong(b, d, `"answer":`, text)
		}
	case Unknown:
		return appendUnknown(b, d)
	}
	return AppendJSON(b, d)
}

// longText is the length, in bytes, from which a text is written without the copies of
// the JSON encoder: for an answer of megabytes, these copies are most of the memory
// that the end of a turn needs.
const longText = 16 << 10

// appendLong appends data that has a long text: it encodes the data with a NUL as the
// text and inserts the text there. No other string can be mistaken for the NUL field,
// since its quotes would be escaped, and foreign JSON comes after the text.
func appendLong(b []byte, d Data, key, text string) ([]byte, error) {
	raw, err := AppendJSON(nil, d)
	if err != nil {
		return b, err
	}
	before, after, found := bytes.Cut(raw, []byte(key+`"\u0000"`))
	if !found {
		return b, errors.New("its text has no place")
	}
	b = slices.Grow(b, len(raw)+len(text)+len(text)/16)
	b = append(append(b, before...), key...)
	return append(AppendString(b, text), after...), nil
}

// appendUnknown appends the data as it was written, byte for byte, unless that
// would not be one line of JSON.
func appendUnknown(b []byte, d Unknown) ([]byte, error) {
	switch {
	case d.Name == "":
		return b, errors.New("it has no kind")
	case len(d.Raw) == 0:
		return append(b, "{}"...), nil
	case !json.Valid(d.Raw):
		return b, errors.New("its data is not JSON")
	case bytes.ContainsAny(d.Raw, "\r\n"):
		buf := bytes.NewBuffer(b)
		err := json.Compact(buf, OneLine(d.Raw))
		return buf.Bytes(), err
	}
	return append(b, OneLine(d.Raw)...), nil
}

// MarshalJSON implements [json.Marshaler].
func (e Event) MarshalJSON() ([]byte, error) { return e.AppendJSON(nil) }

// envelope is the wire form of an Event.
type envelope struct {
	V       int             `json:"v"`
	Session string          `json:"session"`
	Seq     uint64          `json:"seq"`
	At      time.Time       `json:"at"`
	Turn    string          `json:"turn"`
	Attempt string          `json:"attempt"`
	Item    string          `json:"item"`
	By      string          `json:"by"`
	Durable *bool           `json:"durable"`
	Kind    Kind            `json:"kind"`
	Data    json.RawMessage `json:"data"`
}

// UnmarshalJSON implements [json.Unmarshaler]. A kind that this version does
// not know becomes [Unknown]; a version newer than ours is an error, since its
// known kinds may mean something else.
func (e *Event) UnmarshalJSON(raw []byte) error {
	got, err := new(Decoder).Decode(raw)
	if err != nil {
		return err
	}
	*e = got
	return nil
}

// NewerVersionError reports that an event was written by a newer settle.
type NewerVersionError struct{ Version int }

func (e *NewerVersionError) Error() string {
	return fmt.Sprintf(
		"the event has schema version %d and this settle knows %d: use a newer settle", e.Version, Version,
	)
}
