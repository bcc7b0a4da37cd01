package jsonrpc

import (
	"bytes"
	"encoding/json"
)

// tooLong returns the answer to a line that exceeds the limit. The answer has the id from
// the beginning of the line, if it is there, so that the sender does not wait forever.
func tooLong(start []byte, limit int) *refusal {
	id, method, answer := head(start)
	r := refuse(null(), CodeInvalidRequest, "the message has more than %d bytes", limit)
	r.answer = answer
	if id != nil && (method || answer) {
		r.id = id
	}
	return r
}

// head reads the members of an incomplete object up to the first member that is not a
// plain value.
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
