package proof

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"
)

// word is a token of a line: a bare word, a quoted text, or a comma.
type word struct {
	text   string
	quoted bool
}

// split cuts a line into words. A # begins a comment.
func split(line string) ([]word, error) {
	var out []word
	for {
		line = strings.TrimLeft(line, " \t")
		switch {
		case line == "" || line[0] == '#':
			return out, nil
		case line[0] == ',':
			out, line = append(out, word{text: ","}), line[1:]
		case line[0] == '"':
			quoted, err := strconv.QuotedPrefix(line)
			if err != nil {
				return nil, errors.New("a quoted text does not end")
			}
			text, err := strconv.Unquote(quoted)
			if err != nil {
				return nil, fmt.Errorf("cannot read %s: %w", quoted, err)
			}
			out, line = append(out, word{text, true}), line[len(quoted):]
		default:
			end := strings.IndexAny(line, " \t,#\"")
			if end < 0 {
				end = len(line)
			}
			out, line = append(out, word{text: line[:end]}), line[end:]
		}
	}
}

// words are the unread words of a line. After an error, all words are empty; the first error is
// kept.
type words struct {
	left []word
	err  error
}

func (w *words) fail(format string, args ...any) {
	if w.err == nil {
		w.err = fmt.Errorf(format, args...)
	}
	w.left = nil
}

func (w *words) done() bool { return len(w.left) == 0 }

// word takes a bare word.
func (w *words) word(what string) string {
	if w.done() || w.left[0].quoted {
		w.fail("%s is missing", what)
		return ""
	}
	text := w.left[0].text
	w.left = w.left[1:]
	return text
}

// text takes a quoted text.
func (w *words) text() string {
	if w.done() || !w.left[0].quoted {
		w.fail(`a "text" is missing`)
		return ""
	}
	text := w.left[0].text
	w.left = w.left[1:]
	return text
}

// accept takes the bare word if it is next.
func (w *words) accept(text string) bool {
	if w.done() || w.left[0].quoted || w.left[0].text != text {
		return false
	}
	w.left = w.left[1:]
	return true
}

func (w *words) number(what string) int {
	text := w.word(what)
	n, err := strconv.Atoi(text)
	if err != nil || n < 0 {
		w.fail("%s is no number: %q", what, text)
	}
	return n
}

// positive takes a number from 1.
func (w *words) positive(what string) int {
	n := w.number(what)
	if n == 0 {
		w.fail("%s counts from 1", what)
	}
	return n
}

// jump takes a duration with a sign.
func (w *words) jump(what string) time.Duration {
	text := w.word(what)
	d, err := time.ParseDuration(text)
	if err != nil || d == 0 {
		w.fail("%s is no duration from or to now: %q", what, text)
	}
	return d
}

func (w *words) duration(what string) time.Duration {
	text := w.word(what)
	d, err := time.ParseDuration(text)
	if err != nil || d < 0 {
		w.fail("%s is no duration: %q", what, text)
	}
	return d
}
