package file

import (
	"bytes"
	"context"
	"iter"
	"strings"
)

// span is a range of bytes in a file.
type span struct{ from, to int }

// matches finds text in data byte for byte, except that both kinds of line endings match
// each other, because a model does not see which kind a file has. Matches can overlap. The
// sequence ends with ctx.
func matches(ctx context.Context, data []byte, text string) iter.Seq[span] {
	pieces := strings.Split(strings.ReplaceAll(text, "\r\n", "\n"), "\n")
	return func(yield func(span) bool) {
		for at := 0; at <= len(data) && ctx.Err() == nil; {
			from := nextCandidate(data, at, pieces)
			if from < 0 {
				return
			}
			if to, ok := matchAt(data, from, pieces); ok && !yield(span{from, to}) {
				return
			}
			at = from + max(1, endingAt(data[from:]))
		}
	}
}

// nextCandidate returns the next position at which the text can begin, or -1.
func nextCandidate(data []byte, at int, pieces []string) int {
	if pieces[0] != "" {
		i := bytes.Index(data[at:], []byte(pieces[0]))
		if i < 0 {
			return -1
		}
		return at + i
	}
	i := bytes.IndexByte(data[at:], '\n') // The text begins with a line ending.
	switch {
	case i < 0:
		return -1
	case i > 0 && data[at+i-1] == '\r':
		return at + i - 1
	}
	return at + i
}

func matchAt(data []byte, from int, pieces []string) (to int, ok bool) {
	at := from
	for i, piece := range pieces {
		if i > 0 {
			size := endingAt(data[at:])
			if size == 0 {
				return 0, false
			}
			at += size
		}
		if !bytes.HasPrefix(data[at:], []byte(piece)) {
			return 0, false
		}
		at += len(piece)
	}
	return at, true
}

// endingAt returns the length of the line ending at the start of data.
func endingAt(data []byte) int {
	switch {
	case bytes.HasPrefix(data, []byte("\r\n")):
		return 2
	case bytes.HasPrefix(data, []byte("\n")):
		return 1
	}
	return 0
}
