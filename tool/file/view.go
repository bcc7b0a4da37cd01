package file

import (
	"bufio"
	"bytes"
	"crypto/sha256"
	"errors"
	"fmt"
	"hash"
	"io"
	"strings"
	"unicode/utf8"
)

// view is the part of a file that read shows. It reads a stream in bounded memory, for any
// length of file and lines.
type view struct {
	from, limit int

	out      strings.Builder
	shown    int  // lines in out
	full     bool // out has no room for the next line
	lines    int  // lines read so far
	ended    bool // the whole file was read, and hash is complete
	hash     hash.Hash
	crlf, lf int
	invalid  bool // a shown line is not UTF-8
}

func newView(offset, limit int) *view {
	if limit == 0 {
		limit = maxReadLines
	}
	return &view{from: max(offset, 1), limit: limit, hash: sha256.New()}
}

// scan reads to the end, for the number of lines and the hash; files over maxCountBytes
// only as far as necessary.
func (v *view) scan(r io.Reader) error {
	b := bufio.NewReaderSize(r, 64<<10)
	var seen, length int64
	var start []byte // the beginning of the current line
	for {
		piece, err := b.ReadSlice('\n')
		v.hash.Write(piece)
		seen += int64(len(piece))
		if v.wanted() && len(start) < maxLineBytes+1 {
			start = append(start, piece[:min(len(piece), maxLineBytes+1-len(start))]...)
		}
		length += int64(len(piece))
		switch {
		case errors.Is(err, bufio.ErrBufferFull):
			continue
		case errors.Is(err, io.EOF):
			if length > 0 {
				v.endLine(start, length, piece)
			}
			v.ended = true
			return nil
		case err != nil:
			return err
		}
		v.endLine(start, length, piece)
		start, length = start[:0], 0
		if seen > maxCountBytes && v.lines >= v.from && !v.wanted() {
			return nil
		}
	}
}

// wanted reports whether to show the current line.
func (v *view) wanted() bool {
	return !v.full && v.lines+1 >= v.from && v.shown < v.limit
}

// endLine receives a complete line: its start, its length, and its last piece.
func (v *view) endLine(start []byte, length int64, last []byte) {
	ending := 0
	switch {
	case bytes.HasSuffix(last, []byte("\r\n")), len(last) == 1 && last[0] == '\n' &&
		bytes.HasSuffix(start, []byte("\r")):
		v.crlf++
		ending = 2
	case bytes.HasSuffix(last, []byte("\n")):
		v.lf++
		ending = 1
	}
	if v.wanted() {
		v.show(start, length-int64(ending))
	}
	v.lines++
}

// show adds a line of that length, whose first bytes are start.
func (v *view) show(start []byte, length int64) {
	text := start[:min(int64(len(start)), length)]
	if v.lines == 0 {
		text = bytes.TrimPrefix(text, []byte(utf8BOM))
	}
	cut := ""
	if len(text) > maxLineBytes {
		text = text[:runeBoundary(text, maxLineBytes)]
		cut = fmt.Sprintf(" … (line cut, it has %d bytes)", length)
	}
	if v.out.Len()+len(text)+len(cut) > maxReadBytes && v.shown > 0 {
		v.full = true
		return
	}
	if !utf8.Valid(text) {
		v.invalid = true
	}
	fmt.Fprintf(&v.out, "%6d\t%s%s\n", v.lines+1, bytes.ToValidUTF8(text, []byte("\uFFFD")), cut)
	v.shown++
}

// runeBoundary returns the last position up to at that cuts no rune.
func runeBoundary(b []byte, at int) int {
	for i := at; i > max(at-utf8.UTFMax, 0); i-- {
		if utf8.RuneStart(b[i]) {
			return i
		}
	}
	return at
}

func (v *view) digest() (d digest) {
	v.hash.Sum(d[:0])
	return d
}

// render returns the lines and then the instructions to continue.
func (v *view) render(path string) (string, error) {
	if v.ended && v.lines == 0 {
		return "(the file is empty)", nil
	}
	if v.shown == 0 {
		return "", fmt.Errorf("line %d is beyond the end: %q has %d lines", v.from, path, v.lines)
	}
	var notes []string
	last := v.from + v.shown - 1
	switch {
	case !v.ended:
		notes = append(notes, fmt.Sprintf("lines %d-%d, more follow; read on with offset %d", v.from, last, last+1))
	case last < v.lines:
		notes = append(notes, fmt.Sprintf("lines %d-%d of %d; read on with offset %d", v.from, last, v.lines, last+1))
	case v.from > 1:
		notes = append(notes, fmt.Sprintf("lines %d-%d of %d", v.from, last, v.lines))
	}
	switch {
	case v.crlf > 0 && v.lf > 0:
		notes = append(notes, "mixed line endings, CRLF and LF")
	case v.crlf > 0:
		notes = append(notes, "CRLF line endings")
	}
	if v.ended && last == v.lines && v.crlf+v.lf < v.lines {
		notes = append(notes, "no newline at the end of the file")
	}
	if v.invalid {
		notes = append(notes, "not all of it is UTF-8; such bytes are shown as \uFFFD")
	}
	if len(notes) == 0 {
		return v.out.String(), nil
	}
	return fmt.Sprintf("%s(%s)\n", v.out.String(), strings.Join(notes, "; ")), nil
}
