package endings

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
)

// Format is the format of a log.
type Format string

// The formats.
const (
	// Records is the package's own: a [Record] on each line.
	Records Format = "records"
	// Settle is the format of `settle sessions export` and `settle run --json`.
	Settle Format = "settle"
	// Codex is the format of `codex exec --json`.
	Codex Format = "codex"
	// Claude is the format of `claude --print --verbose --output-format stream-json`.
	Claude Format = "claude"
)

// reader makes records of a line; it has the state that its format needs.
type reader interface {
	read(line []byte) ([]Record, error)
}

// readers makes the reader of each format.
var readers = map[Format]func() reader{
	Records: func() reader { return ownReader{} },
	Settle:  func() reader { return settleReader{} },
	Codex:   func() reader { return &codexReader{open: map[string]bool{}} },
	Claude:  func() reader { return &claudeReader{} },
}

// Formats returns the names of the formats, sorted.
func Formats() []string {
	var names []string
	for f := range maps.Keys(readers) {
		names = append(names, string(f))
	}
	slices.Sort(names)
	return names
}

// Bounds of a log and of one line of it, in bytes.
const (
	maxLog  = 1 << 30
	maxLine = 64 << 20
)

// Read reads a whole log of at most 1 GiB, with lines of at most 64 MiB. Empty lines are skipped; a
// line that is not JSON, or not of the format, is an error that names the line.
func Read(r io.Reader, format Format) ([]Record, error) {
	begin, known := readers[format]
	if !known {
		return nil, fmt.Errorf("there is no format %q; there are %s", format, strings.Join(Formats(), ", "))
	}
	source := begin()
	left := &io.LimitedReader{R: r, N: maxLog + 1}
	lines := bufio.NewScanner(left)
	lines.Buffer(nil, maxLine)
	var all []Record
	n := 0
	for lines.Scan() {
		if left.N <= 0 {
			return nil, fmt.Errorf("a log can have %d MiB, and this one has more", maxLog>>20)
		}
		n++
		if len(bytes.TrimSpace(lines.Bytes())) == 0 {
			continue
		}
		records, err := source.read(lines.Bytes())
		if err != nil {
			return nil, fmt.Errorf("cannot read line %d: %w", n, err)
		}
		for _, r := range records {
			r.Line = n
			all = append(all, r)
		}
	}
	if err := lines.Err(); errors.Is(err, bufio.ErrTooLong) {
		return nil, fmt.Errorf("line %d has more than %d MiB", n+1, maxLine>>20)
	} else if err != nil {
		return nil, fmt.Errorf("cannot read line %d: %w", n+1, err)
	}
	return all, nil
}

type ownReader struct{}

func (ownReader) read(line []byte) ([]Record, error) {
	var r Record
	dec := json.NewDecoder(bytes.NewReader(line))
	dec.DisallowUnknownFields()
	if err := dec.Decode(&r); err != nil {
		return nil, err
	}
	set := 0
	for _, id := range []string{r.Start, r.End, r.Interrupt} {
		if id != "" {
			set++
		}
	}
	if set != 1 {
		return nil, errors.New(`it needs exactly one of "start", "end" and "interrupt"`)
	}
	return []Record{r}, nil
}
