package shell

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"strconv"

	"github.com/settle-agent/settle/internal/executor"
)

// unread returns a job's output since the last read; of a long output, the end.
func (j *Jobs) unread(id string) string {
	b, err := j.find(id)
	if err != nil {
		return ""
	}
	size := b.capture.size()
	j.mu.Lock()
	from := b.read
	b.read = max(size, from)
	j.mu.Unlock()
	return b.text(from, size, int64(j.config.OutputBytes))
}

// text returns a part of the log as text; of more than limit bytes, the last.
func (b *job) text(from, to, limit int64) string {
	skipped := max(to-from-limit, 0)
	buf := make([]byte, max(to-from-skipped, 0))
	n := b.capture.readAt(buf, from+skipped)
	text := fold(buf[:n])
	if skipped > 0 {
		return fmt.Sprintf("[%d bytes before are left out; they are in %s]\n%s", skipped, b.info.Log,
			trimPartialStart(text))
	}
	return text
}

// fold returns a piece of output as text.
func fold(data []byte) string {
	f := folder{escapes: true}
	return string(append(f.add(data), f.end()...))
}

var (
	errJobEnded = errors.New("the job ended first")
	errNotYet   = errors.New("the time was up first")
)

// awaitLine waits for a line that matches, among all lines that no earlier wait has
// matched, also lines that the model has already read. It returns the line.
func (j *Jobs) awaitLine(ctx context.Context, b *job, pattern *regexp.Regexp) (string, error) {
	j.mu.Lock()
	offset := b.matched
	j.mu.Unlock()
	var (
		text []byte
		buf  = make([]byte, 32<<10)
	)
	for {
		n, changed := b.capture.since(offset, buf)
		offset += int64(n)
		text = append(text, buf[:n]...)
		line, rest, found := match(pattern, text)
		if found {
			j.mu.Lock()
			b.matched = offset - int64(len(rest))
			j.mu.Unlock()
			return line, nil
		}
		text = bytes.Clone(rest[max(len(rest)-maxLine, 0):])
		if n > 0 {
			continue
		}
		select {
		case <-changed:
		case <-b.ended:
			if b.capture.size() <= offset {
				return "", errJobEnded
			}
		case <-ctx.Done():
			return "", ctx.Err()
		}
	}
}

// maxLine bounds a line of awaitLine.
const maxLine = 64 << 10

// match tests each line, also an incomplete one, such as a prompt. It returns the matching
// line and the text after it, or else the incomplete line.
func match(pattern *regexp.Regexp, text []byte) (line string, rest []byte, found bool) {
	for len(text) > 0 {
		next, after, complete := bytes.Cut(text, []byte("\n"))
		if pattern.Match(bytes.TrimSuffix(next, []byte("\r"))) {
			return fold(next), after, true
		}
		if !complete {
			return "", next, false
		}
		text = after
	}
	return "", nil, false
}

// awaitPort waits until a port of the job's machine accepts connections.
func (j *Jobs) awaitPort(ctx context.Context, b *job, port int) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	go func() { // ends with ctx
		select {
		case <-b.ended:
			cancel(errJobEnded)
		case <-ctx.Done():
		}
	}()
	_, err := j.config.machine.Call(ctx,
		executor.Request{Name: executor.Port, Args: json.RawMessage(strconv.Itoa(port))})
	return err
}
