package shell

import (
	"bytes"
	"unicode/utf8"
)

// maxHeld bounds the redrawn line that folder holds back.
const maxHeld = 4 << 10

// folder converts a program's output to text as it arrives: valid UTF-8, with characters
// joined across writes, and with only the first and the last state of a line that the
// program redraws with carriage returns.
type folder struct {
	partial []byte // beginning of an incomplete character
	cr      bool   // the last byte was a carriage return
	redrawn bool   // the line was drawn before: held replaces it at its end
	shown   bool   // a part of the line has been returned
	held    []byte

	escapes  bool // strip terminal escapes
	escape   escapeState
	seen     int64 // received bytes
	unusable int64 // received bytes that are not text
}

// add returns the text that can no longer change.
func (f *folder) add(data []byte) []byte {
	f.seen += int64(len(data))
	if len(f.partial) > 0 {
		data = append(f.partial, data...)
		f.partial = nil
	}
	out := make([]byte, 0, len(data))
	for len(data) > 0 {
		if !utf8.FullRune(data) {
			f.partial = bytes.Clone(data)
			break
		}
		r, size := utf8.DecodeRune(data)
		char := data[:size]
		data = data[size:]
		if f.escapes && f.escape.swallow(r) {
			continue
		}
		if r == 0 || r == utf8.RuneError && size == 1 {
			f.unusable++
			char = []byte("\uFFFD")
		}
		out = f.put(out, char)
	}
	return out
}

// put adds one character to the current line.
func (f *folder) put(out, char []byte) []byte {
	switch {
	case char[0] == '\r':
		f.cr = true
		return out
	case char[0] == '\n':
		out = append(f.flush(out), '\n')
		f.cr, f.shown = false, false
		return out
	case f.cr:
		f.cr = false
		f.redrawn = f.shown || f.redrawn
		f.held = f.held[:0]
	}
	if f.redrawn {
		if len(f.held) < maxHeld {
			f.held = append(f.held, char...)
		}
		return out
	}
	f.shown = true
	return append(out, char...)
}

// flush ends the current line.
func (f *folder) flush(out []byte) []byte {
	if f.redrawn {
		out = append(append(out, '\n'), f.held...)
	}
	f.redrawn, f.held = false, f.held[:0]
	return out
}

// end returns the rest.
func (f *folder) end() []byte {
	var out []byte
	if len(f.partial) > 0 {
		f.unusable += int64(len(f.partial))
		out = f.put(out, []byte("\uFFFD"))
		f.partial = nil
	}
	return f.flush(out)
}

// binary reports whether the output is not text: at least a tenth of it. A few irregular
// bytes are shown unchanged.
func (f *folder) binary() bool { return f.seen >= 64 && f.unusable*10 > f.seen }

// escapeState tracks a terminal's escape sequences (ECMA-48).
type escapeState byte

const (
	plain        escapeState = iota
	afterEscape              // ESC
	inControl                // ESC [ … until a byte of 0x40–0x7E
	inString                 // ESC ] (or P, X, ^, _) … until BEL or ESC \
	inStringLast             // ESC within such a string
)

// swallow reports whether the character belongs to an escape sequence.
func (s *escapeState) swallow(r rune) bool {
	switch *s {
	case plain:
		if r != 0x1b {
			return false
		}
		*s = afterEscape
	case afterEscape:
		switch {
		case r == '[':
			*s = inControl
		case r == ']' || r == 'P' || r == 'X' || r == '^' || r == '_':
			*s = inString
		case r < 0x20 || r > 0x2f: // 0x20–0x2F precede a final byte
			*s = plain
		}
	case inControl:
		if r >= 0x40 && r <= 0x7e {
			*s = plain
		}
	case inString:
		switch r {
		case 0x07:
			*s = plain
		case 0x1b:
			*s = inStringLast
		}
	case inStringLast:
		*s = plain
	}
	return true
}
