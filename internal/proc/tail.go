package proc

import (
	"strings"
	"sync"
)

// Tail keeps the end of an output, such as the standard error of a process.
type Tail struct {
	Max int // bytes

	mu   sync.Mutex // guards text
	text []byte
}

// Write implements [io.Writer].
func (t *Tail) Write(data []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.text = append(t.text, data[max(0, len(data)-t.Max):]...)
	t.text = append(t.text[:0], t.text[max(0, len(t.text)-t.Max):]...)
	return len(data), nil
}

// String returns the end as valid UTF-8.
func (t *Tail) String() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return strings.ToValidUTF8(string(t.text), "\uFFFD")
}
