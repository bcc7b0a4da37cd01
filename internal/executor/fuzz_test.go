package executor

import (
	"bytes"
	"testing"
)

// FuzzFrames reads a stream as both ends do. No input causes a panic, and delivered messages have
// consecutive numbers.
func FuzzFrames(f *testing.F) {
	good := appendMessage(nil, 1, 0, message{kind: kindOutput, id: 7, data: []byte("text")})
	good = appendAlive(good, 1, answerWanted)
	good = appendMessage(good, 2, 0, message{kind: kindGone, id: 7, data: []byte("{}")})
	f.Add(good)
	f.Add(append([]byte("Welcome\n"+preface), good...))
	f.Add(appendFrame(nil, frameRefused, []byte("no")))
	f.Add([]byte{0, 0, 0, 0, 'M'})
	f.Add([]byte{0xff, 0xff, 0xff, 0xff, 'M'})
	f.Fuzz(func(t *testing.T, data []byte) {
		from := newFrames(bytes.NewReader(data))
		if bytes.Contains(data, []byte(preface)) {
			_, _ = from.skipTo()
		}
		l := newLink(nil)
		l.attach(discard{}, 0)
		n := uint64(0)
		err := l.read(discard{}, from, func() {}, func(m message) {
			n++
			if len(m.data) > len(data) {
				t.Errorf("a message of %d bytes in %d", len(m.data), len(data))
			}
		})
		if err == nil || l.position() != n {
			t.Errorf("%d messages came, the last is %d: %v", n, l.position(), err)
		}
	})
}
