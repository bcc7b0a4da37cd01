package jsonrpc

import (
	"bufio"
	"bytes"
	"errors"
	"io"

	"github.com/settle-agent/settle/internal/bound"
)

// LineReader reads lines of a bounded length, so that no client can fill the memory.
type LineReader struct {
	in    *bufio.Reader
	limit int
	err   error // of the input, once it has failed or ended
}

// NewLineReader returns a reader that keeps at most limit bytes of a line.
func NewLineReader(in io.Reader, limit int) *LineReader {
	return &LineReader{in: bufio.NewReaderSize(in, 64<<10), limit: limit}
}

// Line is a line without the white space around it.
type Line struct {
	Text []byte
	// Cut reports that the line is longer than the limit: Text is its beginning,
	// and the rest was skipped.
	Cut bool
}

// Next returns the next line that is not blank; the caller can keep it. The last line
// need not end in a newline. Its error is the error of the input, [io.EOF] at its end.
func (r *LineReader) Next() (Line, error) {
	for r.err == nil {
		var line Line
		if line, r.err = r.line(); len(line.Text) > 0 || line.Cut {
			return line, nil
		}
	}
	return Line{}, r.err
}

// line reads to the end of the line and keeps limit bytes of it.
func (r *LineReader) line() (Line, error) {
	var line Line
	room := bound.NewBudget(r.limit)
	for {
		part, err := r.in.ReadSlice('\n')
		part = bytes.TrimSuffix(part, []byte{'\n'})
		kept := room.Bytes(part)
		line.Cut = line.Cut || len(kept) < len(part)
		line.Text = append(line.Text, kept...)
		if !errors.Is(err, bufio.ErrBufferFull) {
			line.Text = bytes.TrimSpace(line.Text)
			return line, err
		}
	}
}
