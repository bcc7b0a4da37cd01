package lsp

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
)

const (
	// maxMessage bounds a message of a server in bytes: the answer to a question about a large
	// project. maxUnasked bounds the content of requests and notifications.
	maxMessage = 8 << 20
	maxUnasked = 1 << 20
	// maxHeader bounds the header of a message in bytes.
	maxHeader = 4 << 10
)

// unframer reads messages with a Content-Length header and returns them as lines. JSON has
// line breaks only between its tokens, so each is replaced by a space.
type unframer struct {
	in   *bufio.Reader
	rest []byte      // of the current line
	fail func(error) // receives errors of the server's output
}

// Read implements [io.Reader].
func (u *unframer) Read(p []byte) (int, error) {
	if len(u.rest) == 0 {
		line, err := u.next()
		if err != nil {
			if !errors.Is(err, io.EOF) {
				u.fail(err)
			}
			return 0, err
		}
		u.rest = line
	}
	n := copy(p, u.rest)
	u.rest = u.rest[n:]
	return n, nil
}

// next reads the next message.
func (u *unframer) next() ([]byte, error) {
	size, err := u.header()
	if err != nil {
		return nil, err
	}
	var body bytes.Buffer // grows with the received bytes, not with the announced length
	if n, err := io.CopyN(&body, u.in, int64(size)); err != nil {
		return nil, fmt.Errorf("the server's output ended within a message, after %d of %d bytes", n, size)
	}
	line := body.Bytes()
	for i, c := range line {
		if c == '\n' || c == '\r' {
			line[i] = ' '
		}
	}
	return append(line, '\n'), nil
}

// header reads the header of a message and returns the length of its content.
func (u *unframer) header() (size int, err error) {
	size = -1
	for read := 0; ; {
		line, err := u.in.ReadSlice('\n')
		read += len(line)
		switch {
		case errors.Is(err, io.EOF) && read == 0:
			return 0, io.EOF
		case errors.Is(err, io.EOF):
			return 0, errors.New("the server's output ended within the header of a message")
		case err != nil || read > maxHeader:
			return 0, fmt.Errorf("the server sent something that is not a message: %q", clip(string(line), 100))
		}
		text := strings.TrimRight(string(line), "\r\n")
		if text == "" && size >= 0 {
			return size, nil
		}
		name, value, isField := strings.Cut(text, ":")
		if !isField {
			return 0, fmt.Errorf("the server sent something that is not a message: %q", clip(text, 100))
		}
		if !strings.EqualFold(strings.TrimSpace(name), "Content-Length") {
			continue
		}
		if size, err = strconv.Atoi(strings.TrimSpace(value)); err != nil || size < 0 || size > maxMessage {
			return 0, fmt.Errorf("the server announced a message of %q bytes; at most %d are read",
				clip(strings.TrimSpace(value), 30), maxMessage)
		}
	}
}

// framer writes lines as messages with a Content-Length header.
type framer struct {
	to func(data []byte) error
}

// Write implements [io.Writer]. Each call has whole lines.
func (f *framer) Write(lines []byte) (int, error) {
	var out bytes.Buffer
	for line := range bytes.Lines(lines) {
		line = bytes.TrimRight(line, "\n")
		fmt.Fprintf(&out, "Content-Length: %d\r\n\r\n", len(line))
		out.Write(line)
	}
	if err := f.to(out.Bytes()); err != nil {
		return 0, err
	}
	return len(lines), nil
}

// clip cuts a text of the server for an error.
func clip(text string, limit int) string {
	if len(text) <= limit {
		return text
	}
	return strings.ToValidUTF8(text[:limit], "") + "…"
}
