package file

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode/utf16"
	"unicode/utf8"

	"github.com/settle-agent/settle/event"
)

// source is the value of a cell's text, one string or a list of strings.
type source struct {
	span // in the file

	cell    int // from 1
	strings []literal
	isList  bool
	text    string // of all strings; a character that a Go string cannot hold is noText
}

// literal is a JSON string in the file.
type literal struct {
	span // with its quotes

	text string
}

// noText is in no text of a call, which is valid UTF-8.
const noText = "\xff"

// cellSources returns the texts of a notebook's cells; nil for a file that is no notebook.
func cellSources(data []byte) (list []source) {
	n, _, err := readNotebook(bytes.NewReader(data))
	if err != nil || n == nil {
		return nil
	}
	shift := len(data) - len(bytes.TrimPrefix(data, []byte(utf8BOM)))
	in := json.NewDecoder(bytes.NewReader(data[shift:]))
	err = eachField(in, func(key string) error {
		if !strings.EqualFold(key, "cells") { // as encoding/json compares keys
			return skip(in)
		}
		cell := 0
		list = nil // the last one counts, as for readNotebook
		return eachElement(in, func() error {
			cell++
			return eachField(in, func(key string) error {
				if !strings.EqualFold(key, "source") {
					return skip(in)
				}
				one := source{cell: cell}
				if err := one.read(in, data, shift); err != nil {
					return err
				}
				if last := len(list) - 1; last >= 0 && list[last].cell == cell {
					list = list[:last]
				}
				list = append(list, one)
				return nil
			})
		})
	})
	if err != nil {
		return nil
	}
	return list
}

// read reads the value from in, which reads data from the offset on.
func (s *source) read(in *json.Decoder, data []byte, offset int) error {
	var raw json.RawMessage
	if err := in.Decode(&raw); err != nil {
		return err
	}
	s.to = offset + int(in.InputOffset())
	s.from = s.to - len(raw)
	add := func(at span) {
		var text strings.Builder
		for raw := data[at.from+1 : at.to-1]; len(raw) > 0; {
			size, one := character(raw)
			text.WriteString(one)
			raw = raw[size:]
		}
		s.strings = append(s.strings, literal{at, text.String()})
		s.text += text.String()
	}
	if raw[0] == '"' {
		add(s.span)
		return nil
	}
	s.isList = true
	list := json.NewDecoder(bytes.NewReader(raw))
	return eachElement(list, func() error {
		var element json.RawMessage
		if err := list.Decode(&element); err != nil {
			return err
		}
		if element[0] != '"' {
			return errors.New("it is no text")
		}
		to := s.from + int(list.InputOffset())
		add(span{to - len(element), to})
		return nil
	})
}

// character returns the size of the first character of a JSON string, and its text.
func character(raw []byte) (size int, text string) {
	unit := func(raw []byte) rune {
		if len(raw) < 6 || raw[0] != '\\' || raw[1] != 'u' {
			return 0
		}
		n, _ := strconv.ParseUint(string(raw[2:6]), 16, 16) // the decoder has checked it
		return rune(n)
	}
	first, second := unit(raw), unit(raw[min(6, len(raw)):])
	switch {
	case raw[0] != '\\':
		r, size := utf8.DecodeRune(raw)
		if r == utf8.RuneError && size == 1 {
			return size, noText
		}
		return size, string(raw[:size])
	case raw[1] != 'u':
		size = 2
	case !utf16.IsSurrogate(first):
		size = 6
	case utf16.DecodeRune(first, second) == utf8.RuneError:
		return 6, noText
	default:
		size = 12
	}
	_ = json.Unmarshal(slices.Concat([]byte{'"'}, raw[:size], []byte{'"'}), &text) // the same
	return size, text
}

// eachField calls field for each key of the next object. The function reads the value.
func eachField(in *json.Decoder, field func(key string) error) error {
	if begin, err := in.Token(); err != nil || begin != json.Delim('{') {
		return cmp.Or(err, errors.New("it is no object"))
	}
	for in.More() {
		key, err := in.Token()
		if err != nil {
			return err
		}
		name, _ := key.(string)
		if err := field(name); err != nil {
			return err
		}
	}
	_, err := in.Token()
	return err
}

// eachElement calls element for each element of the next list, or never for null. The function
// reads the element.
func eachElement(in *json.Decoder, element func() error) error {
	begin, err := in.Token()
	switch {
	case err != nil:
		return err
	case begin == nil:
		return nil
	case begin != json.Delim('['):
		return fmt.Errorf("%v is no list", begin)
	}
	for in.More() {
		if err := element(); err != nil {
			return err
		}
	}
	_, err = in.Token()
	return err
}

// skip reads a value.
func skip(in *json.Decoder) error {
	var raw json.RawMessage
	return in.Decode(&raw)
}

// substituteCells replaces a text in the cells of a notebook, as read shows them, and changes
// no other byte. n is 0 if no cell has the text.
func substituteCells(s *snapshot, in EditArguments) (out []byte, n int, err error) {
	at := 0
	var cells []int
	for _, one := range cellSources(s.data) {
		found := places(one.text, in.Old)
		if len(found) == 0 {
			continue
		}
		n += len(found)
		cells = append(cells, one.cell)
		out = append(out, s.data[at:one.from]...)
		out = append(out, one.replaced(s.data, found, in.New)...)
		if at = one.to; len(out) > maxEditBytes {
			return nil, 0, fmt.Errorf("%q would grow beyond the %s that this tool writes; nothing was changed",
				s.Shown, byteCount(maxEditBytes))
		}
	}
	if n > 1 && !in.All {
		return nil, 0, fmt.Errorf("old_string occurs %d times in %q, in the cells %s; nothing was changed. "+
			"Take in more lines around the one you mean, or set replace_all", n, s.Shown,
			listed(cells[:min(len(cells), maxListed)], len(cells)))
	}
	return append(out, s.data[at:]...), n, nil
}

// places returns where a text has another, in order and without overlaps.
func places(text, part string) (list []span) {
	for at := 0; ; {
		next := strings.Index(text[at:], part)
		if next < 0 {
			return list
		}
		list = append(list, span{at + next, at + next + len(part)})
		at += next + len(part)
	}
}

// replaced returns the value with a text at the places. Each line of a list that no place
// touches keeps its bytes, as do the other characters of a line and the white space.
func (s *source) replaced(data []byte, places []span, text string) []byte {
	w := sourceWriter{isList: s.isList, separator: []byte(", ")}
	switch first := s.strings[0]; {
	case len(s.strings) > 1:
		w.separator = data[first.to:s.strings[1].from]
	case s.isList && first.from > s.from+1:
		w.separator = slices.Concat([]byte(","), data[s.from+1:first.from])
	}
	at := 0 // in the text
	for n, one := range s.strings {
		isTouched, continues := false, false
		for raw := data[one.from+1 : one.to-1]; len(raw) > 0; {
			for len(places) > 0 && at >= places[0].to {
				places = places[1:]
			}
			size, character := character(raw)
			if continues = len(places) > 0 && at >= places[0].from; continues {
				isTouched = true
				if at == places[0].from {
					w.add(text)
				}
			} else {
				w.open = append(w.open, raw[:size]...)
			}
			at, raw = at+len(character), raw[size:]
		}
		if n == len(s.strings)-1 {
			w.end(nil, !isTouched || !s.isList)
			break
		}
		// A line without its old end includes the next string.
		continues = continues && len(w.open) > 0 && (at < places[0].to || strings.HasSuffix(one.text, "\n"))
		if !continues {
			w.end(data[one.to:s.strings[n+1].from], !isTouched)
		}
	}
	switch {
	case !s.isList:
		return w.out
	case len(w.out) == 0:
		return []byte("[]")
	}
	first, last := s.strings[0].from, s.strings[len(s.strings)-1].to
	return slices.Concat(data[s.from:first], w.out, data[last:s.to])
}

// sourceWriter writes the strings of a cell's text.
type sourceWriter struct {
	isList    bool
	separator []byte // between new strings

	out  []byte
	next []byte // the separator before the next string
	open []byte // the content of the string that has no end yet
}

// add adds a text to the open string. Each line of a list is a string.
func (w *sourceWriter) add(text string) {
	for line := range strings.SplitAfterSeq(text, "\n") {
		encoded := event.AppendString(nil, line)
		w.open = append(w.open, encoded[1:len(encoded)-1]...)
		if w.isList && strings.HasSuffix(line, "\n") {
			w.end(w.separator, true)
		}
	}
}

// end ends the open string; next separates it from the following string. An empty string is left
// out unless it is kept.
func (w *sourceWriter) end(next []byte, keep bool) {
	if keep || len(w.open) > 0 {
		if len(w.out) > 0 {
			w.out = append(w.out, w.next...)
		}
		w.out = append(append(append(w.out, '"'), w.open...), '"')
	}
	w.next, w.open = next, nil
}
