package event

import (
	"bytes"
	"encoding/json"
	"strconv"
	"unicode/utf8"
)

// AppendJSON appends v as one line of JSON. <, > and & are not escaped, as json.Marshal
// does: that would only make code unreadable in a log. With an error, AppendJSON returns b.
func AppendJSON(b []byte, v any) ([]byte, error) {
	var buf bytes.Buffer
	enc := json.NewEncoder(&buf)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return b, err
	}
	return append(b, OneLine(bytes.TrimSuffix(buf.Bytes(), []byte("\n")))...), nil
}

// OneLine escapes U+2028 and U+2029 in JSON, which some readers of lines, such as Node's
// readline, take for the end of a line. In JSON they occur in strings only.
func OneLine(raw []byte) []byte {
	if !bytes.Contains(raw, []byte("\u2028")) && !bytes.Contains(raw, []byte("\u2029")) {
		return raw
	}
	raw = bytes.ReplaceAll(raw, []byte("\u2028"), []byte(`\u2028`))
	return bytes.ReplaceAll(raw, []byte("\u2029"), []byte(`\u2029`))
}

func appendInt(b []byte, n int64) []byte { return strconv.AppendInt(b, n, 10) }

// appendField appends the name and the quoted value, or nothing if it is empty.
func appendField(b []byte, name, value string) []byte {
	if value == "" {
		return b
	}
	return AppendString(append(b, name...), value)
}

const hexDigits = "0123456789abcdef"

// AppendString appends s as a JSON string. Invalid UTF-8 becomes U+FFFD;
// control characters, U+2028 and U+2029 are escaped, so that the result is
// valid within JavaScript and never spans lines. The result equals
// the output of encoding/json without the escaping of HTML.
func AppendString(b []byte, s string) []byte {
	b = append(b, '"')
	start := 0
	for i := 0; i < len(s); {
		if c := s[i]; c < utf8.RuneSelf {
			if c >= ' ' && c != '"' && c != '\\' {
				i++
				continue
			}
			b = append(b, s[start:i]...)
			b = appendEscaped(b, c)
			i++
			start = i
			continue
		}
		r, size := utf8.DecodeRuneInString(s[i:])
		switch {
		case r == utf8.RuneError && size == 1:
			b = append(append(b, s[start:i]...), `\ufffd`...)
		case r == '\u2028' || r == '\u2029':
			b = append(append(b, s[start:i]...), `\u202`...)
			b = append(b, hexDigits[r&0xf])
		default:
			i += size
			continue
		}
		i += size
		start = i
	}
	b = append(b, s[start:]...)
	return append(b, '"')
}

func appendEscaped(b []byte, c byte) []byte {
	switch c {
	case '"', '\\':
		return append(b, '\\', c)
	case '\b':
		return append(b, '\\', 'b')
	case '\f':
		return append(b, '\\', 'f')
	case '\n':
		return append(b, '\\', 'n')
	case '\r':
		return append(b, '\\', 'r')
	case '\t':
		return append(b, '\\', 't')
	}
	return append(b, '\\', 'u', '0', '0', hexDigits[c>>4], hexDigits[c&0xf])
}
