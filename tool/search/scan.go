package search

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"

	"github.com/settle-agent/settle/internal/disk"
)

const (
	// blockBytes is the size of the blocks between checks of the context.
	blockBytes = 64 << 10
	// maxScanLine bounds the searched part of a line.
	maxScanLine = 1 << 20
	// sniffBytes is the range in which a NUL makes a file binary, as in git.
	sniffBytes = 8000
)

// scan searches the files below root itself.
func (q *query) scan(ctx context.Context) error {
	s := newScanner(q)
	return walk(ctx, q.at, func(e entry) error {
		if !e.Type().IsRegular() || q.filter != nil && !q.filter.matches(e.rel) {
			return nil
		}
		return s.file(ctx, e.in, e.Name(), e.path)
	})
}

// scanNamed searches the one file at root, and returns an error if that fails.
func (q *query) scanNamed(ctx context.Context) error {
	f, _, err := q.at.Open()
	if err != nil {
		return err
	}
	defer f.Close()
	s := newScanner(q)
	s.r.Reset(f)
	if s.binary() {
		return errors.New("it is a binary file")
	}
	return s.text(ctx, f, q.at.Named)
}

// scanner searches files one after the other with the same memory.
type scanner struct {
	*query
	r      *bufio.Reader
	line   []byte
	before []found // context of a possible match
}

func newScanner(q *query) *scanner {
	return &scanner{query: q, r: bufio.NewReaderSize(nil, blockBytes)}
}

// file searches one file of a directory, which is shown as path. It skips an unreadable
// file.
func (s *scanner) file(ctx context.Context, in *disk.Dir, name, path string) error {
	f, info, err := in.Open(name)
	if err != nil {
		return nil // Gone or not ours: nothing to find in it.
	}
	defer f.Close()
	if s.c.skips(path, s.at.Judged() && disk.Shared(info)) {
		return nil
	}
	s.r.Reset(f)
	if s.binary() {
		return nil
	}
	return s.text(ctx, f, path)
}

// text searches a file whose beginning the reader has.
func (s *scanner) text(ctx context.Context, f *os.File, path string) error {
	if s.lines != nil {
		hit, err := s.mayMatch(ctx)
		if err != nil || !hit {
			return err
		}
		if _, err := f.Seek(0, io.SeekStart); err != nil {
			return fmt.Errorf("cannot read %q again: %w", path, err)
		}
		s.r.Reset(f)
	}
	return s.eachLine(ctx, path)
}

// binary reports whether an unread file is not text.
func (s *scanner) binary() bool {
	head, _ := s.r.Peek(sniffBytes)
	return bytes.IndexByte(head, 0) >= 0
}

// mayMatch searches a file in blocks of whole lines, which is many times faster than line
// by line, and reports whether there can be a match. The reader already has the beginning
// of the file.
func (s *scanner) mayMatch(ctx context.Context) (bool, error) {
	block := s.line[:0]
	defer func() { s.line = block[:0] }()
	for {
		if ctx.Err() != nil {
			return false, context.Cause(ctx)
		}
		rest := len(block)
		block = slices.Grow(block, blockBytes)
		n, err := io.ReadFull(s.r, block[rest:rest+blockBytes])
		block = block[:rest+n]
		end := bytes.LastIndexByte(block, '\n') + 1
		if err != nil || end == 0 && len(block) > maxScanLine {
			end = len(block)
		}
		if complete := block[:end]; s.lines.Match(complete) || bytes.Contains(complete, []byte("\r\n")) {
			return true, nil // in a block, $ does not match before a CRLF
		}
		block = append(block[:0], block[end:]...)
		if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
			return false, nil
		}
		if err != nil {
			return false, nil // Unreadable, such as a bad disk.
		}
	}
}

// eachLine searches line by line and passes matches and context on.
func (s *scanner) eachLine(ctx context.Context, path string) error {
	s.before = s.before[:0]
	after := 0
	for number := 1; ; number++ {
		if number%256 == 0 && ctx.Err() != nil {
			return context.Cause(ctx)
		}
		text, err := s.next()
		if err != nil {
			return nil // The end, or a file that cannot be read.
		}
		f := found{path: path, number: number, text: text, match: s.re.Match(text)}
		switch {
		case f.match:
			if err := s.c.addMatch(s.before, f); err != nil {
				return err
			}
			s.before = s.before[:0]
			after = s.context
		case after > 0:
			after--
			if err := s.c.add(f); err != nil {
				return err
			}
		default:
			s.remember(f)
		}
	}
}

// next returns the next line without its ending, at most maxScanLine bytes. It is valid
// until the next call.
func (s *scanner) next() ([]byte, error) {
	piece, err := s.r.ReadSlice('\n')
	if err == nil {
		return trimEnding(piece), nil
	}
	s.line = append(s.line[:0], piece...)
	for errors.Is(err, bufio.ErrBufferFull) {
		piece, err = s.r.ReadSlice('\n')
		s.line = append(s.line, piece[:min(len(piece), max(0, maxScanLine-len(s.line)))]...)
	}
	if len(s.line) == 0 {
		return nil, io.EOF
	}
	return trimEnding(s.line), nil
}

func trimEnding(b []byte) []byte {
	b, ended := bytes.CutSuffix(b, []byte("\n"))
	if !ended {
		return b
	}
	return bytes.TrimSuffix(b, []byte("\r"))
}

// remember keeps a line as context of a later match.
func (s *scanner) remember(f found) {
	if s.context == 0 {
		return
	}
	f.text = bytes.Clone(f.text[:min(len(f.text), maxShownLine+1)])
	if len(s.before) == s.context {
		s.before = append(s.before[:0], s.before[1:]...)
	}
	s.before = append(s.before, f)
}
