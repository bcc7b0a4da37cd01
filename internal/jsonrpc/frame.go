package jsonrpc

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"io"
)

// frames reads lines of a bounded length.
type frames struct {
	in  *bufio.Reader
	max int
}

// frame is one line: all of it, or, if it is too long, its beginning.
type frame struct {
	line []byte
	long bool
}

// next returns the next line that is not empty. The last one needs no newline.
func (f *frames) next() (frame, error) {
	for {
		line, err := f.read()
		if len(bytes.TrimSpace(line.line)) > 0 || line.long {
			return line, nil // err comes again
		}
		if err != nil {
			return frame{}, err
		}
	}
}

// read reads to the end of the line and keeps max bytes of it.
func (f *frames) read() (frame, error) {
	var got frame
	for {
		part, err := f.in.ReadSlice('\n')
		part = bytes.TrimSuffix(part, []byte{'\n'})
		room := f.max - len(got.line)
		if len(part) > room {
			got.long = true
			part = part[:room]
		}
		got.line = append(got.line, part...)
		if !errors.Is(err, bufio.ErrBufferFull) {
			return got, err
		}
	}
}

// refusal says what is answered to a line that is too long. Whoever waits for
// its answer shall not wait for ever, so the id is taken from the beginning of
// the line, if it is there.
func (f *frames) refusal(start []byte) *refusal {
	id, method, answer := head(start)
	r := refuse(null(), CodeInvalidRequest, "the message has more than %d bytes", f.max)
	r.answer = answer
	if id != nil && (method || answer) {
		r.id = id
	}
	return r
}

// head reads the members of an object, as far as it goes, up to the first one
// that is no plain value.
func head(start []byte) (id json.RawMessage, method, answer bool) {
	d := json.NewDecoder(bytes.NewReader(start))
	d.UseNumber()
	if open, err := d.Token(); err != nil || open != json.Delim('{') {
		return nil, false, false
	}
	for {
		key, err := d.Token()
		name, ok := key.(string)
		if err != nil || !ok {
			return id, method, answer
		}
		switch name {
		case "method":
			method = true
		case "result", "error":
			return id, method, !method
		}
		value, err := d.Token()
		if _, nested := value.(json.Delim); err != nil || nested {
			return id, method, answer
		}
		if name == "id" {
			raw, err := json.Marshal(value)
			if err == nil && validID(raw) {
				id = raw
			}
		}
	}
}

// newFrames returns a reader of lines.
func newFrames(in io.Reader, limit int) *frames {
	return &frames{in: bufio.NewReaderSize(in, 64<<10), max: limit}
}
