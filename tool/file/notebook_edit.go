package file

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
)

// source is the text of a cell, and its place in the file.
type source struct {
	span

	cell int // from 1
	text string
}

// cellSources returns the texts of a notebook's cells; nil for a file that is no notebook.
func cellSources(data []byte) (list []source) {
	n, _, err := readNotebook(bytes.NewReader(data))
	if err != nil || n == nil {
		return nil
	}
	shift := len(data) - len(bytes.TrimPrefix(data, []byte(utf8BOM)))
	in := json.NewDecoder(bytes.NewReader(data[shift:]))
	cell := 0
	_ = eachField(in, func(key string) error { // readNotebook has read the same JSON
		if key != "cells" {
			return skip(in)
		}
		cell, list = 0, nil // the last one counts, as for readNotebook
		if _, err := in.Token(); err != nil {
			return err
		}
		for in.More() {
			cell++
			err := eachField(in, func(key string) error {
				if key != "source" {
					return skip(in)
				}
				var raw json.RawMessage
				if err := in.Decode(&raw); err != nil {
					return err
				}
				one := source{cell: cell, text: string(n.Cells[cell-1].Source)}
				one.to = shift + int(in.InputOffset())
				one.from = one.to - len(raw)
				if last := len(list) - 1; last >= 0 && list[last].cell == cell {
					list = list[:last]
				}
				list = append(list, one)
				return nil
			})
			if err != nil {
				return err
			}
		}
		_, err := in.Token()
		return err
	})
	return list
}

// eachField calls field for each key of the next object. The function reads the value.
func eachField(in *json.Decoder, field func(key string) error) error {
	if _, err := in.Token(); err != nil {
		return err
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
		found := strings.Count(one.text, in.Old)
		if found == 0 {
			continue
		}
		n += found
		cells = append(cells, one.cell)
		raw := s.data[one.from:one.to]
		out = append(out, s.data[at:one.from]...)
		out = append(out, encodeSource(strings.ReplaceAll(one.text, in.Old, in.New), raw)...)
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

// encodeSource writes a cell's text in the form of its old value: one string, or a list of
// lines with the same white space.
func encodeSource(text string, old []byte) []byte {
	if old[0] != '[' {
		return encodeString(text)
	}
	first, last := bytes.IndexByte(old, '"'), bytes.LastIndexByte(old, '"')
	var begin, end []byte
	if first >= 0 {
		begin, end = old[1:first], old[last+1:len(old)-1]
	}
	between := begin
	if len(between) == 0 {
		between = []byte(" ")
	}
	out := []byte("[")
	for n, line := range strings.SplitAfter(text, "\n") {
		if line == "" {
			continue
		}
		if n == 0 {
			out = append(out, begin...)
		} else {
			out = append(append(out, ','), between...)
		}
		out = append(out, encodeString(line)...)
	}
	return append(append(out, end...), ']')
}

// encodeString writes a JSON string as Jupyter does: only what must be escaped is.
func encodeString(s string) []byte {
	var out bytes.Buffer
	to := json.NewEncoder(&out)
	to.SetEscapeHTML(false)
	_ = to.Encode(s) // a string in memory
	return bytes.TrimSuffix(out.Bytes(), []byte("\n"))
}
