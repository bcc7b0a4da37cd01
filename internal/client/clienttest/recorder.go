package clienttest

import (
	"bytes"
	"slices"
	"strings"
	"sync"
)

// recorder keeps the lines that are written to it.
type recorder struct {
	mu      sync.Mutex // guards the fields below
	lines   []string
	part    []byte        // of the next one
	arrived chan struct{} // closed when more comes
}

// Write implements [io.Writer].
func (r *recorder) Write(p []byte) (int, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.part = append(r.part, p...)
	for {
		line, rest, complete := bytes.Cut(r.part, []byte("\n"))
		if !complete {
			break
		}
		r.lines, r.part = append(r.lines, strings.TrimSpace(string(line))), rest
	}
	close(r.arrived)
	r.arrived = make(chan struct{})
	return len(p), nil
}

// sofar returns the lines so far, and a channel that closes when another line arrives.
func (r *recorder) sofar() (lines []string, more <-chan struct{}) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(r.lines), r.arrived
}

func (r *recorder) forget() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.lines = nil
}
