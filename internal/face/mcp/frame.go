package mcp

import (
	"bufio"
	"bytes"
	"errors"
	"io"
)

// mostLine is the longest message that is read, in bytes: as much as an input
// over HTTP.
const mostLine = 32 << 20

// errLong says that a line is longer than [mostLine]; the rest of it was skipped.
var errLong = errors.New("the message is too long")

// lines reads messages, one a line. What is longer than most is skipped.
type lines struct {
	r    *bufio.Reader
	most int
}

func newLines(r io.Reader) *lines { return &lines{bufio.NewReaderSize(r, 64<<10), mostLine} }

// next returns the next line that is not blank, without its end. The last one
// need not have an end.
func (l *lines) next() ([]byte, error) {
	for {
		line, err := l.line()
		if err != nil && (!errors.Is(err, io.EOF) || len(line) == 0) {
			return nil, err
		}
		if line = bytes.TrimSpace(line); len(line) > 0 {
			return line, nil
		}
		if err != nil {
			return nil, err
		}
	}
}

func (l *lines) line() ([]byte, error) {
	var line []byte
	long := false
	for {
		part, err := l.r.ReadSlice('\n')
		if long = long || len(line)+len(part) > l.most; long {
			line = nil
		} else {
			line = append(line, part...)
		}
		switch {
		case errors.Is(err, bufio.ErrBufferFull):
		case long && (err == nil || errors.Is(err, io.EOF)):
			return nil, errLong
		default:
			return line, err
		}
	}
}
