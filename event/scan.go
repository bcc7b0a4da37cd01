package event

import (
	"bytes"
	"encoding/json"
	"strconv"
	"strings"
	"unicode/utf16"
	"unicode/utf8"
)

// lineScanner reads JSON in exactly the form that this package writes: the fields in
// their order, no white space. It fails at any other input; encoding/json then reads the
// line.
type lineScanner struct {
	b      []byte
	at     int
	failed bool
	later  bool // a field of the object was read
}

// literal skips the text, if it is next.
func (p *lineScanner) literal(text string) bool {
	if p.failed || len(p.b)-p.at < len(text) || string(p.b[p.at:p.at+len(text)]) != text {
		return false
	}
	p.at += len(text)
	return true
}

func (p *lineScanner) expect(text string) {
	if !p.literal(text) {
		p.failed = true
	}
}

// begin skips the brace before an object's fields.
func (p *lineScanner) begin() {
	p.expect("{")
	p.later = false
}

// end skips the brace after an object, which must be the last byte.
func (p *lineScanner) end() bool {
	p.expect("}")
	return !p.failed && p.at == len(p.b)
}

// field skips the name of the field and reports whether it was next.
func (p *lineScanner) field(name string) bool {
	at := p.at
	if p.later && !p.literal(",") {
		return false
	}
	if p.literal(`"`) && p.literal(name) && p.literal(`":`) {
		p.later = true
		return true
	}
	p.at = at
	return false
}

// textField reads a field that may be missing, a string.
func textField[T ~string](p *lineScanner, name string, to *T) {
	if p.field(name) {
		*to = T(p.string())
	}
}

// known is textField for a value that is probably equal to its previous value, so that
// all events share one string.
func (p *lineScanner) known(name string, to *string) {
	if !p.field(name) {
		*to = ""
		return
	}
	if n := p.at + 1 + len(*to); n < len(p.b) && p.b[p.at] == '"' && p.b[n] == '"' && string(p.b[p.at+1:n]) == *to &&
		plain(*to) {
		p.at = n + 1
		return
	}
	*to = p.string()
}

// plain reports whether the JSON form of the text has no escapes.
func plain(s string) bool {
	for _, c := range []byte(s) {
		if c < ' ' || c == '"' || c == '\\' || c >= utf8.RuneSelf {
			return false
		}
	}
	return true
}

// numberField reads a field that may be missing, a whole number.
func numberField[T ~int | ~int64](p *lineScanner, name string, to *T) {
	if p.field(name) {
		*to = T(p.int())
	}
}

func (p *lineScanner) int() int64 {
	start := p.at
	for p.at < len(p.b) && (p.b[p.at] >= '0' && p.b[p.at] <= '9' || p.b[p.at] == '-') {
		p.at++
	}
	digits := p.b[start:p.at]
	if p.at == len(p.b) || len(digits) > 1 && digits[0] == '0' || len(digits) > 18 ||
		bytes.LastIndexByte(digits, '-') > 0 ||
		bytes.HasPrefix(digits, []byte("-0")) {
		p.failed = true
		return 0
	}
	n, err := strconv.ParseInt(string(digits), 10, 64)
	p.failed = p.failed || err != nil
	return n
}

// decimal reads a number that may be missing, as encoding/json does.
func (p *lineScanner) decimal(name string, to **float64) {
	if !p.field(name) {
		return
	}
	start := p.at
	for p.at < len(p.b) && strings.IndexByte("0123456789+-.eE", p.b[p.at]) >= 0 {
		p.at++
	}
	if json.Unmarshal(p.b[start:p.at], to) != nil {
		p.failed = true
	}
}

// object reads a field that may be missing, of any form, as encoding/json does.
func (p *lineScanner) object(name string, to any) {
	if !p.field(name) {
		return
	}
	raw := p.value()
	if p.failed || string(raw) == "null" || json.Unmarshal(raw, to) != nil {
		p.failed = true
	}
}

// value skips an object or a list, by its brackets only, and returns it.
func (p *lineScanner) value() []byte {
	start, depth := p.at, 0
	for ; p.at < len(p.b); p.at++ {
		switch p.b[p.at] {
		case '"':
			p.at += stringEnd(p.b[p.at+1:])
		case '{', '[':
			depth++
		case '}', ']':
			depth--
		}
		if depth == 0 {
			break
		}
	}
	if start >= len(p.b) || p.at >= len(p.b) || p.b[start] != '{' && p.b[start] != '[' {
		p.failed = true
		return nil
	}
	p.at++
	return p.b[start:p.at]
}

// stringEnd returns the offset after the closing quote, counted from the opening quote;
// an offset beyond the end if there is none.
func stringEnd(b []byte) int {
	for n := 0; n < len(b); n++ {
		switch b[n] {
		case '\\':
			n++
		case '"':
			return n + 1
		}
	}
	return len(b) + 1
}

// string reads a string.
func (p *lineScanner) string() string {
	p.expect(`"`)
	if p.failed {
		return ""
	}
	rest := p.b[p.at:]
	n := simple(rest)
	if n < len(rest) && rest[n] == '"' {
		p.at += n + 1
		return string(rest[:n])
	}
	return p.escaped(n)
}

// simple returns the number of leading bytes that are not escaped.
func simple(b []byte) int {
	for n, c := range b {
		if c < ' ' || c == '"' || c == '\\' || c >= utf8.RuneSelf {
			return n
		}
	}
	return len(b)
}

// escaped reads the rest of a string, of which n bytes are simple.
func (p *lineScanner) escaped(n int) string {
	rest := p.b[p.at:]
	out := make([]byte, 0, stringLen(rest))
	for {
		out = append(out, rest[:n]...)
		rest = rest[n:]
		if len(rest) == 0 {
			p.failed = true
			return ""
		}
		switch c := rest[0]; {
		case c == '"':
			p.at = len(p.b) - len(rest) + 1
			return string(out)
		case c == '\\':
			out, n = unescape(out, rest)
		case c >= utf8.RuneSelf:
			r, size := utf8.DecodeRune(rest)
			if n = size; r == utf8.RuneError && size == 1 {
				n = 0
			} else {
				out = append(out, rest[:n]...)
			}
		default:
			n = 0
		}
		if n == 0 {
			p.failed = true
			return ""
		}
		rest = rest[n:]
		n = simple(rest)
	}
}

// stringLen bounds the length of the string that b begins with.
func stringLen(b []byte) int { return min(stringEnd(b), len(b)) }

// unescape appends the value of the escape at the beginning of b and returns the length
// of the escape; 0 for an escape that encoding/json must decode.
func unescape(out, b []byte) ([]byte, int) {
	if len(b) < 2 {
		return out, 0
	}
	switch b[1] {
	case '"', '\\', '/':
		return append(out, b[1]), 2
	case 'n':
		return append(out, '\n'), 2
	case 't':
		return append(out, '\t'), 2
	case 'r':
		return append(out, '\r'), 2
	case 'b':
		return append(out, '\b'), 2
	case 'f':
		return append(out, '\f'), 2
	case 'u':
		if len(b) < 6 {
			return out, 0
		}
		r, err := strconv.ParseUint(string(b[2:6]), 16, 32)
		if err != nil || utf16.IsSurrogate(rune(r)) {
			return out, 0
		}
		return utf8.AppendRune(out, rune(r)), 6
	}
	return out, 0
}
