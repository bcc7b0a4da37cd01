package shell

import (
	"fmt"
	"strings"
	"unicode/utf8"
)

// excerpt keeps the beginning and the end of a text of any length.
type excerpt struct {
	limit int // kept bytes, half of them at each end
	head  []byte
	tail  []byte // a ring after it is full
	next  int    // position of the ring's oldest byte
	total int64
}

func (e *excerpt) add(text []byte) {
	e.total += int64(len(text))
	if room := e.limit/2 - len(e.head); room > 0 {
		n := min(room, len(text))
		e.head = append(e.head, text[:n]...)
		text = text[n:]
	}
	size := e.limit - e.limit/2
	if len(text) > size {
		text = text[len(text)-size:]
	}
	if room := size - len(e.tail); room > 0 {
		n := min(room, len(text))
		e.tail = append(e.tail, text[:n]...)
		text = text[n:]
	}
	for len(text) > 0 {
		n := copy(e.tail[e.next:], text)
		text = text[n:]
		e.next = (e.next + n) % size
	}
}

// omitted is the number of missing bytes in the middle.
func (e *excerpt) omitted() int64 { return e.total - int64(len(e.head)) - int64(len(e.tail)) }

// text returns the kept text with a line about the gap, cut at whole lines if little text
// is lost.
func (e *excerpt) text() string {
	tail := string(e.tail[e.next:]) + string(e.tail[:e.next])
	if e.omitted() <= 0 {
		return string(e.head) + tail
	}
	head := string(e.head)
	if i := strings.LastIndexByte(head, '\n'); i > len(head)*3/4 {
		head = head[:i+1]
	}
	if i := strings.IndexByte(tail, '\n'); i >= 0 && i < len(tail)/4 {
		tail = tail[i+1:]
	}
	head, tail = trimPartialEnd(head), trimPartialStart(tail)
	gap := e.total - int64(len(head)) - int64(len(tail))
	return fmt.Sprintf("%s\n[… %d bytes are left out here …]\n%s", strings.TrimSuffix(head, "\n"), gap, tail)
}

func trimPartialEnd(s string) string {
	for i := 1; i <= min(utf8.UTFMax, len(s)); i++ {
		if c := s[len(s)-i]; utf8.RuneStart(c) {
			if !utf8.FullRuneInString(s[len(s)-i:]) {
				return s[:len(s)-i]
			}
			return s
		}
	}
	return s
}

func trimPartialStart(s string) string {
	for len(s) > 0 && !utf8.RuneStart(s[0]) {
		s = s[1:]
	}
	return s
}
