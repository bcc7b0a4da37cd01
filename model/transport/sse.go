package transport

import (
	"bytes"
	"errors"
	"io"
)

// ErrTooLong is returned for an event that is longer than the limit.
var ErrTooLong = errors.New("event is too long")

// DefaultLimit is the default maximum length of an event, in bytes as received.
const DefaultLimit = 32 << 20

// firstBuffer is the initial size of the buffer in bytes; most events fit into it. The buffer grows
// for longer events, and up to fastBuffer for a source that fills it: a host with many slow streams
// has many buffers.
const firstBuffer, fastBuffer = 1 << 10, 4 << 10

// ServerSentEvent is one event, or one comment. Its bytes are valid until the next
// call of [SSEReader.Next].
type ServerSentEvent struct {
	// Comment reports that Data is a comment and not an event.
	Comment bool
	// Type is the event's name; empty means "message".
	Type []byte
	// Data is the event's data, or the comment's text.
	Data []byte
}

// span is a part of the buffer, relative to the start of the event.
type span struct{ from, to int }

// SSEReader reads events. It is not safe for concurrent use.
type SSEReader struct {
	src   io.Reader
	limit int

	buf     []byte
	start   int // where the event being read begins
	pos     int // where the line being read begins
	scanned int // up to where the line being read has no LF
	end     int // end of the data in the buffer

	fast   bool // the last read filled the buffer
	begun  bool // the byte order mark was looked for
	skipLF bool // the last line ended with CR: LF is part of its ending
	err    error

	// The event being read.
	kind   span
	data   span // a single data line, within buf
	joined []byte
	lines  int // data lines
}

// NewSSEReader returns a reader of events of at most limit bytes; 0 means
// [DefaultLimit].
func NewSSEReader(src io.Reader, limit int) *SSEReader {
	if limit <= 0 {
		limit = DefaultLimit
	}
	return &SSEReader{src: src, limit: limit}
}

// Next returns the next event or comment. It returns io.EOF at the end of the stream, [ErrTooLong]
// (final) for an oversized event, and otherwise the error of the source.
func (r *SSEReader) Next() (ServerSentEvent, error) {
	for {
		line, err := r.line()
		if err != nil {
			return ServerSentEvent{}, err
		}
		if len(line) == 0 {
			if e, ok := r.dispatch(); ok {
				return e, nil
			}
			continue
		}
		if line[0] == ':' {
			return ServerSentEvent{Comment: true, Data: trimSpace(line[1:])}, nil
		}
		r.field(line)
	}
}

// field takes in one line of the event being read. It ignores id and retry: settle repeats
// the request and never resumes a stream.
func (r *SSEReader) field(line []byte) {
	name, value, _ := bytes.Cut(line, []byte{':'})
	value = trimSpace(value)
	switch string(name) {
	case "data":
		r.addData(value)
	case "event":
		r.kind = r.spanOf(value)
	}
}

func (r *SSEReader) addData(value []byte) {
	switch r.lines {
	case 0:
		r.data = r.spanOf(value)
	case 1:
		r.joined = append(r.joined[:0], r.at(r.data)...)
		fallthrough
	default:
		r.joined = append(append(r.joined, '\n'), value...)
	}
	r.lines++
}

// dispatch ends the event being read and reports whether it was one.
func (r *SSEReader) dispatch() (ServerSentEvent, bool) {
	lines := r.lines
	e := ServerSentEvent{Type: r.at(r.kind)}
	switch lines {
	case 0:
	case 1:
		e.Data = r.at(r.data)
	default:
		e.Data = r.joined
	}
	r.start = r.pos
	r.kind, r.data, r.lines = span{}, span{}, 0
	return e, lines > 0
}

// spanOf returns where value, a part of the buffer, is.
func (r *SSEReader) spanOf(value []byte) span {
	if len(value) == 0 {
		return span{}
	}
	// A slice's distance to its array's end determines its start.
	from := cap(r.buf) - cap(value) - r.start
	return span{from, from + len(value)}
}

func (r *SSEReader) at(s span) []byte {
	return r.buf[r.start+s.from : r.start+s.to]
}

// line returns the next line without its ending.
func (r *SSEReader) line() ([]byte, error) {
	for {
		if r.begin() {
			window := r.buf[r.pos:r.end]
			stop := bytes.IndexByte(window[r.scanned:], '\n')
			if stop >= 0 {
				stop += r.scanned
			}
			upTo := len(window)
			if stop >= 0 {
				upTo = stop
			}
			if cr := bytes.IndexByte(window[r.scanned:upTo], '\r'); cr >= 0 {
				stop = r.scanned + cr
				r.skipLF = true
			}
			if stop >= 0 {
				r.pos += stop + 1
				r.scanned = 0
				return window[:stop], nil
			}
			r.scanned = len(window)
		}
		if err := r.fill(); err != nil {
			return nil, err
		}
	}
}

// begin skips bytes that can stand before a line, and reports whether there is enough input to
// inspect the line.
func (r *SSEReader) begin() bool {
	if r.skipLF && r.pos < r.end {
		r.skipLF = false
		if r.buf[r.pos] == '\n' {
			r.pos++
			if r.lines == 0 && r.kind == (span{}) {
				r.start = r.pos
			}
		}
	}
	if !r.begun {
		const bom = "\xef\xbb\xbf"
		head := r.buf[r.pos:r.end]
		if len(head) < len(bom) && r.err == nil && string(head) == bom[:len(head)] {
			return false
		}
		r.begun = true
		if bytes.HasPrefix(head, []byte(bom)) {
			r.pos += len(bom)
		}
	}
	return r.pos < r.end
}

// fill reads more, having made room.
func (r *SSEReader) fill() error {
	if r.err != nil {
		return r.err
	}
	if r.lines == 0 && r.kind == (span{}) {
		r.start = r.pos // nothing before the line is needed
	}
	if r.start > 0 {
		copy(r.buf, r.buf[r.start:r.end])
		r.pos, r.end, r.start = r.pos-r.start, r.end-r.start, 0
	}
	if r.end >= r.limit {
		r.err = ErrTooLong
		return r.err
	}
	if r.end == len(r.buf) || r.fast && len(r.buf) < fastBuffer {
		r.fast = false
		size := min(max(firstBuffer, 2*len(r.buf)), r.limit)
		grown := make([]byte, size)
		copy(grown, r.buf[:r.end])
		r.buf = grown
	}
	for range 100 {
		n, err := r.src.Read(r.buf[r.end:])
		r.end += n
		r.fast = r.end == len(r.buf)
		if err != nil {
			r.err = err
		}
		if n > 0 {
			return nil
		}
		if err != nil {
			return err
		}
	}
	r.err = io.ErrNoProgress
	return r.err
}

func trimSpace(value []byte) []byte {
	if len(value) > 0 && value[0] == ' ' {
		return value[1:]
	}
	return value
}
