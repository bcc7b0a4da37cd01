package jsonscan

import (
	"errors"
	"strconv"
	"strings"
	"unicode/utf16"
	"unicode/utf8"
)

// ErrSyntax is returned for input that is not JSON, or not the requested kind of JSON
// value.
var ErrSyntax = errors.New("not valid JSON")

const maxDepth = 1000

// Object walks over the members of an object.
type Object struct {
	// Key is the raw text between the quotes of the member's name, Value the
	// raw text of its value. Both are parts of the input.
	Key, Value []byte

	data  []byte
	pos   int
	state state
	err   error
}

type state uint8

const (
	atStart state = iota
	inMembers
	atEnd
)

// Members returns a walk over data, which must be an object.
func Members(data []byte) Object { return Object{data: data} }

// Err returns why the walk ended early, or nil.
func (o *Object) Err() error { return o.err }

// Next moves on to the next member and reports whether there is one.
func (o *Object) Next() bool {
	o.pos = skipSpace(o.data, o.pos)
	switch o.state {
	case atStart:
		if !o.take('{') {
			return o.fail()
		}
		o.state = inMembers
		o.pos = skipSpace(o.data, o.pos)
		if o.take('}') {
			return o.finish()
		}
	case inMembers:
		if o.take('}') {
			return o.finish()
		}
		if !o.take(',') {
			return o.fail()
		}
		o.pos = skipSpace(o.data, o.pos)
	case atEnd:
		return false
	}
	return o.member()
}

func (o *Object) member() bool {
	end := skipString(o.data, o.pos)
	if end < 0 {
		return o.fail()
	}
	o.Key = o.data[o.pos+1 : end-1]
	o.pos = skipSpace(o.data, end)
	if !o.take(':') {
		return o.fail()
	}
	from := skipSpace(o.data, o.pos)
	if end = skipValue(o.data, from, 1); end < 0 {
		return o.fail()
	}
	o.Value, o.pos = o.data[from:end], end
	return true
}

func (o *Object) take(c byte) bool {
	if o.pos < len(o.data) && o.data[o.pos] == c {
		o.pos++
		return true
	}
	return false
}

func (o *Object) finish() bool {
	o.state = atEnd
	if skipSpace(o.data, o.pos) != len(o.data) {
		o.err = ErrSyntax
	}
	return false
}

func (o *Object) fail() bool {
	o.state, o.err = atEnd, ErrSyntax
	return false
}

// IsNull reports whether value is null.
func IsNull(value []byte) bool { return string(value) == "null" }

// IsString reports whether value is a string.
func IsString(value []byte) bool { return len(value) > 0 && value[0] == '"' }

// Is reports whether value is the string s, written without escapes.
func Is(value []byte, s string) bool {
	return len(value) == len(s)+2 && value[0] == '"' && string(value[1:len(value)-1]) == s
}

// Int returns a value that is an integer.
func Int(value []byte) (int, error) {
	n, err := strconv.Atoi(string(value))
	if err != nil {
		return 0, ErrSyntax
	}
	return n, nil
}

// String returns a string value; null gives "". It allocates only the result.
func String(value []byte) (string, error) {
	if IsNull(value) {
		return "", nil
	}
	if !IsString(value) {
		return "", ErrSyntax
	}
	text := value[1 : len(value)-1]
	if plain(text) {
		return string(text), nil
	}
	return unquote(text), nil
}

func plain(text []byte) bool {
	for _, c := range text {
		if c == '\\' || c >= utf8.RuneSelf {
			return false
		}
	}
	return true
}

// unquote decodes a string's inside, which skipString has checked. Bytes that
// are not UTF-8 and lone surrogates become U+FFFD, as in encoding/json.
func unquote(text []byte) string {
	var b strings.Builder
	b.Grow(len(text))
	for i := 0; i < len(text); {
		c := text[i]
		switch {
		case c != '\\' && c < utf8.RuneSelf:
			b.WriteByte(c)
			i++
		case c != '\\':
			r, n := utf8.DecodeRune(text[i:])
			b.WriteRune(r)
			i += n
		case text[i+1] == 'u':
			r := hex4(text[i+2:])
			i += 6
			if utf16.IsSurrogate(r) {
				r2 := rune(-1)
				if i+6 <= len(text) && text[i] == '\\' && text[i+1] == 'u' {
					r2 = hex4(text[i+2:])
				}
				if r = utf16.DecodeRune(r, r2); r != utf8.RuneError {
					i += 6
				}
			}
			b.WriteRune(r)
		default:
			b.WriteByte(unescape(text[i+1]))
			i += 2
		}
	}
	return b.String()
}

func unescape(c byte) byte {
	switch c {
	case 'b':
		return '\b'
	case 'f':
		return '\f'
	case 'n':
		return '\n'
	case 'r':
		return '\r'
	case 't':
		return '\t'
	}
	return c
}

// hex4 returns the value of four hexadecimal digits, or -1.
func hex4(text []byte) rune {
	if len(text) < 4 {
		return -1
	}
	var r rune
	for _, c := range text[:4] {
		switch {
		case '0' <= c && c <= '9':
			c -= '0'
		case 'a' <= c && c <= 'f':
			c -= 'a' - 10
		case 'A' <= c && c <= 'F':
			c -= 'A' - 10
		default:
			return -1
		}
		r = r<<4 | rune(c)
	}
	return r
}
