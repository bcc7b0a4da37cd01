package jsonrpc

import (
	"bytes"
	"encoding/json"
)

// Append appends the value as a line with its newline. Code in it stays readable:
// what only browsers must not see (<, > and &) is not escaped. With an error
// nothing is appended.
func Append(b []byte, value any) ([]byte, error) {
	var line bytes.Buffer
	e := json.NewEncoder(&line)
	e.SetEscapeHTML(false)
	if err := e.Encode(value); err != nil {
		return b, err
	}
	return append(b, Escape(line.Bytes())...), nil
}

// Escape escapes U+2028 and U+2029 in JSON. They occur in strings only, and
// come from other programs' JSON that settle passes on unchanged.
func Escape(raw []byte) []byte {
	if !bytes.Contains(raw, []byte("\u2028")) && !bytes.Contains(raw, []byte("\u2029")) {
		return raw
	}
	raw = bytes.ReplaceAll(raw, []byte("\u2028"), []byte(`\u2028`))
	return bytes.ReplaceAll(raw, []byte("\u2029"), []byte(`\u2029`))
}
