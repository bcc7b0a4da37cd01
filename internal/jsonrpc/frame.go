package jsonrpc

import (
	"bytes"
	"encoding/json"
)

// tooLong says what is answered to a line that is too long. Whoever waits for
// its answer shall not wait for ever, so the id is taken from the beginning of
// the line, if it is there.
func tooLong(start []byte, limit int) *refusal {
	id, method, answer := head(start)
	r := refuse(null(), CodeInvalidRequest, "the message has more than %d bytes", limit)
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
